"""What the window's commands on backups and checks do."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Any

from PySide6.QtWidgets import QFileDialog
from shiboken6 import isValid

from semblance.app.library import maintenance
from semblance.app.library.export_log_dialog import ExportsDialog
from semblance.app.library.verify_dialog import CheckDialog
from semblance.app.shell import plot_operations
from semblance.core.language import tr
from semblance.core.library.records import SUFFIX
from semblance.core.workflows.maintenance.problems import VerificationResult

if TYPE_CHECKING:
    from semblance.app.window.main_window import MainWindow

_BACKUP = tr("Backup of a library (*.zip)")


def back_up(window: MainWindow) -> None:
    """Ask where to, and back the open library up."""
    library = window.state.library
    if library is None:
        return
    chosen, _ = QFileDialog.getSaveFileName(
        window, tr("Back up this library"), tr("{name} backup", name=library.name) + ".zip", _BACKUP
    )
    if chosen:
        maintenance.back_up(window.context, Path(chosen))


def restore(window: MainWindow) -> None:
    """Ask for a backup and a new name, and restore it."""
    chosen, _ = QFileDialog.getOpenFileName(
        window, tr("Restore a backup"), "", f"{_BACKUP};;{tr('All files (*)')}"
    )
    if not chosen:
        return
    wanted = Path(chosen).stem.removesuffix(tr("{name} backup", name="")) + SUFFIX
    library, _ = QFileDialog.getSaveFileName(
        window,
        tr("Name of the restored library (nothing is replaced)"),
        wanted,
        tr("Library (*{ending})", ending=SUFFIX),
    )
    if library:
        maintenance.restore(window.context, Path(chosen), Path(library))


def show_exports(window: MainWindow) -> None:
    """Show what was exported from the open library, by whom and when."""

    def save(path: Path, text: str) -> None:
        plot_operations.save_scores(window.context, path, text, what="list of exports")

    def show(lines: list[dict[str, Any]]) -> None:
        dialog = ExportsDialog(lines, save, window)
        dialog.finished.connect(dialog.deleteLater)
        dialog.show()

    maintenance.exports(window.context, show)


def check(window: MainWindow) -> CheckDialog | None:
    """Check the open library and show what is found."""
    library = window.state.library
    if library is None:
        return None

    def save(path: Path, text: str) -> None:
        # Its paths may be called after patients.
        plot_operations.save_scores(window.context, path, text, what="list of a check", identified=True)

    dialog = CheckDialog(save, window)

    def show(result: VerificationResult) -> None:
        if isValid(dialog):
            dialog.show_result(result, writable=library.writable)

    def fail(*_: object) -> None:
        if isValid(dialog):
            dialog.fail()

    def start(repair: bool) -> None:
        job = maintenance.check(window.context, show, repair=repair)
        if job is not None:
            job.failed.connect(fail)
            job.cancelled.connect(fail)

    dialog.repair_wanted.connect(lambda: start(True))
    dialog.finished.connect(dialog.deleteLater)
    start(False)
    dialog.show()
    return dialog
