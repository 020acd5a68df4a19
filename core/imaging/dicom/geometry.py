"""The geometry of pixels in the patient: spacing, orientation, and the order of slices."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

import numpy as np
import numpy.typing as npt

from semblance.core.imaging.dicom.attributes import integer, item, items, number, numbers, text
from semblance.core.imaging.image import (
    ASPECT,
    AT_DETECTOR,
    IN_PATIENT,
    IN_ULTRASOUND,
    MAGNIFIED,
    ON_FILM,
    Calibration,
    SliceFacts,
)
from semblance.core.imaging.slice_plane import SlicePlane

if TYPE_CHECKING:
    from pydicom import Dataset

#: Slices whose distance differs from the usual one by more than this share of it are a gap.
GAP = 0.05
#: What :func:`slice_plane` reads.
PLANE_TAGS = (
    "ImageType",
    "Modality",
    "FrameOfReferenceUID",
    "ImagePositionPatient",
    "ImageOrientationPatient",
    "PixelSpacing",
    "ImagerPixelSpacing",
    "PerFrameFunctionalGroupsSequence",
    "SharedFunctionalGroupsSequence",
)
#: Along x, y, z of the patient (PS3.3 C.7.6.2.1.1), towards more and towards less.
_LETTERS = (("L", "R"), ("P", "A"), ("S", "I"))


def slice_plane(dataset: Dataset, frame: int = 0) -> SlicePlane | None:
    """The plane of a single-frame object or of one frame; ``None`` where the file has none."""
    return _plane(dataset, _functional_groups(dataset, frame))


def frame_planes(dataset: Dataset, frames: int) -> list[SlicePlane | None]:
    """:func:`slice_plane` of every frame of an object."""
    return [_plane(dataset, _functional_groups(dataset, frame)) for frame in range(frames)]


def _plane(dataset: Dataset, from_frame: Dataset | None) -> SlicePlane | None:
    shared = item(dataset, "SharedFunctionalGroupsSequence")
    placed = item(from_frame, "PlanePositionSequence") or item(shared, "PlanePositionSequence") or dataset
    transposed = (
        item(from_frame, "PlaneOrientationSequence") or item(shared, "PlaneOrientationSequence") or dataset
    )
    position = numbers(placed, "ImagePositionPatient")
    cosines = np.array(numbers(transposed, "ImageOrientationPatient"))
    if len(position) != 3 or len(cosines) != 6:
        return None
    row, column = cosines[:3], cosines[3:]
    lengths = np.linalg.norm(row), np.linalg.norm(column)
    if min(lengths) < 0.5 or max(lengths) > 2 or abs(row @ column) > 0.1 * lengths[0] * lengths[1]:
        return None
    row, column = row / lengths[0], column / lengths[1]
    kind = text(dataset, "ImageType").split("\\")
    return SlicePlane(
        (position[0], position[1], position[2]),
        (float(row[0]), float(row[1]), float(row[2])),
        (float(column[0]), float(column[1]), float(column[2])),
        _spacing(dataset, from_frame),
        text(dataset, "FrameOfReferenceUID"),
        # The scout of a CT (PS3.3 C.8.2.1.1.1); that of an MR is a slice.
        text(dataset, "Modality") == "CT" and "LOCALIZER" in kind,
    )


def slice_facts(dataset: Dataset, frame: int = 0) -> SliceFacts:
    """What the file says about a slice; a frame has no instance number of its own."""
    per_frame = items(dataset, "PerFrameFunctionalGroupsSequence")
    from_frame = per_frame[frame] if frame < len(per_frame) else None
    plane = _plane(dataset, from_frame)
    if plane is None:
        return SliceFacts()
    measured = item(from_frame, "PixelMeasuresSequence") or item(
        dataset, "SharedFunctionalGroupsSequence", "PixelMeasuresSequence"
    )
    thickness = number(measured or dataset, "SliceThickness")
    axis = int(np.argmax(np.abs(plane.normal)))
    return SliceFacts(
        None if per_frame else integer(dataset, "InstanceNumber"),
        "xyz"[axis],
        plane.position[axis],
        thickness if thickness is not None and thickness > 0 else None,
        plane,
    )


def spacing_of(dataset: Dataset, frame: int = 0) -> tuple[float, float] | None:
    """(row, column) spacing in mm: in the patient where known, else on the detector, brought to the patient
    by the magnification the file estimates; of ultrasound that of its only region."""
    return _spacing(dataset, _functional_groups(dataset, frame))


def calibrations_of(dataset: Dataset, frame: int = 0) -> tuple[Calibration, ...]:
    """What the pixels of a frame measure. Ultrasound regions count for their part of the image alone, those that are
    not in cm as parts without a size (PS3.3 C.8.5.5); a spacing in the patient that is only a copy of that on the
    detector is one on the detector (PS3.3 10.7.1.3)."""
    regions = _ultrasound_regions(dataset)
    if any(one.row for one in regions):
        return regions
    found = _calibration(dataset, _functional_groups(dataset, frame))
    if found is not None:
        return (found,)
    ratio = aspect_of(dataset)
    return regions if ratio is None else (Calibration(*ratio, ASPECT),)


def _functional_groups(dataset: Dataset, frame: int) -> Dataset | None:
    per_frame = items(dataset, "PerFrameFunctionalGroupsSequence")
    return per_frame[frame] if frame < len(per_frame) else None


def _spacing(dataset: Dataset, from_frame: Dataset | None) -> tuple[float, float] | None:
    found = _calibration(dataset, from_frame)
    if found is not None:
        return found.spacing
    regions = _ultrasound_regions(dataset)
    return regions[0].spacing if len(regions) == 1 and regions[0].row else None


def _calibration(dataset: Dataset, from_frame: Dataset | None) -> Calibration | None:
    measured = item(from_frame, "PixelMeasuresSequence") or item(
        dataset, "SharedFunctionalGroupsSequence", "PixelMeasuresSequence"
    )
    on_detector = _positive(numbers(dataset, "ImagerPixelSpacing"))
    for found in (measured, dataset):
        spacing = _positive(numbers(found, "PixelSpacing")) if found is not None else None
        if spacing is not None:
            is_copied = spacing == on_detector and not text(dataset, "PixelSpacingCalibrationType")
            return Calibration(*spacing, AT_DETECTOR if is_copied else IN_PATIENT)
    if on_detector is not None:
        magnification = number(dataset, "EstimatedRadiographicMagnificationFactor")
        if magnification is None or not 0.5 < magnification < 10:
            return Calibration(*on_detector, AT_DETECTOR)
        return Calibration(on_detector[0] / magnification, on_detector[1] / magnification, MAGNIFIED)
    scanned = _positive(numbers(dataset, "NominalScannedPixelSpacing"))
    return None if scanned is None else Calibration(*scanned, ON_FILM)


def slice_distance(dataset: Dataset) -> float | None:
    """mm between the frames of an object, from its header."""
    offsets = numbers(dataset, "GridFrameOffsetVector")
    if len(offsets) > 1 and offsets[1] != offsets[0]:
        return abs(offsets[1] - offsets[0])
    measured = item(dataset, "SharedFunctionalGroupsSequence", "PixelMeasuresSequence")
    for found in (measured, dataset):
        if found is not None:
            for keyword in ("SpacingBetweenSlices", "SliceThickness"):
                distance = number(found, keyword)
                if distance is not None and distance > 0:
                    return distance
    return None


def aspect_of(dataset: Dataset) -> tuple[float, float] | None:
    """Height and width of a pixel where they differ and there is no spacing (Pixel Aspect Ratio)."""
    ratio = _positive(numbers(dataset, "PixelAspectRatio"))
    return None if ratio is None or ratio[0] == ratio[1] else ratio


def directions(plane: SlicePlane, following: SlicePlane | None = None) -> tuple[str, str, str]:
    """The directions of slices, rows and columns, by the nearest axis of the patient; of slices against their normal
    where the ``following`` one lies there."""
    is_against = following is not None and plane.normal @ following.position < plane.height
    normal = -plane.normal if is_against else plane.normal
    return _letter(normal), _letter(plane.along_column), _letter(plane.along_row)


def is_in_reading_order(planes: Sequence[SlicePlane]) -> bool:
    """Whether slices follow each other as workstations number them: axial ones from the head downwards, coronal ones
    from the front backwards, sagittal ones from the patient's right to the left."""
    return directions(planes[0], planes[-1])[0] in ("I", "P", "L")


