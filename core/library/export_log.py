"""The log of a library's exports: one line for each export, with its author and without patient data."""

from __future__ import annotations

import json
import os
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from semblance.core.errors import SemblanceError
from semblance.core.language import tr_lazy
from semblance.core.library.address import server_address
from semblance.core.library.open_library import open_library
from semblance.core.library.records import CATALOGUE, EXPORTS, account, now

FILE = EXPORTS
#: Number of the newest exports that are listed at most.
LISTED = 10_000
_MAX_BYTES = 64 << 20


def log_export(
    library: Path | None, what: str, kind: str, *, identified: bool = False, files: int = 1
) -> None:
    """Add a line to the log of ``library``: when and by which account of this machine ``what`` was exported, as
    which ``kind`` of file, and whether it was ``identified``. File names are left out, because they often
    contain patients' names.

    Nothing is logged for a library that can only be read, or without a library (``None``).

    Raises:
        SemblanceError: the file was exported, but the log could not be written.
    """
    if library is None:
        return
    on_server = server_address(library) is not None
    file = library / FILE
    if not on_server and (
        not (library / CATALOGUE).is_file() or not os.access(file if file.exists() else library, os.W_OK)
    ):
        return
    line: dict[str, Any] = {"time": now(), "by": account(), "what": what, "kind": kind.lstrip(".")}
    line |= {"identified": identified, "files": files}
    if on_server:
        with open_library(library) as opened:
            if opened.writable:
                with opened.catalogue.transaction() as connection:
                    opened.add_exports(connection, [json.dumps(line, ensure_ascii=False)])
        return
    try:
        # A single write of a short line is not interleaved with the line of another program.
        handle = os.open(file, os.O_WRONLY | os.O_CREAT | os.O_APPEND, 0o644)
        try:
            os.write(handle, (json.dumps(line, ensure_ascii=False) + "\n").encode())
            os.fsync(handle)
        finally:
            os.close(handle)
    except OSError as error:
        raise SemblanceError(
            tr_lazy(
                "The file was exported, but the export could not be logged in {file}: {reason}.",
                file=file,
                reason=error.strerror or error,
            ),
            "Free some space, or check the permissions of the library.",
        ) from error


def read_exports(library: Path) -> list[Mapping[str, Any]]:
    """The logged exports, oldest first; lines that cannot be read are reported as damaged.

    Raises:
        SemblanceError: the log cannot be read.
    """
    if server_address(library) is not None:
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
