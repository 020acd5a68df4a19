"""Measuring on one image: figures that are drawn, moved and removed, and their results beside them.

Regions are drawn and changed by the tool of the region to search with (:class:`RegionTool`), here in white.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from itertools import pairwise
from math import hypot

import numpy as np
from PySide6.QtCore import QObject, QPointF, Qt, Signal
from PySide6.QtGui import QFontMetricsF, QKeyEvent, QKeySequence, QPainter, QPainterPath

from semblance.app.shell.theme import SMALL, font
from semblance.app.viewer.overlay import box_of, draw_outlined_text, paint_region
from semblance.app.viewer.region_tool import ARROWS, CLICK_DISTANCE, GRAB_RADIUS, RegionTool, draw_handle
from semblance.app.viewer.viewport import Viewport
from semblance.app.widgets.place_marks import stroke
from semblance.core.imaging.image import Calibration
from semblance.core.imaging.measurements import (
    ANGLE,
    ELLIPSE,
    LINE,
    PROBE,
    Figure,
    Measured,
    Point,
    outlined,
)
from semblance.core.imaging.region import Region
from semblance.core.imaging.slab import Slab
from semblance.core.reports.measurement_text import label_lines

SHADE = "#FFFFFF"
_TICK, _PROBE_ARM, _PROBE_GAP = 5.0, 8.0, 2.0
#: Widget pixels between a figure and its text, and at the edges of the view.
_GAP, _EDGE = 8.0, 4.0
#: A figure is kept clear of text at so many places along each of its lines.
_PLACES = 10
_MOST_UNDONE = 50

_Box = tuple[float, float, float, float]


@dataclass(frozen=True)
class _Drag:
    """Of figure ``number``: the point ``point``, all of it (``None``), or its region."""

    number: int
    point: int | None = None
    begin: Point = (0.0, 0.0)
    before: Figure | None = None


class MeasureTool(QObject):
    """The figures of one image, of a volume with those of other slices.

    ``changed``: once, when the mouse or key is released or a change is undone. ``moved``: at every step.
    :meth:`show` emits neither.
    """

    changed = Signal()
    moved = Signal()

    def __init__(self, parent: QObject | None = None) -> None:
        super().__init__(parent)
        self.figures: tuple[Figure, ...] = ()
        #: What the pixels say of figures, as soon as it is known.
        self.values: dict[Figure, Measured] = {}
        #: Of the image shown: results of another one come too late.
        self.image_id = 0
        self.is_shown = True
        self.selected: int | None = None
        #: A figure that is being drawn.
        self.draft: Figure | None = None
        self._roi = RegionTool(self)
        self._roi.shade = SHADE
        self._calibrations: tuple[Calibration, ...] = ()
        #: A figure without a shape, where new ones are drawn.
        self._here = Figure("")
        self._drag: _Drag | None = None
        self._kind = ""
        self._pressed = QPointF()
        self._undo: list[tuple[Figure, ...]] = []
        self._before: tuple[Figure, ...] | None = None
        #: What was known last of the figure that is being drawn or changed.
        self._last = Measured()
        self._placed: tuple[object, dict[int, list[tuple[QPointF, str]]]] = ((), {})

    def begin(self, width: int, height: int, calibrations: Sequence[Calibration]) -> None:
        """Set another image without figures."""
        self._roi.begin(width, height)
        self.image_id += 1
        self._calibrations = tuple(calibrations)
        self.values.clear()
        self._here = Figure("")
        self._before = None
        self.show(())
        self._undo.clear()

    def show(self, figures: Sequence[Figure]) -> None:
        """Show these figures, as changed elsewhere."""
        self.cancel()
        if tuple(figures) != self.figures:
            self._undo.append(self.figures)
            self.figures, self.selected = tuple(figures), None

    def go_to(
        self, slice: int | None, plane: tuple[int, int] | None = None, slab: Slab | None = None
    ) -> None:
        """Another slice, plane or slab is shown."""
        if (here := self._here.placed(slice, plane, slab)) != self._here:
            self.cancel()
            self.selected = None
            self._here = here

    def set_calibrations(self, calibrations: Sequence[Calibration]) -> None:
        """What the pixels of the slice shown measure."""
        self._calibrations = tuple(calibrations)

    def forget_changes(self) -> None:
        """Nothing can be undone any more."""
        self._undo.clear()

    def cancel(self) -> None:
        """End a drag and forget what is not finished."""
        if self._drag is not None and self._before is not None:
            self.figures = self._before
        self._drag = self.draft = self._before = None
        self._kind = ""

    @property
    def shown(self) -> list[tuple[int, Figure]]:
        """The figures on the slice or plane shown, with their numbers."""
        if not self.is_shown:
            return []
        return [(n, one) for n, one in enumerate(self.figures) if one == self._placed_here(one)]

    @property
    def active(self) -> bool:
        """Whether a figure is being drawn or dragged."""
        return self.draft is not None or self._drag is not None

    @property
    def drawing(self) -> bool:
        """Whether the button is down to draw a region, which may have no size yet."""
        return bool(self._kind)

    @property
    def can_undo(self) -> bool:
        return bool(self._undo)

    @property
    def selected_figure(self) -> Figure | None:
        return None if self.selected is None else self.figures[self.selected]

    # Mouse

    def press(self, at: QPointF, view: Viewport, kind: str) -> bool:
        """Start to drag a figure, or to draw one of ``kind``; "" draws none. Returns whether it did one of both."""
        self._pressed = at
        self._last = Measured()
        point = view.to_image(at.x(), at.y())
        if self.draft is not None and self._kind == ANGLE:
            points = (*self.draft.points[:-1], point, point)
            self.draft = replace(self.draft, points=points)
            return True
        if self._grab(at, view):
            return True
        self.selected = None
        if not kind:
            return False
        self.is_shown = True
        self._kind = kind
        if kind in (LINE, ANGLE):
            self.draft = Figure(kind, (point, point))
        elif kind == PROBE:
            self.draft = Figure(kind, (self._inside(point, view),))
        else:
            self._roi.show(None)
            self._roi.press(at, view, draw=True, ellipse=kind == ELLIPSE)
        return True

    def select_at(self, at: QPointF, view: Viewport) -> None:
        """Select the figure at ``at``, for its menu; inside a region too."""
        before = self.selected
        if self._grab(at, view):
            self._drag = self._before = None
            return
        x, y = view.to_image(at.x(), at.y())
        inside = [
            n
            for n, one in self.shown
            if one.region is not None
            and one.region.x <= x < one.region.x + one.region.width
            and one.region.y <= y < one.region.y + one.region.height
        ]
        self.selected = before if before in inside else inside[-1] if inside else None

    def _grab(self, at: QPointF, view: Viewport) -> bool:
        order = sorted(self.shown, key=lambda one: one[0] != self.selected)
        for number, figure in order:
            if figure.region is not None:
                self._roi.show(figure.region)
                if self._roi.press(at, view, draw=False):
                    self._take(_Drag(number, before=figure))
                    return True
                continue
            on_view = [QPointF(*view.to_widget(*point)) for point in figure.points]
            for place, point in enumerate(on_view):
                if (point - at).manhattanLength() <= GRAB_RADIUS + 1:
                    self._take(_Drag(number, place, before=figure))
                    return True
            if any(_distance(at, *side) <= GRAB_RADIUS for side in _sides(on_view)):
                self._take(_Drag(number, None, view.to_image(at.x(), at.y()), figure))
                return True
        return False

    def _take(self, drag: _Drag) -> None:
        self._drag, self.selected, self._before = drag, drag.number, self.figures

    def move(self, at: QPointF, view: Viewport) -> None:
        """The mouse moved, pressed or, for an angle, not."""
        point = view.to_image(at.x(), at.y())
        if self.draft is not None and self.draft.kind in (LINE, ANGLE):
            self.draft = replace(self.draft, points=(*self.draft.points[:-1], point))
        elif self.draft is not None and self.draft.kind == PROBE:
            self.draft = replace(self.draft, points=(self._inside(point, view),))
        elif self._kind and self._roi.dragging:
            self._roi.drag(at, view)
            self.draft = None if self._roi.region is None else Figure.of_region(self._roi.region)
        elif self._drag is not None:
            self._set(self._drag.number, self._dragged(self._drag, at, point, view))
        else:
            return
        self.moved.emit()

    def _dragged(self, drag: _Drag, at: QPointF, point: Point, view: Viewport) -> Figure:
        figure = drag.before
        assert figure is not None
        if figure.region is not None:
            self._roi.drag(at, view)
            assert self._roi.region is not None
            return replace(figure, region=self._roi.region)
        if drag.point is not None:
            end = self._inside(point, view) if figure.kind == PROBE else point
            points = (*figure.points[: drag.point], end, *figure.points[drag.point + 1 :])
            return replace(figure, points=points)
        right, down = point[0] - drag.begin[0], point[1] - drag.begin[1]
        return replace(figure, points=tuple((x + right, y + down) for x, y in figure.points))

    def release(self, at: QPointF) -> None:
        """The button came up."""
        is_click = (at - self._pressed).manhattanLength() < CLICK_DISTANCE
        if self._drag is not None:
            self._roi.release()
            drag, self._drag = self._drag, None
            if len(set(self.figures[drag.number].points)) == 1 and self.figures[drag.number].kind == LINE:
                # One end was dragged onto the other.
                self.figures = self._before or ()
            self._report()
        elif self.draft is None or self._kind not in (LINE, ANGLE):
            self._roi.release()
            self._finish(self.draft)
        elif self._kind == LINE:
            self._finish(None if is_click else self.draft)
        else:
            self._release_angle(is_click=is_click)

    def _release_angle(self, *, is_click: bool) -> None:
        """Points are clicked, or lines are drawn: a second line drawn gives the angle between both."""
        assert self.draft is not None
        points = self.draft.points
        if len(points) == 2 and not is_click:
            # A first line was drawn: the end of the second is still to come.
            self.draft = replace(self.draft, points=(*points, points[-1]))
        elif len(points) > 3:
            self._finish(replace(self.draft, points=points[:3]) if is_click else self.draft)

    def _finish(self, figure: Figure | None) -> None:
        self.draft, self._kind = None, ""
        if figure is not None:
            self.add(figure)

    def add(self, figure: Figure) -> None:
        """Put ``figure`` on the slice or plane shown."""
        self.is_shown = True
        placed = self._placed_here(figure)
        self._before = self.figures
        self.figures = (*self.figures, placed)
        self.selected = len(self.figures) - 1
        self._report()

    def place_in_middle(self, view: Viewport, kind: str) -> None:
        """Add a rectangle or an ellipse of half the visible width and height, for drawing by keyboard."""
        self._roi.show(None)
        self._roi.place_in_middle(view, ellipse=kind == ELLIPSE)
        if self._roi.region is not None:
            self.add(Figure.of_region(self._roi.region))

    def remove(self) -> None:
        """Remove the selected figure."""
        if self.selected is not None:
            self._before = self.figures
            self.figures = (*self.figures[: self.selected], *self.figures[self.selected + 1 :])
            self.selected = None
            self._report()

    def remove_all(self) -> None:
        """Remove the figures of all slices."""
        self._before, self.figures, self.selected = self.figures, (), None
        self._report()

    def undo(self) -> None:
        """Back to the figures before the last change."""
        if self._undo:
            self.cancel()
            self.figures, self.selected = self._undo.pop(), None
            self.changed.emit()

    def _set(self, number: int, figure: Figure) -> None:
        self.figures = (*self.figures[:number], figure, *self.figures[number + 1 :])

    def _report(self) -> None:
        before, self._before = self._before, None
        if before is not None and before != self.figures:
            self._undo.append(before)
            del self._undo[:-_MOST_UNDONE]
            self.changed.emit()

    @staticmethod
    def _inside(point: Point, view: Viewport) -> Point:
        """The middle of the pixel at ``point``, or of the nearest one."""
        x, y = (
            min(max(int(one // 1), 0), most - 1) + 0.5
            for one, most in zip(point, (view.width, view.height), strict=True)
        )
        return x, y

    # Keyboard

    def handles(self, event: QKeyEvent) -> bool:
        """Whether a key is for a figure in place of the window's shortcut."""
        is_removed = event.key() in (Qt.Key.Key_Backspace, Qt.Key.Key_Delete)
        if self.selected is not None and self.is_shown and (event.key() in ARROWS or is_removed):
            return True
        return self.can_undo and event.matches(QKeySequence.StandardKey.Undo)

    def key(self, event: QKeyEvent, view: Viewport) -> bool:
        """Delete removes the selected figure, arrows move it, Escape lets go; whether the key did something."""
        if event.key() == Qt.Key.Key_Escape and (self.active or self.selected is not None):
            self.cancel()
            self.selected = None
        elif not self.handles(event):
            return False
        elif event.key() in ARROWS:
            step = 10 if event.modifiers() & Qt.KeyboardModifier.ShiftModifier else 1
            right, down = view.orientation.direction(*ARROWS[event.key()])
            grows = event.modifiers() & Qt.KeyboardModifier.ControlModifier
            self._change_selected(
                self._grown if grows else self._shifted, round(right) * step, round(down) * step
            )
        elif event.matches(QKeySequence.StandardKey.Undo):
            self.undo()
        else:
            self.remove()
        return True

    def _change_selected(self, changed: Callable[[Figure, int, int], Figure], right: int, down: int) -> None:
        """Change the selected figure by pixels; :meth:`release_keys` reports it."""
        if self.selected is None:
            return
        self._before = self.figures if self._before is None else self._before
        self._set(self.selected, changed(self.figures[self.selected], right, down))
        self.moved.emit()

    def _shifted(self, figure: Figure, right: int, down: int) -> Figure:
        if figure.region is not None:
            self._roi.show(figure.region)
            self._roi.shift(right, down)
            return replace(figure, region=self._roi.region)
        return replace(figure, points=tuple((x + right, y + down) for x, y in figure.points))

    def _grown(self, figure: Figure, right: int, down: int) -> Figure:
        """With the right and lower edge of its region moved, or its last point."""
        if figure.region is not None:
            self._roi.show(figure.region)
            self._roi.grow(right, down)
            return replace(figure, region=self._roi.region)
        x, y = figure.points[-1]
        return replace(figure, points=(*figure.points[:-1], (x + right, y + down)))

    def release_keys(self) -> None:
        if self._drag is None and self.draft is None:
            self._report()

    # Drawing

    def measured(self, figure: Figure) -> Measured:
        """What is known of ``figure`` now."""
        found = self.values.get(self._placed_here(figure) if figure is self.draft else figure)
        if found is not None:
            return found
        is_changing = self.active and figure in (self.draft, self.selected_figure)
        if is_changing and figure.kind not in (LINE, ANGLE):
            return self._last
        return outlined(figure, self._calibrations)

    def without_values(self) -> list[Figure]:
        """The figures shown whose values are not known; those of a slice that is not shown are requested later."""
        shown = [one for _, one in self.shown]
        if self.draft is not None:
            placed = self._placed_here(self.draft)
            shown.append(placed)
        return [one for one in shown if one.kind not in (LINE, ANGLE) and one not in self.values]

    def set_values(self, found: Mapping[Figure, Measured]) -> None:
        """What the pixels say of figures."""
        # A step of a drag is shown until the next one is known; it is not needed again.
        steps = [one for one in found if one not in self.figures]
        if steps:
            self._last = found[steps[-1]]
        known = {one: self.values[one] for one in self.figures if one in self.values}
        self.values = {**known, **found}
        self.moved.emit()

    def _placed_here(self, figure: Figure) -> Figure:
        """``figure`` on the slice or plane shown."""
        return figure.placed(self._here.slice, self._here.plane, self._here.slab)

    def paint(self, painter: QPainter, view: Viewport) -> None:
        """The figures of the slice shown, and what is drawn just now."""
        painter.setRenderHint(QPainter.RenderHint.Antialiasing, True)
        shown = self.shown
        if self.draft is not None:
            shown = [*shown, (-1, self.draft)]
        for number, figure in shown:
            if figure.region is None:
                painter.setRenderHint(QPainter.RenderHint.Antialiasing, True)
                stroke(painter, _path([QPointF(*view.to_widget(*one)) for one in figure.points]), SHADE)
                if number == self.selected:
                    for point in figure.points:
                        draw_handle(painter, QPointF(*view.to_widget(*point)))
            elif number == self.selected:
                self._paint_selected(painter, figure.region, view)
            else:
                paint_region(painter, figure.region, view, SHADE)
        for lines in self._texts(shown, view).values():
            for at, text in lines:
                draw_outlined_text(painter, at, text)

    def _paint_selected(self, painter: QPainter, region: Region, view: Viewport) -> None:
        if self._roi.region != region and not self._roi.dragging:
            self._roi.show(region)
        self._roi.paint(painter, view)

    def _texts(
        self, shown: Sequence[tuple[int, Figure]], view: Viewport
    ) -> Mapping[int, list[tuple[QPointF, str]]]:
        lines = {number: label_lines(figure, self.measured(figure)) for number, figure in shown}
        key = (tuple(shown), tuple(lines.values()), view)
        if key != self._placed[0]:
            self._placed = key, _placed_texts(shown, lines, view)
        return self._placed[1]


