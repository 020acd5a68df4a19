"""List and log the exports of a library."""

from __future__ import annotations

from typing import Any

from semblance.core.errors import BadArguments
from semblance.core.library.audit import AuditCheck
from semblance.core.library.export_log import LISTED, log_export, read_exports
from semblance.core.library.location import LibraryLocation, ServerAddress
from semblance.core.library.open_library import open_library
from semblance.core.tasks import SILENT, Reporter


def list_exports(library: LibraryLocation, *, reporter: Reporter = SILENT) -> list[dict[str, Any]]:
    """The logged exports, oldest first: time, by, what, kind, identified, files. ``by`` may be empty.

    Raises:
        BadInput: not a library.
        SemblanceError: its log cannot be read.
    """
    with open_library(library) as opened:
        return [dict(line) for line in read_exports(opened.location)]


def list_audit(library: LibraryLocation, *, count: int = LISTED) -> list[dict[str, Any]]:
    """The last ``count`` entries of the audit log of a library on a server, oldest first: number, time, by, action and
    detail.

    Raises:
        BadInput: not a library.
        BadArguments: it is in a folder.
        SemblanceError: the user may not read the log.
    """
    if not isinstance(library, ServerAddress):
        raise BadArguments("The log of a library in a folder has exports alone. List them without --all.")
    with open_library(library) as opened:
        return [entry.to_json() for entry in opened.audit_entries(count)]


def check_audit(library: LibraryLocation, since: str = "") -> AuditCheck:
    """Check the chain of hashes of the log; ``since``: the hash that an earlier check gave, empty for none.

    Raises:
        BadInput: not a library.
        SemblanceError: the log cannot be read.
    """
    with open_library(library) as opened, opened.catalogue.errors():
        return opened.check_audit(since.strip().lower())


def audit_head(library: LibraryLocation) -> dict[str, Any]:
    """The number and the hash of the last entry of the log, to be noted elsewhere.

    Raises:
        BadInput: not a library.
        BadArguments: it is a project.
        SemblanceError: the log cannot be read.
    """
    with open_library(library) as opened, opened.catalogue.errors():
        return dict(vars(opened.audit_head()))


def log_window_export(library: LibraryLocation, what: str, kind: str, *, reporter: Reporter = SILENT) -> None:
    """Log an export that the window wrote itself; see :func:`semblance.core.library.export_log.log_export`."""
    log_export(library, what, kind)
