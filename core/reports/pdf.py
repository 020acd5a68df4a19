"""A report as a PDF for printing and archiving: paginated, with embedded fonts and searchable text."""

from __future__ import annotations

import contextlib
import functools
import io
import threading
from collections.abc import Iterator, Sequence
from datetime import UTC, datetime
from typing import Any
from xml.sax.saxutils import escape

from reportlab.lib.pagesizes import A4, LETTER
from reportlab.lib.units import mm
from reportlab.pdfbase.pdfdoc import PDFArray, PDFDictionary, PDFName, PDFObject, PDFStream, PDFString
from reportlab.pdfgen.canvas import Canvas
from reportlab.platypus import (
    BaseDocTemplate,
    CondPageBreak,
    Frame,
    HRFlowable,
    KeepTogether,
    PageBreak,
    PageTemplate,
    Spacer,
    Table,
    TableStyle,
)

from semblance.core.errors import BadArguments
from semblance.core.language import as_lazy, current_language, isolated, tr, tr_lazy, translate
from semblance.core.purpose import PURPOSE
from semblance.core.reports.document import (
    UNKNOWN_MARK,
    FindingMark,
    LabelledValue,
    ReportDocument,
    ReportedCase,
    ReportedQuery,
    ReportPlot,
    relative_distance,
    with_visible_names,
)
from semblance.core.reports.formatting import distance_text, region_text, time_text
from semblance.core.reports.pdf_parts import (
    BODY,
    FAINT,
    HEAD,
    HEAD_RIGHT,
    HEADING,
    LARGE,
    LINE,
    QUIET,
    RIGHT,
    SECOND,
    STRONG,
    STRONG_BODY,
    THIRD,
    TITLE,
    ChipRow,
    ContributionBars,
    DistanceBar,
    FindingLabel,
    ThumbnailBox,
    WrappedName,
    figure,
    paragraph,
    small_figure,
    write,
)
from semblance.core.reports.pdf_text import REGULAR, FontCoverage, font_coverage, register, width_of
from semblance.core.reports.redaction import texts_of

PAGES = {"A4": A4, "letter": LETTER}
_SIDE, _TOP, _BOTTOM = 18 * mm, 20 * mm, 18 * mm
_THUMBNAIL_SIZE = 36.0
#: Characters of how the metric was tested, which ends with what limits the result.
_TESTED_LENGTH = 1200
#: Sides of the images of the first page, and the percentages of them that are tried.
_QUERY_SIZE, _COMPARED_SIZE, _LARGEST, _SMALLEST = 76 * mm, 50 * mm, 115, 45
#: Characters of a name below a large image, at most.
_CAPTION_LENGTH = 80
_UNLIMITED = 1e6
#: Characters without a font that are listed at most.
_MAX_CHARACTERS = 12
#: Between the columns of a table.
_GAP = 9
#: Chips of the vote that are drawn at most.
_MAX_CHIPS = 60

_SRGB = "sRGB IEC61966-2.1"
_XMP = """<?xpacket begin="\ufeff" id="W5M0MpCehiHzreSzNTczkc9d"?>
<x:xmpmeta xmlns:x="adobe:ns:meta/">
<rdf:RDF xmlns:rdf="http://www.w3.org/1999/02/22-rdf-syntax-ns#">
<rdf:Description rdf:about="" xmlns:dc="http://purl.org/dc/elements/1.1/" xmlns:pdf="http://ns.adobe.com/pdf/1.3/"
 xmlns:xmp="http://ns.adobe.com/xap/1.0/" xmlns:pdfaid="http://www.aiim.org/pdfa/ns/id/">
<dc:format>application/pdf</dc:format>
<dc:title><rdf:Alt><rdf:li xml:lang="x-default">{title}</rdf:li></rdf:Alt></dc:title>
<dc:description><rdf:Alt><rdf:li xml:lang="x-default">{subject}</rdf:li></rdf:Alt></dc:description>
<dc:creator><rdf:Seq><rdf:li>{author}</rdf:li></rdf:Seq></dc:creator>
<pdf:Keywords>{keywords}</pdf:Keywords>
<pdf:Producer>{producer}</pdf:Producer>
<xmp:CreatorTool>{creator}</xmp:CreatorTool>
<xmp:CreateDate>{date}</xmp:CreateDate>
<xmp:ModifyDate>{date}</xmp:ModifyDate>
{conformance}</rdf:Description>
</rdf:RDF>
</x:xmpmeta>
<?xpacket end="w"?>
"""
_CONFORMANCE = "<pdfaid:part>2</pdfaid:part>\n<pdfaid:conformance>B</pdfaid:conformance>\n"


