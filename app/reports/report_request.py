"""What is asked for in the report dialog."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

from semblance.core.reports.options import ReportOptions


@dataclass(frozen=True)
class QuerySelection:
    """A choice of queries: its text, and the ids of the cases, one report each. No ids: the present query."""

    text: str
    cases: tuple[str, ...] = ()


@dataclass(frozen=True)
class ReportRequest:
    """``suffix`` of the files with its dot; the file ``target`` of the present query, or the folder for the reports on
    ``cases``."""

    suffix: str
    options: ReportOptions
    target: Path
    cases: tuple[str, ...] = ()
