"""Two columns of ranked cases with curved lines between the same cases."""

from __future__ import annotations

from collections.abc import Collection, Sequence
from dataclasses import dataclass

from PySide6.QtCore import QEvent, QPoint, QPointF, QRect, QRectF, Qt, Signal
from PySide6.QtGui import (
    QContextMenuEvent,
    QFocusEvent,
    QHelpEvent,
    QKeyEvent,
    QMouseEvent,
    QPainter,
    QPainterPath,
    QPaintEvent,
    QPen,
    QPixmap,
    QResizeEvent,
)
from PySide6.QtWidgets import QAbstractScrollArea, QFrame, QToolTip, QWidget

from semblance.app.shell import theme as themes
from semblance.app.shell.event_loop import one_shot
from semblance.app.shell.icons import icon_pixmap
from semblance.app.shell.theme import BASE, OUTCOME, SMALL, colour, finding_colour, plain_tip, theme
from semblance.app.widgets.cards.card_painter import ScaledImages
from semblance.app.widgets.finding_chips import SIDE, chip_pixmap
from semblance.app.widgets.text_cache import LEFT as ALIGN_LEFT
from semblance.app.widgets.text_cache import RIGHT as ALIGN_RIGHT
from semblance.app.widgets.text_cache import text_cache
from semblance.app.widgets.thumbnail_loader import ThumbnailSource
from semblance.core.language import tr
from semblance.core.library.case_columns import NO_FINDING, CaseColumns, no_cases
from semblance.core.reports.formatting import MIN_DIGITS, digits_for, distance_text
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
class RowGeometry:
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
        geometry: RowGeometry,
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
            painter,
            QRect(x, rect.y(), tokens.px(26), rect.height()),
            str(case.rank),
            tokens.text,
            ALIGN_RIGHT,
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
            text_cache(BASE).draw(painter, distance_rect, distance, tokens.text, ALIGN_RIGHT)
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
        text_cache(SMALL).draw(painter, bottom_rect, name, tokens.second, ALIGN_LEFT, middle=True)

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
            self._painter, at, text, tokens.text if is_large else tokens.third, ALIGN_RIGHT
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
            ALIGN_LEFT if side == 0 else ALIGN_RIGHT,
        )


NONE = -1
LEFT, RIGHT = 0, 1
#: Number of ranks shown at first.
DEFAULT_DEPTH = 15
#: Pixels within which the pointer hits a line.
_HIT_DISTANCE = 6


