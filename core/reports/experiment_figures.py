"""The plots of an experiment: average ranks with the critical difference, and scores with their intervals."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from semblance.core.language import format_number, tr
from semblance.core.reports.plot import DASHES, TEXT, PlotLayout, frame, open_plot, value_ticks


@dataclass(frozen=True)
class ScoreInterval:
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
    ranks: Mapping[str, float], distance: float, groups: Sequence[Sequence[str]], layout: PlotLayout
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
    half, highest = (len(ordered) + 1) // 2, len(ordered)
    row, bar = 18.0 * layout.text_scale, 8.0
    # Pixels below the axis: the bars, then the names.
    names_top = bar * (len(groups) + 1) + 6 * layout.text_scale
    below = names_top + row * half
    above = 34 * layout.text_scale
    heading = (16 + TEXT * layout.text_scale) if layout.title or layout.note else 0
    with open_plot(layout, needed_height=heading + above + below + 16) as plot:
        axes, colours = plot.axes[0], plot.colours
        axes.grid(False)
        axes.spines["bottom"].set_visible(False)
        axes.set(xlim=(1, highest), ylim=(below, -above), xticks=[], yticks=[])
        # All axes have these pixels, so that the names keep their distance from each other.
        axes.hlines(0, 1, highest, color=colours.second, linewidth=1)
        room = 0.36 * plot.width
        widest = max(plot.text_width(f"{name}  0.00") for name in ordered)
        every = 5 if highest > 15 or plot.px(highest * 16) > plot.width - 2 * min(room, widest) else 1
        axes.vlines(range(1, highest + 1), -4, 0, color=colours.second, linewidth=1)
        for tick in (1, *range(max(2, every), highest + 1, every)):
            plot.note(axes, str(tick), (tick, -4), (0, 2))
        end = min(1.0 + distance, highest)
        top = -22 * layout.text_scale
        axes.hlines(top, 1, end, color=colours.accent, linewidth=2)
        # Open at its end where it is longer than the range of the ranks.
        axes.vlines([1.0] if end < 1.0 + distance else [1.0, end], top - 4, top + 4, color=colours.accent)
        text = tr("critical difference {distance:.2f}", distance=distance)
        plot.note(axes, text, (end, top), (8, 0), color=colours.second)
        for place, group in enumerate(groups):
            ends = [ranks[name] for name in group]
            axes.hlines(bar * (place + 1), min(ends), max(ends), color=colours.text, linewidth=3)
        for place, name in enumerate([*ordered[:half], *reversed(ordered[half:])]):
            side, at = (highest, place - half) if place >= half else (1, place)
            y, rank = names_top + row * (at + 0.5), ranks[name]
            axes.plot([rank, rank, side], [0, y, y], color=colours.third, linewidth=1, clip_on=False)
            text = plot.elided(name, room - plot.text_width("  0.00")) + tr("  {rank:.2f}", rank=rank)
            away = 6 if place >= half else -6
            plot.note(axes, text, (side, y), (away, 0), color=colours.text, fontsize=plot.px(TEXT))
        plot.fit()
        return plot.save()


def scores_figure(score: str, intervals: Sequence[ScoreInterval], layout: PlotLayout) -> bytes:
    """A line for every learner, under the cases it was measured on: mean, interval, and both as numbers.

    Raises:
        ValueError: nothing to draw.
    """
    if not intervals:
        raise ValueError("a plot of scores needs one")
    groups: dict[str, list[ScoreInterval]] = {}
    for one in intervals:
        groups.setdefault(one.cases, []).append(one)
    head = 1.4 if len(groups) > 1 else 0.0
    rows = len(intervals) + head * len(groups)
    with open_plot(layout, needed_height=68 * layout.text_scale + 17 * layout.text_scale * rows) as plot:
        axes, colours = plot.axes[0], plot.colours
        room = min(max(plot.text_width(one.learner) for one in intervals), 0.34 * plot.width)
        names = {one: plot.elided(one.learner, room) for one in intervals}
        places: dict[ScoreInterval, float] = {}
        y, text_size = 0.5, plot.px(TEXT)
        left = axes.get_yaxis_transform()
        for cases, lines in groups.items():
            if head:
                title = plot.elided(cases, plot.width - 200, weight="bold")
                look = {"color": colours.text, "fontsize": text_size, "weight": "bold"}
                plot.note(axes, title, (0, y + 0.2), (-room - 14, 0), xycoords=left, ha="left", **look)
                y += head
            for one in lines:
                places[one] = y
                if one.low is not None and one.high is not None:
                    axes.hlines(y, one.low, one.high, color=colours.third, linewidth=1.5)
                colour = colours.accent if one.printed else colours.text
                axes.plot(one.mean, y, "o", markersize=6, color=colour, clip_on=False, zorder=3)
                look = {"color": colours.text, "fontsize": text_size}
                plot.note(axes, _numbers(one), (1, y), (14, 0), xycoords=left, **look)
                y += 1
        ends = [value for one in intervals for value in (one.mean, one.low, one.high) if value is not None]
        # A tick's number is about twice as wide as high.
        width = plot.width - room - plot.text_width("0.000 (0.000–0.000)") - 52
        frame(axes, value_ticks(min(ends), max(ends), width / 2)[0], [0, rows], score, "", ylim=(rows, 0))
        axes.set_yticks(list(places.values()), [names[one] for one in places], ha="left")
        axes.tick_params("y", pad=room + 14, labelcolor=colours.second, labelsize=text_size)
        axes.grid(axis="y", visible=False)
        axes.grid(axis="x")
        axes.spines["bottom"].set_visible(False)
        plot.fit()
        return plot.save()


def _numbers(one: ScoreInterval) -> str:
    if one.low is None or one.high is None:
        return format_number(one.mean, ".3f")
    return tr("{mean:.3f} ({low:.3f}–{high:.3f})", mean=one.mean, low=one.low, high=one.high)


def curves_figure(curves: Sequence[NamedCurve], layout: PlotLayout, *, x_label: str, y_label: str) -> bytes:
    """Lines of several learners over one axis, with their names at the right; those with the accent lie on top.

    Raises:
        ValueError: nothing to draw.
    """
    values = [value for curve in curves for value in curve.y]
    if not values:
        raise ValueError("a plot of curves needs one")
    with open_plot(layout) as plot:
        axes, numbers = plot.axes[0], {True: 0, False: 0}
        lines = []
        for curve in curves:
            number = numbers[curve.main]
            numbers[curve.main] += 1
            look: dict[str, Any] = {
                "color": plot.colours.accent if curve.main else plot.colours.third,
                # Dashes by turns, then thicker ones.
                "linestyle": (0, DASHES[number % len(DASHES)] or None),
                "linewidth": (1.2, 2.2)[number // len(DASHES) % 2],
                "zorder": 3 if curve.main else 2,
            }
            lines += axes.plot(curve.x, curve.y, clip_on=False, **look)
        first, last = min(min(curve.x) for curve in curves), max(max(curve.x) for curve in curves)
        shares = [tick for tick in (0, 0.25, 0.5, 0.75, 1) if first <= tick <= last] if last <= 1 else []
        y_ticks, _, _ = value_ticks(min(values), max(values), plot.height - plot.top - 49)
        limits = (first, last if last > first else first + 1)
        frame(axes, shares or limits, y_ticks, x_label, y_label, xlim=limits)
        plot.key(lines, [curve.name for curve in curves], beside=True, gap=24)
        plot.fit()
        if not shares:
            plot.set_counts(axes, round(first), round(last))
        return plot.save()
