"""Where the rows and lines of two rankings are, and how they are drawn."""

from __future__ import annotations

from collections.abc import Collection, Sequence
from dataclasses import dataclass

from PySide6.QtCore import QPoint, QPointF, QRect, QRectF, Qt
from PySide6.QtGui import QPainter, QPainterPath, QPen, QPixmap

from semblance.app.shell.icons import icon_pixmap
from semblance.app.shell.theme import BASE, OUTCOME, SMALL, colour, finding_colour, theme
from semblance.app.widgets.cards.card_painter import ScaledImages
from semblance.app.widgets.finding_chip import SIDE, chip_pixmap
from semblance.app.widgets.text_cache import LEFT, RIGHT, text_cache
from semblance.app.widgets.thumbnail_loader import ThumbnailSource
from semblance.core.language import tr
from semblance.core.library.case_columns import NO_FINDING, CaseColumns
from semblance.core.reports.formatting import distance_text
from semblance.core.workflows.evaluation.compare_metrics import ComparedCase

#: Sizes in px at text scale 1: a row's height, a column, the room of the lines, the shift's room.
ROW, WIDE, BETWEEN, SHIFT = 40, 324, 150, 44
#: A row needs this much to show the bar of its distance.
_WITH_BAR = 300
#: A name needs this much beside the distance.
_NAME = 72
_PAD, _DOT, _STUB, _TALLEST = 6, 2.5, 44, 50
#: From so many ranks on a move is drawn in full and written bold.
FAR = 3


