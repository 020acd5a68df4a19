"""Two columns of ranked cases with curved lines between the same cases."""

from __future__ import annotations

from collections.abc import Sequence

from PySide6.QtCore import QEvent, QPoint, Qt, Signal
from PySide6.QtGui import (
    QContextMenuEvent,
    QFocusEvent,
    QHelpEvent,
    QKeyEvent,
    QMouseEvent,
    QPainter,
    QPaintEvent,
    QResizeEvent,
)
from PySide6.QtWidgets import QAbstractScrollArea, QFrame, QToolTip, QWidget

from semblance.app.research.two_metrics.rank_columns_painter import Geometry, RankColumnsPainter
from semblance.app.shell import theme as themes
from semblance.app.shell.event_loop import one_shot
from semblance.app.shell.theme import plain_tip, theme
from semblance.app.widgets.cards.card_painter import ScaledImages
from semblance.app.widgets.thumbnail_loader import ThumbnailSource
from semblance.core.language import tr
from semblance.core.library.case_columns import CaseColumns, no_cases
from semblance.core.reports.formatting import MIN_DIGITS, digits_for, distance_text
from semblance.core.workflows.evaluation.compare_metrics import ComparedCase

NONE = -1
LEFT, RIGHT = 0, 1
#: Number of ranks shown at first.
DEFAULT_DEPTH = 15
#: Pixels within which the pointer hits a line.
_HIT_DISTANCE = 6


class RankColumns(QAbstractScrollArea):
    """The rankings of a query with two metrics. The signals have catalogue rows.

    ``current_changed(row)`` · ``activated(row)`` double click or Enter · ``menu_requested(row, position)``.
    Up, Down, Home, End and the page keys move in a column; Tab, Left and Right go to the other one, to
    the same case if it is there.
    """

    current_changed = Signal(int)
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
        if not any(case.row == self._current for cases in self._shown for case in cases):
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
        changed = row != self._current
        self._current, self._side = row, target
        self._scroll_to(indices[target])
        self.viewport().update()
        self._update_description()
        if changed:
            self.current_changed.emit(row)

    @property
    def _shown(self) -> tuple[Sequence[ComparedCase], Sequence[ComparedCase]]:
        return self._rankings[LEFT][: self._depth], self._rankings[RIGHT][: self._depth]

    def _index_of_row(self, side: int, row: int) -> int:
        return next((index for index, case in enumerate(self._shown[side]) if case.row == row), NONE)

    def description(self, side: int, index: int) -> str:
        """A text that describes a row, for tooltips and screen readers."""
        case = self._shown[side][index]
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

    # Geometry

    @property
    def current_geometry(self) -> Geometry:
        """The geometry for the present size and scroll position."""
        size = self.viewport().size()
        return Geometry(size.width(), size.height(), self._depth, -self.verticalScrollBar().value())

    def right_edge(self, width: int) -> int:
        """x of the right column in a widget of ``width``."""
        return Geometry(width, self.viewport().height(), self._depth).row_rect(RIGHT, 0).x()

    def _update_scroll_bar(self) -> None:
        geometry = self.current_geometry
        count = max(len(cases) for cases in self._shown)
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
        rows_painter.make_images(self._shown)
        highlighted_rows = {self._current, self._hover} - {NONE}
        rows_painter.draw_lines(self._shown, self._min_move, highlighted_rows)
        for side, cases in enumerate(self._shown):
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
        cases = self._shown[side]
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
            if index is not None and index < len(self._shown[side]):
                return side, index
        nearest: tuple[float, int] | None = None
        for index, case in enumerate(self._shown[LEFT]):
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
        self._set_hover(NONE if hit is None else self._shown[hit[0]][hit[1]].row)

    def leaveEvent(self, event: QEvent) -> None:
        self._set_hover(NONE)

    def mousePressEvent(self, event: QMouseEvent) -> None:
        hit = self._case_at(event.position().toPoint())
        if hit is not None:
            self.set_current(self._shown[hit[0]][hit[1]].row, hit[0])

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
            self.set_current(self._shown[hit[0]][hit[1]].row, hit[0])
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
        cases = self._shown[self._side]
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
        if self.hasFocus() and self._side != target and self._shown[target]:
            self._change_column(target)
            return True
        return super().focusNextPrevChild(following)

    def _change_column(self, side: int) -> None:
        """Move to the other column: to the same case, or to the same rank if the case is not there."""
        cases = self._shown[side]
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
