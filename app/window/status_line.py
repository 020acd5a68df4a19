"""The status line: the open library, unreadable files and running jobs; and the dialog with all jobs."""

from __future__ import annotations

from PySide6.QtCore import Qt, QTimer, Signal
from PySide6.QtWidgets import QFrame, QLabel, QPushButton, QWidget

from semblance.app.shell.context import Context
from semblance.app.shell.event_loop import one_shot
from semblance.app.shell.icons import icon
from semblance.app.shell.jobs import SHOW_AFTER_MS, Job
from semblance.app.shell.local_time import local_time
from semblance.app.shell.state import Change
from semblance.app.shell.theme import plain_tip, set_look, theme, theme_signals
from semblance.app.widgets.dialog import Dialog, dialog_layout
from semblance.app.widgets.labels import ElidedLabel
from semblance.app.widgets.layouts import EDGE, ICON_INSET, fill, hbox
from semblance.app.widgets.panel import header_button
from semblance.app.widgets.progress_line import ProgressLine
from semblance.core.language import tr, tr_n
from semblance.core.library.location import ServerAddress

HEIGHT = 28
#: How long a message is shown.
MESSAGE_MS = 8000


class StatusLine(QFrame):
    """Counts on the left; the latest job with its progress, time left and cancel on the right."""

    unreadable_files_requested = Signal()
    jobs_requested = Signal()
    messages_requested = Signal()

    def __init__(self, context: Context) -> None:
        super().__init__()
        self._context, self._state = context, context.state
        set_look(self, role="bar")
        self.setAttribute(Qt.WidgetAttribute.WA_StyledBackground)
        self.counts = QLabel()
        set_look(self.counts, role="second")
        self.not_read = QPushButton()
        set_look(self.not_read, quiet=True)
        self.not_read.setIcon(icon("warning"))
        self.not_read.clicked.connect(self.unreadable_files_requested)
        self.where = ElidedLabel(role="small")
        self._message = ElidedLabel()
        self._clear_timer = one_shot(self, lambda: self._message.setText(""), MESSAGE_MS)
        self.jobs = JobStrip(context)
        self.jobs.list_requested.connect(self.jobs_requested)
        self.messages = header_button("messages", "")
        self.messages.clicked.connect(self.messages_requested)
        self.show_unread_messages(0)
        # The status bar of Qt has 2 px of its own.
        fill(
            hbox(self, spacing=16, margins=(EDGE - 2, 0, EDGE - ICON_INSET, 0)),
            self.counts,
            self.not_read,
            self.where,
            (self._message, 1),
            self.jobs,
            self.messages,
        )
        self._state.on_change(Change.CASES | Change.LIBRARY, self, self._renew)
        theme_signals.changed.connect(self._fit)
        self._fit()
        self._renew()

    def show_message(self, text: str) -> None:
        """Show a message for some seconds."""
        self._message.setText(text)
        self._clear_timer.start()

    def show_unread_messages(self, n: int) -> None:
        """Show that ``n`` messages were not read, on the button with the list of all."""
        self.messages.setIcon(icon("messages", off="accent" if n else "second"))
        unread = tr_n("{n} message not read", "{n} messages not read", n) if n else tr("all read")
        tip = self._context.actions.text_with_key(tr("Messages: {unread}", unread=unread), "go_messages")
        self.messages.setToolTip(tip)
        self.messages.setAccessibleName(tip)

    def _fit(self) -> None:
        self.setFixedHeight(theme().px(HEIGHT))

    def _renew(self) -> None:
        library = self._state.library
        if library is None:
            self.counts.setText(tr("Works offline. Images stay where they are."))
            self.not_read.hide()
            self.where.setText("")
            return
        patients = (
            tr_n("{n} patient", "{n} patients", library.patients)
            if library.patients
            else tr("unknown patients")
        )
        self.counts.setText(f"{tr_n('{n} case', '{n} cases', len(library.columns))}    {patients}")
        unusable = len(library.unusable_files)
        self.not_read.setVisible(bool(unusable))
        self.not_read.setText(tr_n("Could not read {n} file", "Could not read {n} files", unusable))
        address = library.location
        if isinstance(address, ServerAddress):
            names = {"name": address.title, "host": address.host, "right": library.right}
            if not self._state.server_problem:
                text = tr("{name} on {host} ({right})", **names)
            elif library.copied:
                text = tr(
                    "{name} on {host}: the server does not answer, read-only copy of {time}",
                    **names,
                    time=local_time(library.copied),
                )
            else:
                text = tr("{name} on {host}: the server does not answer, read-only", **names)
            self.where.setText(text)
            self.where.setToolTip(plain_tip(self._state.server_problem))
        else:
            self.where.setText(
                address.name if library.writable else tr("{name} (read-only)", name=address.name)
            )


class JobStrip(QWidget):
    """The job started last, and a button that lists all."""

    list_requested = Signal()

    def __init__(self, context: Context) -> None:
        super().__init__()
        self._jobs = context.jobs
        self._line: ProgressLine | None = None
        self._shown: Job | None = None
        self._idle = QLabel(tr("No jobs running"))
        set_look(self._idle, role="small")
        self._others = QPushButton()
        self._others.setToolTip(tr("All jobs"))
        set_look(self._others, quiet=True)
        self._others.clicked.connect(self.list_requested)
        self._row = fill(hbox(self, spacing=10), self._idle, self._others)
        self._tick = QTimer(self)
        self._tick.setInterval(250)
        self._tick.timeout.connect(self._renew)
        self._jobs.added.connect(self._added)
        self._jobs.removed.connect(lambda _job: self._renew())
        self._renew()

    def _added(self, _job: Job) -> None:
        QTimer.singleShot(SHOW_AFTER_MS, self, self._renew)
        self._tick.start()

    def _renew(self) -> None:
        shown = [job for job in self._jobs.listed if job.age_ms >= SHOW_AFTER_MS]
        job = shown[-1] if shown else None
        if job is not self._shown:
            self._show(job)
        if not self._jobs.listed:
            self._tick.stop()
        self._idle.setVisible(job is None)
        self._others.setVisible(len(shown) > 1)
        self._others.setText(tr("{n} more", n=len(shown) - 1))
        if job is not None and self._line is not None:
            step = job.progress.what if job.progress is not None and job.fraction is None else ""
            # A step of unknown length says what it is.
            self._line.set_title(step or job.title)
            self._line.set_progress(job.fraction, job.seconds_left)

    def _show(self, job: Job | None) -> None:
        if self._line is not None:
            self._row.removeWidget(self._line)
            self._line.deleteLater()
            self._line = None
        self._shown = job
        if job is not None:
            self._line = ProgressLine(job.title, compact=True, can_stop=job.can_stop)
            self._line.stop_requested.connect(job.stop)
            self._line.cancel_requested.connect(job.cancel)
            self._row.addWidget(self._line)


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
