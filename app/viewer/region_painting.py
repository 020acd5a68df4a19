"""Regions of any shape drawn over an image, visible on black and on white."""

from __future__ import annotations

from functools import lru_cache

import numpy as np
import numpy.typing as npt
from PySide6.QtCore import QPointF, QRectF, Qt
from PySide6.QtGui import QPainter, QPainterPath, QPen, QPolygonF, QTransform

from semblance.app.shell.theme import colour
from semblance.app.viewer.viewport import Viewport
from semblance.core.imaging.outline import Ellipse, MaskOutline, Polygon
from semblance.core.imaging.region import Region

_OUTLINE, _LINE = 3.5, 1.5


def box_of(region: Region, view: Viewport) -> QRectF:
    """The region's rectangle in widget pixels."""
    left, top, right, bottom = view.box(region.x, region.y, region.x + region.width, region.y + region.height)
    return QRectF(left, top, right - left, bottom - top)


def paint_region(
    painter: QPainter, region: Region, view: Viewport, shade: str, *, dashed: bool = False
) -> None:
    """The outline of ``region`` in ``shade`` with a dark casing."""
    if region.outline is None:
        paint_box(painter, box_of(region, view), shade, dashed=dashed)
        return
    painter.setRenderHint(QPainter.RenderHint.Antialiasing, True)
    stroke(painter, to_widget(view).map(path_of(region)), shade, dashed=dashed)


def paint_box(painter: QPainter, box: QRectF, shade: str, *, dashed: bool = False) -> None:
    """A rectangle of the widget in ``shade`` with a dark casing."""
    # On the middle of pixels a line of 1.5 px is sharp.
    left, top = round(box.left()) + 0.5, round(box.top()) + 0.5
    path = QPainterPath()
    path.addRect(QRectF(left, top, round(box.right()) - 0.5 - left, round(box.bottom()) - 0.5 - top))
    painter.setRenderHint(QPainter.RenderHint.Antialiasing, True)
    stroke(painter, path, shade, dashed=dashed)


def stroke(painter: QPainter, path: QPainterPath, shade: str, *, dashed: bool = False) -> None:
    """``path``, in widget pixels, as a cased line."""
    outline_pen, line = QPen(colour("#000000", 0.66), _OUTLINE), QPen(colour(shade), _LINE)
    for pen in (outline_pen, line):
        pen.setJoinStyle(Qt.PenJoinStyle.MiterJoin)
    if dashed:
        line.setDashPattern([4, 3])
    painter.setBrush(Qt.BrushStyle.NoBrush)
    for pen in (outline_pen, line):
        painter.setPen(pen)
        painter.drawPath(path)


def to_widget(view: Viewport) -> QTransform:
    """From image to widget pixels."""
    x, y = view.to_widget(0, 0)
    right, down = view.to_widget(1, 0), view.to_widget(0, 1)
    return QTransform(right[0] - x, right[1] - y, down[0] - x, down[1] - y, x, y)


@lru_cache(maxsize=64)
def path_of(region: Region) -> QPainterPath:
    """The outline in image pixels; a mask's runs along the edges of its pixels."""
    path = QPainterPath()
    outline = region.outline
    if isinstance(outline, Ellipse):
        centre = QPointF(region.x + outline.centre[0], region.y + outline.centre[1])
        path.addEllipse(centre, *outline.radii)
    elif isinstance(outline, Polygon):
        path.addPolygon(QPolygonF([QPointF(region.x + x, region.y + y) for x, y in outline.points]))
        path.closeSubpath()
    elif isinstance(outline, MaskOutline):
        _add_edges(path, outline.mask(region.height, region.width), region.x, region.y)
    else:
        path.addRect(QRectF(region.x, region.y, region.width, region.height))
    return path


def _add_edges(path: QPainterPath, mask: npt.NDArray[np.bool_], x: int, y: int) -> None:
    padded = np.pad(mask, 1).astype(np.int8)
    for row, begin, end in _runs(np.diff(padded, axis=0)[:, 1:-1] != 0):
        path.moveTo(x + begin, y + row)
        path.lineTo(x + end, y + row)
    for column, begin, end in _runs(np.diff(padded, axis=1)[1:-1].T != 0):
        path.moveTo(x + column, y + begin)
        path.lineTo(x + column, y + end)


def _runs(lines: npt.NDArray[np.bool_]) -> list[list[int]]:
    """[line, first, behind the last] of every run of true in every line."""
    steps = np.diff(np.pad(lines, ((0, 0), (1, 1))).astype(np.int8), axis=1)
    begins, ends = np.nonzero(steps == 1), np.nonzero(steps == -1)
    runs: list[list[int]] = np.column_stack([begins[0], begins[1], ends[1]]).tolist()
    return runs
