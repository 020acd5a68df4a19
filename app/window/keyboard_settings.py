"""The keys of all commands, to be changed by the user."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial

from PySide6.QtCore import QEvent, Qt, Signal
from PySide6.QtGui import QKeyEvent, QKeySequence
from PySide6.QtWidgets import QAbstractItemView, QHeaderView, QKeySequenceEdit, QWidget

from semblance.app.shell.actions import COMMANDS, MENUS, Actions, Command
from semblance.app.shell.keys import is_plain, native, refusal
from semblance.app.shell.theme import font, theme
from semblance.app.widgets.dialog import dialog_button
from semblance.app.widgets.fields import SearchField
from semblance.app.widgets.labels import WrappedLabel
from semblance.app.widgets.layouts import STRETCH, fill, hbox, vbox
from semblance.app.widgets.tables import PlainTable
from semblance.core.language import tr

_LIST_HEIGHT = 240
#: The column of the keys.
_KEY = 2


class KeyField(QKeySequenceEdit):
    """Takes one key. ``pressed(key)``: a key was pressed. Esc and Tab leave the field."""

    pressed = Signal(str)

    def __init__(self) -> None:
        super().__init__()
        self.setMaximumSequenceLength(1)
        self.setAccessibleName(tr("New key"))
        self.setAccessibleDescription(tr("Press the new key"))
        self.editingFinished.connect(self._finish)

    def event(self, event: QEvent) -> bool:
        if isinstance(event, QKeyEvent) and event.key() == Qt.Key.Key_Escape:
            # Otherwise it would be taken as the key.
            event.ignore()
            return False
        return super().event(event)

    def _finish(self) -> None:
        key = self.keySequence().toString()
        if key:
            self.pressed.emit(key)


class KeyboardSettings(QWidget):
    """A list of the commands with their keys, and a field for another key of the command chosen in it.

    A key that another command has is not taken from it before the user presses the button that says so.
    """

    def __init__(self, actions: Actions) -> None:
        super().__init__()
        self._actions, self._keys = actions, actions.keys
        self._shown: list[Command] = []
        self.search = SearchField(tr("Search commands and keys"), icon_name="search")
        self.search.searched.connect(self._fill)
        self.list = PlainTable([tr("command"), tr("menu"), tr("key")], tr("Commands and their keys"))
        self.list.setSelectionMode(QAbstractItemView.SelectionMode.SingleSelection)
        self.list.setWordWrap(False)
        header = self.list.horizontalHeader()
        header.setSectionResizeMode(0, QHeaderView.ResizeMode.Stretch)
        for column in (1, 2):
            header.setSectionResizeMode(column, QHeaderView.ResizeMode.ResizeToContents)
        self.list.setFixedHeight(theme().px(_LIST_HEIGHT))
        self.list.itemSelectionChanged.connect(self._show_chosen)
        self.field = KeyField()
        self.field.pressed.connect(self.propose)
        self.list.itemActivated.connect(self._focus_field)
        self.search.down_pressed.connect(self._focus_list)
        self.remove = dialog_button(tr("No key"), self._remove)
        self.reset = dialog_button(tr("Reset"), self._reset)
        self.reset_all = dialog_button(tr("Reset all keys"), self._reset_all)
        self._note = WrappedLabel(role="second")
        #: What the button does that takes the key from another command.
        self._take: Callable[[], None] = lambda: None
        self.use = dialog_button("", self._use)
        self.use.hide()
        layout = fill(vbox(self, spacing=8), self.search, self.list)
        row = hbox(spacing=8)
        row.addWidget(self.field, 1)
        for button in (self.remove, self.reset, self.reset_all):
            row.addWidget(button)
        layout.addLayout(row)
        layout.addWidget(self._note)
        row = fill(hbox(), self.use, STRETCH)
        layout.addLayout(row)
        self._fill()

    @property
    def command(self) -> Command | None:
        """The command chosen in the list."""
        row = self.list.currentRow()
        return self._shown[row] if self.list.selectedItems() and 0 <= row < len(self._shown) else None

    @property
    def note(self) -> str:
        """What is said of the key that was pressed last."""
        return self._note.text()

    def choose(self, command: str) -> None:
        """Select a command in the list."""
        row = next(row for row, one in enumerate(self._shown) if one.id == command)
        self.list.setCurrentCell(row, 0)

    def propose(self, key: str) -> None:
        """Make ``key`` the key of the chosen command if no other has it, else say which one has it."""
        chosen = self.command
        if chosen is None:
            return
        problem, other = refusal(key), self._keys.command_of(key)
        if problem:
            self._show_chosen()
            self._say(problem)
        elif other and other != chosen.id:
            self._ask(key, other, partial(self._keys.choose, chosen.id, key))
        elif not other:
            self._keys.choose(chosen.id, key)
            self._changed()
            if is_plain(key):
                self._say(
                    tr(
                        "{key} has this effect outside of fields for text. Images and pages that use the key "
                        "themselves come first.",
                        key=native(key),
                    )
                )

    def _remove(self) -> None:
        if self.command is not None:
            self._keys.choose(self.command.id, "")
            self._changed()

    def _reset(self) -> None:
        chosen = self.command
        if chosen is None:
            return
        for key in self._keys.own(chosen.id):
            other = self._keys.command_of(key)
            if other and other != chosen.id:
                self._ask(key, other, partial(self._keys.reset, chosen.id))
                return
        self._keys.reset(chosen.id)
        self._changed()

    def _reset_all(self) -> None:
        self._keys.reset_all()
        self._changed()

    def _ask(self, key: str, other: str, take: Callable[[], None]) -> None:
        """Say that ``other`` has ``key``, with a button that does ``take``."""
        chosen = self.command
        assert chosen is not None
        text = next(command.text for command in COMMANDS if command.id == other)
        self._say(tr('{key} is the key of "{command}".', key=native(key), command=text))
        self.use.setText(tr('Use it for "{command}" instead', command=chosen.text))
        self._take = take
        self.use.show()

    def _use(self) -> None:
        self._take()
        self._changed()

    def _changed(self) -> None:
        self._actions.update_keys()
        chosen = self.command
        self._fill()
        if chosen is not None and chosen in self._shown:
            self.choose(chosen.id)

    def _say(self, text: str) -> None:
        self.use.hide()
        self._note.setText(text)

    def _fill(self, _text: str = "") -> None:
        """List the commands whose name, menu or key has the text of the search field."""
        wanted = self.search.text().casefold().split()
        self._shown, rows = [], []
        for command in COMMANDS:
            cells = (command.text, MENUS[command.menu], self._keys_text(command))
            if all(word in " ".join(cells).casefold() for word in wanted):
                self._shown.append(command)
                rows.append(cells)
        self.list.blockSignals(True)
        self.list.clearSelection()
        self.list.fill(rows)
        for row, command in enumerate(self._shown):
            if self._keys.is_changed(command.id):
                item = self.list.item(row, _KEY)
                if item is not None:
                    item.setFont(font(weight=600))
        self.list.blockSignals(False)
        self._show_chosen()

    def _keys_text(self, command: Command) -> str:
        return ", ".join(native(key) for key in self._keys.of(command.id))

    def _show_chosen(self) -> None:
        """Show the key of the chosen command in the field, and what can be done with it."""
        chosen = self.command
        keys = () if chosen is None else self._keys.of(chosen.id)
        self.field.blockSignals(True)
        self.field.setKeySequence(QKeySequence(keys[0]) if keys else QKeySequence())
        self.field.blockSignals(False)
        self.field.setEnabled(chosen is not None)
        first = tr("Choose a command in the list first.")
        is_changed = chosen is not None and self._keys.is_changed(chosen.id)
        for button, enabled, why_not in (
            (self.remove, bool(keys), first if chosen is None else tr("This command has no key.")),
            (self.reset, is_changed, first if chosen is None else tr("This command has its own key.")),
            (self.reset_all, self._keys.any_changed, tr("All commands have their own keys.")),
        ):
            button.setEnabled(enabled)
            button.setToolTip("" if enabled else why_not)
        self._say(tr("Choose a command, then press its new key in the field.") if chosen is None else "")

    def _focus_field(self) -> None:
        self.field.setFocus(Qt.FocusReason.OtherFocusReason)

    def _focus_list(self) -> None:
        self.list.setFocus(Qt.FocusReason.ShortcutFocusReason)
        if self.command is None and self._shown:
            self.list.setCurrentCell(0, 0)
