"""The curve of a training, live or stored: two plots over the same rounds that are fast to redraw."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt
import pyqtgraph as pg
from PySide6.QtCore import QEvent, QPointF, QRect, QRectF, QSize, Qt
from PySide6.QtGui import QPainter, QPen, QResizeEvent, QShowEvent
from PySide6.QtWidgets import QGraphicsView, QLabel, QSizePolicy, QWidget

from semblance.app.shell.context import Context
from semblance.app.shell.event_loop import one_shot
from semblance.app.shell.state import Change, TrainingRun
from semblance.app.shell.theme import SMALL, TICK, colour, set_look, theme, theme_signals
from semblance.app.widgets.labels import ElidedLabel
from semblance.app.widgets.layouts import fill, hbox, vbox
from semblance.app.widgets.text_cache import CENTRE, LEFT, RIGHT, text_cache
from semblance.core.language import tr
from semblance.core.reports.curves import TrainingCurve, describe_curves, relative_objective
from semblance.core.reports.plot import count_ticks, tick_text, value_ticks
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
        head = fill(hbox(spacing=8, margins=(inset, 0, inset, 0)), (self._title, 1), self._note)
        self._header = QWidget()
        self._header.setLayout(head)
        fill(vbox(self), self._header, (self.plot, 1))
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


Values = npt.NDArray[np.float64]
#: Points of a line for each pixel of its width. More cannot be seen.
DENSITY = 1
_EDGE = 4
_MIN_LEFT, _RIGHT, _TOP, _BOTTOM, _GAP = 44, 18, 8, 36, 12
_OBJECTIVE_SHARE = 0.3
#: Below this height, at text scale 1, the plot of the objective is hidden.
_MIN_HEIGHT = 48


@dataclass(frozen=True)
class Scale:
    """Maps data to pixels in ``box``: ``x`` and ``y`` are (first, last) of the axes."""

    box: QRectF
    x: tuple[float, float]
    y: tuple[float, float]

    def across(self, values: npt.ArrayLike) -> Values:
        """Pixels from the left of the plot of ``values`` on the x axis."""
        share = (np.asarray(values, dtype=np.float64) - self.x[0]) / (self.x[1] - self.x[0])
        return self.box.left() + share * self.box.width()

    def up(self, values: npt.ArrayLike) -> Values:
        """Pixels from the top of the plot of ``values`` on the y axis."""
        share = (np.asarray(values, dtype=np.float64) - self.y[0]) / (self.y[1] - self.y[0])
        return self.box.bottom() - share * self.box.height()


@dataclass(frozen=True, eq=False)
class PlottedCurve:
    """The curve of a training. ``objective`` (n,): relative to its start, NaN for none, over ``rounds`` (n,).
    ``accuracy`` (m,): over the rounds ``measured`` (m,). ``last``: the round at which the axis ends."""

    rounds: Values
    objective: Values
    measured: Values
    accuracy: Values
    last: int

    @property
    def best(self) -> int:
        """The index of the first best accuracy; -1 without any."""
        return int(self.accuracy.argmax()) if len(self.accuracy) else -1


class TrainingPlot(pg.GraphicsView):  # type: ignore[misc]
    """The objective above, the held-out accuracy below. It ignores the mouse."""

    def __init__(self, parent: QWidget | None = None) -> None:
        super().__init__(parent)
        self.setAttribute(Qt.WidgetAttribute.WA_TransparentForMouseEvents)
        # Methods that change something call update(). By itself the scene would request another paint after
        # each, because it moves items while it is painted.
        self.setViewportUpdateMode(QGraphicsView.ViewportUpdateMode.NoViewportUpdate)
        self.setFocusPolicy(Qt.FocusPolicy.NoFocus)
        self.setSizePolicy(QSizePolicy.Policy.Expanding, QSizePolicy.Policy.Expanding)
        self._curve: PlottedCurve | None = None
        self._message = ""
        self._objective_scale = self._accuracy_scale = Scale(QRectF(0, 0, 1, 1), (0, 1), (0, 1))
        self._ticks: list[float] = [0.0, 0.5, 1.0]
        self._layout_key: tuple[object, ...] = ()
        self._shows_objective = True
        self._boxes = [_view_box(self) for _ in range(2)]
        self._objective, self._accuracy = (pg.PlotCurveItem(antialias=True) for _ in range(2))
        for box, curve in zip(self._boxes, (self._objective, self._accuracy), strict=True):
            box.addItem(curve, ignoreBounds=True)
        theme_signals.changed.connect(self._follow_theme)
        self._follow_theme()

    def show_curve(self, curve: PlottedCurve | None, text: str = "") -> None:
        """Draw ``curve``, or the message ``text`` without one."""
        self._curve, self._message = curve, text
        self._lay_out()
        self._boxes[1].setVisible(curve is not None)
        if curve is not None:
            max_points = max(64, int(self._accuracy_scale.box.width()) * DENSITY)
            self._objective.setData(*thin_out(curve.rounds, curve.objective, max_points))
            self._accuracy.setData(*thin_out(curve.measured, curve.accuracy, max_points))
        self.viewport().update()

    def sizeHint(self) -> QSize:
        return QSize(300, 130)

    def minimumSizeHint(self) -> QSize:
        return QSize(120, 70)

    def resizeEvent(self, event: QResizeEvent) -> None:
        super().resizeEvent(event)
        if hasattr(self, "_boxes"):
            self._lay_out()

    def changeEvent(self, event: QEvent) -> None:
        super().changeEvent(event)
        if event.type() == QEvent.Type.FontChange and hasattr(self, "_boxes"):
            self._lay_out()

    def drawBackground(self, painter: QPainter, rect: QRectF) -> None:
        super().drawBackground(painter, rect)
        tokens, ticks = theme(), text_cache(TICK)
        if self._curve is None:
            text = text_cache(SMALL)
            text.draw(painter, self.rect().adjusted(12, 0, -12, 0), self._message, tokens.third, CENTRE)
            return
        line, strong = QPen(colour(tokens.line), 1), QPen(colour(tokens.strong_line), 1)
        for scale, values in ((self._objective_scale, [1.0]), (self._accuracy_scale, self._ticks))[
            0 if self._shows_objective else 1 :
        ]:
            box = scale.box
            for value in values:
                y = round(float(scale.up(value))) + 0.5
                painter.setPen(line)
                painter.drawLine(QPointF(box.left(), y), QPointF(box.right(), y))
                where = QRect(0, round(y) - 8, round(box.left()) - 7, 16)
                ticks.draw(painter, where, tick_text(value), tokens.third, RIGHT)
            painter.setPen(strong)
            bottom = round(box.bottom()) + 0.5
            painter.drawLine(QPointF(box.left(), bottom), QPointF(box.right(), bottom))
        box, below = self._accuracy_scale.box, round(self._accuracy_scale.box.bottom())
        size = theme().px(TICK)
        for tick in count_ticks(0, self._curve.last, box.width() * TICK / size):
            x = round(float(self._accuracy_scale.across(tick)))
            ticks.draw(painter, QRect(x - 30, below + 5, 60, size), str(tick), tokens.third, CENTRE)
        across = QRect(round(box.left()), below + 9 + size, round(box.width()), size)
        ticks.draw(painter, across, tr("round"), tokens.third, CENTRE)
        painter.save()
        painter.translate(11 + size / 2, (box.top() + box.bottom()) / 2)
        painter.rotate(-90)
        ticks.draw(painter, QRect(-60, -size // 2 - 2, 120, size), tr("accuracy"), tokens.third, CENTRE)
        painter.restore()

    def drawForeground(self, painter: QPainter, rect: QRectF) -> None:
        curve = self._curve
        if curve is None or not len(curve.rounds):
            return
        tokens = theme()
        now = float(self._accuracy_scale.across(curve.rounds[-1]))
        painter.setRenderHint(QPainter.RenderHint.Antialiasing)
        painter.setPen(QPen(colour(tokens.strong_line), 1))
        x = math.floor(now) + 0.5
        if self._shows_objective:
            box = self._objective_scale.box
            painter.drawLine(QPointF(x, box.top()), QPointF(x, box.bottom()))
        painter.drawLine(
            QPointF(x, self._accuracy_scale.box.top()), QPointF(x, self._accuracy_scale.box.bottom())
        )
        ends = curve.objective[~np.isnan(curve.objective)]
        if len(ends) and self._shows_objective:
            line = curve.rounds, curve.objective
            self._draw_label(painter, self._objective_scale, now, line, tr("objective"), tokens.third, 400)
        best = curve.best
        if best >= 0:
            place = QPointF(
                float(self._accuracy_scale.across(curve.measured[best])),
                float(self._accuracy_scale.up(curve.accuracy[best])),
            )
            painter.setPen(QPen(colour(tokens.panel), 1.5))
            painter.setBrush(colour(tokens.accent))
            painter.drawEllipse(place, 3.5, 3.5)
            text = tr("held-out, best {best:.2f}", best=curve.accuracy[best])
            line = curve.measured, curve.accuracy
            self._draw_label(painter, self._accuracy_scale, now, line, text, tokens.accent, 600)

    def _draw_label(
        self,
        painter: QPainter,
        scale: Scale,
        now: float,
        line: tuple[Values, Values],
        text: str,
        shade: str,
        weight: int,
    ) -> None:
        """Draw a label behind the end of a line, or above or below the line if it does not fit there."""
        face = text_cache(TICK, weight)
        width, height = int(face.width(text)) + 2, theme().px(TICK) + 4
        known = ~np.isnan(line[1])
        across, up = scale.across(line[0][known]), scale.up(line[1][known])
        y = round(float(up[-1]))
        if now + 8 + width <= self.width() - 2:
            low = max(round(scale.box.top()), min(y - height // 2, round(scale.box.bottom()) - height))
            face.draw(painter, QRect(round(now) + 7, low, width, height), text, shade, LEFT)
            return
        left = now - 7 - width
        beside = up[np.append(across[1:] >= left, True)]
        top = round(float(beside.min())) - height - 4
        if top < scale.box.top() - 2:
            top = min(round(float(beside.max())) + 5, round(scale.box.bottom()) - height)
        face.draw(painter, QRect(round(now) - 7 - width, top, width, height), text, shade, RIGHT)

    def _lay_out(self) -> None:
        curve = self._curve
        size = theme().px(TICK)
        width, height = self.width(), self.height()
        top, bottom = _TOP + (size - TICK) // 2, height - _BOTTOM - 2 * (size - TICK)
        self._shows_objective = bottom - top >= theme().px(_MIN_HEIGHT)
        self._boxes[0].setVisible(curve is not None and self._shows_objective)
        upper = max(8.0, _OBJECTIVE_SHARE * (bottom - top)) if self._shows_objective else -_GAP
        accuracies = curve.accuracy if curve is not None and len(curve.accuracy) else np.array([0.5, 1.0])
        low, high = float(accuracies.min()), float(accuracies.max())
        middle = min(top + upper + _GAP, bottom - 8)
        self._ticks, first, end = value_ticks(low, high, bottom - middle)
        widest = max(text_cache(TICK).width(tick_text(tick)) for tick in self._ticks)
        left = max(_MIN_LEFT, 20 + size + widest)
        right = max(left + 20, width - _RIGHT)
        last = max(1, curve.last if curve is not None else 1)
        highest = 1.0
        if curve is not None and len(curve.objective):
            highest = max(1.0, float(np.nanmax(curve.objective, initial=1.0)))
        self._objective_scale = Scale(
            QRectF(left, top, right - left, max(upper, 1.0)), (0, last), (0, highest)
        )
        self._accuracy_scale = Scale(
            QRectF(left, middle, right - left, bottom - middle), (0, last), (first, end)
        )
        layout_key = (
            width,
            height,
            left,
            last,
            highest,
            first,
            end,
            len(self._ticks),
            self._message,
            curve is None,
        )
        if layout_key != self._layout_key:
            self._layout_key = layout_key
            for view, scale in zip(self._boxes, (self._objective_scale, self._accuracy_scale), strict=True):
                _fit(view, scale)
            self.resetCachedContent()
            self.viewport().update()

    def _follow_theme(self) -> None:
        self.setBackground(colour(theme().panel))
        self._objective.setPen(pg.mkPen(colour(theme().third), width=1.3))
        self._accuracy.setPen(pg.mkPen(colour(theme().accent), width=1.8))
        self._layout_key = ()
        self._lay_out()
        self.viewport().update()


def thin_out(x: Values, y: Values, max_points: int) -> tuple[Values, Values]:
    """About ``max_points`` of the points at most, with the lowest and highest of every interval."""
    n = len(x)
    if n <= max_points:
        return x, y
    stretch = math.ceil(2 * n / max_points)
    whole = n // stretch * stretch
    parts = np.nan_to_num(y[:whole].reshape(-1, stretch), nan=0.0)
    starts = np.arange(0, whole, stretch)
    places = np.column_stack([starts + parts.argmin(axis=1), starts + parts.argmax(axis=1)])
    remaining = np.unique(np.concatenate([places.ravel(), [0, n - 1]]))
    return x[remaining], y[remaining]


def _view_box(view: pg.GraphicsView) -> pg.ViewBox:
    box = pg.ViewBox(enableMouse=False, enableMenu=False, defaultPadding=0.0)
    box.disableAutoRange()
    view.scene().addItem(box)
    return box


def _fit(view: pg.ViewBox, scale: Scale) -> None:
    """Make the box a few pixels larger than the plot, so that lines at its edge are not clipped."""
    box = scale.box
    view.setGeometry(box.adjusted(-_EDGE, -_EDGE, _EDGE, _EDGE))
    across = _EDGE * (scale.x[1] - scale.x[0]) / max(box.width(), 1)
    up = _EDGE * (scale.y[1] - scale.y[0]) / max(box.height(), 1)
    view.setRange(
        xRange=(scale.x[0] - across, scale.x[1] + across),
        yRange=(scale.y[0] - up, scale.y[1] + up),
        padding=0,
        disableAutoRange=True,
    )
