"""The frames of a DICOM object: read one at a time, their size checked, and decoded where they are compressed."""

from __future__ import annotations

import zlib
from typing import Any

import numpy as np
import numpy.typing as npt

from semblance.core.errors import BadInput
from semblance.core.imaging.dicom.attributes import value
from semblance.core.imaging.dicom.codestreams import jpeg_2000_facts, jpeg_facts
from semblance.core.imaging.dicom.dicom_file import COPY_AGAIN, DicomFile, errors_as_bad_input
from semblance.core.imaging.dicom.pixel_layout import PixelLayout
from semblance.core.imaging.dicom.transfer_syntaxes import (
    DECODERS,
    DEFLATED_FRAMES,
    EXPLICIT_BIG,
    JPEG_EXTENDED,
    JPEG_LOSSLESS,
    JPEG_LS,
    RLE,
)
from semblance.core.language import tr_lazy
from semblance.core.limits import MAX_FILE_BYTES


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


_NOTES = frozenset({*range(0xE0, 0xF0), 0xFE})
_SCAN = b"\xff\xda"
_LOSSLESS = b"\xc3"
#: Lossless frame, Huffman tables, restart interval, quantisation (which lossless data may carry idly).
_NEEDED_MARKERS = frozenset((_LOSSLESS, b"\xc4", b"\xdd", b"\xdb"))
_END_OF_IMAGE = b"\xff\xd9"
#: Bytes at the end of a frame in which its end marker is searched, because writers add padding.
_TAIL = 64


def check_codestream(
    data: bytes, syntax: str, layout: PixelLayout, name: str, *, deep_jpeg: bool = False
) -> None:
    """Check the size and depth of a frame; ``deep_jpeg``: a decoder of 12-bit JPEG is installed.

    Raises:
        BadInput: the frame has another size, depth or compression than the header states.
    """
    if syntax in (RLE, DEFLATED_FRAMES):
        return
    if syntax in JPEG_LS and _END_OF_IMAGE not in data[-_TAIL:]:
        # CharLS takes seconds for a truncated frame.
        raise BadInput(tr_lazy("The compressed pixels of '{name}' end early.", name=name), COPY_AGAIN)
    found = jpeg_2000_facts(data) or jpeg_facts(data)
    if found is None:
        raise BadInput(
            tr_lazy("The compressed pixels of '{name}' are damaged at their start.", name=name), COPY_AGAIN
        )
    columns, rows, samples, depth = found
    if (columns, rows) != (layout.columns, layout.rows) or samples != layout.samples:
        raise BadInput(
            tr_lazy(
                "The compressed image in '{name}' has {columns:,} x {rows:,} pixels of {samples} samples, but "
                "its header says {columns2:,} x {rows2:,} of {samples2}.",
                name=name,
                columns=columns,
                rows=rows,
                samples=samples,
                columns2=layout.columns,
                rows2=layout.rows,
                samples2=layout.samples,
            ),
            COPY_AGAIN,
        )
    if depth > layout.allocated:
        raise BadInput(
            tr_lazy("The compressed pixels of '{name}' have more bits than its header says.", name=name),
            COPY_AGAIN,
        )
    if syntax == JPEG_EXTENDED and depth > 8 and not deep_jpeg:
        raise BadInput(
            tr_lazy("'{name}' is 12-bit JPEG (JPEG Extended), for which no decoder is installed.", name=name),
            "Export it as lossless JPEG or uncompressed.",
        )


def strip_lossless_jpeg(data: bytes, name: str) -> bytes:
    """A lossless JPEG frame with only the markers that decoding needs before its scan. An unknown application
    marker makes gdcm end the process, and the colours are in the DICOM header.

    Raises:
        BadInput: the frame is no lossless JPEG, or damaged before its scan.
    """
    stripped, place = [data[:2]], 2
    sizes = 0
    while data[place : place + 2] != _SCAN:
        marker = data[place + 1 : place + 2]
        length = int.from_bytes(data[place + 2 : place + 4], "big")
        end = place + 2 + length
        sizes += marker == _LOSSLESS
        if data[place : place + 1] != b"\xff" or length < 2 or end > len(data) or sizes > 1:
            break
        if marker in _NEEDED_MARKERS:
            stripped.append(data[place:end])
        elif marker[0] not in _NOTES:
            break
        place = end
    if sizes != 1 or data[place : place + 2] != _SCAN:
        raise BadInput(
            tr_lazy("The compressed pixels of '{name}' are damaged at their start.", name=name), COPY_AGAIN
        )
    return b"".join((*stripped, data[place:]))


