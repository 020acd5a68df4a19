"""The log of a library's exports: one line for each export, with its author and without patient data."""

from __future__ import annotations

import json
import os
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from semblance.core.errors import SemblanceError
from semblance.core.language import tr_lazy
from semblance.core.library.audit import EXPORT
from semblance.core.library.location import LibraryLocation, ServerAddress
from semblance.core.library.open_library import open_library
from semblance.core.library.records import CATALOGUE, EXPORTS, account, now

FILE = EXPORTS
#: Number of the newest exports that are listed at most.
LISTED = 10_000
_MAX_BYTES = 64 << 20


def log_export(
    library: LibraryLocation | None, what: str, kind: str, *, identified: bool = False, files: int = 1
) -> None:
    """Add a line to the log of ``library``: when and by which account of this machine ``what`` was exported, as
    which ``kind`` of file, and whether it was ``identified``. File names are left out, because they often
    contain patients' names.

    Nothing is logged for a library that can only be read, or without a library (``None``).

    Raises:
        SemblanceError: the file was exported, but the log could not be written.
    """
    if library is None or (isinstance(library, Path) and not _can_be_logged(library)):
        return
    line: dict[str, Any] = {"what": what, "kind": kind.lstrip("."), "identified": identified, "files": files}
    if isinstance(library, ServerAddress):
        with open_library(library) as opened:
            opened.log_event(EXPORT, line)
        return
    from semblance.core.library.database import connect, transaction
    from semblance.core.library.export_chain import append_exports

    line = {"time": now(), "by": account(), **line}
    # The lock of its writers, whatever its version is. No row of the catalogue is written.
    engine = connect(library / CATALOGUE, writable=True)
    try:
        with transaction(engine, library / CATALOGUE) as connection:
            append_exports(connection, library, [json.dumps(line, ensure_ascii=False)])
    except SemblanceError as error:
        raise SemblanceError(
            tr_lazy(
                "The file was exported, but the export could not be logged in {file}: {reason}",
                file=library / FILE,
                reason=error.message,
            ),
            error.hint,
        ) from error
    finally:
        engine.dispose()


def _can_be_logged(library: Path) -> bool:
    written = [library, *(file for file in (library / FILE, library / CATALOGUE) if file.exists())]
    return (library / CATALOGUE).is_file() and all(os.access(file, os.W_OK) for file in written)


def read_exports(library: LibraryLocation) -> list[Mapping[str, Any]]:
    """The logged exports, oldest first; lines that cannot be read are reported as damaged.

    Raises:
        SemblanceError: the log cannot be read.
    """
    if isinstance(library, ServerAddress):
        with open_library(library) as opened:
            return [_entry(line.encode()) for line in opened.exports(LISTED)]
    file = library / FILE
    try:
        if not file.exists():
            return []
        with file.open("rb") as opened:
            opened.seek(max(0, file.stat().st_size - _MAX_BYTES))
            lines = opened.read(_MAX_BYTES).splitlines()
    except OSError as error:
        raise SemblanceError(
            tr_lazy("{file} cannot be read: {reason}.", file=file, reason=error.strerror or error),
            "Check the permissions of the library.",
        ) from error
    return [_entry(line) for line in lines[-LISTED:] if line.strip()]


def _entry(line: bytes) -> Mapping[str, Any]:
    try:
        found = json.loads(line)
        return {
            "time": str(found["time"]),
            "by": str(found.get("by", "")),
            "what": str(found["what"]),
            "kind": str(found["kind"]),
            "identified": bool(found["identified"]),
            "files": int(found.get("files", 1)),
        }
    except (ValueError, KeyError, TypeError, RecursionError):
        return {"time": "", "by": "", "what": "damaged line", "kind": "", "identified": False, "files": 0}
