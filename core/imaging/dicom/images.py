"""DICOM objects as images and stacks."""

from __future__ import annotations

import functools
from collections.abc import Sequence
from dataclasses import replace
from typing import TYPE_CHECKING, Any, BinaryIO

import numpy as np
import numpy.typing as npt

from semblance.core.errors import BadInput
from semblance.core.imaging.dicom.attributes import text
from semblance.core.imaging.dicom.case_attributes import case_attributes, code_of
from semblance.core.imaging.dicom.colour import from_palette, to_rgb
from semblance.core.imaging.dicom.dicom_file import COPY_AGAIN, DicomFile, errors_as_bad_input, open_dicom
from semblance.core.imaging.dicom.frames import check_fragments, decode_frame, read_frame
from semblance.core.imaging.dicom.geometry import (
    aspect_of,
    calibrations_of,
    directions,
    distance_between,
    frame_planes,
    sideways,
    slice_distance,
    slice_facts,
    slice_plane,
    spacing_of,
)
from semblance.core.imaging.dicom.identity import Identity
from semblance.core.imaging.dicom.lookup_tables import LookupTable
from semblance.core.imaging.dicom.number_remarks import number_remarks
from semblance.core.imaging.dicom.pixel_layout import PixelLayout, layout_of
from semblance.core.imaging.dicom.transfer_syntaxes import PLAIN
from semblance.core.imaging.dicom.value_scale import (
    LARGEST,
    grey_range,
    modality_lut_of,
    values_of,
    with_positive_slope,
)
from semblance.core.imaging.dicom.volumes import slice_order
from semblance.core.imaging.image import Image
from semblance.core.imaging.memory import one_large_image_at_a_time
from semblance.core.imaging.slice_plane import SlicePlane, StackLocation
from semblance.core.imaging.volume import Spacing, Stack, checked_slice
from semblance.core.language import tr_lazy

if TYPE_CHECKING:
    from pydicom import Dataset

_NOTES = ("Modality", "ViewPosition", "BodyPartExamined")


