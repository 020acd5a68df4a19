from __future__ import annotations

import re

import pytest
from PySide6.QtCore import Qt
from PySide6.QtGui import QKeySequence
from PySide6.QtTest import QTest
from PySide6.QtWidgets import QPushButton, QWidget

from semblance.app.shell.actions import COMMANDS, Actions
from semblance.app.shell.keys import CommandKeys, refusal
from semblance.app.shell.settings import Settings
from semblance.app.widgets.buttons import KeyTip
from semblance.app.window import help_files, help_pages
from semblance.app.window.keyboard_settings import KeyboardSettings

OWN = {command.id: command.keys for command in COMMANDS}


@pytest.fixture
def window(qtbot):
    made = QWidget()
    qtbot.addWidget(made)
    made.show()
    return made


@pytest.fixture
def actions(window):
    return Actions(window, Settings())


@pytest.fixture
def keyboard(actions, qtbot):
    made = KeyboardSettings(actions)
    qtbot.addWidget(made)
    made.show()
    return made


def press(keyboard, command, key, modifiers=Qt.KeyboardModifier.NoModifier):
    keyboard.choose(command)
    QTest.keyClick(keyboard.field, key, modifiers)


def test_a_new_key_runs_the_command_and_is_shown_and_kept(keyboard, actions, window, qtbot):
    button = QPushButton(window)
    KeyTip(button, "Report", actions, "report")
    press(keyboard, "report", Qt.Key.Key_F8)
    assert actions["report"].shortcuts() == [QKeySequence("F8")]
    assert button.toolTip() == "Report (F8)"
    assert [one.shortcut for one in actions.entries() if one.text == actions["report"].text()] == ["F8"]
    assert help_pages.with_keys("Press [Ctrl+R](key:report).", actions) == "Press F8."
    assert "| F8 |" in help_pages.commands_table(actions)
    keyboard.hide()
    window.activateWindow()
    qtbot.waitUntil(window.isActiveWindow)
    with qtbot.waitSignal(actions["report"].triggered):
        qtbot.keyClick(window, Qt.Key.Key_F8)
    assert CommandKeys(OWN, Settings()).of("report") == ("F8",)


def test_a_key_of_another_command_is_taken_only_when_the_button_is_pressed(keyboard, actions):
    press(keyboard, "report", Qt.Key.Key_K, Qt.KeyboardModifier.ControlModifier)
    assert "All commands" in keyboard.note
    assert keyboard.use.isVisible()
    assert (actions.keys.of("report"), actions.keys.of("palette")) == (("Ctrl+R",), ("Ctrl+K",))
    keyboard.use.click()
    assert (actions.keys.of("report"), actions.keys.of("palette")) == (("Ctrl+K",), ())
    keyboard.choose("palette")
    keyboard.reset.click()
    assert "Create report" in keyboard.note
    assert actions.keys.of("palette") == ()
    keyboard.use.click()
    assert (actions.keys.of("report"), actions.keys.of("palette")) == (("Ctrl+R",), ("Ctrl+K",))


def test_a_command_can_be_without_a_key_and_all_keys_can_be_reset(keyboard, actions):
    keyboard.choose("report")
    keyboard.remove.click()
    press(keyboard, "quit", Qt.Key.Key_F9)
    assert (actions.keys.of("report"), actions.keys.of("quit")) == ((), ("F9",))
    keyboard.reset_all.click()
    assert {command: actions.keys.of(command) for command in OWN} == OWN
    assert not keyboard.reset_all.isEnabled()


@pytest.mark.parametrize("key", ["Return", "Left", "Space", "Shift+Tab", "Ctrl+C", "Alt+F", "Shift+F10"])
def test_keys_of_the_keyboard_itself_are_refused_with_a_reason(keyboard, actions, key):
    keyboard.choose("report")
    keyboard.propose(key)
    assert keyboard.note == refusal(key) != ""
    assert actions.keys.of("report") == ("Ctrl+R",)


def test_the_list_is_searched_by_name_and_by_key(keyboard, qtbot):
    for text, command in (("full size", "view_large"), ("ctrl+l", "view_large")):
        with qtbot.waitSignal(keyboard.search.searched):
            keyboard.search.setText(text)
        keyboard.choose(command)
        assert keyboard.command is not None


def test_damaged_settings_leave_every_command_its_own_key(qapp):
    settings = Settings()
    settings.set_text("keys", '{"report": 7, "none": "F8", "quit": "Esc", "why": "Ctrl+nothing"}')
    assert all(CommandKeys(OWN, settings).of(command) == keys for command, keys in OWN.items())
    settings.set_text("keys", "[")
    assert all(CommandKeys(OWN, settings).of(command) == keys for command, keys in OWN.items())


def test_no_command_of_own_keys_is_refused(qapp):
    assert [key for keys in OWN.values() for key in keys if refusal(key)] == []


def test_the_help_names_keys_of_commands_as_they_are(qapp):
    named = [
        (page, *found)
        for page in help_files.pages()
        for found in re.findall(r"\[([^\]]+)\]\(key:(\w+)\)", help_files.english(page))
    ]
    assert len(named) > 50
    for page, written, command in named:
        assert written.replace("Enter", "Return").split(", ") == [*OWN[command]], page