_END = b"endstream\n"
_SAVING = threading.Lock()


def report_pdf(document: ReportDocument, page: str = "A4") -> bytes:
    """The report on ``page`` ("A4" or "letter"), as PDF/A-2b where the fonts of this computer have all characters.

    Rows are never split between pages, long names wrap, every page has its number and the total. The same document
    gives the same bytes.

    Raises:
        BadArguments: an unknown page.
    """
    if page not in PAGES:
        raise BadArguments(
            tr_lazy("There is no page size '{page}'.", page=page),
            tr_lazy("Use {pages}.", pages=" or ".join(PAGES)),
        )
    document = with_visible_names(document)
    register()
    out = io.BytesIO()
    width, height = PAGES[page]
    layout = BaseDocTemplate(
        out,
        pagesize=(width, height),
        title=translate(document.title),
        author="",
        subject=f"{translate(document.library)}, {document.metric}",
        creator="Semblance",
        invariant=1,
    )
    text_width = width - 2 * _SIDE
    frame = Frame(_SIDE, _BOTTOM, text_width, height - _TOP - _BOTTOM, 0, 0, 0, 0)
    layout.addPageTemplates(PageTemplate(frames=[frame]))
    coverage = font_coverage(set("".join(map(translate, texts_of(document)))))
    flowables = _flowables(document, coverage, text_width, height - _TOP - _BOTTOM)
    layout.build(flowables, canvasmaker=_numbered_canvas(document, conforms=not coverage.not_embedded))
    return out.getvalue()


def _numbered_canvas(document: ReportDocument, *, conforms: bool) -> type:
    """A canvas class that writes head and foot of all pages at the end, when the number of pages is known;
    ``conforms``: whether all fonts are embedded."""

    class NumberedCanvas(Canvas):  # type: ignore[misc]
        def __init__(self, *args: Any, **kwargs: Any) -> None:
            # The default font of ReportLab is not embedded.
            super().__init__(*args, **{**kwargs, "initialFontName": REGULAR})
            self._page_states: list[dict[str, Any]] = []

        def showPage(self) -> None:  # noqa: N802
            self._page_states.append(dict(self.__dict__))
            self._startPage()

        def save(self) -> None:
            for number, state in enumerate(self._page_states, start=1):
                self.__dict__.update(state)
                _head_and_foot(self, document, number, len(self._page_states))
                super().showPage()
            add_archive_parts(self, current_language(), conforms=conforms)
            with archive_streams():
                super().save()

    return NumberedCanvas


def _head_and_foot(canvas: Any, document: ReportDocument, number: int, total: int) -> None:
    width, height = canvas._pagesize
    size, right = 7.2, width - _SIDE
    canvas.setStrokeColor(LINE)
    canvas.setLineWidth(0.5)
    page = tr("Page {number} of {total}", number=number, total=total)
    privacy = tr("Identified.") if document.identified else tr("De-identified.")
    write(canvas, _SIDE, 11 * mm, privacy, size, THIRD)
    purpose = translate(PURPOSE)
    # Never shortened, in any language.
    fitting = min(size, size * (right - _SIDE) / width_of(purpose, size))
    write(canvas, _SIDE, 7.5 * mm, purpose, fitting, THIRD)
    write(canvas, right - width_of(page, size), 11 * mm, page, size, THIRD)
    canvas.line(_SIDE, 14.5 * mm, right, 14.5 * mm)
    created = time_text(document.created)
    write(canvas, right - width_of(created, size), height - 13 * mm, created, size, THIRD)
    head = tr("Semblance report") if number == 1 else translate(document.title)
    write(canvas, _SIDE, height - 13 * mm, _elide(head, size, right - _SIDE - 40 * mm), size, THIRD)


