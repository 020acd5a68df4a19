"""Size limits for files and images: larger ones are refused without being read."""

from __future__ import annotations

import os

from semblance.core.errors import BadArguments, BadInput
from semblance.core.language import tr_lazy

#: Environment variable: megabytes of memory that one file may take while it is read.
MEMORY_VARIABLE = "SEMBLANCE_MEMORY_MB"
DEFAULT_MEMORY_MB = 1000

#: Pixels of one image.
MAX_PIXELS = 200_000_000

#: Bytes of one image file, table or zip entry, unpacked.
MAX_FILE_BYTES = 1 << 30

#: Bytes of one DICOM object, which is read once from end to end and never completely in memory.
MAX_OBJECT_BYTES = 32 << 30

#: Bytes of one table that is read into memory, and of one that is read row by row, as imports do.
MAX_TABLE_BYTES, MAX_STREAMED_TABLE_BYTES = 256 << 20, 32 << 30

#: Bytes of one array that must be in memory as a whole (compressed arrays cannot be read row by row).
MAX_ARRAY_BYTES = 2 << 30

#: A file may take this many times its size in memory, however much that is: real images and tables stay below, files
#: made to fill the memory reach 1,000 (deflate) and more (bzip2, LZMA).
EXPANSION = 20

#: Bytes of memory that a pixel takes while an image is decoded and measured.
BYTES_OF_PIXEL = 16
#: Values of JSON, XML and similar files take this many times the size of their text.
_BYTES_OF_TEXT = 50


def memory_limit() -> int:
    """Bytes of memory that one file may take while it is read.

    Raises:
        BadArguments: the environment variable is not a number of megabytes.
    """
    text = os.environ.get(MEMORY_VARIABLE, "").strip()
    if not text:
        return DEFAULT_MEMORY_MB * 1_000_000
    if not (text.isascii() and text.isdecimal() and int(text) > 0):
        raise BadArguments(
            tr_lazy("{variable} cannot be '{text}'.", variable=MEMORY_VARIABLE, text=text),
            tr_lazy("Set it to a number of megabytes, such as {mb}.", mb=2 * DEFAULT_MEMORY_MB),
        )
    return int(text) * 1_000_000


def expansion_limit(file_bytes: int) -> int:
    """Bytes of memory that a file of ``file_bytes`` may take: the limit, or :data:`EXPANSION` times its size."""
    return max(memory_limit(), EXPANSION * file_bytes)


def max_unpacked(packed_bytes: int) -> int:
    """Bytes that ``packed_bytes`` may unpack to. The values read from them take several times that."""
    return max(memory_limit() // 5, EXPANSION * packed_bytes)


def max_text_bytes() -> int:
    """Bytes of one JSON or XML file."""
    return memory_limit() // _BYTES_OF_TEXT


def check_pixels(
    width: int, height: int, name: str, file_bytes: int, bytes_of_pixel: int = BYTES_OF_PIXEL
) -> None:
    """Check an image by its header, before it is decoded from a file of ``file_bytes``.

    Raises:
        BadInput: it has more than :data:`MAX_PIXELS`, or takes more memory than the file may.
    """
    if width * height > MAX_PIXELS:
        raise BadInput(
            tr_lazy(
                "The header of '{name}' states {width:,} x {height:,} pixels, above the limit of "
                "{max_pixels:g} megapixels.",
                name=name,
                width=width,
                height=height,
                max_pixels=MAX_PIXELS / 1e6,
            ),
            "Save it smaller, save only a part of it, or leave it out.",
        )
    needed, allowed = width * height * bytes_of_pixel, expansion_limit(file_bytes)
    if needed > allowed:
        raise BadInput(
            tr_lazy(
                "The {width:,} x {height:,} pixels of '{name}' need {needed} of memory. The limit is {limit} for a "
                "file of its size.",
                name=name,
                width=width,
                height=height,
                needed=size_text(needed),
                limit=size_text(allowed),
            ),
            tr_lazy("Save it smaller, or {allow}.", allow=allow_memory(needed)),
        )


def allow_memory(needed: int) -> str:
    """How to raise the memory limit, as the end of a sentence."""
    mb = -(-needed // 1_000_000)
    return tr_lazy(
        "allow more memory with the environment variable {variable}={mb}", variable=MEMORY_VARIABLE, mb=mb
    )


def size_text(count: int) -> str:
    """``count`` bytes as text with a unit."""
    value = float(count)
    for unit in ("bytes", "kB", "MB", "GB"):
        if value < 1000:
            return f"{value:.0f} {unit}" if unit == "bytes" else f"{value:.3g} {unit}"
        value /= 1000
    return tr_lazy("{value:.3g} TB", value=value)
