"""Cards gliding to their new places: seen, never waited for."""

from __future__ import annotations

from collections.abc import Mapping

from PySide6.QtCore import QEasingCurve, QObject, QPoint, QVariantAnimation, Signal
from PySide6.QtGui import QGuiApplication
from PySide6.QtWidgets import QApplication, QStyle

LONGEST_MS = 150
#: Beyond so many cards the new order is simply shown.
MOST = 400


class CardAnimation(QObject):
    """Where the card of each place is drawn while it is on its way; ``moved`` asks for a new frame."""

    moved = Signal()
    ended = Signal()

    def __init__(self, parent: QObject | None = None) -> None:
        super().__init__(parent)
        self._ways: dict[int, tuple[QPoint, QPoint]] = {}
        self._clock = QVariantAnimation(self)
        self._clock.setStartValue(0.0)
        self._clock.setEndValue(1.0)
        self._clock.setEasingCurve(QEasingCurve.Type.OutCubic)
        self._clock.valueChanged.connect(lambda _: self.moved.emit())
        self._clock.finished.connect(self.stop)

    @property
    def places(self) -> list[int]:
        """The places whose cards are on their way."""
        return list(self._ways)

    def start(self, ways: Mapping[int, tuple[QPoint, QPoint]]) -> None:
        """Move the card of each place from the first point to the second."""
        self._clock.stop()
        duration = min(LONGEST_MS, system_duration())
        moving = {place: way for place, way in ways.items() if way[0] != way[1]}
        self._ways = moving if duration > 0 and len(moving) <= MOST else {}
        if self._ways:
            self._clock.setDuration(duration)
            self._clock.start()

    def stop(self) -> None:
        """Everything is where it belongs."""
        if self._ways:
            self._clock.stop()
            self._ways = {}
            self.moved.emit()
            self.ended.emit()

    def at(self, place: int) -> QPoint | None:
        """The upper left corner of a card on its way; ``None`` for one that rests."""
        way = self._ways.get(place)
        if way is None:
            return None
        done = float(self._clock.currentValue())
        start, end = way
        return QPoint(
            round(start.x() + done * (end.x() - start.x())), round(start.y() + done * (end.y() - start.y()))
        )


def system_duration() -> int:
    """How long the system wants things to move, in ms; 0 where it wants them still, or nobody looks."""
    if QGuiApplication.platformName() in ("offscreen", "minimal"):
        return 0
    return QApplication.style().styleHint(QStyle.StyleHint.SH_Widget_Animation_Duration)
