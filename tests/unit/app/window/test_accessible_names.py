"""What a screen reader calls the controls of every dialog, page and tab that a command opens."""

from __future__ import annotations

from collections.abc import Iterator

import pytest
from PySide6.QtCore import Qt, QTimer
from PySide6.QtGui import QAccessible
from PySide6.QtWidgets import QApplication, QFileDialog, QMenu, QMessageBox, QWidget

from semblance.app.screenshot import wait_until_idle
from semblance.app.shell.actions import COMMANDS, Command
from semblance.app.widgets.dialog import NameDialog
from semblance.app.window.main_window import MainWindow
from tests.helpers.windows import open_window, search_first_case

pytestmark = pytest.mark.usefixtures("without_processes", "no_system_dialogs")

#: Commands that show a page on the whole window, or a dialog without an ellipsis in its name.
PAGES = (
    "compare",
    "view_large",
    "hang",
    "two_metrics",
    "ask_next",
    "help",
    "tutorial",
    "words",
    "about",
    "palette",
)
#: Qt's own parts of a table, a calendar or a scroll area.
PARTS_OF_QT = ("qt_", "ScrollLeftButton", "ScrollRightButton")


@pytest.fixture
def no_system_dialogs(monkeypatch):
    """Dialogs of the system are cancelled at once."""
    for name in ("getOpenFileName", "getSaveFileName", "getOpenFileNames"):
        monkeypatch.setattr(QFileDialog, name, lambda *_args, **_more: ("", ""))
    monkeypatch.setattr(QFileDialog, "getExistingDirectory", lambda *_args, **_more: "")
    monkeypatch.setattr(NameDialog, "ask", lambda _: "")
    monkeypatch.setattr(QMessageBox, "question", lambda *_args, **_more: QMessageBox.StandardButton.No)


def spoken(widget: QWidget) -> str:
    """What a screen reader calls it."""
    found = QAccessible.queryAccessibleInterface(widget)
    return found.text(QAccessible.Text.Name) if found is not None else ""


def nameless(window: QWidget) -> set[str]:
    """The controls of a window that the keyboard reaches and a screen reader has no name for."""
    return {
        f"{type(one).__name__} in {type(one.parentWidget()).__name__} of {type(window).__name__}"
        for one in window.findChildren(QWidget)
        if one.isVisibleTo(window)
        and one.window() is window
        and one.focusPolicy() & Qt.FocusPolicy.TabFocus
        and one.focusProxy() is None
        and not one.objectName().startswith(PARTS_OF_QT)
        and not spoken(one)
    }


def other_windows(window: MainWindow) -> Iterator[QWidget]:
    return (one for one in QApplication.topLevelWidgets() if one is not window and one.isVisible())


def menus_with_dialogs() -> list[str]:
    return sorted({command.menu for command in COMMANDS if opens_dialog(command)})


def opens_dialog(command: Command) -> bool:
    # The match threshold is set in a menu.
    return command.text.endswith("…") and command.id != "no_good_match"


def test_every_control_that_a_command_shows_has_a_name(library):
    chosen = {
        menu: [command.id for command in COMMANDS if command.menu == menu and opens_dialog(command)]
        for menu in menus_with_dialogs()
    }
    with open_window(library) as window:
        search_first_case(window)
        opened: set[str] = set()
        found: set[str] = set()

        def look_and_close() -> None:
            for one in list(other_windows(window)):
                if not isinstance(one, QMenu):
                    opened.add(type(one).__name__)
                    found.update(nameless(one))
                one.close()

        # A dialog may wait for its end inside the command.
        watch = QTimer(interval=20)
        watch.timeout.connect(look_and_close)
        watch.start()
        for menu, commands in (chosen | {"pages": PAGES}).items():
            opened.clear()
            for name in commands:
                window.context.actions[name].trigger()
                wait_until_idle(window)
                if window.parts.full.open:
                    opened.add(name)
                    found |= nameless(window)
                while window.parts.full.open:
                    window.parts.full.leave()
                    wait_until_idle(window)
            # The commands of Edit and Refine that have dialogs need a selection, or marks.
            assert opened or menu in {"Edit", "Refine"}, menu
        watch.stop()
        assert found == set()
