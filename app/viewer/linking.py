"""Linked images: the same part, the same relative zoom, the same window."""

from __future__ import annotations

from dataclasses import replace
from enum import Enum

from semblance.app.viewer.viewport import Viewport
from semblance.app.viewer.window_level import Window, same_values
from semblance.core.imaging.display import DisplayImage
from semblance.core.imaging.in_plane_shift import InPlaneShift
from semblance.core.workflows.imaging.view_images import StackFacts

_OPPOSITE = {"L": "R", "R": "L", "A": "P", "P": "A", "S": "I", "I": "S"}


#: A point in pixels of an image as stored.
Point = tuple[float, float]


def linked_view(
    source: Viewport,
    target: Viewport,
    together: tuple[Point, Point] | None = None,
    *,
    is_mirrored: bool = False,
) -> Viewport:
    """``target`` with the rotation, relative zoom and position of ``source``. The points ``together`` of source and
    target, by default the middles of both images, are at the same position. ``is_mirrored``: what is at the right of
    one is at the left of the other, as in both breasts."""
    oriented = target.oriented(source.orientation)
    if source.fitted:
        return oriented.fit()
    source_fit, other = source.fit(), oriented.fit()
    zoom = other.zoom * source.zoom / source_fit.zoom
    begin, end = (source_fit.x, source_fit.y), (other.x, other.y)
    if together is not None:
        begin = source.orientation.place(*together[0], source.width, source.height)
        end = oriented.orientation.place(*together[1], oriented.width, oriented.height)
    return replace(
        other,
        zoom=zoom,
        x=end[0] + (-1 if is_mirrored else 1) * (source.x - begin[0]) * other.x / source_fit.x,
        y=end[1] + (source.y - begin[1]) * other.y / source_fit.y,
        fitted=False,
    )


def registered_view(
    source: Viewport,
    target: Viewport,
    shift: InPlaneShift,
    source_mm: tuple[float, float],
    target_mm: tuple[float, float],
) -> Viewport:
    """``target``, in a widget of the same size, so that its image, moved by ``shift``, lies on that of ``source``.

    ``source_mm``, ``target_mm``: mm from row to row and from column to column of each image.
    """
    if not shift.is_mm:
        source_mm, target_mm = (
            (1.0 / source.height, 1.0 / source.width),
            (1.0 / target.height, 1.0 / target.width),
        )
    x, y = source.orientation.origin(source.x, source.y, source.width, source.height)
    right = (x - source.width / 2) * source_mm[1] - shift.right
    down = (y - source.height / 2) * source_mm[0] - shift.down
    x, y = target.width / 2 + right / target_mm[1], target.height / 2 + down / target_mm[0]
    x, y = source.orientation.place(x, y, target.width, target.height)
    zoom = source.zoom * target_mm[1] / source_mm[1]
    return replace(target, orientation=source.orientation, zoom=zoom, x=x, y=y, fitted=False)


def linked_window(source: Window, one: DisplayImage, other: DisplayImage) -> Window:
    """``source``, the window of ``one``, for ``other``.

    The same values if both have the same unit or range, else the same part of their ranges.
    """
    same_range = (one.low, one.high, one.slope) == (other.low, other.high, other.slope)
    if (one.unit and one.unit == other.unit) or same_range:
        return same_values(source, one, other)
    scale = (other.high - other.low) / (one.high - one.low)
    low, high = (other.low + (end - one.low) * scale for end in (source.low, source.high))
    return replace(source, low=low, high=high)


class LevelLink(Enum):
    """By what the slices of two volumes follow each other."""

    CONTENT = "content"
    POSITION = "position"
    HAND = "hand"
    OFF = "off"


def linked_slice(
    place: int,
    one: StackFacts,
    other: StackFacts,
    together: tuple[int, int],
    *,
    uses_positions: bool = True,
) -> int:
    """The slice of ``other`` that belongs to slice ``place`` of ``one``.

    At the same position in the patient where both have one frame of reference and orientation, if ``uses_positions``.
    Else as many mm from the slices ``together`` (of one and other), which were shown side by side, where both distances
    are known and the slices run along one axis. Else as far into the volume.
    """
    if one.spacing_mm is not None and other.spacing_mm is not None:
        step, other_step = one.spacing_mm[0], other.spacing_mm[0]
        if uses_positions and is_same_frame(one, other):
            assert one.location is not None
            assert other.location is not None
            found = other.location.place_at(one.location.height_of(place))
        elif one.directions is not None and other.directions is not None:
            along, other_along = one.directions[0], other.directions[0]
            if other_along not in (along, _OPPOSITE[along]):
                return _relative_slice(place, one, other)
            way = 1 if along == other_along else -1
            found = together[1] + way * (place - together[0]) * step / other_step
        else:
            return _relative_slice(place, one, other)
        return min(max(round(found), 0), other.slices - 1)
    return _relative_slice(place, one, other)


def is_same_frame(one: StackFacts, other: StackFacts) -> bool:
    """Whether positions in two volumes are those of one patient who did not move."""
    return one.location is not None and one.location.shares_frame(other.location)


def _relative_slice(place: int, one: StackFacts, other: StackFacts) -> int:
    """The slice as far into ``other`` as ``place`` is into ``one``."""
    return round(place * (other.slices - 1) / (one.slices - 1)) if one.slices > 1 else other.slices // 2
