"""Frames and lettered points on an image: the places that a search or its reason is about."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from math import ceil, floor

from PySide6.QtCore import QPointF, QRectF, Qt
from PySide6.QtGui import QPainter, QPainterPath, QPen

from semblance.app.shell.theme import TICK, colour, font, theme
from semblance.core.imaging.region import Box
from semblance.core.searches.similar_cases import MatchedPlace

#: Widths of a line on an image and of its dark edge, which reaches 1 px further on both sides.
_CASING, _LINE = 3.5, 1.5
#: Diameter of the disc of a letter, px at text scale 1.
_DISC = 16
_DISC_SHADE = "#101012"


@dataclass(frozen=True)
class LetteredPoint:
    """A ``letter`` at ``x``, ``y`` in pixels of the image."""

    letter: str
    x: float
    y: float


@dataclass(frozen=True)
class PlaceMarks:
    """What is marked on an image, in pixels of it as stored: ``frames`` (left, top, right, bottom) and ``points``.

    ``slice``: the slice of a volume that they lie on, counted from 0 (``None``: an image, or all slices). ``chosen``:
    the letter that is emphasised.
    """

    frames: tuple[Box, ...] = ()
    points: tuple[LetteredPoint, ...] = ()
    slice: int | None = None
    chosen: str = ""

    def __bool__(self) -> bool:
        return bool(self.frames or self.points)

    def on_slice(self, number: int | None) -> PlaceMarks:
        """The marks that are visible on the slice ``number``, from 0; ``None``: an image that is no volume."""
        return self if number is None or self.slice in (None, number) else NO_PLACE_MARKS


NO_PLACE_MARKS = PlaceMarks()


def draw_place_marks(
    painter: QPainter, marks: PlaceMarks, to_widget: Callable[[float, float], tuple[float, float]]
) -> None:
    """Draw ``marks``; ``to_widget`` gives the position in the widget of a point of the image. Points at the same
    position are beside each other."""
    for left, top, right, bottom in marks.frames:
        (ax, ay), (bx, by) = to_widget(left, top), to_widget(right, bottom)
        draw_frame(painter, QRectF(min(ax, bx), min(ay, by), abs(bx - ax), abs(by - ay)))
    at_same: dict[tuple[int, int], list[str]] = {}
    for point in marks.points:
        x, y = to_widget(point.x, point.y)
        at_same.setdefault((round(x), round(y)), []).append(point.letter)
    step = theme().px(_DISC)
    for (centre, y), letters in at_same.items():
        begin = centre - (len(letters) - 1) * step / 2
        for number, letter in enumerate(letters):
            at = QPointF(begin + number * step, y)
            draw_letter(painter, at, letter, is_chosen=letter == marks.chosen)


def draw_place(painter: QPainter, place: MatchedPlace | None, image: QRectF) -> None:
    """A frame around the place that a search found, on its whole image drawn at ``image``; nothing without a place."""
    if place is None or place.is_whole or not (place.image_width and place.image_height):
        return
    left, top, right, bottom = place.share
    width, height = image.width(), image.height()
    box = QRectF(left * width, top * height, (right - left) * width, (bottom - top) * height)
    draw_frame(painter, box.translated(image.topLeft()), image)
    painter.setRenderHint(QPainter.RenderHint.Antialiasing, False)


def draw_frame(painter: QPainter, box: QRectF, within: QRectF | None = None) -> None:
    """A line around ``box``, in widget pixels, with a dark edge. Nothing inside the box is covered, unless the line
    would leave ``within``."""
    # On the middle of pixels a line is sharp.
    line = QRectF(
        QPointF(floor(box.left()) - 1.5, floor(box.top()) - 1.5),
        QPointF(ceil(box.right()) + 1.5, ceil(box.bottom()) + 1.5),
    )
    if within is not None:
        line &= within.adjusted(2, 2, -2, -2)
    path = QPainterPath()
    path.addRect(line)
    painter.setRenderHint(QPainter.RenderHint.Antialiasing, True)
    stroke(painter, path, theme().region)


def draw_letter(painter: QPainter, centre: QPointF, letter: str, *, is_chosen: bool = False) -> None:
    """``letter`` on a small disc around ``centre``, in widget pixels."""
    side = theme().px(_DISC)
    disc = QRectF(centre.x() - side / 2, centre.y() - side / 2, side, side)
    painter.setRenderHint(QPainter.RenderHint.Antialiasing, True)
    painter.setPen(QPen(colour("#000000", 0.66), _CASING))
    painter.setBrush(colour(theme().accent_filled if is_chosen else _DISC_SHADE))
    inner = disc.adjusted(1, 1, -1, -1)
    painter.drawEllipse(inner)
    painter.setPen(QPen(colour(theme().region), _LINE))
    painter.drawEllipse(inner)
    painter.setFont(font(TICK, 600))
    painter.setPen(colour("#FFFFFF"))
    painter.drawText(disc, Qt.AlignmentFlag.AlignCenter, letter)
    painter.setBrush(Qt.BrushStyle.NoBrush)


def stroke(painter: QPainter, path: QPainterPath, shade: str, *, dashed: bool = False) -> None:
    """``path``, in widget pixels, as a line in ``shade`` with a dark edge."""
    outline_pen, line = QPen(colour("#000000", 0.66), _CASING), QPen(colour(shade), _LINE)
    for pen in (outline_pen, line):
        pen.setJoinStyle(Qt.PenJoinStyle.MiterJoin)
    if dashed:
        line.setDashPattern([4, 3])
    painter.setBrush(Qt.BrushStyle.NoBrush)
    for pen in (outline_pen, line):
        painter.setPen(pen)
        painter.drawPath(path)
