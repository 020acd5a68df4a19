"""The progress of a job: title, percentage, time left, and buttons to pause, stop or cancel it."""

from __future__ import annotations

from PySide6.QtCore import QRectF, QSize, Qt, Signal
from PySide6.QtGui import QPainter, QPaintEvent
from PySide6.QtWidgets import QHBoxLayout, QProgressBar, QSizePolicy, QToolButton, QWidget

from semblance.app.shell.icons import icon
from semblance.app.shell.jobs import Job
from semblance.app.shell.theme import colour, set_look, theme
from semblance.app.widgets.labels import ElidedLabel
from semblance.app.widgets.layouts import hbox, vbox
from semblance.core.language import tr

_STEPS = 1000


class ThinBar(QProgressBar):
    """A progress bar 4 px high."""

    def __init__(self, parent: QWidget | None = None) -> None:
        super().__init__(parent)
        self.setRange(0, _STEPS)
        self.setTextVisible(False)
        self._is_unknown, self._position = False, 0
        self._token = "accent"

    def set_share(self, share: float | None) -> None:
        """``share``: 0 to 1, or ``None`` if unknown. Each call with ``None`` moves the mark a little."""
        self._is_unknown = share is None
        if share is None:
            self._position = (self._position + 7) % 100
            self.update()
        else:
            value = round(_STEPS * min(1.0, max(0.0, share)))
            if value != self.value():
                # Qt would paint at once, and with the bar whatever else is to be painted in the window.
                self.setUpdatesEnabled(False)
                self.setValue(value)
                self.setUpdatesEnabled(True)

    def set_colour(self, token: str) -> None:
        """The theme colour of the filled part: ``accent``, ``bar_fill`` or ``error``."""
        self._token = token
        self.update()

    def sizeHint(self) -> QSize:
        return QSize(120, 4)

    def minimumSizeHint(self) -> QSize:
        return QSize(32, 4)

    def paintEvent(self, event: QPaintEvent) -> None:
        painter, tokens = QPainter(self), theme()
        painter.setRenderHint(QPainter.RenderHint.Antialiasing)
        painter.setPen(Qt.PenStyle.NoPen)
        whole = QRectF(0, (self.height() - 4) / 2, self.width(), 4)
        painter.setBrush(colour(tokens.track))
        painter.drawRoundedRect(whole, 2, 2)
        part = QRectF(whole)
        if self._is_unknown:
            part.setWidth(whole.width() / 4)
            part.moveLeft((whole.width() - part.width()) * self._position / 100)
        else:
            part.setWidth(whole.width() * self.value() / _STEPS)
        if part.width() >= 1:
            painter.setBrush(colour(getattr(tokens, self._token)))
            painter.drawRoundedRect(part, 2, 2)
        painter.end()


class ProgressLine(QWidget):
    """The progress of one job. ``compact``: on one line, for the status bar.

    ``pause_requested`` · ``stop_requested`` (keep the best so far) · ``cancel_requested``.
    """

    pause_requested = Signal()
    stop_requested = Signal()
    cancel_requested = Signal()

    def __init__(
        self,
        title: str = "",
        parent: QWidget | None = None,
        *,
        compact: bool = False,
        can_pause: bool = False,
        can_stop: bool = False,
    ) -> None:
        super().__init__(parent)
        self._title = ElidedLabel(title)
        self._percent = ElidedLabel(role="title" if compact else "second")
        self._time_left = ElidedLabel(role="second")
        self.bar = ThinBar()
        self.bar.setAccessibleName(title)
        self._pause = _button("pause", tr("Pause"), self.pause_requested)
        self._stop = _button("stop", tr("Stop and keep the best so far"), self.stop_requested)
        self._cancel = _button("close", tr("Cancel"), self.cancel_requested)
        self.setFocusProxy(self._cancel)
        # Shown without a parent a button would be a window for a moment.
        for button, callback in ((self._pause, can_pause), (self._stop, can_stop)):
            if not callback:
                button.hide()
        self._title.setMinimumHeight(theme().px(26))
        row = QHBoxLayout()
        row.setSpacing(10)
        row.addWidget(self._title, 0 if compact else 1)
        if compact:
            self.bar.setFixedWidth(120)
            row.addWidget(self.bar)
        row.addWidget(self._percent)
        row.addWidget(self._time_left)
        buttons = hbox(spacing=2)
        for button in (self._pause, self._stop, self._cancel):
            buttons.addWidget(button)
        row.addLayout(buttons)
        if compact:
            row.setContentsMargins(0, 0, 0, 0)
            self.setLayout(row)
        else:
            column = vbox(self, spacing=2)
            column.addLayout(row)
            column.addWidget(self.bar)
        self.setSizePolicy(QSizePolicy.Policy.Preferred, QSizePolicy.Policy.Fixed)

    def show_job(self, job: Job) -> None:
        """Show how far ``job`` is."""
        self.set_title(job.progress.what if job.progress is not None else job.title)
        self.set_progress(job.fraction, job.seconds_left)

    def set_title(self, title: str) -> None:
        self._title.setText(title)
        self.bar.setAccessibleName(title)

    def set_progress(self, share: float | None, seconds_left: float | None = None) -> None:
        """``share``: 0 to 1. ``None``: unknown, also for ``seconds_left``."""
        self.bar.set_share(share)
        self._percent.setText("" if share is None else f"{100 * share:.0f} %")
        self._time_left.setText("" if seconds_left is None else time_left(seconds_left))

    def set_state(self, state: str, note: str = "") -> None:
        """``state``: running, paused, done or failed; ``note`` replaces the time left."""
        colours = {"running": "accent", "paused": "bar_fill", "done": "accent", "failed": "error"}
        self.bar.set_colour(colours[state])
        if note:
            self._time_left.setText(note)
        is_over = state in ("done", "failed")
        if is_over:
            self._percent.setText("")
        self._pause.setIcon(icon("play" if state == "paused" else "pause"))
        self._pause.setToolTip(tr("Resume") if state == "paused" else tr("Pause"))
        self._pause.setAccessibleName(self._pause.toolTip())
        for button in (self._pause, self._stop, self._cancel):
            button.setEnabled(not is_over)
        self._cancel.setVisible(not is_over)


def time_left(seconds: float) -> str:
    """A rounded text for the remaining time."""
    if seconds < 5:
        return tr("a moment left")
    if seconds < 90:
        return tr("{n} s left", n=5 * round(seconds / 5))
    minutes, rest = divmod(10 * round(seconds / 10), 60)
    if minutes < 5:
        return (
            tr("{minutes} min {rest} s left", minutes=minutes, rest=rest)
            if rest
            else tr("{minutes} min left", minutes=minutes)
        )
    minutes = round(seconds / 60)
    if minutes < 90:
        return tr("{minutes} min left", minutes=minutes)
    hours, minutes = divmod(5 * round(minutes / 5), 60)
    return (
        tr("{hours} h {minutes} min left", hours=hours, minutes=minutes)
        if minutes
        else tr("{hours} h left", hours=hours)
    )


def _button(name: str, tip: str, callback: object) -> QToolButton:
    button = QToolButton()
    button.setIcon(icon(name))
    button.setIconSize(QSize(theme().px(14), theme().px(14)))
    button.setToolTip(tip)
    button.setAccessibleName(tip)
    button.clicked.connect(callback)
    set_look(button, view=True)
    return button
