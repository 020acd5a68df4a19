"""The learning curve: held-out accuracy with its interval by the number of judgements."""

from __future__ import annotations

from collections.abc import Mapping

from PySide6.QtCore import QPointF, QRect, QRectF, QSize, Qt
from PySide6.QtGui import QColor, QPainter, QPaintEvent, QPen, QPolygonF
from PySide6.QtWidgets import QSizePolicy, QWidget

from semblance.app.shell.theme import SMALL, TICK, colour, theme
from semblance.app.widgets.text_cache import CENTRE, RIGHT, text_cache
from semblance.core.language import tr
from semblance.core.reports.axes import Scale, count_ticks, tick_text, value_ticks
from semblance.core.reports.curves import interval_text
from semblance.core.reports.plot_canvas import Box
from semblance.core.workflows.searches.feedback.refinement_session import HeldOutScore

_EMPTY = tr("The curve begins with the first answer.")


class LearningCurve(QWidget):
    """Draws a point for each number of judgements. The last one is marked."""

    def __init__(self, parent: QWidget | None = None) -> None:
        super().__init__(parent)
        self.setSizePolicy(QSizePolicy.Policy.Expanding, QSizePolicy.Policy.Expanding)
        self.setAccessibleName(tr("Accuracy @10 on held-out cases by judgements"))
        self._points: dict[int, HeldOutScore] = {}
        self._text = _EMPTY

    @property
    def points(self) -> Mapping[int, HeldOutScore]:
        return self._points

    def clear(self, text: str = _EMPTY) -> None:
        """Remove all points and show ``text`` instead."""
        self._points, self._text = {}, text
        self.setAccessibleDescription(text)
        self.update()

    def add(self, judgements: int, score: HeldOutScore) -> None:
        """Add the score after so many judgements. Points with more judgements are removed, because they were undone."""
        self._points = {n: one for n, one in self._points.items() if n < judgements}
        self._points[judgements] = score
        accuracy = interval_text(score.accuracy, *score.interval)
        self.setAccessibleDescription(
            tr(
                "{accuracy} after {n} judgements, {before:.2f} before any",
                accuracy=accuracy,
                n=judgements,
                before=score.before,
            )
        )
        self.update()

    def sizeHint(self) -> QSize:
        return QSize(theme().px(260), theme().px(160))

    def minimumSizeHint(self) -> QSize:
        return QSize(theme().px(120), theme().px(90))

    def paintEvent(self, event: QPaintEvent) -> None:
        painter = QPainter(self)
        painter.setRenderHint(QPainter.RenderHint.Antialiasing)
        if self._points:
            self._draw(painter)
        else:
            area = self.rect().adjusted(8, 0, -8, 0)
            text_cache(SMALL).draw(painter, area, self._text, theme().third, CENTRE)
        painter.end()

    def _draw(self, painter: QPainter) -> None:
        tokens, ticks = theme(), text_cache(TICK)
        size = tokens.px(TICK)
        counts = sorted(self._points)
        scores = [self._points[n] for n in counts]
        before = scores[0].before
        low = min(before, *(one.interval[0] for one in scores))
        high = max(before, *(one.interval[1] for one in scores))
        bottom = self.height() - 2 * size - 12
        values, first, end = value_ticks(low, high, bottom - 8)
        left = max(ticks.width(tick_text(value)) for value in values) + 8
        last = max(10, counts[-1])
        scale = Scale(Box(left, 8, self.width() - size, bottom), (0, last), (first, end))
        box = scale.box
        for value in values:
            y = round(float(scale.up(value))) + 0.5
            painter.setPen(QPen(colour(tokens.line), 1))
            painter.drawLine(QPointF(box.left, y), QPointF(box.right, y))
            where = QRect(0, round(y) - size, round(box.left) - 6, 2 * size)
            ticks.draw(painter, where, tick_text(value), tokens.third, RIGHT)
        for tick in count_ticks(0, last, box.width):
            x = round(float(scale.across(tick)))
            ticks.draw(painter, QRect(x - 30, round(bottom) + 4, 60, size), str(tick), tokens.third, CENTRE)
        across = QRect(round(box.left), round(bottom) + 7 + size, round(box.width), size + 2)
        ticks.draw(painter, across, tr("judgements"), tokens.third, CENTRE)
        start = round(float(scale.up(before))) + 0.5
        dashed = QPen(colour(tokens.second), 1)
        dashed.setDashPattern([3, 3])
        painter.setPen(dashed)
        painter.drawLine(QPointF(box.left, start), QPointF(box.right, start))
        along = [float(scale.across(value)) for value in counts]
        upper = [QPointF(a, float(scale.up(one.interval[1]))) for a, one in zip(along, scores, strict=True)]
        lower = [QPointF(a, float(scale.up(one.interval[0]))) for a, one in zip(along, scores, strict=True)]
        line = [QPointF(a, float(scale.up(one.accuracy))) for a, one in zip(along, scores, strict=True)]
        band = QColor(colour(tokens.accent))
        band.setAlphaF(0.18)
        painter.setPen(Qt.PenStyle.NoPen)
        painter.setBrush(band)
        painter.drawPolygon(QPolygonF([*upper, *reversed(lower)]))
        painter.setBrush(Qt.BrushStyle.NoBrush)
        painter.setPen(QPen(colour(tokens.accent), 1.8))
        painter.drawPolyline(QPolygonF(line))
        if len(line) == 1:
            painter.drawLine(upper[0], lower[0])
        painter.setPen(Qt.PenStyle.NoPen)
        painter.setBrush(colour(tokens.accent))
        painter.drawEllipse(QRectF(line[-1].x() - 3.5, line[-1].y() - 3.5, 7, 7))
