from __future__ import annotations

from collections import Counter

import pytest
from PySide6.QtGui import QKeySequence
from PySide6.QtWidgets import QWidget

from semblance.app.shell.actions import COMMANDS, MENUS, SYNONYMS, Actions, menu_entries
from semblance.app.window.main_window import MainWindow
from semblance.app.window.palette import matches
from semblance.core.language import ENGLISH, LANGUAGES
from tests.helpers.icons import icon_names
from tests.translations import translated_texts

#: What :attr:`semblance.app.shell.state.WindowState.there` can hold.
KNOWN = {
    "", "library", "writable", "editable", "editable on a server", "features", "metric", "can score",
    "scores", "query", "ranking", "training",
    "can judge", "judgements", "own judgements", "undone judgements", "two metrics",
    "edits", "undone edits", "can add concepts",
    "earlier queries", "later queries",
    "concepts", "concepts changed", "can save search", "can save metric",
}  # fmt: skip


@pytest.fixture
def actions(qtbot):
    window = QWidget()
    qtbot.addWidget(window)
    yield Actions(window)


@pytest.mark.parametrize("what", ["id", "text", "shortcut"])
def test_no_two_commands_share(what):
    counts = Counter(value for command in COMMANDS if (value := getattr(command, what)))
    assert [value for value, n in counts.items() if n > 1] == []


def test_shortcuts_are_keys_qt_knows_and_none_is_listed_twice(qapp):
    keys = [QKeySequence(command.shortcut).toString() for command in COMMANDS if command.shortcut]
    assert all(keys)
    assert len(set(keys)) == len(keys)


def test_every_icon_exists_and_every_need_is_known():
    assert {command.icon for command in COMMANDS} - {""} <= set(icon_names())
    assert {command.needs for command in COMMANDS} <= KNOWN


def test_every_menu_has_a_name_and_is_used():
    assert set(MENUS) == {command.menu for command in COMMANDS}


@pytest.fixture(params=[code for code in LANGUAGES if code != ENGLISH])
def translated(request):
    return translated_texts(request.param)


def test_in_other_languages_commands_have_names_of_their_own_too(translated):
    names = Counter(translated[command.text] for command in COMMANDS)
    assert [name for name, n in names.items() if n > 1] == []
    assert len({translated[menu] for menu in MENUS}) == len(MENUS)


def test_translated_texts_name_commands_as_the_translated_menus_do(translated):
    for command in COMMANDS:
        name = f"{command.menu} > {command.text}".removesuffix("…")
        same = f"{translated[command.menu]} > {translated[command.text]}".removesuffix("…")
        pairs = {text: other for text, other in translated.items() if name in text and same not in other}
        assert pairs == {}


def test_commands_are_enabled_by_what_is_there(actions):
    actions.enable(set())
    assert actions["open_library"].isEnabled()
    assert not actions["train"].isEnabled()
    actions.enable({"library", "writable", "features"})
    assert actions["train"].isEnabled()
    assert not actions["report"].isEnabled()


def test_the_palette_lists_every_command_but_itself(actions):
    actions.enable(set())
    entries = {entry.text: entry for entry in actions.entries()}
    assert len(entries) == len(COMMANDS) - 1
    assert "All commands…" not in entries
    assert not entries["Extract features…"].enabled
    assert entries["Open library…"].enabled


@pytest.mark.parametrize(
    ("typed", "first"),
    [
        ("save the search", "Save search…"),
        ("search save", "Save search…"),
        ("exit", "Quit"),
        ("the map", "Map of the library"),
        ("library map", "Map of the library"),
        ("print a pdf", "Create report…"),
        ("backup", "Back up library…"),
        ("repair the library", "Verify library…"),
        ("undo the judgement", "Undo mark"),
        ("tutorial", "Tutorial"),
        ("window level", "Reset the query's window / level"),
        ("finding", "Findings…"),
        ("annotate", "Set finding…"),
        ("delete", "Remove from the library"),
        ("delete metric", "Feature sets and metrics…"),
        ("shortcuts", "Keyboard and mouse"),
        ("keyboard", "Keyboard and mouse"),
        ("bug", "Copy details for a bug report"),
        ("invert", "Go to the query"),
        ("roc", "Go to the evaluation"),
        ("notes", "Go to the notes"),
        ("anonymise", "Create report…"),
    ],
)
def test_commands_are_found_by_synonyms(actions, typed, first):
    actions.enable(set(KNOWN))
    assert matches(actions.entries(), typed)[0].entry.text == first


def test_other_words_are_of_commands_there_are_and_of_no_others():
    texts = {command.id: command.text for command in COMMANDS}
    assert SYNONYMS.keys() <= texts.keys()
    for command, words in SYNONYMS.items():
        own = set(texts[command].casefold().rstrip("…").split())
        assert own & set(words.casefold().split()) == set(), command


def test_a_command_runs_what_it_is_connected_to(actions):
    ran = []
    actions.connect_to("words", lambda: ran.append("words"))
    next(entry for entry in actions.entries() if entry.text == "Glossary").run()
    assert ran == ["words"]


#: What commands need that train, evaluate and compare metrics.
OF_RESEARCH = {"features", "training", "can score", "scores", "two metrics", "can save metric", "concepts"}


def test_the_menus_of_read_have_what_a_reader_needs_and_those_of_research_all():
    shown = {
        research: [c for menu in MENUS for group in menu_entries(menu, research=research) for c in group]
        for research in (False, True)
    }
    assert shown[True] == sorted(COMMANDS, key=lambda command: list(MENUS).index(command.menu))
    assert len(shown[False]) <= 60
    assert {command.needs for command in shown[False]}.isdisjoint(OF_RESEARCH)


def test_a_text_names_a_menu_entry_that_is_there_where_it_is_read(translated):
    read = {
        command.text for menu in MENUS for group in menu_entries(menu, research=False) for command in group
    }
    for command in COMMANDS:
        path = f"{command.menu} > {command.text}".removesuffix("…")
        # "Research > ..." begins with the switch to that workspace.
        if command.menu != "Research" and command.text not in read:
            named = [text for text in translated if path in text and f"Research > {path}" not in text]
            assert named == [], path


def test_in_the_window_every_command_does_something(qtbot):
    window = MainWindow()
    qtbot.addWidget(window)
    for command in COMMANDS:
        action = window.context.actions[command.id]
        assert action.receivers("2triggered(bool)") + action.receivers("2toggled(bool)"), command.id
    window.close()
