"""Undo and redo the edits of a library, and list them."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from semblance.core.language import tr_lazy_n
from semblance.core.library.location import LibraryLocation
from semblance.core.library.open_library import open_library
from semblance.core.library.records import Edit, Reversal
from semblance.core.tasks import SILENT, Reporter
from semblance.core.workflows.library.edit_kinds import describe_edit


@dataclass(frozen=True)
class EditHistory:
    """The edits, oldest first, and the size of the files of deleted feature sets and metrics in bytes."""

    edits: tuple[Edit, ...]
    deleted_bytes: int

    def to_json(self) -> dict[str, Any]:
        """As ``semblance history --json`` prints it."""
        return {"edits": [edit_json(edit) for edit in self.edits], "deleted_bytes": self.deleted_bytes}


def undo(
    library: LibraryLocation, edit: int | None = None, *, reporter: Reporter = SILENT
) -> Reversal | None:
    """Undo the newest edit in force, or the one with the id ``edit``; ``None`` where there is none.

    Raises:
        SemblanceError: the library cannot be written to, or a deleted file no longer exists.
    """
    from semblance.core.library.edit_log import undo_edit

    with open_library(library, writable=True) as opened:
        return undo_edit(opened, edit)


def redo(library: LibraryLocation, *, reporter: Reporter = SILENT) -> Reversal | None:
    """Redo the edit that was undone last; ``None`` where there is none.

    Raises:
        SemblanceError: the library cannot be written to, or a deleted file no longer exists.
    """
    from semblance.core.library.edit_log import redo_edit

    with open_library(library, writable=True) as opened:
        return redo_edit(opened)


def read_history(library: LibraryLocation, *, reporter: Reporter = SILENT) -> EditHistory:
    """
    Raises:
        BadInput: the library cannot be read.
    """
    from semblance.core.library.edit_log import deleted_bytes, read_edits

    with open_library(library) as opened:
        return EditHistory(tuple(read_edits(opened)), deleted_bytes(opened))


def forget_deleted(library: LibraryLocation, *, reporter: Reporter = SILENT) -> int:
    """Remove the files of deleted feature sets and metrics for good; the bytes that became free."""
    from semblance.core.library import edit_log

    with open_library(library, writable=True) as opened:
        return edit_log.forget_deleted(opened)


def skipped_text(skipped: int) -> str:
    """A text on what undoing or redoing did not change; empty for nothing."""
    if not skipped:
        return ""
    return tr_lazy_n(
        "{n} part was changed meanwhile and stays as it is.",
        "{n} parts were changed meanwhile and stay as they are.",
        skipped,
    )


def edit_json(edit: Edit) -> dict[str, Any]:
    """An edit as the commands print it with ``--json``."""
    return {
        "id": edit.id,
        "edit": edit.kind,
        "description": str(describe_edit(edit.kind, edit.summary)),
        "author": edit.author,
        "time": edit.time,
        "undone": edit.undone,
    }
