"""The plots of an evaluation as images: retrieval accuracy, ROC, training and calibration curves, and the map."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, TypeVar

import numpy as np
import numpy.typing as npt

from semblance.core.csv_cells import csv_text
from semblance.core.language import as_lazy, format_number, tr
from semblance.core.reports.curves import (
    ACCURACY,
    CALIBRATION,
    ROC,
    TRAINING,
    AccuracyCurve,
    CalibrationCurve,
    RocCurve,
    TrainingCurve,
    interval_text,
    relative_objective,
)
from semblance.core.reports.document import FINDING_COLOURS
from semblance.core.reports.plot import (
    TEXT,
    TICK,
    Plot,
    PlotLayout,
    Values,
    frame,
    one_line,
    open_plot,
    tick_text,
    value_ticks,
)

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.text import Annotation

#: Curves whose interval and value are shown; more cannot be distinguished.
MAX_LABELLED = 3
_LABEL_PLACES = ((8.0, 5.0), (8.0, -5.0), (-8.0, 5.0), (-8.0, -5.0))
_C = TypeVar("_C", AccuracyCurve, RocCurve, TrainingCurve)
_Styled = list[tuple[_C, dict[str, Any]]]


def draw_accuracy(plot: Plot, curves: Sequence[AccuracyCurve]) -> None:
    """Accuracy over the number of cases retrieved, its interval, and the value at k = 10; with the ceiling and the
    chance level of the first, as far as they lie on the axis."""
    axes, styled = plot.axes[0], _styled(plot, curves)
    lines = [axes.plot(curve.k, _numbers(curve.mean), **line)[0] for curve, line in styled]
    if plot.layout.named:
        values = [interval_text(*curve.at()[1:]) for curve, _ in styled]
        plot.key(lines, [curve.label for curve, _ in styled], values, header=tr("accuracy @10"))
    last = max((curve.k[-1] for curve, _ in styled if curve.k), default=20)
    ends = (0.0, 1.0) if plot.layout.whole_axis else _value_range(styled)
    ticks, lowest, highest = value_ticks(*ends, plot.height - plot.top - 49)
    limits = (1, last) if last > 1 else (0.5, 1.5)
    # An axis that does not begin at 0 says so.
    label = tr("accuracy, from {low}", low=tick_text(lowest)) if lowest > 0 else tr("accuracy")
    if styled:
        _reference_lines(plot, axes, styled[0][0], lowest, highest)
    frame(axes, limits, ticks, tr("k, cases retrieved"), label)
    plot.fit(widest=7)
    plot.set_counts(axes, 1, last)
    if styled:
        _label_values(plot, axes, styled)


def draw_roc(plot: Plot, curves: Sequence[RocCurve]) -> None:
    """Sensitivity over 1 − specificity, with the area under each curve."""
    axes, styled = plot.axes[0], _styled(plot, curves)
    ticks = (0, 0.5, 1)
    frame(axes, ticks, ticks, tr("1 − specificity"), tr("sensitivity"))
    if styled:
        axes.plot([0, 1], [0, 1], **plot.reference_line)
        # Beside the line, where neither curves nor the key are.
        plot.note(axes, tr("chance"), (0.8, 0.7), (0, 0), ha="left")
    lines = []
    for curve, line in styled:
        if curve.low and curve.high and curve.current and not curve.stale:
            axes.fill_between(curve.fpr, curve.low, curve.high, color=line["color"], alpha=0.17, linewidth=0)
        lines += axes.plot(curve.fpr, curve.tpr, **line)
    beside = plot.layout.named and plot.is_wide
    areas = [interval_text(curve.auc, curve.auc_low, curve.auc_high) for curve, _ in styled]
    names = [curve.label if plot.layout.named else "" for curve, _ in styled]
    unit = "AUC " if plot.width >= plot.px(300) else ""
    plot.key(lines, names, [unit + area for area in areas], inside=not beside)
    plot.fit(widest=3 if beside else 8)


def draw_training(plot: Plot, curves: Sequence[TrainingCurve]) -> None:
    """The objective as a share of its first value (above) and held-out accuracy @10 (below) over the rounds."""
    (above, below), styled = plot.axes, _styled(plot, curves)
    relative = [relative_objective(curve.objective) for curve, _ in styled]
    measured = [_measured_rounds(curve) for curve, _ in styled]
    lines = []
    for (curve, line), objective, points in zip(styled, relative, measured, strict=True):
        single = {"color": plot.colours.third, "linewidth": 1.3} if len(styled) == 1 else {}
        above.plot(curve.rounds, objective, **{**line, **single})
        lines += below.plot(*points, **line)
    names = [curve.label for curve, _ in styled]
    bests = [
        format_number(curve.best[1], ".2f") + tr(" in round {at}", at=curve.best[0]) if curve.best else "–"
        for curve, _ in styled
    ]
    labels: list[Annotation] = []
    if styled and styled[0][0].rounds:
        labels = _label_ends(plot, styled[0][0], relative[0])
    if plot.layout.named and len(styled) > 1:
        widest = max((one.get_window_extent().width / plot.layout.ratio for one in labels), default=0.0)
        plot.key(lines, names, bests, header=tr("best, held-out"), gap=28 + widest)
    accuracies = np.concatenate([values for _, values in measured]) if measured else np.zeros(0)
    low, high = (accuracies.min(), accuracies.max()) if len(accuracies) else (0.0, 1.0)
    last = max((curve.rounds[-1] for curve, _ in styled if curve.rounds), default=100)
    highest = max([1.0, *(float(np.nanmax(one)) for one in relative if not np.isnan(one).all())])
    ticks, _, _ = value_ticks(low, high, 0.6 * (plot.height - plot.top - 49))
    frame(above, (0, last), [1], "", "", ylim=(0, highest))
    frame(below, (0, last), ticks, tr("round"), tr("accuracy"))
    above.tick_params(labelbottom=False)
    plot.fit(widest=7)
    plot.set_counts(below, 0, last)


def draw_calibration(plot: Plot, curves: Sequence[CalibrationCurve]) -> None:
    """The reliability diagram: the observed share over the mean estimate of each bin, with its interval and number of
    cases; the first curve.

    ``plot.layout.named`` sets the numbers beside the plot.
    """
    axes, ticks = plot.axes[0], (0, 0.5, 1)
    frame(axes, ticks, ticks, tr("estimate"), tr("observed share"))
    for curve in curves[:1]:
        axes.plot([0, 1], [0, 1], **plot.reference_line)
        plot.note(axes, tr("perfect estimate"), (0.06, 0.03), (6, 0))
        line = plot.line(current=curve.current, number=0, stale=curve.stale) | {"linewidth": 1.2}
        axes.plot(curve.predicted, curve.observed, **line)
        axes.vlines(curve.predicted, curve.low, curve.high, color=line["color"], linewidth=1, clip_on=False)
        sizes = (5.0 + 6.0 * np.sqrt(np.divide(curve.n, max(curve.n)))) ** 2
        dots = {"color": line["color"], "edgecolor": plot.colours.panel, "linewidth": 1.5}
        axes.scatter(curve.predicted, curve.observed, sizes, clip_on=False, zorder=4, **dots)
        for x, low, high, n in zip(curve.predicted, curve.low, curve.high, curve.n, strict=True):
            at, away = ((x, high), 4) if high < 0.85 else ((x, low), -6)
            plot.note(axes, format_number(n, ","), at, (0, away))
        if plot.layout.named and plot.width >= plot.px(480):
            numbers = "\n".join(
                plot.elided(text, plot.px(222))
                for text in (
                    tr("Calibration error") + " " + format_number(curve.ece, ".3f"),
                    tr("by chance up to {perfect:.3f}", perfect=curve.perfect),
                    tr("{method}, {n:,} cases", method=one_line(as_lazy(curve.method)), n=sum(curve.n)),
                    tr("estimate of {finding}", finding=curve.finding or tr("the first finding")),
                )
            )
            text = axes.annotate(
                numbers, (1, 1), (28, 0), "axes fraction", "offset points", va="top", linespacing=1.5
            )
            text.set(color=plot.colours.second, fontsize=plot.px(TEXT))
    # Wider than high is easier to read than a square of the height of a dock.
    plot.fit(widest=2.4)


def _styled(plot: Plot, curves: Sequence[_C]) -> _Styled[_C]:
    """Curves with the looks of their lines, the current one first."""
    out: _Styled[_C] = []
    others = 0
    for curve in curves:
        number = others if curve.line is None else curve.line
        others += not curve.current
        stale = bool(getattr(curve, "stale", False))
        out.append((curve, plot.line(current=curve.current, number=number, stale=stale)))
    return sorted(out, key=lambda pair: not pair[0].current)


def _numbers(values: Sequence[float | None]) -> Values:
    return np.array([np.nan if value is None else value for value in values], dtype=np.float64)


def _measured_rounds(curve: TrainingCurve) -> tuple[Values, Values]:
    """Rounds whose held-out accuracy was measured: the line goes from each to the next."""
    accuracy = _numbers(curve.heldout_accuracy)
    finite = ~np.isnan(accuracy)
    return np.asarray(curve.rounds, dtype=np.float64)[finite], accuracy[finite]


def _value_range(styled: _Styled[AccuracyCurve]) -> tuple[float, float]:
    """Lowest and highest value of the curves, including the interval of the current one."""
    values = [v for curve, _ in styled for v in curve.mean if v is not None]
    for curve, _ in styled:
        if not curve.stale and (curve.current or len(styled) == 1):
            values += [v for v in (*curve.low, *curve.high) if v is not None]
    return (min(values), max(values)) if values else (0.0, 1.0)


def _reference_lines(plot: Plot, axes: Axes, curve: AccuracyCurve, lowest: float, highest: float) -> None:
    """The ceiling and the chance level of ``curve`` between ``lowest`` and ``highest``, each with its name, at
    different ends; a chance level below is named with its value."""
    if curve.chance is not None and curve.chance < lowest:
        below = tr("chance {value}, below the axis", value=tick_text(curve.chance))
        plot.note(axes, below, (curve.k[0], lowest), (4, 3))
    for values, name, end, offset in (
        (curve.ceiling, tr("ceiling"), -1, (-4, -3)),
        ((curve.chance,) * len(curve.k), tr("chance"), 0, (4, 3)),
    ):
        known = [
            (k, value)
            for k, value in zip(curve.k, values, strict=False)
            if value is not None and lowest <= value <= highest
        ]
        if known:
            axes.plot(*zip(*known, strict=True), **plot.reference_line)
            plot.note(axes, name, known[end], offset)


def _label_values(plot: Plot, axes: Axes, styled: _Styled[AccuracyCurve]) -> None:
    """The interval and the value at k = 10 of the curves that are far enough apart for it, where the text covers
    neither a curve nor another text; that of the current one in any case."""
    at = max(styled[0][0].at()[0], 1)
    axes.axvline(at, color=plot.colours.strong_line, linewidth=1, zorder=0.6)
    paths = [axes.transData.transform_path(line.get_path()) for line in axes.lines[: len(styled)]]
    taken = [text.get_window_extent() for text in axes.texts]
    unit = axes.bbox.height / plot.layout.ratio / (axes.get_ylim()[1] - axes.get_ylim()[0])
    labelled: list[float] = []
    for curve, line in styled:
        k, mean, low, high = curve.at(at)
        near = mean is None or any(abs(mean - other) * unit < 2 * plot.px(TEXT) for other in labelled)
        if mean is None or near or k != at or len(labelled) == MAX_LABELLED:
            continue
        labelled.append(mean)
        if not curve.stale:
            ends = _numbers(curve.low), _numbers(curve.high)
            alpha = 0.17 if curve.current else 0.15
            axes.fill_between(curve.k, *ends, color=line["color"], alpha=alpha, linewidth=0, zorder=1)
        dot = {"color": line["color"], "markeredgecolor": plot.colours.panel, "markeredgewidth": 1.5}
        axes.plot([at], [mean], "o", markersize=7, zorder=4, clip_on=False, **dot)
        weight = "bold" if curve.current else "normal"
        look = {"color": plot.colours.text, "fontsize": plot.px(TEXT), "weight": weight}
        labels = [
            plot.note(axes, interval_text(mean, low, high), (at, mean), place, **look)
            for place in _LABEL_PLACES
        ]
        boxes = [label.get_window_extent() for label in labels]
        free = [
            place
            for place, box in enumerate(boxes)
            if not box.count_overlaps(taken)
            and axes.bbox.x0 <= box.x0 < box.x1 < plot.figure.bbox.x1 - 2
            and axes.bbox.y0 <= box.y0 < box.y1 < plot.figure.bbox.y1
            and not any(path.intersects_bbox(box, filled=False) for path in paths)
        ]
        kept = free[0] if free else 0 if curve.current else None
        for place, label in enumerate(labels):
            if place != kept:
                label.remove()
        if kept is not None:
            taken.append(boxes[kept])


def _label_ends(plot: Plot, curve: TrainingCurve, objective: Values) -> list[Annotation]:
    """Name the two lines of the current training at their ends, and mark its best."""
    above, below = plot.axes
    line = plot.line(current=curve.current, number=0)
    labels = []
    ends = objective[~np.isnan(objective)]
    if len(ends):
        labels.append(plot.note(above, tr("objective"), (curve.rounds[-1], ends[-1]), (8, 0)))
    if curve.best is not None:
        _, accuracy = _measured_rounds(curve)
        dot = {"color": line["color"], "markeredgecolor": plot.colours.panel, "markeredgewidth": 1.5}
        below.plot(*([value] for value in curve.best), "o", markersize=6, zorder=4, clip_on=False, **dot)
        text = tr("held-out, best {best:.2f}", best=curve.best[1])
        look = {"color": line["color"], "weight": "bold"}
        text = plot.elided(text, 0.4 * plot.width, TICK, "bold")
        labels.append(plot.note(below, text, (curve.rounds[-1], accuracy[-1]), (8, 0), **look))
    return labels


#: Marks of the map for the shapes of the findings in the window, in order.
_MARKS = ("o", "s", "^", "D", "P", "X", "v")
_UNKNOWN = "#6E6E76"
#: With more marks a vector file would be too large to open, so they are rasterised.
_RASTERISED = 5_000


@dataclass(frozen=True, eq=False)
class MapDrawing:
    """``places`` (n, 2): coordinates; ``codes`` (n,): codes of the ``findings`` (-1: none given); ``note`` is
    drawn at the right of the ``title``; ``colours``: each finding's place in the palette, else its code."""

    places: npt.NDArray[np.float32]
    codes: npt.NDArray[np.int16]
    findings: tuple[str, ...]
    title: str
    note: str = ""
    colours: tuple[int, ...] = ()


