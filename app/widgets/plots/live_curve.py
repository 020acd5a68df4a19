"""The curve of a training: growing while it trains, or as it was kept."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from PySide6.QtGui import QShowEvent
from PySide6.QtWidgets import QLabel, QWidget

from semblance.app.shell.context import Context
from semblance.app.shell.delayed_call import one_shot
from semblance.app.shell.state import Change, TrainingRun
from semblance.app.shell.theme import set_look, theme, theme_signals
from semblance.app.widgets.elided_label import ElidedLabel
from semblance.app.widgets.layouts import hbox, vbox
from semblance.app.widgets.plots.training_plot import PlottedCurve, TrainingPlot
from semblance.core.language import tr
from semblance.core.reports.curves import TrainingCurve, in_words, relative_objective
from semblance.core.workflows.metrics.training_curve import CurvePoint

#: The curve is drawn at most this often, however fast points come.
REDRAW_MS = 70
NOTHING = tr("The curve appears with the first round.")


class LiveCurve(QWidget):
    """Follows the training under way; at other times it shows what :meth:`set_stored` gave it.

    Objective (as a share of its start) above, accuracy @10 on held-out cases below, the best marked.
    """

    def __init__(self, context: Context, parent: QWidget | None = None, *, inset: int = 12) -> None:
        """``inset``: px beside its head, none where what it lies in has them."""
        super().__init__(parent)
        self._state = context.state
        self._stored: TrainingCurve | None = None
        self._stored_words = NOTHING
        self._points = _Points()
        self._title = ElidedLabel(tr("Training"), role="title")
        # How far it is is worth more than the whole of a name.
        self._note = QLabel()
        set_look(self._note, role="second")
        self.plot = TrainingPlot()
        head = hbox(spacing=8, margins=(inset, 0, inset, 0))
        head.addWidget(self._title, 1)
        head.addWidget(self._note)
        self._head = QWidget()
        self._head.setLayout(head)
        column = vbox(self)
        column.addWidget(self._head)
        column.addWidget(self.plot, 1)
        self._soon = one_shot(self, self._redraw, REDRAW_MS)
        self._state.on_change(Change.TRAINING, self, self._hear)
        theme_signals.changed.connect(self._fit)
        self._fit()

    def set_stored(self, curve: TrainingCurve | None, words: str = NOTHING) -> None:
        """What to show while nothing trains; ``words`` where there is no curve."""
        self._stored, self._stored_words = curve, words
        self._redraw()

    @property
    def title(self) -> str:
        return self._title.text()

    @property
    def note(self) -> str:
        """How far the training is."""
        return self._note.text()

    @property
    def shown_run(self) -> TrainingRun | None:
        """The training that is followed; ``None`` while a stored curve is shown."""
        run = self._state.training
        return run if run is not None and (run.running or self._stored is None) else None

    def showEvent(self, event: QShowEvent) -> None:
        super().showEvent(event)
        self._redraw()

    def _hear(self) -> None:
        run = self._state.training
        if run is None or not run.running:
            self._redraw()
        elif not self._soon.isActive():
            self._soon.start()

    def _redraw(self) -> None:
        if not self.isVisible():
            return
        self._soon.stop()
        run = self.shown_run
        if run is not None:
            self._show_run(run)
        elif self._stored is not None:
            self._show_stored(self._stored)
        else:
            self._tell(tr("Training"), "", self._stored_words)
            self.plot.show_course(None, self._stored_words)

    def _show_run(self, run: TrainingRun) -> None:
        if not self._points.begins(run.points):
            self._points = _Points()
        points = self._points
        points.follow(run.points)
        if not points.rounds:
            self._tell(f"{tr('Training')} {run.name}", "", NOTHING)
            self.plot.show_course(None, NOTHING if run.running else tr("No rounds to show."))
            return
        now = points.rounds[-1]
        note = (
            tr("round {now:,} of {rounds:,}", now=now, rounds=run.rounds)
            if run.rounds
            else tr("round {now:,}", now=now)
        )
        last = now
        if run.running:
            last = run.rounds or _beyond(now)
        title = f"{tr('Training')} {run.name}"
        best = tr(", best held-out accuracy {best:.2f}", best=max(points.accuracy)) if points.accuracy else ""
        self._tell(title, note, "" if run.running else f"{title}: {note}{best}.")
        self.plot.show_course(points.course(last))

    def _show_stored(self, curve: TrainingCurve) -> None:
        pairs = zip(curve.rounds, curve.heldout_accuracy, strict=True)
        known = [(number, value) for number, value in pairs if value is not None]
        self._tell(
            f"{tr('Training')} {curve.label}", tr("{n:,} rounds", n=curve.rounds[-1]), in_words([curve])
        )
        self.plot.show_course(
            PlottedCurve(
                np.array(curve.rounds, dtype=np.float64),
                relative_objective(curve.objective),
                np.array([number for number, _ in known], dtype=np.float64),
                np.array([value for _, value in known], dtype=np.float64),
                curve.rounds[-1],
            )
        )

    def _tell(self, title: str, note: str, words: str) -> None:
        if title != self._title.text():
            self._title.setText(title)
        if note != self._note.text():
            self._note.setText(note)
        self.setAccessibleName(title)
        # A reader is told when a training begins and ends, not fifteen times a second.
        if words and words != self.accessibleDescription():
            self.setAccessibleDescription(words)

    def _fit(self) -> None:
        self._head.setFixedHeight(theme().px(24))


class _Points:
    """The points of a run as columns; only those that are new are looked at."""

    def __init__(self) -> None:
        self._first: CurvePoint | None = None
        self._taken = 0
        self.rounds: list[int] = []
        self.objective: list[float] = []
        self.measured: list[int] = []
        self.accuracy: list[float] = []

    def begins(self, points: Sequence[CurvePoint]) -> bool:
        """Whether ``points`` only go on from those taken."""
        return len(points) >= self._taken and (not self._taken or points[0] is self._first)

    def follow(self, points: Sequence[CurvePoint]) -> None:
        self._first = points[0] if points else None
        for point in points[self._taken :]:
            self.rounds.append(point.round)
            self.objective.append(point.objective)
            if point.held_out_accuracy is not None:
                self.measured.append(point.round)
                self.accuracy.append(point.held_out_accuracy)
        self._taken = len(points)

    def course(self, last: int) -> PlottedCurve:
        return PlottedCurve(
            np.array(self.rounds, dtype=np.float64),
            relative_objective(self.objective),
            np.array(self.measured, dtype=np.float64),
            np.array(self.accuracy, dtype=np.float64),
            last,
        )


def _beyond(now: int) -> int:
    """The end of the axis where the number of rounds is not known: it grows in steps."""
    end = 20
    while end < now * 1.1:
        end *= 2
    return end
