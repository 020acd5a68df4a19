"""The saved searches: their list and their commands."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial

from PySide6.QtCore import (
    QEvent,
    QMimeData,
    QModelIndex,
    QObject,
    QPersistentModelIndex,
    QRect,
    QSize,
    Qt,
    Signal,
)
from PySide6.QtGui import QGuiApplication, QIcon, QImage, QKeyEvent, QPainter, QPixmap, QShowEvent
from PySide6.QtWidgets import (
    QComboBox,
    QLineEdit,
    QListWidget,
    QListWidgetItem,
    QPushButton,
    QStackedWidget,
    QStyle,
    QStyledItemDelegate,
    QStyleOptionViewItem,
    QWidget,
)
from shiboken6 import isValid

from semblance.app.search.saved import save_search
from semblance.app.shell import search_operations
from semblance.app.shell.context import Context
from semblance.app.shell.file_dialogs import choose_file
from semblance.app.shell.jobs import Job
from semblance.app.shell.keys import claims
from semblance.app.shell.local_time import local_time
from semblance.app.shell.query_source import QuerySource
from semblance.app.shell.state import Change
from semblance.app.shell.theme import BASE, SMALL, colour, plain_tip, set_look, theme
from semblance.app.widgets.dialog import NameDialog, dialog_button, form
from semblance.app.widgets.drop_target import dropped_file
from semblance.app.widgets.empty_state import EmptyState
from semblance.app.widgets.fields import NoWheelComboBox
from semblance.app.widgets.labels import ElidedLabel, WrappedLabel
from semblance.app.widgets.layouts import STRETCH, WrappingRow, fill, hbox, vbox
from semblance.app.widgets.menus import Menu
from semblance.app.widgets.panel import Panel
from semblance.app.widgets.text_cache import text_cache
from semblance.app.widgets.thumbnail_loader import ThumbnailSource
from semblance.core.language import tr, tr_n
from semblance.core.library.location import LibraryLocation
from semblance.core.searches.query import Query
from semblance.core.workflows.searches.outcomes import OTHER_FINDING, OutcomeConflict
from semblance.core.workflows.searches.saved_searches import SavedSearch

_SIDE = 56
#: The largest width of the fields, px.
_FORM_WIDTH = 420


class SearchesPanel(Panel):
    """A list with images. Enter or a double click opens, F2 renames, Delete deletes, Ctrl+Z restores.

    It is read while it is shown, and each time that it is shown again.
    """

    def __init__(self, context: Context, thumbnails: ThumbnailSource) -> None:
        super().__init__(tr("Searches"))
        self._context, self._thumbnails = context, thumbnails
        self._searches: list[SavedSearch] = []
        #: The library whose searches are listed.
        self._library: LibraryLocation | None = None
        self._deleted: list[tuple[str, str]] = []
        self.list = QListWidget()
        self.list.setAccessibleName(tr("Saved searches, newest first"))
        self.list.setIconSize(QSize(theme().px(_SIDE), theme().px(_SIDE)))
        self.list.setHorizontalScrollBarPolicy(Qt.ScrollBarPolicy.ScrollBarAlwaysOff)
        self.list.setItemDelegate(_SearchDelegate(self.list))
        self.list.itemActivated.connect(lambda _item: self.open_selected())
        self.list.currentRowChanged.connect(lambda _row: self._update_buttons())
        self._empty = EmptyState()
        self._pages = QStackedWidget()
        self._pages.addWidget(self._empty)
        self._pages.addWidget(self.list)
        self._make_fields()
        self._make_layout()
        thumbnails.ready.connect(self._images_ready)
        context.state.on_change(Change.NAME | Change.LIBRARY, self, self._follow)
        self._show_deleted()
        self._fill_deleted([])
        self._show([])

    def _make_fields(self) -> None:
        self.name = QLineEdit()
        self.name.setAccessibleName(tr("Name of the search"))
        self.name.returnPressed.connect(self.rename)
        self.outcome: QComboBox = NoWheelComboBox()
        self.outcome.setAccessibleName(tr("Later diagnosis"))
        self.outcome.setToolTip(tr("What the query turned out to be later. Its estimate is kept"))
        self.outcome.activated.connect(lambda _place: self.enter_outcome())
        self.open_button = dialog_button(tr("Open"), self.open_selected)
        set_look(self.open_button, primary=True)
        self.delete_button = dialog_button(tr("Delete"), self.delete)
        self.deleted_button = QPushButton()
        self.deleted_button.setMenu(Menu(self.deleted_button))
        self.deleted_button.setToolTip(tr("Restore a deleted search. The last twenty can be restored"))
        self.problem = WrappedLabel(role="error")
        self._deleted_label = ElidedLabel(role="second")
        self.undo_button = QPushButton(tr("Restore"))
        set_look(self.undo_button, link=True)
        self.undo_button.clicked.connect(self.undo)

    def _make_layout(self) -> None:
        fields = form()
        fields.addRow(tr("Name"), self.name)
        fields.addRow(tr("Later diagnosis"), self.outcome)
        undo_row = fill(hbox(spacing=8), (self._deleted_label, 1), self.undo_button)
        buttons = WrappingRow(self.open_button, self.delete_button, self.deleted_button)
        side = QWidget()
        side.setMaximumWidth(theme().px(_FORM_WIDTH))
        fill(vbox(side, spacing=8), fields, buttons, self.problem, undo_row, STRETCH)
        fill(hbox(self, spacing=16, margins=(12, 8, 12, 8)), (self._pages, 3), (side, 2))

    def names(self) -> list[str]:
        """The names, in the order of the list."""
        return [search.name for search in self._searches]

    def select(self, name: str) -> None:
        """Select a search in the list."""
        self.list.setCurrentRow(self.names().index(name))

    def showEvent(self, event: QShowEvent) -> None:
        super().showEvent(event)
        self.refresh()

    def _follow(self) -> None:
        if self.isVisible():
            self.refresh()
        elif self._library != self._context.state.location:
            self._show([])

    def refresh(self) -> None:
        """Read the saved and the deleted searches again."""
        self._library = self._context.state.location
        save_search.list_searches(self._context, self._show)
        if self._writable:
            save_search.list_deleted(self._context, self._fill_deleted)

    def open_selected(self) -> None:
        """Open the selected search in the window."""
        selected = self._selected()
        if selected is not None:
            save_search.reopen(self._context, selected.name)

    def rename(self) -> None:
        """Give the selected search the name that is in the field."""
        selected, name = self._selected(), self.name.text().strip()
        if selected is None or not self._writable or not name or name == selected.name:
            return
        if name in self.names():
            self._show_problem(tr("A search named '{name}' exists already.", name=name))
            return
        self._show_problem("")
        self._refresh_after(save_search.rename(self._context, selected.name, name))
        self.list.setFocus(Qt.FocusReason.OtherFocusReason)

    def enter_outcome(self) -> None:
        """Enter the later diagnosis that is chosen for the query of the selected search."""
        selected = self._selected()
        if selected is None or not self._writable:
            return

        def show_conflict(conflict: OutcomeConflict) -> None:
            # The list may be gone before the job ends.
            if isValid(self):
                current = _outcome_text(conflict.current)
                self._show_problem(
                    tr(
                        "Another person changed it after you saw it: now {current}. Choose again.",
                        current=current,
                    )
                )
                self.refresh()

        self._show_problem("")
        given = str(self.outcome.currentData() or "")
        self._refresh_after(
            save_search.enter_outcome(self._context, selected.name, given, selected.outcome, show_conflict)
        )

    def _show_problem(self, text: str) -> None:
        self.problem.setText(text)
        self.problem.setVisible(bool(text))

    def delete(self) -> None:
        """Delete the selected search; it can be restored."""
        selected = self._selected()
        if selected is None or not self._writable:
            return

        def show(token: str) -> None:
            # The list may be gone before the job ends.
            if not isValid(self):
                return
            self._deleted.append((selected.name, token))
            self._show_deleted()
            self.refresh()

        save_search.delete(self._context, selected.name, show)

    def undo(self) -> None:
        """Restore the search that was deleted last."""
        if self._deleted:
            self._restore(self._deleted[-1][1])

    def event(self, event: QEvent) -> bool:
        is_key = event.type() == QEvent.Type.ShortcutOverride
        return (is_key and bool(self._deleted) and claims(event, "Ctrl+Z")) or super().event(event)

    def keyPressEvent(self, event: QKeyEvent) -> None:
        control = event.modifiers() == Qt.KeyboardModifier.ControlModifier
        if event.key() == Qt.Key.Key_F2:
            self.name.setFocus(Qt.FocusReason.ShortcutFocusReason)
            self.name.selectAll()
        elif event.key() == Qt.Key.Key_Delete:
            self.delete()
        elif event.key() == Qt.Key.Key_Z and control:
            self.undo()
        else:
            super().keyPressEvent(event)

    def _refresh_after(self, job: Job | None) -> None:
        if job is not None:
            job.done.connect(self._refresh_when_done)

    def _refresh_when_done(self, _result: object) -> None:
        self.refresh()

    @property
    def _writable(self) -> bool:
        return self._context.state.can_write

    def _selected(self) -> SavedSearch | None:
        row = self.list.currentRow()
        return self._searches[row] if 0 <= row < len(self._searches) else None

    def _update_buttons(self) -> None:
        selected = self._selected()
        can_change = selected is not None and self._writable
        self.open_button.setEnabled(selected is not None)
        for widget in (self.name, self.outcome, self.delete_button):
            widget.setEnabled(can_change)
        if not self.name.hasFocus() or selected is None:
            self.name.setText("" if selected is None else selected.name)
        self.outcome.clear()
        for finding in ("", *self._context.state.columns.findings, OTHER_FINDING):
            self.outcome.addItem(_outcome_text(finding), finding)
        if selected is not None:
            self.outcome.setCurrentIndex(max(0, self.outcome.findData(selected.outcome)))

    def _show_deleted(self) -> None:
        self._deleted_label.setVisible(bool(self._deleted))
        self.undo_button.setVisible(bool(self._deleted))
        if self._deleted:
            self._deleted_label.setText(tr("Deleted '{name}'.", name=self._deleted[-1][0]))

    def _fill_deleted(self, deleted: list[tuple[str, str, str]]) -> None:
        menu = self.deleted_button.menu()
        menu.clear()
        for name, time, token in deleted:
            label = tr("{name}, deleted {when}", name=name, when=local_time(time)).replace("&", "&&")
            action = menu.addAction(label)
            action.triggered.connect(lambda _on=False, token=token: self._restore(token))
        self.deleted_button.setText(tr("Deleted ({n})", n=len(deleted)))
        self.deleted_button.setVisible(bool(deleted))

    def _restore(self, token: str) -> None:
        self._deleted = [(name, other) for name, other in self._deleted if other != token]
        self._show_deleted()
        self._refresh_after(save_search.restore(self._context, token))

    def _show(self, found: list[SavedSearch]) -> None:
        previous, row = self._selected(), self.list.currentRow()
        self._searches = found
        self.list.clear()
        for search in found:
            item = QListWidgetItem(f"{search.name}\n{self._facts(search)}")
            item.setIcon(self._image(search))
            item.setToolTip(plain_tip(f"{search.name}\n{search.query}\n{self._facts(search)}"))
            item.setData(Qt.ItemDataRole.AccessibleTextRole, f"{search.name}, {self._facts(search)}")
            self.list.addItem(item)
        save = self._context.actions["save_search"]
        self._empty.show_message(
            tr("No saved searches yet"),
            tr("A saved search keeps the query with its marks, order and view."),
            tr("Save this search…") if save.isEnabled() else "",
            save.trigger,
        )
        self._pages.setCurrentIndex(1 if found else 0)
        if previous is not None and previous.name in self.names():
            row = self.names().index(previous.name)
        # A renamed search has the place that it had.
        self.list.setCurrentRow(min(max(row, 0), len(found) - 1))
        if found and previous is None:
            self.list.setFocus()
        self._update_buttons()

    def _image(self, search: SavedSearch) -> QIcon:
        side, ratio = theme().px(_SIDE), self.devicePixelRatioF()
        pixmap = QPixmap(round(side * ratio), round(side * ratio))
        pixmap.setDevicePixelRatio(ratio)
        pixmap.fill(colour(theme().image_well))
        image = QImage.fromData(search.thumbnail) if search.thumbnail else None
        if search.case_row >= 0:
            image = self._thumbnails.get(search.case_row)
        if image is not None and not image.isNull():
            keep_ratio, smooth = (
                Qt.AspectRatioMode.KeepAspectRatio,
                Qt.TransformationMode.SmoothTransformation,
            )
            scaled = image.scaled(pixmap.size(), keep_ratio, smooth)
            scaled.setDevicePixelRatio(ratio)
            painter = QPainter(pixmap)
            size = scaled.deviceIndependentSize()
            painter.drawImage(round((side - size.width()) / 2), round((side - size.height()) / 2), scaled)
            painter.end()
        entry_icon = QIcon()
        for mode in (QIcon.Mode.Normal, QIcon.Mode.Selected):
            entry_icon.addPixmap(pixmap, mode)
        return entry_icon

    def _images_ready(self, rows: frozenset[int]) -> None:
        for place, search in enumerate(self._searches):
            if search.case_row in rows:
                self.list.item(place).setIcon(self._image(search))

    def _facts(self, search: SavedSearch) -> str:
        columns = self._context.state.columns
        index = columns.index_of_row(search.case_row)
        name = columns.name(index) if index >= 0 else search.query
        judged = tr_n("{n} mark", "{n} marks", search.judged) if search.judged else tr("no marks")
        found = tr("another finding") if search.outcome == OTHER_FINDING else search.outcome
        outcome = tr("diagnosis {finding}", finding=found) if found else ""
        parts = (name, search.metric, judged, outcome, local_time(search.saved))
        return " · ".join(part for part in parts if part)


def _outcome_text(finding: str) -> str:
    return {"": tr("(not known)"), OTHER_FINDING: tr("(another finding)")}.get(finding, finding)


class _SearchDelegate(QStyledItemDelegate):
    """Draws an image, the name, and the facts of the search below it."""

    def sizeHint(self, option: QStyleOptionViewItem, index: QModelIndex | QPersistentModelIndex) -> QSize:
        return QSize(120, theme().px(_SIDE) + 8)

    def paint(
        self, painter: QPainter, option: QStyleOptionViewItem, index: QModelIndex | QPersistentModelIndex
    ) -> None:
        row_rect, tokens = QRect(option.rect), theme()
        selected = bool(option.state & QStyle.StateFlag.State_Selected)
        if selected:
            painter.fillRect(row_rect, colour(tokens.selected))
        side = tokens.px(_SIDE)
        icon = index.data(Qt.ItemDataRole.DecorationRole)
        if isinstance(icon, QIcon):
            icon.paint(painter, row_rect.x() + 4, row_rect.y() + 4, side, side)
        name, _, facts = str(index.data()).partition("\n")
        left, middle = row_rect.x() + side + 16, row_rect.height() // 2
        text_width = row_rect.right() - left - 8
        text_cache(BASE, 600).draw(
            painter, QRect(left, row_rect.y() + middle - 20, text_width, 20), name, tokens.text
        )
        text_cache(SMALL).draw(
            painter, QRect(left, row_rect.y() + middle, text_width, 20), facts, tokens.second
        )


class SearchCommands(QObject):
    """Opens dialogs of ``parent``. ``record_view`` puts the view of the search into the state.
    ``list_requested(name, panel)``: show a list beside the images."""

    list_requested = Signal(str, object)

    def __init__(
        self,
        context: Context,
        parent: QWidget,
        thumbnails: ThumbnailSource,
        record_view: Callable[[], object],
    ) -> None:
        super().__init__(parent)
        self._context, self._parent, self._thumbnails = context, parent, thumbnails
        self._record_view = record_view
        self.panel: SearchesPanel | None = None
        self.commands: dict[str, Callable[[], object]] = {
            "save_search": self.save,
            "branch_search": self.branch,
            "searches": self.show,
            "rank_again": partial(search_operations.rank, context),
            "ask_file": self.search_with_file,
            "paste_image": self.search_with_clipboard,
            "previous_query": partial(search_operations.step_in_history, context, -1),
            "next_query": partial(search_operations.step_in_history, context, 1),
        }

    def search_with_file(self) -> None:
        """Let the user select an image file to search with."""
        title = tr("Search with an image")
        if chosen := choose_file(self._parent, title, search_operations.FILE_FILTER):
            search_operations.submit_query(self._context, Query(image=chosen))

    def search_with_clipboard(self) -> None:
        """Search with the image or the one image file that was copied in another program, or with the case whose id
        was."""
        clipboard = QGuiApplication.clipboard()
        # A clipboard nothing was copied to has no data, whatever Qt's types say.
        data = clipboard.mimeData() or QMimeData()
        path = dropped_file(data)
        if path is not None:
            search_operations.submit_query(self._context, Query(image=path))
        elif data.hasImage():
            search_operations.submit_pasted_image(self._context, clipboard.image())
        elif (row := self._context.state.columns.row_of_id(data.text().strip())) >= 0:
            search_operations.submit_case(self._context, row)
        else:
            self._context.messages.info(
                tr("There is no image and no case ID of this library on the clipboard.")
            )

    def save(self) -> None:
        """Save the current search under a name."""
        name = self._name(tr("Save the search"), self._default_name())
        if name:
            self._record_view()
            save_search.save(self._context, name)

    def branch(self) -> None:
        """Continue with a copy of the current search."""
        before = self._context.state.search_name or self._default_name()
        name = self._name(tr("Branch the search"), tr("{name}, branch", name=before))
        if name:
            self._record_view()
            save_search.branch(self._context, name)

    def show(self) -> None:
        """Show the saved searches."""
        if self.panel is None:
            self.panel = SearchesPanel(self._context, self._thumbnails)
        elif self.panel.isVisible():
            self.panel.refresh()
        self.list_requested.emit("searches", self.panel)

    def _name(self, title: str, default: str) -> str:
        if self._context.state.query is None:
            return ""
        return NameDialog(self._parent, title, tr("Name"), tr("Save"), default).ask()

    def _default_name(self) -> str:
        state = self._context.state
        query = state.query
        if query is None:
            return ""
        label = QuerySource(state.location, query.case, query.image).label(state.columns)
        return f"{label}, {state.metric.name}" if state.metric is not None else label
