"""The overlay texts of an image: position and value under the mouse, size, zoom, window."""

from __future__ import annotations

from semblance.app.viewer.window_level import Window, window_text
from semblance.core.imaging.display import DisplayImage
from semblance.core.imaging.region import Region
from semblance.core.language import format_number, localise_number, tr


def zoom_text(zoom: float) -> str:
    """100 % is one screen pixel for an image pixel."""
    return tr("Zoom {percent} %", percent=f"{zoom * 100:.0f}")


def size_text(image: DisplayImage | None, region: Region | None) -> str:
    """Width and height of the region, or of the image, in millimetres; empty without spacing."""
    if image is None or image.spacing_mm is None:
        return ""
    width, height = (image.width, image.height) if region is None else (region.width, region.height)
    return localise_number(f"{width * image.spacing_mm[1]:.1f} × {height * image.spacing_mm[0]:.1f} mm")


def window_level_text(image: DisplayImage, window: Window | None) -> str:
    """Width and level of the current window; empty for colour."""
    return window_text(image, window) if window else ""


def value_text(image: DisplayImage | None, pixel_under_mouse: tuple[int, int] | None) -> str:
    """Position and value of the pixel under the mouse, such as ``x 120  y 64   −37 HU``; empty without one."""
    if image is None or pixel_under_mouse is None:
        return ""
    x, y = pixel_under_mouse
    stored = image.levels[0][y // image.reduced, x // image.reduced]
    if image.is_colour:
        return f"x {x}  y {y}   {' '.join(str(int(channel)) for channel in stored)}"
    value = image.value(float(stored))
    whole = image.slope == round(image.slope) and image.intercept == round(image.intercept)
    number = format_number(value, ".0f" if whole else ".4g")
    return f"x {x}  y {y}   {number} {image.unit}".rstrip().replace("-", "−")