class RankColumns(QAbstractScrollArea):
    """The rankings of a query with two metrics. The signals have catalogue rows.

    ``activated(row)`` double click or Enter · ``menu_requested(row, position)``.
    Up, Down, Home, End and the page keys move in a column; Tab, Left and Right go to the other one, to
    the same case if it is there.
    """

    activated = Signal(int)
    menu_requested = Signal(int, QPoint)

    def __init__(self, parent: QWidget | None = None) -> None:
        super().__init__(parent)
        self._columns: CaseColumns = no_cases()
        self._rankings: tuple[Sequence[ComparedCase], Sequence[ComparedCase]] = ((), ())
        self._digits: tuple[int, ...] = (MIN_DIGITS, MIN_DIGITS)
        self._names = ("", "")
        self._depth, self._min_move = DEFAULT_DEPTH, 0
        self._current = self._hover = NONE
        self._side = LEFT
        self._source: ThumbnailSource | None = None
        self._images = ScaledImages()
        self._repaint = one_shot(self, self.viewport().update)
        self.setFrameShape(QFrame.Shape.NoFrame)
        self.setFocusPolicy(Qt.FocusPolicy.StrongFocus)
        self.setHorizontalScrollBarPolicy(Qt.ScrollBarPolicy.ScrollBarAlwaysOff)
        self.viewport().setMouseTracking(True)
        self.viewport().setAttribute(Qt.WidgetAttribute.WA_OpaquePaintEvent)
        self.setAccessibleName(tr("Two rankings"))
        themes.theme_signals.changed.connect(self._restyle)

    # Content

    def set_source(self, source: ThumbnailSource) -> None:
        self._source = source
        source.ready.connect(self._images_ready)

    def set_rankings(
        self,
        columns: CaseColumns,
        left: Sequence[ComparedCase],
        right: Sequence[ComparedCase],
        names: tuple[str, str] = (tr("left"), tr("right")),
    ) -> None:
        """Show the rankings of two metrics called ``names``, nearest first. The current case stays current."""
        self._columns, self._rankings, self._names = columns, (left, right), names
        self._digits = tuple(digits_for([case.distance for case in cases]) for cases in (left, right))
        self._hover = NONE
        if not any(case.row == self._current for cases in self.shown for case in cases):
            self._current = left[0].row if left else NONE
            self._side = LEFT
        self._update_scroll_bar()
        self._update_description()

    def set_depth(self, depth: int) -> None:
        """Set how many ranks of each metric are shown."""
        self._depth = depth
        self._update_scroll_bar()

    def set_min_move(self, ranks: int) -> None:
        """Draw only lines of cases that moved by at least so many ranks."""
        self._min_move = ranks
        self.viewport().update()

    @property
    def ranks(self) -> int:
        """How many ranks of each metric are shown."""
        return self._depth

    def current(self) -> int:
        """The catalogue row of the current case, or -1."""
        return self._current

    def hovered(self) -> int:
        return self._hover

    def set_current(self, row: int, side: int | None = None) -> None:
        """Set the current case, and the column with the keyboard to ``side``."""
        indices = [self._index_of_row(column, row) for column in (LEFT, RIGHT)]
        target = self._side if side is None else side
        if indices[target] == NONE:
            target = 1 - target
        if indices[target] == NONE:
            return
        self._current, self._side = row, target
        self._scroll_to(indices[target])
        self.viewport().update()
        self._update_description()

    @property
    def shown(self) -> tuple[Sequence[ComparedCase], Sequence[ComparedCase]]:
        return self._rankings[LEFT][: self._depth], self._rankings[RIGHT][: self._depth]

    def _index_of_row(self, side: int, row: int) -> int:
        return next((index for index, case in enumerate(self.shown[side]) if case.row == row), NONE)

    def description(self, side: int, index: int) -> str:
        """A text that describes a row, for tooltips and screen readers."""
        case = self.shown[side][index]
        case_index = self._columns.index_of_row(case.row)
        parts = [
            tr("{name}: rank {rank}", name=self._names[side], rank=case.rank),
            case.case_id,
            case.finding or tr("finding not given"),
        ]
        patient = self._columns.patient_name(case_index) if case_index >= 0 else None
        if patient:
            parts.append(tr("patient {patient}", patient=patient))
        parts.append(tr("distance {distance}", distance=distance_text(case.distance, self._digits[side])))
        other = self._names[1 - side]
        parts.append(
            tr("not ranked by {name}", name=other)
            if case.other is None
            else tr("rank {rank} by {name}", rank=case.other, name=other)
        )
        return ", ".join(parts)

    def _update_description(self) -> None:
        index = self._index_of_row(self._side, self._current)
        self.setAccessibleDescription(
            self.description(self._side, index) if index != NONE else tr("nothing to show")
        )

    # RowGeometry

    @property
    def current_geometry(self) -> RowGeometry:
        """The geometry for the present size and scroll position."""
        size = self.viewport().size()
        return RowGeometry(size.width(), size.height(), self._depth, -self.verticalScrollBar().value())

    def right_edge(self, width: int) -> int:
        """x of the right column in a widget of ``width``."""
        return RowGeometry(width, self.viewport().height(), self._depth).row_rect(RIGHT, 0).x()

    def _update_scroll_bar(self) -> None:
        geometry = self.current_geometry
        count = max(len(cases) for cases in self.shown)
        bar = self.verticalScrollBar()
        bar.setRange(0, max(0, geometry.height_of(count) - self.viewport().height()))
        bar.setPageStep(max(1, self.viewport().height() - geometry.row))
        bar.setSingleStep(geometry.row)
        self.viewport().update()

    def _scroll_to(self, index: int) -> None:
        rect, bar = self.current_geometry.row_rect(LEFT, index), self.verticalScrollBar()
        if rect.top() < 0:
            bar.setValue(bar.value() + rect.top() - 4)
        elif rect.bottom() >= self.viewport().height():
            bar.setValue(bar.value() + rect.bottom() - self.viewport().height() + 5)

    def resizeEvent(self, event: QResizeEvent) -> None:
        super().resizeEvent(event)
        self._update_scroll_bar()

    def scrollContentsBy(self, dx: int, dy: int) -> None:
        self.viewport().update()

    def _restyle(self) -> None:
        self._images.clear()
        self._update_scroll_bar()

    # Painting

    def paintEvent(self, event: QPaintEvent) -> None:
        painter = QPainter(self.viewport())
        painter.fillRect(event.rect(), themes.colour(theme().panel))
        rows_painter = RankColumnsPainter(
            painter,
            self.current_geometry,
            self._columns,
            self._source,
            self._images,
            self.devicePixelRatioF(),
            (self._bar_maximum(LEFT), self._bar_maximum(RIGHT)),
            self._digits,
        )
        rows_painter.make_images(self.shown)
        highlighted_rows = {self._current, self._hover} - {NONE}
        rows_painter.draw_lines(self.shown, self._min_move, highlighted_rows)
        for side, cases in enumerate(self.shown):
            for index, case in enumerate(cases):
                rows_painter.draw_row(
                    side,
                    index,
                    case,
                    current=case.row == self._current,
                    hovered=case.row == self._hover,
                    ring=self.hasFocus() and side == self._side,
                )
        painter.end()
        if self._images.late:
            self._repaint.start(0)

    def _bar_maximum(self, side: int) -> float:
        """The distance of a full bar: a little more than the largest distance shown."""
        cases = self.shown[side]
        return cases[-1].distance * 1.25 if cases else 1.0

    def _images_ready(self, rows: frozenset[int]) -> None:
        for row in rows:
            self._images.forget(row)
        self.viewport().update()

    # Mouse

    def _case_at(self, point: QPoint) -> tuple[int, int] | None:
        """(side, index) of the row or the line under ``point``."""
        geometry = self.current_geometry
        for side in (LEFT, RIGHT):
            index = geometry.index_at(side, point)
            if index is not None and index < len(self.shown[side]):
                return side, index
        nearest: tuple[float, int] | None = None
        for index, case in enumerate(self.shown[LEFT]):
            if geometry.is_joined(case, self._min_move) and case.other is not None:
                distance = abs(geometry.line_y_at(index, case.other - 1, point.x()) - point.y())
                if distance <= _HIT_DISTANCE and (nearest is None or distance < nearest[0]):
                    nearest = (distance, index)
        return None if nearest is None else (LEFT, nearest[1])

    def _set_hover(self, row: int) -> None:
        if row != self._hover:
            self._hover = row
            self.viewport().update()

    def mouseMoveEvent(self, event: QMouseEvent) -> None:
        hit = self._case_at(event.position().toPoint())
        self._set_hover(NONE if hit is None else self.shown[hit[0]][hit[1]].row)

    def leaveEvent(self, event: QEvent) -> None:
        self._set_hover(NONE)

    def mousePressEvent(self, event: QMouseEvent) -> None:
        hit = self._case_at(event.position().toPoint())
        if hit is not None:
            self.set_current(self.shown[hit[0]][hit[1]].row, hit[0])

    def mouseDoubleClickEvent(self, event: QMouseEvent) -> None:
        if (
            event.button() == Qt.MouseButton.LeftButton
            and self._case_at(event.position().toPoint()) is not None
        ):
            self.activated.emit(self._current)

    def contextMenuEvent(self, event: QContextMenuEvent) -> None:
        position = event.globalPos()
        if event.reason() == QContextMenuEvent.Reason.Keyboard:
            index = self._index_of_row(self._side, self._current)
            position = self.viewport().mapToGlobal(
                self.current_geometry.row_rect(self._side, max(0, index)).center()
            )
        else:
            hit = self._case_at(self.viewport().mapFromGlobal(position))
            if hit is None:
                return
            self.set_current(self.shown[hit[0]][hit[1]].row, hit[0])
        if self._current != NONE:
            self.menu_requested.emit(self._current, position)

    def viewportEvent(self, event: QEvent) -> bool:
        if isinstance(event, QHelpEvent) and event.type() == QEvent.Type.ToolTip:
            hit = self._case_at(event.pos())
            if hit is None:
                QToolTip.hideText()
            else:
                QToolTip.showText(event.globalPos(), plain_tip(self.description(*hit)), self)
            return True
        return super().viewportEvent(event)

    # Keyboard

    def keyPressEvent(self, event: QKeyEvent) -> None:
        cases = self.shown[self._side]
        page = max(1, self.viewport().height() // self.current_geometry.row - 1)
        steps = {Qt.Key.Key_Up: -1, Qt.Key.Key_Down: 1, Qt.Key.Key_PageUp: -page, Qt.Key.Key_PageDown: page}
        jumps = {Qt.Key.Key_Home: 0, Qt.Key.Key_End: len(cases) - 1}
        key = Qt.Key(event.key())
        if cases and (key in steps or key in jumps):
            index = self._index_of_row(self._side, self._current)
            target = jumps[key] if key in jumps else index + steps[key]
            self.set_current(cases[max(0, min(len(cases) - 1, target))].row)
        elif key in (Qt.Key.Key_Left, Qt.Key.Key_Right):
            self._change_column(LEFT if key == Qt.Key.Key_Left else RIGHT)
        elif key in (Qt.Key.Key_Return, Qt.Key.Key_Enter) and self._current != NONE:
            self.activated.emit(self._current)
        else:
            super().keyPressEvent(event)

    def focusNextPrevChild(self, following: bool) -> bool:
        """Tab goes through both columns before it leaves the widget."""
        target = RIGHT if following else LEFT
        if self.hasFocus() and self._side != target and self.shown[target]:
            self._change_column(target)
            return True
        return super().focusNextPrevChild(following)

    def _change_column(self, side: int) -> None:
        """Move to the other column: to the same case, or to the same rank if the case is not there."""
        cases = self.shown[side]
        if side == self._side or not cases:
            return
        index = self._index_of_row(side, self._current)
        if index == NONE:
            index = min(max(0, self._index_of_row(self._side, self._current)), len(cases) - 1)
        self.set_current(cases[index].row, side)

    def focusInEvent(self, event: QFocusEvent) -> None:
        super().focusInEvent(event)
        self.viewport().update()

    def focusOutEvent(self, event: QFocusEvent) -> None:
        super().focusOutEvent(event)
        self.viewport().update()
