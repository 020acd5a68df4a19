"""Two plots over the same rounds that are cheap to draw again and again."""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt
import pyqtgraph as pg
from PySide6.QtCore import QEvent, QPointF, QRect, QRectF, QSize, Qt
from PySide6.QtGui import QPainter, QPen, QResizeEvent
from PySide6.QtWidgets import QGraphicsView, QSizePolicy, QWidget

from semblance.app.shell.theme import SMALL, TICK, colour, theme, theme_signals
from semblance.app.widgets.text_cache import CENTRE, LEFT, RIGHT, text_cache
from semblance.core.language import tr
from semblance.core.reports.axes import Scale, count_ticks, tick_text, value_ticks
from semblance.core.reports.plot_canvas import Box

Values = npt.NDArray[np.float64]
#: Points of a line for each pixel of its width; more cannot be seen.
DENSITY = 1
_EDGE = 4
_LEFT_LEAST, _RIGHT, _TOP, _BOTTOM, _GAP = 44, 18, 8, 36, 12
_UPPER = 0.3
#: Below this height, at usual text, there is no room for two plots: the objective goes.
_TWO = 48


@dataclass(frozen=True, eq=False)
class PlottedCurve:
    """A training so far. ``objective`` (n,) as a share of its start over ``rounds`` (n,), NaN where there is
    none; ``accuracy`` (m,) over ``measured`` (m,) rounds. ``last``: the round at which the axis ends."""

    rounds: Values
    objective: Values
    measured: Values
    accuracy: Values
    last: int

    @property
    def best(self) -> int:
        """The place of the first of the best accuracies; -1 without any."""
        return int(self.accuracy.argmax()) if len(self.accuracy) else -1


