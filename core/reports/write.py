"""Writes a report into a file of the kind its name ends in."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

from core.errors import BadArguments
from core.reports.document import ReportDocument
from core.reports.saving import put_file


def _pdf(document: ReportDocument) -> bytes:
    from core.reports.pdf import report_pdf

    return report_pdf(document)


def _html(document: ReportDocument) -> bytes:
    from core.reports.html import report_html

    return report_html(document).encode()


def _csv(document: ReportDocument) -> bytes:
    from core.reports.csv import report_csv

    return report_csv(document).encode()


def _json(document: ReportDocument) -> bytes:
    from core.reports.json import report_json

    return report_json(document).encode()


WRITERS: dict[str, Callable[[ReportDocument], bytes]] = {
    ".pdf": _pdf,
    ".html": _html,
    ".htm": _html,
    ".csv": _csv,
    ".json": _json,
}


def write_report(document: ReportDocument, path: Path) -> None:
    """Write ``document`` as PDF, HTML, CSV or JSON; an existing file is replaced only by a finished one.

    Raises:
        BadArguments: a name that ends in none of these.
        SemblanceError: the file cannot be written.
    """
    check_suffix(path)
    put_file(path, WRITERS[path.suffix.lower()](document))


def check_suffix(path: Path) -> None:
    """Refuse a name no report can have, before any work is done for it.

    Raises:
        BadArguments: the name does not end in .pdf, .html, .csv or .json.
    """
    if path.suffix.lower() not in WRITERS:
        ending = f"end in '{path.suffix}'" if path.suffix else "have no ending"
        raise BadArguments(
            f"Reports cannot {ending}: {path.name}.", "Use a name that ends in .pdf, .html, .csv or .json."
        )
