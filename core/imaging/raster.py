"""Decoding PNG, JPEG, TIFF, BMP, PGM/PPM and GIF files.

These decisions hold for every extractor:

- The content decides the format, never the file's ending.
- Turned images (EXIF orientation) are set upright; transparent pixels are laid over black, which is
  what surrounds a radiograph; palettes, CMYK and YCbCr become RGB, and a palette of greys becomes grey.
- Grey of 9 to 16 bits stays 16 bits (a PGM with a smaller largest value is scaled to 65535). Colour of
  16 bits a channel is read at 8: Pillow knows no deeper colour.
- Float and 32-bit or signed integer images within 0..1 keep their values; others are mapped linearly so
  that their darkest pixel is 0 and their brightest 1. Pixels that are no number become the darkest.
- A file holding several images (animated GIF or PNG, TIFF of several pages) is refused unless one is
  asked for by number: taking the first would skip the rest without a word. Reduced copies and masks that
  TIFF files carry beside the image do not count.
"""

from __future__ import annotations

import io
import math
import re
import struct
import warnings
import zlib
from collections.abc import Iterator
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np
import numpy.typing as npt

from semblance.core.errors import BadInput
from semblance.core.imaging.formats import HEAD_BYTES, READABLE, foreign_format, sniff
from semblance.core.imaging.image import Image
from semblance.core.imaging.memory import one_large_image_at_a_time
from semblance.core.language import tr_lazy
from semblance.core.limits import check_pixels

if TYPE_CHECKING:
    from PIL import Image as PILImage
    from PIL import ImageFile


#: Samples of a pixel by the colour type of the header.
_SAMPLES = {0: 1, 2: 3, 3: 1, 4: 2, 6: 4}
#: Of the seven passes of interlacing: first column and row, and the distances between them.
_PASSES = ((0, 0, 8, 8), (4, 0, 8, 8), (0, 4, 4, 8), (2, 0, 4, 4), (0, 2, 2, 4), (1, 0, 2, 2), (0, 1, 1, 2))
_PART = 1 << 20


def has_all_pixels(data: bytes) -> bool:
    """Whether the stream of the PNG file ``data``, which was decoded without an error, reaches the last pixel."""
    needed, packed = _bytes_of_pixels(data[16:29]), 0
    unpacker = zlib.decompressobj()
    for start, end in _pixel_chunks(data):
        rest = data[start:end]
        while rest and not unpacker.eof:
            packed += len(unpacker.decompress(rest, _PART))
            rest = unpacker.unconsumed_tail
        if packed >= needed:
            return True
    return False


