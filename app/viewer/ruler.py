"""The ruler: lines with their length in millimetres, or in pixels if the spacing is unknown."""

from __future__ import annotations

from math import hypot

from PySide6.QtCore import QPointF, Qt
from PySide6.QtGui import QFontMetricsF, QKeyEvent, QPainter, QPainterPath

from semblance.app.shell.theme import SMALL, font
from semblance.app.viewer.overlay import draw_outlined_text
from semblance.app.viewer.region_painting import stroke
from semblance.app.viewer.viewport import Viewport
from semblance.core.language import localise_number

GRAB_RADIUS = 8
_TICK = 5.0
_MIN_LENGTH = 2.0
Point = tuple[float, float]


class Ruler:
    """Lines in image pixels; ``spacing_mm``: from row to row and column to column, where known."""

    def __init__(self) -> None:
        self.lines: list[tuple[Point, Point]] = []
        self.spacing_mm: tuple[float, float] | None = None
        self._dragged: tuple[int, int] | None = None

    @property
    def active(self) -> bool:
        return self._dragged is not None

    def begin(self, spacing_mm: tuple[float, float] | None) -> None:
        """Set another image and remove all lines."""
        self.lines.clear()
        self.spacing_mm, self._dragged = spacing_mm, None

    def press(self, point: QPointF, view: Viewport) -> None:
        """Drag an end near ``point``, or start a line."""
        for number, line in enumerate(self.lines):
            for end, at in enumerate(line):
                x, y = view.to_widget(*at)
                if hypot(point.x() - x, point.y() - y) <= GRAB_RADIUS:
                    self._dragged = (number, end)
                    return
        at = view.to_image(point.x(), point.y())
        self.lines.append((at, at))
        self._dragged = (len(self.lines) - 1, 1)

    def move(self, point: QPointF, view: Viewport) -> None:
        if self._dragged is not None:
            number, end = self._dragged
            ends = list(self.lines[number])
            ends[end] = view.to_image(point.x(), point.y())
            self.lines[number] = (ends[0], ends[1])

    def release(self, view: Viewport) -> None:
        """End a drag and remove a line without length."""
        if self._dragged is not None:
            number, self._dragged = self._dragged[0], None
            (ax, ay), (bx, by) = (view.to_widget(*end) for end in self.lines[number])
            if hypot(bx - ax, by - ay) < _MIN_LENGTH:
                del self.lines[number]

    def key(self, event: QKeyEvent) -> bool:
        """Backspace or Delete takes the last line away, Escape all; whether it did something."""
        if not self.lines:
            return False
        if event.key() in (Qt.Key.Key_Backspace, Qt.Key.Key_Delete):
            self.lines.pop()
        elif event.key() == Qt.Key.Key_Escape:
            self.lines.clear()
        else:
            return False
        self._dragged = None
        return True

    def text(self, line: tuple[Point, Point]) -> str:
        """The length of ``line``, like ``12.4 mm`` or ``31 px``."""
        (ax, ay), (bx, by) = line
        if self.spacing_mm is None:
            return f"{hypot(bx - ax, by - ay):.0f} px"
        row_mm, column_mm = self.spacing_mm
        return localise_number(f"{hypot((bx - ax) * column_mm, (by - ay) * row_mm):.1f} mm")

    def paint(self, painter: QPainter, view: Viewport) -> None:
        metrics = QFontMetricsF(font(SMALL, 600))
        for line in self.lines:
            begin, end = (QPointF(*view.to_widget(*at)) for at in line)
            vector = end - begin
            length = max(hypot(vector.x(), vector.y()), 1e-6)
            across = QPointF(-vector.y() / length, vector.x() / length) * _TICK
            path = QPainterPath(begin)
            path.lineTo(end)
            for at in (begin, end):
                path.moveTo(at - across)
                path.lineTo(at + across)
            painter.setRenderHint(QPainter.RenderHint.Antialiasing, True)
            stroke(painter, path, "#FFFFFF")
            text = self.text(line)
            middle = (begin + end) / 2
            beside = QPointF(8, -6) if abs(vector.y()) > abs(vector.x()) else QPointF(-6, -10)
            at = middle + beside
            max_x = view.across - metrics.horizontalAdvance(text) - 4
            draw_outlined_text(
                painter, QPointF(min(max(4.0, at.x()), max_x), max(metrics.ascent() + 2, at.y())), text
            )