class TrainingPlot(pg.GraphicsView):  # type: ignore[misc]
    """Objective above, held-out accuracy below; only looks, the mouse passes through it."""

    def __init__(self, parent: QWidget | None = None) -> None:
        super().__init__(parent)
        self.setAttribute(Qt.WidgetAttribute.WA_TransparentForMouseEvents)
        # Whoever changes something asks for the paint. The scene asks for one more after each, for what it
        # moves while it is painted.
        self.setViewportUpdateMode(QGraphicsView.ViewportUpdateMode.NoViewportUpdate)
        self.setFocusPolicy(Qt.FocusPolicy.NoFocus)
        self.setSizePolicy(QSizePolicy.Policy.Expanding, QSizePolicy.Policy.Expanding)
        self._course: PlottedCurve | None = None
        self._words = ""
        self._above = self._below = Scale(Box(0, 0, 1, 1), (0, 1), (0, 1))
        self._ticks: list[float] = [0.0, 0.5, 1.0]
        self._frame: tuple[object, ...] = ()
        self._two = True
        self._boxes = [_view_box(self) for _ in range(2)]
        self._objective, self._accuracy = (pg.PlotCurveItem(antialias=True) for _ in range(2))
        for box, curve in zip(self._boxes, (self._objective, self._accuracy), strict=True):
            box.addItem(curve, ignoreBounds=True)
        theme_signals.changed.connect(self._dress)
        self._dress()

    def show_course(self, course: PlottedCurve | None, words: str = "") -> None:
        """Draw ``course``; without one, ``words`` say why there is nothing."""
        self._course, self._words = course, words
        self._lay_out()
        self._boxes[1].setVisible(course is not None)
        if course is not None:
            most = max(64, int(self._below.box.width) * DENSITY)
            self._objective.setData(*thinned(course.rounds, course.objective, most))
            self._accuracy.setData(*thinned(course.measured, course.accuracy, most))
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
        if self._course is None:
            words = text_cache(SMALL)
            words.draw(painter, self.rect().adjusted(12, 0, -12, 0), self._words, tokens.third, CENTRE)
            return
        line, strong = QPen(colour(tokens.line), 1), QPen(colour(tokens.strong_line), 1)
        for scale, values in ((self._above, [1.0]), (self._below, self._ticks))[0 if self._two else 1 :]:
            box = scale.box
            for value in values:
                y = round(float(scale.up(value))) + 0.5
                painter.setPen(line)
                painter.drawLine(QPointF(box.left, y), QPointF(box.right, y))
                where = QRect(0, round(y) - 8, round(box.left) - 7, 16)
                ticks.draw(painter, where, tick_text(value), tokens.third, RIGHT)
            painter.setPen(strong)
            bottom = round(box.bottom) + 0.5
            painter.drawLine(QPointF(box.left, bottom), QPointF(box.right, bottom))
        box, below = self._below.box, round(self._below.box.bottom)
        size = theme().px(TICK)
        for tick in count_ticks(0, self._course.last, box.width * TICK / size):
            x = round(float(self._below.across(tick)))
            ticks.draw(painter, QRect(x - 30, below + 5, 60, size), str(tick), tokens.third, CENTRE)
        across = QRect(round(box.left), below + 9 + size, round(box.width), size)
        ticks.draw(painter, across, tr("round"), tokens.third, CENTRE)
        painter.save()
        painter.translate(11 + size / 2, (box.top + box.bottom) / 2)
        painter.rotate(-90)
        ticks.draw(painter, QRect(-60, -size // 2 - 2, 120, size), tr("accuracy"), tokens.third, CENTRE)
        painter.restore()

    def drawForeground(self, painter: QPainter, rect: QRectF) -> None:
        course = self._course
        if course is None or not len(course.rounds):
            return
        tokens = theme()
        now = float(self._below.across(course.rounds[-1]))
        painter.setRenderHint(QPainter.RenderHint.Antialiasing)
        painter.setPen(QPen(colour(tokens.strong_line), 1))
        x = math.floor(now) + 0.5
        if self._two:
            painter.drawLine(QPointF(x, self._above.box.top), QPointF(x, self._above.box.bottom))
        painter.drawLine(QPointF(x, self._below.box.top), QPointF(x, self._below.box.bottom))
        ends = course.objective[~np.isnan(course.objective)]
        if len(ends) and self._two:
            line = course.rounds, course.objective
            self._name(painter, self._above, now, line, tr("objective"), tokens.third, 400)
        best = course.best
        if best >= 0:
            place = QPointF(
                float(self._below.across(course.measured[best])), float(self._below.up(course.accuracy[best]))
            )
            painter.setPen(QPen(colour(tokens.panel), 1.5))
            painter.setBrush(colour(tokens.accent))
            painter.drawEllipse(place, 3.5, 3.5)
            words = tr("held-out, best {best:.2f}", best=course.accuracy[best])
            line = course.measured, course.accuracy
            self._name(painter, self._below, now, line, words, tokens.accent, 600)

    def _name(
        self,
        painter: QPainter,
        scale: Scale,
        now: float,
        line: tuple[Values, Values],
        words: str,
        shade: str,
        weight: int,
    ) -> None:
        """Beside the end of a line where there is room, else above or below the part that it stands at."""
        face = text_cache(TICK, weight)
        width, height = int(face.width(words)) + 2, theme().px(TICK) + 4
        known = ~np.isnan(line[1])
        across, up = scale.across(line[0][known]), scale.up(line[1][known])
        y = round(float(up[-1]))
        if now + 8 + width <= self.width() - 2:
            low = max(round(scale.box.top), min(y - height // 2, round(scale.box.bottom) - height))
            face.draw(painter, QRect(round(now) + 7, low, width, height), words, shade, LEFT)
            return
        left = now - 7 - width
        beside = up[np.append(across[1:] >= left, True)]
        top = round(float(beside.min())) - height - 4
        if top < scale.box.top - 2:
            top = min(round(float(beside.max())) + 5, round(scale.box.bottom) - height)
        face.draw(painter, QRect(round(now) - 7 - width, top, width, height), words, shade, RIGHT)

    def _lay_out(self) -> None:
        course = self._course
        size = theme().px(TICK)
        width, height = self.width(), self.height()
        top, bottom = _TOP + (size - TICK) // 2, height - _BOTTOM - 2 * (size - TICK)
        self._two = bottom - top >= theme().px(_TWO)
        self._boxes[0].setVisible(course is not None and self._two)
        upper = max(8.0, _UPPER * (bottom - top)) if self._two else -_GAP
        seen = course.accuracy if course is not None and len(course.accuracy) else np.array([0.5, 1.0])
        low, high = float(seen.min()), float(seen.max())
        below = Box(0, min(top + upper + _GAP, bottom - 8), 1, bottom)
        self._ticks, first, end = value_ticks(low, high, below.height)
        widest = max(text_cache(TICK).width(tick_text(tick)) for tick in self._ticks)
        left = max(_LEFT_LEAST, 20 + size + widest)
        right = max(left + 20, width - _RIGHT)
        last = max(1, course.last if course is not None else 1)
        highest = 1.0
        if course is not None and len(course.objective):
            highest = max(1.0, float(np.nanmax(course.objective, initial=1.0)))
        self._above = Scale(Box(left, top, right, top + max(upper, 1.0)), (0, last), (0, highest))
        self._below = Scale(Box(left, below.top, right, bottom), (0, last), (first, end))
        frame = (
            width,
            height,
            left,
            last,
            highest,
            first,
            end,
            len(self._ticks),
            self._words,
            course is None,
        )
        if frame != self._frame:
            self._frame = frame
            for view, scale in zip(self._boxes, (self._above, self._below), strict=True):
                _fit(view, scale)
            self.resetCachedContent()
            self.viewport().update()

    def _dress(self) -> None:
        self.setBackground(colour(theme().panel))
        self._objective.setPen(pg.mkPen(colour(theme().third), width=1.3))
        self._accuracy.setPen(pg.mkPen(colour(theme().accent), width=1.8))
        self._frame = ()
        self._lay_out()
        self.viewport().update()


def thinned(x: Values, y: Values, most: int) -> tuple[Values, Values]:
    """At most about ``most`` of the points, the lowest and highest of every stretch among them."""
    n = len(x)
    if n <= most:
        return x, y
    stretch = math.ceil(2 * n / most)
    whole = n // stretch * stretch
    parts = np.nan_to_num(y[:whole].reshape(-1, stretch), nan=0.0)
    starts = np.arange(0, whole, stretch)
    places = np.column_stack([starts + parts.argmin(axis=1), starts + parts.argmax(axis=1)])
    kept = np.unique(np.concatenate([places.ravel(), [0, n - 1]]))
    return x[kept], y[kept]


def _view_box(view: pg.GraphicsView) -> pg.ViewBox:
    box = pg.ViewBox(enableMouse=False, enableMenu=False, defaultPadding=0.0)
    box.disableAutoRange()
    view.scene().addItem(box)
    return box


def _fit(view: pg.ViewBox, scale: Scale) -> None:
    """Place the box a few pixels beyond the plot, so that lines at its edge keep their width."""
    box = scale.box
    view.setGeometry(QRectF(box.left - _EDGE, box.top - _EDGE, box.width + 2 * _EDGE, box.height + 2 * _EDGE))
    across = _EDGE * (scale.x[1] - scale.x[0]) / max(box.width, 1)
    up = _EDGE * (scale.y[1] - scale.y[0]) / max(box.height, 1)
    view.setRange(
        xRange=(scale.x[0] - across, scale.x[1] + across),
        yRange=(scale.y[0] - up, scale.y[1] + up),
        padding=0,
        disableAutoRange=True,
    )
