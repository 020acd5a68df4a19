"""The plots of an experiment: average ranks with the critical difference, and scores with their intervals."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass

from semblance.core.language import format_number, tr
from semblance.core.reports.axes import (
    DASHES,
    PAD,
    KeyEntry,
    Scale,
    Style,
    count_ticks,
    frame,
    heading,
    inner_box,
    key_column,
    tick_text,
    value_ticks,
)
from semblance.core.reports.plot_canvas import TEXT, TICK, Box, PlotCanvas, PlotLayout, TextRun

_STUB = 10


@dataclass(frozen=True)
class Interval:
    """A score of ``learner`` on ``cases``: its mean and 95 % interval (``None``: not known).

    ``printed``: it is from a paper, and stands out.
    """

    cases: str
    learner: str
    mean: float
    low: float | None
    high: float | None
    printed: bool = False


@dataclass(frozen=True)
class NamedCurve:
    """Values ``y`` at ``x`` of the learner ``name``; with ``main`` it has the accent."""

    name: str
    x: Sequence[float]
    y: Sequence[float]
    main: bool = False


def critical_difference_figure(
    ranks: Mapping[str, float],
    distance: float,
    groups: Sequence[Sequence[str]],
    layout: PlotLayout,
) -> bytes:
    """Average ``ranks`` on a line, the best at the left; learners that do not differ are joined by a bar.

    ``distance`` is Nemenyi's critical difference, ``groups`` the learners within it (Demsar 2006, Figure 1). Equal
    ranks give equal bytes.

    Raises:
        ValueError: fewer than two ranks.
    """
    if len(ranks) < 2:
        raise ValueError("a plot of ranks needs two learners")
    ordered = sorted(ranks, key=lambda name: (ranks[name], name))
    left, right = ordered[: (len(ordered) + 1) // 2], ordered[(len(ordered) + 1) // 2 :]
    row, bar = 18.0 * layout.text_scale, 8.0
    names_top = 74.0 * layout.text_scale + bar * len(groups)
    canvas = layout.canvas(22 * layout.text_scale + names_top + row * len(left) + 6)
    colours = canvas.colours
    top = heading(canvas, layout.title, layout.note) + 8
    name_width = 0.36 * canvas.width
    widest = min(max(canvas.text_width(_value_runs(name, ranks), TEXT) for name in ordered), name_width)
    first, last = PAD + widest + 18, canvas.width - PAD - widest - 18
    highest = float(len(ordered))
    distance_text = tr("critical difference {distance:.2f}", distance=distance)
    # The text after the bar needs space: where the bar is long, the ranks are drawn closer together.
    share = min(1.0, distance / (highest - 1.0))
    last = min(
        last, first + (canvas.width - PAD - 8 - canvas.text_width(distance_text, TICK) - first) / share
    )

    def across(rank: float) -> float:
        return first + (rank - 1.0) / (highest - 1.0) * (last - first)

    axis = top + canvas.px(38)
    _distance_bar(canvas, across, distance, top + canvas.px(10), highest, distance_text)
    canvas.line([first, last], [axis, axis], colours.second, 1)
    for rank in range(1, len(ordered) + 1):
        canvas.line([across(rank)] * 2, [axis - 4, axis], colours.second, 1)
        if len(ordered) <= 15 or rank % 5 == 0 or rank == 1:
            canvas.write(across(rank), axis - 4 - canvas.px(8), str(rank), colours.third, align="center")
    y = axis + bar + 2
    for group in groups:
        ends = [ranks[name] for name in group]
        canvas.line([across(min(ends)) - 3, across(max(ends)) + 3], [y, y], colours.text, 3)
        y += bar
    y += canvas.px(8)
    for place, name in enumerate(left):
        _draw_name(
            canvas,
            name,
            ranks,
            across(ranks[name]),
            axis,
            y + place * row,
            first - _STUB,
            name_width,
            right=False,
        )
    for place, name in enumerate(reversed(right)):
        at = across(ranks[name])
        _draw_name(canvas, name, ranks, at, axis, y + place * row, last + _STUB, name_width, right=True)
    return canvas.save(layout.format)


def _value_runs(name: str, ranks: Mapping[str, float]) -> str:
    return tr("{name}  {rank:.2f}", name=name, rank=ranks[name])


def _distance_bar(
    canvas: PlotCanvas,
    across: Callable[[float], float],
    distance: float,
    y: float,
    highest: float,
    distance_text: str,
) -> None:
    """Draw the bar, open at its end where the distance is longer than the range of the ranks."""
    begin, end = across(1.0), across(min(1.0 + distance, highest))
    colours = canvas.colours
    canvas.line([begin, end], [y, y], colours.accent, 2)
    for x in (begin, end) if 1.0 + distance <= highest else (begin,):
        canvas.line([x, x], [y - 4, y + 4], colours.accent, 1.5)
    canvas.write(end + 8, y, distance_text, colours.second)


def _draw_name(
    canvas: PlotCanvas,
    name: str,
    ranks: Mapping[str, float],
    x: float,
    axis: float,
    y: float,
    end: float,
    name_width: float,
    *,
    right: bool = False,
) -> None:
    """Draw the name of the learner beside the line, joined with its rank."""
    canvas.line([x, x, end], [axis, y, y], canvas.colours.third, 1)
    runs = [
        TextRun(
            canvas.elided(name, name_width - canvas.text_width("  0.00", TEXT), TEXT), canvas.colours.text
        ),
        TextRun(tr("  {rank:.2f}", rank=ranks[name]), canvas.colours.second),
    ]
    start = end + 6 if right else end - 6 - canvas.text_runs_width(runs, TEXT)
    canvas.draw_text_runs(start, y, runs, size=TEXT)


def scores_figure(score: str, intervals: Sequence[Interval], layout: PlotLayout) -> bytes:
    """A line for every learner, under the cases it was measured on: mean, interval, and both as numbers.

    Raises:
        ValueError: nothing to draw.
    """
    if not intervals:
        raise ValueError("a plot of scores needs one")
    groups: dict[str, list[Interval]] = {}
    for one in intervals:
        groups.setdefault(one.cases, []).append(one)
    row = 17.0 * layout.text_scale
    heads = len(groups) if len(groups) > 1 else 0
    canvas = layout.canvas(68 * layout.text_scale + row * (len(intervals) + 1.4 * heads))
    colours = canvas.colours
    top = heading(canvas, layout.title, layout.note) + 6
    widest = max(canvas.text_width(one.learner, TEXT) for one in intervals)
    first = PAD + min(widest, 0.34 * canvas.width) + 14
    last = canvas.width - PAD - canvas.text_width("0.000 (0.000–0.000)", TEXT) - 14
    ends = [value for one in intervals for value in (one.mean, one.low, one.high) if value is not None]
    # A tick's number is about twice as wide as high.
    ticks, low, high = value_ticks(min(ends), max(ends), (last - first) / 2)
    bottom = top + row * (len(intervals) + 1.4 * heads) + 4

    def across(value: float) -> float:
        return first + (value - low) / (high - low) * (last - first)

    for tick in ticks:
        canvas.line([across(tick)] * 2, [top, bottom], colours.line, 1)
        canvas.write(across(tick), bottom + canvas.px(9), tick_text(tick), colours.third, align="center")
    canvas.write((first + last) / 2, bottom + canvas.px(24), score, colours.third, align="center")
    y = top + row / 2
    for cases, lines in groups.items():
        if heads:
            canvas.write(
                PAD, y + 0.2 * row, canvas.elided(cases, last, TEXT, 600), colours.text, size=TEXT, weight=600
            )
            y += 1.4 * row
        for one in lines:
            canvas.write(
                PAD, y, canvas.elided(one.learner, first - PAD - 10, TEXT), colours.second, size=TEXT
            )
            if one.low is not None and one.high is not None:
                canvas.line([across(one.low), across(one.high)], [y, y], colours.third, 1.5)
            canvas.dot(across(one.mean), y, colours.accent if one.printed else colours.text, 3.0)
            canvas.write(canvas.width - PAD, y, _numbers(one), colours.text, size=TEXT, align="right")
            y += row
    return canvas.save(layout.format)


def _numbers(one: Interval) -> str:
    if one.low is None or one.high is None:
        return format_number(one.mean, ".3f")
    return tr("{mean:.3f} ({low:.3f}–{high:.3f})", mean=one.mean, low=one.low, high=one.high)


#: Greys of a plot with many curves, by turns beside the accent.
_CURVE_WIDTHS = (1.2, 2.2)


def curves_figure(curves: Sequence[NamedCurve], layout: PlotLayout, *, x_label: str, y_label: str) -> bytes:
    """Lines of several learners over one axis, with their names at the right; those with the accent lie on top.

    Raises:
        ValueError: nothing to draw.
    """
    values = [value for curve in curves for value in curve.y]
    if not values:
        raise ValueError("a plot of curves needs one")
    canvas = layout.canvas()
    top = heading(canvas, layout.title, layout.note) + 4
    ticks, low, high = value_ticks(min(values), max(values), canvas.height - top - 36)
    widest = max(canvas.text_width(curve.name, TEXT) for curve in curves)
    box = inner_box(
        canvas, [tick_text(tick) for tick in ticks], top=top, right=min(0.4 * canvas.width, widest + 60)
    )
    first, last = min(min(curve.x) for curve in curves), max(max(curve.x) for curve in curves)
    scale = Scale(box, (first, last if last > first else first + 1), (low, high))
    x_ticks = [0, 0.25, 0.5, 0.75, 1] if last <= 1 else count_ticks(round(first), round(last), box.width)
    x_ticks = [tick for tick in x_ticks if first <= tick <= last]
    frame(canvas, scale, x_ticks, ticks, x_label=x_label, y_label=y_label)
    drawn = []
    for main in (False, True):
        for place, curve in enumerate(curve for curve in curves if curve.main == main):
            dashes = DASHES[place % len(DASHES)]
            width = _CURVE_WIDTHS[place // len(DASHES) % len(_CURVE_WIDTHS)]
            line = Style(canvas.colours.accent if main else canvas.colours.third, width, dashes)
            canvas.line(scale.across(curve.x), scale.up(curve.y), line.colour, line.width, line.dashes)
            drawn.append((curve, KeyEntry(line, curve.name)))
    entries = [entry for _, entry in sorted(drawn, key=lambda one: curves.index(one[0]))]
    key_column(
        canvas, entries, Box(box.right + 24, box.top, canvas.width - PAD, canvas.height - 8), size=TEXT
    )
    return canvas.save(layout.format)