#: pydicom's name for pylibjpeg-libjpeg, which a user may have added for 12-bit JPEG.
_LIBJPEG = "pylibjpeg"

_ITEM, _END = b"\xfe\xff\x00\xe0", b"\xfe\xff\xdd\xe0"


def decode_frame(opened: DicomFile, layout: PixelLayout, frame: int) -> tuple[npt.NDArray[Any], str]:
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
    """The compressed bytes of one frame.

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
            tr_lazy("A frame of '{opened}' is larger than the limit.", opened=opened.name), "Leave it out."
        )
    return data


def check_fragments(opened: DicomFile) -> None:
    """Check that all fragments of the compressed pixels are in the file.

    Raises:
        BadInput: the file ends before the last fragment.
    """
    place = opened.offset
    while True:
        opened.file.seek(place)
        head = opened.file.read(8)
        if head[:4] == _END:
            return
        length = int.from_bytes(head[4:], "little")
        place += 8 + length
        # Some writers omit the end marker; then the last fragment ends with the file.
        if place == opened.size and head[:4] == _ITEM:
            return
        if len(head) < 8 or head[:4] != _ITEM or place > opened.size:
            raise BadInput(
                tr_lazy("'{opened}' ends early: a part of its pixels is missing.", opened=opened.name),
                COPY_AGAIN,
            )


def _decoded(data: bytes, opened: DicomFile, layout: PixelLayout) -> tuple[npt.NDArray[Any], str]:
    from pydicom.encaps import encapsulate
    from pydicom.pixels.decoders.base import get_decoder

    if opened.syntax == DEFLATED_FRAMES:
        size = -(-layout.frame_bits // 8)
        return frame_array(
            zlib.decompressobj(-zlib.MAX_WBITS).decompress(data, size), layout
        ), layout.photometric
    if opened.syntax == RLE and layout.allocated == 1:
        return _bits_of_rle(data, layout), layout.photometric
    options: dict[str, Any] = {
        "rows": layout.rows,
        "columns": layout.columns,
        "samples_per_pixel": layout.samples,
        "photometric_interpretation": layout.photometric,
        "bits_allocated": layout.allocated,
        # At fewer bits than 8 in a byte gdcm ends the process; unused bits are removed below.
        "bits_stored": 8 if layout.allocated == 8 and opened.syntax in JPEG_LOSSLESS else layout.stored,
        "pixel_representation": int(layout.signed),
        "planar_configuration": int(layout.planar),
        "pixel_keyword": "PixelData",
        "number_of_frames": 1,
    }
    wrapped = encapsulate(
        [strip_lossless_jpeg(data, opened.name) if opened.syntax in JPEG_LOSSLESS else data]
    )
    why: Exception | None = None
    decoder: Any = get_decoder(opened.syntax)
    for plugin in _plugins(opened.syntax):
        try:
            values, message = decoder.as_array(wrapped, index=0, raw=True, decoding_plugin=plugin, **options)
        except MemoryError:
            raise
        except Exception as error:  # noqa: BLE001 - the next decoder may know how
            why = why or error
            continue
        shape = (layout.rows, layout.columns) + ((3,) if layout.samples == 3 else ())
        values = np.asarray(values).reshape(shape)
        return without_unused_bits(values, layout), str(message["photometric_interpretation"])
    reason = "" if why is None else f" ({' '.join(str(why).split())[:160]})"
    raise BadInput(
        tr_lazy(
            "The pixels of '{opened}' are damaged, or their variant of the compression cannot be "
            "decoded{reason}.",
            opened=opened.name,
            reason=reason,
        ),
        COPY_AGAIN,
    )


def _plugins(syntax: str) -> list[str]:
    """The installed decoders, the preferred one first."""
    from pydicom.pixels.decoders.base import get_decoder

    if syntax not in DECODERS:
        return []
    existing = get_decoder(syntax).available_plugins
    return [plugin for plugin in DECODERS[syntax] if plugin in existing]


def _bits_of_rle(data: bytes, layout: PixelLayout) -> npt.NDArray[Any]:
    """One bit a pixel, eight pixels a byte, run-length packed (segmentations)."""
    from pydicom.pixels.decoders.rle import _rle_decode_segment

    start = int.from_bytes(data[4:8], "little")
    unpacked = bytes(_rle_decode_segment(data[start:]))
    return frame_array(unpacked, layout)
