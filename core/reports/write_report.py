"""Write a report into a file whose format is given by its ending."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

from semblance.core.errors import BadArguments
from semblance.core.files import write_file
from semblance.core.language import tr_lazy
from semblance.core.reports.document import ReportDocument


def _pdf(document: ReportDocument, page: str) -> bytes:
    from semblance.core.reports.pdf import report_pdf

    return report_pdf(document, page)


def _html(document: ReportDocument, _page: str) -> bytes:
    from semblance.core.reports.html import report_html

    return report_html(document).encode()


def _csv(document: ReportDocument, _page: str) -> bytes:
    from semblance.core.reports.csv import report_csv

    return report_csv(document).encode()


def _json(document: ReportDocument, _page: str) -> bytes:
    from semblance.core.reports.json import report_json

    return report_json(document).encode()


def _dicom(document: ReportDocument, page: str) -> bytes:
    from semblance.core.reports.encapsulated_pdf import report_dicom

    return report_dicom(document, page)


WRITERS: dict[str, Callable[[ReportDocument, str], bytes]] = {
    ".pdf": _pdf,
    ".html": _html,
    ".htm": _html,
    ".csv": _csv,
    ".json": _json,
    ".dcm": _dicom,
}


def write_report(document: ReportDocument, path: Path, page: str = "A4") -> None:
    """Write ``document`` as PDF (on ``page``), HTML, CSV, JSON or a PDF in DICOM; an existing file is
    replaced only by a finished one.

    Raises:
        BadArguments: another ending of the name.
        SemblanceError: the file cannot be written.
    """
    check_suffix(path)
    write_file(path, WRITERS[path.suffix.lower()](document, page), private=False)


def check_suffix(path: Path) -> None:
    """Refuse an unknown ending, before any work is done.

    Raises:
        BadArguments: the name does not end in .pdf, .html, .csv, .json or .dcm.
    """
    if path.suffix.lower() not in WRITERS:
        ending = (
            tr_lazy("end in '{suffix}'", suffix=path.suffix) if path.suffix else tr_lazy("have no ending")
        )
        raise BadArguments(
            tr_lazy("Reports cannot {ending}: {path}.", ending=ending, path=path.name),
            "Use a name that ends in .pdf, .html, .csv, .json or .dcm.",
        )
