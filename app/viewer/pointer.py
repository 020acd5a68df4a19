"""Mouse and drawing keys on an image: the tool that handles them, and the cursor, which the keyboard moves too."""

from __future__ import annotations

from PySide6.QtCore import QPointF, QSize, Qt
from PySide6.QtGui import QKeyEvent, QKeySequence, QMouseEvent, QPainter, QPainterPath

from semblance.app.shell.theme import theme
from semblance.app.viewer import tools
from semblance.app.viewer.image_display import ImageDisplay
from semblance.app.viewer.region_tool import ARROWS, CLICK_DISTANCE, cursor_for
from semblance.app.viewer.tools import BrushTool, PathTool
from semblance.app.viewer.window_level import Window, dragged
from semblance.app.widgets.place_marks import stroke
from semblance.core.imaging.measurements import Figure
from semblance.core.imaging.region import Region

#: Tools for which the arrow keys move the pointer, and Enter or the space bar clicks.
POINTED_TOOLS = frozenset((tools.SEGMENT, tools.POLYGON))
#: Widget pixels of a step, and of one with Shift.
STEP, LARGE_STEP = 4, 40
_ARM, _GAP = 9, 3
_SHIFT = Qt.KeyboardModifier.ShiftModifier


class KeyboardPointer:
    """``at``: the position in the widget; ``None`` while the mouse is used."""

    def __init__(self) -> None:
        self.at: QPointF | None = None

    def begin(self, size: QSize) -> None:
        """Point at the centre of a widget of this size."""
        self.at = QPointF(size.width() / 2, size.height() / 2)

    def move(self, event: QKeyEvent, size: QSize) -> bool:
        """Move by an arrow key inside the widget; returns whether it was one."""
        held = event.modifiers() & ~Qt.KeyboardModifier.KeypadModifier
        if event.key() not in ARROWS or held not in (Qt.KeyboardModifier.NoModifier, _SHIFT):
            return False
        if self.at is None:
            self.begin(size)
        assert self.at is not None
        step = LARGE_STEP if held == _SHIFT else STEP
        right, down = ARROWS[event.key()]
        x, y = self.at.x() + right * step, self.at.y() + down * step
        self.at = QPointF(min(max(x, 0.0), size.width() - 1.0), min(max(y, 0.0), size.height() - 1.0))
        return True

    def paint(self, painter: QPainter) -> None:
        """A small cross, open in the middle."""
        if self.at is None:
            return
        path, x, y = QPainterPath(), self.at.x(), self.at.y()
        for right, down in ((1, 0), (-1, 0), (0, 1), (0, -1)):
            path.moveTo(x + right * _GAP, y + down * _GAP)
            path.lineTo(x + right * _ARM, y + down * _ARM)
        stroke(painter, path, theme().region)


#: Widget pixels around a line of the cross in which it can be dragged.
_GRAB_RADIUS = 5
_ENTER = (Qt.Key.Key_Return, Qt.Key.Key_Enter)
_LINE_CURSORS = {
    (True, False): Qt.CursorShape.SplitHCursor,
    (False, True): Qt.CursorShape.SplitVCursor,
    (True, True): Qt.CursorShape.SizeAllCursor,
}
#: The share of a drag that counts for window and level while Shift is held.
FINE = 0.2


