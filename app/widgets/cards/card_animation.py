"""The animation of cards that move to new places. Input is not blocked meanwhile."""

from __future__ import annotations

from collections.abc import Mapping

from PySide6.QtCore import QEasingCurve, QObject, QPoint, QVariantAnimation, Signal
from PySide6.QtGui import QGuiApplication
from PySide6.QtWidgets import QApplication, QStyle

LONGEST_MS = 150
#: More cards are not animated.
MAX_CARDS = 400


class CardAnimation(QObject):
    """Positions of moving cards by place. ``moved``: draw a new frame."""

    moved = Signal()
    ended = Signal()

    def __init__(self, parent: QObject | None = None) -> None:
        super().__init__(parent)
        self._paths: dict[int, tuple[QPoint, QPoint]] = {}
        self._timeline = QVariantAnimation(self)
        self._timeline.setStartValue(0.0)
        self._timeline.setEndValue(1.0)
        self._timeline.setEasingCurve(QEasingCurve.Type.OutCubic)
        self._timeline.valueChanged.connect(lambda _: self.moved.emit())
        self._timeline.finished.connect(self.stop)

    @property
    def places(self) -> list[int]:
        """The places of cards that are moving."""
        return list(self._paths)

    def start(self, paths: Mapping[int, tuple[QPoint, QPoint]]) -> None:
        """Move the card of each place from the first point to the second."""
        self._timeline.stop()
        duration = min(LONGEST_MS, system_duration())
        moving = {place: path for place, path in paths.items() if path[0] != path[1]}
        self._paths = moving if duration > 0 and len(moving) <= MAX_CARDS else {}
        if self._paths:
            self._timeline.setDuration(duration)
            self._timeline.start()

    def stop(self) -> None:
        """Move every card to its place at once."""
        if self._paths:
            self._timeline.stop()
            self._paths = {}
            self.moved.emit()
            self.ended.emit()

    def position(self, place: int) -> QPoint | None:
        """The upper left corner of a moving card; ``None`` for one that does not move."""
        path = self._paths.get(place)
        if path is None:
            return None
        done = float(self._timeline.currentValue())
        start, end = path
        return QPoint(
            round(start.x() + done * (end.x() - start.x())), round(start.y() + done * (end.y() - start.y()))
        )


def system_duration() -> int:
    """The system's animation time in ms; 0 if animations are switched off or nothing is displayed."""
    if QGuiApplication.platformName() in ("offscreen", "minimal"):
        return 0
    return QApplication.style().styleHint(QStyle.StyleHint.SH_Widget_Animation_Duration)
