"""Write a report into a file whose format is given by its ending: PDF, HTML, CSV, JSON or DICOM."""

from __future__ import annotations

import base64
import json
import math
from collections.abc import Callable, Mapping
from functools import partial
from pathlib import Path
from typing import Any

from semblance.core.csv_cells import csv_text
from semblance.core.errors import BadArguments, BadInput
from semblance.core.imaging.region import Region
from semblance.core.language import LazyText, current_language, tr, tr_lazy, tr_name, translate
from semblance.core.plugins import Plugin, PluginGroup, guarded, missing_hint
from semblance.core.purpose import PURPOSE
from semblance.core.reports.document import (
    UNKNOWN_MARK,
    ReportDocument,
    ReportedCase,
    relative_distance,
    waterfall,
    with_visible_names,
)
from semblance.core.reports.formatting import distance_text, region_text, signed_text, time_text
from semblance.core.searches.similar_cases import MatchedPlace

_KINDS = (
    (b"\x89PNG", "image/png"),
    (b"\xff\xd8", "image/jpeg"),
    (b"<?xml", "image/svg+xml"),
    (b"<svg", "image/svg+xml"),
)

Writer = Callable[[ReportDocument, str], bytes]
#: Version of the format; raised when a key changes its meaning.
VERSION = 1


def _pdf(document: ReportDocument, page: str) -> bytes:
    from semblance.core.reports.pdf import report_pdf

    return report_pdf(document, page)


def _dicom(document: ReportDocument, page: str) -> bytes:
    from semblance.core.reports.dicom.image_objects import report_dicom

    return report_dicom(document, page)


WRITERS: dict[str, Writer] = {
    ".pdf": _pdf,
    ".html": lambda document, _page: report_html(document).encode(),
    ".htm": lambda document, _page: report_html(document).encode(),
    ".csv": lambda document, _page: report_csv(document).encode(),
    ".json": lambda document, _page: report_json(document).encode(),
    ".dcm": _dicom,
}


def _checked_plugin(plugin: Plugin, found: Any) -> Writer:
    if not callable(found):
        raise BadInput(
            tr_lazy("{target} is no function of a report and the size of its page", target=plugin.target)
        )
    return guarded(plugin, found)


#: A plug-in is called as the ending of its files, without the dot.
_PLUGINS: PluginGroup[Writer] = PluginGroup(
    "report", lambda: (ending.removeprefix(".") for ending in WRITERS), _checked_plugin
)


def plugin_writers() -> tuple[Writer, ...]:
    """What plug-ins write reports with, which it imports."""
    return _PLUGINS.all()


def report_endings() -> tuple[str, ...]:
    """The endings of files that reports can be written into, with their dots. Imports no plug-in."""
    return *WRITERS, *(f".{name}" for name in _PLUGINS.names())


def report_bytes(document: ReportDocument, suffix: str, page: str = "A4") -> bytes:
    """What a file with the ending ``suffix`` holds of ``document``.

    Raises:
        BadInput: nothing that is installed writes such a file.
    """
    ending = suffix.lower()
    writer = WRITERS.get(ending) or _PLUGINS.get(ending.removeprefix("."))
    if writer is None:
        raise BadInput(
            tr_lazy("The report cannot be written as '{suffix}'.", suffix=ending),
            missing_hint("report", ending.removeprefix(".")),
        )
    content = writer(document, page)
    if not isinstance(content, bytes):
        raise BadInput(
            tr_lazy("What writes reports as '{suffix}' gave no bytes.", suffix=ending),
            "Tell those who made the package, or update it.",
        )
    return content


def check_suffix(path: Path) -> None:
    """Refuse an unknown ending, before any work is done.

    Raises:
        BadArguments: the name does not end in .pdf, .html, .csv, .json, .dcm or an ending of a plug-in.
    """
    if path.suffix.lower() not in report_endings():
        ending = (
            tr_lazy("end in '{suffix}'", suffix=path.suffix) if path.suffix else tr_lazy("have no ending")
        )
        *endings, last = [one for one in report_endings() if one != ".htm"]
        raise BadArguments(
            tr_lazy("Reports cannot {ending}: {path}.", ending=ending, path=path.name),
            tr_lazy("Use a name that ends in {endings} or {last}.", endings=", ".join(endings), last=last),
        )


