"""The ranking of a report as a table."""

from __future__ import annotations

from semblance.core.purpose import PURPOSE
from semblance.core.reports.csv_table import csv_text
from semblance.core.reports.document import ReportDocument


def report_csv(document: ReportDocument) -> str:
    """One line for every ranked case; a column for every part of the distances, and with ``identified`` the
    patient and the path. The last column is the intended purpose. Text that a spreadsheet would run as a formula begins
    with an apostrophe."""
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
    rows = []
    for row in document.ranking:
        shares = dict(row.parts)
        identity = (row.patient, row.path) if document.identified else ()
        case = (row.rank, row.case_id, row.finding, row.distance, row.near_duplicates, row.judgement)
        amounts = (shares.get(name) for name in parts)
        rows.append((query, document.metric, *case, *identity, *amounts, PURPOSE))
    return csv_text((*header, *(f"part: {name}" for name in parts), "intended_purpose"), rows)
