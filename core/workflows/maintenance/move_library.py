"""Move a library from a folder to a server, or back: copied, compared, and only then removed where it was."""

from __future__ import annotations

import shutil
from dataclasses import dataclass
from pathlib import Path

from semblance.core.errors import BadArguments, BadInput, SemblanceError
from semblance.core.files import is_taken, move_into_place, remove_unfinished, unfinished_name
from semblance.core.json_document import JsonDocument
from semblance.core.language import tr_lazy
from semblance.core.library.location import LibraryLocation, ServerAddress
from semblance.core.library.open_library import open_library, open_or_create_library
from semblance.core.library.records import LIBRARY_ENTRIES
from semblance.core.tasks import SILENT, Reporter


@dataclass(frozen=True)
class MoveResult(JsonDocument):
    """What was copied from ``source`` to ``target``, equal by SHA-256, and whether ``source`` was ``removed`` then."""

    source: str
    target: str
    rows: int
    files: int
    thumbnails: int
    removed: bool


def move_library(
    source: LibraryLocation, target: LibraryLocation, *, remove: bool = False, reporter: Reporter = SILENT
) -> MoveResult:
    """Copy the library ``source`` to ``target``, a new folder or an empty database, and compare both.

    Images stay where they are. ``remove``: then remove ``source``, unless it was changed meanwhile.

    Raises:
        BadArguments: both are the same place.
        BadInput: ``source`` is no library, or ``target`` holds something already.
        SemblanceError: one of them cannot be used, or ``source`` was changed, so that it was not removed.
        Cancelled: the reporter was cancelled; nothing is left of ``target`` then.
    """
    from semblance.core.library.copy_library import copy_library, digests

    if source.absolute() == target.absolute():
        raise BadArguments("The library is there already.", "Name another place.")
    with open_library(source, writable=True if remove else None) as reading:
        if isinstance(target, ServerAddress):
            with open_or_create_library(target) as writing:
                copied = copy_library(reading, writing, reporter)
        else:
            target = target.absolute()
            if is_taken(target):
                raise BadInput(
                    tr_lazy("{path} exists already.", path=target),
                    "Choose a new name. A copy never replaces a library.",
                )
            remove_unfinished(target)
            unfinished = unfinished_name(target)
            try:
                with open_or_create_library(unfinished) as writing:
                    copied = copy_library(reading, writing, reporter)
                if target.exists():
                    target.rmdir()
                move_into_place(unfinished, target)
            finally:
                shutil.rmtree(unfinished, ignore_errors=True)
        if remove:
            with reading.removal() as connection:
                if digests(reading, connection) != copied.digests:
                    raise SemblanceError(
                        tr_lazy(
                            "{source} was changed while it was copied, so it was not removed.", source=source
                        ),
                        "Remove the copy and move the library again.",
                    )
    if remove and isinstance(source, Path):
        for name in LIBRARY_ENTRIES:
            entry = source / name
            shutil.rmtree(entry) if entry.is_dir() else entry.unlink(missing_ok=True)
            for end in ("-wal", "-shm"):
                entry.with_name(entry.name + end).unlink(missing_ok=True)
        if not any(source.iterdir()):
            source.rmdir()
    return MoveResult(str(source), str(target), copied.rows, copied.files, copied.thumbnails, remove)