def distance_between(planes: Sequence[SlicePlane]) -> float | None:
    """The median distance in mm between neighbouring slices, in their order; ``None`` for fewer than two."""
    heights = np.array([float(planes[0].normal @ np.array(plane.position)) for plane in planes])
    steps = np.abs(np.diff(heights))
    median = float(np.median(steps)) if len(steps) else 0.0
    return median if median > 0 else None


def gaps_in(planes: Sequence[SlicePlane]) -> list[int]:
    """Indices of the sorted ``planes`` after which slices are missing or unevenly spaced."""
    heights = np.array([float(planes[0].normal @ np.array(plane.position)) for plane in planes])
    steps = np.abs(np.diff(heights))
    median = float(np.median(steps)) if len(steps) else 0.0
    return [int(place) for place in np.flatnonzero(np.abs(steps - median) > max(GAP * median, 0.01))]


def sideways(planes: Sequence[SlicePlane]) -> npt.NDArray[np.float64]:
    """(n, 3) of each slice: mm along the normal of the first, and the pixels (row, column) by which it lies sideways
    of the first, as slices of a tilted gantry do (PS3.3 C.7.6.2.1.1)."""
    first = planes[0]
    row, column = first.spacing or (1.0, 1.0)
    offset = np.array([plane.position for plane in planes]) - np.array(first.position)
    axes = np.array([first.normal, np.array(first.along_column) / row, np.array(first.along_row) / column])
    found: npt.NDArray[np.float64] = offset @ axes.T
    return found