def _elide(text: str, size: float, text_width: float) -> str:
    # Measuring very long texts repeatedly would take seconds.
    if len(text) <= 300 and width_of(text, size) <= text_width:
        return text
    text = text[:300]
    while text and width_of(f"{text}…", size) > text_width:
        text = text[:-1]
    return f"{text}…"


def _flowables(
    document: ReportDocument, coverage: FontCoverage, text_width: float, height: float
) -> list[Any]:
    marks = document.marks()
    compared = document.compared()
    further = [row for row in document.ranking if row not in compared]
    flowables = _first_page(document, marks, text_width, height)
    heading = _heading(tr("Why these cases"))
    if document.has_images() and _height(flowables, text_width) <= height:
        # Page one is for what was found. Where notes go on after it, or there are only rows, the next part follows.
        if compared or document.tested or document.plots:
            flowables.append(PageBreak())
        heading = heading[-2:]
    if document.measured:
        flowables += [*_heading(tr("Measurements")), *_measured(document, text_width)]
    if compared:
        flowables += [*heading, *_ranking(document, compared, marks, text_width)]
    flowables += _key_images(document, text_width)
    flowables += _tested(document, text_width)
    if further:
        flowables += [*_heading(tr("Further similar cases")), *_ranking(document, further, marks, text_width)]
    if document.judgements:
        flowables += [*_heading(tr("Marks")), _judgements(document, text_width)]
    if document.card:
        measured = f"  ({translate(as_lazy(document.measured_on))})" if document.measured_on else ""
        flowables += [*_heading(tr("Metric") + measured), _facts(document.card, text_width)]
    foot = [*map(translate, document.removed), *_font_notes(coverage)]
    flowables += [Spacer(0, 10), paragraph(" ".join(foot), FAINT, longest=None)]
    if document.versions:
        flowables.append(paragraph(" · ".join(f"{name} {v}" for name, v in document.versions.items()), FAINT))
    return flowables


def _first_page(
    document: ReportDocument, marks: dict[str, FindingMark], text_width: float, height: float
) -> list[Any]:
    """The query, the compared cases, their findings, the estimate and the notes; the images have the
    largest size with which all is on one page, without the notes where these are too long for it."""
    notes = _notes(document)
    for room in (height - _height(notes, text_width), height):
        for percent in range(_LARGEST, _SMALLEST - 1, -5):
            flowables = [
                *_letterhead(document, text_width),
                paragraph(document.title, TITLE),
                paragraph(f"{translate(document.library)}  ·  {document.metric}", QUIET),
                Spacer(0, 9),
                _query(document, marks, text_width, percent / 100),
                *_compared(document, marks, text_width, percent / 100),
            ]
            if _height(flowables, text_width) <= room:
                return [*flowables, *notes]
    return [*flowables, *notes]


def _height(flowables: Sequence[Any], text_width: float) -> float:
    spaces = sum(one.getSpaceBefore() + one.getSpaceAfter() for one in flowables)
    return float(spaces + sum(one.wrap(text_width, _UNLIMITED)[1] for one in flowables))


def _key_images(document: ReportDocument, text_width: float) -> list[Any]:
    """The slices of the query that a person marked, three in a row."""
    if not document.query.key_images:
        return []
    gap = 8.0
    width = (text_width - 2 * gap) / 3
    cells: list[Any] = [
        [ThumbnailBox(one.image, width, width, fit_image=True), Spacer(0, 2), paragraph(one.label, QUIET)]
        for one in document.query.key_images
    ]
    cells += [""] * (-len(cells) % 3)
    rows = [cells[start : start + 3] for start in range(0, len(cells), 3)]
    style = _plain_style(("RIGHTPADDING", (0, 0), (-2, -1), gap), ("BOTTOMPADDING", (0, 0), (-1, -1), 6))
    grid = Table(rows, colWidths=[width + gap] * 2 + [width], style=style, splitInRow=0)
    return [*_heading(tr("Key images"), width + 40), grid]


