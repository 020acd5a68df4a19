"""The list of judgements: images, what was said, when, and an arrow that takes it back."""

from __future__ import annotations

from typing import Any

from PySide6.QtCore import (
    QEvent,
    QModelIndex,
    QPersistentModelIndex,
    QPoint,
    QRect,
    QSize,
    Qt,
    QTimer,
    Signal,
)
from PySide6.QtGui import QKeyEvent, QKeySequence, QMouseEvent, QPainter, QPixmap
from PySide6.QtWidgets import (
    QAbstractItemView,
    QListView,
    QStyle,
    QStyledItemDelegate,
    QStyleOptionViewItem,
    QWidget,
)

from semblance.app.search.feedback.ledger_model import NONE, ROW, LedgerRow, LedgerRows, ago
from semblance.app.shell.icons import icon_pixmap
from semblance.app.shell.theme import BASE, SMALL, colour, plain_tip, set_look, theme, theme_signals
from semblance.app.widgets.text_cache import RIGHT, text_cache
from semblance.app.widgets.thumbnail_loader import ThumbnailSource
from semblance.core.language import tr, translate
from semblance.core.searches.judgement import Kind

HEIGHT, IMAGE, EDGE = 40, 30, 12
#: Judgements seen in the lowest window.
SEEN = 4
#: Times are told anew this often.
_MINUTE_MS = 30_000
#: Below this width no time is told.
NARROW = 230
_ICONS = {Kind.ALIKE: "plus", Kind.NOT_ALIKE: "minus"}


