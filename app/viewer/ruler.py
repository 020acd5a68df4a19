"""Measuring on an image: lines with their length in millimetres, or in pixels where spacing is unknown."""

from __future__ import annotations

from math import hypot

from PySide6.QtCore import QPointF, Qt
from PySide6.QtGui import QFontMetricsF, QKeyEvent, QPainter, QPainterPath

from semblance.app.shell.theme import SMALL, font
from semblance.app.viewer.overlay import cased_text
from semblance.app.viewer.region_painting import stroke
from semblance.app.viewer.viewport import Viewport
from semblance.core.language import localise_number

REACH = 8
_TICK = 5.0
_SHORTEST = 2.0
Point = tuple[float, float]


class Ruler:
    """Lines in image pixels; ``spacing_mm``: from row to row and column to column, where known."""

    def __init__(self) -> None:
        self.lines: list[tuple[Point, Point]] = []
        self.spacing_mm: tuple[float, float] | None = None
        self._held: tuple[int, int] | None = None

    @property
    def active(self) -> bool:
        return self._held is not None

    def begin(self, spacing_mm: tuple[float, float] | None) -> None:
        """Another image: nothing measured."""
        self.lines.clear()
        self.spacing_mm, self._held = spacing_mm, None

    def press(self, point: QPointF, view: Viewport) -> None:
        """Take hold of an end that is near, or begin a line."""
        for number, line in enumerate(self.lines):
            for end, at in enumerate(line):
                x, y = view.to_widget(*at)
                if hypot(point.x() - x, point.y() - y) <= REACH:
                    self._held = (number, end)
                    return
        at = view.to_image(point.x(), point.y())
        self.lines.append((at, at))
        self._held = (len(self.lines) - 1, 1)

    def move(self, point: QPointF, view: Viewport) -> None:
        if self._held is not None:
            number, end = self._held
            ends = list(self.lines[number])
            ends[end] = view.to_image(point.x(), point.y())
            self.lines[number] = (ends[0], ends[1])

    def release(self, view: Viewport) -> None:
        """Let go; a line without length goes away."""
        if self._held is not None:
            number, self._held = self._held[0], None
            (ax, ay), (bx, by) = (view.to_widget(*end) for end in self.lines[number])
            if hypot(bx - ax, by - ay) < _SHORTEST:
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
        self._held = None
        return True

    def text(self, line: tuple[Point, Point]) -> str:
        """The length of ``line``, like ``12.4 mm`` or ``31 px``."""
        (ax, ay), (bx, by) = line
        if self.spacing_mm is None:
            return f"{hypot(bx - ax, by - ay):.0f} px"
        high, wide = self.spacing_mm
        return localise_number(f"{hypot((bx - ax) * wide, (by - ay) * high):.1f} mm")

    def paint(self, painter: QPainter, view: Viewport) -> None:
        metrics = QFontMetricsF(font(SMALL, 600))
        for line in self.lines:
            begin, end = (QPointF(*view.to_widget(*at)) for at in line)
            way = end - begin
            length = max(hypot(way.x(), way.y()), 1e-6)
            across = QPointF(-way.y() / length, way.x() / length) * _TICK
            path = QPainterPath(begin)
            path.lineTo(end)
            for at in (begin, end):
                path.moveTo(at - across)
                path.lineTo(at + across)
            painter.setRenderHint(QPainter.RenderHint.Antialiasing, True)
            stroke(painter, path, "#FFFFFF")
            text = self.text(line)
            middle = (begin + end) / 2
            beside = QPointF(8, -6) if abs(way.y()) > abs(way.x()) else QPointF(-6, -10)
            at = middle + beside
            room = view.across - metrics.horizontalAdvance(text) - 4
            cased_text(painter, QPointF(min(max(4.0, at.x()), room), max(metrics.ascent() + 2, at.y())), text)