def _tested(document: ReportDocument, text_width: float) -> list[Any]:
    """How the metric was tested, with its plots."""
    if not document.tested and not document.plots:
        return []
    # The condition for a new page does not work inside of what stays together.
    _, *flowables = _heading(tr("How the metric was tested"))
    if document.tested:
        flowables += [paragraph(document.tested, longest=_TESTED_LENGTH), Spacer(0, 6)]
    plots = _plots(document.plots, text_width)
    return [KeepTogether([*flowables, *plots[:1]]), *plots[1:]]


def _font_notes(coverage: FontCoverage) -> list[str]:
    """Which characters look otherwise than they should."""
    notes = []
    if coverage.missing:
        characters = ", ".join(f"U+{ord(one):04X}" for one in coverage.missing[:_MAX_CHARACTERS])
        if len(coverage.missing) > _MAX_CHARACTERS:
            characters += ", …"
        notes.append(
            tr(
                "No font on this computer has these characters, which are boxes: {characters}.",
                characters=characters,
            )
        )
    if coverage.not_embedded:
        notes.append(
            tr(
                "Some characters are drawn with a font of the PDF viewer, because no font on this computer has them. "
                "So this file is not PDF/A."
            )
        )
    return notes


def _letterhead(document: ReportDocument, text_width: float) -> list[Any]:
    """The clinic's logo and name; empty where there is neither."""
    if not document.clinic and not document.logo:
        return []
    cells, widths = [], []
    if document.logo:
        cells.append(small_figure(document.logo, 60 * mm, 14 * mm))
        widths.append(cells[0].drawWidth + 12)
    cells.append(paragraph(document.clinic, STRONG_BODY))
    middle = _plain_style(("VALIGN", (0, 0), (-1, -1), "MIDDLE"))
    head = Table([cells], colWidths=[*widths, text_width - sum(widths)], style=middle)
    return [head, HRFlowable(width="100%", thickness=0.5, color=LINE, spaceBefore=6, spaceAfter=8)]


def _notes(document: ReportDocument) -> list[Any]:
    """The author's comment, in paragraphs that may span pages, what marks did, and what else decided the ranking."""
    comment = [part for part in document.comment.splitlines() if part.strip()]
    notes = [one for one in (document.order, *document.notes) if one]
    if not comment and not notes:
        return []
    return [
        *_rule(),
        paragraph(tr("Marks and notes"), HEADING),
        Spacer(0, 4),
        *(paragraph(part, BODY, longest=None) for part in comment),
        *(paragraph(f"–  {translate(note)}", BODY, longest=None) for note in notes),
    ]


def _rule() -> list[Any]:
    return [Spacer(0, 11), HRFlowable(width="100%", thickness=0.5, color=LINE, spaceAfter=6)]


def _heading(text: str, min_space_below: float = 90) -> list[Any]:
    """A heading that is never alone at the foot of a page."""
    return [CondPageBreak(min_space_below), *_rule(), paragraph(text, HEADING), Spacer(0, 4)]


def _query(document: ReportDocument, marks: dict[str, FindingMark], text_width: float, scale: float) -> Any:
    """The query large, beside it what is known of it, the findings of the nearest cases, and the estimate."""
    query = document.query
    name = query.case_id or tr("{image} (not in library)", image=query.image or tr("an image"))
    rows: list[list[Any]] = [[paragraph(tr("Query"), QUIET), paragraph(name, STRONG_BODY)]]
    if query.patient:
        rows.append([paragraph(tr("Patient"), QUIET), paragraph(query.patient)])
    rows.append([paragraph(tr("Finding"), QUIET), _finding(query.finding, marks)])
    if query.region is not None:
        rows.append([paragraph(tr("Region"), QUIET), paragraph(region_text(query.region))])
    rows += [[paragraph(fact.label, QUIET), paragraph(fact.value)] for fact in query.facts]
    size = min(scale * _QUERY_SIZE, text_width / 2) if document.has_images() else 0.0
    images = _query_images(query, size) if size else []
    left = max(one.wrap(size, size)[0] for one in images) + 16 if images else 0.0
    right = text_width - left
    details: list[Any] = [
        _pairs(rows, right),
        Spacer(0, 8),
        HRFlowable(width="100%", thickness=0.5, color=LINE, spaceAfter=6),
    ]
    if document.vote.counts:
        chips = [
            UNKNOWN_MARK if one is None else marks.get(one, UNKNOWN_MARK) for one in document.vote.voters
        ]
        # Without an estimate the counts must not be taken for one.
        style = LARGE if document.vote.calibrated else QUIET
        details += [paragraph(document.vote_text(), style), Spacer(0, 4), ChipRow(chips[:_MAX_CHIPS])]
        details.append(Spacer(0, 4))
    if document.match_text():
        details += [Spacer(0, 2), paragraph(document.match_text(), LARGE)]
    details += [Spacer(0, 2), paragraph(document.estimate_text(), LARGE)]
    if document.tested:
        details += [Spacer(0, 3), paragraph(document.tested, QUIET, _TESTED_LENGTH)]
    details += [Spacer(0, 3), paragraph(PURPOSE, FAINT)]
    if not images:
        return Table([[details]], colWidths=[right], style=_plain_style())
    return Table(
        [[images, details]], colWidths=[left, right], style=_plain_style(("VALIGN", (0, 0), (-1, -1), "TOP"))
    )


