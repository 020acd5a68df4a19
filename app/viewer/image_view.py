"""The widget that shows one image: zoom, pan, window and level, overlay text and the drawing tools.

It applies the window to the visible part only, at the size of the screen. That takes about 3 ms for 4,664 x 3,064
pixels of 16 bits. pyqtgraph's ImageItem would apply it to all pixels on every move.
"""

from __future__ import annotations

from collections.abc import Callable

from PySide6.QtCore import QEvent, QPointF, Qt
from PySide6.QtGui import (
    QEnterEvent,
    QFocusEvent,
    QKeyEvent,
    QMouseEvent,
    QPainter,
    QPaintEvent,
    QWheelEvent,
)
from PySide6.QtWidgets import QApplication, QWidget

from semblance.app.viewer import tools
from semblance.app.viewer.image_display import ImageDisplay
from semblance.app.viewer.pointer import Pointer
from semblance.app.viewer.region_tool import ARROWS
from semblance.app.viewer.view_painting import paint_focus, paint_view
from semblance.core.imaging.display import DisplayImage
from semblance.core.imaging.region import Region

ZOOM_STEP = 1.25
#: While it is held, the image around the pointer is magnified so many times, without and with Shift.
MAGNIFIER, FACTORS = Qt.Key.Key_G, (2.0, 4.0)
_PAN = 32
_ALL_SLICES = 1 << 30


class ViewKeys:
    """The keys of one view: those of the current tool, of presets, of tools, and of actions."""

    def __init__(self, view: ImageDisplay, pointer: Pointer) -> None:
        self._view, self._pointer = view, pointer
        self._is_shift_held = False
        self._actions: dict[int, Callable[[], None]] = {
            Qt.Key.Key_0: view.auto,
            Qt.Key.Key_1: view.actual_size,
            Qt.Key.Key_F: view.fit,
            Qt.Key.Key_I: view.invert,
            Qt.Key.Key_H: view.flip,
            Qt.Key.Key_T: view.rotate,
            Qt.Key.Key_Plus: lambda: view.zoom_by(ZOOM_STEP),
            Qt.Key.Key_Equal: lambda: view.zoom_by(ZOOM_STEP),
            Qt.Key.Key_Minus: lambda: view.zoom_by(1 / ZOOM_STEP),
            Qt.Key.Key_PageUp: lambda: view.scroll_by(-1),
            Qt.Key.Key_PageDown: lambda: view.scroll_by(1),
            Qt.Key.Key_Home: lambda: view.scroll_by(-_ALL_SLICES),
            Qt.Key.Key_End: lambda: view.scroll_by(_ALL_SLICES),
            Qt.Key.Key_C: self._toggle_playing,
            Qt.Key.Key_J: lambda: view.key_image_requested.emit(self._is_shift_held),
        }
        self._tools = {tool.key: tool.name for tool in (*tools.ALL, *tools.MEASURING)}

    def _tool_of(self, event: QKeyEvent) -> str | None:
        """The tool of a key."""
        shift = event.modifiers() & Qt.KeyboardModifier.ShiftModifier
        return self._tools.get(("Shift+" if shift else "") + event.text().upper())

    def handles(self, event: QKeyEvent) -> bool:
        """Whether the view uses a key instead of the window's shortcut."""
        if event.modifiers() & ~(Qt.KeyboardModifier.KeypadModifier | Qt.KeyboardModifier.ShiftModifier):
            return False
        tool = self._tool_of(event)
        # An image that nothing is drawn on leaves E to the window.
        drawn = self._view.editable or tool == tools.SELECT or tool in tools.KINDS
        is_view_key = (tool is not None and drawn) or event.key() in (*self._actions, MAGNIFIER)
        is_view_key = is_view_key or (self._tools.get(event.text().upper()) == tools.RULER)
        return is_view_key or any(event.text() == preset.key for preset in self._view.presets)

    def press(self, event: QKeyEvent) -> bool:
        """Whether a key did something."""
        view, key, modifiers = self._view, event.key(), event.modifiers()
        if self._pointer.key(event):
            view.update()
            return True
        if modifiers & ~(Qt.KeyboardModifier.KeypadModifier | Qt.KeyboardModifier.ShiftModifier):
            return False
        shift = self._is_shift_held = bool(modifiers & Qt.KeyboardModifier.ShiftModifier)
        if view.leaves_arrows and key in (Qt.Key.Key_Left, Qt.Key.Key_Right) and not shift:
            return False
        if key in ARROWS:
            step = _PAN * (10 if shift and not view.leaves_arrows else 1)
            view.pan_by(-ARROWS[key][0] * step, -ARROWS[key][1] * step)
            return True
        preset = next((p for p in view.presets if event.text() == p.key), None)
        if preset is not None:
            view.use_preset(preset)
        elif shift and key == Qt.Key.Key_M:
            view.set_measurements_shown(not view.measure.is_shown)
        elif key == MAGNIFIER:
            view.magnify(FACTORS[shift])
        elif (tool := self._tool_of(event)) is not None:
            self._pointer.set_tool(tool)
            self._pointer.start_keyboard_pointer()
        elif key in self._actions:
            self._actions[key]()
        else:
            return False
        return True

    def _toggle_playing(self) -> None:
        if self._view.scrolls:
            self._view.run_requested.emit()


