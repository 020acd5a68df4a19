"""Compressed frames: one at a time out of the file, checked, then handed to the decoders."""

from __future__ import annotations

import zlib
from typing import Any

import numpy as np
import numpy.typing as npt

from semblance.core.errors import BadInput
from semblance.core.imaging.dicom.attributes import value
from semblance.core.imaging.dicom.codestream import check_codestream, plain_lossless
from semblance.core.imaging.dicom.dicom_file import COPY_AGAIN, DicomFile, errors_as_bad_input
from semblance.core.imaging.dicom.pixel_layout import PixelLayout
from semblance.core.imaging.dicom.transfer_syntaxes import (
    DECODERS,
    DEFLATED_FRAMES,
    JPEG_EXTENDED,
    JPEG_LOSSLESS,
    RLE,
)
from semblance.core.imaging.dicom.uncompressed_frames import shaped, without_unused_bits
from semblance.core.imaging.limits import MAX_FILE_BYTES
from semblance.core.language import tr_lazy

#: pydicom's name for pylibjpeg-libjpeg, which a user may have added for 12-bit JPEG.
_LIBJPEG = "pylibjpeg"

_ITEM, _END = b"\xfe\xff\x00\xe0", b"\xfe\xff\xdd\xe0"


def packed_frame(opened: DicomFile, layout: PixelLayout, frame: int) -> tuple[npt.NDArray[Any], str]:
    """The stored numbers of one frame, (h, w) or (h, w, 3), and the photometric interpretation they have now
    (decoders of JPEG 2000 turn YBR_RCT into RGB).

    Raises:
        BadInput: the frame is missing, cut off, of another size than the header says, or not decodable.
    """
    data = frame_bytes(opened, layout.frames, frame)
    with errors_as_bad_input(opened.name):
        deep_jpeg = opened.syntax == JPEG_EXTENDED and _LIBJPEG in _plugins(opened.syntax)
        check_codestream(data, opened.syntax, layout, opened.name, deep_jpeg=deep_jpeg)
        return _decoded(data, opened, layout)


def frame_bytes(opened: DicomFile, frames: int, frame: int) -> bytes:
    """The packed bytes of one frame.

    Raises:
        BadInput: it is missing or cut off.
    """
    from pydicom.encaps import get_frame

    opened.file.seek(opened.offset)
    with errors_as_bad_input(opened.name):
        tables = [value(opened.dataset, f"ExtendedOffsetTable{end}") for end in ("", "Lengths")]
        given: Any = {"extended_offsets": tuple(tables)} if all(tables) else {}
        data = get_frame(opened.file, frame, number_of_frames=frames, **given)
    if not data:
        raise BadInput(
            tr_lazy("'{opened}' has no frame {frame}.", opened=opened.name, frame=frame), COPY_AGAIN
        )
    if len(data) > MAX_FILE_BYTES:
        raise BadInput(
            tr_lazy("'{opened}' holds a frame above the limit of size.", opened=opened.name), "Leave it out."
        )
    return data


def check_fragments(opened: DicomFile) -> None:
    """Walk over the pieces of the packed pixels.

    Raises:
        BadInput: the file ends before they do.
    """
    place = opened.offset
    while True:
        opened.file.seek(place)
        head = opened.file.read(8)
        if head[:4] == _END:
            return
        length = int.from_bytes(head[4:], "little")
        place += 8 + length
        # Some writers leave the closing mark out; then the last piece ends with the file.
        if place == opened.size and head[:4] == _ITEM:
            return
        if len(head) < 8 or head[:4] != _ITEM or place > opened.size:
            raise BadInput(
                tr_lazy("'{opened}' is cut off within its pixels.", opened=opened.name), COPY_AGAIN
            )


def _decoded(data: bytes, opened: DicomFile, layout: PixelLayout) -> tuple[npt.NDArray[Any], str]:
    from pydicom.encaps import encapsulate
    from pydicom.pixels.decoders.base import get_decoder

    if opened.syntax == DEFLATED_FRAMES:
        size = -(-layout.frame_bits // 8)
        return shaped(zlib.decompressobj(-zlib.MAX_WBITS).decompress(data, size), layout), layout.photometric
    if opened.syntax == RLE and layout.allocated == 1:
        return _bits_of_rle(data, layout), layout.photometric
    options: dict[str, Any] = {
        "rows": layout.rows,
        "columns": layout.columns,
        "samples_per_pixel": layout.samples,
        "photometric_interpretation": layout.photometric,
        "bits_allocated": layout.allocated,
        "bits_stored": layout.stored,
        "pixel_representation": int(layout.signed),
        "planar_configuration": int(layout.planar),
        "pixel_keyword": "PixelData",
        "number_of_frames": 1,
    }
    wrapped = encapsulate([plain_lossless(data, opened.name) if opened.syntax in JPEG_LOSSLESS else data])
    why: Exception | None = None
    decoder: Any = get_decoder(opened.syntax)
    for plugin in _plugins(opened.syntax):
        try:
            values, told = decoder.as_array(wrapped, index=0, raw=True, decoding_plugin=plugin, **options)
        except MemoryError:
            raise
        except Exception as error:  # noqa: BLE001 - the next decoder may know how
            why = why or error
            continue
        shape = (layout.rows, layout.columns) + ((3,) if layout.samples == 3 else ())
        values = np.asarray(values).reshape(shape)
        return without_unused_bits(values, layout), str(told["photometric_interpretation"])
    reason = "" if why is None else f" ({' '.join(str(why).split())[:160]})"
    raise BadInput(
        tr_lazy(
            "The pixels of '{opened}' are damaged or packed in a rare variety{reason}.",
            opened=opened.name,
            reason=reason,
        ),
        COPY_AGAIN,
    )


def _plugins(syntax: str) -> list[str]:
    """The decoders that are installed, the better first."""
    from pydicom.pixels.decoders.base import get_decoder

    if syntax not in DECODERS:
        return []
    there = get_decoder(syntax).available_plugins
    return [plugin for plugin in DECODERS[syntax] if plugin in there]


def _bits_of_rle(data: bytes, layout: PixelLayout) -> npt.NDArray[Any]:
    """One bit a pixel, eight pixels a byte, run-length packed (segmentations)."""
    from pydicom.pixels.decoders.rle import _rle_decode_segment

    start = int.from_bytes(data[4:8], "little")
    unpacked = bytes(_rle_decode_segment(data[start:]))
    return shaped(unpacked, layout)
