"""Markers on the map: the query, its similar cases, the current case, and the card under the pointer."""

from __future__ import annotations

from PySide6.QtCore import QPointF, QRect, QRectF, Qt
from PySide6.QtGui import QPainter, QPen
from PySide6.QtWidgets import QWidget

from semblance.app.evaluation.map.map_points import NONE, MapPoints
from semblance.app.shell.theme import BASE, SMALL, TICK, colour, theme
from semblance.app.widgets.finding_chips import SIDE, chip_pixmap
from semblance.app.widgets.text_cache import text_cache
from semblance.app.widgets.thumbnail_loader import ThumbnailSource
from semblance.core.language import tr
from semblance.core.library.case_columns import NO_FINDING, CaseColumns, ImageState

#: Number of similar cases with a ring, and with their rank as text.
RING_COUNT, NUMBER_COUNT = 20, 10
#: Number of similar cases between which a query from outside the library is drawn.
_ANCHOR_COUNT = 3
_THUMBNAIL_SIZE = 96


class MapMarkers:
    """Paints the markers on ``view``. Rows are those of the catalogue, -1 for none."""

    def __init__(self, view: QWidget, thumbnails: ThumbnailSource | None) -> None:
        self._view, self._thumbnails = view, thumbnails
        self.query = self.current = self.hover = NONE
        #: Whether the current case has a card while the map has the focus and no case is under the pointer.
        self.shows_current_card = False
        self.ranked: list[int] = []
        if thumbnails is not None:
            thumbnails.ready.connect(lambda _rows: view.update())

    def description(self, columns: CaseColumns, row: int) -> str:
        """A text that describes a case, for screen readers."""
        index = columns.index_of_row(row)
        if index < 0:
            return ""
        parts = [columns.ids[index], columns.finding_name(index) or tr("finding not given")]
        if row == self.query:
            parts.append(tr("the query"))
        elif row in self.ranked:
            parts.append(tr("rank {rank}", rank=self.ranked.index(row) + 1))
        return ", ".join(parts)

    def paint(self, painter: QPainter, columns: CaseColumns, points: MapPoints) -> None:
        """Paint the rings and the card over the points."""
        for rank, row in reversed(list(enumerate(self.ranked[:RING_COUNT], start=1))):
            index = points.index_of_row(row)
            if index == NONE:
                continue
            position = QPointF(*points.pixels[index].tolist())
            self._draw_ring(painter, position, 7, theme().text, 1.4)
            if rank <= NUMBER_COUNT:
                self._draw_number(painter, position, rank)
        query_position = self._query_position(points)
        if query_position is not None:
            self._draw_ring(painter, query_position, 11, theme().text, 2.0)
            self._draw_ring(painter, query_position, 5, theme().text, 2.0)
        current = points.index_of_row(self.current)
        if current != NONE:
            self._draw_ring(painter, QPointF(*points.pixels[current].tolist()), 9, theme().accent, 2.2)
        card_index = points.index_of_row(self.hover)
        if card_index == NONE and self.shows_current_card and self._view.hasFocus():
            card_index = current
        if card_index != NONE:
            self._draw_card(painter, columns, points, card_index)

    def _query_position(self, points: MapPoints) -> QPointF | None:
        """The position of the query. A query from outside the library lies between its similar cases."""
        index = points.index_of_row(self.query)
        if index != NONE:
            return QPointF(*points.pixels[index].tolist())
        anchors = [
            index for row in self.ranked[:_ANCHOR_COUNT] if (index := points.index_of_row(row)) != NONE
        ]
        return QPointF(*points.pixels[anchors].mean(axis=0).tolist()) if anchors else None

    @staticmethod
    def _draw_ring(
        painter: QPainter, position: QPointF, radius: float, colour_name: str, width: float
    ) -> None:
        painter.setBrush(Qt.BrushStyle.NoBrush)
        painter.setPen(QPen(colour(theme().panel), width + 2))
        painter.drawEllipse(position, radius, radius)
        painter.setPen(QPen(colour(colour_name), width))
        painter.drawEllipse(position, radius, radius)

    @staticmethod
    def _draw_number(painter: QPainter, position: QPointF, rank: int) -> None:
        height = theme().px(14)
        rect = QRect(round(position.x()) + 8, round(position.y()) - height, theme().px(18), height)
        text = text_cache(TICK, 600)
        painter.fillRect(
            QRectF(rect.x() - 1, rect.y() + 2, text.width(str(rank)) + 2, height - 4),
            colour(theme().panel, 0.7),
        )
        text.draw(painter, rect, str(rank), theme().text)

    def _draw_card(self, painter: QPainter, columns: CaseColumns, points: MapPoints, index: int) -> None:
        row, view, tokens = int(points.rows[index]), self._view, theme()
        index = columns.index_of_row(row)
        if index < 0:
            return
        code = int(columns.finding[index])
        name, finding = columns.name(index), columns.finding_name(index) or tr("finding not given")
        line_height, padding = tokens.px(18), 6
        side = max(32, min(tokens.px(_THUMBNAIL_SIZE), view.height() - 2 * line_height - 3 * padding - 8))
        width = (
            max(side, min(tokens.px(200), int(text_cache(SMALL).width(name)) + 4), tokens.px(150))
            + 2 * padding
        )
        height = side + 2 * line_height + 2 * padding
        x, y = points.pixels[index].tolist()
        left = x + 16 if x + 16 + width <= view.width() else x - 16 - width
        top = min(max(4, y - height / 2), view.height() - height - 4)
        box = QRect(round(max(4, left)), round(top), width, height)
        painter.setPen(colour(tokens.strong_line))
        painter.setBrush(colour(tokens.bar))
        painter.drawRoundedRect(QRectF(box).adjusted(0.5, 0.5, -0.5, -0.5), 4, 4)
        image_rect = QRect(box.x() + padding, box.y() + padding, box.width() - 2 * padding, side)
        painter.fillRect(image_rect, colour(tokens.image_well))
        image = None
        if self._thumbnails is not None and columns.state[index] == ImageState.OK:
            image = self._thumbnails.get(row)
        if image is not None:
            size = image.size().scaled(image_rect.size(), Qt.AspectRatioMode.KeepAspectRatio)
            corner = QPointF(
                image_rect.x() + (image_rect.width() - size.width()) / 2,
                image_rect.y() + (side - size.height()) / 2,
            )
            painter.setRenderHint(QPainter.RenderHint.SmoothPixmapTransform)
            painter.drawImage(QRectF(corner, size.toSizeF()), image)
        text_rect = QRect(image_rect.x(), image_rect.bottom() + 3, image_rect.width(), line_height)
        letter = "?" if code == NO_FINDING else columns.letters[finding]
        chip_size = tokens.px(SIDE)
        painter.drawPixmap(
            text_rect.x(),
            text_rect.y() + (line_height - chip_size) // 2,
            chip_pixmap(code, letter, view.devicePixelRatioF()),
        )
        rank = ", " + tr("rank {rank}", rank=self.ranked.index(row) + 1) if row in self.ranked else ""
        rank = ", " + tr("the query") if row == self.query else rank
        text_cache(BASE).draw(
            painter, text_rect.adjusted(chip_size + 5, 0, 0, 0), finding + rank, tokens.text
        )
        text_cache(SMALL).draw(
            painter, text_rect.translated(0, line_height), name, tokens.second, middle=True
        )