def report_html(document: ReportDocument) -> str:
    """The whole report: images are embedded, nothing is loaded from elsewhere, every text is escaped."""
    document = with_visible_names(document)
    compared = document.compared()
    return html_page(
        "report.html",
        {
            "distance": partial(distance_text, digits=document.digits),
            "relative_distance": lambda row: round(100 * relative_distance(row, document.ranking), 1),
        },
        report=document,
        marks=document.marks(),
        unknown=UNKNOWN_MARK,
        purpose=PURPOSE,
        with_images=document.has_images(),
        further=[row for row in document.ranking if row not in compared],
        explained=document.is_explained(),
    )


def html_page(
    template: str, filters: Mapping[str, Callable[..., object]] | None = None, /, **values: object
) -> str:
    """A page of ``templates`` with ``values`` in the language in use; every text is escaped."""
    from jinja2 import Environment, FileSystemLoader, StrictUndefined

    environment = Environment(
        loader=FileSystemLoader(Path(__file__).parent / "templates"),
        autoescape=True,
        undefined=StrictUndefined,
        trim_blocks=True,
        finalize=lambda value: translate(value) if isinstance(value, LazyText) else value,
    )
    environment.globals["_"] = tr
    environment.filters |= {
        "uri": data_uri,
        "tr_name": tr_name,
        "translate": translate,
        "time_text": time_text,
        "region": region_text,
        "signed": signed_text,
        "shares": _waterfall_percentages,
        **(filters or {}),
    }
    page: str = environment.get_template(template).render(language=current_language(), **values)
    return page


def data_uri(content: bytes | None) -> str:
    """``content`` (PNG, JPEG or SVG) as a data address; empty for anything else."""
    start = (content or b"")[:300].lstrip()
    kind = next((kind for first, kind in _KINDS if start.startswith(first)), "")
    return f"data:{kind};base64,{base64.b64encode(content).decode('ascii')}" if content and kind else ""


def _waterfall_percentages(row: ReportedCase) -> list[tuple[str, float, float, float]]:
    return [
        (name, amount, round(100 * left, 1), round(max(100 * width, 1.0), 1))
        for name, amount, left, width in waterfall(row)
    ]


def report_csv(document: ReportDocument) -> str:
    """One line for every ranked case; a column for every part of the distances, with ``identified`` the patient and the
    path, and for a search by place the region and where it was found. The last column is the intended purpose. Text
    that a spreadsheet would run as a formula begins with an apostrophe."""
    parts = tuple(dict.fromkeys(name for row in document.ranking for name, _ in row.parts))
    identities = ("patient_id", "path") if document.identified else ()
    header = (
        "query",
        "metric",
        "rank",
        "case_id",
        "finding",
        "distance",
        "near_duplicates",
        "judgement",
        *identities,
    )
    query = document.query.case_id or document.query.image or ""
    by_place = any(row.place is not None for row in document.ranking)
    rows = []
    for row in document.ranking:
        shares = dict(row.parts)
        identity = (row.patient, row.path) if document.identified else ()
        case = (row.rank, row.case_id, row.finding, row.distance, row.near_duplicates, row.judgement)
        amounts = (shares.get(name) for name in parts)
        places = (_region_cell(document.query.region), *_place_cells(row.place)) if by_place else ()
        rows.append((query, document.metric, *case, *identity, *amounts, *places, PURPOSE))
    names = _PLACE_COLUMNS if by_place else ()
    if document.measured:
        # Those of the query stand in each row, as it does itself.
        own = _measurement_cell(document, None)
        rows = [
            (*cells[:-1], own, _measurement_cell(document, row.rank), cells[-1])
            for cells, row in zip(rows, document.ranking, strict=True)
        ]
        names = (*names, "query_measurements", "measurements")
    return csv_text((*header, *(f"part: {name}" for name in parts), *names, "intended_purpose"), rows)