def _path(points: Sequence[QPointF]) -> QPainterPath:
    """A cross open in the middle for one point, else the lines between points, with ticks at the ends of a single
    line."""
    path = QPainterPath()
    if len(points) == 1:
        for right, down in ((1, 0), (-1, 0), (0, 1), (0, -1)):
            way = QPointF(right, down)
            path.moveTo(points[0] + way * _PROBE_GAP)
            path.lineTo(points[0] + way * _PROBE_ARM)
        return path
    for begin, end in _sides(points):
        path.moveTo(begin)
        path.lineTo(end)
        if len(points) == 3:
            continue
        vector = end - begin
        length = max(hypot(vector.x(), vector.y()), 1e-6)
        across = QPointF(-vector.y() / length, vector.x() / length) * _TICK
        for at in (begin, end):
            path.moveTo(at - across)
            path.lineTo(at + across)
    return path


def _sides(points: Sequence[QPointF]) -> list[tuple[QPointF, QPointF]]:
    """The lines of a figure: those of four points are two by themselves."""
    pairs = list(pairwise(points))
    return [pairs[0], pairs[2]] if len(points) == 4 else pairs


def _distance(at: QPointF, begin: QPointF, end: QPointF) -> float:
    """From ``at`` to the line between two points."""
    way, to = end - begin, at - begin
    square = QPointF.dotProduct(way, way)
    share = min(max(QPointF.dotProduct(to, way) / square, 0.0), 1.0) if square else 0.0
    nearest = to - way * share
    return hypot(nearest.x(), nearest.y())


