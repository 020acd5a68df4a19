"""Two columns of ranked cases with curved lines between the same ones."""

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
from semblance.app.shell.delayed_call import one_shot
from semblance.app.shell.theme import plain_tip, theme
from semblance.app.widgets.cards.card_painter import ScaledImages
from semblance.app.widgets.thumbnail_loader import ThumbnailSource
from semblance.core.language import tr
from semblance.core.library.case_columns import CaseColumns, no_cases
from semblance.core.reports.formatting import MIN_DIGITS, digits_for, distance_text
from semblance.core.workflows.evaluation.compare_metrics import ComparedCase

NONE = -1
LEFT, RIGHT = 0, 1
#: Ranks seen at once where there is room for them.
USUAL = 15
#: A line is taken hold of from this far, px.
_GRIP = 6


class RankColumns(QAbstractScrollArea):
    """The same query under two metrics; signals speak of catalogue rows.

    ``current_changed(row)`` · ``activated(row)`` double click or Enter · ``menu_requested(row, position)``.
    Up, Down, Home, End and the page keys move in a column; Tab, Left and Right go to the other one, to the
    same case where it is there.
    """

    current_changed = Signal(int)
    activated = Signal(int)
    menu_requested = Signal(int, QPoint)

    def __init__(self, parent: QWidget | None = None) -> None:
        super().__init__(parent)
        self._columns: CaseColumns = no_cases()
        self._lines: tuple[Sequence[ComparedCase], Sequence[ComparedCase]] = ((), ())
        self._digits: tuple[int, ...] = (MIN_DIGITS, MIN_DIGITS)
        self._names = ("", "")
        self._depth, self._least = USUAL, 0
        self._current = self._hover = NONE
        self._side = LEFT
        self._source: ThumbnailSource | None = None
        self._images = ScaledImages()
        self._again = one_shot(self, self.viewport().update)
        self.setFrameShape(QFrame.Shape.NoFrame)
        self.setFocusPolicy(Qt.FocusPolicy.StrongFocus)
        self.setHorizontalScrollBarPolicy(Qt.ScrollBarPolicy.ScrollBarAlwaysOff)
        self.viewport().setMouseTracking(True)
        self.viewport().setAttribute(Qt.WidgetAttribute.WA_OpaquePaintEvent)
        self.setAccessibleName(tr("Two rankings"))
        themes.theme_signals.changed.connect(self._restyled)

    # What is shown

    def set_source(self, source: ThumbnailSource) -> None:
        self._source = source
        source.ready.connect(self._images_ready)

    def set_lines(
        self,
        columns: CaseColumns,
        left: Sequence[ComparedCase],
        right: Sequence[ComparedCase],
        names: tuple[str, str] = (tr("left"), tr("right")),
    ) -> None:
        """The rankings of two metrics called ``names``, nearest first; the current case stays current."""
        self._columns, self._lines, self._names = columns, (left, right), names
        self._digits = tuple(digits_for([line.distance for line in lines]) for lines in (left, right))
        self._hover = NONE
        if not any(line.row == self._current for lines in self._shown for line in lines):
            self._current = left[0].row if left else NONE
            self._side = LEFT
        self._lay_out()
        self._tell()

    def set_depth(self, depth: int) -> None:
        """How many ranks of each metric."""
        self._depth = depth
        self._lay_out()

    def set_least_move(self, ranks: int) -> None:
        """Draw only lines of cases that moved by at least so many ranks."""
        self._least = ranks
        self.viewport().update()

    @property
    def ranks(self) -> int:
        """How many ranks of each metric are shown."""
        return self._depth

    @property
    def drawn(self) -> list[ComparedCase]:
        """The lines of the left that are joined to the right, as they are drawn now."""
        return [line for line in self._shown[LEFT] if self.geometry_now.joined(line, self._least)]

    def current(self) -> int:
        """The catalogue row of the chosen case, -1 where none is."""
        return self._current

    def current_side(self) -> int:
        """0 where the keyboard is in the left column, 1 in the right."""
        return self._side

    def hovered(self) -> int:
        return self._hover

    def set_current(self, row: int, side: int | None = None) -> None:
        """Choose a case; ``side`` is where the keyboard then is."""
        places = [self._place(one, row) for one in (LEFT, RIGHT)]
        wanted = self._side if side is None else side
        if places[wanted] == NONE:
            wanted = 1 - wanted
        if places[wanted] == NONE:
            return
        changed = row != self._current
        self._current, self._side = row, wanted
        self._scroll_to(places[wanted])
        self.viewport().update()
        self._tell()
        if changed:
            self.current_changed.emit(row)

    @property
    def _shown(self) -> tuple[Sequence[ComparedCase], Sequence[ComparedCase]]:
        return self._lines[LEFT][: self._depth], self._lines[RIGHT][: self._depth]

    def _place(self, side: int, row: int) -> int:
        return next((place for place, line in enumerate(self._shown[side]) if line.row == row), NONE)

    def line_words(self, side: int, place: int) -> str:
        """A place in words, for tooltips and screen readers."""
        line = self._shown[side][place]
        index = self._columns.index_of_row(line.row)
        parts = [
            tr("{name}: rank {rank}", name=self._names[side], rank=line.rank),
            line.case_id,
            line.finding or tr("finding not given"),
        ]
        patient = self._columns.patient_name(index) if index >= 0 else None
        if patient:
            parts.append(tr("patient {patient}", patient=patient))
        parts.append(tr("distance {distance}", distance=distance_text(line.distance, self._digits[side])))
        other = self._names[1 - side]
        parts.append(
            tr("not ranked by {name}", name=other)
            if line.other is None
            else tr("rank {rank} by {name}", rank=line.other, name=other)
        )
        return ", ".join(parts)

    def _tell(self) -> None:
        place = self._place(self._side, self._current)
        self.setAccessibleDescription(
            self.line_words(self._side, place) if place != NONE else tr("nothing to show")
        )

    # Geometry

    @property
    def geometry_now(self) -> Geometry:
        """Where everything is in the viewport."""
        size = self.viewport().size()
        return Geometry(size.width(), size.height(), self._depth, -self.verticalScrollBar().value())

    def right_edge(self, width: int) -> int:
        """Where the right column begins in a widget of ``width``."""
        return Geometry(width, self.viewport().height(), self._depth).line(RIGHT, 0).x()

    def _lay_out(self) -> None:
        geometry = self.geometry_now
        count = max(len(lines) for lines in self._shown)
        bar = self.verticalScrollBar()
        bar.setRange(0, max(0, geometry.height_of(count) - self.viewport().height()))
        bar.setPageStep(max(1, self.viewport().height() - geometry.row))
        bar.setSingleStep(geometry.row)
        self.viewport().update()

    def _scroll_to(self, place: int) -> None:
        where, bar = self.geometry_now.line(LEFT, place), self.verticalScrollBar()
        if where.top() < 0:
            bar.setValue(bar.value() + where.top() - 4)
        elif where.bottom() >= self.viewport().height():
            bar.setValue(bar.value() + where.bottom() - self.viewport().height() + 5)

    def resizeEvent(self, event: QResizeEvent) -> None:
        super().resizeEvent(event)
        self._lay_out()

    def scrollContentsBy(self, dx: int, dy: int) -> None:
        self.viewport().update()

    def _restyled(self) -> None:
        self._images.clear()
        self._lay_out()

    # Painting

    def paintEvent(self, event: QPaintEvent) -> None:
        painter = QPainter(self.viewport())
        painter.fillRect(event.rect(), themes.colour(theme().panel))
        # All is drawn anew; who went meanwhile is waited for no longer.
        self._images.late.clear()
        draw = RankColumnsPainter(
            painter,
            self.geometry_now,
            self._columns,
            self._source,
            self._images,
            self.devicePixelRatioF(),
            (self._full(LEFT), self._full(RIGHT)),
            self._digits,
        )
        draw.make_images(self._shown)
        chosen = {self._current, self._hover} - {NONE}
        draw.lines(self._shown, self._least, chosen)
        for side, lines in enumerate(self._shown):
            for place, line in enumerate(lines):
                draw.line(
                    side,
                    place,
                    line,
                    current=line.row == self._current,
                    hovered=line.row == self._hover,
                    ring=self.hasFocus() and side == self._side,
                )
        painter.end()
        if self._images.late:
            self._again.start(0)

    def _full(self, side: int) -> float:
        """The distance that fills a bar: a little beyond the last that is shown."""
        lines = self._shown[side]
        return lines[-1].distance * 1.25 if lines else 1.0

    def _images_ready(self, rows: frozenset[int]) -> None:
        for row in rows:
            self._images.forget(row)
        self.viewport().update()

    # Mouse

    def _at(self, point: QPoint) -> tuple[int, int] | None:
        """(side, place) under ``point``: a row, or a line between the columns."""
        geometry = self.geometry_now
        for side in (LEFT, RIGHT):
            place = geometry.place_at(side, point)
            if place is not None and place < len(self._shown[side]):
                return side, place
        near: tuple[float, int] | None = None
        for place, line in enumerate(self._shown[LEFT]):
            if geometry.joined(line, self._least) and line.other is not None:
                away = abs(geometry.height_at(place, line.other - 1, point.x()) - point.y())
                if away <= _GRIP and (near is None or away < near[0]):
                    near = (away, place)
        return None if near is None else (LEFT, near[1])

    def _set_hover(self, row: int) -> None:
        if row != self._hover:
            self._hover = row
            self.viewport().update()

    def mouseMoveEvent(self, event: QMouseEvent) -> None:
        found = self._at(event.position().toPoint())
        self._set_hover(NONE if found is None else self._shown[found[0]][found[1]].row)

    def leaveEvent(self, event: QEvent) -> None:
        self._set_hover(NONE)

    def mousePressEvent(self, event: QMouseEvent) -> None:
        found = self._at(event.position().toPoint())
        if found is not None:
            self.set_current(self._shown[found[0]][found[1]].row, found[0])

    def mouseDoubleClickEvent(self, event: QMouseEvent) -> None:
        if event.button() == Qt.MouseButton.LeftButton and self._at(event.position().toPoint()) is not None:
            self.activated.emit(self._current)

    def contextMenuEvent(self, event: QContextMenuEvent) -> None:
        where = event.globalPos()
        if event.reason() == QContextMenuEvent.Reason.Keyboard:
            place = self._place(self._side, self._current)
            where = self.viewport().mapToGlobal(self.geometry_now.line(self._side, max(0, place)).center())
        else:
            found = self._at(self.viewport().mapFromGlobal(where))
            if found is None:
                return
            self.set_current(self._shown[found[0]][found[1]].row, found[0])
        if self._current != NONE:
            self.menu_requested.emit(self._current, where)

    def viewportEvent(self, event: QEvent) -> bool:
        if isinstance(event, QHelpEvent) and event.type() == QEvent.Type.ToolTip:
            found = self._at(event.pos())
            if found is None:
                QToolTip.hideText()
            else:
                QToolTip.showText(event.globalPos(), plain_tip(self.line_words(*found)), self)
            return True
        return super().viewportEvent(event)

    # Keyboard

    def keyPressEvent(self, event: QKeyEvent) -> None:
        lines = self._shown[self._side]
        page = max(1, self.viewport().height() // self.geometry_now.row - 1)
        steps = {Qt.Key.Key_Up: -1, Qt.Key.Key_Down: 1, Qt.Key.Key_PageUp: -page, Qt.Key.Key_PageDown: page}
        ends = {Qt.Key.Key_Home: 0, Qt.Key.Key_End: len(lines) - 1}
        key = Qt.Key(event.key())
        if lines and (key in steps or key in ends):
            place = self._place(self._side, self._current)
            wanted = ends[key] if key in ends else place + steps[key]
            self.set_current(lines[max(0, min(len(lines) - 1, wanted))].row)
        elif key in (Qt.Key.Key_Left, Qt.Key.Key_Right):
            self._cross(LEFT if key == Qt.Key.Key_Left else RIGHT)
        elif key in (Qt.Key.Key_Return, Qt.Key.Key_Enter) and self._current != NONE:
            self.activated.emit(self._current)
        else:
            super().keyPressEvent(event)

    def focusNextPrevChild(self, following: bool) -> bool:
        """Tab goes through the two columns before it leaves."""
        wanted = RIGHT if following else LEFT
        if self.hasFocus() and self._side != wanted and self._shown[wanted]:
            self._cross(wanted)
            return True
        return super().focusNextPrevChild(following)

    def _cross(self, side: int) -> None:
        """To the other column: the same case where it is there, else the one at the same height."""
        lines = self._shown[side]
        if side == self._side or not lines:
            return
        place = self._place(side, self._current)
        if place == NONE:
            place = min(max(0, self._place(self._side, self._current)), len(lines) - 1)
        self.set_current(lines[place].row, side)

    def focusInEvent(self, event: QFocusEvent) -> None:
        super().focusInEvent(event)
        self.viewport().update()

    def focusOutEvent(self, event: QFocusEvent) -> None:
        super().focusOutEvent(event)
        self.viewport().update()
