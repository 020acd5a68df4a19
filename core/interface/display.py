"""How libraries, metrics, rankings and scores show themselves in a notebook: HTML that needs nothing from elsewhere,
and figures.

HTML takes the colours of the page around it, so it is readable in dark and light notebooks. Names from outside are
escaped. Rankings are de-identified as reports are, unless they are requested with identifying data.
"""

from __future__ import annotations

import base64
import html
import io
import math
import warnings
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cache
from typing import TYPE_CHECKING, Any

import numpy as np
import numpy.typing as npt

from semblance.core.errors import SemblanceError
from semblance.core.imaging.region import Box, Region
from semblance.core.imaging.thumbnail import LONGEST
from semblance.core.language import tr, tr_lazy, translate, visible
from semblance.core.library.findings import all_styles, stored_styles
from semblance.core.library.location import LibraryLocation
from semblance.core.reports.curves import ROC, RocCurve
from semblance.core.reports.document import (
    UNKNOWN_MARK,
    FindingMark,
    ReportDocument,
    ReportedCase,
    ReportedQuery,
)
from semblance.core.reports.figures import DRAWINGS
from semblance.core.reports.formatting import distance_text, spread_text
from semblance.core.reports.plot import PlotLayout, ThemeName, one_line, open_plot
from semblance.core.searches.query import Query
from semblance.core.searches.search import BOTH, PLACE, WHOLE
from semblance.core.searches.similar_cases import RankedCase
from semblance.core.workflows.imaging.library_cache import cached_library

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

    from semblance.core.reports.card_document import CardDocument
    from semblance.core.workflows.searches.rank_cases import RankedSearch

Pixels = npt.NDArray[np.uint8]

#: The longest side of an image on a card, in pixels of the page.
SIDE = 132
#: The size of a figure in logical pixels, and the pixels of its image for each.
FIGURE_SIZE, RATIO = (560, 320), 2.0
_QUALITY = 80
_COMPARED_BY = {
    PLACE: tr_lazy("Similar cases by place"),
    BOTH: tr_lazy("Similar cases by place and by the metric"),
}
#: Grey that is readable on white and on black.
_FAINT = "color:inherit;opacity:.72"
_LINE = "1px solid rgba(128,128,128,.45)"
_TABLE = "border-collapse:collapse;border:0;margin:6px 0;font:inherit"
_FONT = "font:13px/1.4 system-ui,'Segoe UI',sans-serif;color:inherit;font-variant-numeric:tabular-nums"


# Rankings


@dataclass(frozen=True, eq=False)
class ShownCase:
    """A case as a card shows it: its image (h, w) or (h, w, 3), ``None`` without one, and where on it a search by
    place found the query, as shares of its width and height."""

    case: ReportedCase
    image: Pixels | None
    problem: str = ""
    frame: Box | None = None


@dataclass(frozen=True, eq=False)
class ShownRanking:
    """A ranking with the images of its cases. ``document`` has its texts, de-identified unless it was requested
    otherwise."""

    document: ReportDocument
    cases: tuple[ShownCase, ...]
    query_image: Pixels | None
    query_frame: Box | None = None
    compared_by: str = WHOLE

    @property
    def has_images(self) -> bool:
        """Whether any case has an image; those of a table have none."""
        return self.query_image is not None or any(one.image is not None for one in self.cases)


def shown_ranking(
    library: LibraryLocation, searched: RankedSearch, *, identified: bool = False, longest: int = LONGEST
) -> ShownRanking:
    """``searched`` with its images, whose longest side is ``longest`` pixels. Unless ``identified``, its texts name no
    case, file or patient.

    Raises:
        BadInput: not a library.
    """
    from semblance.core.workflows.imaging.card_images import card_images

    result = searched.result
    catalogue = cached_library(library).catalogue
    styles = all_styles(stored_styles(catalogue), set(catalogue.finding_counts()))
    slices = {
        int(case.row): case.place.number
        for case in result.ranked
        if case.place is not None and case.place.number is not None
    }
    images = {
        one.row: one
        for one in card_images(library, [case.row for case in result.ranked], longest, slices=slices)
    }
    document = ReportDocument(
        title="",
        created="",
        library="",
        metric=result.metric,
        query=_reported_query(library, result.query),
        ranking=tuple(_reported_case(case, searched) for case in result.ranked),
        findings=tuple(style.name for style in styles),
        finding_colours=tuple(style.colour for style in styles),
        vote=replace(
            result.vote,
            counts=result.counts,
            finding=result.vote.finding or next(iter(result.counts), None),
        ),
        marked=bool(result.marks),
        hidden={"same_patient": result.same_patient, "near_duplicates": result.near_duplicates},
        no_close_match=result.no_close_match,
        unclear=result.is_unclear,
        notes=tuple(result.warnings),
        identified=identified,
    )
    cases = []
    for case, reported in zip(result.ranked, document.ranking, strict=True):
        found = images[case.row]
        cases.append(ShownCase(reported, found.pixels, found.problem, _frame(case)))
    image, frame = _query_image(library, result.query, longest)
    return ShownRanking(document, tuple(cases), image, frame, result.compared_by)


