"""What the dialogs of research share: what they are about, their jobs on the open library, and Help and Close."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, ClassVar

from PySide6.QtCore import Signal
from PySide6.QtWidgets import QPushButton, QWidget

from semblance.app.shell.context import Context
from semblance.app.shell.jobs import Job, WorkerPool
from semblance.app.shell.state import Change
from semblance.app.widgets.dialog import Dialog, closing_row, dialog_layout, help_button, resize_dialog
from semblance.app.widgets.labels import WrappedLabel
from semblance.app.widgets.layouts import hbox
from semblance.app.widgets.message_lines import ErrorLine
from semblance.app.widgets.progress_line import ProgressLine
from semblance.core.errors import SemblanceError


class ResultDialog(Dialog):
    """A dialog that reads results from the open library and runs one job at a time. It can be closed meanwhile.

    A subclass declares the title, the size in px, what the dialog is about, its help page and the channel of its
    jobs; it adds its widgets to ``content`` and ends with :meth:`complete`. ``help_requested`` ·
    ``case_requested(case_row)``: show the image of a case.
    """

    help_requested = Signal()
    case_requested = Signal(int)

    title: ClassVar[str]
    size_px: ClassVar[tuple[int, int]]
    introduction: ClassVar[str]
    help_page: ClassVar[str]
    channel: ClassVar[str]

    def __init__(self, context: Context, parent: QWidget | None = None) -> None:
        super().__init__(parent)
        self._context = context
        self._job: Job | None = None
        self.setWindowTitle(self.title)
        resize_dialog(self, *self.size_px)
        self.content = dialog_layout(self)
        self.content.addWidget(WrappedLabel(self.introduction))
        self._error = ErrorLine()
        self.progress = ProgressLine()
        self.progress.cancel_requested.connect(self.cancel)
        self.progress.hide()

    def complete(self, *buttons: QPushButton, beside_help: tuple[QPushButton, ...] = ()) -> None:
        """Add the error, the progress, a row of ``buttons``, and the row with Help and Close; then follow the
        library."""
        self.content.addWidget(self._error)
        self.content.addWidget(self.progress)
        if buttons:
            row = hbox(spacing=8)
            for button in buttons:
                row.addWidget(button)
            row.addStretch(1)
            self.content.addLayout(row)
        self.content.addLayout(closing_row(self, *beside_help, help_button(self, self.help_requested.emit)))
        self._context.state.on_change(Change.LIBRARY, self, self.load)

    def load(self) -> None:
        """Show what the open library has."""
        raise NotImplementedError

    def update_buttons(self) -> None:
        """Enable what can be done now. Called when a job begins and when it ends."""

    @property
    def running(self) -> bool:
        """Whether a job of :meth:`run` is under way."""
        return self._job is not None

    def read(
        self, title: str, then: Callable[[Any], object], workflow: Callable[..., Any], *values: object
    ) -> Job:
        """Run a quick ``workflow`` without showing its progress; ``then`` is called with its result."""
        job = self._context.jobs.run(
            title, workflow, *values, pool=WorkerPool.READ, channel=self.channel, quiet=True
        )
        job.done.connect(then)
        job.failed.connect(self.show_error)
        return job

    def run(
        self,
        title: str,
        then: Callable[[Any], object],
        workflow: Callable[..., Any],
        *values: object,
        pool: WorkerPool = WorkerPool.BACKGROUND,
        **options: Any,
    ) -> Job:
        """Run ``workflow`` with its progress and Cancel; ``then`` is called with its result."""
        self._error.set_error(None)
        job = self._context.jobs.run(title, workflow, *values, pool=pool, channel=self.channel, **options)
        self._job = job
        job.changed.connect(lambda: self.progress.show_job(job))
        job.done.connect(then)
        job.failed.connect(self.show_error)
        job.ended.connect(lambda: self._end(job))
        self.progress.show_job(job)
        self.progress.show()
        self.update_buttons()
        return job

    def cancel(self) -> None:
        """Cancel what runs."""
        if self._job is not None:
            self._job.cancel()

    def show_error(self, error: SemblanceError) -> None:
        """Show why a job failed."""
        self._error.set_error(error)

    def _end(self, job: Job) -> None:
        if self._job is job:
            self._job = None
            self.progress.hide()
            self.update_buttons()
