"""The frame of a plot: scale, ticks, grid and the key to its lines."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass, replace

import numpy as np
import numpy.typing as npt

from semblance.core.language import localise_number, tr
from semblance.core.reports.plot_canvas import TEXT, TICK, Box, PlotCanvas, TextRun, Values

#: Dashes of the lines that are not current: plain, dashed, dotted, dash-dot, long.
DASHES: tuple[tuple[float, ...], ...] = ((), (4, 2.5), (1.2, 2), (6, 2, 1.2, 2), (9, 3), (3, 1.5, 1.2, 1.5))
PAD = 12
#: Dashes of the lines that show what can be reached, what chance gives and what is perfect.
REFERENCE_DASHES = (2.0, 3.0)
_SAMPLE = 16
_STEPS = (0.02, 0.05, 0.1, 0.2, 0.25, 0.5, 1.0)
_COUNTS = (1, 2, 5, 10, 20, 25, 50, 100, 200, 250, 500, 1000, 2000, 5000, 10_000, 50_000, 100_000)


@dataclass(frozen=True)
class Style:
    """Colour, width, dashes and fill of a curve."""

    colour: str
    width: float
    dashes: tuple[float, ...] = ()
    fill: float = 0.0


@dataclass(frozen=True)
class KeyEntry:
    """An entry of the key: the curve's style, its name and its number; ``unit`` is left out where it does not fit."""

    style: Style
    name: str
    value: tuple[TextRun, ...] = ()
    unit: TextRun | None = None

    @property
    def runs(self) -> tuple[TextRun, ...]:
        """The texts of the entry from left to right, its unit first."""
        return (self.unit, *self.value) if self.unit else self.value


@dataclass(frozen=True)
class Scale:
    """Maps data to pixels of the layout: ``x`` and ``y`` are (first, last) of the axes."""

    box: Box
    x: tuple[float, float]
    y: tuple[float, float]

    def across(self, values: npt.ArrayLike) -> Values:
        """Pixels from the left of the figure of ``values`` on the x axis."""
        share = (np.asarray(values, dtype=np.float64) - self.x[0]) / (self.x[1] - self.x[0])
        return self.box.left + share * self.box.width

    def up(self, values: npt.ArrayLike) -> Values:
        """Pixels from the top of the figure of ``values`` on the y axis."""
        share = (np.asarray(values, dtype=np.float64) - self.y[0]) / (self.y[1] - self.y[0])
        return self.box.bottom - share * self.box.height


def style(canvas: PlotCanvas, *, current: bool, line: int, stale: bool = False) -> Style:
    """The accent colour for the current curve, grey with different dashes for the others."""
    colours = canvas.colours
    if current:
        return Style(colours.accent, 1.8, fill=0.0 if stale else 0.17)
    dashes = DASHES[line % len(DASHES)]
    if stale:
        return Style(colours.faint, 1.2, dashes)
    return Style(colours.third, 1.3, dashes, 0.15)


