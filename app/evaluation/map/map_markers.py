"""What stands out on a map: the query, its nearest, the current case, and a card of the case pointed at."""

from __future__ import annotations

from PySide6.QtCore import QPointF, QRect, QRectF, Qt
from PySide6.QtGui import QPainter, QPen
from PySide6.QtWidgets import QWidget

from semblance.app.evaluation.map.map_points import NONE, MapPoints
from semblance.app.shell.theme import BASE, SMALL, TICK, colour, theme
from semblance.app.widgets.finding_chip import SIDE, chip_pixmap
from semblance.app.widgets.text_cache import text_cache
from semblance.app.widgets.thumbnail_loader import ThumbnailSource
from semblance.core.language import tr
from semblance.core.library.case_columns import NO_FINDING, CaseColumns, ImageState

#: The nearest cases that are ringed, and those whose rank is written.
RINGED, NUMBERED = 20, 10
#: Cases between which a query from outside is placed.
_PLACED_BY = 3
_THUMB = 96


class Marks:
    """Paints on ``view``; rows are the catalogue's, -1 for none."""

    def __init__(self, view: QWidget, thumbnails: ThumbnailSource | None) -> None:
        self._view, self._thumbnails = view, thumbnails
        self.query = self.current = self.hover = NONE
        #: Whether the current case has a card while the keyboard is here and nothing is pointed at.
        self.tells_current = False
        self.ranked: list[int] = []
        if thumbnails is not None:
            thumbnails.ready.connect(lambda _rows: view.update())

    def words(self, columns: CaseColumns, row: int) -> str:
        """A case in words."""
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
        """Rings and the card, over the points."""
        for rank, row in reversed(list(enumerate(self.ranked[:RINGED], start=1))):
            place = points.place_of(row)
            if place == NONE:
                continue
            at = QPointF(*points.pixels[place].tolist())
            self._ring(painter, at, 7, theme().text, 1.4)
            if rank <= NUMBERED:
                self._number(painter, at, rank)
        at_query = self._query_at(points)
        if at_query is not None:
            self._ring(painter, at_query, 11, theme().text, 2.0)
            self._ring(painter, at_query, 5, theme().text, 2.0)
        current = points.place_of(self.current)
        if current != NONE:
            self._ring(painter, QPointF(*points.pixels[current].tolist()), 9, theme().accent, 2.2)
        shown = points.place_of(self.hover)
        if shown == NONE and self.tells_current and self._view.hasFocus():
            shown = current
        if shown != NONE:
            self._card(painter, columns, points, shown)

    def _query_at(self, points: MapPoints) -> QPointF | None:
        """Where the query is; one from outside lies between its nearest."""
        place = points.place_of(self.query)
        if place != NONE:
            return QPointF(*points.pixels[place].tolist())
        near = [place for row in self.ranked[:_PLACED_BY] if (place := points.place_of(row)) != NONE]
        return QPointF(*points.pixels[near].mean(axis=0).tolist()) if near else None

    @staticmethod
    def _ring(painter: QPainter, at: QPointF, radius: float, shade: str, width: float) -> None:
        painter.setBrush(Qt.BrushStyle.NoBrush)
        painter.setPen(QPen(colour(theme().panel), width + 2))
        painter.drawEllipse(at, radius, radius)
        painter.setPen(QPen(colour(shade), width))
        painter.drawEllipse(at, radius, radius)

    @staticmethod
    def _number(painter: QPainter, at: QPointF, rank: int) -> None:
        high = theme().px(14)
        where = QRect(round(at.x()) + 8, round(at.y()) - high, theme().px(18), high)
        face = text_cache(TICK, 600)
        painter.fillRect(
            QRectF(where.x() - 1, where.y() + 2, face.width(str(rank)) + 2, high - 4),
            colour(theme().panel, 0.7),
        )
        face.draw(painter, where, str(rank), theme().text)

    def _card(self, painter: QPainter, columns: CaseColumns, points: MapPoints, place: int) -> None:
        row, view, tokens = int(points.rows[place]), self._view, theme()
        index = columns.index_of_row(row)
        if index < 0:
            return
        code = int(columns.finding[index])
        name, finding = columns.labels[index], columns.finding_name(index) or tr("finding not given")
        line, pad = tokens.px(18), 6
        side = max(32, min(tokens.px(_THUMB), view.height() - 2 * line - 3 * pad - 8))
        wide = (
            max(side, min(tokens.px(200), int(text_cache(SMALL).width(name)) + 4), tokens.px(150)) + 2 * pad
        )
        tall = side + 2 * line + 2 * pad
        x, y = points.pixels[place].tolist()
        left = x + 16 if x + 16 + wide <= view.width() else x - 16 - wide
        top = min(max(4, y - tall / 2), view.height() - tall - 4)
        box = QRect(round(max(4, left)), round(top), wide, tall)
        painter.setPen(colour(tokens.strong_line))
        painter.setBrush(colour(tokens.bar))
        painter.drawRoundedRect(QRectF(box).adjusted(0.5, 0.5, -0.5, -0.5), 4, 4)
        well = QRect(box.x() + pad, box.y() + pad, box.width() - 2 * pad, side)
        painter.fillRect(well, colour(tokens.image_well))
        image = None
        if self._thumbnails is not None and columns.state[index] == ImageState.OK:
            image = self._thumbnails.get(row)
        if image is not None:
            size = image.size().scaled(well.size(), Qt.AspectRatioMode.KeepAspectRatio)
            corner = QPointF(
                well.x() + (well.width() - size.width()) / 2, well.y() + (side - size.height()) / 2
            )
            painter.setRenderHint(QPainter.RenderHint.SmoothPixmapTransform)
            painter.drawImage(QRectF(corner, size.toSizeF()), image)
        upper = QRect(well.x(), well.bottom() + 3, well.width(), line)
        letter = "?" if code == NO_FINDING else columns.letters[finding]
        chip = tokens.px(SIDE)
        painter.drawPixmap(
            upper.x(), upper.y() + (line - chip) // 2, chip_pixmap(code, letter, view.devicePixelRatioF())
        )
        rank = ", " + tr("rank {rank}", rank=self.ranked.index(row) + 1) if row in self.ranked else ""
        rank = ", " + tr("the query") if row == self.query else rank
        text_cache(BASE).draw(painter, upper.adjusted(chip + 5, 0, 0, 0), finding + rank, tokens.text)
        text_cache(SMALL).draw(painter, upper.translated(0, line), name, tokens.second, middle=True)
