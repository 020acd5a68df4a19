"""The geometry of two rankings with lines between the same cases, and the painting of them."""

from __future__ import annotations

from collections.abc import Collection, Sequence
from dataclasses import dataclass

from PySide6.QtCore import QPoint, QPointF, QRect, QRectF, Qt
from PySide6.QtGui import QPainter, QPainterPath, QPen, QPixmap

from semblance.app.shell.icons import icon_pixmap
from semblance.app.shell.theme import BASE, OUTCOME, SMALL, colour, finding_colour, theme
from semblance.app.widgets.cards.card_painter import ScaledImages
from semblance.app.widgets.finding_chips import SIDE, chip_pixmap
from semblance.app.widgets.text_cache import LEFT, RIGHT, text_cache
from semblance.app.widgets.thumbnail_loader import ThumbnailSource
from semblance.core.language import tr
from semblance.core.library.case_columns import NO_FINDING, CaseColumns
from semblance.core.reports.formatting import distance_text
from semblance.core.workflows.evaluation.compare_metrics import ComparedCase

#: Sizes in px at text scale 1: height of a row, width of a column, of the area of the lines, and of the shift.
ROW_HEIGHT, COLUMN_WIDTH, LINE_AREA_WIDTH, SHIFT_WIDTH = 40, 324, 150, 44
#: Smallest width of a row that shows the bar of its distance.
_BAR_MIN_WIDTH = 300
#: Smallest width of a name beside the distance.
_NAME_MIN_WIDTH = 72
_PADDING, _DOT_RADIUS, _STUB_LENGTH, _MAX_ROW_HEIGHT = 6, 2.5, 44, 50
#: Moves of at least this many ranks are drawn opaque and written in bold.
LARGE_MOVE = 3