def value_ticks(low: float, high: float, height: float) -> tuple[list[float], float, float]:
    """Round ticks around the shares ``low`` .. ``high``, as many as ``height`` px hold; first and last of
    the axis."""
    count_limit = max(2, int(height // 26))
    for step in _STEPS:
        first, last = math.floor(low / step + 1e-9), math.ceil(high / step - 1e-9)
        if last - first <= count_limit:
            break
    if first == last:
        first, last = first - 1, last + 1
    ticks = [round(place * step, 10) for place in range(first, last + 1)]
    return ticks, ticks[0], ticks[-1]


def count_ticks(first: int, last: int, width: float) -> list[int]:
    """Round whole numbers from ``first`` to ``last``, ``first`` itself included, as many as fit."""
    steps = [step for step in _COUNTS if step != 2] if last > 10 and first else _COUNTS
    step = next((s for s in steps if (last - first) / s <= min(10, max(1, width // 36))), steps[-1])
    if first and last > 10:
        step = max(step, 5)
    ticks = [value for value in range(0, last + 1, step) if value > first]
    if ticks and ticks[0] - first < 0.6 * step:
        ticks = ticks[1:]
    return [first, *ticks]


def tick_text(value: float) -> str:
    """``0.85``, ``0.9``, ``1``."""
    return localise_number(f"{value:.2f}".rstrip("0").rstrip(".") or "0")


def inner_box(canvas: PlotCanvas, y_texts: Sequence[str], *, top: float, right: float = 0.0) -> Box:
    """The box of the plot beside its tick texts and axis labels."""
    widest = max((canvas.text_width(text) for text in y_texts), default=0.0)
    left = PAD + canvas.px(TICK) + 6 + widest + 7
    bottom = canvas.height - 2 * canvas.px(TICK) - 16
    return Box(left, min(top, bottom - 10), max(left + 10, canvas.width - PAD - 6 - right), bottom)


def frame(
    canvas: PlotCanvas,
    scale: Scale,
    x_ticks: Sequence[float],
    y_ticks: Sequence[float],
    *,
    x_label: str = "",
    y_label: str = "",
    y_texts: Sequence[str] | None = None,
    x_texts: bool = True,
) -> None:
    """Grid lines, the base line, texts of the ticks and labels of the axes; no box around them."""
    box, colours = scale.box, canvas.colours
    texts = y_texts if y_texts is not None else [tick_text(value) for value in y_ticks]
    for value, text in zip(y_ticks, texts, strict=True):
        y = float(scale.up(value))
        if y < box.bottom - 1:
            canvas.line([box.left, box.right], [y, y], colours.line, 1)
        canvas.write(box.left - 7, y, text, colours.third, align="right")
    canvas.line([box.left, box.right], [box.bottom, box.bottom], colours.strong_line, 1)
    if x_texts:
        for value in x_ticks:
            middle = box.bottom + 5 + canvas.px(TICK) / 2
            x, text = float(scale.across(value)), tick_text(value)
            canvas.write(x, middle, text, colours.third, align="center")
    if x_label:
        below = box.bottom + 9 + 1.5 * canvas.px(TICK)
        x = min(
            max((box.left + box.right) / 2, canvas.text_width(x_label) / 2),
            canvas.width - canvas.text_width(x_label) / 2,
        )
        canvas.write(x, below, x_label, colours.third, align="center")
    if y_label:
        half = canvas.text_width(y_label) / 2
        middle = min(max((box.top + box.bottom) / 2, half + 2), canvas.height - half - 2)
        canvas.write(PAD + canvas.px(TICK) / 2 - 2, middle, y_label, colours.third, upright=True)


def heading(canvas: PlotCanvas, title: str, note: str) -> float:
    """Draw a bold title, and a grey note at the right; returns their height."""
    if not title and not note:
        return 0.0
    middle = 7 + canvas.px(TEXT) / 2
    available_width = canvas.width - 2 * PAD
    name = canvas.elided(title, available_width, TEXT, 600)
    canvas.write(PAD, middle, name, canvas.colours.text, size=TEXT, weight=600)
    left = available_width - canvas.text_width(name, TEXT, 600) - 16 if name else available_width
    shown_note = canvas.elided(note, left, TICK)
    canvas.write(canvas.width - PAD, middle, shown_note, canvas.colours.third, align="right")
    return 14 + canvas.px(TEXT)


def key_above(canvas: PlotCanvas, entries: Sequence[KeyEntry], area: Box) -> float:
    """Draw lines and names side by side from the top of ``area``; those that do not fit are counted.

    Returns the height used.
    """
    rows = 1 if canvas.height < 220 else 2
    row_height = canvas.px(TEXT) + 6
    x, row = area.left, 0
    for place, entry in enumerate(entries):
        name = canvas.elided(entry.name, min(150 * canvas.px(1), area.width - _SAMPLE - 6), TICK)
        width = _SAMPLE + 6 + canvas.text_width(name) + 14
        rest = f"+{len(entries) - place}"
        last = place == len(entries) - 1
        reserve = 0.0 if last or row < rows - 1 else canvas.text_width(rest) + 8
        if x + width - 14 + reserve > area.right and x > area.left:
            if row == rows - 1:
                canvas.write(x, area.top + (row + 0.5) * row_height, rest, canvas.colours.third)
                break
            x, row = area.left, row + 1
        middle = area.top + (row + 0.5) * row_height
        _draw_sample(canvas, x, middle, entry.style)
        canvas.write(x + _SAMPLE + 6, middle, name, canvas.colours.second)
        x += width
    return (row + 1) * row_height


def key_column(
    canvas: PlotCanvas,
    entries: Sequence[KeyEntry],
    area: Box,
    *,
    bottom: bool = False,
    size: float = TICK,
) -> None:
    """Lines with names and numbers one below the other; ``bottom``: in the corner below right of a plot."""
    row_height = canvas.px(size) + 8
    shown = list(entries)[: max(1, int(area.height // row_height))]
    if any(
        canvas.text_width(entry.name, size) + key_value_width(canvas, entry, size) > area.width
        for entry in shown
    ):
        shown = [replace(entry, unit=None) for entry in shown]
    numbers = max((canvas.text_runs_width(entry.runs, size) for entry in shown), default=0.0)
    widest = max((canvas.text_width(entry.name, size) for entry in shown), default=0.0)
    gap = 10 if widest and numbers else 0
    names = max(0.0, min(widest, area.width - _SAMPLE - 6 - gap - numbers))
    width = _SAMPLE + 6 + names + gap + numbers
    left = area.right - width if bottom else area.left
    top = area.bottom - len(shown) * row_height if bottom else area.top
    if bottom and shown:
        canvas.fade(Box(left - 4, top, area.right + 1, area.bottom))
    for place, entry in enumerate(shown):
        middle = top + (place + 0.5) * row_height
        _draw_sample(canvas, left, middle, entry.style)
        x = left + _SAMPLE + 6
        canvas.write(
            x, middle, canvas.elided(entry.name, names + 0.5, size), canvas.colours.second, size=size
        )
        canvas.draw_text_runs(x + names + gap, middle, entry.runs, size=size)
    if len(entries) > len(shown) and not bottom:
        middle = top + (len(shown) + 0.3) * row_height
        canvas.write(
            left + _SAMPLE + 6, middle, tr("+{n} more", n=len(entries) - len(shown)), canvas.colours.third
        )


def key_value_width(canvas: PlotCanvas, entry: KeyEntry, size: float) -> float:
    """The width of a key entry without its name."""
    return _SAMPLE + 6 + (10 if entry.name else 0) + canvas.text_runs_width(entry.runs, size)


def _draw_sample(canvas: PlotCanvas, x: float, middle: float, key_style: Style) -> None:
    canvas.line([x, x + _SAMPLE], [middle, middle], key_style.colour, key_style.width, key_style.dashes)
