"""The region on an image, drawn, moved and resized by mouse and keyboard in whole image pixels.

A shape in the region's rectangle moves with it. Other drawing tools set their region here.
"""

from __future__ import annotations

from dataclasses import dataclass, replace

from PySide6.QtCore import QObject, QPointF, Qt, Signal
from PySide6.QtGui import QKeyEvent, QKeySequence, QPainter, QPen

from semblance.app.shell.theme import colour, theme
from semblance.app.viewer.overlay import box_of, paint_region
from semblance.app.viewer.viewport import Viewport
from semblance.core.imaging.outline import Ellipse, MaskOutline
from semblance.core.imaging.region import Region

#: Widget pixels around a handle or border in which it can be dragged.
GRAB_RADIUS = 7
#: Widget pixels a press must move before it draws a new rectangle.
CLICK_DISTANCE = 3
HANDLE = 6

#: Which edges follow the mouse: -1 left or top, 1 right or bottom, 0 neither; (0, 0) moves the whole.
Grip = tuple[int, int]
MOVE: Grip = (0, 0)
HANDLES: tuple[Grip, ...] = ((-1, -1), (0, -1), (1, -1), (1, 0), (1, 1), (0, 1), (-1, 1), (-1, 0))
ARROWS: dict[int, tuple[int, int]] = {
    Qt.Key.Key_Left: (-1, 0),
    Qt.Key.Key_Right: (1, 0),
    Qt.Key.Key_Up: (0, -1),
    Qt.Key.Key_Down: (0, 1),
}
_CURSORS = {
    (-1, -1): Qt.CursorShape.SizeFDiagCursor,
    (1, 1): Qt.CursorShape.SizeFDiagCursor,
    (1, -1): Qt.CursorShape.SizeBDiagCursor,
    (-1, 1): Qt.CursorShape.SizeBDiagCursor,
    (0, -1): Qt.CursorShape.SizeVerCursor,
    (0, 1): Qt.CursorShape.SizeVerCursor,
    (-1, 0): Qt.CursorShape.SizeHorCursor,
    (1, 0): Qt.CursorShape.SizeHorCursor,
    MOVE: Qt.CursorShape.SizeAllCursor,
}


@dataclass(frozen=True)
class _Drag:
    grip: Grip
    begin: QPointF
    before: Region | None
    new: bool
    ellipse: bool = False