class JudgementList(QListView):
    """Shows :class:`~semblance.app.search.feedback.ledger_model.LedgerRows`.

    ``undo_requested(ids)`` and ``redo_requested(ids)``: lists of entries, by the arrow, Delete or Enter ·
    ``chosen(id)``: the current judgement, -1 for none · ``case_requested(case_row)``: a double click.
    """

    undo_requested = Signal(object)
    redo_requested = Signal(object)
    chosen = Signal(int)
    case_requested = Signal(int)

    def __init__(self, rows: LedgerRows, thumbnails: ThumbnailSource, parent: QWidget | None = None) -> None:
        super().__init__(parent)
        self._rows = rows
        self._thumbnails = thumbnails
        #: Entries that disagree with the one looked at.
        self.contradicting: frozenset[int] = frozenset()
        self.setModel(rows)
        self._look = _Row(self, thumbnails)
        self.setItemDelegate(self._look)
        set_look(self, bare=True)
        self.setUniformItemSizes(True)
        self.setLayoutMode(QListView.LayoutMode.Batched)
        self.setSelectionMode(QAbstractItemView.SelectionMode.ExtendedSelection)
        self.setVerticalScrollMode(QAbstractItemView.ScrollMode.ScrollPerPixel)
        self.setHorizontalScrollBarPolicy(Qt.ScrollBarPolicy.ScrollBarAlwaysOff)
        self.setMouseTracking(True)
        self.setAccessibleName(tr("Judgements, the newest first"))
        self._clock = QTimer(self)
        self._clock.setInterval(_MINUTE_MS)
        self._clock.timeout.connect(self.viewport().update)
        thumbnails.ready.connect(lambda _rows: self.viewport().update())
        self.selectionModel().currentChanged.connect(lambda *_: self._tell())
        rows.dataChanged.connect(lambda *_: self._tell())
        rows.modelReset.connect(self._tell)
        rows.modelReset.connect(self.updateGeometry)
        theme_signals.changed.connect(self._restyle)

    def current_row(self) -> LedgerRow | None:
        """The judgement the keyboard is at."""
        found: Any = self.currentIndex().data(ROW)
        return found if isinstance(found, LedgerRow) else None

    def go_to(self, entry: int) -> None:
        """Make a judgement current and scroll to it."""
        place = self._rows.place_of(entry)
        if place != NONE:
            self.setCurrentIndex(self._rows.index(place))
            self.scrollTo(self.currentIndex())

    def influence(self, row: LedgerRow) -> str:
        """What a judgement does to the ranking, in words; empty while that was not asked for."""
        return self._rows.influences.get(row.id, "")

    def short_influence(self, row: LedgerRow) -> str:
        """The same as short as a row is wide."""
        return self._rows.short_influences.get(row.id, "")

    def arrow_rect(self, place: int) -> QRect:
        """Where the arrow of a row is in the viewport; the word Redo where it was undone."""
        return self._look.arrow(self.visualRect(self._rows.index(place)), self._rows.rows[place])

    def toggle(self, rows: list[LedgerRow]) -> None:
        """Take these back; or, where all of them were, put them in force again."""
        in_force = [row.id for row in rows if not row.undone]
        if in_force:
            self.undo_requested.emit(in_force)
        elif rows:
            self.redo_requested.emit([row.id for row in rows])

    def _tell(self) -> None:
        row = self.current_row()
        found = row.against if row is not None else ()
        ids = frozenset(key for one in found for key in one.entries) if row is not None else frozenset()
        self.contradicting = ids - ({row.id} if row is not None else set())
        self.viewport().update()
        self.chosen.emit(row.id if row is not None else NONE)

    def _restyle(self) -> None:
        self._look.forget()
        self.doItemsLayout()

    def showEvent(self, event: Any) -> None:
        self._clock.start()
        super().showEvent(event)

    def hideEvent(self, event: Any) -> None:
        self._clock.stop()
        super().hideEvent(event)

    def keyPressEvent(self, event: QKeyEvent) -> None:
        if event.key() in (Qt.Key.Key_Delete, Qt.Key.Key_Backspace, Qt.Key.Key_Return, Qt.Key.Key_Enter):
            places = sorted({index.row() for index in self.selectedIndexes()})
            self.toggle([self._rows.rows[place] for place in places])
        elif event.matches(QKeySequence.StandardKey.Copy):
            super().keyPressEvent(event)
        elif event.text().isprintable() and event.text():
            # Letters belong to the window, not to looking for a row that begins with one.
            event.ignore()
        else:
            super().keyPressEvent(event)

    def mousePressEvent(self, event: QMouseEvent) -> None:
        at = event.position().toPoint()
        index = self.indexAt(at)
        if event.button() == Qt.MouseButton.LeftButton and index.isValid():
            row = self._rows.rows[index.row()]
            if self.arrow_rect(index.row()).adjusted(-4, -4, 4, 4).contains(at):
                self.toggle([row])
                return
        super().mousePressEvent(event)

    def mouseDoubleClickEvent(self, event: QMouseEvent) -> None:
        at = event.position().toPoint()
        index = self.indexAt(at)
        if index.isValid() and not self.arrow_rect(index.row()).adjusted(-4, -4, 4, 4).contains(at):
            case = self._rows.rows[index.row()].case
            if case != NONE:
                self.case_requested.emit(case)

    def viewportEvent(self, event: QEvent) -> bool:
        if event.type() == QEvent.Type.ToolTip:
            at: QPoint = event.pos()  # type: ignore[attr-defined]
            index = self.indexAt(at)
            self.viewport().setToolTip(self.tip(self._rows.rows[index.row()]) if index.isValid() else "")
        return super().viewportEvent(event)

    def tip(self, row: LedgerRow) -> str:
        """All that is known of a judgement, those that disagree with it included."""
        when = ago(row.judgement.time)
        lines = [f"{row.words}{f' ({when})' if when else ''}."]
        if self.influence(row):
            lines.append(self.influence(row) + ".")
        for one in row.against:
            others = [self._rows.row_of(key) for key in one.entries if key != row.id]
            lines += [
                tr("Contradicts, for {reason}:", reason=translate(one.reason)),
                *(other.words for other in others if other is not None),
            ]
        return plain_tip("\n".join(lines))

    def sizeHint(self) -> QSize:
        # The rest of the room is given by the layout, so that what stands below it stays in sight.
        return QSize(280, self._least_height())

    def minimumSizeHint(self) -> QSize:
        return QSize(120, self._least_height())

    def _least_height(self) -> int:
        return theme().px(HEIGHT) * min(SEEN, max(2, self._rows.rowCount()))


