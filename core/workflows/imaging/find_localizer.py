"""The image of a study on which the slices of a volume can be seen as lines."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace

import numpy as np

from semblance.core.errors import SemblanceError
from semblance.core.imaging import ImageAddress, ImageReader
from semblance.core.imaging.display import DisplayImage, display_image
from semblance.core.imaging.slice_plane import SlicePlane
from semblance.core.library.location import LibraryLocation
from semblance.core.tasks import SILENT, Reporter
from semblance.core.workflows.imaging.library_cache import cached_library

#: Cases of a study whose headers are read at most.
MOST = 60
#: The sine of the least angle between a slice and its localizer: sixty degrees.
_STEEP = 0.87


@dataclass(frozen=True, eq=False)
class Localizer:
    """An image, at thumbnail size, and its plane in the patient. ``row``: that of its case."""

    image: DisplayImage
    plane: SlicePlane
    row: int


def find_localizer(
    library: LibraryLocation, plane: SlicePlane, rows: Sequence[int], *, reporter: Reporter = SILENT
) -> Localizer | None:
    """Of the cases ``rows`` the image in the frame of reference of ``plane`` that is steepest on it: first a scout,
    which shows all slices, then the middle slice of another series. ``None`` if there is none.

    An image that cannot be read is left out: another one may show the same.
    """
    details = cached_library(library).catalogue.details(list(rows)[:MOST])
    best: tuple[tuple[bool, float], int, ImageAddress, SlicePlane] | None = None
    with ImageReader() as reader:
        for row in rows[:MOST]:
            reporter.check_cancelled()
            case = details.get(row)
            if case is None or case.address is None:
                continue
            address = case.address
            if address.slices:
                address = address.slices[len(address.slices) // 2]
            try:
                found = reader.plane(address)
            except SemblanceError:
                continue
            if found is None or not plane.is_in_frame_of(found):
                continue
            steepness = float(np.linalg.norm(np.cross(plane.normal, found.normal)))
            worth = (found.is_projection, round(steepness, 3))
            if steepness >= _STEEP and (best is None or worth > best[0]):
                best = worth, row, address, found
        if best is None:
            return None
        _, row, address, found = best
        try:
            image = display_image(reader.open(address))
        except SemblanceError:
            return None
    last = len(image.levels) - 1
    small = replace(image, levels=image.levels[last:], reduced=image.factor(last))
    return Localizer(small, found, row)
