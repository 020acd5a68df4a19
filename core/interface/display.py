"""How libraries, metrics, rankings and scores show themselves in a notebook: HTML that needs nothing from elsewhere.

HTML takes the colours of the page around it, so it is readable in dark and light notebooks. Names from outside are
escaped. Rankings are de-identified as reports are, unless they are requested with identifying data.
"""

from __future__ import annotations

import base64
import html
import io
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

import numpy as np
import numpy.typing as npt

from semblance.core.errors import SemblanceError
from semblance.core.evaluation.chance import is_chance, names_beside_chance
from semblance.core.imaging.region import Box, Region
from semblance.core.imaging.thumbnail import LONGEST
from semblance.core.language import count_label, tr, tr_lazy, tr_n, translate, visible
from semblance.core.library.findings import all_styles, stored_styles
from semblance.core.library.location import LibraryLocation
from semblance.core.metrics.score_titles import score_title
from semblance.core.reports.document import (
    UNKNOWN_MARK,
    FindingMark,
    ReportDocument,
    ReportedCase,
    ReportedQuery,
    finding_marks,
)
from semblance.core.reports.formatting import distance_text
from semblance.core.searches.query import Query
from semblance.core.searches.search import BOTH, PLACE, WHOLE
from semblance.core.searches.similar_cases import RankedCase
from semblance.core.workflows.imaging.library_cache import cached_library

if TYPE_CHECKING:
    from semblance.core.evaluation.intervals import ScoreSummary
    from semblance.core.evaluation.result import EvaluationResult
    from semblance.core.library.library import Library as OpenedLibrary
    from semblance.core.reports.card_document import CardDocument
    from semblance.core.workflows.searches.rank_cases import RankedSearch

Pixels = npt.NDArray[np.uint8]

#: The longest side of an image on a card, in pixels of the page.
SIDE = 132
#: Findings of a library that are shown with images, and images of each.
_SHOWN_FINDINGS, _IMAGES_OF_EACH = 6, 2
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


@dataclass(frozen=True)
class Shown:
    """HTML that a notebook shows."""

    html: str

    def _repr_html_(self) -> str:
        return self.html


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
            result.vote, counts=result.counts, finding=result.vote.finding or next(iter(result.counts), None)
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
        below.append(tr("Cases are not named here. Use .to_frame() or .show(identified=True)."))
    footer = "".join(f'<div style="{_FAINT}">{_text(one)}</div>' for one in below if one)
    return f'<div style="{_FONT}"><div style="font-weight:600">{heading}</div>{body}{footer}</div>'


def question_html(library: LibraryLocation, query: str, first: str, second: str) -> str:
    """The query and two cases side by side, without findings: they would influence the answer."""
    from semblance.core.workflows.imaging.card_images import card_images

    catalogue = cached_library(library).catalogue
    rows = [catalogue.row_of(case) for case in (query, first, second)]
    names = (tr("Query"), tr("First"), tr("Second"))
    cards = "".join(
        _card(image.pixels, None, name, [f"<b>{_text(name)}</b>"], image.problem, is_query=number == 0)
        for number, (name, image) in enumerate(zip(names, card_images(library, rows, LONGEST), strict=True))
    )
    heading = _text(tr("Which of the two is like the query?"))
    return (
        f'<div style="{_FONT}"><div style="font-weight:600">{heading}</div>'
        f'<div style="display:flex;flex-wrap:wrap;gap:12px 10px;margin:8px 0">{cards}</div></div>'
    )


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
    described = tr("Rank {rank}", rank=case.rank) + f", {finding_name(case.finding)}"
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
    return f"{chip} <bdi>{_text(finding_name(name))}</bdi>"


def finding_name(name: str | None) -> str:
    """What a finding is called on screen."""
    return tr("not given") if name is None else name


# Tables: libraries, cards, scores