def _bytes_of_pixels(header: bytes) -> int:
    """Bytes of the unpacked stream, with the one of each row that names its filter."""
    width, height, bits, colour, _, _, interlaced = struct.unpack(">IIBBBBB", header)
    bits *= _SAMPLES[colour]
    sizes = [(width, height)]
    if interlaced:
        sizes = [
            (-(-(width - column) // across), -(-(height - row) // down))
            for column, row, across, down in _PASSES
        ]
    return sum(rows * (1 + -(-columns * bits // 8)) for columns, rows in sizes if columns > 0 and rows > 0)


def _pixel_chunks(data: bytes) -> list[tuple[int, int]]:
    """Where the contents of the chunks IDAT begin and end."""
    found, at = [], 8
    while at + 8 <= len(data):
        length, kind = struct.unpack(">I4s", data[at : at + 8])
        if kind == b"IDAT":
            found.append((at + 8, at + 8 + length))
        at += 12 + length
    return found


COPY_AGAIN = tr_lazy("Copy it from its source again, or leave it out.")

_ORIENTATION = 0x0112
_PHOTOMETRIC = 262
_SUBFILE_TYPE = 254
_REDUCED_OR_MASK = 1 | 4
#: Values of ``PIL.Image.Transpose`` that exchange width and height.
_SIDEWAYS = frozenset((2, 4, 5, 6))
#: Rows that are converted at a time.
_ROWS = 256
_DEEP_MODES = frozenset(("I", "F", "I;16", "I;16L", "I;16B", "I;16N"))


@dataclass(frozen=True)
class DecodedFile:
    """A decoded file before it is a :class:`Image`.

    ``image`` is an upright Pillow image of mode L or RGB, or ``None`` where ``deep`` holds more than
    8 bits, already upright, with ``white`` its brightest value. ``width`` and ``height`` are those of the
    file, upright, even where ``image`` was decoded smaller.
    """

    width: int
    height: int
    image: PILImage.Image | None
    deep: npt.NDArray[np.uint16] | npt.NDArray[np.float32] | None = None
    white: float = 255.0


def decode(data: bytes, name: str, *, frame: int | None = None) -> Image:
    """The image in the bytes of a file; ``name`` is what messages call it, ``frame`` a page from 0.

    Raises:
        BadInput: empty, not an image, too large, damaged, cut off, or several images in one.
    """
    loaded = load(data, name, frame=frame)
    if loaded.deep is not None:
        return Image(loaded.deep, loaded.white, name)
    return Image(np.asarray(loaded.image, dtype=np.uint8), 255.0, name)


def size_of(data: bytes, name: str) -> tuple[str, int, int]:
    """(format, width, height) from the file's header; nothing is decoded, and the orientation is ignored.

    Raises:
        BadInput: the header cannot be read or claims more than the limit.
    """
    with _decoder_errors(name):
        image = _open_image(data, name)
        _check_size(image, name, len(data))
        return image.format or "", image.width, image.height


def upright_size(data: bytes, name: str) -> tuple[int, int, bool]:
    """(width, height) as the image is shown, and whether its orientation (EXIF) turned it sideways; nothing is
    decoded.

    Raises:
        BadInput: as :func:`size_of`.
    """
    with _decoder_errors(name):
        image = _open_image(data, name)
        _check_size(image, name, len(data))
        if _transposition(image) in _SIDEWAYS:
            return image.height, image.width, True
        return image.width, image.height, False


def page_count(data: bytes, name: str) -> int:
    """The images in the bytes of a file.

    Raises:
        BadInput: as :func:`size_of`.
    """
    with _decoder_errors(name):
        return int(getattr(_open_image(data, name), "n_frames", 1))


def load(data: bytes, name: str, *, frame: int | None = None, at_least: int | None = None) -> DecodedFile:
    """Decode completely. With ``at_least`` a JPEG may come out smaller, but no side below that many pixels
    unless it was before; the whole file is read all the same, so damage is found.

    Raises:
        BadInput: as :func:`decode`.
    """
    with _decoder_errors(name):
        pil_image = _open_image(data, name)
        _select(pil_image, name, frame)
        _check_size(pil_image, name, len(data))
        width, height = pil_image.size
        if at_least is not None and pil_image.format == "JPEG":
            longest = max(width, height)
            pil_image.draft(None, (max(1, width * at_least // longest), max(1, height * at_least // longest)))
        transposition = _transposition(pil_image)
        # Pillow widens a 16-bit grey PNG with alpha to colour.
        grey_alpha = bool(pil_image.tile) and pil_image.tile[0][3] == "LA;16B"
        with one_large_image_at_a_time(width * height):
            pil_image.load()
        if pil_image.format == "PNG" and _ends_in_black(pil_image) and not has_all_pixels(data):
            raise EOFError
        if pil_image.format == "TIFF":
            width, height = pil_image.size
        image = pil_image if transposition is None else pil_image.transpose(transposition)
        if transposition in _SIDEWAYS:
            width, height = height, width
        if pil_image.mode in _DEEP_MODES:
            deep, white = _deep_pixels(image, pil_image, name)
            return DecodedFile(width, height, None, deep, white)
        flat = _to_grey_or_rgb(image)
        if flat.mode == "RGB" and grey_alpha:
            flat = flat.getchannel(0)
        return DecodedFile(width, height, flat)


class _decoder_errors:  # noqa: N801 - used as a with-statement's verb
    """Turns any error of a decoder about a damaged file into BadInput about ``name``."""

    def __init__(self, name: str) -> None:
        self.name = name

    def __enter__(self) -> None:
        _silence_decoder()

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, trace: object) -> None:
        if error is None or isinstance(error, BadInput) or not isinstance(error, Exception):
            return
        if isinstance(error, MemoryError):
            raise BadInput(
                tr_lazy("'{name}' needs more memory than this computer has free.", name=self.name),
                "Close other programs or make the image smaller.",
            ) from None
        if "not identified by this driver" in str(error):
            raise BadInput(
                tr_lazy("'{name}' has no pixels, or its header is damaged.", name=self.name), COPY_AGAIN
            ) from None
        if "truncated" in str(error).lower() or isinstance(error, EOFError):
            raise BadInput(
                tr_lazy("'{name}' is cut off: a part of the image is missing.", name=self.name), COPY_AGAIN
            ) from None
        raise BadInput(
            tr_lazy("'{name}' is damaged, or its variant of the format cannot be decoded.", name=self.name),
            "Open it in an image program and save it as PNG, or leave it out.",
        ) from None


def _silence_decoder() -> None:
    """Suppress Pillow's warnings about unusual metadata; damage appears on decoding."""
    warning_filter = ("ignore", None, Warning, re.compile(r"PIL\."), 0)
    if warning_filter not in warnings.filters:
        warnings.filterwarnings("ignore", module=r"PIL\.")


def _open_image(data: bytes, name: str) -> ImageFile.ImageFile:
    """Open the image and read its header. The plug-ins are called directly, because ``PIL.Image.open`` would try a
    dozen more formats and warn by its own size limit."""
    from PIL import (
        BmpImagePlugin,
        GifImagePlugin,
        JpegImagePlugin,
        PngImagePlugin,
        PpmImagePlugin,
        TiffImagePlugin,
    )

    if not data:
        raise BadInput(tr_lazy("'{name}' is empty (0 bytes).", name=name), COPY_AGAIN)
    readers: dict[str | None, Any] = {
        "PNG": PngImagePlugin.PngImageFile,
        "JPEG": JpegImagePlugin.JpegImageFile,
        "TIFF": TiffImagePlugin.TiffImageFile,
        "BMP": BmpImagePlugin.BmpImageFile,
        "PNM": PpmImagePlugin.PpmImageFile,
        "GIF": GifImagePlugin.GifImageFile,
    }
    head = data[:HEAD_BYTES]
    reader = readers.get(sniff(head))
    if reader is None:
        raise BadInput(
            tr_lazy(
                "'{name}' is not a readable image: it seems to be {head}.",
                name=name,
                head=foreign_format(head),
            ),
            tr_lazy("Save it as {readable}, or leave it out.", readable=READABLE),
        )
    pil_image: ImageFile.ImageFile = reader(io.BytesIO(data))
    return pil_image


def _check_size(image: PILImage.Image, name: str, file_bytes: int) -> None:
    width, height = image.size
    if width < 1 or height < 1:
        raise BadInput(
            tr_lazy("'{name}' has no pixels ({width} x {height}).", name=name, width=width, height=height),
            COPY_AGAIN,
        )
    check_pixels(width, height, name, file_bytes)


def _select(image: ImageFile.ImageFile, name: str, frame: int | None) -> None:
    """Go to page ``frame``, or to the only image there is."""
    if frame is not None:
        try:
            image.seek(frame)
        except EOFError:
            raise BadInput(
                tr_lazy("'{name}' has no image number {frame} (counted from 0).", name=name, frame=frame),
                "Import it again.",
            ) from None
        return
    if image.format == "TIFF":
        only = _only_page(image)
        if only is None:
            raise BadInput(
                tr_lazy("'{name}' holds several pages, and one case is one image.", name=name),
                "Save its pages as single images.",
            )
        image.seek(only)
    elif getattr(image, "is_animated", False):
        raise BadInput(
            tr_lazy("'{name}' is an animation, and one case is one still image.", name=name),
            "Save its frames as single images.",
        )


def _ends_in_black(image: PILImage.Image) -> bool:
    """Whether the last row may be one that was never filled."""
    return not np.asarray(image.crop((0, image.height - 1, image.width, image.height))).any()


def _only_page(image: Any) -> int | None:
    """Index of the one page that is no reduced copy or mask; ``None`` for several."""
    found: int | None = None
    index = 0
    while True:
        try:
            image.seek(index)
        except EOFError:
            return found if found is not None else 0
        kind = image.tag_v2.get(_SUBFILE_TYPE, 0)
        if not (isinstance(kind, int) and kind & _REDUCED_OR_MASK):
            if found is not None:
                return None
            found = index
        index += 1


def _transposition(image: ImageFile.ImageFile) -> Any:
    """The transposition that sets the image upright; ``None`` for none. TIFF is turned by Pillow itself."""
    from PIL import Image as PILImage

    if image.format not in ("JPEG", "PNG") or not any(
        key in image.info for key in ("exif", "Raw profile type exif", "xmp", "XML:com.adobe.xmp")
    ):
        return None
    try:
        orientation = image.getexif().get(_ORIENTATION, 1)
    except Exception:  # noqa: BLE001 - damaged metadata does not make the pixels unusable
        return None
    transpositions = PILImage.Transpose
    return {
        2: transpositions.FLIP_LEFT_RIGHT,
        3: transpositions.ROTATE_180,
        4: transpositions.FLIP_TOP_BOTTOM,
        5: transpositions.TRANSPOSE,
        6: transpositions.ROTATE_270,
        7: transpositions.TRANSVERSE,
        8: transpositions.ROTATE_90,
    }.get(orientation)


def _to_grey_or_rgb(image: PILImage.Image) -> PILImage.Image:
    """Mode L or RGB, transparent parts over black."""

    mode = image.mode
    if "transparency" in image.info and mode in ("1", "L", "RGB", "P"):
        image = image.convert("LA" if mode in ("1", "L") else "RGBA")
    elif mode == "P":
        image = image.convert("L" if _grey_palette(image) else "RGB")
    elif mode in ("PA", "RGBa", "La"):
        image = image.convert("LA" if mode == "La" else "RGBA")
    if image.mode in ("L", "RGB"):
        return image
    if image.mode == "1":
        return image.convert("L")
    if image.mode in ("LA", "RGBA"):
        return _over_black(image)
    return image.convert("RGB")


def _over_black(image: PILImage.Image) -> PILImage.Image:
    """An image with transparency laid over black, some rows at a time: a copy of all would be three times as large."""
    from PIL import Image as PILImage

    out = PILImage.new(image.mode[:-1], image.size)
    for top in range(0, image.height, _ROWS):
        rows = image.crop((0, top, image.width, min(top + _ROWS, image.height)))
        out.paste(rows.convert(out.mode), (0, top), rows.getchannel("A"))
    return out


def _grey_palette(image: PILImage.Image) -> bool:
    colours = np.asarray(image.getpalette("RGB") or [], dtype=np.uint8).reshape(-1, 3)
    used = colours[[index for _, index in image.getcolors(256) or [] if isinstance(index, int)]]
    return bool(len(used)) and bool((used == used[:, :1]).all())


def _deep_pixels(
    image: PILImage.Image, pil_image: Any, name: str
) -> tuple[npt.NDArray[np.uint16] | npt.NDArray[np.float32], float]:
    """Pixels of more than 8 bits and their white."""
    values: npt.NDArray[Any] = np.asarray(image)
    white = 65535.0
    if pil_image.mode.startswith("I;16"):
        values = values.astype(np.uint16, copy=False)
    elif pil_image.format == "PPM" and pil_image.mode == "I":
        values = np.clip(values, 0, 65535).astype(np.uint16)
    else:
        values, white = unit_range(values, name), 1.0
    if pil_image.format == "TIFF" and pil_image.tag_v2.get(_PHOTOMETRIC) == 0:
        values = values.dtype.type(white) - values
    return values, white


def unit_range(values: npt.NDArray[Any], name: str) -> npt.NDArray[np.float32]:
    """Any numbers as float32 in 0..1, by the rule at the top of this file.

    Raises:
        BadInput: no pixel is a finite number.
    """
    low, high = math.inf, -math.inf
    for rows in _strips(values):
        finite = rows[np.isfinite(rows)] if rows.dtype.kind == "f" else rows
        if finite.size:
            low, high = min(low, float(finite.min())), max(high, float(finite.max()))
    if low > high:
        raise BadInput(
            tr_lazy("No pixel of '{name}' is a finite number (all are NaN or infinite).", name=name),
            COPY_AGAIN,
        )
    value_range = high - low
    out = np.empty(values.shape, np.float32)
    for rows, target in zip(_strips(values), _strips(out), strict=True):
        numbers = rows.astype(np.float64)
        numbers[~np.isfinite(numbers)] = low
        if low < 0.0 or high > 1.0:
            numbers = (numbers - low) / value_range if 0.0 < value_range < np.inf else np.zeros_like(numbers)
        target[...] = numbers
    return out


def _strips(values: npt.NDArray[Any]) -> Iterator[npt.NDArray[Any]]:
    """Views of some rows at a time."""
    return (values[top : top + _ROWS] for top in range(0, len(values), _ROWS))