def _query_images(query: ReportedQuery, size: float) -> list[Any]:
    """The query image, and the region on its whole image."""
    if query.overview is None:
        return [ThumbnailBox(query.thumbnail, size, size, fit_image=True)]
    return [
        ThumbnailBox(query.thumbnail, size, 0.6 * size, fit_image=True),
        Spacer(0, 4),
        ThumbnailBox(query.overview, size, 0.4 * size, fit_image=True),
        paragraph(tr("The region on its image"), FAINT),
    ]


def _finding(finding: str | None, marks: dict[str, FindingMark]) -> Any:
    mark = UNKNOWN_MARK if finding is None else marks[finding]
    return FindingLabel(mark, tr("not given") if finding is None else finding)


def _compared(
    document: ReportDocument, marks: dict[str, FindingMark], text_width: float, scale: float
) -> list[Any]:
    """The compared cases: large images in rows, or lines of a table where there are no images."""
    rows = document.compared()
    heading = [*_rule(), paragraph(tr("Similar cases"), HEADING), Spacer(0, 4)]
    hidden = document.hidden_text()
    foot = [Spacer(0, 2), paragraph(hidden, FAINT)] if hidden else []
    if not rows:
        return [*heading, paragraph(tr("No case was ranked."), QUIET), *foot]
    if not document.has_images():
        return [*heading, *_lines(document, rows, marks, text_width), *foot]
    columns = min(3, max(2, len(rows)))
    gap = 8.0
    width = (text_width - (columns - 1) * gap) / columns
    size = min(width, scale * _COMPARED_SIZE * (3 / columns))
    cells: list[Any] = [
        [ThumbnailBox(row.image or row.thumbnail, width, size), Spacer(0, 2), *_caption(document, row, marks)]
        for row in rows
    ]
    cells += [""] * (-len(cells) % columns)
    grid = Table(
        [cells[start : start + columns] for start in range(0, len(cells), columns)],
        colWidths=[width + gap] * (columns - 1) + [width],
        style=_plain_style(("RIGHTPADDING", (0, 0), (-2, -1), gap), ("BOTTOMPADDING", (0, 0), (-1, -1), 6)),
        splitInRow=0,
    )
    return [*heading, grid, *foot]


def _caption(document: ReportDocument, row: ReportedCase, marks: dict[str, FindingMark]) -> list[Any]:
    """What stands below a large image: rank, name, finding, distance and mark."""
    case = translate(row.case_id)
    if len(case) > _CAPTION_LENGTH:
        # Long paths differ at their ends.
        case = f"…{case[1 - _CAPTION_LENGTH :]}"
    # The space after the number does not break.
    name = isolated(tr("{rank}. {case}", rank=row.rank, case=case).replace(". ", ".\u00a0", 1))
    lines = [tr("Distance {distance}", distance=distance_text(row.distance, document.digits))]
    if row.place is not None:
        lines.append(translate(row.place_text()))
    if row.judgement:
        lines.append(tr("marked {judgement}", judgement=translate(row.judgement)))
    patient = [tr("patient {patient}", patient=row.patient or tr("unknown"))] if document.identified else []
    return [
        WrappedName(name, STRONG_BODY),
        *(paragraph(one, FAINT, longest=_CAPTION_LENGTH) for one in patient),
        _finding(row.finding, marks),
        paragraph(" · ".join(lines), FAINT),
    ]