class RegionTool(QObject):
    """The region of one image of ``width`` x ``height`` pixels.

    ``changed(region or None)``: once, when the mouse or key is released. ``moved(region or None)``: at every step.
    :meth:`show` emits neither.
    """

    changed = Signal(object)
    moved = Signal(object)

    def __init__(self, parent: QObject | None = None) -> None:
        super().__init__(parent)
        self.width = self.height = 0
        self.region: Region | None = None
        self.in_use = True
        #: The colour of its line; empty: that of regions to search with.
        self.shade = ""
        #: Drawn on another slice than the one shown.
        self.on_other_slice = False
        self._drag: _Drag | None = None
        self._moved_by_keys = False
        self._reported: Region | None = None
        self._undo: list[Region | None] = []

    def begin(self, width: int, height: int, region: Region | None = None) -> None:
        """Set another image and clear the undo history."""
        self.width, self.height = width, height
        self._undo.clear()
        self.show(region)

    def show(self, region: Region | None, *, in_use: bool = True) -> None:
        """Set ``region`` and end a drag. ``in_use`` false: draw it dashed."""
        self._drag, self._moved_by_keys = None, False
        self.region = self._reported = region
        self.in_use = in_use

    @property
    def dragging(self) -> bool:
        return self._drag is not None

    @property
    def can_undo(self) -> bool:
        return bool(self._undo)

    # Mouse

    def grip_at(self, point: QPointF, view: Viewport, *, inside: bool) -> Grip | None:
        """The handle or border at ``point`` of the widget. ``inside``: also anywhere in the rectangle."""
        if self.region is None:
            return None
        box = box_of(self.region, view)
        for grip in self._grips(view):
            if (self._handle(grip, view) - point).manhattanLength() <= GRAB_RADIUS + 1:
                return grip
        grab_area = box.adjusted(-GRAB_RADIUS, -GRAB_RADIUS, GRAB_RADIUS, GRAB_RADIUS)
        if not grab_area.contains(point):
            return None
        interior = box.adjusted(GRAB_RADIUS, GRAB_RADIUS, -GRAB_RADIUS, -GRAB_RADIUS)
        return MOVE if inside or not interior.contains(point) else None

    def press(self, point: QPointF, view: Viewport, *, draw: bool, ellipse: bool = False) -> bool:
        """Start a drag of the region or, with ``draw``, of a new one; returns whether one was started."""
        grip = self.grip_at(point, view, inside=draw)
        at = QPointF(*view.to_image(point.x(), point.y()))
        if grip is not None:
            self._drag = _Drag(grip, at, self.region, new=False)
        elif draw and self.width > 0:
            self._drag = _Drag((1, 1), at, self.region, new=True, ellipse=ellipse)
        return self._drag is not None

    def drag(self, point: QPointF, view: Viewport) -> None:
        drag = self._drag
        if drag is None:
            return
        x, y = view.to_image(point.x(), point.y())
        if drag.new:
            begin = QPointF(*view.to_widget(drag.begin.x(), drag.begin.y()))
            if self.region is drag.before and (begin - point).manhattanLength() < CLICK_DISTANCE:
                return
            drawn = self._region_between(drag.begin.x(), drag.begin.y(), x, y)
            if drag.ellipse:
                drawn = replace(drawn, outline=Ellipse.filling(drawn.width, drawn.height))
            self._set_region(drawn)
            return
        assert drag.before is not None
        right, down = round(x - drag.begin.x()), round(y - drag.begin.y())
        if drag.grip == MOVE:
            self._set_region(self._shifted(drag.before, right, down))
        else:
            self._set_region(self._resized(drag.before, drag.grip, right, down))

    def release(self) -> None:
        """The mouse button came up."""
        if self._drag is not None:
            self._drag = None
            self._report()

    # Keyboard

    def handles(self, event: QKeyEvent) -> bool:
        """Whether the region uses a key instead of the window's shortcut."""
        arrow = event.key() in ARROWS and self.region is not None
        return arrow or (event.matches(QKeySequence.StandardKey.Undo) and self.can_undo)

    def key(self, event: QKeyEvent, view: Viewport, *, draw: bool, ellipse: bool = False) -> bool:
        """Handle a key; returns whether it did something. With ``draw``, Enter creates a region."""
        pressed = event.key()
        if self.handles(event):
            if pressed in ARROWS:
                right, down = view.orientation.direction(*ARROWS[pressed])
                self._arrow((round(right), round(down)), event.modifiers())
            else:
                self.undo()
            return True
        if pressed == Qt.Key.Key_Escape and (self.region is not None or self.dragging):
            self.remove()
            return True
        if pressed in (Qt.Key.Key_Return, Qt.Key.Key_Enter) and draw and self.region is None:
            self.place_in_middle(view, ellipse=ellipse)
            return True
        return False

    def _arrow(self, direction: tuple[int, int], modifiers: Qt.KeyboardModifier) -> None:
        step = 10 if modifiers & Qt.KeyboardModifier.ShiftModifier else 1
        move = self.grow if modifiers & Qt.KeyboardModifier.ControlModifier else self.shift
        move(direction[0] * step, direction[1] * step)

    def shift(self, right: int, down: int) -> None:
        """Move by image pixels. :meth:`release_keys` emits ``changed``."""
        if self.region is not None:
            self._moved_by_keys = True
            self._set_region(self._shifted(self.region, right, down))

    def grow(self, right: int, down: int) -> None:
        """Move the right and lower edge. :meth:`release_keys` emits ``changed``."""
        if self.region is not None:
            old = self.region
            self._moved_by_keys = True
            width = min(max(1, old.width + right), self.width - old.x)
            height = min(max(1, old.height + down), self.height - old.y)
            self._set_region(_stretched(old, Region(old.x, old.y, width, height)))

    def release_keys(self) -> None:
        if self._moved_by_keys:
            self._moved_by_keys = False
            self._report()

    def place_in_middle(self, view: Viewport, *, ellipse: bool = False) -> None:
        """Create a region of half the visible width and height, for drawing by keyboard."""
        left, top, right, bottom = (round(edge) for edge in view.visible_area())
        if right > left and bottom > top and self.width > 0 and self.region is None:
            wide, high = max(1, (right - left) // 2), max(1, (bottom - top) // 2)
            outline = Ellipse.filling(wide, high) if ellipse else None
            x, y = (left + right - wide) // 2, (top + bottom - high) // 2
            self._set_region(Region(x, y, wide, high, outline))
            self._report()

    def draw(self, region: Region | None, *, done: bool = True) -> None:
        """Set the region drawn by another tool. ``done``: the drawing is finished."""
        self._drag, self._moved_by_keys = None, False
        self._set_region(region)
        if done:
            self._report()

    def remove(self) -> None:
        """Cancel a drag; without one, remove the region."""
        if self._drag is not None:
            before, self._drag = self._drag.before, None
            self._set_region(before)
        elif self.region is not None:
            self._set_region(None)
            self._report()

    def undo(self) -> None:
        """Back to the region before the last change."""
        if self._undo:
            self.region = self._reported = self._undo.pop()
            self.in_use = True
            self.moved.emit(self.region)
            self.changed.emit(self.region)

    # Shape

    def _set_region(self, region: Region | None) -> None:
        if region != self.region:
            self.region = region
            self.in_use = True
            self.moved.emit(region)

    def _report(self) -> None:
        if self.region != self._reported:
            self._undo.append(self._reported)
            self._reported = self.region
            self.changed.emit(self.region)

    def _region_between(self, x0: float, y0: float, x1: float, y1: float) -> Region:
        left, right = _span(x0, x1, self.width)
        top, bottom = _span(y0, y1, self.height)
        return Region(left, top, right - left, bottom - top)

    def _shifted(self, old: Region, right: int, down: int) -> Region:
        x = min(max(0, old.x + right), self.width - old.width)
        y = min(max(0, old.y + down), self.height - old.height)
        return replace(old, x=x, y=y)

    def _resized(self, old: Region, grip: Grip, right: int, down: int) -> Region:
        x0, x1, y0, y1 = old.x, old.x + old.width, old.y, old.y + old.height
        x0, x1 = (x0 + right, x1) if grip[0] < 0 else (x0, x1 + right * grip[0])
        y0, y1 = (y0 + down, y1) if grip[1] < 0 else (y0, y1 + down * grip[1])
        return _stretched(old, self._region_between(x0, y0, x1, y1))

    # Drawing

    def paint(self, painter: QPainter, view: Viewport, *, editable: bool = True) -> None:
        """Draw the region over the image, with its handles where it can be moved."""
        if self.region is None:
            return
        is_inactive = self.on_other_slice or not self.in_use
        paint_region(painter, self.region, view, self.shade or theme().region, dashed=is_inactive)
        if is_inactive or not editable:
            return
        for grip in self._grips(view):
            draw_handle(painter, self._handle(grip, view))

    def _grips(self, view: Viewport) -> tuple[Grip, ...]:
        """The handles: only corners if a side is too short, none for a mask."""
        assert self.region is not None
        if isinstance(self.region.outline, MaskOutline):
            return ()
        box, min_side = box_of(self.region, view), 4 * HANDLE
        sides = (box.width(), box.height())
        wide, high = sides[::-1] if view.orientation.sideways else sides
        return tuple(
            grip
            for grip in HANDLES
            if (grip[0] != 0 or wide >= min_side) and (grip[1] != 0 or high >= min_side)
        )

    def _handle(self, grip: Grip, view: Viewport) -> QPointF:
        assert self.region is not None
        x = self.region.x + self.region.width * (1 + grip[0]) / 2
        y = self.region.y + self.region.height * (1 + grip[1]) / 2
        return QPointF(*view.to_widget(x, y))


def draw_handle(painter: QPainter, at: QPointF) -> None:
    """The small square at ``at`` of the widget by which a part of a figure is dragged."""
    painter.setRenderHint(QPainter.RenderHint.Antialiasing, False)
    painter.setPen(QPen(colour("#101012"), 1))
    painter.setBrush(colour("#FFFFFF"))
    half = HANDLE // 2
    painter.drawRect(round(at.x()) - half, round(at.y()) - half, HANDLE, HANDLE)
    painter.setBrush(Qt.BrushStyle.NoBrush)


def cursor_for(grip: Grip, view: Viewport) -> Qt.CursorShape:
    """The mouse cursor over ``grip``."""
    middle, grip_position = view.to_widget(0, 0), view.to_widget(*grip)
    on_screen = tuple((b > a) - (b < a) for a, b in zip(middle, grip_position, strict=True))
    return _CURSORS[on_screen[0], on_screen[1]]


def _stretched(old: Region, new: Region) -> Region:
    """``new`` with the shape that lay in ``old``."""
    if old.outline is not None:
        wide, high = new.width / old.width, new.height / old.height
        new = replace(new, outline=old.outline.resized(wide, high, new.width, new.height))
    return replace(new, z=old.z, depth=old.depth)


def _span(one: float, other: float, size: int) -> tuple[int, int]:
    """Whole numbers in order, inside 0..size and at least one apart."""
    low, high = sorted((min(max(0, round(one)), size), min(max(0, round(other)), size)))
    if high > low:
        return low, high
    return (low, low + 1) if low < size else (size - 1, size)
