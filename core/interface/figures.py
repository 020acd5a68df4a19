"""Figures of rankings, scores and maps for notebooks and papers: Matplotlib's, without the state of pyplot, drawn as in
the window and the reports."""

from __future__ import annotations

import io
import math
import warnings
from collections.abc import Sequence
from dataclasses import dataclass
from functools import cache
from typing import TYPE_CHECKING, Any

import numpy as np
import numpy.typing as npt

from semblance.core.evaluation.intervals import t_quantile
from semblance.core.language import tr, translate
from semblance.core.metrics.score_titles import score_title
from semblance.core.reports.curves import ACCURACY, ROC, AccuracyCurve, RocCurve
from semblance.core.reports.document import UNKNOWN_MARK, ReportDocument, ReportedCase
from semblance.core.reports.figures import DRAWINGS, MAP, MapDrawing
from semblance.core.reports.formatting import distance_text, spread_text
from semblance.core.reports.plot import PlotLayout, ThemeName, one_line, open_plot
from semblance.display import ShownRanking, finding_name

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

    from semblance.core.evaluation.result import EvaluationResult, LearnerResult
    from semblance.core.imaging.region import Box

Pixels = npt.NDArray[np.uint8]

#: The size of a figure in logical pixels, and the pixels of its image for each.
FIGURE_SIZE, RATIO = (560, 320), 2.0


def figure(
    kind: str,
    content: Any,
    *,
    title: str = "",
    note: str = "",
    theme: ThemeName = "light",
    size: tuple[int, int] = FIGURE_SIZE,
) -> Figure:
    """The plot ``kind`` of ``content``, as in :data:`semblance.core.reports.figures.DRAWINGS`, as a figure of
    Matplotlib without the state of pyplot. It shows itself in a notebook.

    Raises:
        KeyError: an unknown kind or theme.
    """
    draw, heights = DRAWINGS[kind]
    layout = PlotLayout(theme, size, RATIO, title=title, note=note)
    with open_plot(layout, heights=heights, figure_class=_figure_class()) as plot:
        draw(plot, content)
        return plot.figure


@dataclass(frozen=True, eq=False)
class RocData:
    """The ROC of ``finding`` against the rest: sensitivity ``tpr`` over ``fpr``, both (n,) from 0 to 1, and the area
    ``auc`` with its 95 % interval, ``None`` where it is not known.

    ``measured_on``: the cases it was measured on.
    """

    finding: str
    metric: str
    fpr: npt.NDArray[np.float64]
    tpr: npt.NDArray[np.float64]
    auc: float
    ci95: tuple[float, float] | None = None
    measured_on: str = ""

    def plot(self, *, theme: ThemeName = "light") -> Figure:
        """The curve as a figure."""
        return roc_figure([self], theme=theme)

    def __repr__(self) -> str:
        area = translate(spread_text(self.auc, *(self.ci95 or (None, None))))
        return f"<ROC of {self.finding!r} by {self.metric!r}: AUC {area}, {len(self.fpr)} points>"

    def _repr_png_(self) -> Any:
        return self.plot()._repr_png_()  # type: ignore[attr-defined]


def roc_figure(curves: Sequence[RocData], *, theme: ThemeName = "light") -> Figure:
    """Curves of one finding in one figure, the first in the accent colour."""
    drawn = []
    for place, one in enumerate(curves):
        low, high = one.ci95 or (None, None)
        points = tuple(one.fpr.tolist()), tuple(one.tpr.tolist())
        drawn.append(RocCurve(one.metric, *points, one.auc, low, high, current=place == 0))
    finding = curves[0].finding if curves else ""
    note = curves[0].measured_on if curves else ""
    title = tr("ROC, {chosen} against the rest", chosen=finding)
    return figure(ROC, drawn, title=title, note=note, theme=theme, size=(460, 360))


def scores_figure(result: EvaluationResult, *, theme: ThemeName = "light") -> Figure:
    """Retrieval accuracy over k with its 95 % interval, the first learner in the accent colour; of a protocol that does
    not measure it, the first of the scores that it compares learners by."""
    shown = [one for one in result.results if ACCURACY in one.curves]
    note = tr("{n} repeats", n=result.repeats)
    if not shown:
        return _compared_figure(result, note, theme)
    curves = [_accuracy_curve(one, result.repeats, current=place == 0) for place, one in enumerate(shown)]
    size = (720, 320) if len(curves) > 1 else FIGURE_SIZE
    title = translate(score_title(ACCURACY))
    return figure(ACCURACY, curves, title=title, note=note, theme=theme, size=size)