def _lines(
    document: ReportDocument, rows: Sequence[ReportedCase], marks: dict[str, FindingMark], text_width: float
) -> list[Any]:
    """The compared cases of a table without images."""
    names = (tr("Rank"), tr("Case"), tr("Finding"), tr("Mark"), tr("Distance"))
    judged = 70 if any(row.judgement for row in rows) else 0
    widths = [36, text_width - 36 - 130 - judged - 60, 130, judged, 60]
    table = [[paragraph(name, HEAD_RIGHT if name in (names[0], names[-1]) else HEAD) for name in names]]
    table += [
        [
            paragraph(str(row.rank), RIGHT),
            WrappedName(isolated(translate(row.case_id))),
            _finding(row.finding, marks),
            paragraph(row.judgement, QUIET),
            DistanceBar(row, relative_distance(row, document.ranking), document.digits),
        ]
        for row in rows
    ]
    if not judged:
        table, widths = [[*line[:3], line[4]] for line in table], [*widths[:3], widths[4]]
    return [Table(table, colWidths=widths, repeatRows=1, style=_ruled_style(), splitInRow=0)]


def _ranking(
    document: ReportDocument, rows: Sequence[ReportedCase], marks: dict[str, FindingMark], text_width: float
) -> list[Any]:
    """``rows`` with what their distances are made of."""
    explained = document.is_explained()
    with_images = document.has_images()
    columns: list[tuple[str, float, Any]] = [
        (tr("Rank"), 32, HEAD_RIGHT),
        *([("", _THUMBNAIL_SIZE + 12, HEAD)] if with_images else []),
        (tr("Case"), 0, HEAD),
    ]
    columns.append((tr("Finding"), 92 if explained else 130, HEAD))
    bars = {row.case_id: ContributionBars(row) for row in rows if row.parts}
    if explained:
        needed = max((one.needed_width for one in bars.values()), default=0.0) + _GAP
        columns.append((tr("Contributions to the distance"), min(max(needed, 150), 210), HEAD))
    columns.append((tr("Distance"), 52, HEAD_RIGHT))
    rest = text_width - sum(width for _, width, _ in columns)
    widths = [width or rest for _, width, _ in columns]
    table: list[list[Any]] = [[paragraph(name, style) for name, _, style in columns]]
    for row in rows:
        notes = [WrappedName(line, FAINT) for line in _case_notes(document, row)]
        cells: list[Any] = [
            paragraph(str(row.rank), RIGHT),
            *([ThumbnailBox(row.thumbnail, _THUMBNAIL_SIZE, _THUMBNAIL_SIZE)] if with_images else []),
            [WrappedName(isolated(translate(row.case_id))), *notes],
        ]
        cells.append(_finding(row.finding, marks))
        if explained:
            cells.append(bars.get(row.case_id, ""))
        cells.append(DistanceBar(row, relative_distance(row, document.ranking), document.digits))
        table.append(cells)
    return [Table(table, colWidths=widths, repeatRows=1, style=_ruled_style(), splitInRow=0)]


def _case_notes(document: ReportDocument, row: ReportedCase) -> list[str]:
    """The small lines below a case's name."""
    lines = []
    if document.identified:
        lines.append(tr("patient {patient}", patient=row.patient or tr("unknown")))
        if row.path and row.path != row.case_id:
            lines.append(row.path)
    if row.place is not None:
        lines.append(translate(row.place_text()))
    if row.judgement:
        lines.append(tr("marked {judgement}", judgement=translate(row.judgement)))
    if row.reason:
        lines.append(translate(row.reason))
    if row.near_duplicates:
        lines.append(translate(row.near_duplicates_text()))
    return lines