@dataclass(frozen=True)
class Geometry:
    """Rows of two columns in a viewport of ``width`` x ``height``, scrolled by ``top`` (zero or negative)."""

    width: int
    height: int
    depth: int
    top: int = 0

    @property
    def row(self) -> int:
        """Height of a row. Fifteen rows fill the page if they are large enough to be read."""
        fitting = (self.height - 2 * 4) // 15
        return max(theme().px(ROW_HEIGHT), min(fitting, theme().px(_MAX_ROW_HEIGHT)))

    @property
    def column(self) -> int:
        """Width of a row at the left. At the right the shift is beside it."""
        available = self.width - theme().px(LINE_AREA_WIDTH) - theme().px(SHIFT_WIDTH) - 2 * _PADDING
        return max(80, min(theme().px(COLUMN_WIDTH), available // 2))

    def height_of(self, count: int) -> int:
        return count * self.row + 8

    def row_rect(self, side: int, index: int) -> QRect:
        """The rectangle of a row."""
        y = self.top + 4 + index * self.row
        if side == 0:
            return QRect(_PADDING, y, self.column, self.row - 2)
        width = self.column + theme().px(SHIFT_WIDTH)
        return QRect(self.width - _PADDING - width, y, width, self.row - 2)

    def is_visible(self, index: int) -> bool:
        rect = self.row_rect(0, index)
        return rect.bottom() >= 0 and rect.top() < self.height

    def index_at(self, side: int, point: QPoint) -> int | None:
        first = self.row_rect(side, 0)
        if not first.left() <= point.x() <= first.right() or point.y() < first.top():
            return None
        return (point.y() - first.top()) // self.row

    def is_joined(self, case: ComparedCase, min_move: int) -> bool:
        """Whether a line from the left to the right is drawn."""
        return case.other is not None and case.other <= self.depth and abs(case.other - case.rank) >= min_move

    def end_points(self, left: int, right: int) -> tuple[QPointF, QPointF]:
        """The end points of the line from one index to another."""
        left_rect, right_rect = self.row_rect(0, left), self.row_rect(1, right)
        return QPointF(left_rect.right() + 5, left_rect.center().y() + 0.5), QPointF(
            right_rect.left() - 4, right_rect.center().y() + 0.5
        )

    def curve(self, left: int, right: int) -> QPainterPath:
        start, end = self.end_points(left, right)
        middle = (start.x() + end.x()) / 2
        path = QPainterPath(start)
        path.cubicTo(QPointF(middle, start.y()), QPointF(middle, end.y()), end)
        return path

    def line_y_at(self, left: int, right: int, x: float) -> float:
        """y of the line between two indices at ``x``, or infinity outside of it."""
        start, end = self.end_points(left, right)
        if not start.x() <= x <= end.x() or end.x() <= start.x():
            return float("inf")
        low, high = 0.0, 1.0
        for _ in range(20):
            t = (low + high) / 2
            # Both control points of the curve are in the middle, so x grows with t.
            x_share = 1.5 * t * (1 - t) + t**3
            low, high = (t, high) if start.x() + x_share * (end.x() - start.x()) < x else (low, t)
        rise = 3 * t * t * (1 - t) + t**3
        return start.y() + rise * (end.y() - start.y())


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
        bar_maxima: tuple[float, float],
        digits: Sequence[int],
    ) -> None:
        """A distance of ``bar_maxima`` fills the bar of its side; it is written with so many ``digits``."""
        self._bar_maxima, self._digits = bar_maxima, digits
        self._painter, self._geometry, self._columns = painter, geometry, columns
        self._source, self._images, self._ratio = source, images, ratio
        self._theme = theme()
        images.begin(geometry.row - 6, ratio)

    def make_images(self, shown: tuple[Sequence[ComparedCase], Sequence[ComparedCase]]) -> None:
        """Scale as many images as the time of this frame allows, and request the missing ones."""
        for lines in shown:
            for index, case in enumerate(lines):
                if self._geometry.is_visible(index):
                    self._scaled_image(case.row)

    def draw_lines(
        self,
        shown: tuple[Sequence[ComparedCase], Sequence[ComparedCase]],
        min_move: int,
        highlighted_rows: Collection[int],
    ) -> None:
        """Draw the lines between the columns. Those of ``highlighted_rows`` are on top."""
        self._painter.setRenderHint(QPainter.RenderHint.Antialiasing)
        for case in sorted(shown[0], key=lambda shown_case: shown_case.row in highlighted_rows):
            is_highlighted = case.row in highlighted_rows
            if case.other is None or case.other > self._geometry.depth:
                self._draw_stub(0, case, is_highlighted)
            elif self._geometry.is_joined(case, 0 if is_highlighted else min_move):
                self._draw_curve(case, is_highlighted)
        for case in shown[1]:
            if case.other is None or case.other > self._geometry.depth:
                self._draw_stub(1, case, case.row in highlighted_rows)
        self._painter.setRenderHint(QPainter.RenderHint.Antialiasing, False)

    def draw_row(
        self, side: int, index: int, case: ComparedCase, *, current: bool, hovered: bool, ring: bool
    ) -> None:
        """Draw a row: rank, image, finding, name, bar, distance, and at the right the change of rank."""
        if not self._geometry.is_visible(index):
            return
        painter, tokens, rect = self._painter, self._theme, self._geometry.row_rect(side, index)
        if current or hovered:
            painter.setRenderHint(QPainter.RenderHint.Antialiasing)
            painter.setPen(QPen(colour(tokens.accent), 1.5) if current and ring else Qt.PenStyle.NoPen)
            painter.setBrush(colour(tokens.selected if current else tokens.card_hover))
            painter.drawRoundedRect(QRectF(rect).adjusted(0.75, 0.75, -0.75, -0.75), 4, 4)
            painter.setRenderHint(QPainter.RenderHint.Antialiasing, False)
        if side == 1:
            self._draw_shift(
                case,
                QRect(
                    rect.right() - tokens.px(SHIFT_WIDTH), rect.y(), tokens.px(SHIFT_WIDTH) - 8, rect.height()
                ),
            )
            rect = rect.adjusted(0, 0, -tokens.px(SHIFT_WIDTH), 0)
        x = rect.x()
        text_cache(OUTCOME, 600).draw(
            painter, QRect(x, rect.y(), tokens.px(26), rect.height()), str(case.rank), tokens.text, RIGHT
        )
        x += tokens.px(26) + 10
        image_side = self._geometry.row - 6
        self._draw_image(case, QRect(x, rect.y() + (rect.height() - image_side) // 2, image_side, image_side))
        x += image_side + 10
        right = rect.right() - 8
        distance = distance_text(case.distance, self._digits[side])
        number_width = max(tokens.px(48), int(text_cache(BASE).width(distance)) + 2)
        # In a narrow row only the name is drawn. The distance is in the tooltip.
        if right - number_width - x >= tokens.px(_NAME_MIN_WIDTH):
            distance_rect = QRect(right - number_width, rect.y(), number_width, rect.height())
            text_cache(BASE).draw(painter, distance_rect, distance, tokens.text, RIGHT)
            right -= number_width + 10
        if rect.width() >= tokens.px(_BAR_MIN_WIDTH):
            width = tokens.px(72)
            self._draw_bar(QRect(right - width, rect.center().y() - 1, width, 3), self._share(case, side))
            right -= width + 10
        self._draw_name(case, QRect(x, rect.y(), max(0, right - x), rect.height()))

    # Pieces

    def _share(self, case: ComparedCase, side: int) -> float:
        bar_maxima = self._bar_maxima[side]
        return min(1.0, max(0.0, case.distance / bar_maxima)) if bar_maxima > 0 else 0.0

    def _code(self, case: ComparedCase) -> int:
        index = self._columns.index_of_row(case.row)
        return int(self._columns.finding[index]) if index >= 0 else NO_FINDING

    def _draw_name(self, case: ComparedCase, at: QRect) -> None:
        painter, tokens = self._painter, self._theme
        index, code = self._columns.index_of_row(case.row), self._code(case)
        letter = "" if code == NO_FINDING else self._columns.letters[self._columns.findings[code]]
        chip_size, half_height = tokens.px(SIDE), at.height() // 2
        top_rect = QRect(at.x(), at.y() + 2, at.width(), half_height - 1)
        painter.drawPixmap(
            QPoint(top_rect.x(), top_rect.y() + (top_rect.height() - chip_size) // 2),
            chip_pixmap(code, letter, self._ratio),
        )
        text_cache(BASE).draw(
            painter, top_rect.adjusted(chip_size + 5, 0, 0, 0), case.finding or tr("not given"), tokens.text
        )
        name = self._columns.name(index) if index >= 0 else case.case_id
        bottom_rect = QRect(at.x(), at.y() + half_height, at.width(), half_height - 1)
        text_cache(SMALL).draw(painter, bottom_rect, name, tokens.second, LEFT, middle=True)

    def _draw_image(self, case: ComparedCase, square: QRect) -> None:
        painter = self._painter
        painter.fillRect(square, colour(self._theme.image_well))
        scaled = self._scaled_image(case.row)
        if scaled is None and self._source is not None and self._source.problem(case.row):
            side = min(16, square.width())
            icon = icon_pixmap("warning", side, self._theme.image_text, self._ratio)
            painter.drawPixmap(square.center() - QPoint(side // 2, side // 2), icon)
        if scaled is not None:
            size = scaled.deviceIndependentSize()
            corner = QPointF(
                square.x() + (square.width() - size.width()) / 2,
                square.y() + (square.height() - size.height()) / 2,
            )
            painter.drawPixmap(corner, scaled)

    def _scaled_image(self, case_row: int) -> QPixmap | None:
        """The scaled image of a case, or ``None`` if it is not loaded yet."""
        scaled = self._images.get(case_row)
        if scaled is None and self._source is not None:
            image = self._source.get(case_row)
            if image is not None:
                scaled = self._images.make(case_row, image)
        return scaled

    def _draw_bar(self, at: QRect, share: float) -> None:
        self._painter.fillRect(at, colour(self._theme.track))
        fill_rect = QRect(at.x(), at.y(), round(at.width() * share), at.height())
        self._painter.fillRect(fill_rect, colour(self._theme.bar_fill))

    def _draw_shift(self, case: ComparedCase, at: QRect) -> None:
        rise = case.rise
        if rise is None:
            return
        text = "=" if rise == 0 else f"{rise:+d}".replace("-", "−")
        is_large = abs(rise) >= LARGE_MOVE
        tokens = self._theme
        text_cache(BASE, 600 if is_large else 400).draw(
            self._painter, at, text, tokens.text if is_large else tokens.third, RIGHT
        )

    def _draw_curve(self, case: ComparedCase, is_highlighted: bool) -> None:
        assert case.other is not None
        path = self._geometry.curve(case.rank - 1, case.other - 1)
        is_large = abs(case.other - case.rank) >= LARGE_MOVE
        colour_name = finding_colour(self._code(case))
        width = 2.6 if is_highlighted else 1.4
        self._painter.setBrush(Qt.BrushStyle.NoBrush)
        if not self._theme.is_dark and (is_large or is_highlighted):
            # Sky blue, orange and yellow alone are too pale on a light panel.
            self._painter.setPen(QPen(colour(self._theme.text, 0.45), width + 1.2))
            self._painter.drawPath(path)
        self._painter.setPen(QPen(colour(colour_name, 1.0 if is_large or is_highlighted else 0.5), width))
        self._painter.drawPath(path)
        for end in self._geometry.end_points(case.rank - 1, case.other - 1):
            self._draw_dot(end, colour_name)

    def _draw_dot(self, at: QPointF, colour_name: str) -> None:
        is_light = not self._theme.is_dark
        self._painter.setPen(QPen(colour(self._theme.text, 0.45), 1) if is_light else Qt.PenStyle.NoPen)
        self._painter.setBrush(colour(colour_name))
        self._painter.drawEllipse(at, _DOT_RADIUS, _DOT_RADIUS)

    def _draw_stub(self, side: int, case: ComparedCase, is_highlighted: bool) -> None:
        """Draw a dashed line with the rank of the case with the other metric."""
        if not self._geometry.is_visible(case.rank - 1):
            return
        tokens, colour_name = self._theme, finding_colour(self._code(case))
        start, end = self._geometry.end_points(case.rank - 1, case.rank - 1)
        at, direction = (start, 1) if side == 0 else (end, -1)
        stub_end = QPointF(at.x() + direction * tokens.px(_STUB_LENGTH), at.y())
        pen = QPen(colour(colour_name), 2.4 if is_highlighted else 1.4)
        pen.setDashPattern([4, 3])
        pen.setCapStyle(Qt.PenCapStyle.FlatCap)
        self._painter.setPen(pen)
        self._painter.drawLine(at, stub_end)
        other = tr("not ranked") if case.other is None else f"{case.other:,}"
        text = (
            other
            if case.other is None
            else tr("to {rank}", rank=other)
            if side == 0
            else tr("from {rank}", rank=other)
        )
        text_width = tokens.px(72)
        x = round(stub_end.x()) + 6 if side == 0 else round(stub_end.x()) - 6 - text_width
        text_rect = QRect(x, round(at.y()) - 10, text_width, 20)
        width = min(text_width, int(text_cache(SMALL, 600).width(text)) + 6)
        # A background hides the lines that cross the text.
        background = QRect(text_rect.x() - 3, text_rect.y() + 2, width, 16)
        if side == 1:
            background.moveRight(text_rect.right() + 3)
        self._painter.fillRect(background, colour(tokens.panel))
        text_cache(SMALL, 600 if is_highlighted else 400).draw(
            self._painter,
            text_rect,
            text,
            tokens.text if is_highlighted else tokens.second,
            LEFT if side == 0 else RIGHT,
        )
