"""Commands to create a report, to open a report as a search, and to de-identify DICOM files."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np
from PySide6.QtCore import QObject, Signal
from PySide6.QtWidgets import QWidget

from semblance.app.shell import file_dialogs, search_operations
from semblance.app.shell.context import Context
from semblance.app.shell.file_dialogs import choose_file
from semblance.app.shell.jobs import Job
from semblance.app.widgets.dialog import bring_to_front
from semblance.core.language import tr
from semblance.core.reports.options import ReportOptions
from semblance.core.searches.search import Search
from semblance.core.workflows.reports import embedded_search

if TYPE_CHECKING:
    from semblance.app.reports.deidentify_dialog import DeidentifyDialog
    from semblance.app.reports.report_dialog import ReportRequest
    from semblance.core.workflows.reports.write_reports import BatchResult


class ReportCommands(QObject):
    """Commands that open dialogs. ``parent`` is their parent. ``shown_case_ids()`` returns the ids of the cases in
    the library's list, ``exported_cases()`` the choices of cases whose images are exported.
    ``help_requested(page)``."""

    help_requested = Signal(str)

    def __init__(
        self,
        context: Context,
        parent: QWidget,
        shown_case_ids: Callable[[], list[str]],
        exported_cases: Callable[[], Mapping[str, Sequence[str]]] = dict,
    ) -> None:
        super().__init__(parent)
        self._exported_cases = exported_cases
        self._context, self._parent = context, parent
        self._shown_case_ids = shown_case_ids
        self.commands: dict[str, Callable[[], object]] = {
            "report": self.create_report,
            "open_report": self.open_report,
            "deidentify": self.show_deidentify,
            "export_images": self.export_images,
        }

    def create_report(self) -> None:
        """Choose format and contents beside a preview, and save the report."""
        from semblance.app.reports.report_dialog import ReportDialog, query_selections

        state, source = self._context.state, self._context.state.source
        if source is None or state.metric is None:
            return
        held_out = np.flatnonzero(~np.isin(state.columns.case_row, state.metric.training))
        dialog = ReportDialog(
            self._context,
            query_selections(
                source.label(state.columns),
                self._shown_case_ids(),
                [state.columns.ids[index] for index in held_out.tolist()],
            ),
            self._parent,
        )
        dialog.accepted.connect(lambda: self._write(dialog.request))
        dialog.finished.connect(dialog.deleteLater)
        dialog.open()

    def _write(self, request: ReportRequest | None) -> None:
        if request is None:
            return
        if request.cases:
            write_reports(self._context, request.target, request.cases, request.suffix, request.options)
        else:
            write_report(self._context, request.target, request.options)

    def export_images(self) -> None:
        """Choose cases, format and folder, and export the images."""
        from semblance.app.reports.export_images_dialog import ExportImagesDialog

        choices = {text: cases for text, cases in self._exported_cases().items() if cases}
        dialog = ExportImagesDialog(self._context, choices, self._parent)
        dialog.finished.connect(dialog.deleteLater)
        dialog.open()

    def show_deidentify(self) -> DeidentifyDialog:
        """Open the dialog that de-identifies DICOM files, or bring it to the front while it works."""
        from semblance.app.reports.deidentify_dialog import DeidentifyDialog

        dialog = self._parent.findChild(DeidentifyDialog)
        if dialog is not None and not dialog.isVisible() and not dialog.is_running:
            # A new one offers what is open now.
            dialog.setParent(None)
            dialog.deleteLater()
            dialog = None
        if dialog is None:
            dialog = DeidentifyDialog(self._context, self._parent)
            dialog.help_requested.connect(partial(self.help_requested.emit, "deidentification"))
        bring_to_front(dialog)
        return dialog

    def open_report(self) -> None:
        """Choose a JSON report and open its search."""
        if file := choose_file(self._parent, tr("Open a report"), tr("Report (*.json *.dcm)")):
            reopen_search(self._context, file)


def write_report(context: Context, path: Path, options: ReportOptions | None = None) -> Job | None:
    """Write a report of the present ranking to ``path``. It is de-identified unless ``options`` say otherwise."""
    from semblance.core.workflows.reports.write_reports import write_report_files

    state = context.state
    if state.location is None or state.search is None:
        return None
    job = context.jobs.run(
        tr("Writing {name}", name=path.name),
        write_report_files,
        state.location,
        state.search,
        path,
        options,
        window_level=state.window_level,
    )
    return file_dialogs.report_saved_file(
        context, job, path, can_be_opened=path.suffix in (".pdf", ".html", ".csv")
    )


def write_reports(
    context: Context, folder: Path, cases: Sequence[str], kind: str, options: ReportOptions | None = None
) -> Job | None:
    """Write a report for each of ``cases``, with the metric and options of the present search."""
    from semblance.core.workflows.reports.write_reports import write_reports as write

    state = context.state
    if state.location is None or state.search is None:
        return None
    job = context.jobs.run(
        tr("Writing reports into {name}", name=folder.name),
        write,
        state.location,
        state.search,
        list(cases),
        folder,
        kind,
        options,
    )

    def show_summary(result: BatchResult) -> None:
        summary = tr("{reports:,} reports are in {folder}.", reports=len(result.files), folder=folder)
        failed = tr(
            "{summary} {failed:,} cases could not be used as queries.",
            summary=summary,
            failed=len(result.failed),
        )
        file_dialogs.report_failures(context, failed, result.failed)
        if not result.failed:
            context.messages.info(summary)

    return context.follow(job, show_summary)


def reopen_search(context: Context, report: Path) -> Job | None:
    """Show the search that a JSON report was made from."""
    state = context.state
    path = state.location
    if path is None:
        return None
    job = context.jobs.run(
        tr("Opening {name}", name=report.name), embedded_search.reopen_report, path, report, channel="reopen"
    )

    def show(search: Search) -> None:
        state.restore_search(search)
        search_operations.rank(context)

    return context.follow(job, show, library=path)