def _measured(document: ReportDocument, text_width: float) -> list[Any]:
    """Each measured image with its figures, and a table of their results below it."""
    flowables: list[Any] = []
    for one in document.measured:
        name = f"{translate(one.title())}  {one.case_id or ''}".rstrip()
        top: list[Any] = [paragraph(name, STRONG_BODY), Spacer(0, 3)]
        if one.image is not None:
            top += [figure(one.image, min(text_width, 110 * mm), 95 * mm), Spacer(0, 4)]
        rows = [[paragraph(text, HEAD) for text in (tr("Number"), tr("Figure"), tr("Results"))]]
        for row in one.rows:
            texts = [f"{translate(result.name)} {result.text()}" for result in row.results]
            shown = " · ".join(texts) + (f" {translate(row.source)}" if row.source else "")
            rows.append([paragraph(str(row.number)), paragraph(translate(row.kind)), paragraph(shown)])
        table = Table(
            rows, colWidths=[56, 90, text_width - 146], repeatRows=1, hAlign="LEFT", style=_ruled_style()
        )
        flowables += [KeepTogether(top), table, Spacer(0, 10)]
    return flowables


def _judgements(document: ReportDocument, text_width: float) -> Any:
    share = (text_width - 76 - 92) / 3
    rows = [
        [paragraph(name, HEAD) for name in (tr("Verdict"), tr("Case"), tr("Compared with"), "", tr("When"))]
    ]
    for judgement in document.judgements:
        texts = (judgement.verdict, judgement.a, judgement.b, judgement.c or "", time_text(judgement.when))
        rows.append([WrappedName(translate(text)) for text in texts])
    return Table(rows, colWidths=[76, share, share, share, 92], repeatRows=1, style=_ruled_style())


def _facts(facts: Sequence[LabelledValue], text_width: float) -> Any:
    return _pairs([[paragraph(fact.label, QUIET), paragraph(fact.value)] for fact in facts], text_width)


def _pairs(rows: list[list[Any]], text_width: float) -> Any:
    """Labels and values; the labels have the width they need, up to a third."""
    needed = max((width_of(row[0].text, row[0].style.fontSize) for row in rows), default=0) + 14
    left = min(needed, text_width / 3)
    return Table(
        rows,
        colWidths=[left, text_width - left],
        style=_plain_style(("BOTTOMPADDING", (0, 0), (-1, -1), 2.5)),
    )


def _plots(plots: Sequence[ReportPlot], text_width: float) -> list[Any]:
    """Two plots in a row, or one with the width of two; a figure and its caption stay together."""
    gap = 14.0
    width = text_width if len(plots) == 1 else (text_width - gap) / 2
    cells = [_figure(plot, min(width, 120 * mm)) for plot in plots]
    flowables: list[Any] = []
    for start in range(0, len(cells), 2):
        pair = cells[start : start + 2]
        widths = [width + (gap if len(plots) > 1 else 0), width][: len(pair)]
        table = Table(
            [pair], colWidths=widths, hAlign="LEFT", style=_plain_style(("VALIGN", (0, 0), (-1, -1), "TOP"))
        )
        flowables += [table, Spacer(0, 10)]
    return flowables


def _figure(plot: ReportPlot, width: float) -> list[Any]:
    details = [paragraph(plot.caption, STRONG_BODY)]
    if plot.measured_on:
        details.append(paragraph(as_lazy(plot.measured_on), FAINT))
    return [*details, Spacer(0, 3), figure(plot.png, width, 95 * mm)]


def _plain_style(*more: Any) -> Any:
    return TableStyle(
        [
            ("FONTNAME", (0, 0), (-1, -1), REGULAR),
            ("LEFTPADDING", (0, 0), (-1, -1), 0),
            ("RIGHTPADDING", (0, 0), (-1, -1), 0),
            ("TOPPADDING", (0, 0), (-1, -1), 0),
            ("BOTTOMPADDING", (0, 0), (-1, -1), 0),
            ("VALIGN", (0, 0), (-1, -1), "TOP"),
            *more,
        ]
    )