def ranking_html(shown: ShownRanking) -> str:
    """The query and the ranked cases as cards in rows, with finding, distance and place; of a table as lines."""
    document = shown.document
    marks = document.marks()
    texts = [
        _COMPARED_BY.get(shown.compared_by, "") or tr("Similar cases by {metric}", metric=document.metric),
        document.vote_text(),
        document.match_text(),
    ]
    heading = " · ".join(_text(one) for one in texts if one)
    if shown.has_images:
        body = (
            f'<div style="display:flex;flex-wrap:wrap;gap:12px 10px;margin:8px 0">'
            f"{_query_card(shown, marks)}{''.join(_case_card(one, marks, document) for one in shown.cases)}</div>"
        )
    else:
        body = _ranking_table(shown, marks)
    below = [document.hidden_text(), *document.notes]
    if not document.identified:
        below.append(tr("Cases are not named here. The table of to_frame() names them."))
    footer = "".join(f'<div style="{_FAINT}">{_text(one)}</div>' for one in below if one)
    return f'<div style="{_FONT}"><div style="font-weight:600">{heading}</div>{body}{footer}</div>'


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
            place = (
                left / plot.width,
                1 - (top + side) / plot.height,
                side / plot.width,
                side / plot.height,
            )
            axes = plot.figure.add_axes(place)
            axes.set_axis_off()
            _draw_image(axes, image, frame, translate(problem))
            name = tr("Query") if case is None else f"{case.rank}  {_finding_name(case.finding)}"
            detail = "" if case is None else distance_text(case.distance, document.digits)
            look: dict[str, Any] = {"transform": axes.transAxes, "ha": "left", "va": "top", "clip_on": False}
            shift = 4 / side
            axes.text(0, -shift, plot.elided(name, side, 10), color=plot.colours.text, **look)
            axes.text(0, -shift - 13 / side, detail, color=plot.colours.third, **look)
        return plot.figure


def _reported_query(library: LibraryLocation, query: Query) -> ReportedQuery:
    if query.case is None:
        return ReportedQuery(None, None if query.image is None else str(query.image), region=query.region)
    catalogue = cached_library(library).catalogue
    row = catalogue.row_of(query.case)
    case = catalogue.details([row])[row]
    return ReportedQuery(query.case, None, case.patient, case.finding, region=query.region)


def _reported_case(case: RankedCase, searched: RankedSearch) -> ReportedCase:
    marks = searched.result.marks
    judgement = (
        tr("more like this")
        if case.case_id in marks.liked
        else tr("less like this")
        if case.case_id in marks.disliked
        else ""
    )
    values = vars(case) | {"near_liked": None, "near_disliked": None}
    return ReportedCase(**values, judgement=judgement)


def _frame(case: RankedCase) -> Box | None:
    place = case.place
    known = place is not None and place.image_width > 0 and place.image_height > 0
    return place.share if place is not None and known and not place.is_whole else None


def _query_image(library: LibraryLocation, query: Query, longest: int) -> tuple[Pixels | None, Box | None]:
    """The image of the query and its region on it; ``None`` where it has none or it cannot be read."""
    from semblance.core.imaging import ImageAddress, open_image
    from semblance.core.imaging.thumbnail import thumbnail

    region = query.region
    try:
        if query.case is not None:
            catalogue = cached_library(library).catalogue
            case = catalogue.details([catalogue.row_of(query.case)]).popitem()[1]
            if case.address is None:
                return None, None
            image = open_image(case.address, region or case.region)
        elif query.image is not None:
            image = open_image(ImageAddress(query.image), region)
        else:
            return None, None
        return _decoded(thumbnail(image, longest)), _region_share(region, image.width, image.height)
    except SemblanceError:
        return None, None


def _region_share(region: Region | None, width: int, height: int) -> Box | None:
    if region is None or (region.width >= width and region.height >= height):
        return None
    left, top = region.x / width, region.y / height
    return left, top, left + region.width / width, top + region.height / height


