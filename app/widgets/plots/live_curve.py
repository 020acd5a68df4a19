"""The curve of a training, live or stored."""

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
from semblance.core.reports.curves import TrainingCurve, describe_curves, relative_objective
from semblance.core.workflows.metrics.training_curve import CurvePoint

#: The shortest time between two redraws.
REDRAW_MS = 70
NO_CURVE = tr("The curve appears with the first round.")


class LiveCurve(QWidget):
    """Shows the training that runs, else the curve of :meth:`set_stored`.

    The objective (relative to its start) is above, the accuracy @10 on held-out cases below, with the best marked.
    """

    def __init__(self, context: Context, parent: QWidget | None = None, *, inset: int = 12) -> None:
        """``inset``: px beside the header."""
        super().__init__(parent)
        self._state = context.state
        self._stored: TrainingCurve | None = None
        self._stored_text = NO_CURVE
        self._points = _CurveColumns()
        self._title = ElidedLabel(tr("Training"), role="title")
        # The progress is never shortened, the name is.
        self._note = QLabel()
        set_look(self._note, role="second")
        self.plot = TrainingPlot()
        head = hbox(spacing=8, margins=(inset, 0, inset, 0))
        head.addWidget(self._title, 1)
        head.addWidget(self._note)
        self._header = QWidget()
        self._header.setLayout(head)
        column = vbox(self)
        column.addWidget(self._header)
        column.addWidget(self.plot, 1)
        self._redraw_timer = one_shot(self, self._redraw, REDRAW_MS)
        self._state.on_change(Change.TRAINING, self, self._follow_training)
        theme_signals.changed.connect(self._fit)
        self._fit()

    def set_stored(self, curve: TrainingCurve | None, message: str = NO_CURVE) -> None:
        """Set what to show while no training runs: ``curve``, or ``message`` without one."""
        self._stored, self._stored_text = curve, message
        self._redraw()

    @property
    def title(self) -> str:
        return self._title.text()

    @property
    def note(self) -> str:
        """The progress of the training."""
        return self._note.text()

    @property
    def shown_run(self) -> TrainingRun | None:
        """The training that is shown; ``None`` while a stored curve is shown."""
        run = self._state.training
        return run if run is not None and (run.running or self._stored is None) else None

    def showEvent(self, event: QShowEvent) -> None:
        super().showEvent(event)
        self._redraw()

    def _follow_training(self) -> None:
        run = self._state.training
        if run is None or not run.running:
            self._redraw()
        elif not self._redraw_timer.isActive():
            self._redraw_timer.start()

    def _redraw(self) -> None:
        if not self.isVisible():
            return
        self._redraw_timer.stop()
        run = self.shown_run
        if run is not None:
            self._show_run(run)
        elif self._stored is not None:
            self._show_stored(self._stored)
        else:
            self._set_texts(tr("Training"), "", self._stored_text)
            self.plot.show_curve(None, self._stored_text)

    def _show_run(self, run: TrainingRun) -> None:
        if not self._points.extends(run.points):
            self._points = _CurveColumns()
        points = self._points
        points.append_new(run.points)
        if not points.rounds:
            self._set_texts(f"{tr('Training')} {run.name}", "", NO_CURVE)
            self.plot.show_curve(None, NO_CURVE if run.running else tr("No rounds to show."))
            return
        now = points.rounds[-1]
        note = (
            tr("round {now:,} of {rounds:,}", now=now, rounds=run.rounds)
            if run.rounds
            else tr("round {now:,}", now=now)
        )
        last = now
        if run.running:
            last = run.rounds or _axis_end(now)
        title = f"{tr('Training')} {run.name}"
        best = tr(", best held-out accuracy {best:.2f}", best=max(points.accuracy)) if points.accuracy else ""
        self._set_texts(title, note, "" if run.running else f"{title}: {note}{best}.")
        self.plot.show_curve(points.curve(last))

    def _show_stored(self, curve: TrainingCurve) -> None:
        pairs = zip(curve.rounds, curve.heldout_accuracy, strict=True)
        known = [(number, value) for number, value in pairs if value is not None]
        self._set_texts(
            f"{tr('Training')} {curve.label}",
            tr("{n:,} rounds", n=curve.rounds[-1]),
            describe_curves([curve]),
        )
        self.plot.show_curve(
            PlottedCurve(
                np.array(curve.rounds, dtype=np.float64),
                relative_objective(curve.objective),
                np.array([number for number, _ in known], dtype=np.float64),
                np.array([value for _, value in known], dtype=np.float64),
                curve.rounds[-1],
            )
        )

    def _set_texts(self, title: str, note: str, description: str) -> None:
        if title != self._title.text():
            self._title.setText(title)
        if note != self._note.text():
            self._note.setText(note)
        self.setAccessibleName(title)
        # Screen readers get the start and the end of a training, not every round.
        if description and description != self.accessibleDescription():
            self.setAccessibleDescription(description)

    def _fit(self) -> None:
        self._header.setFixedHeight(theme().px(24))


class _CurveColumns:
    """The points of a run as columns. Each point is read once."""

    def __init__(self) -> None:
        self._first: CurvePoint | None = None
        self._count = 0
        self.rounds: list[int] = []
        self.objective: list[float] = []
        self.measured: list[int] = []
        self.accuracy: list[float] = []

    def extends(self, points: Sequence[CurvePoint]) -> bool:
        """Whether ``points`` start with the points that were appended before."""
        return len(points) >= self._count and (not self._count or points[0] is self._first)

    def append_new(self, points: Sequence[CurvePoint]) -> None:
        self._first = points[0] if points else None
        for point in points[self._count :]:
            self.rounds.append(point.round)
            self.objective.append(point.objective)
            if point.held_out_accuracy is not None:
                self.measured.append(point.round)
                self.accuracy.append(point.held_out_accuracy)
        self._count = len(points)

    def curve(self, last: int) -> PlottedCurve:
        return PlottedCurve(
            np.array(self.rounds, dtype=np.float64),
            relative_objective(self.objective),
            np.array(self.measured, dtype=np.float64),
            np.array(self.accuracy, dtype=np.float64),
            last,
        )


def _axis_end(now: int) -> int:
    """The end of the axis if the number of rounds is not known. It grows in steps."""
    end = 20
    while end < now * 1.1:
        end *= 2
    return end
