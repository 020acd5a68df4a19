"""Marks drawn into images as people and devices draw them, with the exact mask of what was drawn; and bright structures
of anatomy that look like them."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt
from PIL import Image, ImageDraw, ImageFont
from scipy.ndimage import gaussian_filter

Bytes = npt.NDArray[np.uint8]
Mask = npt.NDArray[np.bool_]
#: Red, green and blue by the name of a colour.
COLOURS = {
    "white": (255, 255, 255),
    "light grey": (225, 225, 225),
    "yellow": (255, 255, 0),
    "green": (0, 255, 0),
    "cyan": (0, 230, 255),
    "orange": (255, 160, 0),
    "red": (255, 40, 40),
}
#: A pixel belongs to the mark from this change on, of 255.
CHANGED = 8
_SUPERSAMPLED = 4
_WORDS = ("RT BREAST", "TRANS", "LT", "10 oclock", "R", "A", "Dist 1.24 cm", "SAG MID", "Sample")
_NUMBERS = ("1", "2", "13.7", "12.4mm", "0.86", "27/03/2011", "4.5 cm")


@dataclass(frozen=True)
class MarkedImage:
    """``pixels`` (h, w) or (h, w, 3) with a mark, and the ``mask`` (h, w) of the pixels that it changed."""

    pixels: Bytes
    mask: Mask


class _Pen:
    """Draws at a scale, in pixels of the image; ``width`` of a stroke and ``size`` of a mark in such pixels."""

    def __init__(
        self, height: int, width: int, rng: np.random.Generator, *, smooth: bool, size: float
    ) -> None:
        self.height, self.width, self.rng = height, width, rng
        self.scale = _SUPERSAMPLED if smooth else 1
        self.unit = min(height, width) / 256 * size
        self.stroke = max(1, round(rng.choice([1.0, 1.0, 2.0]) * min(height, width) / 256 * max(1.0, size)))
        self.layer = Image.new("L", (width * self.scale, height * self.scale))
        self.draw = ImageDraw.Draw(self.layer)

    def line(self, x0: float, y0: float, x1: float, y1: float) -> None:
        points = [round(self.scale * value) for value in (x0, y0, x1, y1)]
        self.draw.line(points, fill=255, width=self.stroke * self.scale)

    def shape(self, points: Sequence[tuple[float, float]]) -> None:
        self.draw.polygon([(self.scale * x, self.scale * y) for x, y in points], fill=255)

    def text(self, x: float, y: float, text: str, height: float) -> None:
        font = ImageFont.load_default(max(8, round(height)) * self.scale)
        self.draw.text((x * self.scale, y * self.scale), text, fill=255, font=font)

    def dot(self, x: float, y: float) -> None:
        side = max(1, self.stroke) * self.scale
        left, top = round(x * self.scale), round(y * self.scale)
        self.draw.rectangle((left, top, left + side - 1, top + side - 1), fill=255)

    def place(self, margin: float = 0.2) -> tuple[float, float]:
        """A point that is not near the edge."""
        x, y = self.rng.uniform(margin, 1 - margin, 2)
        return float(x * self.width), float(y * self.height)

    def ends(self) -> tuple[float, float, float, float]:
        """Two points as those of a measurement."""
        x, y = self.place(0.3)
        angle, length = self.rng.uniform(0, np.pi), self.rng.uniform(0.1, 0.25) * min(self.width, self.height)
        dx, dy = float(length * np.cos(angle)), float(length * np.sin(angle))
        return x - dx, y - dy, x + dx, y + dy

    def coverage(self) -> npt.NDArray[np.float32]:
        """(h, w) the share of each pixel that is drawn on."""
        small = self.layer.resize((self.width, self.height), Image.Resampling.BOX)
        return np.asarray(small, dtype=np.float32) / 255


def _plus(pen: _Pen) -> None:
    for x, y in (pen.ends()[:2], pen.ends()[2:]):
        arm = 4 * pen.unit
        pen.line(x - arm, y, x + arm, y)
        pen.line(x, y - arm, x, y + arm)


def _cross(pen: _Pen) -> None:
    for x, y in (pen.ends()[:2], pen.ends()[2:]):
        arm = 3 * pen.unit
        pen.line(x - arm, y - arm, x + arm, y + arm)
        pen.line(x - arm, y + arm, x + arm, y - arm)


def _dots_between(pen: _Pen, x0: float, y0: float, x1: float, y1: float) -> None:
    step = max(3.0, 5 * pen.unit)
    for share in np.linspace(0, 1, max(2, int(np.hypot(x1 - x0, y1 - y0) / step))):
        pen.dot(x0 + share * (x1 - x0), y0 + share * (y1 - y0))


def _dotted_line(pen: _Pen) -> None:
    _dots_between(pen, *pen.ends())


def _calipers(pen: _Pen) -> None:
    for _ in range(2):
        x0, y0, x1, y1 = pen.ends()
        arm = 3 * pen.unit
        for x, y in ((x0, y0), (x1, y1)):
            pen.line(x - arm, y, x + arm, y)
            pen.line(x, y - arm, x, y + arm)
        _dots_between(pen, x0, y0, x1, y1)


def _dashed_box(pen: _Pen) -> None:
    x0, y0, x1, y1 = pen.ends()
    left, right, top, bottom = min(x0, x1), max(x0, x1) + 20, min(y0, y1), max(y0, y1) + 20
    step = max(3.0, 5 * pen.unit)
    for start in np.arange(left, right, 2 * step):
        for y in (top, bottom):
            pen.line(float(start), y, min(right, float(start) + step), y)
    for start in np.arange(top, bottom, 2 * step):
        for x in (left, right):
            pen.line(x, float(start), x, min(bottom, float(start) + step))


def _arrow_head(pen: _Pen, at: tuple[float, float] | None = None, angle: float | None = None) -> None:
    x, y = pen.place() if at is None else at
    turned = float(pen.rng.uniform(0, 2 * np.pi)) if angle is None else angle
    length = 10 * pen.unit
    ends = (turned - 0.45, turned + 0.45)
    pen.shape([(x, y), *((float(x - length * np.cos(a)), float(y - length * np.sin(a))) for a in ends)])


def _arrow(pen: _Pen) -> None:
    x0, y0, x1, y1 = pen.ends()
    pen.line(x0, y0, x1, y1)
    _arrow_head(pen, (x1, y1), float(np.arctan2(y1 - y0, x1 - x0)))


def _letters(pen: _Pen) -> None:
    x, y = pen.place(0.1)
    pen.text(min(x, 0.6 * pen.width), y, str(pen.rng.choice(_WORDS)), 11 * pen.unit)


def _numbers(pen: _Pen) -> None:
    x, y = pen.place(0.1)
    pen.text(min(x, 0.7 * pen.width), y, str(pen.rng.choice(_NUMBERS)), 10 * pen.unit)


def _logo(pen: _Pen) -> None:
    x, y = (0.04 * pen.width, 0.04 * pen.height) if pen.rng.random() < 0.5 else pen.place(0.1)
    side = 20 * pen.unit
    scale = pen.scale
    box = [round(scale * value) for value in (x, y, x + side, y + side)]
    pen.draw.ellipse(box, fill=255)
    hole = [
        round(scale * value) for value in (x + side / 4, y + side / 4, x + 3 * side / 4, y + 3 * side / 4)
    ]
    pen.draw.ellipse(hole, fill=0)
    pen.text(x + 1.1 * side, y, "GE", 0.9 * side)


def _ruler(pen: _Pen) -> None:
    x = float(pen.rng.choice([0.03, 0.5, 0.95]) * pen.width)
    top, bottom = pen.rng.uniform(0.1, 0.3) * pen.height, pen.rng.uniform(0.6, 0.95) * pen.height
    if pen.rng.random() < 0.5:
        pen.line(x, top, x, bottom)
    for number, y in enumerate(np.arange(top, bottom, max(5.0, 9 * pen.unit))):
        length = (6 if number % 5 == 0 else 3) * pen.unit
        pen.line(x, float(y), x - length, float(y))


_DRAWN: dict[str, Callable[[_Pen], None]] = {
    "plus": _plus,
    "cross": _cross,
    "calipers": _calipers,
    "dotted line": _dotted_line,
    "dashed box": _dashed_box,
    "arrow": _arrow,
    "arrow head": _arrow_head,
    "letters": _letters,
    "numbers": _numbers,
    "logo": _logo,
    "ruler": _ruler,
}
_BARS = ("colour bar", "grey bar")
#: Every kind of mark that can be drawn.
STYLES = (*_DRAWN, *_BARS)


def draw_mark(
    pixels: Bytes, style: str, *, seed: int, colour: str = "white", size: float = 1.0, smooth: bool = False
) -> MarkedImage:
    """``pixels`` (h, w) or (h, w, 3) with a mark of ``style`` (:data:`STYLES`) in ``colour`` (:data:`COLOURS`).

    ``size`` is a factor on the usual one for the size of the image. ``smooth``: with soft edges. A coloured mark makes
    the image coloured.
    """
    rng = np.random.default_rng([seed, STYLES.index(style)])
    coloured = len(set(COLOURS[colour])) > 1 or style == "colour bar"
    given = np.repeat(pixels[:, :, None], 3, axis=2) if pixels.ndim == 2 and coloured else pixels
    base = given.astype(np.float32)
    height, width = pixels.shape[:2]
    if style in _BARS:
        drawn, cover = _bar(height, width, rng, style, size)
        drawn = drawn if base.ndim == 3 else drawn[:, :, 0]
    else:
        pen = _Pen(height, width, rng, smooth=smooth, size=size)
        _DRAWN[style](pen)
        cover = pen.coverage()
        drawn = np.array(COLOURS[colour], np.float32)[None, None]
        drawn = drawn if base.ndim == 3 else drawn[:, :, 0]
    share = cover[:, :, None] if base.ndim == 3 else cover
    marked = np.rint(base + share * (drawn - base)).astype(np.uint8)
    changed = np.abs(marked.astype(np.int16) - given.astype(np.int16))
    return MarkedImage(marked, (changed.max(axis=2) if changed.ndim == 3 else changed) >= CHANGED)


def _bar(
    height: int, width: int, rng: np.random.Generator, style: str, size: float
) -> tuple[npt.NDArray[np.float32], npt.NDArray[np.float32]]:
    """(h, w, 3) a bar from dark to bright, or through colours, and where it is."""
    import matplotlib

    unit = min(height, width) / 256 * size
    length, thickness = round(rng.uniform(0.3, 0.6) * height), max(4, round(8 * unit))
    top, left = round(rng.uniform(0.1, 0.35) * height), round(float(rng.choice([0.02, 0.9])) * width)
    values = np.linspace(0, 1, length)[::-1]
    if style == "grey bar":
        column = np.repeat(255 * values[:, None], 3, axis=1)
    else:
        name = str(rng.choice(["jet", "hot", "turbo"]))
        column = 255 * matplotlib.colormaps[name](values)[:, :3]
    drawn, cover = np.zeros((height, width, 3), np.float32), np.zeros((height, width), np.float32)
    part = slice(top, top + length), slice(left, min(width, left + thickness))
    drawn[part] = column[:, None]
    cover[part] = 1
    return drawn, cover


def _calcifications(height: int, width: int, rng: np.random.Generator) -> npt.NDArray[np.float32]:
    out = np.zeros((height, width), np.float32)
    y0, x0 = rng.uniform(0.3, 0.7, 2) * (height, width)
    for _ in range(15):
        y, x = rng.normal((y0, x0), 0.06 * min(height, width))
        if 1 <= y < height - 2 and 1 <= x < width - 2:
            radius = rng.integers(1, 3)
            out[int(y) : int(y) + radius, int(x) : int(x) + radius] = rng.uniform(0.6, 1.4)
    return gaussian_filter(out, 0.8) * 1.6


def _curve(
    height: int, width: int, rng: np.random.Generator, thickness: float, *, level: bool
) -> npt.NDArray[np.float32]:
    x = np.arange(width)
    bend = (0.02 if level else 0.12) * height
    middle = rng.uniform(0.3, 0.7) * height + bend * np.sin(x / width * rng.uniform(2, 7) + rng.uniform(0, 6))
    brightness = gaussian_filter(rng.uniform(0.2, 1.3, width), 4)
    distance = (np.arange(height)[:, None] - middle[None]) / thickness
    return (np.exp(-(distance**2)) * brightness[None]).astype(np.float32)


def _vessel(height: int, width: int, rng: np.random.Generator) -> npt.NDArray[np.float32]:
    return _curve(height, width, rng, max(2.0, min(height, width) / 110), level=False)


def _specular_line(height: int, width: int, rng: np.random.Generator) -> npt.NDArray[np.float32]:
    out = _curve(height, width, rng, max(1.6, min(height, width) / 160), level=True)
    start, end = sorted(rng.uniform(0.1, 0.9, 2))
    out[:, : int(start * width)] = out[:, int(end * width) + 5 :] = 0
    return np.asarray(1.5 * gaussian_filter(out, 0.7), dtype=np.float32)


def _skin_line(height: int, width: int, rng: np.random.Generator) -> npt.NDArray[np.float32]:
    y = np.arange(height)[:, None] / height - rng.uniform(0.05, 0.12)
    bow = 0.05 * (np.arange(width)[None] / width - 0.5) ** 2
    return np.exp(-(((y - bow) / 0.015) ** 2)).astype(np.float32)


_TRAPS: dict[str, Callable[[int, int, np.random.Generator], npt.NDArray[np.float32]]] = {
    "calcifications": _calcifications,
    "vessel": _vessel,
    "specular line": _specular_line,
    "skin line": _skin_line,
}
#: Bright structures that are no marks.
TRAPS = tuple(_TRAPS)


def draw_trap(pixels: Bytes, trap: str, *, seed: int) -> Bytes:
    """``pixels`` (h, w) or (h, w, 3) with a bright structure of :data:`TRAPS`, in the noise of the image."""
    rng = np.random.default_rng([seed, TRAPS.index(trap)])
    height, width = pixels.shape[:2]
    added = (
        140 * _TRAPS[trap](height, width, rng) * gaussian_filter(rng.normal(1, 0.35, (height, width)), 0.8)
    )
    out = pixels.astype(np.float32) + (added if pixels.ndim == 2 else added[:, :, None])
    return np.rint(np.clip(out, 0, 255)).astype(np.uint8)
