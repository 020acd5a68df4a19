"""Segmentation objects (PS3.3 A.51): which voxels of another series each segment names."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np
import numpy.typing as npt

from semblance.core.errors import BadInput
from semblance.core.imaging.dicom.attributes import code_of, integer, item, items, text, walk
from semblance.core.imaging.dicom.dicom_file import COPY_AGAIN
from semblance.core.imaging.dicom.geometry import slice_plane
from semblance.core.imaging.dicom.images import DicomImages
from semblance.core.imaging.region import Region, region_of_mask
from semblance.core.imaging.slice_plane import SlicePlane
from semblance.core.language import tr_lazy
from semblance.core.limits import MAX_ARRAY_BYTES

if TYPE_CHECKING:
    from pydicom import Dataset

SOP_CLASS = "1.2.840.10008.5.1.4.1.1.66.4"

#: mm that two planes may be apart and still be the same slice.
_NEAR_MM = 0.1


@dataclass(frozen=True)
class NamedRegion:
    """A region of another object, with its label and kind, and the coding scheme and value of the kind."""

    label: str
    region: Region
    kind: str = ""
    code: tuple[str, str] = ("", "")


def referenced_instances(dataset: Dataset) -> list[str]:
    """UIDs of the instances an object refers to, each once."""
    found: dict[str, None] = {}
    for series in items(dataset, "ReferencedSeriesSequence"):
        for one in items(series, "ReferencedInstanceSequence"):
            found[text(one, "ReferencedSOPInstanceUID")] = None
    for frame in items(dataset, "PerFrameFunctionalGroupsSequence"):
        for source in _source_items(frame):
            found[source] = None
    for study in items(dataset, "ReferencedFrameOfReferenceSequence"):
        for series in walk(study, "RTReferencedStudySequence"):
            for part in items(series, "RTReferencedSeriesSequence"):
                for image in items(part, "ContourImageSequence"):
                    found[text(image, "ReferencedSOPInstanceUID")] = None
    found.pop("", None)
    return list(found)


def segments(
    images: DicomImages, places: Mapping[str, int], planes: Sequence[SlicePlane | None], size: tuple[int, int]
) -> list[NamedRegion]:
    """The segments as regions of a volume of ``size`` (rows, columns) pixels.

    ``places``: instance UID -> slice; ``planes``: the plane of each slice. A frame belongs to the slice it refers
    to, else to the slice at its position.

    Raises:
        BadInput: another grid of pixels, frames that lie on no slice, or damaged pixels.
    """
    layout, dataset = images.layout, images.dataset
    if (layout.rows, layout.columns) != size:
        raise BadInput(
            tr_lazy(
                "'{images}' marks images of {columns} x {rows} pixels, its series has {size} x {size2}.",
                images=images.name,
                columns=layout.columns,
                rows=layout.rows,
                size=size[1],
                size2=size[0],
            ),
            "Export it on the grid of its series.",
        )
    labels = {
        integer(one, "SegmentNumber"): (
            text(one, "SegmentLabel") or text(one, "SegmentDescription"),
            text(item(one, "SegmentedPropertyTypeCodeSequence") or one, "CodeMeaning"),
            code_of(item(one, "SegmentedPropertyTypeCodeSequence")),
        )
        for one in items(dataset, "SegmentSequence")
    }
    frames = items(dataset, "PerFrameFunctionalGroupsSequence")
    by_segment: dict[int, dict[int, list[int]]] = {}
    shared = item(dataset, "SharedFunctionalGroupsSequence", "SegmentIdentificationSequence")
    for frame in range(layout.frames):
        own = frames[frame] if frame < len(frames) else None
        labels_given = item(own, "SegmentIdentificationSequence") or shared
        number = integer(labels_given, "ReferencedSegmentNumber") if labels_given is not None else None
        if number is None or number not in labels:
            raise BadInput(
                tr_lazy(
                    "'{images}' does not state the segment of its frame {frame}.",
                    images=images.name,
                    frame=frame,
                ),
                COPY_AGAIN,
            )
        place = _place(own, slice_plane(dataset, frame), places, planes)
        if place is None:
            raise BadInput(
                tr_lazy(
                    "Frame {frame} of '{images}' lies on no slice of its series.",
                    frame=frame,
                    images=images.name,
                ),
                "Import both together.",
            )
        by_segment.setdefault(number, {}).setdefault(place, []).append(frame)
    segments_made = [_segment(images, found, *labels[number]) for number, found in sorted(by_segment.items())]
    return [marked for marked in segments_made if marked is not None]


def _segment(
    images: DicomImages, frames: Mapping[int, Sequence[int]], label: str, kind: str, code: tuple[str, str]
) -> NamedRegion | None:
    """``None`` if it has no voxel."""
    first, last = min(frames), max(frames)
    rows, columns = images.layout.rows, images.layout.columns
    if (last - first + 1) * rows * columns > MAX_ARRAY_BYTES:
        raise BadInput(
            tr_lazy("A segment of '{images}' is too large for memory.", images=images.name), "Leave it out."
        )
    mask: npt.NDArray[np.bool_] = np.zeros((last - first + 1, rows, columns), dtype=np.bool_)
    half = _threshold(images.dataset)
    for place, drawn in frames.items():
        for frame in drawn:
            mask[place - first] |= images.stored(frame)[0] > half
    return NamedRegion(label, region_of_mask(mask, first), kind, code) if mask.any() else None


def _threshold(dataset: Dataset) -> float:
    """The threshold above which values are inside: half of the greatest fraction, or 0 for a binary segmentation."""
    fraction = integer(dataset, "MaximumFractionalValue")
    return fraction / 2 if text(dataset, "SegmentationType") == "FRACTIONAL" and fraction else 0.0


def _place(
    frame: Dataset | None,
    plane: SlicePlane | None,
    places: Mapping[str, int],
    planes: Sequence[SlicePlane | None],
) -> int | None:
    for source in _source_items(frame):
        if source in places:
            return places[source]
    if plane is None:
        return None
    for place, other in enumerate(planes):
        if other is not None and abs(_distance_to_plane(other, plane)) < _NEAR_MM:
            return place
    return None


def _distance_to_plane(base_plane: SlicePlane, plane: SlicePlane) -> float:
    return float(base_plane.normal @ (np.array(plane.position) - np.array(base_plane.position)))


def _source_items(frame: Dataset | None) -> list[str]:
    return [
        text(source, "ReferencedSOPInstanceUID")
        for derivation in items(frame, "DerivationImageSequence")
        for source in items(derivation, "SourceImageSequence")
    ]
