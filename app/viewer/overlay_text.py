"""The overlay texts of an image: position and value under the mouse, size, zoom, window."""

from __future__ import annotations

from semblance.app.viewer.window_level import Window, window_text
from semblance.core.imaging.display import DisplayImage
from semblance.core.imaging.image import SliceFacts
from semblance.core.imaging.region import Region
from semblance.core.language import format_number, localise_number, tr


def slice_text(place: int, n: int, facts: SliceFacts) -> str:
    """Such as ``Slice 20 of 40, instance 20, z −134.5 mm``: the number in the volume, the file's, and the position."""
    text = tr("Slice {place} of {n}", place=place + 1, n=n)
    if facts.instance is not None:
        text = tr("{text}, instance {number}", text=text, number=facts.instance)
    if facts.axis:
        # With a true minus sign, and without one before 0.0.
        position = format_number(round(facts.position_mm, 1) + 0.0, ".1f").replace("-", "−")
        text = f"{text}, {facts.axis} {position} mm"
    return text


def thickness_text(facts: SliceFacts) -> str:
    """The thickness of a slice; empty where the file does not say it."""
    thickness = facts.thickness_mm
    return "" if thickness is None else tr("Thickness {mm} mm", mm=format_number(thickness, ".4g"))


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
