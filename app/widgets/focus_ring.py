"""The ring around the widget with the keyboard focus: 2 px wide, 2 px outside, never after a click.

Lists, tables and texts fill their panel, so their ring is drawn inside.
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
from semblance.app.widgets.buttons import Segmented

_OUTER_RING = (QAbstractButton, QComboBox, QSlider, QTabBar, Segmented)
_INNER_RING = (QAbstractItemView, QScrollArea, QTextBrowser)
_OFFSET = 4
_GEOMETRY_EVENTS = (
    QEvent.Type.Move,
    QEvent.Type.Resize,
    QEvent.Type.Show,
    QEvent.Type.Hide,
    QEvent.Type.ParentChange,
    QEvent.Type.ZOrderChange,
)


class FocusRing(QObject):
    """Follows the keyboard focus of the whole program."""

    def __init__(self, app: QApplication) -> None:
        super().__init__(app)
        self.target: QWidget | None = None
        self._filtered: list[QWidget] = []
        self.overlay: _RingOverlay | None = None
        self._last_input = _LastInput(self)
        app.focusChanged.connect(self._move_to)
        app.focusWindowChanged.connect(self._last_input.watch)

    def _move_to(self, _old: QWidget | None, new: QWidget | None) -> None:
        self._clear()
        by_mouse = self._last_input.is_mouse or QApplication.mouseButtons() != Qt.MouseButton.NoButton
        if new is None or by_mouse or not _has_ring(new):
            return
        self.target = new
        self.overlay = _RingOverlay(new.window())
        widget: QWidget | None = new
        while widget is not None and not widget.isWindow():
            widget.installEventFilter(self)
            self._filtered.append(widget)
            widget = widget.parentWidget()
        self._place()

    def _clear(self) -> None:
        for widget in self._filtered:
            if isValid(widget):
                widget.removeEventFilter(self)
        self._filtered = []
        self.target = None
        if self.overlay is not None and isValid(self.overlay):
            self.overlay.hide()
            self.overlay.deleteLater()
        self.overlay = None

    def eventFilter(self, watched: QObject, event: QEvent) -> bool:
        if event.type() in _GEOMETRY_EVENTS:
            self._place()
        elif event.type() == QEvent.Type.MouseButtonPress and watched is self.target:
            self._clear()
        return False

    def _place(self) -> None:
        widget, overlay = self.target, self.overlay
        if widget is None or overlay is None or not (isValid(widget) and isValid(overlay)):
            return
        window = widget.window()
        size = widget.size()
        if isinstance(widget, QCheckBox | QRadioButton):
            size = size.boundedTo(widget.sizeHint().expandedTo(QSize(0, size.height())))
        outline = QRect(widget.mapTo(window, QPoint(0, 0)), size)
        # The ring of a widget that is partly scrolled out must not cover the widgets around the scroll area.
        parent = widget.parentWidget()
        visible_area = window.rect()
        while parent is not None and not parent.isWindow():
            if parent.objectName() == "qt_scrollarea_viewport":
                visible_area = visible_area.intersected(
                    QRect(parent.mapTo(window, QPoint(0, 0)), parent.size())
                )
            parent = parent.parentWidget()
        offset = 0 if _has_inner_ring(widget) else _OFFSET
        overlay.set_rect(outline.adjusted(-offset, -offset, offset, offset), visible_area)
        overlay.setVisible(widget.isVisible())
        overlay.raise_()


def _has_inner_ring(widget: QWidget) -> bool:
    return isinstance(widget, _INNER_RING) or widget.property("ring") == "inside"


def _has_ring(widget: QWidget) -> bool:
    if widget.property("ring") is False or widget.window().windowType() == Qt.WindowType.Popup:
        return False
    return isinstance(widget, _OUTER_RING) or _has_inner_ring(widget)


class _LastInput(QObject):
    """Whether the last input was by mouse. A click that closes a window also moves the focus."""

    def __init__(self, parent: QObject) -> None:
        super().__init__(parent)
        self.is_mouse = False

    def watch(self, window: QWindow | None) -> None:
        """Filter the events of ``window``; a filter of the application would be called for every event."""
        if window is not None:
            window.installEventFilter(self)

    def eventFilter(self, watched: QObject, event: QEvent) -> bool:
        if event.type() == QEvent.Type.MouseButtonPress:
            self.is_mouse = True
        elif event.type() == QEvent.Type.KeyPress:
            self.is_mouse = False
        return False


class _RingOverlay(QWidget):
    def __init__(self, window: QWidget) -> None:
        super().__init__(window)
        self._ring = QRect()
        self.setAttribute(Qt.WidgetAttribute.WA_TransparentForMouseEvents)
        self.setAttribute(Qt.WidgetAttribute.WA_NoSystemBackground)
        self.setFocusPolicy(Qt.FocusPolicy.NoFocus)

    def set_rect(self, ring: QRect, visible_area: QRect) -> None:
        """Set the outer edge of the ring and the area it is clipped to, in the window's coordinates."""
        shown = ring.intersected(visible_area)
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
    """Show the focus ring in ``app``. The application owns the object."""
    return FocusRing(app)
