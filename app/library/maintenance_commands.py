"""Commands to back up, restore and verify a library, and to show its export log."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

from PySide6.QtCore import QObject
from PySide6.QtWidgets import QWidget
from shiboken6 import isValid

from semblance.app.library import maintenance
from semblance.app.library.export_log_dialog import ExportLogDialog
from semblance.app.library.verify_dialog import VerifyDialog
from semblance.app.shell import plot_operations
from semblance.app.shell.context import Context
from semblance.app.shell.file_dialogs import choose_file, choose_target
from semblance.app.shell.state import Change
from semblance.core.language import tr
from semblance.core.library.location import LibraryLocation
from semblance.core.library.records import SUFFIX
from semblance.core.workflows.maintenance.problems import VerificationResult

_BACKUP = tr("Backup of a library (*.zip)")


class MaintenanceCommands(QObject):
    """Commands that open dialogs. ``parent`` is their parent."""

    def __init__(self, context: Context, parent: QWidget) -> None:
        super().__init__(parent)
        self._context, self._parent = context, parent
        #: The library and its outdated indexes that a message named last.
        self._named: tuple[LibraryLocation | None, tuple[str, ...]] = (None, ())
        context.state.on_change(Change.LIBRARY, self, self._name_outdated)
        self.commands: dict[str, Callable[[], object]] = {
            "back_up": self.back_up,
            "restore": self.restore,
            "check_library": self.verify,
            "update_indexes": lambda: maintenance.update_indexes(context),
            "exports": self.show_exports,
        }

    def _name_outdated(self) -> None:
        """Say once which search indexes are out of date, and offer to update them."""
        library = self._context.state.library
        found = (None, ()) if library is None else (library.path, library.outdated_indexes)
        if found == self._named:
            return
        self._named = found
        if found[1] and self._context.state.can_edit:
            self._context.messages.info(
                tr("The search index of {names} is older than the features.", names=", ".join(found[1])),
                tr("Searches compare all cases until it is updated."),
                [(tr("Update"), lambda: maintenance.update_indexes(self._context))],
                topic="outdated indexes",
                library=found[0],
            )

    def back_up(self) -> None:
        """Choose a file and back up the open library into it."""
        library = self._context.state.library
        if library is None:
            return
        name = tr("{name} backup", name=library.name) + ".zip"
        chosen, _ = choose_target(self._parent, tr("Back up this library"), name, _BACKUP)
        if chosen:
            maintenance.back_up(self._context, chosen)

    def restore(self) -> None:
        """Choose a backup and a new name, and restore the backup."""
        kinds = f"{_BACKUP};;{tr('All files (*)')}"
        chosen = choose_file(self._parent, tr("Restore a backup"), kinds)
        if not chosen:
            return
        proposed = chosen.stem.removesuffix(tr("{name} backup", name="")) + SUFFIX
        library, _ = choose_target(
            self._parent,
            tr("Name of the restored library (nothing is replaced)"),
            proposed,
            tr("Library (*{ending})", ending=SUFFIX),
        )
        if library:
            maintenance.restore(self._context, chosen, library)

    def show_exports(self) -> None:
        """Show what was exported from the open library, by whom and when."""

        def save(path: Path, text: str) -> None:
            plot_operations.save_scores(self._context, path, text, what="list of exports")

        def show(exports: list[dict[str, Any]]) -> None:
            dialog = ExportLogDialog(exports, save, self._parent)
            dialog.finished.connect(dialog.deleteLater)
            dialog.show()

        maintenance.read_exports(self._context, show)

    def verify(self) -> VerifyDialog | None:
        """Verify the open library and show the result."""
        library = self._context.state.library
        if library is None:
            return None

        def save(path: Path, text: str) -> None:
            # Its paths may contain patients' names.
            plot_operations.save_scores(self._context, path, text, what="list of a check", identified=True)

        dialog = VerifyDialog(save, self._parent)

        def show(result: VerificationResult) -> None:
            if isValid(dialog):
                dialog.show_result(result, writable=self._context.state.can_edit)

        def fail(*_: object) -> None:
            if isValid(dialog):
                dialog.fail()

        def start(repair: bool) -> None:
            job = maintenance.verify(self._context, show, repair=repair)
            if job is not None:
                job.failed.connect(fail)
                job.cancelled.connect(fail)

        dialog.repair_requested.connect(lambda: start(True))
        dialog.finished.connect(dialog.deleteLater)
        start(False)
        dialog.show()
        return dialog