def _placed_texts(
    shown: Sequence[tuple[int, Figure]], lines: Mapping[int, Sequence[str]], view: Viewport
) -> dict[int, list[tuple[QPointF, str]]]:
    """Where the baseline of each line of text begins: beside its figure, over no figure and no other text as far as
    there is room."""
    metrics = QFontMetricsF(font(SMALL, 600))
    step = metrics.height() + 1
    bodies = {number: _bodies(figure, view) for number, figure in shown}
    taken = [box for boxes in bodies.values() for box in boxes]
    placed: dict[int, list[tuple[QPointF, str]]] = {}
    for number, _ in shown:
        texts = lines[number]
        if not texts:
            continue
        width = max(metrics.horizontalAdvance(text) for text in texts)
        box = _free_place(width, step * len(texts), bodies[number], taken, view)
        taken.append(box)
        placed[number] = [
            (QPointF(box[0], box[1] + row * step + metrics.ascent()), text) for row, text in enumerate(texts)
        ]
    return placed


def _bodies(figure: Figure, view: Viewport) -> list[_Box]:
    """Boxes that together cover a figure in the widget."""
    if figure.region is not None:
        box = box_of(figure.region, view)
        return [(box.left(), box.top(), box.right(), box.bottom())]
    points = [QPointF(*view.to_widget(*point)) for point in figure.points]
    found = []
    for begin, end in _sides(points) or [(points[0], points[0])]:
        for place in range(_PLACES + 1):
            at = begin + (end - begin) * (place / _PLACES)
            found.append((at.x() - _TICK, at.y() - _TICK, at.x() + _TICK, at.y() + _TICK))
    return found


def _free_place(
    width: float, height: float, own: Sequence[_Box], taken: Sequence[_Box], view: Viewport
) -> _Box:
    """A box of this size beside one of ``own``, in the view, that covers least of ``taken``."""
    places = []
    # The ends first, then the middle.
    for left, top, right, bottom in (own[-1], own[0], own[len(own) // 2]):
        middle, centre = (top + bottom - height) / 2, (left + right - width) / 2
        before, behind = left - _GAP - width, right + _GAP
        above, below = top - _GAP - height, bottom + _GAP
        places += [(behind, middle), (behind, below), (centre, below), (before, middle), (centre, above)]
        places += [(behind, above), (before, below), (before, above)]
    size = np.array([width, height])
    last = np.maximum(np.array([view.across, view.down]) - _EDGE - size, _EDGE)
    corners = np.clip(np.array(places), _EDGE, last)[:, None]
    boxes = np.array(taken)
    shared = np.minimum(corners + size, boxes[:, 2:]) - np.maximum(corners, boxes[:, :2])
    x, y = corners[int(np.argmin(np.maximum(shared, 0).prod(axis=2).sum(axis=1))), 0].tolist()
    return x, y, x + width, y + height
