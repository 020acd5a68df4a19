"""The dialog *Send to PACS*: the report of the present search, or the DICOM files of selected cases."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable

from PySide6.QtCore import Signal
from PySide6.QtWidgets import QCheckBox, QComboBox, QWidget

from semblance.app.network.server_dialog import ServerComboBox
from semblance.app.shell.context import Context
from semblance.app.shell.jobs import Job, WorkerPool
from semblance.app.shell.state import Change
from semblance.app.widgets.dialog import (
    Dialog,
    accept_button,
    add_action_rows,
    dialog_button,
    dialog_layout,
    form,
    help_button,
    resize_dialog,
)
from semblance.app.widgets.fields import NoWheelComboBox
from semblance.app.widgets.labels import WrappedLabel
from semblance.app.widgets.layouts import hbox
from semblance.app.widgets.message_lines import ErrorLine
from semblance.app.widgets.progress_line import ProgressLine
from semblance.app.widgets.tab_order import enable_widgets
from semblance.core.errors import SemblanceError
from semblance.core.language import tr, tr_n, translate
from semblance.core.library.case_columns import Rows
from semblance.core.network.sending import SentFiles
from semblance.core.network.servers import DIMSE
from semblance.core.reports.options import ReportOptions
from semblance.core.workflows.network import send_results

_SIZE = (640, 420)
REPORT, CASES = "report", "cases"
#: Reasons that are listed.
_MOST_LISTED = 5


class SendDialog(Dialog):
    """Nothing is connected before *Send*. ``help_requested`` · ``servers_requested``: to add or change one."""

    help_requested = Signal()
    servers_requested = Signal()

    def __init__(
        self, context: Context, selected_cases: Callable[[], Rows], parent: QWidget | None = None
    ) -> None:
        super().__init__(parent)
        self._context = context
        self._selected_cases = selected_cases
        self._rows: list[int] = []
        self._job: Job | None = None
        self.setWindowTitle(tr("Send to PACS"))
        resize_dialog(self, *_SIZE)
        self.what: QComboBox = NoWheelComboBox()
        self.what.setAccessibleName(tr("What to send"))
        self.what.currentIndexChanged.connect(lambda _: self._update())
        self.server_box = ServerComboBox(context.settings)
        self.server_box.chosen.connect(self._update)
        self.servers_button = dialog_button(tr("Servers…"), self.servers_requested.emit)
        self.commit = QCheckBox(tr("Ask the PACS to promise that it keeps them (storage commitment)"))
        self.contents = WrappedLabel(role="second")
        self.note = WrappedLabel(selectable=True)
        self.error = ErrorLine()
        self.progress = ProgressLine()
        self.progress.cancel_requested.connect(self.cancel)
        self.send_button = accept_button(tr("Send"))
        self.send_button.clicked.connect(lambda _=False: self.send())
        self._make_layout()
        context.state.on_change(Change.LIBRARY | Change.RANKING | Change.QUERY, self, self._update)

    def _make_layout(self) -> None:
        server = hbox(spacing=8)
        server.addWidget(self.server_box, 1)
        server.addWidget(self.servers_button)
        rows = form()
        rows.addRow(tr("What to send"), self.what)
        rows.addRow("", self.contents)
        rows.addRow(tr("Server"), server)
        rows.addRow("", self.commit)
        layout = dialog_layout(self)
        layout.addLayout(rows)
        layout.addStretch(1)
        layout.addWidget(self.note)
        layout.addWidget(self.error)
        layout.addWidget(self.progress)
        add_action_rows(layout, self, self.send_button, help_button(self, self.help_requested.emit))

    def load(self) -> None:
        """Offer what can be sent now, and the saved servers."""
        self._rows = self._selected_cases().tolist()
        self.what.blockSignals(True)
        self.what.clear()
        if self._context.state.ranking is not None:
            self.what.addItem(tr("The report of this search"), REPORT)
        if self._rows:
            count = len(self._rows)
            self.what.addItem(
                tr_n("The DICOM files of {n} selected case", "The DICOM files of {n} selected cases", count),
                CASES,
            )
        self.what.blockSignals(False)
        self.note.setText("")
        self.load_servers()

    @property
    def is_running(self) -> bool:
        """Whether something is being sent."""
        return self._job is not None

    def load_servers(self) -> None:
        """Offer the saved servers."""
        if self._job is not None:
            return
        self.error.set_error(None)
        try:
            self.server_box.load()
        except SemblanceError as error:
            error.message, error.hint = translate(error.message), translate(error.hint)
            self.error.set_error(error)

    def send(self) -> None:
        """Send what is chosen to the chosen server."""
        state, server = self._context.state, self.server_box.server()
        if server is None or state.location is None or self._job is not None:
            return
        commit = server.kind == DIMSE and self.commit.isChecked()
        title = tr("Sending to {name}", name=server.name)
        run = self._context.jobs.run
        if self.what.currentData() == CASES:
            job = run(
                title,
                send_results.send_cases,
                server,
                state.location,
                self._rows,
                commit=commit,
                pool=WorkerPool.NETWORK,
                channel="pacs send",
            )
        elif state.search is not None:
            clinic = self._context.settings.text("report_clinic")
            options = ReportOptions(
                clinic=clinic,
                identified=True,
                dicom="all",
                clean_pixels=self._context.settings.blacks_out_text,
            )
            job = run(
                title,
                send_results.send_report,
                server,
                state.location,
                state.search,
                options,
                commit=commit,
                pool=WorkerPool.NETWORK,
                channel="pacs send",
            )
        else:
            return
        self._job = job
        self.error.set_error(None)
        self.note.setText("")
        job.changed.connect(lambda: self.progress.show_job(job))
        job.done.connect(self._show_result)
        job.failed.connect(self.error.set_error)
        job.cancelled.connect(
            lambda: self.note.setText(tr("Cancelled. What was sent before is in the PACS."))
        )
        job.ended.connect(self._end)
        self.progress.show_job(job)
        self._update()

    def cancel(self) -> None:
        """Cancel what is being sent."""
        if self._job is not None:
            self._job.cancel()

    def _end(self) -> None:
        self._job = None
        self._update()

    def _show_result(self, result: SentFiles) -> None:
        lines = [tr_n("{n} object was sent.", "{n} objects were sent.", len(result.sent))]
        if result.confirmed is not None:
            lines[0] += " " + tr("The PACS confirms {n}.", n=result.confirmed)
        for title, wrong in ((tr("Not sent"), result.failed), (tr("Not confirmed"), result.unconfirmed)):
            reasons = Counter(
                (str(one.get("object", "")).removesuffix(" Storage"), translate(one["reason"]))
                for one in wrong
            )
            lines += [
                " ".join((f"{title}:", f"{n:,} × {what}:" if what else f"{n:,} ×", reason))
                for (what, reason), n in reasons.most_common(_MOST_LISTED)
            ]
            rest = len(wrong) - sum(n for _, n in reasons.most_common(_MOST_LISTED))
            if rest:
                lines.append(
                    tr_n("{n} more was not sent or confirmed.", "{n} more were not sent or confirmed.", rest)
                )
        self.note.setText("\n".join(lines))
        self._update()

    def _update(self) -> None:
        server, running = self.server_box.server(), self._job is not None
        chosen = self.what.currentData()
        if chosen == CASES:
            text = tr("The files are sent as they are, with the patients' names in them.")
        elif chosen == REPORT:
            text = tr(
                "A structured report, key objects and a PDF go into the study of the query, with its patient's name. "
                "The similar cases are numbered and shown on one image, without names."
            )
            if self._context.settings.blacks_out_text:
                text += " " + tr("Text in images is blacked out.")
            else:
                text += " " + tr("Images that may contain text are left out of it.")
        else:
            text = tr("Search with a case, or select cases in the library, and open this window again.")
        self.contents.setText(text)
        self.commit.setVisible(server is not None and server.kind == DIMSE)
        self.note.setVisible(bool(self.note.text()))
        self.progress.setVisible(running)
        possible = chosen == CASES or (chosen == REPORT and self._context.state.search is not None)
        enable_widgets(
            {
                self.what: chosen is not None and not running,
                self.server_box: server is not None and not running,
                self.servers_button: not running,
                self.commit: not running,
                self.send_button: possible and server is not None and not running,
            }
        )
        reason = "" if server is not None else tr("Add a server first")
        self.send_button.setToolTip(reason or ("" if possible else text))