class Pointer:
    """Passes mouse events of ``view`` to the current tool. The middle button and Ctrl always pan."""

    def __init__(self, view: ImageDisplay) -> None:
        self._view = view
        self.region = view.region
        self.path = PathTool()
        self.brush = BrushTool()
        self.measure = view.measure
        self.keyboard_pointer = KeyboardPointer()
        self.tool = tools.SELECT
        #: The window that a drag began with.
        self._windowing: Window | None = None
        #: The last position of the mouse in that drag, and the distance it moved, px.
        self._windowing_at, self._windowed = QPointF(), QPointF()
        self._panning: QPointF | None = None
        self._clicking: QPointF | None = None
        #: Which lines of the cross are dragged: the upright one, and the level one.
        self._dragged_lines = (False, False)

    def begin(self) -> None:
        """Reset everything for another image or tool."""
        self._windowing = self._panning = self._clicking = None
        self._dragged_lines = (False, False)
        self.path.cancel()
        self.brush.release()
        self.brush.leave()
        self.measure.cancel()
        self.keyboard_pointer.at = None

    def set_tool(self, name: str) -> None:
        """Raises:
        ValueError: not one of :data:`semblance.app.viewer.tools.ALL`.
        """
        if name not in tools.NAMES:
            raise ValueError(name)
        if name != self.tool:
            self.begin()
            self.tool = name
            self.show_cursor()
            self._view.tool_changed.emit(name)
            self._view.update()

    @property
    def busy(self) -> bool:
        """A region or a figure is being drawn or changed."""
        return self.region.dragging or self.path.active or self.brush.active or self.measure.active

    # Mouse

    def press(self, event: QMouseEvent) -> None:
        self.keyboard_pointer.at = None
        at, button = event.position(), event.button()
        # Ctrl, for those who have no middle button.
        control = bool(event.modifiers() & Qt.KeyboardModifier.ControlModifier)
        if button == Qt.MouseButton.MiddleButton or (button == Qt.MouseButton.LeftButton and control):
            self._panning = at
        elif button == Qt.MouseButton.LeftButton and not self._press_tool(at, event.modifiers()):
            self._dragged_lines = self._lines_at(at)
            if not any(self._dragged_lines):
                self._windowing = self._view.window_level
                self._windowing_at, self._windowed = at, QPointF()
                self._clicking = at

    def _press_tool(self, at: QPointF, modifiers: Qt.KeyboardModifier) -> bool:
        """Pass a left press to the tool; returns whether it handled it."""
        view = self._view.viewport
        kind = tools.KINDS.get(self.tool, "")
        if self.tool == tools.ROI_FREEHAND:
            if not self.measure.press(at, view, ""):
                self.path.press(at, view, free=True)
            return True
        if (kind or self.tool == tools.SELECT) and self.measure.press(at, view, kind):
            return True
        if not self._view.editable:
            return False
        if self.tool == tools.BRUSH:
            erase = bool(modifiers & Qt.KeyboardModifier.AltModifier)
            self.brush.press(at, view, self.region.region, erase=erase)
            self.region.draw(self.brush.region(), done=False)
            return True
        if self.tool in tools.PATHS:
            # A grip of the region is for moving it only while no corner is set.
            if self.path.active or not self.region.press(at, view, draw=False):
                closed = self.path.press(at, view, free=self.tool == tools.FREEHAND)
                if closed is not None:
                    self.region.draw(closed)
            return True
        if self.tool == tools.SEGMENT:
            if not self.region.press(at, view, draw=False):
                x, y = view.to_image(at.x(), at.y())
                if 0 <= x < view.width and 0 <= y < view.height:
                    self._view.segment_requested.emit(int(x), int(y))
            return True
        draw = self.tool in tools.BOXES
        return self.region.press(at, view, draw=draw, ellipse=self.tool == tools.ELLIPSE)

    def move(self, at: QPointF, *, fine: bool = False) -> None:
        """The mouse moved. ``fine``: window and level follow it in small steps."""
        view, image = self._view.viewport, self._view.image
        if self._panning is not None:
            step = at - self._panning
            self._panning = at
            self._view.pan_by(step.x(), step.y())
        elif any(self._dragged_lines):
            self._locate(at, self._dragged_lines)
        elif self.region.dragging:
            self.region.drag(at, view)
        elif self._windowing is not None and image is not None:
            self._windowed += (at - self._windowing_at) * (
                self._view.settings.drag_speed * (FINE if fine else 1.0)
            )
            self._windowing_at = at
            self._view.set_window(dragged(self._windowing, image, self._windowed.x(), self._windowed.y()))
        elif self.measure.active or self.measure.drawing:
            self.measure.move(at, view)
        elif self.tool == tools.BRUSH:
            if self.brush.move(at, view):
                self.region.draw(self.brush.region(), done=False)
        else:
            self.path.move(at, view)
            self.show_cursor(at)

    def release(self, at: QPointF) -> None:
        clicked = self._clicking
        is_click = clicked is not None and (at - clicked).manhattanLength() < CLICK_DISTANCE
        if is_click and self._view.cross is not None:
            self._locate(at)
        self._panning = self._windowing = self._clicking = None
        self._dragged_lines = (False, False)
        if self.brush.active:
            drawn = self.brush.region()
            self.brush.release()
            self.region.draw(drawn)
        if self.measure.active or self.measure.drawing:
            self.measure.release(at)
        drawn = self.path.release()
        if drawn is not None:
            self._use_drawn(drawn)
        self.region.release()
        self.show_cursor(at)

    def _use_drawn(self, region: Region) -> None:
        """A path was closed: the region to search with or, with a tool that measures, one to measure."""
        if self.tool in tools.KINDS:
            self.measure.add(Figure.of_region(region))
        else:
            self.region.draw(region)

    def _lines_at(self, at: QPointF) -> tuple[bool, bool]:
        """Which lines of the cross a press here drags, the upright and the level one; both where they cross."""
        if self._view.cross is None:
            return False, False
        x, y = self._view.viewport.to_widget(*self._view.cross)
        return abs(at.x() - x) <= _GRAB_RADIUS, abs(at.y() - y) <= _GRAB_RADIUS

    def _locate(self, at: QPointF, lines: tuple[bool, bool] = (True, True)) -> None:
        """Emit the new position of the cross, inside the image: of the upright, the level, or both ``lines``."""
        view, cross = self._view.viewport, self._view.cross
        if cross is not None:
            before = view.to_widget(*cross)
            at = QPointF(at.x() if lines[0] else before[0], at.y() if lines[1] else before[1])
        x, y = view.to_image(at.x(), at.y())
        self._view.located.emit(min(max(x, 0.0), float(view.width)), min(max(y, 0.0), float(view.height)))

    def double_click(self) -> bool:
        """Close a polygon; returns whether the tool uses double clicks."""
        if self.path.active:
            drawn = self.path.finish()
            if drawn is not None:
                self.region.draw(drawn)
            return True
        return self.tool in (tools.BRUSH, tools.SEGMENT, *tools.KINDS, *tools.PATHS)

    def leave(self) -> None:
        """The mouse left the image."""
        self.brush.leave()

    def show_cursor(self, at: QPointF | None = None) -> None:
        shape = Qt.CursorShape.ArrowCursor
        view = self._view
        lines = (False, False) if at is None or self.tool != tools.SELECT else self._lines_at(at)
        if self._panning is not None:
            shape = Qt.CursorShape.ClosedHandCursor
        elif any(lines):
            shape = _LINE_CURSORS[lines]
        elif view.image is not None and self.tool in tools.KINDS:
            shape = Qt.CursorShape.CrossCursor
        elif view.image is not None and view.editable:
            drawing = self.tool in tools.BOXES
            grip = None if at is None else self.region.grip_at(at, view.viewport, inside=drawing)
            if self.region.dragging or self._windowing is not None:
                return
            if self.tool == tools.BRUSH:
                shape = Qt.CursorShape.BlankCursor
            elif grip is not None and not self.path.active:
                shape = cursor_for(grip, view.viewport)
            elif self.tool != tools.SELECT:
                shape = Qt.CursorShape.CrossCursor
        view.setCursor(shape)

    # Keyboard

    def key(self, event: QKeyEvent) -> bool:
        """Pass a key to the tool; returns whether it handled it."""
        if self.path.active and self.tool in tools.KINDS:
            return self.path.key(event)
        undoes_region = event.matches(QKeySequence.StandardKey.Undo) and self._undoes_region
        if not undoes_region and self.measure.key(event, self._view.viewport):
            return True
        if self.tool in (tools.ROI_RECTANGLE, tools.ROI_ELLIPSE) and event.key() in _ENTER:
            self.measure.place_in_middle(self._view.viewport, tools.KINDS[self.tool])
            return True
        if not self._view.editable:
            return False
        if self.path.active and event.key() in _ENTER:
            return self.double_click()
        if self.path.key(event) or (self.tool in POINTED_TOOLS and self._handle_keyboard_pointer(event)):
            return True
        if self.tool == tools.BRUSH and event.text() in ("[", "]"):
            self.brush.grow(1 if event.text() == "]" else -1)
            return True
        ellipse = self.tool == tools.ELLIPSE
        draw = self.tool in tools.BOXES
        return self.region.key(event, self._view.viewport, draw=draw, ellipse=ellipse)

    @property
    def _undoes_region(self) -> bool:
        """Whether undo is for the region to search with, not for what measures."""
        if not self.region.can_undo or not self._view.editable:
            return False
        return self.tool not in tools.KINDS or not self.measure.can_undo

    def undo(self) -> None:
        """Undo the last change of the region or, with a tool that measures, of the measurements."""
        (self.region if self._undoes_region else self.measure).undo()
        self._view.update()

    def start_keyboard_pointer(self) -> None:
        """After a tool was chosen by its key: start the keyboard pointer if the tool needs clicks."""
        if self.tool in POINTED_TOOLS and self._view.editable:
            self.keyboard_pointer.begin(self._view.size())

    def _handle_keyboard_pointer(self, event: QKeyEvent) -> bool:
        """Move the keyboard pointer or click at it; returns whether the key was for it."""
        if self.keyboard_pointer.move(event, self._view.size()):
            if self.path.active and self.keyboard_pointer.at is not None:
                self.path.move(self.keyboard_pointer.at, self._view.viewport)
            return True
        if event.key() in (Qt.Key.Key_Space, *_ENTER) and not event.modifiers():
            if self.keyboard_pointer.at is None:
                self.keyboard_pointer.begin(self._view.size())
            assert self.keyboard_pointer.at is not None
            at = QPointF(self.keyboard_pointer.at)
            self._press_tool(at, Qt.KeyboardModifier.NoModifier)
            self.release(at)
            return True
        return False

    # Drawing

    def paint(self, painter: QPainter) -> None:
        """The region and whatever is being drawn."""
        view = self._view.viewport
        self.region.paint(painter, view, editable=self._view.editable)
        self.path.paint(painter, view)
        self.measure.paint(painter, view)
        if self.tool in POINTED_TOOLS and self._view.editable:
            self.keyboard_pointer.paint(painter)
        if self.tool == tools.BRUSH and self._view.editable:
            self.brush.paint(painter, view)