def _query_card(shown: ShownRanking, marks: Mapping[str, FindingMark]) -> str:
    query = shown.document.query
    lines = [f"<b>{_text(tr('Query'))}</b>"]
    if query.case_id is not None:
        lines.append(_finding(query.finding, marks))
    if shown.document.identified:
        lines.append(_text(query.case_id or query.image or ""))
    return _card(shown.query_image, shown.query_frame, tr("The query image"), lines, is_query=True)


def _case_card(one: ShownCase, marks: Mapping[str, FindingMark], document: ReportDocument) -> str:
    case = one.case
    lines = [
        f"<b>{case.rank}</b> {_finding(case.finding, marks)}",
        f'<span style="{_FAINT}">{_text(distance_text(case.distance, document.digits))}</span>',
    ]
    if case.judgement:
        lines.append(f"<b>{_text(case.judgement)}</b>")
    if case.place is not None and case.place.slice is not None:
        lines.append(f'<span style="{_FAINT}">{_text(tr("slice {n}", n=case.place.slice))}</span>')
    if case.near_duplicates:
        lines.append(f'<span style="{_FAINT}">{_text(case.near_duplicates_text())}</span>')
    if document.identified:
        patient = tr("patient {patient}", patient=case.patient) if case.patient else ""
        lines += [_text(case.case_id), *([_text(patient)] if patient else [])]
    described = tr("Rank {rank}", rank=case.rank) + f", {_finding_name(case.finding)}"
    return _card(one.image, one.frame, described, lines, one.problem)


def _card(
    image: Pixels | None,
    frame: Box | None,
    described: str,
    lines: Sequence[str],
    problem: str = "",
    *,
    is_query: bool = False,
) -> str:
    border = "2px solid #7C72F0" if is_query else _LINE
    if image is None:
        inside = f'<span style="color:#ADADB4;font-size:11px;padding:6px">{_text(problem or tr("no image"))}</span>'
    else:
        scale = SIDE / max(image.shape[:2])
        height, width = (max(1, round(side * scale)) for side in image.shape[:2])
        inside = (
            f'<span style="position:relative;display:block;width:{width}px;height:{height}px">'
            f'<img src="{_data_uri(image)}" alt="{_text(described)}" width="{width}" height="{height}" '
            f'style="display:block;width:{width}px;height:{height}px;max-width:none;margin:0">{_frame_html(frame)}</span>'
        )
    text = "".join(f'<div style="overflow-wrap:anywhere">{line}</div>' for line in lines)
    return (
        f'<div style="width:{SIDE}px"><div style="box-sizing:content-box;width:{SIDE}px;height:{SIDE}px;'
        f"margin:-1px;border:{border};background:#141415;display:flex;align-items:center;justify-content:center;"
        f'overflow:hidden">{inside}</div><div style="margin-top:6px">{text}</div></div>'
    )


def _frame_html(frame: Box | None) -> str:
    if frame is None:
        return ""
    left, top, right, bottom = (min(1.0, max(0.0, side)) for side in frame)
    place = f"left:{left:.2%};top:{top:.2%};width:{right - left:.2%};height:{bottom - top:.2%}"
    return (
        f'<span style="position:absolute;box-sizing:border-box;{place};border:2px solid #B9B3FF;'
        'outline:1px solid #101012"></span>'
    )


def _ranking_table(shown: ShownRanking, marks: Mapping[str, FindingMark]) -> str:
    document = shown.document
    header = [tr("Rank"), tr("Finding"), tr("Distance")]
    if document.identified:
        header.insert(1, tr("Case"))
    rows = []
    for one in shown.cases:
        distance = distance_text(one.case.distance, document.digits)
        cells = [str(one.case.rank), _finding(one.case.finding, marks), _text(distance)]
        if document.identified:
            cells.insert(1, _text(one.case.case_id))
        rows.append(cells)
    return _table([_text(name) for name in header], rows)


def _finding(name: str | None, marks: Mapping[str, FindingMark]) -> str:
    mark = UNKNOWN_MARK if name is None else marks.get(name, UNKNOWN_MARK)
    chip = (
        f'<span aria-hidden="true" style="display:inline-block;min-width:14px;padding:0 2px;border-radius:3px;'
        f"font:700 10px/14px system-ui,sans-serif;text-align:center;background:{mark.colour};color:{mark.ink}"
        f'">{_text(mark.letter)}</span>'
    )
    return f"{chip} <bdi>{_text(_finding_name(name))}</bdi>"


def _finding_name(name: str | None) -> str:
    return tr("not given") if name is None else name


# Tables: libraries, cards, scores


