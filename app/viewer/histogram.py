"""The histogram under the image, with two handles for the window."""

from __future__ import annotations

import numpy as np
import numpy.typing as npt
from PySide6.QtCore import QLineF, QPointF, QRectF, QSize, Qt, Signal
from PySide6.QtGui import QKeyEvent, QMouseEvent, QPainter, QPaintEvent, QPen, QPolygonF
from PySide6.QtWidgets import QSizePolicy, QWidget

from semblance.app.shell import theme as looks
from semblance.app.shell.theme import colour, theme
from semblance.app.viewer.window_level import Window, window_text
from semblance.core.imaging.display import DisplayImage
from semblance.core.language import tr

HEIGHT = 36
INSET = 6
#: Widget pixels around a handle in which it can be dragged.
GRAB_RADIUS = 9

_KEY_STEPS = 100
#: Points of a drawn curve.
_POINTS = 65
_LOW, _HIGH, _BOTH = "low", "high", "both"
_INSIDE, _OUTSIDE = "#85858D", "#3D3D43"


def bar_heights(counts: npt.NDArray[np.int64]) -> npt.NDArray[np.float64]:
    """(n,) 0 to 1: square roots, so that a black background does not flatten the rest; the three highest
    bars may stand at the top together."""
    roots = np.sqrt(counts.astype(np.float64))
    top = float(np.sort(roots)[-3]) if len(roots) >= 3 else 0.0
    top = top or float(roots.max(initial=0.0))
    heights: npt.NDArray[np.float64] = np.minimum(1.0, roots / top) if top > 0 else roots
    return heights


