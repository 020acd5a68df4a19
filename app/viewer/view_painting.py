"""Paints a view: the image, regions, lines and overlay text."""

from __future__ import annotations

from dataclasses import replace

from PySide6.QtCore import QLineF, QPointF, QRect, QRectF, Qt
from PySide6.QtGui import QPainter, QPainterPath, QPen, QRegion

from semblance.app.shell.theme import SMALL, colour, theme
from semblance.app.viewer import overlay
from semblance.app.viewer.image_display import ImageDisplay, LinkedCursor, SecondImage
from semblance.app.viewer.linking import linked_view, registered_view
from semblance.app.viewer.overlay import (
    MARGIN,
    draw_edges,
    draw_outlined_text,
    draw_overlay_text,
    letter_bottom,
    letter_inset,
    letter_side,
    paint_region,
)
from semblance.app.viewer.pointer import Pointer
from semblance.app.viewer.rendering import SQUARES_MIN_ZOOM, Renderer
from semblance.app.viewer.viewport import Orientation, Viewport
from semblance.app.widgets.place_marks import draw_place_marks, stroke
from semblance.app.widgets.text_cache import CENTRE, text_cache
from semblance.core.imaging.cut_planes import Edges
from semblance.core.imaging.display import DisplayImage

#: Side of the magnifier, px at text scale 1.
_LENS = 240
#: Widget pixels without lines of the cross, around the crossing and at the edges.
_GAP, _EDGE = 10, 24
#: Radius of the linked cursor, and the length of its ticks, px.
_RING, _TICK = 7, 4


def paint_view(painter: QPainter, view: ImageDisplay, pointer: Pointer, renderer: Renderer | None) -> None:
    """Paint everything but the focus; only the background without ``renderer``."""
    painter.fillRect(view.rect(), colour(theme().image_well))
    if renderer is None:
        return
    _paint_image(painter, view, renderer)
    if view.second is not None:
        _paint_second(painter, view, view.second)
    painter.setClipRect(view.rect())
    if view.case_region is not None and view.case_region != view.region.region:
        paint_region(painter, view.case_region, view.viewport, "#FFFFFF", dashed=True)
    if view.are_marks_shown:
        for mark in view.marks:
            paint_region(painter, mark, view.viewport, theme().region, dashed=True)
    if view.are_places_shown and view.is_overlay_text_shown:
        draw_place_marks(painter, view.place_marks, view.viewport.to_widget)
    if view.cross is not None:
        paint_cross(painter, view.cross, view.viewport)
    paint_cut_lines(painter, view)
    if view.linked_cursor is not None:
        paint_linked_cursor(painter, view.linked_cursor, view.viewport)
    pointer.paint(painter)
    if view.is_overlay_text_shown:
        _paint_overlay_text(painter, view, renderer)
    if view.lens is not None and view.mouse_at is not None:
        paint_magnified(painter, view, view.lens, view.mouse_at, view.magnified)


def paint_focus(painter: QPainter, area: QRect) -> None:
    """Paint the frame of a view with the keyboard focus."""
    painter.setRenderHint(QPainter.RenderHint.Antialiasing, False)
    pen = QPen(colour(theme().region), 2)
    pen.setJoinStyle(Qt.PenJoinStyle.MiterJoin)
    painter.setPen(pen)
    painter.setBrush(Qt.BrushStyle.NoBrush)
    painter.drawRect(area.adjusted(1, 1, -1, -1))


def paint_magnified(
    painter: QPainter, view: ImageDisplay, renderer: Renderer, at: QPointF, factor: float
) -> None:
    """Paint a square around ``at`` in which the image is ``factor`` times as large, with the same window."""
    side = min(theme().px(_LENS), view.width(), view.height())
    x, y = view.viewport.to_image(at.x(), at.y())
    zoom = view.viewport.zoom * factor
    lens = replace(view.viewport, across=side, down=side).at(x, y, zoom)
    image, target = renderer.visible(
        lens, view.devicePixelRatioF(), view.window_level, inverted=view.inverted
    )
    left = round(min(max(at.x() - side / 2, 0), view.width() - side))
    top = round(min(max(at.y() - side / 2, 0), view.height() - side))
    box = QRect(left, top, side, side)
    painter.save()
    painter.setClipRect(box)
    painter.fillRect(box, colour(theme().image_well))
    painter.setRenderHint(QPainter.RenderHint.SmoothPixmapTransform, zoom < SQUARES_MIN_ZOOM)
    if not image.isNull():
        painter.drawImage(target.translated(left, top), image)
    painter.restore()
    painter.setRenderHint(QPainter.RenderHint.Antialiasing, False)
    painter.setBrush(Qt.BrushStyle.NoBrush)
    for pen in (QPen(colour("#000000", 0.66), 3), QPen(colour("#FFFFFF"), 1)):
        painter.setPen(pen)
        painter.drawRect(box.adjusted(1, 1, -2, -2))
    draw_outlined_text(painter, QPointF(left + MARGIN, top + side - MARGIN), f"{factor:g} ×")


def paint_cross(painter: QPainter, at: tuple[float, float], view: Viewport) -> None:
    """Paint two lines through the view, with a gap at the crossing."""
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


def paint_cut_lines(painter: QPainter, view: ImageDisplay) -> None:
    """Paint the lines in which linked images cut the one of ``view``."""
    path = QPainterPath()
    for begin, end in view.cut_lines:
        path.moveTo(QPointF(*view.viewport.to_widget(*begin)))
        path.lineTo(QPointF(*view.viewport.to_widget(*end)))
    if view.cut_lines:
        painter.setRenderHint(QPainter.RenderHint.Antialiasing, True)
        stroke(painter, path, theme().region)


