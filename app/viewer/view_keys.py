"""The keys of the image view."""

from __future__ import annotations

from collections.abc import Callable

from PySide6.QtCore import Qt
from PySide6.QtGui import QKeyEvent

from semblance.app.viewer import tools
from semblance.app.viewer.image_display import ImageDisplay
from semblance.app.viewer.pointer import Pointer
from semblance.app.viewer.region_tool import ARROWS

ZOOM_STEP = 1.25
_PAN = 32
_ALL_SLICES = 1 << 30


class ViewKeys:
    """The keys of one view: those of the current tool, of presets, of tools, and of actions."""

    def __init__(self, view: ImageDisplay, pointer: Pointer) -> None:
        self._view, self._pointer = view, pointer
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
        }
        self._tools = {tool.key: tool.name for tool in tools.ALL}

    def handles(self, event: QKeyEvent) -> bool:
        """Whether the view uses a key instead of the window's shortcut."""
        if event.modifiers() & ~(Qt.KeyboardModifier.KeypadModifier | Qt.KeyboardModifier.ShiftModifier):
            return False
        text = event.text().upper()
        # An image that nothing is drawn on leaves E to the window.
        drawn = self._view.editable or self._tools.get(text) in (tools.SELECT, tools.RULER)
        is_view_key = (text in self._tools and drawn) or event.key() in self._actions
        return is_view_key or any(text == preset.key for preset in self._view.presets)

    def press(self, event: QKeyEvent) -> bool:
        """Whether a key did something."""
        view, key, modifiers = self._view, event.key(), event.modifiers()
        if self._pointer.key(event):
            view.update()
            return True
        if modifiers & ~(Qt.KeyboardModifier.KeypadModifier | Qt.KeyboardModifier.ShiftModifier):
            return False
        shift = bool(modifiers & Qt.KeyboardModifier.ShiftModifier)
        if view.leaves_arrows and key in (Qt.Key.Key_Left, Qt.Key.Key_Right) and not shift:
            return False
        if key in ARROWS:
            step = _PAN * (10 if shift and not view.leaves_arrows else 1)
            view.pan_by(-ARROWS[key][0] * step, -ARROWS[key][1] * step)
            return True
        preset = next((p for p in view.presets if event.text() == p.key), None)
        if preset is not None:
            view.use_preset(preset)
        elif event.text().upper() in self._tools:
            self._pointer.set_tool(self._tools[event.text().upper()])
            self._pointer.start_keyboard_pointer()
        elif key in self._actions:
            self._actions[key]()
        else:
            return False
        return True

    def _toggle_playing(self) -> None:
        if self._view.scrolls:
            self._view.run_requested.emit()
