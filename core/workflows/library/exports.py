"""List and log the exports of a library."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from semblance.core.library.export_log import log_export, read_exports
from semblance.core.library.open_library import open_library
from semblance.core.tasks import SILENT, Reporter


def list_exports(library: Path, *, reporter: Reporter = SILENT) -> list[dict[str, Any]]:
    """The logged exports, oldest first: time, by, what, kind, identified, files. ``by`` may be empty.

    Raises:
        BadInput: not a library.
        SemblanceError: its log cannot be read.
    """
    with open_library(library) as opened:
        return [dict(line) for line in read_exports(opened.path)]


def log_window_export(library: Path, what: str, kind: str, *, reporter: Reporter = SILENT) -> None:
    """Log an export that the window wrote itself; see :func:`semblance.core.library.export_log.log_export`."""
    log_export(library, what, kind)