def roc_data(one: LearnerResult, finding: str, measured_on: str) -> RocData:
    """The ROC of ``finding``, averaged over the repeats, with the mean area and its interval over them.

    Raises:
        KeyError: it was not measured.
    """
    curve, area = one.roc[finding], one.scores.get(f"auc:{finding}")
    value = float(np.trapezoid(curve.tpr, curve.fpr)) if area is None else area.mean
    return RocData(
        finding, one.learner, curve.fpr, curve.tpr, value, None if area is None else area.ci95, measured_on
    )


def map_figure(drawing: MapDrawing, *, theme: ThemeName = "light") -> Figure:
    """The cases of a library on a plane, similar ones near each other, in the colours of their findings."""
    return figure(MAP, drawing, title=drawing.title, note=drawing.note, theme=theme, size=(640, 460))


def _accuracy_curve(one: LearnerResult, repeats: int, *, current: bool) -> AccuracyCurve:
    """The curve of a learner; its interval is the t interval over the repeats, as that of its scores."""
    curve = one.curves[ACCURACY]
    ends: list[tuple[float | None, float | None]] = []
    for k, mean, std in zip(curve.k, curve.mean, curve.std, strict=True):
        known = one.scores.get(f"{ACCURACY}@{k}")
        if known is not None and known.ci95 is not None:
            ends.append(known.ci95)
        elif mean is None or std is None or repeats < 2:
            ends.append((None, None))
        else:
            half = t_quantile(0.975, repeats - 1) * std / repeats**0.5
            ends.append((max(0.0, mean - half), min(1.0, mean + half)))
    chance = one.scores.get("chance@10")
    return AccuracyCurve(
        one.learner,
        tuple(curve.k),
        tuple(curve.mean),
        tuple(low for low, _ in ends),
        tuple(high for _, high in ends),
        current=current,
        chance=None if chance is None else chance.mean,
    )


def _compared_figure(result: EvaluationResult, note: str, theme: ThemeName) -> Figure:
    """The first compared score of each learner with its 95 % interval."""
    name = next((name for name in result.compared if any(name in one.scores for one in result.results)), "")
    rows = [(one.learner, one.scores[name]) for one in result.results if name in one.scores]
    title = translate(score_title(name)) if name else ""
    layout = PlotLayout(theme, (560, 90 + 24 * max(1, len(rows))), RATIO, title=title, note=note)
    with open_plot(layout, figure_class=_figure_class()) as plot:
        axes: Axes = plot.axes[0]
        for place, (_, score) in enumerate(rows):
            colour = plot.colours.accent if place == 0 else plot.colours.third
            if score.ci95 is not None:
                axes.plot(score.ci95, (place, place), color=colour, linewidth=1.5)
            axes.plot([score.mean], [place], "o", color=colour, markersize=6)
        axes.set_yticks(range(len(rows)), [plot.elided(learner, 150, 10) for learner, _ in rows])
        axes.set_ylim(len(rows) - 0.5, -0.5)
        axes.grid(axis="x")
        axes.grid(visible=False, axis="y")
        plot.fit()
        return plot.figure


