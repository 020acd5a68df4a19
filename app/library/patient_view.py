"""A scroll area with patients, their studies and series. Only the visible rows are painted."""

from __future__ import annotations

import numpy as np
import numpy.typing as npt
from PySide6.QtCore import QEvent, QPoint, QRect, QSize, Qt, Signal
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
from PySide6.QtWidgets import QAbstractScrollArea, QApplication, QFrame, QToolTip

from semblance.app.shell import theme as themes
from semblance.app.shell.event_loop import one_shot
from semblance.app.shell.icons import icon_pixmap
from semblance.app.shell.theme import BASE, SMALL, colour, plain_tip, theme
from semblance.app.widgets.cards.card_painter import ScaledImages
from semblance.app.widgets.cards.card_view import NONE
from semblance.app.widgets.cards.case_drag import case_data, drag, is_drag
from semblance.app.widgets.finding_chips import SIDE, chip_pixmap
from semblance.app.widgets.text_cache import text_cache
from semblance.app.widgets.thumbnail_loader import ThumbnailSource
from semblance.core.language import tr
from semblance.core.library.case_columns import NO_FINDING, ImageAvailability, Indices
from semblance.core.library.patient_tree import PatientTree, TreeLevel

_NO_PLACE = -1
_INDENT, _ARROW, _THUMBNAIL = 12, 16, 32
#: Heights of the rows of a patient, a study, and a series or case with its thumbnail.
_HEIGHTS = (26, 38, 40, 40)
#: With fewer cases left by the filter, all that contains them is expanded.
_EXPANDED = 200


