"""The panel beside the questions: the number of answers and the learning curve."""

from __future__ import annotations

from collections.abc import Mapping

from PySide6.QtCore import QPointF, QRect, QRectF, QSize, Qt
from PySide6.QtGui import QColor, QPainter, QPaintEvent, QPen, QPolygonF
from PySide6.QtWidgets import QLabel, QSizePolicy, QWidget

from semblance.app.shell.theme import SMALL, TICK, colour, set_look, theme, theme_signals
from semblance.app.widgets.badge import Badge
from semblance.app.widgets.layouts import hbox, vbox
from semblance.app.widgets.section_header import SectionHeader
from semblance.app.widgets.text_cache import CENTRE, RIGHT, text_cache
from semblance.core.evaluation.evaluate_metric import HELD_OUT_PATIENTS
from semblance.core.language import tr, tr_n
from semblance.core.reports.curves import interval_text
from semblance.core.reports.plot import count_ticks, tick_text, value_ticks
from semblance.core.workflows.searches.feedback.refinement_session import HeldOutScore

WIDTH, CURVE_HEIGHT = 296, 190
EXPLANATION = tr(
    "Five answers rarely change the score. Twenty often do. More are needed if one answer in "
    "five is wrong. Held-out cases are never used for questions."
)
NOTHING_HELD_OUT = tr("No cases are held out. Every case with a finding was judged or used for training.")


class LearningProgress(QWidget):
    """Shows counts and scores. It reads nothing itself."""

    def __init__(self) -> None:
        super().__init__()
        self.header = SectionHeader()
        self.curve = LearningCurve()
        self.badge = Badge("held-out cases")
        self.value, self.before = QLabel("–"), QLabel()
        label, explanation = QLabel(tr("Accuracy @10")), QLabel(EXPLANATION)
        for text in (label, self.before, explanation):
            text.setWordWrap(text is not label)
            set_look(text, role="second")
        set_look(self.value, role="title")
        accuracy = hbox(spacing=8)
        accuracy.addWidget(label)
        accuracy.addStretch(1)
        accuracy.addWidget(self.badge)
        column = vbox(self, spacing=8, margins=(12, 10, 12, 12))
        column.addWidget(self.header)
        column.addWidget(self.curve)
        column.addLayout(accuracy)
        column.addWidget(self.value)
        column.addWidget(self.before)
        column.addWidget(explanation)
        column.addStretch(1)
        self._max_size = (theme().px(WIDTH), theme().px(CURVE_HEIGHT))
        theme_signals.changed.connect(self._update_size)
        self._update_size()
        self.show_counts(0, 0)
        self.clear()

    def show_counts(self, answered: int, judged: int) -> None:
        """Show how many questions were answered, and how many judgements the search has."""
        self.answered_text = tr("{n} answered", n=answered)
        self.header.set_title(self.answered_text)
        self.header.set_note(tr_n("{n} judgement in force", "{n} judgements in force", judged))

    def clear(self) -> None:
        """Remove all scores, for another search."""
        self.curve.clear()
        self._show_accuracy(None)

    def show_score(self, judged: int, score: HeldOutScore | None) -> None:
        """Add the score after so many judgements; ``None`` if no cases are held out."""
        if score is None:
            self.curve.clear(NOTHING_HELD_OUT)
        else:
            self.curve.add(judged, score)
        self._show_accuracy(score)

    def _show_accuracy(self, score: HeldOutScore | None) -> None:
        self.badge.setVisible(score is not None)
        self.value.setText("–" if score is None else interval_text(score.accuracy, *score.interval))
        self.before.setVisible(score is not None)
        if score is not None:
            patients = score.measured_on == HELD_OUT_PATIENTS
            self.badge.set_kind("held-out" if patients else "unknown")
            text = (
                tr(
                    "{before:.2f} without judgements. Tested on {n:,} cases of patients not used for "
                    "training.",
                    before=score.before,
                    n=score.cases,
                )
                if patients
                else tr(
                    "{before:.2f} without judgements. Tested on {n:,} held-out cases.",
                    before=score.before,
                    n=score.cases,
                )
            )
            self.before.setText(text)

    def set_max_size(self, width: int, height: int) -> None:
        """Set the maximum width, and the maximum height of the curve, px."""
        self._max_size = (width, height)
        self._update_size()

    def _update_size(self) -> None:
        width, height = self._max_size
        self.setFixedWidth(min(theme().px(WIDTH), width))
        self.curve.setFixedHeight(min(theme().px(CURVE_HEIGHT), height))


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
        box = QRectF(left, 8, self.width() - size - left, bottom - 8)

        def across(judgements: float) -> float:
            return box.left() + judgements / last * box.width()

        def up(accuracy: float) -> float:
            return box.bottom() - (accuracy - first) / (end - first) * box.height()

        for value in values:
            y = round(up(value)) + 0.5
            painter.setPen(QPen(colour(tokens.line), 1))
            painter.drawLine(QPointF(box.left(), y), QPointF(box.right(), y))
            where = QRect(0, round(y) - size, round(box.left()) - 6, 2 * size)
            ticks.draw(painter, where, tick_text(value), tokens.third, RIGHT)
        for tick in count_ticks(0, last, box.width()):
            x = round(across(tick))
            ticks.draw(painter, QRect(x - 30, round(bottom) + 4, 60, size), str(tick), tokens.third, CENTRE)
        below = QRect(round(box.left()), round(bottom) + 7 + size, round(box.width()), size + 2)
        ticks.draw(painter, below, tr("judgements"), tokens.third, CENTRE)
        start = round(up(before)) + 0.5
        dashed = QPen(colour(tokens.second), 1)
        dashed.setDashPattern([3, 3])
        painter.setPen(dashed)
        painter.drawLine(QPointF(box.left(), start), QPointF(box.right(), start))
        along = [across(value) for value in counts]
        upper = [QPointF(a, up(one.interval[1])) for a, one in zip(along, scores, strict=True)]
        lower = [QPointF(a, up(one.interval[0])) for a, one in zip(along, scores, strict=True)]
        line = [QPointF(a, up(one.accuracy)) for a, one in zip(along, scores, strict=True)]
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