class DicomImages:
    """The images of one object, decoded one at a time."""

    def __init__(self, file: BinaryIO, name: str) -> None:
        """``file`` must stay open while images are read; the caller closes it.

        Raises:
            BadInput: not a DICOM file, no pixels, or an impossible number of them.
        """
        self._use(open_dicom(file, name))

    @classmethod
    def of(cls, opened: DicomFile) -> DicomImages:
        """The images of a file that is opened already.

        Raises:
            BadInput: as the constructor.
        """
        images = cls.__new__(cls)
        images._use(opened)
        return images

    def _use(self, opened: DicomFile) -> None:
        self.name, self._opened = opened.name, opened
        self.layout: PixelLayout = layout_of(opened)
        self._whole = False

    @property
    def dataset(self) -> Dataset:
        """The header, without the pixels."""
        return self._opened.dataset

    @property
    def syntax(self) -> str:
        """The transfer syntax."""
        return self._opened.syntax

    def __len__(self) -> int:
        return self.layout.frames

    @functools.cached_property
    def order(self) -> Sequence[int]:
        """The frames in the order of space: what :class:`DicomStack` calls its slices."""
        return slice_order(self.dataset, len(self))

    def remarks(self, frame: int) -> tuple[str, ...]:
        """Sentences about parts of the file that contradict each other or cannot be read."""
        return (*self._opened.remarks, *number_remarks(self.dataset, frame))

    def stored(self, frame: int) -> tuple[npt.NDArray[Any], str]:
        """(h, w) or (h, w, 3) the numbers as stored, and their photometric interpretation.

        Raises:
            BadInput: no such frame, or it is damaged.
        """
        if not 0 <= frame < len(self):
            raise BadInput(
                tr_lazy(
                    "'{name}' has no frame number {frame} (counted from 0): it has {n}.",
                    name=self.name,
                    frame=frame,
                    n=len(self),
                ),
                "Import it again.",
            )
        pixels = self.layout.rows * self.layout.columns * self.layout.samples
        with errors_as_bad_input(self.name), one_large_image_at_a_time(pixels):
            if self._opened.syntax in PLAIN:
                return read_frame(self._opened, self.layout, frame), self.layout.photometric
            if not self._whole:
                check_fragments(self._opened)
                self._whole = True
            return decode_frame(self._opened, self.layout, frame)

    def image(self, frame: int) -> Image:
        """
        Raises:
            BadInput: as :meth:`stored`.
        """
        stored, photometric = self.stored(frame)
        with errors_as_bad_input(self.name):
            return self._image(stored, photometric, frame)

    def _image(self, stored: npt.NDArray[Any], photometric: str, frame: int) -> Image:
        dataset, little = self.dataset, self._opened.little_header
        about: dict[str, Any] = {
            "name": self.name,
            "spacing_mm": spacing_of(dataset, frame),
            "notes": notes_of(dataset),
            "attributes": case_attributes(dataset),
            "remarks": self.remarks(frame),
            "photometric": self.layout.photometric,
            "slice_facts": slice_facts(dataset, frame),
            "calibrations": calibrations_of(dataset, frame),
        }
        if photometric == "PALETTE COLOR" or stored.ndim == 3:
            palette = stored.ndim == 2
            colours = (
                from_palette(stored, dataset, self.name, little=little)
                if palette
                else to_rgb(stored, photometric, self.name)
            )
            bits = 8 * colours.dtype.itemsize
            white = float((1 << (bits if palette else min(self.layout.stored, bits))) - 1)
            return Image(np.ascontiguousarray(colours), white, **about)
        layout = self.layout
        values = values_of(dataset, layout, frame, little=little)
        mapping = modality_lut_of(dataset, layout, little=little)
        if mapping is not None:
            stored, padding = _mapped(stored, mapping[0], values.padding)
            values = replace(values, slope=1.0, intercept=0.0, unit=mapping[1], padding=padding)
            layout = replace(layout, stored=16, signed=False)
        pixels = to_image_type(stored, self.name)
        if layout.stored <= 8 and pixels.dtype == np.uint16:
            pixels = pixels.astype(np.uint8)
        modality = text(dataset, "Modality")
        ends = grey_range(values, pixels, layout, modality)
        is_hu = modality == "CT" and values.unit == "HU"
        curve = values.windows[0].curve if values.windows and not is_hu else None
        pixels, values, (black, white) = with_positive_slope(pixels, values, ends)
        part = text(dataset, "BodyPartExamined")[:32]
        return Image(pixels, white, black=black, values=values, body_part=part, curve=curve, **about)


class DicomStack(Stack):
    """The frames of one object as a volume, in the order of space (:attr:`DicomImages.order`)."""

    def __init__(self, file: BinaryIO, name: str, frames: Sequence[int] = ()) -> None:
        """The stack owns ``file`` and closes it. ``frames``: only these, in this order.

        Raises:
            BadInput: as :class:`DicomImages`.
        """
        self._file = file
        try:
            self._images = DicomImages(file, name)
            self._order = frames or self._images.order
        except BaseException:
            file.close()
            raise
        layout = self._images.layout
        self.name, self.shape = name, (len(self._order), layout.rows, layout.columns)
        dataset = self._images.dataset
        known = [plane for plane in (slice_plane(dataset, frame) for frame in self._order[:3]) if plane]
        if known:
            self.directions = directions(known[0], known[1] if len(known) > 1 else None)
        # Two frames at one position (time points, segments) have no slice distance.
        distance = distance_between(known) if len(known) == len(self._order[:3]) else None
        self.spacing_mm = _volume_spacing(distance or slice_distance(dataset), spacing_of(dataset))
        self.location = _location(known, self.spacing_mm) if known else None

    def image(self, index: int) -> Image:
        """Slice ``index`` as an image.

        Raises:
            BadInput: no such slice, or its pixels are damaged.
        """
        return self._images.image(self._order[checked_slice(self, index)])

    def positions(self) -> npt.NDArray[np.float64] | None:
        """As the functional groups of the frames have them."""
        planes = frame_planes(self._images.dataset, len(self._images))
        return positions_of([planes[frame] for frame in self._order])

    def close(self) -> None:
        """Close the file."""
        self._file.close()


