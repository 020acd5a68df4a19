"""The layout of an object's pixels, checked against all limits before anything is decoded."""

from __future__ import annotations

from dataclasses import dataclass, replace

from semblance.core.errors import BadInput
from semblance.core.imaging.dicom.attributes import integer, text, value
from semblance.core.imaging.dicom.codestreams import prove_compression
from semblance.core.imaging.dicom.dicom_file import COPY_AGAIN, UNDEFINED, DicomFile
from semblance.core.imaging.dicom.transfer_syntaxes import PLAIN, check_syntax
from semblance.core.language import tr_lazy
from semblance.core.limits import check_pixels

#: Frames of one object.
MAX_FRAMES = 1_000_000

_ALLOCATED = (1, 8, 16, 32, 64)
#: Bytes of memory that a sample takes: decoders of JPEG 2000 and others hold it as 32 bits, some twice.
_BYTES_OF_SAMPLE = 16
_FLOATS = {"FloatPixelData": 32, "DoubleFloatPixelData": 64}


@dataclass(frozen=True)
class PixelLayout:
    """``frames`` images of ``rows`` x ``columns`` with ``samples`` numbers a pixel.

    ``allocated`` bits hold each number, of which ``stored`` count, the highest being ``high``; ``floating``
    ones are floats. ``planar``: all red before all green. ``photometric``: DICOM's Photometric Interpretation.
    ``subsampled``: in uncompressed data two pixels share their colour (YBR_FULL_422, YBR_PARTIAL_422).
    """

    frames: int
    rows: int
    columns: int
    samples: int
    photometric: str
    allocated: int
    stored: int
    high: int
    signed: bool
    planar: bool
    floating: bool
    subsampled: bool = False

    @property
    def frame_bits(self) -> int:
        """Bits of one frame as it lies in an uncompressed file."""
        samples = 2 if self.subsampled else self.samples
        return self.rows * self.columns * samples * self.allocated


def layout_of(opened: DicomFile) -> PixelLayout:
    """
    Raises:
        BadInput: no pixels, an impossible size or one above the limits, or pixels that are cut off.
    """
    name, dataset = opened.name, opened.dataset
    if not opened.pixels:
        raise BadInput(tr_lazy("'{name}' is a DICOM object without pixels.", name=name), "Choose an image.")
    if opened.length == UNDEFINED:
        prove_compression(opened)
        if opened.syntax in PLAIN:
            raise BadInput(
                tr_lazy(
                    "'{name}' declares uncompressed pixels, but they are compressed in a way that is not known.",
                    name=name,
                ),
                COPY_AGAIN,
            )
    check_syntax(opened.syntax, name)
    rows, columns = integer(dataset, "Rows"), integer(dataset, "Columns")
    if rows is None or columns is None or rows < 1 or columns < 1:
        raise BadInput(
            tr_lazy(
                "'{name}' has no pixels: {rows} rows and {columns} columns.",
                name=name,
                rows=rows or 0,
                columns=columns or 0,
            ),
            COPY_AGAIN,
        )
    samples = 1 if value(dataset, "SamplesPerPixel") is None else integer(dataset, "SamplesPerPixel")
    if samples not in (1, 3):
        raise BadInput(
            tr_lazy(
                "'{name}' has {samples} samples a pixel; 1 and 3 can be read.", name=name, samples=samples
            ),
            COPY_AGAIN,
        )
    check_pixels(columns, rows, name, opened.size, _BYTES_OF_SAMPLE * samples)
    floating = opened.pixels in _FLOATS
    allocated = _FLOATS.get(opened.pixels) or integer(dataset, "BitsAllocated")
    if allocated not in _ALLOCATED or (samples == 3 and allocated in (1, 64)):
        raise BadInput(
            tr_lazy(
                "'{name}' stores each value in {allocated} bits, which Semblance cannot read.",
                name=name,
                allocated=allocated,
            ),
            COPY_AGAIN,
        )
    stored = integer(dataset, "BitsStored") if not floating else allocated
    stored = allocated if stored is None or not 1 <= stored <= allocated else stored
    high = integer(dataset, "HighBit") if not floating else None
    layout = PixelLayout(
        _frames(opened),
        rows,
        columns,
        samples,
        text(dataset, "PhotometricInterpretation").upper() or ("RGB" if samples == 3 else "MONOCHROME2"),
        allocated,
        stored,
        high if high is not None and stored - 1 <= high < allocated else stored - 1,
        integer(dataset, "PixelRepresentation") == 1 and not floating,
        samples == 3 and integer(dataset, "PlanarConfiguration") == 1,
        floating,
    )
    if layout.photometric.endswith("_422") and samples == 3 and opened.syntax in PLAIN:
        # Halved chrominance takes two numbers a pixel, whole takes three (PS3.3 C.7.6.3.1.2); writers mix them up.
        is_whole = _bytes_there(opened) >= _bytes_needed(layout)
        layout = replace(layout, subsampled=not is_whole)
        if is_whole:
            opened.remarks.append(
                tr_lazy(
                    "{photometric} is declared, but every pixel has a colour of its own.",
                    photometric=layout.photometric,
                )
            )
    _check_length(opened, layout)
    return layout


def _bytes_there(opened: DicomFile) -> int:
    return min(opened.length, opened.size - opened.offset)


def _bytes_needed(layout: PixelLayout) -> int:
    return -(-layout.frames * layout.frame_bits // 8)


def _frames(opened: DicomFile) -> int:
    stated = value(opened.dataset, "NumberOfFrames")
    if stated is None and "NumberOfFrames" not in opened.dataset:
        return 1
    frames = 1 if stated is None else integer(opened.dataset, "NumberOfFrames")
    if stated is None:
        raw = opened.dataset.get_item("NumberOfFrames")
        frames = 1 if raw is None or not raw.value else None
    if frames is None or frames > MAX_FRAMES or frames < 0:
        raise BadInput(
            tr_lazy("'{opened}' states no possible number of frames.", opened=opened.name), COPY_AGAIN
        )
    return max(1, frames)


def _check_length(opened: DicomFile, layout: PixelLayout) -> None:
    """
    Raises:
        BadInput: fewer bytes than the frames need.
    """
    if opened.syntax not in PLAIN:
        return
    needed, there = _bytes_needed(layout), _bytes_there(opened)
    if there < needed:
        raise BadInput(
            tr_lazy(
                "'{opened}' is cut off: it has {there:,} bytes of pixels instead of {needed:,}.",
                opened=opened.name,
                there=there,
                needed=needed,
            ),
            COPY_AGAIN,
        )
