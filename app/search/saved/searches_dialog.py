"""The kept searches of the library: open, rename, delete and bring back."""

from __future__ import annotations

from datetime import datetime

from PySide6.QtCore import QModelIndex, QPersistentModelIndex, QRect, QSize, Qt
from PySide6.QtGui import QIcon, QImage, QKeyEvent, QPainter, QPixmap
from PySide6.QtWidgets import (
    QHBoxLayout,
    QInputDialog,
    QLabel,
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

from semblance.app.search.saved import saved_searches
from semblance.app.shell.context import Context
from semblance.app.shell.state import Change
from semblance.app.shell.theme import BASE, SMALL, colour, plain_tip, set_look, theme
from semblance.app.widgets.dialog import accept_button, dialog_layout, resize_dialog
from semblance.app.widgets.empty_state import EmptyState
from semblance.app.widgets.menus import Menu
from semblance.app.widgets.tab_order import Dialog
from semblance.app.widgets.text_cache import text_cache
from semblance.app.widgets.thumbnail_loader import ThumbnailSource
from semblance.core.language import tr, tr_n
from semblance.core.workflows.searches.saved_searches import SavedSearch

_SIDE = 56


class SearchesDialog(Dialog):
    """A list with images. Enter or a double click opens, F2 renames, Delete deletes, Ctrl+Z brings back."""

    def __init__(self, context: Context, thumbnails: ThumbnailSource, parent: QWidget | None = None) -> None:
        super().__init__(parent)
        self._context, self._thumbnails = context, thumbnails
        self._searches: list[SavedSearch] = []
        self._deleted: list[tuple[str, str]] = []
        self.setWindowTitle(tr("Searches"))
        self.setAttribute(Qt.WidgetAttribute.WA_DeleteOnClose)
        resize_dialog(self, 560, 460)
        self.list = QListWidget()
        self.list.setAccessibleName(tr("Saved searches, newest first"))
        self.list.setIconSize(QSize(theme().px(_SIDE), theme().px(_SIDE)))
        self.list.setHorizontalScrollBarPolicy(Qt.ScrollBarPolicy.ScrollBarAlwaysOff)
        self.list.setItemDelegate(_Lines(self.list))
        self.list.itemActivated.connect(lambda _item: self.open_chosen())
        self.list.currentRowChanged.connect(lambda _row: self._enable())
        self._empty = EmptyState(
            tr("No saved searches yet"),
            tr("Search > Save search… saves the current search with its judgements, order and view."),
        )
        self._pages = QStackedWidget()
        self._pages.addWidget(self._empty)
        self._pages.addWidget(self.list)
        self.open_button = accept_button(tr("Open"))
        self.rename_button, self.delete_button = QPushButton(tr("Rename…")), QPushButton(tr("Delete"))
        self.close_button = QPushButton(tr("Close"))
        self.bin_button = QPushButton()
        self.bin_button.setMenu(Menu(self.bin_button))
        self.bin_button.setToolTip(tr("Restore a deleted search. The last twenty can be restored"))
        self.open_button.clicked.connect(self.open_chosen)
        self.rename_button.clicked.connect(self.rename)
        self.delete_button.clicked.connect(self.delete)
        self.close_button.clicked.connect(self.close)
        self._gone = QLabel()
        self._gone.setTextFormat(Qt.TextFormat.PlainText)
        set_look(self._gone, role="second")
        self.undo_button = QPushButton(tr("Restore"))
        set_look(self.undo_button, link=True)
        self.undo_button.clicked.connect(self.undo)
        undone = QHBoxLayout()
        undone.addWidget(self._gone)
        undone.addWidget(self.undo_button)
        undone.addStretch(1)
        buttons = QHBoxLayout()
        buttons.addWidget(self.rename_button)
        buttons.addWidget(self.delete_button)
        buttons.addWidget(self.bin_button)
        buttons.addStretch(1)
        buttons.addWidget(self.close_button)
        buttons.addWidget(self.open_button)
        column = dialog_layout(self)
        column.addWidget(self._pages, 1)
        column.addLayout(undone)
        column.addLayout(buttons)
        thumbnails.ready.connect(self._images_ready)
        context.state.on_change(Change.NAME, self, self.renew)
        context.state.on_change(Change.LIBRARY, self, self.close)
        self._enable()
        self._tell_deleted()
        self._fill_bin([])
        self.renew()

    def names(self) -> list[str]:
        """The searches as they are listed."""
        return [search.name for search in self._searches]

    def choose(self, name: str) -> None:
        """Make a search current in the list."""
        self.list.setCurrentRow(self.names().index(name))

    def renew(self) -> None:
        """Read the list again, and what can be brought back."""
        saved_searches.listed(self._context, self._show)
        if self._writable:
            saved_searches.deleted(self._context, self._fill_bin)

    def open_chosen(self) -> None:
        """Show the chosen search in the window."""
        chosen = self._chosen()
        if chosen is not None:
            saved_searches.reopen(self._context, chosen.name)
            self.close()

    def rename(self) -> None:
        """Ask for another name."""
        chosen = self._chosen()
        if chosen is None or not self._writable:
            return
        told, name, given = tr("Name"), chosen.name, True
        # Asked until it is no other's: a message would come up behind this dialog.
        while given:
            name, given = QInputDialog.getText(self, tr("Rename the search"), told, text=name)
            if name.strip() not in set(self.names()) - {chosen.name}:
                break
            told = tr("A search named '{name}' exists already. Enter another name:", name=name.strip())
        if given and name.strip() and name.strip() != chosen.name:
            self._then(saved_searches.rename(self._context, chosen.name, name))

    def delete(self) -> None:
        """Delete the chosen search; it can be brought back."""
        chosen = self._chosen()
        if chosen is None or not self._writable:
            return

        def done(token: str) -> None:
            # It may be closed before the answer comes.
            if not isValid(self):
                return
            self._deleted.append((chosen.name, token))
            self._tell_deleted()
            self.renew()

        saved_searches.delete(self._context, chosen.name, done)

    def undo(self) -> None:
        """Bring back what was deleted last."""
        if self._deleted:
            self._bring_back(self._deleted[-1][1])

    def keyPressEvent(self, event: QKeyEvent) -> None:
        control = event.modifiers() == Qt.KeyboardModifier.ControlModifier
        if event.key() == Qt.Key.Key_F2:
            self.rename()
        elif event.key() == Qt.Key.Key_Delete:
            self.delete()
        elif event.key() == Qt.Key.Key_Z and control:
            self.undo()
        else:
            super().keyPressEvent(event)

    def _then(self, job: object) -> None:
        from semblance.app.shell.jobs import Job

        if isinstance(job, Job):
            job.done.connect(self._renew_after)

    def _renew_after(self, _result: object) -> None:
        self.renew()

    @property
    def _writable(self) -> bool:
        library = self._context.state.library
        return library is not None and library.writable

    def _chosen(self) -> SavedSearch | None:
        row = self.list.currentRow()
        return self._searches[row] if 0 <= row < len(self._searches) else None

    def _enable(self) -> None:
        chosen = self._chosen() is not None
        self.open_button.setEnabled(chosen)
        self.rename_button.setEnabled(chosen and self._writable)
        self.delete_button.setEnabled(chosen and self._writable)

    def _tell_deleted(self) -> None:
        self._gone.setVisible(bool(self._deleted))
        self.undo_button.setVisible(bool(self._deleted))
        if self._deleted:
            self._gone.setText(tr("Deleted '{name}'.", name=self._deleted[-1][0]))

    def _fill_bin(self, deleted: list[tuple[str, str, str]]) -> None:
        menu = self.bin_button.menu()
        menu.clear()
        for name, when, token in deleted:
            shown = tr("{name}, deleted {when}", name=name, when=_local(when)).replace("&", "&&")
            action = menu.addAction(shown)
            action.triggered.connect(lambda _on=False, token=token: self._bring_back(token))
        self.bin_button.setText(tr("Deleted ({n})", n=len(deleted)))
        self.bin_button.setVisible(bool(deleted))

    def _bring_back(self, token: str) -> None:
        self._deleted = [(name, other) for name, other in self._deleted if other != token]
        self._tell_deleted()
        self._then(saved_searches.restore(self._context, token))

    def _show(self, found: list[SavedSearch]) -> None:
        before = self._chosen()
        self._searches = found
        self.list.clear()
        for search in found:
            item = QListWidgetItem(f"{search.name}\n{self._facts(search)}")
            item.setIcon(self._image(search))
            item.setToolTip(plain_tip(f"{search.name}\n{search.query}\n{self._facts(search)}"))
            item.setData(Qt.ItemDataRole.AccessibleTextRole, f"{search.name}, {self._facts(search)}")
            self.list.addItem(item)
        self._pages.setCurrentIndex(1 if found else 0)
        place = self.names().index(before.name) if before is not None and before.name in self.names() else 0
        self.list.setCurrentRow(place if found else -1)
        if found and before is None:
            self.list.setFocus()
        self._enable()

    def _image(self, search: SavedSearch) -> QIcon:
        side, ratio = theme().px(_SIDE), self.devicePixelRatioF()
        pixmap = QPixmap(round(side * ratio), round(side * ratio))
        pixmap.setDevicePixelRatio(ratio)
        pixmap.fill(colour(theme().image_well))
        image = QImage.fromData(search.thumbnail) if search.thumbnail else None
        if search.case_row >= 0:
            image = self._thumbnails.get(search.case_row)
        if image is not None and not image.isNull():
            kept, smooth = Qt.AspectRatioMode.KeepAspectRatio, Qt.TransformationMode.SmoothTransformation
            scaled = image.scaled(pixmap.size(), kept, smooth)
            scaled.setDevicePixelRatio(ratio)
            painter = QPainter(pixmap)
            size = scaled.deviceIndependentSize()
            painter.drawImage(round((side - size.width()) / 2), round((side - size.height()) / 2), scaled)
            painter.end()
        shown = QIcon()
        for mode in (QIcon.Mode.Normal, QIcon.Mode.Selected):
            shown.addPixmap(pixmap, mode)
        return shown

    def _images_ready(self, rows: frozenset[int]) -> None:
        for place, search in enumerate(self._searches):
            if search.case_row in rows:
                self.list.item(place).setIcon(self._image(search))

    def _facts(self, search: SavedSearch) -> str:
        columns = self._context.state.columns
        index = columns.index_of_row(search.case_row)
        name = columns.labels[index] if index >= 0 else search.query
        judged = (
            tr_n("{n} judgement", "{n} judgements", search.judged) if search.judged else tr("no judgements")
        )
        return " · ".join(part for part in (name, search.metric, judged, _local(search.saved)) if part)


def _local(when: str) -> str:
    """A kept time as the person's clock shows it."""
    try:
        return datetime.fromisoformat(when).astimezone().strftime("%Y-%m-%d %H:%M")
    except ValueError:
        return when


class _Lines(QStyledItemDelegate):
    """An image, the name, and below it in grey what the search is."""

    def sizeHint(self, option: QStyleOptionViewItem, index: QModelIndex | QPersistentModelIndex) -> QSize:
        return QSize(120, theme().px(_SIDE) + 8)

    def paint(
        self, painter: QPainter, option: QStyleOptionViewItem, index: QModelIndex | QPersistentModelIndex
    ) -> None:
        at, tokens = QRect(option.rect), theme()
        chosen = bool(option.state & QStyle.StateFlag.State_Selected)
        if chosen:
            painter.fillRect(at, colour(tokens.selected))
        side = tokens.px(_SIDE)
        icon = index.data(Qt.ItemDataRole.DecorationRole)
        if isinstance(icon, QIcon):
            icon.paint(painter, at.x() + 4, at.y() + 4, side, side)
        name, _, facts = str(index.data()).partition("\n")
        left, half = at.x() + side + 16, at.height() // 2
        room = at.right() - left - 8
        text_cache(BASE, 600).draw(painter, QRect(left, at.y() + half - 20, room, 20), name, tokens.text)
        text_cache(SMALL).draw(painter, QRect(left, at.y() + half, room, 20), facts, tokens.second)
