"""Texts of ``core`` for the window: what they say of commands of the terminal is said by menus and settings here."""

from __future__ import annotations

import re

from semblance.app.shell.actions import COMMANDS, MENUS
from semblance.core.language import set_display, tr

#: Command of the terminal -> the command of the window that does the same.
_SAME = {
    "import": "new_library_folder",
    "features": "extract",
    "train": "train",
    "evaluate": "score",
    "relink": "relink",
    "doctor": "check_library",
    "backup": "back_up",
    "restore": "restore",
    "import-features": "import_features",
    "check-data": "data_check",
    "lesions": "detect_lesions",
    "pacs": "pacs",
    "feature-set": "manage_metrics",
    "experiment": "experiments",
    "reader-study": "reader_studies",
}
#: A command with its arguments, to the end of its part of the sentence.
_COMMAND = r"`?\b(?:python -m )?semblance (?P<name>[a-z][a-z-]*)(?: [^`.;,:()]*(?:\.[a-z]+\b[^`.;,:()]*)*)?`?"
_OTHER = r"`?\b(?:pip|chmod|chown) (?:[^`.;()]|\.(?=\w))*`?"
_IN_BRACKETS = re.compile(rf" \((?:{_COMMAND}|--[a-z][a-z-]*)\)")
_ALONE, _OTHERS = re.compile(_COMMAND), re.compile(_OTHER)
_SETTING, _OPTION = re.compile(r"(?<![\w-])--set "), re.compile(r"(?<![\w-])--([a-z][a-z-]*)")
_MAY_NAME_ONE = re.compile(r"semblance [a-z]|(?<![\w-])--[a-z]|\b(?:pip|chmod|chown) ")


def for_window(text: str) -> str:
    """``text``, whose places are not filled in, without commands and options of the terminal.

    A command in brackets after what the window does is left out. Another one becomes the entry of a menu that does the
    same, or is told as a command of the terminal. An option becomes the name of the setting.
    """
    if not _MAY_NAME_ONE.search(text):
        return text
    text = _IN_BRACKETS.sub("", text)
    text = _ALONE.sub(lambda found: _entry(found["name"]) + (" " if found[0].endswith(" ") else ""), text)
    text = _OTHERS.sub(lambda _: tr("a command of the terminal"), text)
    return _OPTION.sub(r"'\1'", _SETTING.sub("", text))


def _entry(name: str) -> str:
    """The entry of a menu that does what the command ``name`` does."""
    command = next((one for one in COMMANDS if one.id == _SAME.get(name)), None)
    return tr("a command of the terminal") if command is None else f"{MENUS[command.menu]} > {command.text}"


def use_for_window() -> None:
    """Show texts of ``core`` by :func:`for_window` in this process."""
    set_display(for_window)