def paint_linked_cursor(painter: QPainter, cursor: LinkedCursor, view: Viewport) -> None:
    """Paint a ring with four ticks, dashed where it is not the same position, and what is different."""
    at = QPointF(*view.to_widget(cursor.x, cursor.y))
    path = QPainterPath()
    path.addEllipse(at, _RING, _RING)
    for right, down in ((1, 0), (-1, 0), (0, 1), (0, -1)):
        path.moveTo(at + QPointF(right, down) * _RING)
        path.lineTo(at + QPointF(right, down) * (_RING + _TICK))
    painter.setRenderHint(QPainter.RenderHint.Antialiasing, True)
    stroke(painter, path, theme().region, dashed=not cursor.is_here)
    width = text_cache(SMALL, 600).width(cursor.label)
    x = min(max(at.x() + _RING + _TICK + 3, MARGIN), view.across - width - MARGIN)
    overlay.draw_outlined_text(painter, QPointF(x, at.y() - _RING), cursor.label)


def displayed_edges(edges: Edges, orientation: Orientation) -> Edges:
    """The letters at left, top, right and bottom of the image as displayed, from those as stored."""
    stored = {(-1, 0): edges[0], (0, -1): edges[1], (1, 0): edges[2], (0, 1): edges[3]}
    left, top, right, bottom = (
        stored[round(way[0]), round(way[1])]
        for way in (orientation.direction(*axis) for axis in ((-1, 0), (0, -1), (1, 0), (0, 1)))
    )
    return left, top, right, bottom


def _paint_second(painter: QPainter, view: ImageDisplay, second: SecondImage) -> None:
    """Paint the image of another view where it lies relative to this view's image, with its own window."""
    other = second.view
    if other.image is None:
        return
    viewport = linked_view(view.viewport, other.viewport.resized(view.width(), view.height()))
    if second.shift is not None and view.image is not None:
        viewport = registered_view(view.viewport, viewport, second.shift, _mm(view.image), _mm(other.image))
    renderer = Renderer(other.image)
    image, target = renderer.visible(
        viewport, view.devicePixelRatioF(), other.window_level, inverted=other.inverted
    )
    painter.save()
    painter.setClipRect(view.rect())
    if second.is_difference:
        # Where there is no second image there is no difference.
        left, top, right, bottom = viewport.box(0, 0, viewport.width, viewport.height)
        covered = QRegion(QRectF(left, top, right - left, bottom - top).toAlignedRect())
        painter.setClipRegion(QRegion(view.rect()).subtracted(covered))
        painter.fillRect(view.rect(), colour("#000000"))
        painter.setClipRect(view.rect())
        painter.setCompositionMode(QPainter.CompositionMode.CompositionMode_Difference)
    else:
        painter.fillRect(view.rect(), colour(theme().image_well))
    painter.setRenderHint(QPainter.RenderHint.SmoothPixmapTransform, viewport.zoom < SQUARES_MIN_ZOOM)
    if not image.isNull():
        painter.drawImage(target, image)
    painter.restore()
    text = text_cache(SMALL, 600)
    width = round(text.width(second.label)) + 16
    letter_end = round(letter_bottom(view.width())) if view.edges is not None else 0
    box = QRect((view.width() - width) // 2, letter_end + 6, width, theme().px(20))
    painter.fillRect(box, colour("#000000", 0.66))
    text.draw(painter, box, second.label, "#ECECEE", CENTRE)


def _mm(image: DisplayImage) -> tuple[float, float]:
    return image.spacing_mm or (1.0, 1.0)


def _paint_image(painter: QPainter, view: ImageDisplay, renderer: Renderer) -> None:
    ratio = view.devicePixelRatioF()
    image, target = renderer.visible(view.viewport, ratio, view.window_level, inverted=view.inverted)
    if image.isNull():
        return
    smooth = view.viewport.zoom * ratio < SQUARES_MIN_ZOOM
    painter.setRenderHint(QPainter.RenderHint.SmoothPixmapTransform, smooth)
    painter.setClipRect(view.image_box())
    painter.drawImage(target, image)


def _paint_overlay_text(painter: QPainter, view: ImageDisplay, renderer: Renderer) -> None:
    image = renderer.image
    texts = {
        Qt.Corner.TopLeftCorner: (*view.notes, view.problem),
        Qt.Corner.TopRightCorner: (
            *_lines(view),
            view.slab_text,
            overlay.thickness_text(image.slice_facts),
            view.zoom_text,
        ),
        Qt.Corner.BottomLeftCorner: (overlay.value_text(image, view.pixel_under_mouse), view.size_text),
        Qt.Corner.BottomRightCorner: (overlay.window_level_text(image, view.window_level),),
    }
    row_mm = image.spacing_mm[0] if image.spacing_mm is not None else None
    draw_overlay_text(painter, view.rect(), view.viewport, texts, row_mm, lower=view.edges is not None)
    if view.edges is not None:
        draw_edges(painter, view.rect(), displayed_edges(view.edges, view.orientation))


def _lines(view: ImageDisplay) -> list[str]:
    """The text of the slice, in parts where it is too wide: the other half of the edge has texts of its own, and the
    middle may have a letter."""
    room = view.width() / 2 if view.edges is None else letter_side(view.width())
    is_wide = text_cache(SMALL, 600).width(view.slice_text) + 2 * MARGIN > room
    return view.slice_text.split(", ") if is_wide else [view.slice_text]