@dataclass(frozen=True)
class Geometry:
    """Rows of two columns in a viewport of ``width`` x ``height``, scrolled by ``top`` (zero or negative)."""

    width: int
    height: int
    depth: int
    top: int = 0

    @property
    def row(self) -> int:
        """Height of a row: fifteen fill the page where they can be read."""
        fitting = (self.height - 2 * 4) // 15
        return max(theme().px(ROW), min(fitting, theme().px(_TALLEST)))

    @property
    def column(self) -> int:
        """Width of a row of the left; the right has the shift beside."""
        free = self.width - theme().px(BETWEEN) - theme().px(SHIFT) - 2 * _PAD
        return max(80, min(theme().px(WIDE), free // 2))

    def height_of(self, count: int) -> int:
        return count * self.row + 8

    def line(self, side: int, place: int) -> QRect:
        """The row of a place."""
        y = self.top + 4 + place * self.row
        if side == 0:
            return QRect(_PAD, y, self.column, self.row - 2)
        wide = self.column + theme().px(SHIFT)
        return QRect(self.width - _PAD - wide, y, wide, self.row - 2)

    def seen(self, place: int) -> bool:
        where = self.line(0, place)
        return where.bottom() >= 0 and where.top() < self.height

    def place_at(self, side: int, point: QPoint) -> int | None:
        first = self.line(side, 0)
        if not first.left() <= point.x() <= first.right() or point.y() < first.top():
            return None
        return (point.y() - first.top()) // self.row

    def joined(self, line: ComparedCase, least: int) -> bool:
        """Whether a line of the left is drawn through to the right."""
        return line.other is not None and line.other <= self.depth and abs(line.other - line.rank) >= least

    def ends(self, left: int, right: int) -> tuple[QPointF, QPointF]:
        """Where the line from one place to another begins and ends."""
        one, two = self.line(0, left), self.line(1, right)
        return QPointF(one.right() + 5, one.center().y() + 0.5), QPointF(
            two.left() - 4, two.center().y() + 0.5
        )

    def curve(self, left: int, right: int) -> QPainterPath:
        begin, end = self.ends(left, right)
        middle = (begin.x() + end.x()) / 2
        path = QPainterPath(begin)
        path.cubicTo(QPointF(middle, begin.y()), QPointF(middle, end.y()), end)
        return path

    def height_at(self, left: int, right: int, x: float) -> float:
        """y of the line between two places at ``x``; infinite beside it."""
        begin, end = self.ends(left, right)
        if not begin.x() <= x <= end.x() or end.x() <= begin.x():
            return float("inf")
        low, high = 0.0, 1.0
        for _ in range(20):
            t = (low + high) / 2
            # Both inner points of the curve lie in the middle, so x grows with t.
            along = 1.5 * t * (1 - t) + t**3
            low, high = (t, high) if begin.x() + along * (end.x() - begin.x()) < x else (low, t)
        rise = 3 * t * t * (1 - t) + t**3
        return begin.y() + rise * (end.y() - begin.y())


class RankColumnsPainter:
    """Draws one frame."""

    def __init__(
        self,
        painter: QPainter,
        geometry: Geometry,
        columns: CaseColumns,
        source: ThumbnailSource | None,
        images: ScaledImages,
        ratio: float,
        full: tuple[float, float],
        digits: Sequence[int],
    ) -> None:
        """A distance of ``full`` fills the bar of its side; it is written with so many ``digits``."""
        self._full, self._digits = full, digits
        self._painter, self._at, self._columns = painter, geometry, columns
        self._source, self._images, self._ratio = source, images, ratio
        self._theme = theme()
        images.begin(geometry.row - 6, ratio)

    def make_images(self, shown: tuple[Sequence[ComparedCase], Sequence[ComparedCase]]) -> None:
        """As many as this frame has time for, before anything else takes it; those not there are sent for."""
        for lines in shown:
            for place, line in enumerate(lines):
                if self._at.seen(place):
                    self._scaled(line.row)

    def lines(
        self,
        shown: tuple[Sequence[ComparedCase], Sequence[ComparedCase]],
        least: int,
        chosen: Collection[int],
    ) -> None:
        """The lines between the columns, those of ``chosen`` rows on top."""
        self._painter.setRenderHint(QPainter.RenderHint.Antialiasing)
        for line in sorted(shown[0], key=lambda one: one.row in chosen):
            stands_out = line.row in chosen
            if line.other is None or line.other > self._at.depth:
                self._stub(0, line, stands_out)
            elif self._at.joined(line, 0 if stands_out else least):
                self._curve(line, stands_out)
        for line in shown[1]:
            if line.other is None or line.other > self._at.depth:
                self._stub(1, line, line.row in chosen)
        self._painter.setRenderHint(QPainter.RenderHint.Antialiasing, False)

    def line(
        self, side: int, place: int, line: ComparedCase, *, current: bool, hovered: bool, ring: bool
    ) -> None:
        """One row: rank, image, finding and name, bar, distance, and on the right by how much it rose."""
        if not self._at.seen(place):
            return
        painter, tokens, at = self._painter, self._theme, self._at.line(side, place)
        if current or hovered:
            painter.setRenderHint(QPainter.RenderHint.Antialiasing)
            painter.setPen(QPen(colour(tokens.accent), 1.5) if current and ring else Qt.PenStyle.NoPen)
            painter.setBrush(colour(tokens.selected if current else tokens.card_hover))
            painter.drawRoundedRect(QRectF(at).adjusted(0.75, 0.75, -0.75, -0.75), 4, 4)
            painter.setRenderHint(QPainter.RenderHint.Antialiasing, False)
        if side == 1:
            self._shift(line, QRect(at.right() - tokens.px(SHIFT), at.y(), tokens.px(SHIFT) - 8, at.height()))
            at = at.adjusted(0, 0, -tokens.px(SHIFT), 0)
        x = at.x()
        text_cache(OUTCOME, 600).draw(
            painter, QRect(x, at.y(), tokens.px(26), at.height()), str(line.rank), tokens.text, RIGHT
        )
        x += tokens.px(26) + 10
        tall = self._at.row - 6
        self._image(line, QRect(x, at.y() + (at.height() - tall) // 2, tall, tall))
        x += tall + 10
        right = at.right() - 8
        distance = distance_text(line.distance, self._digits[side])
        number = max(tokens.px(48), int(text_cache(BASE).width(distance)) + 2)
        # Where there is little room the name comes first: the distance is in the tooltip.
        if right - number - x >= tokens.px(_NAME):
            beside = QRect(right - number, at.y(), number, at.height())
            text_cache(BASE).draw(painter, beside, distance, tokens.text, RIGHT)
            right -= number + 10
        if at.width() >= tokens.px(_WITH_BAR):
            wide = tokens.px(72)
            self._bar(QRect(right - wide, at.center().y() - 1, wide, 3), self._share(line, side))
            right -= wide + 10
        self._name(line, QRect(x, at.y(), max(0, right - x), at.height()))

    # Pieces

    def _share(self, line: ComparedCase, side: int) -> float:
        full = self._full[side]
        return min(1.0, max(0.0, line.distance / full)) if full > 0 else 0.0

    def _code(self, line: ComparedCase) -> int:
        index = self._columns.index_of_row(line.row)
        return int(self._columns.finding[index]) if index >= 0 else NO_FINDING

    def _name(self, line: ComparedCase, at: QRect) -> None:
        painter, tokens = self._painter, self._theme
        index, code = self._columns.index_of_row(line.row), self._code(line)
        letter = "" if code == NO_FINDING else self._columns.letters[self._columns.findings[code]]
        chip, half = tokens.px(SIDE), at.height() // 2
        upper = QRect(at.x(), at.y() + 2, at.width(), half - 1)
        painter.drawPixmap(
            QPoint(upper.x(), upper.y() + (upper.height() - chip) // 2),
            chip_pixmap(code, letter, self._ratio),
        )
        text_cache(BASE).draw(
            painter, upper.adjusted(chip + 5, 0, 0, 0), line.finding or tr("not given"), tokens.text
        )
        name = self._columns.labels[index] if index >= 0 else line.case_id
        lower = QRect(at.x(), at.y() + half, at.width(), half - 1)
        text_cache(SMALL).draw(painter, lower, name, tokens.second, LEFT, middle=True)

    def _image(self, line: ComparedCase, square: QRect) -> None:
        painter = self._painter
        painter.fillRect(square, colour(self._theme.image_well))
        scaled = self._scaled(line.row)
        if scaled is None and self._source is not None and self._source.problem(line.row):
            side = min(16, square.width())
            mark = icon_pixmap("warning", side, self._theme.image_text, self._ratio)
            painter.drawPixmap(square.center() - QPoint(side // 2, side // 2), mark)
        if scaled is not None:
            size = scaled.deviceIndependentSize()
            corner = QPointF(
                square.x() + (square.width() - size.width()) / 2,
                square.y() + (square.height() - size.height()) / 2,
            )
            painter.drawPixmap(corner, scaled)

    def _scaled(self, case_row: int) -> QPixmap | None:
        """The image of a case in size; ``None`` where it is not there yet."""
        scaled = self._images.get(case_row)
        if scaled is None and self._source is not None:
            image = self._source.get(case_row)
            if image is not None:
                scaled = self._images.make(case_row, image)
        return scaled

    def _bar(self, at: QRect, share: float) -> None:
        self._painter.fillRect(at, colour(self._theme.track))
        filled = QRect(at.x(), at.y(), round(at.width() * share), at.height())
        self._painter.fillRect(filled, colour(self._theme.bar_fill))

    def _shift(self, line: ComparedCase, at: QRect) -> None:
        rise = line.rise
        if rise is None:
            return
        text = "=" if rise == 0 else f"{rise:+d}".replace("-", "−")
        far = abs(rise) >= FAR
        tokens = self._theme
        text_cache(BASE, 600 if far else 400).draw(
            self._painter, at, text, tokens.text if far else tokens.third, RIGHT
        )

    def _curve(self, line: ComparedCase, stands_out: bool) -> None:
        assert line.other is not None
        path = self._at.curve(line.rank - 1, line.other - 1)
        far = abs(line.other - line.rank) >= FAR
        shade = finding_colour(self._code(line))
        width = 2.6 if stands_out else 1.4
        self._painter.setBrush(Qt.BrushStyle.NoBrush)
        if not self._theme.is_dark and (far or stands_out):
            # Sky blue, orange and yellow alone are too pale on a light panel.
            self._painter.setPen(QPen(colour(self._theme.text, 0.45), width + 1.2))
            self._painter.drawPath(path)
        self._painter.setPen(QPen(colour(shade, 1.0 if far or stands_out else 0.5), width))
        self._painter.drawPath(path)
        for end in self._at.ends(line.rank - 1, line.other - 1):
            self._dot(end, shade)

    def _dot(self, at: QPointF, shade: str) -> None:
        light = not self._theme.is_dark
        self._painter.setPen(QPen(colour(self._theme.text, 0.45), 1) if light else Qt.PenStyle.NoPen)
        self._painter.setBrush(colour(shade))
        self._painter.drawEllipse(at, _DOT, _DOT)

    def _stub(self, side: int, line: ComparedCase, stands_out: bool) -> None:
        """A broken line, and where the case is under the other metric."""
        if not self._at.seen(line.rank - 1):
            return
        tokens, shade = self._theme, finding_colour(self._code(line))
        begin, end = self._at.ends(line.rank - 1, line.rank - 1)
        at, way = (begin, 1) if side == 0 else (end, -1)
        tip = QPointF(at.x() + way * tokens.px(_STUB), at.y())
        pen = QPen(colour(shade), 2.4 if stands_out else 1.4)
        pen.setDashPattern([4, 3])
        pen.setCapStyle(Qt.PenCapStyle.FlatCap)
        self._painter.setPen(pen)
        self._painter.drawLine(at, tip)
        other = tr("not ranked") if line.other is None else f"{line.other:,}"
        text = (
            other
            if line.other is None
            else tr("to {rank}", rank=other)
            if side == 0
            else tr("from {rank}", rank=other)
        )
        room = tokens.px(72)
        x = round(tip.x()) + 6 if side == 0 else round(tip.x()) - 6 - room
        where = QRect(x, round(at.y()) - 10, room, 20)
        wide = min(room, int(text_cache(SMALL, 600).width(text)) + 6)
        # Lines that cross the words go behind them.
        back = QRect(where.x() - 3, where.y() + 2, wide, 16)
        if side == 1:
            back.moveRight(where.right() + 3)
        self._painter.fillRect(back, colour(tokens.panel))
        text_cache(SMALL, 600 if stands_out else 400).draw(
            self._painter,
            where,
            text,
            tokens.text if stands_out else tokens.second,
            LEFT if side == 0 else RIGHT,
        )