def slant_of(planes: Sequence[SlicePlane]) -> float | None:
    """Degrees between the direction in which slices follow each other and their normal; 0 where they lie sideways of
    each other in no one direction; ``None`` where no slice lies more than half a pixel sideways."""
    found = sideways(planes)
    height, aside = found[:, 0], found[:, 1:]
    if np.abs(aside).max() <= 0.5 or not height.any():
        return None
    slope = height @ aside / (height @ height)
    if np.abs(aside - height[:, None] * slope).max() > 0.5:
        return 0.0
    return float(np.degrees(np.arctan(np.linalg.norm(slope * (planes[0].spacing or (1.0, 1.0))))))


def _positive(found: tuple[float, ...]) -> tuple[float, float] | None:
    return (found[0], found[1]) if len(found) >= 2 and min(found[:2]) > 0 else None


def _ultrasound_regions(dataset: Dataset) -> tuple[Calibration, ...]:
    found = []
    for region in items(dataset, "SequenceOfUltrasoundRegions"):
        ends = [number(region, f"RegionLocation{end}") for end in ("MinX0", "MinY0", "MaxX1", "MaxY1")]
        known = [end for end in ends if end is not None]
        # The last column and row belong to the region. One that does not say where it lies is the whole image.
        box = (known[0], known[1], known[2] + 1, known[3] + 1) if len(known) == 4 else None
        right, down = number(region, "PhysicalDeltaX"), number(region, "PhysicalDeltaY")
        units = number(region, "PhysicalUnitsXDirection"), number(region, "PhysicalUnitsYDirection")
        # Unit 3 is cm a pixel.
        is_cm = right and down and units == (3.0, 3.0)
        row, column = (abs(down) * 10, abs(right) * 10) if is_cm and right and down else (0.0, 0.0)
        found.append(Calibration(row, column, IN_ULTRASOUND, box))
    return tuple(found)


def _letter(direction: Sequence[float] | npt.NDArray[np.float64]) -> str:
    axis = int(np.argmax(np.abs(np.asarray(direction))))
    return _LETTERS[axis][0 if direction[axis] > 0 else 1]
