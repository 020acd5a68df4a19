"""The keys of the commands: their own, or those that the user chose instead."""

from __future__ import annotations

import json
from collections.abc import Mapping

from PySide6.QtCore import QEvent, QKeyCombination, Qt
from PySide6.QtGui import QKeyEvent, QKeySequence

from semblance.app.shell.settings import Settings
from semblance.core.language import tr

#: The key of the setting: JSON of command -> key, empty for none.
KEYS = "keys"
_HELD = (
    Qt.KeyboardModifier.ControlModifier | Qt.KeyboardModifier.AltModifier | Qt.KeyboardModifier.MetaModifier
)
_OF_TEXT = ("Ctrl+A", "Ctrl+C", "Ctrl+X")
_OF_SYSTEM = ("Shift+F10", "Alt+F4")


class CommandKeys:
    """The keys of all commands. No key belongs to two of them."""

    def __init__(self, own: Mapping[str, tuple[str, ...]], settings: Settings | None = None) -> None:
        """``own``: command -> its keys as long as the user chose no other. ``settings``: where the choice is stored;
        without them it is forgotten."""
        self._own, self._settings = own, settings
        self._chosen = {} if settings is None else _stored(settings, own)

    def of(self, command: str) -> tuple[str, ...]:
        """The keys of ``command`` in the form of :meth:`QKeySequence.toString`."""
        if command in self._chosen:
            key = self._chosen[command]
            return (key,) if key else ()
        taken = set(self._chosen.values())
        return tuple(key for key in self._own[command] if key not in taken)

    def command_of(self, key: str) -> str:
        """The command that has ``key``; empty if none has it."""
        return next((command for command in self._own if key in self.of(command)), "")

    def is_changed(self, command: str) -> bool:
        return self.of(command) != self._own[command]

    def own(self, command: str) -> tuple[str, ...]:
        """The keys of ``command`` as long as the user chose no other."""
        return self._own[command]

    def choose(self, command: str, key: str) -> None:
        """Make ``key`` the only key of ``command``; empty: none. A command that had it gets back its own key, or
        none if that is the same."""
        for other, chosen in list(self._chosen.items()):
            if key and chosen == key:
                self._chosen.pop(other)
        self._chosen[command] = key
        self._store()

    def reset(self, command: str) -> None:
        """Give ``command`` its own keys again, also where another command has one of them."""
        own = self._own[command]
        self._chosen = {
            other: key for other, key in self._chosen.items() if other != command and key not in own
        }
        self._store()

    def reset_all(self) -> None:
        """Give every command its own keys again."""
        self._chosen.clear()
        self._store()

    @property
    def any_changed(self) -> bool:
        return bool(self._chosen)

    def _store(self) -> None:
        if self._settings is not None:
            self._settings.set_text(KEYS, json.dumps(self._chosen))


def _stored(settings: Settings, own: Mapping[str, tuple[str, ...]]) -> dict[str, str]:
    """The keys that were chosen, without damaged entries and those of commands that no longer exist."""
    try:
        entries = dict(json.loads(settings.text(KEYS, "{}")))
    except (ValueError, TypeError):
        return {}
    found: dict[str, str] = {}
    for command, key in entries.items():
        valid = isinstance(key, str) and (not key or (normal(key) == key and not refusal(key)))
        if command in own and valid and (not key or key not in found.values()):
            found[command] = key
    return found


def normal(key: str) -> str:
    """``key`` as Qt writes it; empty if it is none."""
    return QKeySequence(key).toString()


def native(key: str) -> str:
    """``key`` as the user's system and language write it, such as Strg+K."""
    return QKeySequence(key).toString(QKeySequence.SequenceFormat.NativeText)


def claims(event: QEvent, *keys: str) -> bool:
    """Whether ``event`` asks if a widget needs one of ``keys`` itself; then the command that has the key does not run,
    and the widget gets it."""
    is_own = (
        event.type() == QEvent.Type.ShortcutOverride
        and isinstance(event, QKeyEvent)
        and QKeySequence(event.keyCombination()).toString() in keys
    )
    if is_own:
        event.accept()
    return is_own


def is_plain(key: str) -> bool:
    """Whether ``key`` is pressed alone or with Shift and types a character."""
    pressed = _combination(key)
    return not pressed.keyboardModifiers() & _HELD and pressed.key() < Qt.Key.Key_Escape


def refusal(key: str) -> str:
    """Why ``key`` cannot be the key of a command; empty if it can."""
    pressed = _combination(key)
    held = pressed.keyboardModifiers() & _HELD
    if not held and (pressed.key() == Qt.Key.Key_Space or _moves(pressed.key())):
        return tr("{key} moves the keyboard or presses a button.", key=native(key))
    if key in _OF_TEXT:
        return tr("{key} selects or copies in lists and text.", key=native(key))
    if held == Qt.KeyboardModifier.AltModifier and Qt.Key.Key_A <= pressed.key() <= Qt.Key.Key_Z:
        return tr("Alt and a letter opens a menu.")
    if key in _OF_SYSTEM:
        return tr("{key} belongs to the system.", key=native(key))
    return ""


def _combination(key: str) -> QKeyCombination:
    combination: QKeyCombination = QKeySequence(key)[0]  # type: ignore[index]
    return combination


def _moves(key: Qt.Key) -> bool:
    """Whether ``key`` is Esc, Tab, Enter, Delete, an arrow or another key of lists."""
    return Qt.Key.Key_Escape <= key <= Qt.Key.Key_PageDown