def _measurement_cell(document: ReportDocument, rank: int | None) -> str:
    """The measurements on the query (``None``) or on a similar case, such as ``1 Ellipse: mean 40.2 HU, sd 3.1 HU``."""
    return "; ".join(
        f"{f'slice {image.slice}, ' if image.slice is not None else ''}{row.number} {row.kind}: "
        + ", ".join(f"{one.key} {one.value:.6g} {one.unit}".rstrip() for one in row.results)
        + (f" ({row.source})" if row.source else "")
        for image in document.measured
        if image.rank == rank
        for row in image.rows
    )


#: The region of the query as ``x,y,width,height``, and where it was found, in pixels; slices are counted from 1.
_PLACE_COLUMNS = (
    "query_region",
    "place_x",
    "place_y",
    "place_width",
    "place_height",
    "place_slice",
    "place_similarity",
)


def _region_cell(region: Region | None) -> str:
    return "" if region is None else f"{region.x},{region.y},{region.width},{region.height}"


def _place_cells(place: MatchedPlace | None) -> tuple[object, ...]:
    if place is None:
        return ("",) * 6
    return place.x, place.y, place.width, place.height, place.slice, place.similarity


def report_json(document: ReportDocument) -> str:
    """The keys of ``search --json``, and ``report``, ``card``, ``judgements``, ``order`` (what marks did to the
    ranking, in words), ``plots`` (their captions), ``measured``, ``notes``, ``versions``, ``comment``, ``clinic`` and
    ``search``, with which its library reopens it. Without images. NaN and infinities become null."""
    return json.dumps(_to_json(_values(document)), ensure_ascii=False, allow_nan=False, indent=1) + "\n"


def _values(document: ReportDocument) -> dict[str, Any]:
    query = document.query
    return {
        "report": {
            "version": VERSION,
            "title": document.title,
            "created": document.created,
            "library": document.library,
            "identified": document.identified,
            "removed": document.removed,
            "intended_purpose": PURPOSE,
        },
        "query": {
            "case_id": query.case_id,
            "image": query.image,
            "region": None if query.region is None else query.region.to_json(),
            "finding": query.finding,
            **({"patient": query.patient} if document.identified else {}),
            "facts": [fact.to_json() for fact in query.facts],
        },
        "metric": document.metric,
        "results": [
            {key: one for key, one in row.to_json().items() if document.identified or key != "patient"}
            for row in document.ranking
        ],
        "order": document.order,
        "hidden": {"same_patient": 0, "near_duplicates": 0, **document.hidden},
        "vote": document.vote.to_json(),
        "no_good_match": document.no_close_match,
        "unclear": document.unclear,
        "card": {
            "measured_on": document.measured_on,
            "tested": document.tested,
            "facts": [fact.to_json() for fact in document.card],
        },
        "judgements": [judgement.to_json() for judgement in document.judgements],
        "measured": [image.to_json() for image in document.measured],
        "plots": [{"caption": plot.caption, "measured_on": plot.measured_on} for plot in document.plots],
        "notes": document.notes,
        "finding_codes": {
            name: {"scheme": code.scheme, "value": code.value}
            for name, code in document.finding_codes.items()
        },
        "versions": document.versions,
        "comment": document.comment,
        "clinic": document.clinic,
        "search": document.embedded_search,
    }


def _to_json(value: Any) -> Any:
    if isinstance(value, Mapping):
        return {str(key): _to_json(entry) for key, entry in value.items()}
    if isinstance(value, (list, tuple)):
        return [_to_json(entry) for entry in value]
    if isinstance(value, float):
        return float(value) if math.isfinite(value) else None
    if hasattr(value, "item"):
        return _to_json(value.item())
    return value
