"""Regions as spatial coordinates of a structured report: closed polylines on the images they were drawn on.

A coordinate is (column, row) in pixels of the stored image, where (0, 0) is the upper left corner of its upper left
pixel and (columns, rows) the lower right corner of the last one (PS3.3 C.18.6.1.1). How the image was shown does not
matter.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np
import numpy.typing as npt

from semblance.core.imaging.outline import Ellipse, Polygon

if TYPE_CHECKING:
    from pydicom import Dataset

    from semblance.core.imaging.region import Region

Mask = npt.NDArray[np.bool_]
#: (x, y) of each corner, the last one equal to the first.
Polyline = tuple[tuple[float, float], ...]
#: Corners of a polyline at most: Graphic Data (0070,0022) has a length of two bytes, and a corner takes eight.
MAX_CORNERS = 8_000
#: Numbers of corners that an ellipse is tried with.
_ELLIPSE_CORNERS = (72, 360, 1440)


@dataclass(frozen=True)
class RegionOutline:
    """A closed polyline of a region on the image with ``header``; ``frame``: from 1, ``None`` for a single image."""

    header: Dataset
    polyline: Polyline
    frame: int | None = None


def image_regions(outlines: Sequence[RegionOutline]) -> list[Any]:
    """An SCOORD (111030, DCM, "Image Region") for each of ``outlines``, SELECTED FROM its image."""
    return [_image_region(one) for one in outlines]


def _image_region(outline: RegionOutline) -> Any:
    from highdicom.sr import (
        ContentSequence,
        GraphicTypeValues,
        ImageRegion,
        PixelOriginInterpretationValues,
        RelationshipTypeValues,
        ScoordContentItem,
        SourceImageForRegion,
    )
    from pydicom.sr.codedict import codes

    header, frame = outline.header, outline.frame
    origin = None
    if "TotalPixelMatrixRows" in header:
        # A frame is a tile, and the coordinates are those of the tile.
        origin, frame = PixelOriginInterpretationValues.FRAME, frame or 1
    # ImageRegion itself refuses images of retired and of private classes.
    item = ScoordContentItem(
        codes.DCM.ImageRegion,
        GraphicTypeValues.POLYLINE,
        np.array(outline.polyline, dtype=np.float64),
        origin,
        relationship_type=RelationshipTypeValues.CONTAINS,
    )
    frames = None if frame is None else [frame]
    source = SourceImageForRegion(header.SOPClassUID, header.SOPInstanceUID, frames)
    item.ContentSequence = ContentSequence([source])
    return ImageRegion.from_dataset(item)


def polylines(region: Region, height: int, width: int) -> list[Polyline]:
    """The outlines that together enclose exactly the pixels of ``region`` (of one slice) in an image of ``height`` x
    ``width`` pixels: a drawn shape as it was drawn, any other along the edges of its pixels. A shape with holes is cut
    at them.

    Raises:
        BadInput: nothing of the region lies inside.
    """
    part = region.clipped(height, width)
    left, top, right, bottom = part.box
    if part.outline is None:
        return [((left, top), (right, top), (right, bottom), (left, bottom), (left, top))]
    mask = part.outline.mask(part.height, part.width)
    for corners in _drawn(part):
        in_image = all(0 <= x <= width - left and 0 <= y <= height - top for x, y in corners)
        is_short = len(corners) < MAX_CORNERS
        if in_image and is_short and np.array_equal(Polygon(corners).mask(*mask.shape), mask):
            return [tuple((x + left, y + top) for x, y in (*corners, corners[0]))]
    return [tuple((x + left, y + top) for x, y in ring) for ring in _along_pixels(mask, 0, 0)]


def _drawn(region: Region) -> Iterator[Polyline]:
    """The corners of a drawn shape, from the corner of its rectangle; of an ellipse more and more of them."""
    outline = region.outline
    if isinstance(outline, Polygon):
        yield outline.points
    elif isinstance(outline, Ellipse):
        for n in _ELLIPSE_CORNERS:
            angles = np.arange(n) * (2 * np.pi / n)
            x = outline.centre[0] + outline.radii[0] * np.cos(angles)
            y = outline.centre[1] + outline.radii[1] * np.sin(angles)
            yield tuple(zip(x.tolist(), y.tolist(), strict=True))


def _along_pixels(mask: Mask, left: int, top: int) -> Iterator[Polyline]:
    """Closed outlines along the edges of the true pixels, one for each connected part, from the corner (0, 0) of an
    image in which ``mask`` lies at ``left``, ``top``."""
    from scipy import ndimage

    labels, _ = ndimage.label(mask)
    for number, (rows, columns) in enumerate(ndimage.find_objects(labels), start=1):
        part: Mask = labels[rows, columns] == number
        x, y = left + columns.start, top + rows.start
        hole = ndimage.binary_fill_holes(part) & ~part
        corners = [] if hole.any() else _ring(part)
        if corners and len(corners) <= MAX_CORNERS:
            yield tuple((x + dx, y + dy) for dx, dy in corners)
            continue
        # A hole has columns of the part on both sides.
        across = np.flatnonzero(hole.any(axis=0))
        cut = int(across[len(across) // 2]) if len(across) else part.shape[1] // 2
        yield from _along_pixels(part[:, :cut], x, y)
        yield from _along_pixels(part[:, cut:], x + cut, y)


def _ring(part: Mask) -> list[tuple[int, int]]:
    """The corners of a connected part without holes, clockwise on the screen, the first one again at the end."""
    around = np.pad(part, 1)
    inside = around[1:-1, 1:-1]
    #: Of each edge of a pixel that is a border: where it begins, seen from the pixel, its direction, and the neighbour.
    edges = (
        ((0, 0), (1, 0), around[:-2, 1:-1]),
        ((1, 0), (0, 1), around[1:-1, 2:]),
        ((1, 1), (-1, 0), around[2:, 1:-1]),
        ((0, 1), (0, -1), around[1:-1, :-2]),
    )
    leaving: dict[tuple[int, int], list[tuple[int, int]]] = {}
    for (x, y), direction, neighbour in edges:
        for row, column in np.argwhere(inside & ~neighbour).tolist():
            leaving.setdefault((column + x, row + y), []).append(direction)
    row, column = (int(one) for one in np.argwhere(part)[0])
    start = place = (column, row)
    direction = (1, 0)
    corners = [start]
    while True:
        ahead = place[0] + direction[0], place[1] + direction[1]
        if ahead == start:
            return [*corners, start]
        ways = leaving[ahead]
        # Where two pixels touch at a corner the outline stays at the same pixel: it turns right.
        turned = (-direction[1], direction[0])
        following = turned if turned in ways else ways[0]
        if following != direction:
            corners.append(ahead)
        place, direction = ahead, following
