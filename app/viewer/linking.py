"""Linked images: the same part, the same relative zoom, the same window."""

from __future__ import annotations

from dataclasses import replace

from semblance.app.viewer.viewport import Viewport
from semblance.app.viewer.window_level import Window
from semblance.core.imaging.display import DisplayImage


def linked_view(source: Viewport, target: Viewport) -> Viewport:
    """``target`` with the rotation, relative zoom and position of ``source``."""
    oriented = target.oriented(source.orientation)
    if source.fitted:
        return oriented.fit()
    source_fit, other = source.fit(), oriented.fit()
    return replace(
        other,
        zoom=other.zoom * source.zoom / source_fit.zoom,
        x=other.x * source.x / source_fit.x,
        y=other.y * source.y / source_fit.y,
        fitted=False,
    )


def linked_window(source: Window, one: DisplayImage, other: DisplayImage) -> Window:
    """``source``, the window of ``one``, for ``other``.

    The same values if both have the same unit or range, else the same part of their ranges.
    """
    same_range = (one.low, one.high, one.slope) == (other.low, other.high, other.slope)
    if (one.unit and one.unit == other.unit) or same_range:
        low, high = ((one.value(end) - other.intercept) / other.slope for end in (source.low, source.high))
        return Window(low, high)
    scale = (other.high - other.low) / (one.high - one.low)
    return Window(
        other.low + (source.low - one.low) * scale,
        other.low + (source.high - one.low) * scale,
    )


def linked_slice(place: int, slices: int, other: int) -> int:
    """The slice as far into a volume of ``other`` slices as ``place`` is into one of ``slices``."""
    return round(place * (other - 1) / (slices - 1)) if slices > 1 else other // 2