def table_html(
    title: str, header: Sequence[str], rows: Sequence[Sequence[str]], notes: Sequence[str] = ()
) -> str:
    """A table of texts below its ``title``, with ``notes`` below it."""
    cells = [[_text(cell) for cell in row] for row in rows]
    below = "".join(f'<div style="{_FAINT}">{_text(note)}</div>' for note in notes if note)
    table = _table([_text(name) for name in header], cells) if rows else ""
    return f'<div style="{_FONT}"><div style="font-weight:600">{_text(title)}</div>{table}{below}</div>'


def facts_html(title: str, facts: Sequence[tuple[str, str]], notes: Sequence[str] = ()) -> str:
    """A list of labels and values below its ``title``."""
    return (
        f'<div style="{_FONT}"><div style="font-weight:600">{_text(title)}</div>{_facts(facts)}'
        + "".join(f'<div style="{_FAINT}">{_text(note)}</div>' for note in notes if note)
        + "</div>"
    )


def card_html(document: CardDocument) -> str:
    """The card of a metric: each section a list, the first ones open."""
    parts = [f'<div style="font-weight:600;font-size:15px">{_text(document.name)}</div>']
    for number, section in enumerate(document.sections):
        title = _text(section.title)
        if section.measured_on:
            title += f' <span style="{_FAINT};font-weight:400">({_text(section.measured_on)})</span>'
        body = _facts([(fact.label, fact.value) for fact in section.facts])
        if section.table is not None:
            rows = [[_text(cell) for cell in row] for row in section.table.rows]
            body += _table([_text(name) for name in section.table.header], rows)
        # The first page of a card: the metric, its data, its training and its scores.
        is_open = " open" if number < 4 else ""
        parts.append(
            f'<details{is_open} style="border-top:{_LINE};padding:4px 0">'
            f'<summary style="font-weight:600;cursor:pointer">{title}</summary>{body}</details>'
        )
    return f'<div style="{_FONT};max-width:760px">{"".join(parts)}</div>'


def _facts(facts: Sequence[tuple[str, str]]) -> str:
    rows = "".join(
        f'<tr style="background:none"><td style="text-align:left;vertical-align:top;padding:1px 14px 1px 0;'
        f'white-space:nowrap;border:0;{_FAINT}">{_text(label)}</td>'
        f'<td style="text-align:left;padding:1px 0;border:0;overflow-wrap:anywhere">{_text(value)}</td></tr>'
        for label, value in facts
    )
    return f'<table class="semblance" style="{_TABLE}">{rows}</table>'


def _table(header: Sequence[str], rows: Sequence[Sequence[str]]) -> str:
    """A table of cells that are HTML already; numbers stand at the right."""
    right = [all(_is_number(row[place]) for row in rows if place < len(row)) for place in range(len(header))]

    def line(tag: str, cells: Sequence[str]) -> str:
        return "".join(
            f'<{tag} style="text-align:{"right" if right[place] else "left"};padding:3px 12px 3px 0;border:0;'
            f'border-bottom:{_LINE};font-weight:{600 if tag == "th" else 400};white-space:nowrap">{cell}</{tag}>'
            for place, cell in enumerate(cells)
        )

    body = "".join(f'<tr style="background:none">{line("td", row)}</tr>' for row in rows)
    return (
        f'<table class="semblance" style="{_TABLE}">'
        f'<thead><tr style="background:none">{line("th", header)}</tr></thead><tbody>{body}</tbody></table>'
    )


def _is_number(cell: str) -> bool:
    return not cell or cell[0].isdigit() or cell in "–-"


# Figures


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
        names = [plot.elided(f"{row.rank}  {_finding_name(row.finding)}", 150, 10) for row in rows]
        axes.set_yticks(ranks, names)
        axes.invert_yaxis()
        axes.grid(axis="x")
        axes.grid(visible=False, axis="y")
        plot.fit()
        return plot.figure


# Parts


def _text(text: str) -> str:
    """``text`` in the language in use as HTML, with the hidden characters of names spelled out."""
    return html.escape(visible(translate(text)))


def _decoded(encoded: bytes) -> Pixels:
    from PIL import Image

    with Image.open(io.BytesIO(encoded)) as image:
        return np.asarray(image if image.mode == "L" else image.convert("RGB"), dtype=np.uint8).copy()


def _data_uri(pixels: Pixels) -> str:
    from PIL import Image

    out = io.BytesIO()
    Image.fromarray(pixels).save(out, "JPEG", quality=_QUALITY)
    return "data:image/jpeg;base64," + base64.b64encode(out.getvalue()).decode("ascii")
