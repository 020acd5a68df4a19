"""The list *Collections*: the teaching collections of the library, and the cases, places and notes in one of them."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from functools import partial
from typing import Any

from PySide6.QtCore import QEvent, QRectF, QSignalBlocker, QSize, Qt, Signal
from PySide6.QtGui import QIcon, QKeyEvent, QPainter, QPen, QPixmap
from PySide6.QtWidgets import QLineEdit, QListWidget, QListWidgetItem, QStackedWidget, QWidget

from semblance.app.shell import search_operations
from semblance.app.shell.context import Context
from semblance.app.shell.jobs import WorkerPool
from semblance.app.shell.keys import claims
from semblance.app.shell.last_views import LastView
from semblance.app.shell.state import Change
from semblance.app.shell.theme import colour, plain_tip, set_look, theme
from semblance.app.widgets.dialog import dialog_button
from semblance.app.widgets.drop_target import DropTarget
from semblance.app.widgets.empty_state import EmptyState
from semblance.app.widgets.labels import ElidedLabel
from semblance.app.widgets.layouts import WrappingRow, hbox, vbox
from semblance.app.widgets.panel import Panel
from semblance.app.widgets.thumbnail_loader import ThumbnailSource
from semblance.core.imaging.region import Box
from semblance.core.language import tr, tr_n, visible
from semblance.core.library.collections import CollectionItem
from semblance.core.searches.query import Query
from semblance.core.workflows.teaching import edit_collections
from semblance.core.workflows.teaching.edit_collections import ListedCollection

_SIDE = 56
_LIST_WIDTH = 240


class CollectionsPanel(Panel):
    """Enter or a double click searches with a case, F2 renames, Delete removes; items are dragged into another order,
    and cases are dropped onto a collection. ``put_requested(rows, collection)`` · ``export_requested(collection)`` ·
    ``quiz_requested(collection)`` · ``compare_requested(row)``: show the case beside the query · ``changed``: the
    collections have to be read again."""

    put_requested = Signal(object, object)
    export_requested = Signal(object)
    quiz_requested = Signal(object)
    compare_requested = Signal(int)
    changed = Signal()

    def __init__(self, context: Context, thumbnails: ThumbnailSource) -> None:
        super().__init__(tr("Collections"))
        self._context, self._state, self._thumbnails = context, context.state, thumbnails
        self._listed: tuple[ListedCollection, ...] = ()
        #: Whether the quiz is shown, which this list must not answer.
        self._is_covered = False
        self.collections = QListWidget()
        self.collections.setAccessibleName(tr("Teaching collections"))
        # A long name is elided, and whole in the tooltip.
        self.collections.setHorizontalScrollBarPolicy(Qt.ScrollBarPolicy.ScrollBarAlwaysOff)
        self.collections.currentRowChanged.connect(lambda _row: self._show_items())
        self.name = QLineEdit()
        self.name.setAccessibleName(tr("Name of the collection"))
        self.name.editingFinished.connect(self.rename)
        self.items = _ItemList()
        self.items.setIconSize(QSize(theme().px(_SIDE), theme().px(_SIDE)))
        self.items.setAccessibleName(tr("Cases of the collection"))
        self.items.itemActivated.connect(lambda _item: self.search_with_current())
        self.items.currentRowChanged.connect(lambda _row: self._show_note())
        self.items.reordered.connect(self._save_order)
        self.items.delete_pressed.connect(self.remove)
        self.items.compare_pressed.connect(self.compare_current)
        self.notes = QLineEdit()
        self.notes.setAccessibleName(tr("Note on this case in the collection"))
        self.notes.setPlaceholderText(tr("Note on this case in the collection"))
        self.notes.editingFinished.connect(self._save_note)
        self._empty = EmptyState()
        self._empty.show_message(
            tr("No collections yet"),
            tr("A collection is a named list of cases, places and notes. Cases can also be dragged here."),
            tr("Add the selected cases…"),
            context.actions["add_to_collection"].trigger,
        )
        self.search_button = dialog_button(tr("Search with this case"), self.search_with_current)
        self.compare_button = dialog_button(
            tr("Compare"),
            self.compare_current,
            tr("Show this case beside the query, at its place (Ctrl+Enter)"),
        )
        self.remove_button = dialog_button(tr("Remove"), self.remove)
        self.quiz_button = dialog_button(tr("Quiz"), self._with_collection(self.quiz_requested.emit))
        self.export_button = dialog_button(tr("Export…"), self._with_collection(self.export_requested.emit))
        self.duplicate_button = dialog_button(tr("Duplicate"), self.duplicate)
        self.delete_button = dialog_button(tr("Delete"), self.delete)
        set_look(self.search_button, primary=True)
        self._facts = ElidedLabel(role="second")
        self._make_layout()
        self._drop = DropTarget(tr("Put into the collection"), self)
        self._drop.case_dropped.connect(self._put_dropped)
        self.setFocusProxy(self.items)
        thumbnails.ready.connect(self._show_images)
        self._state.on_change(Change.CASES | Change.LIBRARY, self, self._show_items)
        self._state.on_change(Change.RANKING, self, self._show_compare)
        self.show_collections(())

    def _make_layout(self) -> None:
        self.collections.setMaximumWidth(theme().px(_LIST_WIDTH))
        self.collections.setMinimumWidth(theme().px(_LIST_WIDTH) // 3)
        body = QWidget()
        right = vbox(spacing=8)
        head = WrappingRow(
            self.name, self.quiz_button, self.export_button, self.duplicate_button, self.delete_button
        )
        buttons = WrappingRow(self.search_button, self.compare_button, self.remove_button, self.notes)
        right.addLayout(head)
        right.addWidget(self._facts)
        right.addWidget(self.items, 1)
        right.addLayout(buttons)
        row = hbox(body, spacing=16, margins=(12, 8, 12, 8))
        row.addWidget(self.collections, 1)
        row.addLayout(right, 2)
        self._pages = QStackedWidget()
        self._pages.addWidget(self._empty)
        self._pages.addWidget(body)
        vbox(self).addWidget(self._pages)

    def show_collections(self, listed: tuple[ListedCollection, ...]) -> None:
        """Show these collections; the current one stays current, where it is still there."""
        before, row = self.current, self.collections.currentRow()
        self._listed = listed
        with QSignalBlocker(self.collections):
            self.collections.clear()
            for one in listed:
                n = len(one.collection.items)
                item = QListWidgetItem(visible(one.collection.name))
                count = tr_n("{n} case", "{n} cases", n)
                item.setToolTip(plain_tip(f"{visible(one.collection.name)}: {count}"))
                self.collections.addItem(item)
            ids = [one.collection.id for one in listed]
            if before is not None and before.collection.id in ids:
                row = ids.index(before.collection.id)
            self.collections.setCurrentRow(min(max(row, 0), len(listed) - 1))
        self._pages.setCurrentIndex(1 if listed else 0)
        self._show_items()

    def set_covered(self, covered: bool) -> None:
        """Whether findings and notes are left out."""
        if covered != self._is_covered:
            self._is_covered = covered
            self._show_items()

    @property
    def current(self) -> ListedCollection | None:
        """The collection that is shown."""
        row = self.collections.currentRow()
        return self._listed[row] if 0 <= row < len(self._listed) else None

    def _with_collection(self, act: Callable[[Any], object]) -> Callable[[], None]:
        def run() -> None:
            if self.current is not None:
                act(self.current)

        return run

    def _show_items(self) -> None:
        shown, columns = self.current, self._state.columns
        place = self.items.currentRow()
        # Until there is an image, its space.
        nothing = QPixmap(self.items.iconSize())
        nothing.fill(Qt.GlobalColor.transparent)
        with QSignalBlocker(self.items):
            self.items.clear()
            for number, (item, row) in enumerate(
                zip(shown.collection.items, shown.rows, strict=True) if shown else ()
            ):
                index = -1 if row is None else columns.index_of_row(row)
                # A name such as "benign_007" would answer the quiz.
                name = (
                    tr("Case {n}", n=number + 1)
                    if self._is_covered
                    else columns.name(index)
                    if index >= 0
                    else ""
                )
                texts = [name or tr("No longer in the library")]
                if index >= 0 and not self._is_covered and (finding := columns.finding_name(index)):
                    texts.append(visible(finding))
                if item.slice is not None:
                    texts.append(tr("slice {n}", n=item.slice + 1))
                entry = QListWidgetItem(
                    "   ".join(texts)
                    + (f"\n{visible(item.notes)}" if item.notes and not self._is_covered else "")
                )
                entry.setData(Qt.ItemDataRole.UserRole, number)
                entry.setToolTip(plain_tip(entry.text()))
                entry.setIcon(QIcon(nothing))
                self.items.addItem(entry)
            self.items.setCurrentRow(min(max(place, 0), self.items.count() - 1))
        with QSignalBlocker(self.name):
            self.name.setText(shown.collection.name if shown else "")
        may_change = shown is not None and shown.may_change
        n = 0 if shown is None else len(shown.collection.items)
        by = "" if shown is None or may_change else tr(" by {author}", author=shown.collection.author)
        self._facts.setText(tr_n("{n} case", "{n} cases", n) + by)
        self.name.setReadOnly(not may_change)
        self.items.setDragEnabled(may_change)
        self.delete_button.setEnabled(may_change)
        self.remove_button.setEnabled(may_change and n > 0)
        for widget in (self.search_button, self.quiz_button, self.export_button):
            widget.setEnabled(n > 0)
        self.notes.setEnabled(may_change and not self._is_covered)
        self.duplicate_button.setEnabled(self._state.can_write)
        self._show_compare()
        self._show_images(None)
        self._show_note()

    def _show_compare(self) -> None:
        """Whether there is a query to compare with."""
        self.compare_button.setEnabled(self._state.ranking is not None and self.items.count() > 0)

    def _show_images(self, rows: frozenset[int] | None) -> None:
        """Give the items of the cases in ``rows``, or all, the images that there are, with their places."""
        shown = self.current
        for number, (row, place) in enumerate(zip(shown.rows, shown.places, strict=True) if shown else ()):
            if row is None or (rows is not None and row not in rows):
                continue
            image = self._thumbnails.get(row)
            if image is not None:
                pixmap = QPixmap.fromImage(image)
                if place is not None:
                    _draw_place(pixmap, place)
                pixmap = _in_square(pixmap)
                icon = QIcon(pixmap)
                # A selected image keeps its greys.
                icon.addPixmap(pixmap, QIcon.Mode.Selected)
                self.items.item(number).setIcon(icon)

    def _show_note(self) -> None:
        item = self._current_item()
        with QSignalBlocker(self.notes):
            self.notes.setText("" if item is None or self._is_covered else item.notes)

    def _current_item(self) -> CollectionItem | None:
        shown, place = self.current, self.items.currentRow()
        return shown.collection.items[place] if shown and 0 <= place < len(shown.collection.items) else None

    # Acts

    def search_with_current(self) -> None:
        """Search with the case of the current item, or with its place."""
        item, row = self._current_item(), self._current_row()
        if item is None or row is None:
            return
        search_operations.submit_query(self._context, Query(case=item.case, region=item.place))

    def compare_current(self) -> None:
        """Show the case of the current item beside the query, at its slice."""
        row = self._current_row()
        if row is not None:
            self.compare_requested.emit(row)

    def _current_row(self) -> int | None:
        """The row of the current item's case, whose image opens at the item's slice from now on; ``None`` and a message
        where it is gone."""
        item, shown = self._current_item(), self.current
        if item is None or shown is None:
            return None
        row = shown.rows[self.items.currentRow()]
        if row is None:
            self._context.messages.info(tr("This case is no longer in the library."))
        elif item.slice is not None:
            views, key = self._state.last_views, (self._state.location, row)
            views.store(key, replace(views.get(key) or LastView(), place=item.slice))
        return row

    def remove(self) -> None:
        """Take the current item out of the collection; a message undoes it."""
        shown, place = self.current, self.items.currentRow()
        if shown is None or place < 0 or not shown.may_change:
            return
        before = shown.collection.items
        self._save(shown, before[:place] + before[place + 1 :])
        self._context.messages.info(
            tr("Removed from “{name}”.", name=shown.collection.name),
            actions=[(tr("Undo"), partial(self._save, shown, before))],
            topic="collection",
        )

    def rename(self) -> None:
        """Give the collection the name in its field."""
        shown, name = self.current, self.name.text().strip()
        if shown is not None and shown.may_change and name and name != shown.collection.name:
            self._change(edit_collections.rename_collection, shown.collection.id, name)

    def duplicate(self) -> None:
        """Copy the collection."""
        if self.current is not None:
            self._change(edit_collections.duplicate_collection, self.current.collection.id)

    def delete(self) -> None:
        """Delete the collection; a message undoes it."""
        shown = self.current
        if shown is None:
            return

        def offer_undo(deleted: object) -> None:
            self.changed.emit()
            restore = partial(self._change, edit_collections.restore_collection, deleted)
            self._context.messages.info(
                tr("The collection “{name}” was deleted.", name=shown.collection.name),
                actions=[(tr("Undo"), restore)],
                topic="collection",
            )

        change(self._context, offer_undo, edit_collections.delete_collection, shown.collection.id)

    def _put_dropped(self, row: int) -> None:
        self.put_requested.emit([row], self.current)

    def _save_order(self, order: list[int]) -> None:
        shown = self.current
        if shown is not None:
            self._save(shown, tuple(shown.collection.items[number] for number in order))

    def _save_note(self) -> None:
        shown, item, text = self.current, self._current_item(), self.notes.text().strip()
        if shown is not None and item is not None and shown.may_change and text != item.notes:
            items = [replace(one, notes=text) if one is item else one for one in shown.collection.items]
            self._save(shown, tuple(items))

    def _save(self, listed: ListedCollection, items: tuple[CollectionItem, ...]) -> None:
        self._change(edit_collections.save_items, listed.collection.id, items)

    def _change(self, work: Callable[..., Any], *values: Any) -> None:
        change(self._context, lambda _result: self.changed.emit(), work, *values)

    def keyPressEvent(self, event: QKeyEvent) -> None:
        if event.key() == Qt.Key.Key_F2 and self.current is not None:
            self.name.setFocus(Qt.FocusReason.ShortcutFocusReason)
            self.name.selectAll()
        else:
            super().keyPressEvent(event)


def _in_square(pixmap: QPixmap) -> QPixmap:
    """``pixmap`` in the middle of a square, so that the texts beside all images begin at one line."""
    side = max(1, pixmap.width(), pixmap.height())
    square = QPixmap(side, side)
    square.fill(Qt.GlobalColor.transparent)
    painter = QPainter(square)
    painter.drawPixmap((side - pixmap.width()) // 2, (side - pixmap.height()) // 2, pixmap)
    painter.end()
    return square


def change(
    context: Context, then: Callable[[Any], object], work: Callable[..., Any], *values: object
) -> None:
    """Run ``work``, an edit of a collection of the library with ``values``, and give its result to ``then``."""
    library = context.state.location
    job = context.jobs.run(
        tr("Changing a collection"),
        work,
        library,
        *values,
        pool=WorkerPool.READ,
        quiet=True,
    )
    context.follow(job, then, library=library)


def _draw_place(pixmap: QPixmap, place: Box) -> None:
    left, top, right, bottom = place
    width, height = pixmap.width(), pixmap.height()
    painter = QPainter(pixmap)
    painter.setPen(QPen(colour(theme().accent), max(2.0, width / 60)))
    painter.drawRect(QRectF(left * width, top * height, (right - left) * width, (bottom - top) * height))
    painter.end()


class _ItemList(QListWidget):
    """``reordered(order)``: the numbers of the items after one was dragged. ``delete_pressed`` · ``compare_pressed``:
    Control and Enter."""

    reordered = Signal(list)
    compare_pressed = Signal()
    delete_pressed = Signal()

    def __init__(self) -> None:
        super().__init__()
        self.setDragDropMode(QListWidget.DragDropMode.InternalMove)
        self.setHorizontalScrollBarPolicy(Qt.ScrollBarPolicy.ScrollBarAlwaysOff)
        self.model().rowsMoved.connect(lambda *_: self._tell())

    def _tell(self) -> None:
        self.reordered.emit([self.item(n).data(Qt.ItemDataRole.UserRole) for n in range(self.count())])

    def event(self, event: QEvent) -> bool:
        return claims(event, "Ctrl+Return", "Ctrl+Num+Enter") or super().event(event)

    def keyPressEvent(self, event: QKeyEvent) -> None:
        step = {Qt.Key.Key_Up: -1, Qt.Key.Key_Down: 1}.get(Qt.Key(event.key()))
        if event.key() == Qt.Key.Key_Delete:
            self.delete_pressed.emit()
        elif (
            event.key() in (Qt.Key.Key_Return, Qt.Key.Key_Enter)
            and event.modifiers() & Qt.KeyboardModifier.ControlModifier
        ):
            self.compare_pressed.emit()
        elif step is not None and event.modifiers() == Qt.KeyboardModifier.AltModifier:
            at = self.currentRow()
            if 0 <= at + step < self.count():
                self.insertItem(at + step, self.takeItem(at))
                self.setCurrentRow(at + step)
                self._tell()
        else:
            super().keyPressEvent(event)