class HistogramStrip(QWidget):
    """Handles at the black and the white end. Dragging between them moves both. ``window_changed``: only changes
    by the user; ``auto_requested`` a double click."""

    window_changed = Signal(object)
    auto_requested = Signal()

    def __init__(self, parent: QWidget | None = None) -> None:
        super().__init__(parent)
        self.setObjectName("histogram")
        self.setFocusPolicy(Qt.FocusPolicy.TabFocus)
        self.setAccessibleName(tr("Window and level"))
        self.setAccessibleDescription(
            tr(
                "Left and right arrows change the level, up and down arrows the width; "
                "Shift makes greater steps."
            )
        )
        self.setToolTip(tr("Drag the ends: black and white. Drag between them: brighter or darker."))
        self.setSizePolicy(QSizePolicy.Policy.Expanding, QSizePolicy.Policy.Fixed)
        self.setMouseTracking(True)
        self._image: DisplayImage | None = None
        self._heights = bar_heights(np.zeros(0, dtype=np.int64))
        self._window: Window | None = None
        self._drag: tuple[str, float, Window] | None = None
        looks.theme_signals.changed.connect(self.update)

    def show_image(self, image: DisplayImage | None) -> None:
        """The histogram of ``image``; nothing for ``None``."""
        self._image, self._drag = image, None
        self._heights = bar_heights(np.zeros(0, dtype=np.int64) if image is None else image.counts)
        self.update()

    def show_window(self, window: Window | None) -> None:
        self._window = window
        if window is not None and self._image is not None:
            self.setAccessibleName(tr("Window and level, {window}", window=window_text(self._image, window)))
        self.update()

    def position_of(self, stored: float) -> float:
        """Where a stored number lies, in widget pixels; beyond the ends at the ends."""
        assert self._image is not None
        share = (stored - self._image.low) / (self._image.high - self._image.low)
        return INSET + min(max(share, 0.0), 1.0) * (self.width() - 2 * INSET)

    def _per_pixel(self) -> float:
        assert self._image is not None
        return (self._image.high - self._image.low) / max(1, self.width() - 2 * INSET)

    def _min_width(self) -> float:
        assert self._image is not None
        return 1.0 if self._image.slope == 1 else (self._image.high - self._image.low) / 1000

    # Mouse

    def _part_at(self, x: float) -> str:
        assert self._window is not None
        low, high = self.position_of(self._window.low), self.position_of(self._window.high)
        if min(abs(x - low), abs(x - high)) <= GRAB_RADIUS:
            nearer_low = abs(x - low) < abs(x - high) or (abs(x - low) == abs(x - high) and x < low)
            return _LOW if nearer_low else _HIGH
        if low < x < high:
            return _BOTH
        return _LOW if x < low else _HIGH

    def mousePressEvent(self, event: QMouseEvent) -> None:
        if event.button() == Qt.MouseButton.LeftButton and self._window is not None:
            x = event.position().x()
            self._drag = (self._part_at(x), x, self._window)

    def mouseMoveEvent(self, event: QMouseEvent) -> None:
        if self._window is None or self._image is None:
            return
        x = event.position().x()
        if self._drag is None:
            part = self._part_at(x)
            both = part == _BOTH
            self.setCursor(Qt.CursorShape.SizeAllCursor if both else Qt.CursorShape.SizeHorCursor)
            return
        part, begin, before = self._drag
        by = (x - begin) * self._per_pixel()
        min_width = self._min_width()
        if part == _LOW:
            low = min(max(before.low + by, self._image.low), before.high - min_width)
            self._set_window(Window(low, before.high))
        elif part == _HIGH:
            high = max(min(before.high + by, self._image.high), before.low + min_width)
            self._set_window(Window(before.low, high))
        else:
            self._set_window(Window(before.low + by, before.high + by))

    def mouseReleaseEvent(self, event: QMouseEvent) -> None:
        self._drag = None

    def mouseDoubleClickEvent(self, event: QMouseEvent) -> None:
        self.auto_requested.emit()

    # Keyboard

    def keyPressEvent(self, event: QKeyEvent) -> None:
        if self._window is None or self._image is None:
            super().keyPressEvent(event)
            return
        step = (self._image.high - self._image.low) / _KEY_STEPS
        if event.modifiers() & Qt.KeyboardModifier.ShiftModifier:
            step *= 10
        level, width = self._window.level, self._window.width
        match event.key():
            case Qt.Key.Key_Left:
                level -= step
            case Qt.Key.Key_Right:
                level += step
            case Qt.Key.Key_Up:
                width += step
            case Qt.Key.Key_Down:
                width -= step
            case Qt.Key.Key_0:
                self.auto_requested.emit()
                return
            case _:
                super().keyPressEvent(event)
                return
        self._set_window(Window.around(level, width, self._min_width()))

    def _set_window(self, window: Window) -> None:
        if window != self._window:
            self.show_window(window)
            self.window_changed.emit(window)

    # Painting

    def sizeHint(self) -> QSize:
        return QSize(200, HEIGHT)

    def minimumSizeHint(self) -> QSize:
        return QSize(80, HEIGHT)

    def paintEvent(self, event: QPaintEvent) -> None:
        painter = QPainter(self)
        painter.fillRect(self.rect(), colour(theme().image_well))
        if self._image is not None and self._window is not None:
            low, high = self.position_of(self._window.low), self.position_of(self._window.high)
            self._paint_bars(painter, low, high)
            self._paint_window(painter, low, high)
        if self.hasFocus():
            pen = QPen(colour(theme().region), 2)
            pen.setJoinStyle(Qt.PenJoinStyle.MiterJoin)
            painter.setRenderHint(QPainter.RenderHint.Antialiasing, False)
            painter.setPen(pen)
            painter.setBrush(Qt.BrushStyle.NoBrush)
            painter.drawRect(self.rect().adjusted(1, 1, -1, -1))
        painter.end()

    def _paint_bars(self, painter: QPainter, low: float, high: float) -> None:
        n = len(self._heights)
        width, height_limit = self.width() - 2 * INSET, self.height() - 4
        edges = [INSET + round(i * width / n) for i in range(n + 1)]
        for i, share in enumerate(self._heights):
            if share <= 0:
                continue
            left, right = edges[i], edges[i + 1]
            height = max(1, round(share * height_limit))
            middle = (left + right) / 2
            shade = _INSIDE if low <= middle <= high else _OUTSIDE
            gap = 1 if right - left > 2 else 0
            painter.fillRect(left, self.height() - height, right - left - gap, height, colour(shade))

    def _line(self, low: float, high: float, bottom: float) -> QPolygonF:
        """The greys from black at the bottom to white at the top, a straight line or the window's curve."""
        assert self._window is not None
        shares = np.linspace(0, 1, 2 if self._window.curve is None else _POINTS, dtype=np.float32)
        greys = shares if self._window.curve is None else self._window.curve.grey(shares)
        points = zip(low + shares * (high - low), (1 - greys) * bottom, strict=True)
        return QPolygonF([QPointF(float(x), float(y)) for x, y in points])

    def _paint_window(self, painter: QPainter, low: float, high: float) -> None:
        shade = colour(theme().region)
        bottom = float(self.height())
        painter.setRenderHint(QPainter.RenderHint.Antialiasing, True)
        painter.setPen(QPen(colour(theme().region, 0.7), 1))
        painter.drawPolyline(self._line(low, high, bottom))
        painter.setPen(QPen(shade, 1.5))
        for x in (low, high):
            painter.drawLine(QLineF(x, 0, x, bottom))
        painter.setPen(Qt.PenStyle.NoPen)
        painter.setBrush(shade)
        for x in (low, high):
            painter.drawRoundedRect(QRectF(x - 3, bottom / 2 - 6, 6, 12), 2, 2)
        painter.setBrush(Qt.BrushStyle.NoBrush)