class _Row(QStyledItemDelegate):
    """Paints one judgement."""

    def __init__(self, view: JudgementList, thumbnails: ThumbnailSource) -> None:
        super().__init__(view)
        self._view, self._thumbnails = view, thumbnails
        self._images: dict[int, QPixmap] = {}
        thumbnails.ready.connect(self._renew)

    def forget(self) -> None:
        self._images.clear()

    def _renew(self, rows: frozenset[int]) -> None:
        for row in rows:
            self._images.pop(row, None)

    def sizeHint(self, option: QStyleOptionViewItem, index: QModelIndex | QPersistentModelIndex) -> QSize:
        return QSize(120, theme().px(HEIGHT))

    def arrow(self, at: QRect, row: LedgerRow) -> QRect:
        """Where the arrow, or the word Redo, is in a row drawn at ``at``."""
        width, height = theme().px(16), theme().px(18)
        if row.undone:
            width = int(text_cache(BASE).width(tr("Redo"))) + 2
        return QRect(at.right() + 1 - EDGE - width, at.y() + (at.height() - height) // 2, width, height)

    def paint(
        self,
        painter: QPainter,
        option: QStyleOptionViewItem,
        index: QModelIndex | QPersistentModelIndex,
    ) -> None:
        row, tokens = index.data(ROW), theme()
        state, at = option.state, option.rect
        self._back(painter, at, state, row)
        shade = tokens.disabled if row.undone else tokens.text
        side = tokens.px(IMAGE)
        x = at.x() + EDGE
        self._image(painter, row.case, QRect(x, at.y() + (at.height() - side) // 2, side, side), row.undone)
        x += side + 10
        right = self._end(painter, at, row) - 8
        room = QRect(x, at.y(), max(0, right - x), at.height())
        if row.judgement.kind == Kind.CLOSER:
            self._comparison(painter, row, room, shade)
        else:
            self._thumb(painter, row, room, shade)

    def _thumb(self, painter: QPainter, row: LedgerRow, room: QRect, shade: str) -> None:
        tokens, size = theme(), theme().px(14)
        upper = QRect(room.x(), room.y() + 4, room.width(), (room.height() - 8) // 2)
        tint, fill = (tokens.disabled, "none") if row.undone else (tokens.accent, tokens.tool_on)
        sign = icon_pixmap(_ICONS[row.judgement.kind], size, tint, painter.device().devicePixelRatioF(), fill)
        painter.drawPixmap(QPoint(upper.x(), upper.center().y() - size // 2 + 1), sign)
        text_cache(BASE).draw(painter, upper.adjusted(size + 6, 0, 0, 0), row.said, shade)
        lower = upper.translated(0, upper.height())
        if row.against:
            self._flag(painter, lower)
        else:
            quiet = tokens.disabled if row.undone else tokens.third
            text_cache(SMALL).draw(painter, lower, self._quiet_words(row, lower.width()), quiet, middle=True)

    def _quiet_words(self, row: LedgerRow, width: int) -> str:
        """The name of the case; or what the judgement does, whole where there is room for it."""
        brief, full = self._view.short_influence(row), self._view.influence(row)
        if not brief:
            return row.names[0]
        return full if text_cache(SMALL).width(full) <= width else brief

    def _comparison(self, painter: QPainter, row: LedgerRow, room: QRect, shade: str) -> None:
        """The other case stands behind the words."""
        base, side = text_cache(BASE), theme().px(IMAGE)
        brief = self._view.short_influence(row)
        sign = 26 if row.against else 0
        wanted = max(base.width(row.said), text_cache(SMALL).width(brief))
        words = max(0, min(int(wanted) + 1, room.width() - side - 8 - sign))
        said = QRect(room.x(), room.y(), words, room.height())
        if brief:
            said = QRect(room.x(), room.y() + 4, words, (room.height() - 8) // 2)
            below = said.translated(0, said.height())
            text_cache(SMALL).draw(painter, below, brief, theme().disabled if row.undone else theme().third)
        base.draw(painter, said, row.said, shade)
        x = room.x() + words + 8
        square = QRect(x, room.y() + (room.height() - side) // 2, side, side)
        self._image(painter, row.other, square, row.undone)
        rest = QRect(square.right() + 9, room.y(), max(0, room.right() - square.right() - 9), room.height())
        if row.against:
            self._flag(painter, rest)

    def _back(self, painter: QPainter, at: QRect, state: Any, row: LedgerRow) -> None:
        tokens = theme()
        selected = bool(state & QStyle.StateFlag.State_Selected)
        if selected or row.id in self._view.contradicting:
            painter.fillRect(at, colour(tokens.selected if selected else tokens.card_hover))
        elif state & QStyle.StateFlag.State_MouseOver:
            painter.fillRect(at, colour(tokens.card_hover))
        painter.fillRect(QRect(at.x() + EDGE, at.bottom(), at.width() - 2 * EDGE, 1), colour(tokens.line))
        focused = state & QStyle.StateFlag.State_HasFocus and self._view.hasFocus()
        if focused or row.id in self._view.contradicting:
            painter.fillRect(QRect(at.x(), at.y(), 2, at.height()), colour(tokens.accent))

    def _end(self, painter: QPainter, at: QRect, row: LedgerRow) -> int:
        """Draw the arrow and the time; gives where they begin."""
        tokens, base = theme(), text_cache(BASE)
        arrow = self.arrow(at, row)
        if row.undone:
            base.draw(painter, arrow, tr("Redo"), tokens.second)
        else:
            ratio = painter.device().devicePixelRatioF()
            side = min(tokens.px(16), arrow.width(), arrow.height())
            sign = icon_pixmap("undo", side, tokens.second, ratio)
            painter.drawPixmap(QPoint(arrow.x(), arrow.y() + (arrow.height() - side) // 2), sign)
        flagged = row.against and row.judgement.kind == Kind.CLOSER
        if flagged or self._view.short_influence(row) or at.width() < tokens.px(NARROW):
            # The room is needed for what was said; the tooltip tells the time.
            return arrow.x()
        when = tr("undone") if row.undone else ago(row.judgement.time)
        width = int(text_cache(SMALL).width(when)) + 2
        where = QRect(arrow.x() - 10 - width, at.y(), width, at.height())
        text_cache(SMALL).draw(painter, where, when, tokens.disabled if row.undone else tokens.third, RIGHT)
        return where.x()

    def _flag(self, painter: QPainter, where: QRect) -> None:
        tokens = theme()
        side = tokens.px(14)
        sign = icon_pixmap("warning", side, tokens.text, painter.device().devicePixelRatioF())
        painter.drawPixmap(QPoint(where.x(), where.center().y() - side // 2 + 1), sign)
        word, small = tr("contradicts"), text_cache(SMALL)
        if small.width(word) <= where.width() - side - 4:
            small.draw(painter, where.adjusted(side + 4, 0, 0, 0), word, tokens.text)

    def _image(self, painter: QPainter, case_row: int, square: QRect, faded: bool) -> None:
        ratio = painter.device().devicePixelRatioF()
        drawn = self._images.get(case_row)
        if drawn is None and case_row != NONE:
            image = self._thumbnails.get(case_row)
            if image is not None:
                wanted = max(1, round(square.width() * ratio))
                scaled = image.scaled(
                    wanted,
                    wanted,
                    Qt.AspectRatioMode.KeepAspectRatio,
                    Qt.TransformationMode.SmoothTransformation,
                )
                drawn = QPixmap.fromImage(scaled)
                drawn.setDevicePixelRatio(ratio)
                if len(self._images) > 500:
                    self._images.clear()
                self._images[case_row] = drawn
        painter.fillRect(square, colour(theme().image_well))
        if drawn is not None:
            width, height = drawn.width() / ratio, drawn.height() / ratio
            painter.setOpacity(0.45 if faded else 1.0)
            left = square.x() + round((square.width() - width) / 2)
            painter.drawPixmap(QPoint(left, square.y() + round((square.height() - height) / 2)), drawn)
            painter.setOpacity(1.0)
