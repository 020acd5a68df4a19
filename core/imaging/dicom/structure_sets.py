"""RT structure sets (PS3.3 A.19): outlines in millimetres as regions of a volume."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

import numpy as np
import numpy.typing as npt

from semblance.core.imaging.dicom.attributes import integer, items, numbers, text
from semblance.core.imaging.dicom.segmentations import NamedRegion
from semblance.core.imaging.outline import Polygon
from semblance.core.imaging.region import region_of_mask
from semblance.core.imaging.slice_plane import SlicePlane

if TYPE_CHECKING:
    from pydicom import Dataset

SOP_CLASS = "1.2.840.10008.5.1.4.1.1.481.3"

#: Corners of all outlines of one structure.
MAX_CORNERS = 2_000_000


def structures(dataset: Dataset, planes: Sequence[SlicePlane], size: tuple[int, int]) -> list[NamedRegion]:
    """The closed structures as regions of the volume whose slices lie in ``planes``, in order.

    Outlines within each other on one slice leave the inner part out, as the standard's keyhole does.
    Structures without an area on any slice are left out.
    """
    names = {
        integer(one, "ROINumber"): text(one, "ROIName") for one in items(dataset, "StructureSetROISequence")
    }
    heights = np.array([float(planes[0].normal @ np.array(plane.position)) for plane in planes])
    steps = np.abs(np.diff(heights))
    reach = float(np.median(steps)) / 2 if len(steps) else 1.0
    found = []
    for contours in items(dataset, "ROIContourSequence"):
        drawn: dict[int, npt.NDArray[np.bool_]] = {}
        corners = 0
        for contour in items(contours, "ContourSequence"):
            points = np.array(numbers(contour, "ContourData"), dtype=np.float64)
            closed = text(contour, "ContourGeometricType").upper().startswith("CLOSED")
            if not closed or len(points) < 9 or len(points) % 3:
                continue
            corners += len(points) // 3
            if corners > MAX_CORNERS:
                break
            points = points.reshape(-1, 3)
            height = float(np.mean(points @ planes[0].normal))
            place = int(np.argmin(np.abs(heights - height)))
            if abs(heights[place] - height) > reach + 0.01:
                continue
            in_plane = planes[place].pixels_of(points)[:, :2]
            mask = Polygon(tuple((float(x), float(y)) for x, y in in_plane)).mask(*size)
            drawn[place] = drawn[place] ^ mask if place in drawn else mask
        drawn = {place: mask for place, mask in drawn.items() if mask.any()}
        if not drawn:
            continue
        first, last = min(drawn), max(drawn)
        volume = np.zeros((last - first + 1, *size), dtype=np.bool_)
        for place, mask in drawn.items():
            volume[place - first] = mask
        name = names.get(integer(contours, "ReferencedROINumber"), "")
        found.append(NamedRegion(name, region_of_mask(volume, first)))
    return found
