"""The line at the bottom: what is open, what could not be read, and the jobs under way."""

from __future__ import annotations

from PySide6.QtCore import Qt, QTimer, Signal
from PySide6.QtWidgets import QFrame, QHBoxLayout, QLabel, QProgressBar, QPushButton, QToolButton, QWidget

from app.context import Context
from app.icons import icon
from app.jobs import SHOW_AFTER_MS, Job
from app.theme import news, theme
from app.widgets.elided_label import ElidedLabel

HEIGHT = 28


class StatusLine(QFrame):
    """Counts on the left; the latest job with its progress, time left and cancel on the right."""

    not_read_wanted = Signal()
    jobs_wanted = Signal()

    def __init__(self, context: Context) -> None:
        super().__init__()
        self._context, self._state = context, context.state
        self.setProperty("role", "bar")
        self.setAttribute(Qt.WidgetAttribute.WA_StyledBackground)
        self.counts = QLabel()
        self.counts.setProperty("role", "second")
        self.not_read = QPushButton()
        self.not_read.setProperty("quiet", True)
        self.not_read.setIcon(icon("warning"))
        self.not_read.clicked.connect(self.not_read_wanted)
        self.where = ElidedLabel("")
        self.where.setProperty("role", "small")
        self.jobs = JobStrip(context)
        self.jobs.list_wanted.connect(self.jobs_wanted)
        row = QHBoxLayout(self)
        row.setContentsMargins(12, 0, 8, 0)
        row.setSpacing(16)
        row.addWidget(self.counts)
        row.addWidget(self.not_read)
        row.addWidget(self.where, 1)
        row.addWidget(self.jobs)
        self._state.cases_changed.connect(self._renew)
        self._state.library_changed.connect(self._renew)
        news.changed.connect(self._fit)
        self._fit()
        self._renew()

    def _fit(self) -> None:
        self.setFixedHeight(theme().px(HEIGHT))

    def _renew(self) -> None:
        library = self._state.library
        if library is None:
            self.counts.setText("Works offline. Pictures stay where they are.")
            self.not_read.hide()
            self.where.setText("")
            return
        patients = f"{library.patients:,} patients" if library.patients else "unknown patients"
        self.counts.setText(f"{len(library.columns):,} cases    {patients}")
        unusable = len(library.unusable)
        self.not_read.setVisible(bool(unusable))
        self.not_read.setText(f"{unusable:,} file{'s' if unusable != 1 else ''} not read")
        self.where.setText(library.path.name + ("" if library.writable else " (for looking only)"))


class JobStrip(QWidget):
    """The job started last; a click on its title lists all."""

    list_wanted = Signal()

    def __init__(self, context: Context) -> None:
        super().__init__()
        self._jobs = context.jobs
        self._listed: list[Job] = []
        self._idle = QLabel("No jobs running")
        self._idle.setProperty("role", "small")
        self._others = QLabel()
        self._others.setProperty("role", "second")
        self._title = QPushButton()
        self._title.setProperty("quiet", True)
        self._title.setToolTip("All jobs")
        self._title.clicked.connect(self.list_wanted)
        self._bar = QProgressBar()
        self._bar.setTextVisible(False)
        self._bar.setFixedWidth(120)
        self._percent = QLabel()
        self._percent.setProperty("role", "title")
        self._left = QLabel()
        self._left.setProperty("role", "second")
        self._stop = QToolButton()
        self._stop.setIcon(icon("stop"))
        self._stop.setToolTip("Stop and keep the best so far")
        self._stop.setAccessibleName("Stop and keep the best so far")
        self._stop.clicked.connect(lambda: self._listed[-1].stop() if self._listed else None)
        self._cancel = QToolButton()
        self._cancel.setIcon(icon("close"))
        self._cancel.setToolTip("Cancel")
        self._cancel.setAccessibleName("Cancel this job")
        self._cancel.clicked.connect(lambda: self._listed[-1].cancel() if self._listed else None)
        row = QHBoxLayout(self)
        row.setContentsMargins(0, 0, 0, 0)
        row.setSpacing(10)
        for widget in (
            self._idle,
            self._others,
            self._title,
            self._bar,
            self._percent,
            self._left,
            self._stop,
            self._cancel,
        ):
            row.addWidget(widget)
        self._tick = QTimer(self)
        self._tick.setInterval(250)
        self._tick.timeout.connect(self._renew)
        self._jobs.added.connect(self._added)
        self._jobs.removed.connect(self._removed)
        self._renew()

    def _added(self, job: Job) -> None:
        self._listed.append(job)
        QTimer.singleShot(SHOW_AFTER_MS, self, self._renew)
        self._tick.start()

    def _removed(self, job: Job) -> None:
        self._listed.remove(job)
        if not self._listed:
            self._tick.stop()
        self._renew()

    def _renew(self) -> None:
        shown = [job for job in self._listed if job.age_ms >= SHOW_AFTER_MS]
        job = shown[-1] if shown else None
        self._idle.setVisible(job is None)
        for widget in (self._title, self._bar, self._cancel):
            widget.setVisible(job is not None)
        self._others.setVisible(len(shown) > 1)
        self._others.setText(f"{len(shown) - 1} more")
        self._stop.setVisible(job is not None and job.can_stop)
        self._percent.setVisible(job is not None and job.fraction is not None)
        seconds = job.seconds_left if job is not None else None
        self._left.setVisible(seconds is not None)
        if job is None:
            return
        self._title.setText(job.title)
        if job.fraction is None:
            self._bar.setRange(0, 0)
        else:
            self._bar.setRange(0, 1000)
            self._bar.setValue(round(1000 * job.fraction))
            self._percent.setText(f"{100 * job.fraction:.0f} %")
        if seconds is not None:
            self._left.setText(time_left(seconds))


def time_left(seconds: float) -> str:
    """Seconds as people say them."""
    if seconds < 5:
        return "a moment left"
    if seconds < 90:
        return f"{5 * round(seconds / 5):.0f} s left"
    minutes, rest = divmod(10 * round(seconds / 10), 60)
    if minutes < 60:
        return f"{minutes:.0f} min {rest:.0f} s left"
    return f"{minutes // 60:.0f} h {minutes % 60:.0f} min left"