def ranking_figure(shown: ShownRanking, *, columns: int = 6, theme: ThemeName = "light") -> Figure:
    """The query and the ranked cases as images in a grid, with frames where a search by place found the query; of a
    table, the distances as a bar chart."""
    document = shown.document
    if not shown.has_images:
        return _distance_figure(document, theme)
    cells = len(shown.cases) + 1
    columns = min(columns, cells)
    rows = math.ceil(cells / columns)
    side, text = 128, 34
    size = (columns * (side + 8) + 8, rows * (side + text) + 12)
    layout = PlotLayout(theme, size, RATIO)
    with open_plot(layout, figure_class=_figure_class()) as plot:
        plot.axes[0].remove()
        grid: list[tuple[ReportedCase | None, Pixels | None, Box | None, str]] = [
            (None, shown.query_image, shown.query_frame, "")
        ]
        grid += [(one.case, one.image, one.frame, one.problem) for one in shown.cases]
        for number, (case, image, frame, problem) in enumerate(grid):
            row, column = divmod(number, columns)
            left, top = 8 + column * (side + 8), 6 + row * (side + text)
            place = (left / plot.width, 1 - (top + side) / plot.height, side / plot.width, side / plot.height)
            axes = plot.figure.add_axes(place)
            axes.set_axis_off()
            _draw_image(axes, image, frame, translate(problem))
            name = tr("Query") if case is None else f"{case.rank}  {finding_name(case.finding)}"
            detail = "" if case is None else distance_text(case.distance, document.digits)
            look: dict[str, Any] = {"transform": axes.transAxes, "ha": "left", "va": "top", "clip_on": False}
            shift = 4 / side
            axes.text(0, -shift, plot.elided(name, side, 10), color=plot.colours.text, **look)
            axes.text(0, -shift - 13 / side, detail, color=plot.colours.third, **look)
        return plot.figure


@cache
def _figure_class() -> type[Figure]:
    """Matplotlib's figure, which shows itself in a notebook: Matplotlib is loaded only to draw."""
    from matplotlib.figure import Figure

    class NotebookFigure(Figure):
        """A figure that a notebook shows as a PNG in the size it was drawn for."""

        def _repr_png_(self) -> tuple[bytes, dict[str, int]]:
            out = io.BytesIO()
            with warnings.catch_warnings():
                # Characters that no font has are drawn as boxes.
                warnings.filterwarnings("ignore", "(?s)Glyph .* missing", UserWarning)
                self.savefig(out, format="png", metadata={"Software": None})
            width, height = (round(float(side) * 72) for side in self.get_size_inches())
            return out.getvalue(), {"width": width, "height": height}

    return NotebookFigure


def _draw_image(axes: Axes, image: Pixels | None, frame: Box | None, problem: str) -> None:
    """``image`` fitted into a black square, with its ``frame``."""
    from matplotlib.patches import Rectangle

    axes.add_patch(Rectangle((0, 0), 1, 1, transform=axes.transAxes, facecolor="#141415", edgecolor="none"))
    if image is None:
        text = one_line(problem or tr("no image"))
        axes.text(0.5, 0.5, text[:24], transform=axes.transAxes, ha="center", va="center", color="#ADADB4")
        return
    height, width = image.shape[:2]
    shown = axes.imshow(image, cmap="gray", vmin=0, vmax=255, interpolation="bilinear")
    shown.set_zorder(1)
    longest = max(width, height)
    axes.set_xlim((width - longest) / 2 - 0.5, (width + longest) / 2 - 0.5)
    axes.set_ylim((height + longest) / 2 - 0.5, (height - longest) / 2 - 0.5)
    if frame is not None:
        left, top, right, bottom = frame
        box = (left * width - 0.5, top * height - 0.5), (right - left) * width, (bottom - top) * height
        for colour, line in (("#101012", 3.5), ("#B9B3FF", 1.6)):
            axes.add_patch(Rectangle(*box, fill=False, edgecolor=colour, linewidth=line, zorder=2))


def _distance_figure(document: ReportDocument, theme: ThemeName) -> Figure:
    """The distances of cases without images as bars in the colours of their findings."""
    rows, marks = document.ranking, document.marks()
    layout = PlotLayout(theme, (560, 60 + 20 * max(1, len(rows))), RATIO, title=tr("Distance"))
    with open_plot(layout, figure_class=_figure_class()) as plot:
        axes: Axes = plot.axes[0]
        colours = [marks.get(row.finding or "", UNKNOWN_MARK).colour for row in rows]
        ranks = [row.rank for row in rows]
        axes.barh(ranks, [row.distance for row in rows], color=colours, height=0.7)
        names = [plot.elided(f"{row.rank}  {finding_name(row.finding)}", 150, 10) for row in rows]
        axes.set_yticks(ranks, names)
        axes.invert_yaxis()
        axes.grid(axis="x")
        axes.grid(visible=False, axis="y")
        plot.fit()
        return plot.figure
