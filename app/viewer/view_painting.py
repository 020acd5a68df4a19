"""What is painted of a view: the image, regions and lines over it, the words on top."""

from __future__ import annotations

from typing import TYPE_CHECKING

from PySide6.QtCore import QLineF, QPointF, QRect, Qt
from PySide6.QtGui import QPainter, QPen

from semblance.app.shell.theme import colour, theme
from semblance.app.viewer import overlay_text
from semblance.app.viewer.overlay import draw_edges, draw_words, letter_inset
from semblance.app.viewer.region_painting import paint_region
from semblance.app.viewer.rendering import SQUARES_FROM, Renderer
from semblance.app.viewer.viewport import Orientation, Viewport
from semblance.core.imaging.cut_planes import Edges

if TYPE_CHECKING:
    from semblance.app.viewer.image_view import ImageView

#: Widget pixels that the lines of the cross leave free around the crossing and at the edges, for letters.
_GAP, _EDGE = 10, 24


def paint_view(painter: QPainter, view: ImageView, renderer: Renderer | None) -> None:
    """Everything but the focus; an empty well without ``renderer``."""
    painter.fillRect(view.rect(), colour(theme().image_well))
    if renderer is None:
        return
    _paint_image(painter, view, renderer)
    painter.setClipRect(view.rect())
    if view.case_region is not None and view.case_region != view.region.region:
        paint_region(painter, view.case_region, view.viewport, "#FFFFFF", dashed=True)
    if view.cross is not None:
        paint_cross(painter, view.cross, view.viewport)
    view.pointer.paint(painter)
    if view.words_shown:
        _paint_words(painter, view, renderer)


def paint_focus(painter: QPainter, room: QRect) -> None:
    """The frame of a view that has the keyboard."""
    painter.setRenderHint(QPainter.RenderHint.Antialiasing, False)
    pen = QPen(colour(theme().region), 2)
    pen.setJoinStyle(Qt.PenJoinStyle.MiterJoin)
    painter.setPen(pen)
    painter.setBrush(Qt.BrushStyle.NoBrush)
    painter.drawRect(room.adjusted(1, 1, -1, -1))


def paint_cross(painter: QPainter, at: tuple[float, float], view: Viewport) -> None:
    """Two lines through the whole view that leave what they point at free."""
    x, y = (round(value) + 0.5 for value in view.to_widget(*at))
    top = _EDGE + letter_inset(view.across)
    right, bottom = float(view.across) - _EDGE, float(view.down) - top
    lines = [
        QLineF(begin, end)
        for begin, end in (
            (QPointF(_EDGE, y), QPointF(min(x - _GAP, right), y)),
            (QPointF(max(x + _GAP, _EDGE), y), QPointF(right, y)),
            (QPointF(x, top), QPointF(x, min(y - _GAP, bottom))),
            (QPointF(x, max(y + _GAP, top)), QPointF(x, bottom)),
        )
        if begin.x() <= end.x() and begin.y() <= end.y()
    ]
    painter.setRenderHint(QPainter.RenderHint.Antialiasing, False)
    for pen in (QPen(colour("#000000", 0.5), 3), QPen(colour(theme().region, 0.8), 1)):
        painter.setPen(pen)
        painter.drawLines(lines)


def seen_edges(edges: Edges, orientation: Orientation) -> Edges:
    """The letters at left, top, right and bottom of an image as it is held, from those as stored."""
    stored = {(-1, 0): edges[0], (0, -1): edges[1], (1, 0): edges[2], (0, 1): edges[3]}
    left, top, right, bottom = (
        stored[round(way[0]), round(way[1])]
        for way in (orientation.direction(*seen) for seen in ((-1, 0), (0, -1), (1, 0), (0, 1)))
    )
    return left, top, right, bottom


def _paint_image(painter: QPainter, view: ImageView, renderer: Renderer) -> None:
    ratio = view.devicePixelRatioF()
    image, target = renderer.visible(view.viewport, ratio, view.window_level, inverted=view.inverted)
    if image.isNull():
        return
    smooth = view.viewport.zoom * ratio < SQUARES_FROM
    painter.setRenderHint(QPainter.RenderHint.SmoothPixmapTransform, smooth)
    painter.setClipRect(view.image_box())
    painter.drawImage(target, image)


def _paint_words(painter: QPainter, view: ImageView, renderer: Renderer) -> None:
    image = renderer.image
    told = {
        Qt.Corner.TopLeftCorner: (*view.notes, view.problem),
        Qt.Corner.TopRightCorner: (view.slice_text, view.zoom_text),
        Qt.Corner.BottomLeftCorner: (overlay_text.value_text(image, view.under), view.size_text),
        Qt.Corner.BottomRightCorner: (overlay_text.window_level_text(image, view.window_level),),
    }
    row_mm = image.spacing_mm[0] if image.spacing_mm is not None else None
    draw_words(painter, view.rect(), view.viewport, told, row_mm, lower=view.edges is not None)
    if view.edges is not None:
        draw_edges(painter, view.rect(), seen_edges(view.edges, view.orientation))
