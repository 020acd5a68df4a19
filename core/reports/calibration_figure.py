"""The reliability diagram: the share of cases with the finding over the estimate."""

from __future__ import annotations

from collections.abc import Sequence

from semblance.core.language import as_lazy, format_number, tr, translate
from semblance.core.reports.axes import REFERENCE_DASHES, Scale, frame, heading, inner_box, style
from semblance.core.reports.curves import CalibrationCurve
from semblance.core.reports.plot_canvas import TEXT, TICK, Box, PlotCanvas, PlotLayout, TextRun

#: From this width on, the numbers are beside the plot.
WIDE = 480
_TEXT_WIDTH = 250


def calibration_figure(curves: Sequence[CalibrationCurve], layout: PlotLayout) -> bytes:
    """Observed share over mean estimate of each bin, with its interval and number of cases; the first curve.

    Arguments and errors as of :func:`semblance.core.reports.figures.retrieval_accuracy_figure`;
    ``layout.named`` sets the numbers beside the plot.
    """
    canvas = layout.canvas()
    colours = canvas.colours
    top = heading(canvas, layout.title, layout.note) + 3 + canvas.px(TICK) / 2
    with_numbers = layout.named and canvas.width >= canvas.px(WIDE)
    box = inner_box(canvas, ["0.5"], top=top, right=canvas.px(_TEXT_WIDTH) if with_numbers else 0.0)
    # Wider than high is easier to read than a square of the height of a dock.
    box = Box(box.left, box.top, min(box.right, box.left + max(2.4 * box.height, 160)), box.bottom)
    scale = Scale(box, (0, 1), (0, 1))
    frame(canvas, scale, [0, 0.5, 1], [0, 0.5, 1], x_label=tr("estimate"), y_label=tr("observed share"))
    if not curves:
        return canvas.save(layout.format)
    canvas.line(scale.across([0, 1]), scale.up([0, 1]), colours.third, 1, REFERENCE_DASHES)
    canvas.write(
        float(scale.across(0.06)) + 6, float(scale.up(0.03)), tr("perfect estimate"), colours.third, halo=True
    )
    curve = curves[0]
    curve_style = style(canvas, current=curve.current, line=0, stale=curve.stale)
    canvas.line(scale.across(curve.predicted), scale.up(curve.observed), curve_style.colour, 1.2)
    largest = max(curve.n)
    for p, observed, low, high, n in zip(
        curve.predicted, curve.observed, curve.low, curve.high, curve.n, strict=True
    ):
        x, y = float(scale.across(p)), float(scale.up(observed))
        canvas.line([x, x], scale.up([low, high]), curve_style.colour, 1)
        canvas.dot(x, y, curve_style.colour, 2.5 + 3.0 * (n / largest) ** 0.5)
        above = float(scale.up(high)) - canvas.px(TICK) / 2 - 3
        if above > box.top:
            canvas.write(x, above, format_number(n, ","), colours.third, align="center")
        else:
            below = float(scale.up(low)) + canvas.px(TICK) / 2 + 3
            canvas.write(x, below, format_number(n, ","), colours.third, align="center")
    if with_numbers:
        _draw_numbers(canvas, curve, Box(box.right + 28, box.top, canvas.width - 12, box.bottom))
    return canvas.save(layout.format)


def _draw_numbers(canvas: PlotCanvas, curve: CalibrationCurve, area: Box) -> None:
    colours, line = canvas.colours, canvas.px(TEXT) + 7
    runs = (
        (
            TextRun(tr("Calibration error") + " ", colours.second),
            TextRun(format_number(curve.ece, ".3f"), colours.text, 600),
        ),
        (TextRun(tr("by chance up to {perfect:.3f}", perfect=curve.perfect), colours.second),),
        (
            TextRun(
                tr("{method}, {n:,} cases", method=translate(as_lazy(curve.method)), n=sum(curve.n)),
                colours.second,
            ),
        ),
        (
            TextRun(
                tr("estimate of {finding}", finding=curve.finding or tr("the first finding")), colours.second
            ),
        ),
    )
    for number, one in enumerate(runs):
        middle = area.top + canvas.px(TEXT) / 2 + number * line
        if middle > area.bottom:
            break
        elided = tuple(
            TextRun(canvas.elided(run.text, area.width, TEXT), run.colour, run.weight) for run in one
        )
        canvas.draw_text_runs(area.left, middle, elided, size=TEXT)
