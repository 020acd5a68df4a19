from __future__ import annotations

import pytest
from PySide6.QtCore import QPoint, Qt
from PySide6.QtWidgets import QLineEdit, QVBoxLayout, QWidget
from shiboken6 import delete

from semblance.app.shell.actions import CommandEntry
from semblance.app.window.palette import CommandPalette, matches
from tests.helpers.widgets import show_widget


def entry(text: str, category: str = "View", *, enabled: bool = True) -> CommandEntry:
    return CommandEntry(text, category, lambda: None, enabled=enabled)


def texts(entries: list[CommandEntry], terms: str) -> list[str]:
    return [match.entry.text for match in matches(entries, terms)]


def test_starts_of_words_come_before_insides() -> None:
    entries = [entry("Extract features…"), entry("Pause training"), entry("Train")]
    assert texts(entries, "tr") == ["Train", "Pause training", "Extract features…"]


def test_first_letters_of_words_find_too() -> None:
    assert texts([entry("Open library…"), entry("Close library")], "ol") == ["Open library…"]


def test_every_word_must_be_found_in_any_order() -> None:
    entries = [entry("Save the plots…"), entry("Save as")]
    assert texts(entries, "plot save") == ["Save the plots…"]
    assert texts(entries, "save zebra") == []


def test_stop_words_exclude_no_command() -> None:
    entries = [entry("Save search…"), entry("Save the plots…"), entry("Search with the whole image")]
    assert texts(entries, "save the search") == ["Save search…"]
    assert texts(entries, "an image in the search") == ["Search with the whole image"]
    assert texts(entries, "plots of the save") == ["Save the plots…"]
    [match] = matches([entry("Tan the hide")], "an hide the")
    assert match.letters == set(range(4, 12)) - {7}
    assert texts(entries, "the") == ["Save the plots…", "Search with the whole image"]


def test_synonyms_match_after_command_names() -> None:
    entries = [
        CommandEntry("Quit", "File", lambda: None, synonyms="exit leave"),
        CommandEntry("Write a report…", "File", lambda: None, synonyms="pdf export"),
        CommandEntry("Export the metric…", "Metric", lambda: None),
    ]
    assert texts(entries, "exit") == ["Quit"]
    assert texts(entries, "xit") == []
    assert texts(entries, "export") == ["Export the metric…", "Write a report…"]
    assert texts(entries, "pdf report") == ["Write a report…"]
    [match] = matches(entries, "report as a pdf")
    assert {match.entry.text[at] for at in match.letters} == set("reporta")


def test_the_category_finds_as_well() -> None:
    entries = [entry("Find a case", "Edit"), entry("Edit presets", "View")]
    assert texts(entries, "edit") == ["Edit presets", "Find a case"]


def test_found_letters_are_reported() -> None:
    [match] = matches([entry("Extract")], "TR")
    assert match.letters == {2, 3}


def test_nothing_typed_lists_all_in_their_order_but_what_cannot_run_last() -> None:
    entries = [entry("b", enabled=False), entry("z"), entry("a")]
    assert texts(entries, "  ") == ["z", "a", "b"]


class Window(QWidget):
    def __init__(self) -> None:
        super().__init__()
        self.ran: list[str] = []
        self.field = QLineEdit()
        QVBoxLayout(self).addWidget(self.field)
        self.palette_ = CommandPalette(self)

    def open(self) -> None:
        self.palette_.open(
            [
                CommandEntry(
                    "Train chosen learners", "Metric", lambda: self.ran.append("train"), "Ctrl+T", "play"
                ),
                CommandEntry(
                    "Extract features…", "Features", lambda: self.ran.append("extract"), icon="layers"
                ),
                CommandEntry("Create report…", "File", lambda: self.ran.append("report"), enabled=False),
            ]
        )


@pytest.fixture
def window(qtbot) -> Window:
    made = show_widget(qtbot, Window(), 800, 600)
    made.activateWindow()
    made.field.setFocus()
    made.open()
    return made


def test_typing_and_enter_run_a_command_and_give_the_focus_back(qtbot, window: Window) -> None:
    palette = window.palette_
    assert palette.field.hasFocus()
    qtbot.keyClicks(palette.field, "ex")
    assert [entry.text for entry in palette.shown()] == ["Extract features…"]
    qtbot.keyClick(palette.field, Qt.Key.Key_Return)
    assert window.ran == ["extract"]
    assert palette.isHidden()
    assert window.field.hasFocus()


def test_it_closes_where_what_had_the_focus_is_gone(qtbot, window: Window) -> None:
    delete(window.field)
    qtbot.keyClick(window.palette_.field, Qt.Key.Key_Escape)
    assert window.palette_.isHidden()


def test_arrows_move_and_wrap(qtbot, window: Window) -> None:
    palette = window.palette_
    qtbot.keyClick(palette.field, Qt.Key.Key_Down)
    assert palette.list.currentIndex().row() == 1
    for key, row in ((Qt.Key.Key_Up, 0), (Qt.Key.Key_Up, 2), (Qt.Key.Key_Tab, 0), (Qt.Key.Key_PageDown, 2)):
        qtbot.keyClick(palette.field, key)
        assert palette.list.currentIndex().row() == row


def test_what_cannot_run_does_not(qtbot, window: Window) -> None:
    qtbot.keyClicks(window.palette_.field, "report")
    qtbot.keyClick(window.palette_.field, Qt.Key.Key_Return)
    assert window.ran == []
    assert not window.palette_.isHidden()


def test_escape_and_a_click_outside_close(qtbot, window: Window) -> None:
    palette = window.palette_
    qtbot.keyClick(palette.field, Qt.Key.Key_Escape)
    assert palette.isHidden()
    window.open()
    qtbot.mouseClick(palette, Qt.MouseButton.LeftButton, pos=QPoint(5, 590))
    assert palette.isHidden()
    assert window.ran == []


def test_a_click_runs(qtbot, window: Window) -> None:
    view = window.palette_.list
    where = view.visualRect(view.model().index(1, 0)).center()
    qtbot.mouseClick(view.viewport(), Qt.MouseButton.LeftButton, pos=where)
    assert window.ran == ["extract"]


def test_nothing_found_says_so(qtbot, window: Window) -> None:
    qtbot.keyClicks(window.palette_.field, "zzz")
    assert window.palette_.shown() == []
    assert window.palette_.no_match.isVisible()
    qtbot.keyClick(window.palette_.field, Qt.Key.Key_Return)
    assert window.ran == []


def test_what_ran_lately_stands_first(qtbot, window: Window) -> None:
    qtbot.keyClicks(window.palette_.field, "ex")
    qtbot.keyClick(window.palette_.field, Qt.Key.Key_Return)
    window.open()
    assert window.palette_.shown()[0].text == "Extract features…"


def test_it_fits_a_small_window_and_follows_it(qtbot, window: Window) -> None:
    window.resize(400, 300)
    qtbot.waitUntil(lambda: window.palette_.size() == window.size())
    panel = window.palette_.panel
    assert window.rect().contains(panel.geometry())
    assert not window.palette_.grab().isNull()


def test_what_takes_the_focus_meanwhile_gets_it_when_the_palette_closes(qtbot) -> None:
    window = QWidget()
    behind = QLineEdit(window)
    palette = CommandPalette(window)
    show_widget(qtbot, window, 400, 300)
    window.activateWindow()
    qtbot.waitUntil(window.isActiveWindow)
    palette.open([entry("Train")])
    behind.setFocus()
    assert window.focusWidget() is palette.field
    palette.dismiss()
    assert window.focusWidget() is behind