def _mapped(
    stored: npt.NDArray[Any], table: LookupTable, padding: tuple[float, float] | None
) -> tuple[npt.NDArray[Any], tuple[float, float] | None]:
    """The outputs of a modality LUT, and -1 where the stored numbers are padding, which has no value."""
    outputs = table.mapped(stored)
    padded = None if padding is None else (stored >= padding[0]) & (stored <= padding[1])
    if padded is None or not padded.any():
        return outputs, None
    return np.where(padded, np.int32(-1), outputs.astype(np.int32)), (-1.0, -1.0)


def series_facts(
    datasets: list[Dataset],
) -> tuple[Spacing | None, tuple[str, str, str] | None, StackLocation | None]:
    """Spacing, directions and location of a volume, from the headers of its first slices in order."""
    planes = [plane for plane in map(slice_plane, datasets) if plane is not None]
    if not planes:
        return None, None, None
    distance = distance_between(planes) or slice_distance(datasets[0])
    spacing = _volume_spacing(distance, planes[0].spacing)
    second = planes[1] if len(planes) > 1 else None
    return spacing, directions(planes[0], second), _location(planes, spacing)


def positions_of(planes: Sequence[SlicePlane | None]) -> npt.NDArray[np.float64] | None:
    """:func:`sideways` of slices, ``None`` unless all say where they lie."""
    known = [plane for plane in planes if plane is not None]
    return sideways(known) if known and len(known) == len(planes) else None


def _location(planes: Sequence[SlicePlane], spacing: Spacing | None) -> StackLocation | None:
    """``None`` for frames in one place, such as time points. A slice may be missing between two of ``planes``: the step
    has the usual distance."""
    first, last = planes[0], planes[-1]
    if len(planes) < 2:
        step = first.normal * (1.0 if spacing is None else spacing[0])
    else:
        step = np.array(planes[1].position) - first.position
        rise = float(first.normal @ step)
        if rise == 0:
            return None
        step = np.array(last.position) - first.position if last.height != first.height else step
        step = step * (abs(rise if spacing is None else spacing[0]) / abs(float(first.normal @ step)))
    x, y, z = (float(part) for part in step)
    return StackLocation(first, (x, y, z))


def check_dicom(file: BinaryIO, name: str) -> tuple[str, ...]:
    """Check an object's pixels without decoding them; the remarks about its first frame.

    Raises:
        BadInput: no pixels, or they are cut off.
    """
    opened = open_dicom(file, name)
    layout_of(opened)
    if opened.syntax not in PLAIN:
        with errors_as_bad_input(name):
            check_fragments(opened)
    return (*opened.remarks, *number_remarks(opened.dataset))


def notes_of(dataset: Dataset) -> tuple[str, ...]:
    """Modality, side and view, body part: nothing that identifies the patient."""
    identity = Identity.of_patient(dataset)
    side = code_of(dataset, identity, "ImageLaterality") or code_of(dataset, identity, "Laterality")
    modality, view, part = (code_of(dataset, identity, keyword)[:32] for keyword in _NOTES)
    ratio = aspect_of(dataset)
    aspect = (
        ""
        if ratio is None or spacing_of(dataset)
        else tr_lazy("pixels {ratio:g} wide, {ratio2:g} high", ratio=ratio[1], ratio2=ratio[0])
    )
    return tuple(note for note in (modality, f"{side[:1]} {view}".strip(), part, aspect) if note)


def to_image_type(stored: npt.NDArray[Any], name: str) -> npt.NDArray[Any]:
    """Stored numbers in the types a :class:`Image` has: bytes and 16 bits as they are, others as float32.

    Raises:
        BadInput: floats, none of them a number.
    """
    kinds = {np.dtype(np.uint8), np.dtype(np.uint16), np.dtype(np.int16)}
    if stored.dtype in kinds:
        return np.ascontiguousarray(stored)
    if stored.dtype == np.int8:
        return stored.astype(np.int16)
    pixels = stored.astype(np.float32)
    finite = np.isfinite(pixels)
    if not finite.any():
        raise BadInput(tr_lazy("No pixel of '{name}' is a finite number.", name=name), COPY_AGAIN)
    if not finite.all():
        pixels[~finite] = pixels[finite].min()
    converted: npt.NDArray[Any] = np.clip(pixels, -LARGEST, LARGEST, out=pixels)
    return converted


def _volume_spacing(distance: float | None, in_plane: tuple[float, float] | None) -> Spacing | None:
    return None if distance is None or in_plane is None else (distance, *in_plane)
