"""The dialog with all running jobs, their progress, and buttons to end them."""

from __future__ import annotations

from PySide6.QtCore import Qt, QTimer
from PySide6.QtWidgets import QLabel, QWidget

from semblance.app.shell.context import Context
from semblance.app.shell.jobs import Job
from semblance.app.shell.theme import set_look, theme
from semblance.app.widgets.dialog import Dialog, dialog_layout
from semblance.app.widgets.progress_line import ProgressLine
from semblance.core.language import tr


class JobsDialog(Dialog):
    """A list of the running jobs, always up to date."""

    def __init__(self, context: Context, parent: QWidget | None = None) -> None:
        super().__init__(parent)
        self.setWindowTitle(tr("Jobs"))
        self.setAttribute(Qt.WidgetAttribute.WA_DeleteOnClose)
        self.setMinimumWidth(theme().px(460))
        self._jobs = context.jobs
        self._lines: dict[Job, ProgressLine] = {}
        self._none = QLabel(tr("No jobs running"))
        set_look(self._none, role="second")
        self._column = dialog_layout(self)
        self._column.addWidget(self._none)
        self._column.addStretch(1)
        for job in self._jobs.listed:
            self._add(job)
        self._jobs.added.connect(self._add)
        self._jobs.removed.connect(self._remove)
        self._tick = QTimer(self)
        self._tick.setInterval(250)
        self._tick.timeout.connect(self._renew)
        self._tick.start()
        self._renew()

    def _add(self, job: Job) -> None:
        line = ProgressLine(job.title, can_stop=job.can_stop)
        line.cancel_requested.connect(job.cancel)
        line.stop_requested.connect(job.stop)
        self._lines[job] = line
        self._column.insertWidget(self._column.count() - 1, line)
        self._renew()

    def _remove(self, job: Job) -> None:
        line = self._lines.pop(job, None)
        if line is not None:
            line.deleteLater()
        self._renew()

    def _renew(self) -> None:
        self._none.setVisible(not self._lines)
        for job, line in self._lines.items():
            line.set_progress(job.fraction, job.seconds_left)