def draw_map(plot: Plot, drawing: MapDrawing) -> None:
    """Every case a mark in the colour and shape of its finding, with a key; both axes have the same scale."""
    axes, n = plot.axes[0], len(drawing.places)
    axes.axis("off")
    axes.set_aspect("equal", adjustable="datalim")
    radius = 3.2 if n <= 2_000 else 2.2 if n <= 10_000 else 1.3
    codes = [code for code in [*range(len(drawing.findings)), -1] if (drawing.codes == code).any()]
    # In random order, so that no finding covers another because of its position in the library.
    order = np.random.default_rng(0).permutation(n)
    for part in np.array_split(order, max(1, min(20, n // 50))):
        for code in codes:
            chosen = drawing.places[part[drawing.codes[part] == code]]
            look = _mark(plot, drawing, code, radius)
            axes.plot(*chosen.T, **look, clip_on=False, rasterized=len(chosen) > _RASTERISED)
    key = [axes.plot([], [], **_mark(plot, drawing, code, 3.6))[0] for code in codes]
    names = [drawing.findings[code] if code >= 0 else tr("finding not given") for code in codes]
    counts = [int((drawing.codes == code).sum()) for code in codes]
    texts = [tr("{name}, {count:,}", name=name, count=n) for name, n in zip(names, counts, strict=True)]
    plot.key(key, [plot.elided(text, 140) for text in texts], beside=True, gap=14)
    plot.fit()


def map_csv(drawing: MapDrawing) -> str:
    """A line for every case: x, y and finding. Cases are not named, because ids may identify patients."""
    names = (*drawing.findings, "")
    rows = [
        (float(x), float(y), names[code])
        for (x, y), code in zip(drawing.places.tolist(), drawing.codes.tolist(), strict=True)
    ]
    return csv_text(("x", "y", "finding"), rows)


def _mark(plot: Plot, drawing: MapDrawing, code: int, radius: float) -> dict[str, Any]:
    """The colour and shape of a finding. The eighth has the colour of the first one, so it needs another mark."""
    colour, mark = _UNKNOWN, "o"
    if code >= 0:
        place = drawing.colours[code] if code < len(drawing.colours) else code
        colour, mark = FINDING_COLOURS[place % len(FINDING_COLOURS)], _MARKS[(code + code // 7) % 7]
    edge = {"markeredgecolor": plot.colours.panel, "markeredgewidth": min(0.4, radius / 6)}
    return {"linestyle": "none", "color": colour, "marker": mark, "markersize": 2 * radius, **edge}


#: The kinds of plots: how each is drawn from its content (curves, or a drawing of a map), and the shares of its axes.
MAP = "map"
DRAWINGS: dict[str, tuple[Callable[[Plot, Any], None], tuple[int, ...]]] = {
    ACCURACY: (draw_accuracy, (1,)),
    ROC: (draw_roc, (1,)),
    TRAINING: (draw_training, (3, 7)),
    CALIBRATION: (draw_calibration, (1,)),
    MAP: (draw_map, (1,)),
}


def figure_file(kind: str, content: Any, layout: PlotLayout) -> bytes:
    """The plot ``kind`` of ``content``, one of :data:`DRAWINGS`, as a file. The same content gives the same bytes.

    Raises:
        KeyError: an unknown kind, theme or format.
        ValueError: a size beyond reason.
    """
    draw, heights = DRAWINGS[kind]
    with open_plot(layout, heights=heights) as plot:
        draw(plot, content)
        return plot.save()