def _ruled_style() -> Any:
    return TableStyle(
        [
            ("FONTNAME", (0, 0), (-1, -1), REGULAR),
            ("LEFTPADDING", (0, 0), (-1, -1), 0),
            ("RIGHTPADDING", (0, 0), (-2, -1), _GAP),
            ("RIGHTPADDING", (-1, 0), (-1, -1), 0),
            ("TOPPADDING", (0, 1), (-1, -1), 4.5),
            ("BOTTOMPADDING", (0, 1), (-1, -1), 4.5),
            ("TOPPADDING", (0, 0), (-1, 0), 0),
            ("BOTTOMPADDING", (0, 0), (-1, 0), 3),
            ("LINEBELOW", (0, 0), (-1, 0), 0.6, STRONG),
            ("LINEBELOW", (0, 1), (-1, -1), 0.4, LINE),
            ("VALIGN", (0, 0), (-1, -1), "MIDDLE"),
            ("TEXTCOLOR", (0, 0), (-1, -1), SECOND),
        ]
    )


@contextlib.contextmanager
def archive_streams() -> Iterator[None]:
    """A context in which ReportLab writes streams with the end of line before their last word that ISO 19005-2, 6.1.7.1
    asks for. It makes the streams of pages, fonts and images itself and has no other place to change them."""
    with _SAVING:
        format_stream = PDFStream.format

        def format_with_line_end(stream: Any, document: Any) -> bytes:
            written: bytes = format_stream(stream, document)
            return written.removesuffix(_END) + b"\n" + _END

        PDFStream.format = format_with_line_end
        try:
            yield
        finally:
            PDFStream.format = format_stream


class _Metadata(PDFObject):  # type: ignore[misc]
    """A stream of metadata, which must not be compressed, so that archives find it."""

    #: ReportLab's mark of objects that others refer to.
    __RefOnly__ = 1

    def __init__(self, xmp: bytes) -> None:
        self._xmp = xmp

    def format(self, document: Any) -> bytes:
        entries = {"Type": PDFName("Metadata"), "Subtype": PDFName("XML"), "Length": len(self._xmp)}
        head: bytes = PDFDictionary(entries).format(document)
        return head + b"\nstream\n" + self._xmp + b"\n" + _END


def add_archive_parts(canvas: Any, language: str, *, conforms: bool) -> None:
    """Give the document of a ReportLab ``canvas`` its XMP metadata, output intent (sRGB) and ``language`` before it is
    saved; ``conforms``: it claims PDF/A-2b, for which all its fonts must be embedded."""
    document = canvas._doc
    info, catalog = document.info, document.Catalog
    moment = datetime.fromtimestamp(document._timeStamp.t, UTC)
    xmp = _XMP.format(
        title=escape(info.title),
        subject=escape(info.subject),
        author=escape(info.author),
        keywords=escape(info.keywords),
        producer=escape(info.producer),
        creator=escape(info.creator),
        date=f"{moment:%Y-%m-%dT%H:%M:%SZ}",
        conformance=_CONFORMANCE if conforms else "",
    )
    catalog.Metadata = _Metadata(xmp.encode())
    profile = PDFStream(PDFDictionary({"N": 3}), _srgb_profile())
    intent = {
        "Type": PDFName("OutputIntent"),
        "S": PDFName("GTS_PDFA1"),
        "OutputConditionIdentifier": PDFString(_SRGB),
        "Info": PDFString(_SRGB),
        "DestOutputProfile": document.Reference(profile),
    }
    catalog.OutputIntents = PDFArray([PDFDictionary(intent)])
    # ReportLab writes only the entries of a catalogue that are listed here.
    catalog.__NoDefault__ = [*catalog.__NoDefault__, "OutputIntents"]
    catalog.Lang = PDFString(language)


@functools.cache
def _srgb_profile() -> bytes:
    """The ICC profile of sRGB by Little CMS, with a fixed date, so that the same report gives the same bytes.

    It says to be of ICC version 4.2, the last that PDF 1.7 knows; its tags are the same in later ones.
    """
    from PIL import ImageCms

    profile = bytearray(ImageCms.ImageCmsProfile(ImageCms.createProfile("sRGB")).tobytes())
    profile[8:12] = b"\x04\x20\x00\x00"
    # ICC.1:2010, 7.2: year, month, day, hour, minute and second as 16-bit numbers.
    profile[24:36] = b"".join(number.to_bytes(2, "big") for number in (2000, 1, 1, 0, 0, 0))
    return bytes(profile)