_BY_KEYBOARD = (
    Qt.FocusReason.TabFocusReason,
    Qt.FocusReason.BacktabFocusReason,
    Qt.FocusReason.ShortcutFocusReason,
    Qt.FocusReason.OtherFocusReason,
)


class ImageView(ImageDisplay):
    """An image that mouse and keyboard move, window and draw on."""

    def __init__(self, parent: QWidget | None = None) -> None:
        super().__init__(parent)
        self.setFocusPolicy(Qt.FocusPolicy.StrongFocus)
        self.setMouseTracking(True)
        self._by_keyboard = False
        self._wheel_angle = 0
        self.pointer = Pointer(self)
        self._keys = ViewKeys(self, self.pointer)

    @property
    def tool(self) -> str:
        return self.pointer.tool

    def set_tool(self, name: str) -> None:
        """Raises:
        ValueError: not one of :data:`semblance.app.viewer.tools.ALL`.
        """
        self.pointer.set_tool(name)

    def show_image(self, image: DisplayImage | None, region: Region | None = None) -> None:
        """Show another image or none: fitted, not rotated, with its own window and ``region``."""
        self.pointer.begin()
        super().show_image(image, region)
        self.pointer.show_cursor()

    @property
    def can_undo(self) -> bool:
        """Whether a change of the region or of the measurements can be undone."""
        return self.measure.can_undo or (self.editable and self.region.can_undo)

    def undo(self) -> None:
        """Undo the last change of the region or of the measurements."""
        self.pointer.undo()

    # Mouse

    def mousePressEvent(self, event: QMouseEvent) -> None:
        if self._renderer is None:
            super().mousePressEvent(event)
            return
        self._by_keyboard = False
        if event.button() == Qt.MouseButton.RightButton:
            self.measure.select_at(event.position(), self._view)
        self.pointer.press(event)
        self.pointer.show_cursor(event.position())
        self.update()

    def mouseMoveEvent(self, event: QMouseEvent) -> None:
        self.mouse_at = event.position()
        self.pointer.move(event.position(), fine=bool(event.modifiers() & Qt.KeyboardModifier.ShiftModifier))
        self._update_pixel_under_mouse(event.position())
        if self.pointer.busy or self.tool == tools.BRUSH or self.magnified:
            self.update()

    def mouseReleaseEvent(self, event: QMouseEvent) -> None:
        self.pointer.release(event.position())
        self.update()

    def mouseDoubleClickEvent(self, event: QMouseEvent) -> None:
        if event.button() == Qt.MouseButton.LeftButton and not self.pointer.double_click():
            self.fit()
        self.update()

    def wheelEvent(self, event: QWheelEvent) -> None:
        # Some systems turn the wheel sideways while Shift is held.
        angle = event.angleDelta().y() or event.angleDelta().x()
        if self._renderer is None or angle == 0:
            event.ignore()
            return
        event.accept()
        is_slab = self.has_slabs and bool(event.modifiers() & Qt.KeyboardModifier.ShiftModifier)
        if is_slab or (self.scrolls and not event.modifiers() & Qt.KeyboardModifier.ControlModifier):
            # Fine wheels send less than a notch at a time.
            self._wheel_angle += angle
            steps = int(self._wheel_angle / 120)
            self._wheel_angle -= 120 * steps
            if is_slab:
                self.slab_scrolled.emit(steps)
                return
            self.scroll_by(-steps * self.settings.slices_per_notch)
            return
        at = event.position()
        self._set_view(self._view.zoomed(ZOOM_STEP ** (angle / 120), at.x(), at.y()))

    def enterEvent(self, event: QEnterEvent) -> None:
        self.pointer.show_cursor(event.position())

    def leaveEvent(self, event: QEvent) -> None:
        self.pointer.leave()
        self.mouse_at = None
        self.pixel_under_mouse = None
        self.pointed_at.emit(None)
        self.update()

    def _update_pixel_under_mouse(self, at: QPointF) -> None:
        """Set the image pixel under the mouse, whose value is shown."""
        x, y = (int(value // 1) for value in self._view.to_image(at.x(), at.y()))
        inside = 0 <= x < self._view.width and 0 <= y < self._view.height
        pixel_under_mouse = (x, y) if inside and self._renderer is not None else None
        if pixel_under_mouse != self.pixel_under_mouse:
            self.pixel_under_mouse = pixel_under_mouse
            self.pointed_at.emit(pixel_under_mouse)
            self.update()

    # Keyboard

    def event(self, event: QEvent) -> bool:
        # Ctrl+Down is the window's next case; while a region can be moved it resizes that. E is the ellipse
        # here and an example in the window.
        key_event = event if event.type() == QEvent.Type.ShortcutOverride else None
        is_view_key = (
            isinstance(key_event, QKeyEvent) and self._renderer is not None and self._keys.handles(key_event)
        )
        if is_view_key or (
            isinstance(key_event, QKeyEvent)
            and (self.measure.handles(key_event) or (self.editable and self.region.handles(key_event)))
        ):
            event.accept()
            return True
        return super().event(event)

    def keyPressEvent(self, event: QKeyEvent) -> None:
        self._by_keyboard = self.hasFocus()
        if not self.press_key(event):
            super().keyPressEvent(event)

    def press_key(self, event: QKeyEvent) -> bool:
        """Whether the image has a use for the key that was pressed, here or in a widget that has none."""
        # The magnifier stays while its key is held, which only the widget with the keyboard knows.
        is_held = event.key() == MAGNIFIER and not self.hasFocus()
        return self._renderer is not None and not is_held and self._keys.press(event)

    def keyReleaseEvent(self, event: QKeyEvent) -> None:
        if event.key() in ARROWS and not event.isAutoRepeat():
            self.region.release_keys()
            self.measure.release_keys()
        if event.key() == MAGNIFIER and not event.isAutoRepeat():
            self.magnify(0)
        super().keyReleaseEvent(event)

    def focusInEvent(self, event: QFocusEvent) -> None:
        by_mouse = QApplication.mouseButtons() != Qt.MouseButton.NoButton
        self._by_keyboard = event.reason() in _BY_KEYBOARD and not by_mouse
        super().focusInEvent(event)
        self.update()

    def focusOutEvent(self, event: QFocusEvent) -> None:
        self.region.release_keys()
        self.measure.release_keys()
        self.magnify(0)
        super().focusOutEvent(event)
        self.update()

    # Painting

    def paintEvent(self, event: QPaintEvent) -> None:
        painter = QPainter(self)
        paint_view(painter, self, self.pointer, self._renderer)
        if self.hasFocus() and self._by_keyboard:
            paint_focus(painter, self.rect())
        painter.end()