class PatientView(QAbstractScrollArea):
    """Shows a :class:`PatientTree`. Signals carry catalogue rows.

    ``current_changed(case_row)``: the user went to a row; a series is represented by its middle case, a patient or
    study by its first · ``picked(case_row, by_key)``: by a click or a key to a series or case ·
    ``activated(case_row)``: double click or Enter on a series or case ·
    ``menu_requested(case_row, global position)``.
    """

    current_changed = Signal(int)
    picked = Signal(int, bool)
    activated = Signal(int)
    menu_requested = Signal(int, QPoint)

    def __init__(self, source: ThumbnailSource) -> None:
        super().__init__()
        self._tree: PatientTree | None = None
        self._matches: npt.NDArray[np.int32] = np.empty(0, dtype=np.int32)
        self._expanded: npt.NDArray[np.bool_] = np.empty(0, dtype=bool)
        self._nodes: Indices = np.empty(0, dtype=np.intp)
        self._tops: npt.NDArray[np.int64] = np.zeros(1, dtype=np.int64)
        self._place = self._hover = _NO_PLACE
        self._pressed_at: QPoint | None = None
        self._source = source
        self._images = ScaledImages()
        self._late_timer = one_shot(self, self.viewport().update)
        source.ready.connect(self._images_ready)
        self.setFrameShape(QFrame.Shape.NoFrame)
        self.setFocusPolicy(Qt.FocusPolicy.StrongFocus)
        self.setHorizontalScrollBarPolicy(Qt.ScrollBarPolicy.ScrollBarAlwaysOff)
        self.setVerticalScrollBarPolicy(Qt.ScrollBarPolicy.ScrollBarAlwaysOn)
        self.viewport().setMouseTracking(True)
        self.viewport().setAttribute(Qt.WidgetAttribute.WA_OpaquePaintEvent)
        self.setAccessibleName(tr("Patients, studies and series"))
        themes.theme_signals.changed.connect(self._restyled)

    # What is shown

    def set_tree(self, tree: PatientTree | None, chosen: Indices, *, filtered: bool = False) -> None:
        """Show the cases ``chosen`` (positions) of ``tree``, as :meth:`choose` does. In the same library what is
        expanded stays so."""
        before, current = self._expanded_cases(), self.current()
        self._tree = tree
        self._expanded = np.zeros(0 if tree is None else len(tree), dtype=bool)
        if tree is not None and before.size:
            self._expanded = tree.nodes_of(before[:, 0], before[:, 1])
        self._place = _NO_PLACE
        self._images.clear()
        self.choose(chosen, filtered=filtered)
        if current != NONE:
            self._go_to_node(self._node_of(current))

    def choose(self, chosen: Indices, *, filtered: bool = False) -> None:
        """Show the cases ``chosen`` (positions) only; few cases that a filter left are expanded."""
        current = self._node()
        if self._tree is None:
            self._matches = np.empty(0, dtype=np.int32)
        else:
            self._matches = self._tree.matches(chosen)
            if filtered and len(chosen) <= _EXPANDED:
                self._expanded |= self._matches > 0
        self._list(current)

    def _list(self, current: int) -> None:
        """List the visible nodes again, with the node ``current`` as before."""
        tree = self._tree
        if tree is None:
            self._nodes = np.empty(0, dtype=np.intp)
        else:
            self._nodes = tree.visible(self._matches, self._expanded)
            heights = np.array([theme().px(height) for height in _HEIGHTS])[tree.level[self._nodes]]
            self._tops = np.concatenate(([0], np.cumsum(heights)))
        if tree is None:
            self._tops = np.zeros(1, dtype=np.int64)
        self._place, self._hover = self._place_of_node(current), _NO_PLACE
        self._update_bar()
        self._describe()
        self.viewport().update()

    def _expanded_cases(self) -> npt.NDArray[np.int64]:
        """A catalogue row and a level for each expanded node, (k, 2)."""
        if self._tree is None:
            return np.empty((0, 2), dtype=np.int64)
        nodes = np.flatnonzero(self._expanded)
        rows = self._tree.columns.case_row[self._tree.order[self._tree.start[nodes]]]
        return np.stack([rows, self._tree.level[nodes]], axis=1)

    # The current row

    def current(self) -> int:
        """The catalogue row of the current row's case, -1 for none."""
        node = self._node()
        if self._tree is None or node < 0:
            return NONE
        return int(self._tree.columns.case_row[self._tree.case(node)])

    def set_current(self, case_row: int) -> None:
        """Go to a case, whose patient, study and series are expanded; a row that represents the case stays current."""
        if case_row != self.current():
            self._go_to_node(self._node_of(case_row))

    def _node(self) -> int:
        return int(self._nodes[self._place]) if 0 <= self._place < len(self._nodes) else -1

    def _node_of(self, case_row: int) -> int:
        tree = self._tree
        index = -1 if tree is None else tree.columns.index_of_row(case_row)
        return -1 if tree is None or index < 0 else tree.node_of(index)

    def _go_to_node(self, node: int) -> None:
        if self._tree is None or node < 0 or not self._matches[node]:
            self._place = _NO_PLACE
            self.viewport().update()
            return
        above = int(self._tree.parent[node])
        while above >= 0:
            self._expanded[above] = True
            above = int(self._tree.parent[above])
        self._place = self._place_of_node(node)
        if self._place == _NO_PLACE:
            self._list(node)
        else:
            self._describe()
            self.viewport().update()
        self._show_current()

    def _place_of_node(self, node: int) -> int:
        place = int(np.searchsorted(self._nodes, node))
        return place if node >= 0 and place < len(self._nodes) and self._nodes[place] == node else _NO_PLACE

    def _pick(self, *, by_key: bool) -> None:
        """The user went to the current row: a patient or study is only opened."""
        if (
            self._tree is not None
            and self._node() >= 0
            and self._tree.level[self._node()] >= TreeLevel.SERIES
        ):
            self.picked.emit(self.current(), by_key)

    def _go_to_place(self, place: int) -> None:
        """The user goes to the row at ``place``."""
        if not len(self._nodes):
            return
        self._place = min(max(place, 0), len(self._nodes) - 1)
        self._show_current()
        self._describe()
        self.viewport().update()
        self.current_changed.emit(self.current())

    def _show_current(self) -> None:
        if self._place == _NO_PLACE:
            return
        top, bottom = int(self._tops[self._place]), int(self._tops[self._place + 1])
        bar, height = self.verticalScrollBar(), self.viewport().height()
        if top < bar.value():
            bar.setValue(top)
        elif bottom > bar.value() + height:
            bar.setValue(bottom - height)

    def _text(self, place: int) -> str:
        """The row at ``place`` for tooltips and screen readers."""
        assert self._tree is not None
        node = int(self._nodes[place])
        parts = [self._tree.title(node), self._tree.detail(node, int(self._matches[node]))]
        index = self._tree.case(node)
        columns = self._tree.columns
        if self._tree.level[node] in (TreeLevel.CASE, TreeLevel.SERIES):
            parts += [
                columns.name(index),
                columns.finding_name(index) or tr("finding not given"),
                columns.ids[index],
            ]
        return ", ".join(dict.fromkeys(filter(None, parts)))

    def _describe(self) -> None:
        if self._tree is None or self._place == _NO_PLACE:
            self.setAccessibleDescription(tr("{n} rows, none selected", n=len(self._nodes)))
            return
        text = self._text(self._place)
        if self._tree.has_children(self._node()):
            state = tr("expanded") if self._expanded[self._node()] else tr("collapsed")
            text = f"{text}, {state}"
        self.setAccessibleDescription(text)

    # Expanding

    def _set_expanded(self, place: int, expanded: bool) -> None:
        assert self._tree is not None
        node = int(self._nodes[place])
        if self._tree.has_children(node) and self._expanded[node] != expanded:
            self._expanded[node] = expanded
            child = node + 1
            is_only = self._tree.end[child] == self._tree.end[node]
            if expanded and is_only and self._tree.level[child] == TreeLevel.STUDY:
                self._expanded[child] = True
            top = int(self._tops[place]) - self.verticalScrollBar().value()
            self._list(node if self._place == place else self._node())
            self.verticalScrollBar().setValue(int(self._tops[self._place_of_node(node)]) - top)

    def _activate(self, place: int) -> None:
        """Search with a series or case; expand or collapse a patient or study."""
        assert self._tree is not None
        node = int(self._nodes[place])
        if self._tree.level[node] in (TreeLevel.CASE, TreeLevel.SERIES):
            self.activated.emit(self.current())
        else:
            self._set_expanded(place, not self._expanded[node])

    # Geometry

    def sizeHint(self) -> QSize:
        return QSize(216, 320)

    def minimumSizeHint(self) -> QSize:
        return QSize(100, 64)

    def _update_bar(self) -> None:
        bar, height = self.verticalScrollBar(), self.viewport().height()
        bar.setRange(0, max(0, int(self._tops[-1]) - height))
        bar.setEnabled(bar.maximum() > 0)
        bar.setPageStep(max(1, height))
        bar.setSingleStep(theme().px(_HEIGHTS[0]))

    def resizeEvent(self, event: QResizeEvent) -> None:
        self._update_bar()
        super().resizeEvent(event)

    def _restyled(self) -> None:
        self._images.clear()
        self._list(self._node())

    def _place_at(self, point: QPoint) -> int:
        y = point.y() + self.verticalScrollBar().value()
        if not 0 <= y < self._tops[-1]:
            return _NO_PLACE
        return int(np.searchsorted(self._tops, y, side="right")) - 1

    def _row_rect(self, place: int) -> QRect:
        top = int(self._tops[place]) - self.verticalScrollBar().value()
        return QRect(0, top, self.viewport().width(), int(self._tops[place + 1] - self._tops[place]))

    def visible_places(self) -> range:
        """The places that are at least partly visible."""
        if not len(self._nodes):
            return range(0)
        top = self.verticalScrollBar().value()
        bottom = min(top + self.viewport().height(), int(self._tops[-1])) - 1
        first, last = np.searchsorted(self._tops, [top, bottom], side="right") - 1
        return range(int(first), int(last) + 1)

    def _arrow_rect(self, place: int) -> QRect:
        assert self._tree is not None
        row, depth = self._row_rect(place), int(self._tree.depth[self._nodes[place]])
        return QRect(4 + depth * _INDENT, row.y(), _ARROW + 4, row.height())

    # Painting

    def paintEvent(self, event: QPaintEvent) -> None:
        painter = QPainter(self.viewport())
        painter.fillRect(event.rect(), colour(theme().panel))
        self._images.begin(theme().px(_THUMBNAIL), self.devicePixelRatioF())
        places = self.visible_places()
        # The last request is loaded first, so the top images are requested last.
        for place in reversed(places):
            self._request_image(place)
        for place in places:
            self._draw_row(painter, place)
        painter.end()
        if self._images.late:
            self._late_timer.start(0)

    def _draw_row(self, painter: QPainter, place: int) -> None:
        assert self._tree is not None
        tree, tokens, ratio = self._tree, theme(), self.devicePixelRatioF()
        node, at = int(self._nodes[place]), self._row_rect(place)
        level, index = int(tree.level[node]), tree.case(node)
        if place in {self._place, self._hover}:
            painter.fillRect(at, colour(tokens.selected if place == self._place else tokens.card_hover))
        if place == self._place:
            painter.fillRect(QRect(at.x(), at.y(), 2, at.height()), colour(tokens.accent))
            if self.hasFocus():
                painter.setPen(colour(tokens.accent))
                painter.setBrush(Qt.BrushStyle.NoBrush)
                painter.drawRect(at.adjusted(0, 0, -1, -1))
        arrow = self._arrow_rect(place)
        if tree.has_children(node):
            name = "chevron-down" if self._expanded[node] else "chevron-right"
            where = QPoint(arrow.x() + 4, at.y() + (at.height() - 12) // 2)
            painter.drawPixmap(where, icon_pixmap(name, 12, tokens.second, ratio))
        x = arrow.right() + 2
        if level >= TreeLevel.SERIES:
            x = self._draw_thumbnail(painter, index, QPoint(x, at.y()), at.height()) + 6
        if level == TreeLevel.CASE and tree.columns.finding[index] != NO_FINDING:
            code = int(tree.columns.finding[index])
            letter = tree.columns.letters[tree.columns.findings[code]]
            side = tokens.px(SIDE)
            painter.drawPixmap(
                QPoint(x, at.y() + (at.height() - side) // 2), chip_pixmap(code, letter, ratio)
            )
            x += side + 6
        right = at.right() - 6
        title, detail = tree.title(node), tree.detail(node, int(self._matches[node]))
        base, small = text_cache(BASE, 600 if level <= TreeLevel.STUDY else 400), text_cache(SMALL)
        if level == TreeLevel.PATIENT:
            title = tree.columns.patient_code(index) or title
            width = min(int(base.width(title)) + 2, right - x)
            base.draw(painter, QRect(x, at.y(), width, at.height()), title, tokens.text, middle=True)
            x += width + 6
            if small.width(detail) <= right - x:
                small.draw(painter, QRect(x, at.y(), right - x, at.height()), detail, tokens.second)
            return
        if not detail:
            base.draw(painter, QRect(x, at.y(), right - x, at.height()), title, tokens.text)
            return
        middle = at.y() + at.height() // 2
        line = tokens.px(16)
        base.draw(painter, QRect(x, middle - line, right - x, line), title, tokens.text)
        small.draw(painter, QRect(x, middle, right - x, line), detail, tokens.second)

    def _draw_thumbnail(self, painter: QPainter, index: int, at: QPoint, height: int) -> int:
        """Draw the image of a case in its square; returns the right end of the square."""
        assert self._tree is not None
        side = theme().px(_THUMBNAIL)
        square = QRect(at.x(), at.y() + (height - side) // 2, side, side)
        painter.fillRect(square, colour(theme().image_well))
        row = int(self._tree.columns.case_row[index])
        pixmap = self._images.get(row)
        if pixmap is None:
            image = self._source.get(row) if self._tree.columns.state[index] == ImageAvailability.OK else None
            pixmap = self._images.make(row, image) if image is not None else None
        if pixmap is not None:
            size = pixmap.deviceIndependentSize().toSize()
            painter.drawPixmap(
                square.x() + (side - size.width()) // 2, square.y() + (side - size.height()) // 2, pixmap
            )
        elif self._tree.columns.state[index] != ImageAvailability.OK:
            corner = square.center() - QPoint(7, 7)
            painter.drawPixmap(corner, icon_pixmap("image", 16, theme().third, self.devicePixelRatioF()))
        return square.right()

    def _request_image(self, place: int) -> None:
        assert self._tree is not None
        node = int(self._nodes[place])
        index = self._tree.case(node)
        if (
            self._tree.level[node] >= TreeLevel.SERIES
            and self._tree.columns.state[index] == ImageAvailability.OK
        ):
            row = int(self._tree.columns.case_row[index])
            if self._images.get(row) is None:
                self._source.get(row)

    def _images_ready(self, case_rows: frozenset[int]) -> None:
        for row in case_rows:
            self._images.forget(row)
        if self.isVisible():
            self.viewport().update()

    # Mouse

    def mousePressEvent(self, event: QMouseEvent) -> None:
        self._pressed_at = None
        point = event.position().toPoint()
        place = self._place_at(point)
        if place == _NO_PLACE:
            return
        if event.button() == Qt.MouseButton.LeftButton:
            assert self._tree is not None
            if self._arrow_rect(place).contains(point) and self._tree.has_children(int(self._nodes[place])):
                self._set_expanded(place, not self._expanded[self._nodes[place]])
                return
            self._pressed_at = point
        self._go_to_place(place)

    def mouseMoveEvent(self, event: QMouseEvent) -> None:
        point = event.position().toPoint()
        hover = self._place_at(point)
        if hover != self._hover:
            self._hover = hover
            self.viewport().update()
        if self._pressed_at is not None and is_drag(self._pressed_at, event):
            self._pressed_at = None
            if self._tree is not None and self._place != _NO_PLACE:
                data = case_data(self._tree.columns, self._tree.case(self._node()))
                drag(self, data, self._images.get(self.current()), self._source)

    def mouseReleaseEvent(self, event: QMouseEvent) -> None:
        if event.button() == Qt.MouseButton.LeftButton:
            # A case that was dragged was not clicked.
            was_clicked, self._pressed_at = self._pressed_at is not None, None
            if was_clicked and not event.modifiers():
                self._pick(by_key=False)

    def mouseDoubleClickEvent(self, event: QMouseEvent) -> None:
        point = event.position().toPoint()
        place = self._place_at(point)
        if event.button() != Qt.MouseButton.LeftButton or place == _NO_PLACE:
            return
        if self._arrow_rect(place).contains(point):
            self.mousePressEvent(event)
        else:
            self._go_to_place(place)
            self._activate(place)

    def leaveEvent(self, event: QEvent) -> None:
        self._hover = _NO_PLACE
        self.viewport().update()

    def contextMenuEvent(self, event: QContextMenuEvent) -> None:
        where = event.globalPos()
        if event.reason() == QContextMenuEvent.Reason.Keyboard:
            if self._place == _NO_PLACE:
                return
            where = self.viewport().mapToGlobal(self._row_rect(self._place).center())
        elif self._place_at(self.viewport().mapFromGlobal(where)) == _NO_PLACE:
            return
        self.menu_requested.emit(self.current(), where)

    def viewportEvent(self, event: QEvent) -> bool:
        if isinstance(event, QHelpEvent) and event.type() == QEvent.Type.ToolTip:
            place = self._place_at(event.pos())
            if place == _NO_PLACE:
                QToolTip.hideText()
            else:
                QToolTip.showText(
                    event.globalPos(), plain_tip(self._text(place)), self, self._row_rect(place)
                )
            return True
        return super().viewportEvent(event)

    # Keyboard

    def keyPressEvent(self, event: QKeyEvent) -> None:
        key, held = event.key(), event.modifiers() & ~Qt.KeyboardModifier.KeypadModifier
        page = max(1, len(self.visible_places()) - 1)
        steps = {
            Qt.Key.Key_Up: -1,
            Qt.Key.Key_Down: 1,
            Qt.Key.Key_PageUp: -page,
            Qt.Key.Key_PageDown: page,
            Qt.Key.Key_Home: -len(self._nodes),
            Qt.Key.Key_End: len(self._nodes),
        }
        if self._tree is None or not len(self._nodes) or held:
            super().keyPressEvent(event)
        elif key in steps:
            self._go_to_place(self._place + steps[Qt.Key(key)] if self._place != _NO_PLACE else 0)
            self._pick(by_key=True)
        elif self._place == _NO_PLACE:
            super().keyPressEvent(event)
        elif key == Qt.Key.Key_Right:
            if self._tree.has_children(self._node()) and not self._expanded[self._node()]:
                self._set_expanded(self._place, expanded=True)
            elif self._tree.has_children(self._node()):
                self._go_to_place(self._place + 1)
        elif key == Qt.Key.Key_Left:
            if self._tree.has_children(self._node()) and self._expanded[self._node()]:
                self._set_expanded(self._place, expanded=False)
            elif self._tree.parent[self._node()] >= 0:
                self._go_to_place(self._place_of_node(int(self._tree.parent[self._node()])))
        elif key in (Qt.Key.Key_Return, Qt.Key.Key_Enter, Qt.Key.Key_Space):
            self._activate(self._place)
        else:
            event.ignore()

    def focusInEvent(self, event: QFocusEvent) -> None:
        super().focusInEvent(event)
        by_mouse = QApplication.mouseButtons() != Qt.MouseButton.NoButton
        if self._place == _NO_PLACE and not by_mouse:
            self._go_to_place(next(iter(self.visible_places()), 0))
        self.viewport().update()

    def focusOutEvent(self, event: QFocusEvent) -> None:
        super().focusOutEvent(event)
        self.viewport().update()
