"""The ring around what the keyboard talks to: 2 px, 2 px outside, never after a click.

Lists, tables and texts fill their panel: theirs is drawn inside.
"""

from __future__ import annotations

from PySide6.QtCore import QEvent, QObject, QPoint, QRect, QRectF, QSize, Qt
from PySide6.QtGui import QPainter, QPaintEvent, QPen, QWindow
from PySide6.QtWidgets import (
    QAbstractButton,
    QAbstractItemView,
    QApplication,
    QCheckBox,
    QComboBox,
    QRadioButton,
    QScrollArea,
    QSlider,
    QTabBar,
    QTextBrowser,
    QWidget,
)
from shiboken6 import isValid

from semblance.app.shell.theme import colour, theme
from semblance.app.widgets.segmented import Segmented

_RINGED = (QAbstractButton, QComboBox, QSlider, QTabBar, Segmented)
_INSIDE = (QAbstractItemView, QScrollArea, QTextBrowser)
_OUT = 4
_MOVES = (
    QEvent.Type.Move,
    QEvent.Type.Resize,
    QEvent.Type.Show,
    QEvent.Type.Hide,
    QEvent.Type.ParentChange,
    QEvent.Type.ZOrderChange,
)


class FocusRing(QObject):
    """Follows the focus of the whole program; keep the object :func:`install` gives alive."""

    def __init__(self, app: QApplication) -> None:
        super().__init__(app)
        self._around: QWidget | None = None
        self._followed: list[QWidget] = []
        self._frame: _Frame | None = None
        self._hand = _Hand(self)
        app.focusChanged.connect(self._moved)
        app.focusWindowChanged.connect(self._hand.watch)

    def _moved(self, _old: QWidget | None, new: QWidget | None) -> None:
        self._leave()
        by_mouse = self._hand.on_mouse or QApplication.mouseButtons() != Qt.MouseButton.NoButton
        if new is None or by_mouse or not _is_ringed(new):
            return
        self._around = new
        self._frame = _Frame(new.window())
        widget: QWidget | None = new
        while widget is not None and not widget.isWindow():
            widget.installEventFilter(self)
            self._followed.append(widget)
            widget = widget.parentWidget()
        self._place()

    def _leave(self) -> None:
        for widget in self._followed:
            if isValid(widget):
                widget.removeEventFilter(self)
        self._followed = []
        self._around = None
        if self._frame is not None and isValid(self._frame):
            self._frame.hide()
            self._frame.deleteLater()
        self._frame = None

    def eventFilter(self, watched: QObject, event: QEvent) -> bool:
        if event.type() in _MOVES:
            self._place()
        elif event.type() == QEvent.Type.MouseButtonPress and watched is self._around:
            self._leave()
        return False

    def _place(self) -> None:
        widget, frame = self._around, self._frame
        if widget is None or frame is None or not (isValid(widget) and isValid(frame)):
            return
        window = widget.window()
        size = widget.size()
        if isinstance(widget, QCheckBox | QRadioButton):
            size = size.boundedTo(widget.sizeHint().expandedTo(QSize(0, size.height())))
        seen = QRect(widget.mapTo(window, QPoint(0, 0)), size)
        # A widget scrolled half out of its panel must not be ringed over its neighbours.
        parent = widget.parentWidget()
        room = window.rect()
        while parent is not None and not parent.isWindow():
            if parent.objectName() == "qt_scrollarea_viewport":
                room = room.intersected(QRect(parent.mapTo(window, QPoint(0, 0)), parent.size()))
            parent = parent.parentWidget()
        out = 0 if _is_inside(widget) else _OUT
        frame.set_rect(seen.adjusted(-out, -out, out, out), room)
        frame.setVisible(widget.isVisible())
        frame.raise_()


def _is_inside(widget: QWidget) -> bool:
    return isinstance(widget, _INSIDE) or widget.property("ring") == "inside"


def _is_ringed(widget: QWidget) -> bool:
    if widget.property("ring") is False or widget.window().windowType() == Qt.WindowType.Popup:
        return False
    return isinstance(widget, _RINGED) or _is_inside(widget)


class _Hand(QObject):
    """Knows whether the hand was last on the mouse: what a click closes hands the focus on too."""

    def __init__(self, parent: QObject) -> None:
        super().__init__(parent)
        self.on_mouse = False

    def watch(self, window: QWindow | None) -> None:
        """Windows of the system get few events; a filter of the whole program would see every one."""
        if window is not None:
            window.installEventFilter(self)

    def eventFilter(self, watched: QObject, event: QEvent) -> bool:
        if event.type() == QEvent.Type.MouseButtonPress:
            self.on_mouse = True
        elif event.type() == QEvent.Type.KeyPress:
            self.on_mouse = False
        return False


class _Frame(QWidget):
    def __init__(self, window: QWidget) -> None:
        super().__init__(window)
        self._ring = QRect()
        self.setAttribute(Qt.WidgetAttribute.WA_TransparentForMouseEvents)
        self.setAttribute(Qt.WidgetAttribute.WA_NoSystemBackground)
        self.setFocusPolicy(Qt.FocusPolicy.NoFocus)

    def set_rect(self, ring: QRect, room: QRect) -> None:
        """The ring's outer edge and what may be drawn on, in the window's coordinates."""
        shown = ring.intersected(room)
        self.setGeometry(shown)
        self._ring = ring.translated(-shown.topLeft())
        self.update()

    def paintEvent(self, event: QPaintEvent) -> None:
        painter = QPainter(self)
        painter.setRenderHint(QPainter.RenderHint.Antialiasing)
        painter.setPen(QPen(colour(theme().accent), 2))
        painter.drawRoundedRect(QRectF(self._ring).adjusted(1, 1, -1, -1), 6, 6)
        painter.end()


def install(app: QApplication) -> FocusRing:
    """Let the ring follow the focus of ``app``."""
    return FocusRing(app)
