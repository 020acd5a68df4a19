"""The reliability plot: how many of the cases with such an estimate had the finding."""

from __future__ import annotations

from collections.abc import Sequence

from semblance.core.language import as_lazy, format_number, tr, translate
from semblance.core.reports.axes import Scale, frame, heading, inner_box, style
from semblance.core.reports.curves import CalibrationCurve
from semblance.core.reports.sheet import TEXT, TICK, Box, Page, Run, Sheet

#: From this width on, the numbers stand beside the plot.
WIDE = 480
_ROOM = 250


def calibration_figure(curves: Sequence[CalibrationCurve], page: Page) -> bytes:
    """Observed share over mean estimate of each bin, with its interval and number of cases; the first curve.

    Arguments and errors as of :func:`semblance.core.reports.figures.retrieval_accuracy_figure`; ``page.named`` sets the
    numbers beside the plot.
    """
    sheet = page.sheet()
    colours = sheet.colours
    top = heading(sheet, page.title, page.note) + 3 + sheet.px(TICK) / 2
    wide = page.named and sheet.width >= WIDE
    box = inner_box(sheet, ["0.5"], top=top, right=sheet.px(_ROOM) if wide else 0.0)
    # Wider than high is easier to read than a square of the height of a dock.
    box = Box(box.left, box.top, min(box.right, box.left + max(2.4 * box.height, 160)), box.bottom)
    scale = Scale(box, (0, 1), (0, 1))
    frame(sheet, scale, [0, 0.5, 1], [0, 0.5, 1], x_label=tr("estimate"), y_label=tr("observed share"))
    sheet.line(scale.across([0, 1]), scale.up([0, 1]), colours.strong_line, 1)
    if not curves:
        return sheet.save(page.format)
    curve = curves[0]
    look = style(sheet, current=curve.current, line=0, stale=curve.stale)
    sheet.line(scale.across(curve.predicted), scale.up(curve.observed), look.colour, 1.2)
    most = max(curve.n)
    for p, seen, low, high, n in zip(
        curve.predicted, curve.observed, curve.low, curve.high, curve.n, strict=True
    ):
        x, y = float(scale.across(p)), float(scale.up(seen))
        sheet.line([x, x], scale.up([low, high]), look.colour, 1)
        sheet.dot(x, y, look.colour, 2.5 + 3.0 * (n / most) ** 0.5)
        above = float(scale.up(high)) - sheet.px(TICK) / 2 - 3
        if above > box.top:
            sheet.write(x, above, format_number(n, ","), colours.third, align="center")
        else:
            below = float(scale.up(low)) + sheet.px(TICK) / 2 + 3
            sheet.write(x, below, format_number(n, ","), colours.third, align="center")
    if wide:
        _tell(sheet, curve, Box(box.right + 28, box.top, sheet.width - 12, box.bottom))
    return sheet.save(page.format)


def _tell(sheet: Sheet, curve: CalibrationCurve, room: Box) -> None:
    colours, line = sheet.colours, sheet.px(TEXT) + 7
    runs = (
        (
            Run(tr("Calibration error") + " ", colours.second),
            Run(format_number(curve.ece, ".3f"), colours.text, 600),
        ),
        (Run(tr("by chance up to {perfect:.3f}", perfect=curve.perfect), colours.second),),
        (
            Run(
                tr("{method}, {n:,} cases", method=translate(as_lazy(curve.method)), n=sum(curve.n)),
                colours.second,
            ),
        ),
        (Run(tr("estimate of {finding}", finding=curve.finding or tr("the first finding")), colours.second),),
    )
    for number, one in enumerate(runs):
        middle = room.top + sheet.px(TEXT) / 2 + number * line
        if middle > room.bottom:
            break
        fitted = tuple(Run(sheet.fitted(run.text, room.width, TEXT), run.colour, run.weight) for run in one)
        sheet.write_runs(room.left, middle, fitted, size=TEXT)
