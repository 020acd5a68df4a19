"""A report as one self-contained HTML file."""

from __future__ import annotations

import base64
from functools import partial
from pathlib import Path

from semblance.core.language import LazyText, current_language, tr, tr_name, translate
from semblance.core.purpose import PURPOSE
from semblance.core.reports.contributions import relative_distance, waterfall
from semblance.core.reports.document import UNKNOWN_MARK, RankedRow, ReportDocument
from semblance.core.reports.formatting import distance_text, region_text, signed_text, time_text
from semblance.core.reports.visible_names import with_visible_names

_KINDS = (
    (b"\x89PNG", "image/png"),
    (b"\xff\xd8", "image/jpeg"),
    (b"<?xml", "image/svg+xml"),
    (b"<svg", "image/svg+xml"),
)


def report_html(document: ReportDocument) -> str:
    """The whole report: images are embedded, nothing is loaded from elsewhere, every text is escaped."""
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
        "distance": partial(distance_text, digits=document.digits),
        "signed": signed_text,
        "shares": _waterfall_percentages,
        "relative_distance": lambda row: round(100 * relative_distance(row, document.ranking), 1),
    }
    document = with_visible_names(document)
    compared = document.compared()
    return environment.get_template("report.html").render(
        report=document,
        marks=document.marks(),
        unknown=UNKNOWN_MARK,
        purpose=PURPOSE,
        language=current_language(),
        with_images=document.has_images(),
        further=[row for row in document.ranking if row not in compared],
        explained=document.is_explained(),
    )


def data_uri(content: bytes | None) -> str:
    """``content`` (PNG, JPEG or SVG) as a data address; empty for anything else."""
    start = (content or b"")[:300].lstrip()
    kind = next((kind for first, kind in _KINDS if start.startswith(first)), "")
    return f"data:{kind};base64,{base64.b64encode(content).decode('ascii')}" if content and kind else ""


def _waterfall_percentages(row: RankedRow) -> list[tuple[str, float, float, float]]:
    return [
        (name, amount, round(100 * left, 1), round(max(100 * width, 1.0), 1))
        for name, amount, left, width in waterfall(row)
    ]
