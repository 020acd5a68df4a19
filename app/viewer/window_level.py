"""Window and level of grey images."""

from __future__ import annotations

from dataclasses import dataclass, replace

import numpy as np
import numpy.typing as npt

from semblance.core.imaging.display import DisplayImage, grey_table
from semblance.core.imaging.image import Curve
from semblance.core.language import format_number, tr


@dataclass(frozen=True)
class Window:
    """Stored numbers up to ``low`` are black, from ``high`` on white, a straight line between or ``curve``."""

    low: float
    high: float
    curve: Curve | None = None

    @property
    def width(self) -> float:
        return self.high - self.low

    @property
    def level(self) -> float:
        return (self.low + self.high) / 2

    @classmethod
    def around(cls, level: float, width: float, narrowest: float = 1.0) -> Window:
        width = max(narrowest, width)
        return cls(level - width / 2, level + width / 2)

    def table(self, size: int, *, inverted: bool = False) -> npt.NDArray[np.uint8]:
        """(size,) uint8: the grey of every stored number 0 to ``size`` - 1."""
        return grey_table(size, self.low, self.high, self.curve, inverted=inverted)


@dataclass(frozen=True)
class Preset:
    """A window on values (Hounsfield units for computed tomography) and its key ("" for none)."""

    key: str
    name: str
    width: float
    level: float


PRESETS = (
    Preset("3", tr("Brain"), 80, 40),
    Preset("4", tr("Abdomen"), 400, 40),
    Preset("5", tr("Mediastinum"), 350, 50),
    Preset("6", tr("Bone"), 1800, 400),
    Preset("7", tr("Lung"), 1500, -600),
)


def auto_window(image: DisplayImage) -> Window:
    """The window an image is opened with."""
    return Window(*image.auto, image.curve)


def window_on_values(image: DisplayImage, low: float, high: float) -> Window:
    """The window between two values of the image; the one it is opened with keeps its curve."""
    low, high = sorted((end - image.intercept) / image.slope for end in (low, high))
    return Window(low, high, image.curve_between(low, high))


def preset_window(image: DisplayImage, preset: Preset) -> Window:
    """``preset`` in the image's stored numbers."""
    low = preset.level - preset.width / 2
    return window_on_values(image, low, low + preset.width)


def same_values(window: Window, before: DisplayImage, after: DisplayImage) -> Window:
    """``window`` on the same values in another slice, whose stored numbers may mean others."""
    if (before.slope, before.intercept) == (after.slope, after.intercept):
        return window
    ends = ((before.value(stored) - after.intercept) / after.slope for stored in (window.low, window.high))
    low, high = sorted(ends)
    return replace(window, low=low, high=high)


def dragged(window: Window, image: DisplayImage, right: float, down: float) -> Window:
    """``window`` after a drag of so many widget pixels: to the right widens it, up makes it brighter.

    A pixel is 1/500 of the window that the drag began with, as at a workstation. A narrow window counts as a
    twentieth of the image's range, because otherwise it could hardly be left.
    """
    span = image.high - image.low
    narrowest = 1.0 if image.slope == 1 else span / 1000
    step = max(window.width, span / 20) / 500
    level = window.level + down * step
    width = min(max(window.width + right * step, narrowest), 2 * span)
    return Window.around(min(max(level, image.low - span / 2), image.high + span / 2), width)


def window_text(image: DisplayImage, window: Window) -> str:
    """Width and level in the image's own values, like ``W 198  L 104``; DICOM's name of a curve before them."""
    if window.curve is not None and window.curve.levels:
        return "VOI LUT"
    name = "" if window.curve is None else "SIGMOID  "
    width, level = window.width * image.slope, image.value(window.level)
    if image.slope != 1 and image.unit != "HU":
        return f"{name}W {_format_value(width)}  L {_format_value(level)}"
    return f"{name}W {width:.0f}  L {level:.0f}"


def _format_value(value: float) -> str:
    return format_number(value, ".3f" if abs(value) < 10 else ".4g")
