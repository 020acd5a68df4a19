"""Commands to back up, restore and verify a library, and to show its export log."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import Any

from PySide6.QtCore import QObject, Qt, Signal
from PySide6.QtWidgets import (
    QWidget,
)
from shiboken6 import isValid

from semblance.app.library.list_panel import ListPanel
from semblance.app.shell import library_operations as libraries
from semblance.app.shell import plot_operations
from semblance.app.shell.context import Context
from semblance.app.shell.file_dialogs import choose_file, choose_target
from semblance.app.shell.jobs import WorkerPool
from semblance.app.shell.local_time import local_time
from semblance.app.shell.state import Change
from semblance.app.widgets.dialog import dialog_button
from semblance.app.widgets.labels import WrappedLabel
from semblance.core.language import format_number, tr, tr_n, tr_name, translate
from semblance.core.library.location import LibraryLocation, library_location
from semblance.core.library.records import SUFFIX
from semblance.core.limits import size_text
from semblance.core.workflows.library.audit_log import list_exports
from semblance.core.workflows.maintenance import backup, verify_library
from semblance.core.workflows.maintenance.backup import RestoreResult
from semblance.core.workflows.maintenance.verification_result import LibraryProblem, VerificationResult
from semblance.core.workflows.searches import index_candidates
from semblance.core.workflows.searches.index_candidates import IndexedMetric

_BACKUP = tr("Backup of a library (*.zip)")


class MaintenanceCommands(QObject):
    """Commands that open dialogs. ``parent`` is their parent. ``list_requested(name, panel)``: show a list beside the
    images."""

    list_requested = Signal(str, object)

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
            "update_indexes": self.update_indexes,
            "exports": self.show_exports,
        }

    def _name_outdated(self) -> None:
        """Say once which search indexes are out of date, and offer to update them."""
        library = self._context.state.library
        found = (None, ()) if library is None else (library.location, library.outdated_indexes)
        if found == self._named:
            return
        self._named = found
        if found[1] and self._context.state.can_edit:
            self._context.messages.info(
                tr("The search index of {names} is older than the features.", names=", ".join(found[1])),
                tr("Searches compare all cases until it is updated."),
                [(tr("Update"), self.update_indexes)],
                topic="outdated indexes",
                library=found[0],
            )

    def back_up(self) -> None:
        """Choose a file and back up the open library into it."""
        context, library = self._context, self._context.state.library
        if library is None:
            return
        name = tr("{name} backup", name=library.name) + ".zip"
        file, _ = choose_target(self._parent, tr("Back up this library"), name, _BACKUP)
        if not file:
            return
        job = context.jobs.run(
            tr("Backing up {name}", name=library.location.name), backup.back_up, library.location, file
        )

        def show(summary: dict[str, Any]) -> None:
            size = size_text(summary["bytes"])
            if summary["missing"]:
                context.messages.warning(
                    tr(
                        "Saved {name} ({size}). {missing:,} files of the library are missing and not included.",
                        name=file.name,
                        size=size,
                        missing=len(summary["missing"]),
                    ),
                    tr("File > Verify library… names them."),
                )
            else:
                context.messages.info(
                    tr("Saved and checked {name} ({size}), without images.", name=file.name, size=size)
                )

        context.follow(job, show)

    def restore(self) -> None:
        """Choose a backup and a new name, restore the backup and open it."""
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
        if not library:
            return
        context = self._context
        job = context.jobs.run(tr("Restoring {name}", name=chosen.name), backup.restore, chosen, library)

        def show(result: RestoreResult) -> None:
            if result.missing:
                context.messages.warning(
                    tr("{missing:,} image files are not at their path.", missing=result.missing),
                    tr("Choose File > Find moved images… to find them."),
                )
            libraries.open_library(context, library_location(result.library))

        context.follow(job, show)

    def update_indexes(self) -> None:
        """Build or update the search indexes of the open library on its server, and show what was measured."""
        context, path = self._context, self._context.state.location
        if path is None:
            return
        job = context.jobs.run(
            tr("Updating the search indexes"),
            index_candidates.index_candidates,
            path,
            channel=f"index {path}",
        )

        def show(done: list[IndexedMetric]) -> None:
            lines = [
                tr("{metric}: all cases are compared. {why}", metric=one.metric, why=translate(one.none))
                if one.candidates is None
                else tr(
                    "{metric}: {candidates} candidates contain {recall} of the 20 nearest.",
                    metric=one.metric,
                    candidates=format_number(one.candidates, ","),
                    recall=format_number(one.recall or 0.0, ".1%"),
                )
                for one in done
            ]
            context.messages.info(
                tr_n("{n} search index was updated.", "{n} search indexes were updated.", len(done)),
                " ".join(lines),
            )
            if context.state.location == path:
                libraries.renew(context)

        context.follow(job, show)

    def show_exports(self) -> None:
        """Show what was exported from the open library, by whom and when."""
        context, library = self._context, self._context.state.location
        if library is None:
            return

        def save(path: Path, text: str) -> None:
            plot_operations.save_scores(context, path, text, what="list of exports")

        def show(exports: list[dict[str, Any]]) -> None:
            if context.state.location == library:
                self.list_requested.emit("exports", ExportLogPanel(exports, save))

        job = context.jobs.run(
            tr("Reading the export log"),
            list_exports,
            library,
            channel="exports",
            quiet=True,
            pool=WorkerPool.READ,
        )
        job.done.connect(show)
        job.failed.connect(context.messages.error)

    def verify(self) -> VerifyPanel | None:
        """Verify the open library and show the result. Its button repairs the library."""
        context, library = self._context, self._context.state.location
        if library is None:
            return None

        def save(path: Path, text: str) -> None:
            # Its paths may contain patients' names.
            plot_operations.save_scores(context, path, text, what="list of a check", identified=True)

        dialog = VerifyPanel(save)

        def show(result: VerificationResult) -> None:
            if isValid(dialog):
                dialog.show_result(result, writable=context.state.can_edit)

        def fail(*_: object) -> None:
            if isValid(dialog):
                dialog.fail()

        def start(repair: bool) -> None:
            name = library.name
            title = tr("Repairing {name}", name=name) if repair else tr("Verifying {name}", name=name)
            job = context.jobs.run(
                title, verify_library.verify_library, library, repair=repair, channel="check"
            )

            def read_again_and_show(result: VerificationResult) -> None:
                if repair and context.state.location == library:
                    libraries.renew(context)
                show(result)

            context.follow(job, read_again_and_show)
            job.failed.connect(fail)
            job.cancelled.connect(fail)

        dialog.repair_requested.connect(lambda: start(True))
        start(False)
        self.list_requested.emit("check", dialog)
        return dialog


class VerifyPanel(ListPanel):
    """The problems of a library, each with its remedy or what was repaired. ``repair_requested``."""

    repair_requested = Signal()

    columns = (tr("Part"), tr("Found"), tr("What to do"))
    widths = (100, 360)
    list_name = tr("Findings")

    def __init__(self, save: Callable[[Path, str], object]) -> None:
        super().__init__(save)
        self._result: VerificationResult | None = None
        self.summary.setText(tr("Verifying…"))
        self.usable = WrappedLabel(role="second")
        self.repair_button = dialog_button(tr("Repair"), self._request_repair)
        self.complete(self.repair_button, below=[self.usable])
        self._enable(writable=False)

    def show_result(self, result: VerificationResult, *, writable: bool) -> None:
        """Show the result of a verification or repair. *Repair* needs a ``writable`` library."""
        self._result = result
        damaged = len(result.unrepaired_problems)
        if damaged:
            summary = tr_n("{n} thing is damaged or missing.", "{n} things are damaged or missing.", damaged)
        elif result.findings:
            summary = tr("No data is lost. The list says what to do.")
        else:
            summary = tr("No problems were found.")
        moved = (
            " " + tr("Damaged files are stored in {folder}.", folder=result.moved_to)
            if result.moved_to
            else ""
        )
        self.summary.setText(f"{summary} {tr('Checked: {what}.', what=translate(result.counted))}{moved}")
        self.usable.setText(tr("Can be used: {what}", what=" ".join(map(translate, result.works))))
        top_left = Qt.AlignmentFlag.AlignLeft | Qt.AlignmentFlag.AlignTop
        self.table.fill([_problem_cells(problem) for problem in result.findings], top_left)
        self.table.resizeRowsToContents()
        self._enable(writable=writable)

    def fail(self) -> None:
        """Show that the library could not be verified. A message says why."""
        self.summary.setText(tr("The library could not be verified."))
        self._enable(writable=False)

    def _enable(self, *, writable: bool) -> None:
        problems = self._result.findings if self._result is not None else []
        self.repair_button.setEnabled(writable and any(not problem.repaired for problem in problems))
        self.save_button.setEnabled(bool(problems))

    def _request_repair(self) -> None:
        self.summary.setText(tr("Repairing…"))
        self.repair_button.setEnabled(False)
        self.repair_requested.emit()

    def list_to_save(self) -> tuple[str, Sequence[str], Sequence[Sequence[str]]]:
        findings = self._result.findings if self._result is not None else []
        rows = [(*_problem_cells(problem), " ".join(problem.files)) for problem in findings]
        return "check.csv", (*self.columns, tr("Files")), rows


def _problem_cells(problem: LibraryProblem) -> tuple[str, str, str]:
    return (
        tr_name(problem.part),
        translate(problem.says),
        tr("Done: {what}", what=problem.repaired) if problem.repaired else translate(problem.remedy),
    )


class ExportLogPanel(ListPanel):
    """The exports, the newest first. Rows can be copied."""

    list_name = tr("Export log")
    columns = (tr("When"), tr("By"), tr("What"), tr("Kind of file"), tr("Files"), tr("Patients"))
    widths = (150, 100, 150, 150, 60)

    def __init__(self, exports: Sequence[Mapping[str, Any]], save: Callable[[Path, str], object]) -> None:
        """``exports`` come from :func:`semblance.core.workflows.library.audit_log.list_exports`."""
        super().__init__(save)
        self._rows = [_export_cells(export) for export in reversed(exports)]
        count = tr_n("{n} export", "{n} exports", len(exports))
        self.summary.setText(
            tr("{exports}, newest first. File names are not logged.", exports=count)
            if exports
            else tr("Nothing has been exported from this library.")
        )
        self.table.fill(self._rows)
        self.copy_button = dialog_button(
            tr("Copy"), self.table.copy, tr("Copy the selected rows, or all rows (Ctrl+C)")
        )
        for button in (self.copy_button, self.save_button):
            button.setEnabled(bool(exports))
        self.complete(self.copy_button)

    def list_to_save(self) -> tuple[str, Sequence[str], Sequence[Sequence[str]]]:
        return "exports.csv", self.columns, self._rows


def _export_cells(export: Mapping[str, Any]) -> tuple[str, ...]:
    return (
        local_time(export["time"], seconds=True),
        export["by"],
        _EXPORT_NAMES.get(export["what"], export["what"]),
        export["kind"],
        str(export["files"]),
        tr("identifiable") if export["identified"] else tr("de-identified"),
    )


#: Kind of export in the log -> its name on screen.
_EXPORT_NAMES = {
    "backup": tr("Backup"),
    "damaged line": tr("Damaged line"),
    "de-identified images": tr("De-identified images"),
    "experiment": tr("Experiment"),
    "images": tr("Images"),
    "list of a check": tr("List of a check"),
    "list of exports": tr("Export log"),
    "list of files not read": tr("List of files that could not be read"),
    "metric": tr("Metric"),
    "metric card": tr("Metric card"),
    "plots": tr("Plots"),
    "report": tr("Report"),
    "reports": tr("Reports"),
    "scores": tr("Scores"),
}