def library_html(library: LibraryLocation, name: str) -> str:
    """The counts of a library, its findings with some of their images, its feature sets and metrics."""
    from semblance.core.workflows.imaging.card_images import card_images

    opened = cached_library(library)
    info, current = opened.summary(), opened.current_metric()
    styles = all_styles(stored_styles(opened.catalogue), set(opened.catalogue.finding_counts()) - {""})
    marks = finding_marks([style.name for style in styles], [style.colour for style in styles])
    rows = _rows_of_findings(opened, [style.name for style in styles][:_SHOWN_FINDINGS])
    images = card_images(library, [row for _, row in rows], LONGEST)
    cards = "".join(
        _card(image.pixels, None, finding, [_finding(finding, marks)])
        for (finding, _), image in zip(rows, images, strict=True)
        if image.pixels is not None
    )
    counts = [tr_n("{n} case", "{n} cases", info["cases"])]
    if info["patients"]:
        counts.append(tr_n("{n} patient", "{n} patients", info["patients"]))
    facts = [(tr("Findings"), ", ".join(count_label(n, one) for one, n in info["findings"].items()))]
    if info["feature_sets"]:
        facts.append((tr("Features"), ", ".join(info["feature_sets"])))
    if info["metrics"]:
        named = [
            tr("{name} (current)", name=one) if current and one == current.name else one
            for one in info["metrics"]
        ]
        facts.append((tr("Metrics"), ", ".join(named)))
    body = (
        f'<div style="display:flex;flex-wrap:wrap;gap:12px 10px;margin:8px 0">{cards}</div>' if cards else ""
    )
    title = f"{name}: {', '.join(counts)}"
    return (
        f'<div style="{_FONT}"><div style="font-weight:600">{_text(title)}</div>{_facts(facts)}{body}</div>'
    )


def _rows_of_findings(library: OpenedLibrary, findings: Sequence[str]) -> list[tuple[str, int]]:
    """Some row ids of cases with images of each of ``findings``, none of the sealed test vault."""
    import sqlalchemy as sa

    from semblance.core.evaluation.data_sources import sealed_rows
    from semblance.core.library.schema import HAS_IMAGE, cases

    sealed = sealed_rows(library)
    found = []
    for finding in findings:
        chosen = sa.select(cases.c.id).where(cases.c.finding == finding, HAS_IMAGE).order_by(cases.c.id)
        rows = [row for (row,) in library.catalogue.read(chosen.limit(_IMAGES_OF_EACH + len(sealed)))]
        found += [(finding, row) for row in rows if row not in sealed][:_IMAGES_OF_EACH]
    return found


def scores_html(result: EvaluationResult, notes: Sequence[str] = ()) -> str:
    """The compared scores of each learner with their 95 % intervals, the significant differences and the failures."""
    known = {name for one in result.results for name in one.scores}
    names = names_beside_chance(result.compared, known)
    header = [tr("Learner"), *(score_title(name) for name in names)]
    rows = [[one.learner, *(_score_text(one.scores.get(name)) for name in names)] for one in result.results]
    if len(rows) < len(names):
        # The longer side goes down the page.
        header, *rows = [list(column) for column in zip(header, *rows, strict=True)]
        header[0] = tr("Score")
    title = tr_n(
        "Scores by the protocol {protocol}, {n} split, on {measured_on} cases",
        "Scores by the protocol {protocol}, {n} splits, on {measured_on} cases",
        result.repeats,
        protocol=result.protocol,
        measured_on=result.measured_on,
    )
    first = next((name for name in names if not is_chance(name)), "")
    below = [
        tr(
            "{a} and {b} differ in {score} by {difference:+.3f} ({low:+.3f} to {high:+.3f}).",
            a=one.a,
            b=one.b,
            score=score_title(one.score),
            difference=one.difference,
            low=one.ci95[0],
            high=one.ci95[1],
        )
        for one in result.comparisons
        if one.score == first and one.ci95 is not None and one.ci95[0] * one.ci95[1] > 0
    ]
    below += [tr("{name} failed: {reason}", name=one.learner, reason=one.reason) for one in result.failed]
    return table_html(title, header, rows, [*below, *notes])


def _score_text(score: ScoreSummary | None) -> str:
    if score is None:
        return "–"
    ends = "" if score.ci95 is None else f" ({score.ci95[0]:.3f}–{score.ci95[1]:.3f})"
    return f"{score.mean:.3f}{ends}"


def table_html(
    title: str, header: Sequence[str], rows: Sequence[Sequence[str]], notes: Sequence[str] = ()
) -> str:
    """A table of texts below its ``title``, with ``notes`` below it."""
    cells = [[_text(cell) for cell in row] for row in rows]
    below = "".join(f'<div style="{_FAINT}">{_text(note)}</div>' for note in notes if note)
    table = _table([_text(name) for name in header], cells) if rows else ""
    heading = f'<div style="font-weight:600">{_text(title)}</div>' if title else ""
    return f'<div style="{_FONT}">{heading}{table}{below}</div>'


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
