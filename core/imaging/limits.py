"""Size limits for files and images: larger ones are refused without being read."""

from __future__ import annotations

import os

from semblance.core.errors import BadArguments
from semblance.core.language import tr_lazy

#: Megabytes of memory that one file may take while it is read, where the user allows another amount.
MEMORY_VARIABLE = "SEMBLANCE_MEMORY_MB"
_MEMORY_MB = 1000

#: Pixels of one image; checked against the header before anything is decoded.
MAX_PIXELS = 200_000_000

#: Bytes of one image file, table or zip entry, unpacked.
MAX_FILE_BYTES = 1 << 30

#: Bytes of one DICOM object, which is read once from end to end and never completely in memory.
MAX_OBJECT_BYTES = 32 << 30

#: Bytes of one table.
MAX_TABLE_BYTES = 256 << 20

#: Bytes of one array that has to be held whole (compressed arrays cannot be read row by row).
MAX_ARRAY_BYTES = 2 << 30

#: A zip entry larger than ``RATIO_CHECKED_FROM`` may not be smaller than 1/``MAX_RATIO`` of it when packed:
#: real images of that size stay far below, bombs reach 1,000 (deflate) and more (bzip2, LZMA).
MAX_RATIO = 200
RATIO_CHECKED_FROM = 128 << 20


def memory_limit() -> int:
    """Bytes of memory that one file may take while it is read.

    Raises:
        BadArguments: the environment variable is not a number of megabytes.
    """
    text = os.environ.get(MEMORY_VARIABLE, "").strip()
    if not text:
        return _MEMORY_MB * 1_000_000
    if not (text.isascii() and text.isdecimal() and int(text) > 0):
        raise BadArguments(
            tr_lazy("{variable} cannot be '{text}'.", variable=MEMORY_VARIABLE, text=text),
            tr_lazy("Set it to a number of megabytes, such as {mb}.", mb=2 * _MEMORY_MB),
        )
    return int(text) * 1_000_000


def size_text(count: int) -> str:
    """``count`` bytes as text with a unit."""
    value = float(count)
    for unit in ("bytes", "kB", "MB", "GB"):
        if value < 1000:
            return f"{value:.0f} {unit}" if unit == "bytes" else f"{value:.3g} {unit}"
        value /= 1000
    return tr_lazy("{value:.3g} TB", value=value)
