"""Uncompressed frames: bytes of the file to stored numbers."""

from __future__ import annotations

from typing import Any

import numpy as np
import numpy.typing as npt

from semblance.core.errors import BadInput
from semblance.core.imaging.dicom.dicom_file import COPY_AGAIN, DicomFile
from semblance.core.imaging.dicom.pixel_layout import PixelLayout
from semblance.core.imaging.dicom.transfer_syntaxes import EXPLICIT_BIG
from semblance.core.language import tr_lazy


def read_frame(opened: DicomFile, layout: PixelLayout, frame: int) -> npt.NDArray[Any]:
    """(h, w) or (h, w, 3) the stored numbers of one frame, unused bits removed; only its bytes are read.

    Raises:
        BadInput: the file ends before the frame does.
    """
    first = frame * layout.frame_bits
    start, end = first // 8, -(-(first + layout.frame_bits) // 8)
    # Big-endian files store bytes in words, so the neighbour of an odd last byte is read too.
    start, end = start - start % 2, end + end % 2
    opened.file.seek(opened.offset + start)
    data = opened.file.read(end - start)
    if len(data) < -(-(first + layout.frame_bits) // 8) - start:
        raise BadInput(
            tr_lazy("'{opened}' ends early: a part of its pixels is missing.", opened=opened.name), COPY_AGAIN
        )
    if opened.syntax == EXPLICIT_BIG and opened.pixel_vr == "OW" and layout.allocated <= 8:
        even = np.frombuffer(data[: len(data) // 2 * 2], np.uint16).byteswap().tobytes()
        data = even + data[len(data) // 2 * 2 :]
    return frame_array(data, layout, first - 8 * start, little=opened.little)


def frame_array(
    data: bytes, layout: PixelLayout, skipped_bits: int = 0, *, little: bool = True
) -> npt.NDArray[Any]:
    """A frame's bytes, after ``skipped_bits``, as its stored values.

    Raises:
        ValueError: too few bytes.
    """
    if layout.allocated == 1:
        bits = np.unpackbits(np.frombuffer(data, np.uint8), bitorder="little")
        bits = bits[skipped_bits : skipped_bits + layout.frame_bits]
        return bits.reshape(layout.rows, layout.columns)
    begin, size = skipped_bits // 8, layout.frame_bits // 8
    values = np.frombuffer(data[begin : begin + size], _dtype(layout, little))
    return without_unused_bits(_reshape(values, layout).astype(values.dtype.newbyteorder("=")), layout)


def without_unused_bits(values: npt.NDArray[Any], layout: PixelLayout) -> npt.NDArray[Any]:
    """The values without unused bits (such as old overlays), with the sign extended."""
    if layout.floating or layout.allocated == layout.stored or values.dtype.itemsize * 8 != layout.allocated:
        return values
    left = values.dtype.type(layout.allocated - 1 - layout.high)
    right = values.dtype.type(layout.allocated - layout.stored)
    cleaned: npt.NDArray[Any] = (values << left) >> right
    return cleaned


def _dtype(layout: PixelLayout, little: bool) -> np.dtype[Any]:
    kind = "f" if layout.floating else "i" if layout.signed else "u"
    return np.dtype(f"{'<' if little else '>'}{kind}{layout.allocated // 8}")


def _reshape(values: npt.NDArray[Any], layout: PixelLayout) -> npt.NDArray[Any]:
    rows, columns = layout.rows, layout.columns
    if layout.samples == 1:
        return values.reshape(rows, columns)
    if layout.subsampled:
        # Y1 Y2 Cb Cr (PS3.3 C.7.6.3.1.2): both pixels have the colour of the first.
        quads = values.reshape(-1, 4)
        cleaned = np.empty((len(quads), 2, 3), values.dtype)
        cleaned[:, 0, 0], cleaned[:, 1, 0] = quads[:, 0], quads[:, 1]
        cleaned[:, :, 1:] = quads[:, None, 2:]
        return cleaned.reshape(rows, columns, 3)
    if layout.planar:
        return np.moveaxis(values.reshape(3, rows, columns), 0, 2)
    return values.reshape(rows, columns, 3)
