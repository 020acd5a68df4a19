"""The words in the corners of a picture: place and value under the mouse, size, zoom, window."""

from __future__ import annotations

from semblance.app.viewer.window_level import Window, window_text
from semblance.core.imaging.display import DisplayPicture
from semblance.core.imaging.region import Region
from semblance.core.language import figure, in_marks, tr


def zoom_text(zoom: float) -> str:
    """100 % is one screen pixel for a picture pixel."""
    return tr("Zoom {percent} %", percent=f"{zoom * 100:.0f}")


def size_text(picture: DisplayPicture | None, region: Region | None) -> str:
    """Width and height of the region, or of the picture, in millimetres; empty without spacing."""
    if picture is None or picture.spacing_mm is None:
        return ""
    width, height = (picture.width, picture.height) if region is None else (region.width, region.height)
    return in_marks(f"{width * picture.spacing_mm[1]:.1f} × {height * picture.spacing_mm[0]:.1f} mm")


def greys_text(picture: DisplayPicture, window: Window | None) -> str:
    """Width and level of the window in force; empty for colour."""
    return window_text(picture, window) if window else ""


def value_text(picture: DisplayPicture | None, under: tuple[int, int] | None) -> str:
    """Place and value of the pixel under the mouse, like ``x 120  y 64   −37 HU``; empty without one."""
    if picture is None or under is None:
        return ""
    x, y = under
    stored = picture.levels[0][y // picture.reduced, x // picture.reduced]
    if picture.is_colour:
        return f"x {x}  y {y}   {' '.join(str(int(channel)) for channel in stored)}"
    value = picture.value(float(stored))
    whole = picture.slope == round(picture.slope) and picture.intercept == round(picture.intercept)
    number = figure(value, ".0f" if whole else ".4g")
    return f"x {x}  y {y}   {number} {picture.unit}".rstrip().replace("-", "−")
