"""The plots of an evaluation as images: retrieval accuracy, ROC and training curves."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import TypeVar

import numpy as np

from semblance.core.language import format_number, tr
from semblance.core.reports.axes import (
    PAD,
    REFERENCE_DASHES,
    KeyEntry,
    Scale,
    Style,
    count_ticks,
    frame,
    heading,
    inner_box,
    key_above,
    key_column,
    style,
    tick_text,
    value_ticks,
)
from semblance.core.reports.calibration_figure import calibration_figure
from semblance.core.reports.curves import (
    ACCURACY,
    CALIBRATION,
    ROC,
    TRAINING,
    AccuracyCurve,
    RocCurve,
    TrainingCurve,
    relative_objective,
)
from semblance.core.reports.plot_canvas import TEXT, TICK, Box, PlotCanvas, PlotLayout, TextRun, Values

#: From this width at text scale 1 on, a key with numbers is drawn beside the plot.
WIDE = 640
#: Curves whose interval and value are shown; more cannot be distinguished.
MAX_LABELLED = 3
_C = TypeVar("_C", AccuracyCurve, RocCurve, TrainingCurve)
_StyledCurves = list[tuple[_C, Style]]


def retrieval_accuracy_figure(curves: Sequence[AccuracyCurve], layout: PlotLayout) -> bytes:
    """Accuracy over the number of cases retrieved, its interval, and the value at k = 10; with the ceiling and the
    chance level of the first.

    The same curves give the same bytes.

    Raises:
        KeyError: an unknown theme or format.
        ValueError: an impossible size.
    """
    canvas = layout.canvas()
    styled = _styled(canvas, curves)
    entries = [
        KeyEntry(line_style, curve.label, _value_runs(canvas, *curve.at()[1:]))
        for curve, line_style in styled
    ]
    low, high = _value_range(styled)
    top = heading(canvas, layout.title, layout.note)
    placement = _place_key(canvas, entries, named=layout.named, header=tr("accuracy @10"), top=top)
    ticks, first, end = value_ticks(low, high, canvas.height - placement.top - 36)
    box = _limit_width(
        inner_box(canvas, [tick_text(t) for t in ticks], top=placement.top, right=placement.right), 7
    )
    last = max((curve.k[-1] for curve, _ in styled if curve.k), default=20)
    scale = Scale(box, (1, last) if last > 1 else (0.5, 1.5), (first, end))
    frame(
        canvas,
        scale,
        count_ticks(1, last, box.width),
        ticks,
        x_label=tr("k, cases retrieved"),
        y_label=tr("accuracy"),
    )
    if styled:
        _accuracy_lines(canvas, scale, styled, _reference_lines(canvas, scale, styled[0][0]))
    _finish_key(canvas, entries, placement, box)
    return canvas.save(layout.format)


def roc_figure(curves: Sequence[RocCurve], layout: PlotLayout) -> bytes:
    """Sensitivity over 1 − specificity, with the area under each curve; arguments and errors as above."""
    canvas = layout.canvas()
    styled = _styled(canvas, curves)
    entries = [
        KeyEntry(
            line_style,
            curve.label if layout.named else "",
            _value_runs(canvas, curve.auc, curve.auc_low, curve.auc_high, bold=curve.current),
            TextRun("AUC ", canvas.colours.second),
        )
        for curve, line_style in styled
    ]
    key_beside = layout.named and canvas.width >= canvas.px(WIDE)
    top = heading(canvas, layout.title, layout.note)
    placement = _place_key(canvas, entries if key_beside else [], named=True, header="", top=top)
    ticks = [0, 0.5, 1]
    box = _limit_width(
        inner_box(canvas, ["0.5"], top=placement.top, right=placement.right), 3 if key_beside else 8
    )
    scale = Scale(box, (0, 1), (0, 1))
    frame(canvas, scale, ticks, ticks, x_label=tr("1 − specificity"), y_label=tr("sensitivity"))
    if styled:
        canvas.line(scale.across([0, 1]), scale.up([0, 1]), canvas.colours.third, 1, REFERENCE_DASHES)
        # Beside the line, where neither curves nor the key are.
        left, middle = float(scale.across(0.8)), float(scale.up(0.7))
        canvas.write(left, middle, tr("chance"), canvas.colours.third, halo=True)
    for curve, line_style in reversed(styled):
        x = scale.across(curve.fpr)
        if curve.low and curve.high and line_style.fill and curve.current:
            canvas.band(x, scale.up(curve.low), scale.up(curve.high), line_style.colour, line_style.fill)
        canvas.line(x, scale.up(curve.tpr), line_style.colour, line_style.width, line_style.dashes)
    if key_beside:
        _finish_key(canvas, entries, placement, box)
    else:
        corner = Box(box.left + 0.12 * box.width, box.top + 0.4 * box.height, box.right - 4, box.bottom - 5)
        key_column(canvas, entries, corner, bottom=True)
    return canvas.save(layout.format)


def training_figure(curves: Sequence[TrainingCurve], layout: PlotLayout) -> bytes:
    """The objective as a share of its first value (above) and held-out accuracy @10 (below) over the rounds;
    arguments and errors as above."""
    canvas = layout.canvas()
    colours = canvas.colours
    styled = _styled(canvas, curves)
    entries = [KeyEntry(line_style, curve.label, _best_runs(canvas, curve)) for curve, line_style in styled]
    placement = _place_key(
        canvas,
        entries,
        named=layout.named and len(entries) > 1,
        header=tr("best, held-out"),
        top=heading(canvas, layout.title, layout.note),
    )
    measured = [v for curve, _ in styled for v in curve.heldout_accuracy if v is not None]
    best = styled[0][0].best if styled else None
    best_text = tr("held-out, best {best:.2f}", best=best[1]) if best else tr("held-out")
    gutter = (
        max(canvas.text_width(best_text, TICK, 600), canvas.text_width(tr("objective"))) + 8
        if styled
        else 0.0
    )
    ticks, first, end = value_ticks(
        min(measured, default=0.0), max(measured, default=1.0), 0.6 * (canvas.height - placement.top - 36)
    )
    texts = [tick_text(t) for t in ticks]
    plot_box = _limit_width(inner_box(canvas, texts, top=placement.top, right=placement.right + gutter), 7)
    upper = Box(plot_box.left, plot_box.top, plot_box.right, plot_box.top + 0.3 * plot_box.height)
    lower = Box(plot_box.left, upper.bottom + 12, plot_box.right, plot_box.bottom)
    last = max((curve.rounds[-1] for curve, _ in styled if curve.rounds), default=100)
    relative = [relative_objective(curve.objective) for curve, _ in styled]
    highest = max([1.0, *(float(np.nanmax(v)) for v in relative if not np.isnan(v).all())])
    above = Scale(upper, (0, last), (0, highest))
    below = Scale(lower, (0, last), (first, end))
    frame(canvas, above, [], [1], x_texts=False)
    frame(
        canvas,
        below,
        count_ticks(0, last, plot_box.width),
        ticks,
        x_label=tr("round"),
        y_label=tr("accuracy"),
        y_texts=texts,
    )
    for (curve, line_style), values in reversed(list(zip(styled, relative, strict=True))):
        objective = line_style if len(styled) > 1 else Style(colours.third, 1.3)
        canvas.line(
            above.across(curve.rounds), above.up(values), objective.colour, objective.width, objective.dashes
        )
        x, y = _measured_rounds(curve)
        canvas.line(below.across(x), below.up(y), line_style.colour, line_style.width, line_style.dashes)
    if styled and styled[0][0].rounds:
        _label_line_ends(canvas, styled[0], (above, below), relative[0], best_text)
    _finish_key(canvas, entries, placement, plot_box)
    return canvas.save(layout.format)


FIGURES: dict[str, Callable[..., bytes]] = {
    ACCURACY: retrieval_accuracy_figure,
    ROC: roc_figure,
    TRAINING: training_figure,
    CALIBRATION: calibration_figure,
}


class _KeyPlacement:
    """The place of the key: above the plot, beside it, or nowhere."""

    def __init__(self, top: float, right: float, header: str, *, beside: bool) -> None:
        self.top, self.right, self.header, self.beside = top, right, header, beside


def _place_key(
    canvas: PlotCanvas, entries: Sequence[KeyEntry], *, named: bool, header: str, top: float
) -> _KeyPlacement:
    lead = 3 + canvas.px(TICK) / 2
    if not named or not entries:
        return _KeyPlacement(top + lead, 0.0, "", beside=False)
    if canvas.width < canvas.px(WIDE):
        # The key above is drawn first, because its height decides where the plot begins.
        left = PAD + canvas.px(TICK) + 6
        height = key_above(canvas, entries, Box(left, top, canvas.width - PAD, canvas.height))
        return _KeyPlacement(top + height + lead + 2, 0.0, "", beside=False)
    names = max(canvas.text_width(entry.name, TEXT) for entry in entries)
    numbers = max(canvas.text_runs_width(entry.runs, TEXT) for entry in entries)
    return _KeyPlacement(top + lead, min(0.4 * canvas.width, names + numbers + 32 + 28), header, beside=True)


def _finish_key(canvas: PlotCanvas, entries: Sequence[KeyEntry], placement: _KeyPlacement, box: Box) -> None:
    if not placement.beside:
        return
    left = box.right + 28
    top = box.top - 2
    if placement.header:
        canvas.write(left, top + canvas.px(TICK) / 2, placement.header, canvas.colours.third)
        top += canvas.px(TICK) + 6
    key_column(canvas, entries, Box(left, top, canvas.width - PAD, canvas.height - 8), size=TEXT)


def _limit_width(box: Box, widest: float) -> Box:
    """``box`` with at most ``widest`` times its height as width, because flat curves are hard to read."""
    return Box(box.left, box.top, min(box.right, box.left + max(widest * box.height, 220)), box.bottom)


def _styled(canvas: PlotCanvas, curves: Sequence[_C]) -> _StyledCurves[_C]:
    """Curves with their styles, the current one first."""
    out: _StyledCurves[_C] = []
    others = 0
    for curve in curves:
        line = others if curve.line is None else curve.line
        others += not curve.current
        stale = bool(getattr(curve, "stale", False))
        out.append((curve, style(canvas, current=curve.current, line=line, stale=stale)))
    return sorted(out, key=lambda pair: not pair[0].current)


def _value_runs(
    canvas: PlotCanvas, value: float | None, low: float | None, high: float | None, *, bold: bool = True
) -> tuple[TextRun, ...]:
    if value is None:
        return (TextRun("–", canvas.colours.third),)
    number = TextRun(format_number(value, ".2f"), canvas.colours.text, 600 if bold else 400)
    if low is None or high is None:
        return (number,)
    return number, TextRun(tr(" ({low:.2f}–{high:.2f})", low=low, high=high), canvas.colours.second)


def _best_runs(canvas: PlotCanvas, curve: TrainingCurve) -> tuple[TextRun, ...]:
    if curve.best is None:
        return (TextRun("–", canvas.colours.third),)
    at, value = curve.best
    return TextRun(format_number(value, ".2f"), canvas.colours.text, 600), TextRun(
        tr(" in round {at}", at=at), canvas.colours.second
    )


def _numbers(values: Sequence[float | None]) -> Values:
    return np.array([np.nan if value is None else value for value in values], dtype=np.float64)


def _measured_rounds(curve: TrainingCurve) -> tuple[Values, Values]:
    """Rounds whose held-out accuracy was measured: the line goes from each to the next."""
    accuracy = _numbers(curve.heldout_accuracy)
    finite = ~np.isnan(accuracy)
    return np.asarray(curve.rounds, dtype=np.float64)[finite], accuracy[finite]


def _value_range(styled: _StyledCurves[AccuracyCurve]) -> tuple[float, float]:
    """Lowest and highest drawn value, including the interval of the current curve, its ceiling and its chance level."""
    values = [v for curve, _ in styled for v in curve.mean if v is not None]
    for curve, line_style in styled:
        if line_style.fill and (curve.current or len(styled) == 1):
            values += [v for v in (*curve.low, *curve.high) if v is not None]
    if styled:
        first = styled[0][0]
        values += [v for v in (*first.ceiling, first.chance) if v is not None]
    return (min(values), max(values)) if values else (0.0, 1.0)


def _reference_lines(canvas: PlotCanvas, scale: Scale, curve: AccuracyCurve) -> list[Box]:
    """The ceiling and the chance level of ``curve``, each with its name; where the names stand."""
    colours, height = canvas.colours, canvas.px(TICK) + 2
    named: list[Box] = []
    lines = [(curve.ceiling, tr("ceiling"), 1), ((curve.chance,) * len(curve.k), tr("chance"), -1)]
    for values, name, below in lines:
        known = _numbers(values)
        if not len(known) or np.isnan(known).all():
            continue
        across, up = scale.across(curve.k[: len(known)]), scale.up(known)
        canvas.line(across, up, colours.third, 1, REFERENCE_DASHES)
        width = canvas.text_width(name, TICK)
        right = scale.box.right - 4
        near = up[(across >= right - width) & ~np.isnan(up)]
        y = float(near.max() if below > 0 else near.min()) if len(near) else float(up[~np.isnan(up)][-1])
        middle = y + below * (height / 2 + 1)
        canvas.write(right, middle, name, colours.third, align="right", halo=True)
        named.append(Box(right - width, middle - height / 2, right, middle + height / 2))
    return named


def _accuracy_lines(
    canvas: PlotCanvas, scale: Scale, styled: _StyledCurves[AccuracyCurve], named: list[Box]
) -> None:
    """The curves with their values at k = 10, which leave the boxes ``named`` free."""
    box = scale.box
    at = max(styled[0][0].at()[0], 1)
    labelled = _distinguishable(canvas, scale, styled, at)
    for curve, line_style in reversed(labelled):
        if line_style.fill:
            low, high = (
                np.clip(scale.up(_numbers(ends)), box.top, box.bottom) for ends in (curve.low, curve.high)
            )
            canvas.band(scale.across(curve.k), low, high, line_style.colour, line_style.fill)
    x = float(scale.across(at))
    canvas.line([x, x], [box.top, box.bottom], canvas.colours.strong_line, 1)
    for curve, line_style in reversed(styled):
        places = scale.across(curve.k)
        canvas.line(
            places, scale.up(_numbers(curve.mean)), line_style.colour, line_style.width, line_style.dashes
        )
    _value_labels(canvas, scale, styled, labelled, at, named)


def _distinguishable(
    canvas: PlotCanvas, scale: Scale, styled: _StyledCurves[AccuracyCurve], at: int
) -> _StyledCurves[AccuracyCurve]:
    """The current curve, and those far enough from it for their interval and value to be readable."""
    labelled: _StyledCurves[AccuracyCurve] = []
    heights: list[float] = []
    for curve, line_style in styled:
        k, mean, _, _ = curve.at(at)
        if mean is None or k != at or len(labelled) == MAX_LABELLED:
            continue
        y = float(scale.up(mean))
        if all(abs(y - other) > 2 * canvas.px(TEXT) for other in heights):
            labelled.append((curve, line_style))
            heights.append(y)
    return labelled


def _value_labels(
    canvas: PlotCanvas,
    scale: Scale,
    styled: _StyledCurves[AccuracyCurve],
    labelled: _StyledCurves[AccuracyCurve],
    at: int,
    named: list[Box],
) -> None:
    """The value at ``at`` beside each curve of ``labelled`` where the text covers neither curve nor text."""
    lines = [(scale.across(curve.k), scale.up(_numbers(curve.mean))) for curve, _ in styled]
    placed = list(named)
    height = canvas.px(TEXT) + 3
    x = float(scale.across(at))
    for curve, line_style in labelled:
        _, mean, low, high = curve.at(at)
        y = float(scale.up(_numbers([mean]))[0])
        canvas.dot(x, y, line_style.colour)
        runs = _value_runs(canvas, mean, low, high)
        width = canvas.text_runs_width(runs, TEXT)
        costs: list[tuple[float, float, float]] = []
        for left in (x + 8, x - 8 - width):
            for top in (y - 5 - height, y + 5):
                box = Box(left, top, left + width, top + height)
                cost = _crossed_columns(box, lines) + 1000 * sum(box.overlaps(other) for other in placed)
                cost += 500 * (box.right > canvas.width - 2 or box.left < scale.box.left or box.top < 0)
                cost += 200 * (box.bottom > scale.box.bottom)
                costs.append((cost, left, top))
        cost, left, top = min(costs, key=lambda choice: choice[0])
        if cost < 1 or (curve.current and cost < 1000):
            placed.append(Box(left, top, left + width, top + height))
            canvas.draw_text_runs(left, top + height / 2, runs, size=TEXT, halo=True)


def _crossed_columns(box: Box, lines: Sequence[tuple[Values, Values]]) -> float:
    """The number of pixel columns of ``box`` that curves cross."""
    columns = np.arange(box.left, box.right, 2.0)
    total = 0
    for x, y in lines:
        finite = ~np.isnan(y)
        if finite.sum() > 1:
            heights = np.interp(columns, x[finite], y[finite], left=-1e9, right=-1e9)
            total += int(((heights > box.top) & (heights < box.bottom)).sum())
    return float(total)


def _label_line_ends(
    canvas: PlotCanvas,
    styled: tuple[TrainingCurve, Style],
    scales: tuple[Scale, Scale],
    objective: Values,
    best_text: str,
) -> None:
    """Name the two lines of the current training at their ends, and mark its best."""
    curve, line_style = styled
    above, below = scales
    x = above.box.right + 8
    ends = objective[~np.isnan(objective)]
    if len(ends):
        y = min(float(above.up(ends[-1])), above.box.bottom - 2)
        canvas.write(x, y, "objective", canvas.colours.third)
    best = curve.best
    if best is not None:
        canvas.dot(float(below.across(best[0])), float(below.up(best[1])), line_style.colour, 3)
        last = [value for value in curve.heldout_accuracy if value is not None][-1]
        canvas.write(x, float(below.up(last)), best_text, line_style.colour, weight=600)
