from __future__ import annotations

import re
from pathlib import Path

import pytest
from PySide6.QtCore import QEvent, QPoint, Qt, QUrl
from PySide6.QtGui import QDesktopServices, QTextDocument
from PySide6.QtWidgets import QWidget

from semblance import resources
from semblance.app.shell.actions import Actions
from semblance.app.shell.theme import LIGHT, set_theme
from semblance.app.window import help_files, help_pages
from semblance.app.window.help_dialog import HelpDialog
from tests.helpers.use_language import use_language
from tests.helpers.widgets import finish_delayed_calls

CHANGELOG = Path(__file__).resolve().parents[4] / "CHANGELOG.md"
PAGES = [entry.page for _, entries in help_pages.contents() for entry in entries]


BACKWARD = QTextDocument.FindFlag.FindBackward


@pytest.fixture
def dialog(qtbot):
    # A screen of tests is narrow; the window beside is wide enough.
    window = QWidget()
    window.resize(1440, 900)
    qtbot.addWidget(window)
    made = HelpDialog(Actions(), window)
    qtbot.addWidget(made)
    yield made
    made.close()


def title(page: str) -> str:
    return help_pages.text_of(page).splitlines()[0].removeprefix("# ").strip()


def test_every_page_opens_at_its_beginning(dialog):
    for page in PAGES:
        dialog.show_page(page)
        assert dialog.isVisible()
        assert dialog.page.toPlainText().startswith(title(page)), page
        assert dialog.page.verticalScrollBar().value() == 0, page
        dialog.page.verticalScrollBar().setValue(dialog.page.verticalScrollBar().maximum())


@pytest.mark.parametrize("page", ["no such page", "", "../../pyproject", "\0"])
def test_where_there_is_no_page_the_words_are_shown(dialog, page):
    dialog.show_page(page)
    assert dialog.page.toPlainText().startswith(title("glossary"))


def test_every_link_leads_to_a_page():
    for page in PAGES:
        for link in re.findall(r"\]\(([^)\s]+)\)", help_pages.text_of(page)):
            if link.endswith(".csv"):
                assert resources.path("help").joinpath(link).is_file(), (page, link)
            elif not link.startswith(("http", "images/", "key:")):
                assert help_pages.has(help_pages.target(page, link)), (page, link)


def test_a_link_is_followed_from_where_its_page_lies(dialog):
    dialog.show_page("glossary")
    dialog.page.anchorClicked.emit(QUrl("learners/bdm.md"))
    assert dialog.shown == "learners/bdm"
    dialog.page.anchorClicked.emit(QUrl("../query.md"))
    assert dialog.page.toPlainText().startswith(title("query"))


def test_a_table_is_shown_on_its_page_and_opened_from_it(dialog, monkeypatch):
    opened: list[QUrl] = []
    monkeypatch.setattr(QDesktopServices, "openUrl", opened.append)
    dialog.show_page("which_learner")
    assert "Kernel BDM, laplacian" in dialog.page.toPlainText()
    dialog.page.anchorClicked.emit(QUrl("benchmarks/learner_means.csv"))
    assert opened == [QUrl.fromLocalFile(str(resources.path("help") / "benchmarks/learner_means.csv"))]
    assert dialog.shown == "which_learner"


def test_whats_new_is_the_changelog_and_says_in_german_that_it_is_english(dialog, monkeypatch):
    opened: list[QUrl] = []
    monkeypatch.setattr(QDesktopServices, "openUrl", opened.append)
    with use_language("de"):
        shown = help_files.text_of("whats_new")
    assert re.match(r"# [^\n]+\n\n\*[^*]+\*\n\n", shown)
    dialog.show_page("whats_new")
    newest = re.search(r"^## \[(.+)\]$", CHANGELOG.read_text(encoding="utf-8"), re.MULTILINE)
    assert newest is not None
    assert newest[1] in dialog.page.toPlainText().splitlines()
    dialog.page.anchorClicked.emit(QUrl("https://semver.org/"))
    assert opened == [QUrl("https://semver.org/")]
    assert dialog.shown == "whats_new"


def test_one_goes_back_the_way_one_came(dialog, qtbot):
    for page in ("glossary", "query", "learners/bdm"):
        dialog.show_page(page)
    dialog.go_back()
    dialog.activateWindow()
    qtbot.waitUntil(dialog.isActiveWindow)
    qtbot.keyClick(dialog.page, Qt.Key.Key_Left, Qt.KeyboardModifier.AltModifier)
    assert dialog.shown == "glossary"
    assert not dialog.back.isEnabled()
    dialog.go_back()
    assert dialog.shown == "glossary"
    qtbot.keyClick(dialog.page, Qt.Key.Key_Right, Qt.KeyboardModifier.AltModifier)
    dialog.go_forward()
    assert dialog.shown == "learners/bdm"
    assert not dialog.forward.isEnabled()
    dialog.go_back()
    dialog.show_page("map")
    assert not dialog.forward.isEnabled(), "another way was taken"


def test_the_page_opens_where_the_words_looked_for_are(dialog, qtbot):
    dialog.search.setText("diverse")
    dialog.show_page("similar_cases")
    assert dialog.page.textCursor().position() > 0
    marked = {mark.cursor.selectedText().casefold() for mark in dialog.page.extraSelections()}
    assert marked == {"diverse"}
    dialog.search.setText("")
    qtbot.waitUntil(lambda: dialog.page.extraSelections() == [])


def test_no_image_is_wider_than_the_page(dialog):
    dialog.resize(820, 640)
    dialog.show_page("getting_started")
    assert dialog.page.horizontalScrollBar().maximum() == 0
    shown = dialog.page.document().resource(
        QTextDocument.ResourceType.ImageResource.value, QUrl("images/asked.png")
    )
    assert 0 < shown.width() <= dialog.page.width()


def test_pages_with_a_heading_of_the_words_come_before_those_that_mention_them():
    pages = [found.page for found in help_pages.find("calibration")]
    assert pages.index("reliability") < pages.index("experiments")


def test_search_lists_pages_and_the_keyboard_opens_them(dialog, qtbot):
    dialog.show_page("glossary")
    qtbot.keyClicks(dialog.search, "metricboost")
    qtbot.waitUntil(lambda: dialog.list.item(0).text() == "MetricBoost")
    qtbot.keyClick(dialog.search, Qt.Key.Key_Down)
    qtbot.waitUntil(lambda: dialog.shown == "learners/metricboost")
    dialog.search.setText("xyzzyx")
    qtbot.waitUntil(lambda: dialog.list.item(0).text() == "No page has these words.")
    dialog.search.clear()
    qtbot.waitUntil(lambda: dialog.list.count() > len(PAGES))
    assert dialog.list.currentItem().text().strip() == "MetricBoost"


def test_enter_leads_from_the_search_to_the_pages_and_into_one(dialog, qtbot):
    dialog.show_page("similar_cases")
    dialog.activateWindow()
    dialog.search.setFocus()
    qtbot.keyClicks(dialog.search, "calibration")
    qtbot.waitUntil(lambda: dialog.list.count() < 20)
    qtbot.keyClick(dialog.search, Qt.Key.Key_Return)
    assert dialog.focusWidget() is dialog.list
    first = dialog.list.item(0).data(Qt.ItemDataRole.UserRole)
    qtbot.waitUntil(lambda: dialog.shown == first)
    qtbot.keyClick(dialog.list, Qt.Key.Key_Return)
    assert dialog.focusWidget() is dialog.page
    assert dialog.shown == first


def test_a_page_is_chosen_in_the_contents(dialog, qtbot):
    dialog.show_page("glossary")
    row = next(r for r in range(dialog.list.count()) if dialog.list.item(r).text() == f"  {title('query')}")
    dialog.list.setCurrentRow(row)
    qtbot.waitUntil(lambda: dialog.shown == "query")


def test_pages_passed_on_the_way_to_another_are_not_made(dialog, qtbot, monkeypatch):
    shown = []
    monkeypatch.setattr(dialog, "show_page", shown.append)
    rows = [r for r in range(dialog.list.count()) if dialog.list.item(r).data(Qt.ItemDataRole.UserRole)]
    for row in rows[1:6]:
        dialog.list.setCurrentRow(row)
    qtbot.waitUntil(lambda: bool(shown))
    assert shown == [dialog.list.item(rows[5]).data(Qt.ItemDataRole.UserRole)]


def test_wide_tables_get_a_wide_window_and_break_no_word(dialog, qtbot):
    dialog.show_page("glossary")
    narrow = dialog.width()
    dialog.show_page("benchmarks")
    assert dialog.width() > narrow
    # The range of the bar follows the new width with the next events.
    qtbot.waitUntil(lambda: dialog.page.horizontalScrollBar().maximum() == 0)


def test_an_open_page_follows_the_theme(qapp, dialog):
    dialog.show_page("glossary")
    set_theme(qapp, "light", 1.5)
    back = dialog.page.grab().toImage().pixelColor(300, 3)
    assert back.name().upper() == LIGHT.panel


def test_a_page_is_made_ready_before_it_is_shown(qapp, dialog, monkeypatch):
    """A page with long tables that changes while visible is laid out again for each of their cells."""
    is_visible, set_type = [], HelpDialog._format_document

    def watched(document):
        is_visible.append(document is dialog.page.document())
        set_type(document)

    monkeypatch.setattr(HelpDialog, "_format_document", staticmethod(watched))
    dialog.show_page("benchmarks")
    set_theme(qapp, "light")
    assert is_visible
    assert not any(is_visible)
    heading = dialog.page.document().begin()
    assert heading.blockFormat().headingLevel() == 1
    assert heading.begin().fragment().charFormat().font().weight() == 600


def test_words_marked_by_hand_on_a_page_are_forgotten_with_it(dialog, qtbot):
    """Qt keeps the word of a double click; pressed with Shift on a shorter page it looked for it there."""
    dialog.show_page("tutorial")
    page = dialog.page
    found = page.document().find(" the ", page.document().characterCount() - 1, BACKWARD)
    found.setPosition(found.selectionStart() + 2)
    page.setTextCursor(found)
    page.ensureCursorVisible()
    qtbot.mouseDClick(page.viewport(), Qt.MouseButton.LeftButton, pos=page.cursorRect().center())
    assert page.textCursor().selectedText()
    dialog.show_page("getting_started")
    qtbot.mouseClick(
        page.viewport(), Qt.MouseButton.LeftButton, Qt.KeyboardModifier.ShiftModifier, pos=QPoint(60, 40)
    )
    assert page.textCursor().selectionEnd() < page.document().characterCount()
    # Qt keeps the modifiers of the last event for the tests that follow.
    qtbot.mouseClick(page.viewport(), Qt.MouseButton.LeftButton, pos=QPoint(60, 40))


def test_pages_that_were_left_are_released(dialog, qapp):
    for name in ("tutorial", "getting_started", "glossary", "tutorial"):
        dialog.show_page(name)
    qapp.sendPostedEvents(None, QEvent.Type.DeferredDelete)
    assert dialog.page.findChildren(QTextDocument) == [dialog.page.document()]


def test_a_page_is_rendered_anew_after_the_window_and_only_while_visible(dialog, qtbot, monkeypatch):
    from semblance.app.shell.theme import theme_signals

    dialog.show_page("explanation")
    made: list[str] = []
    monkeypatch.setattr(help_pages, "text_of", lambda page: made.append(page) or "# Why")
    theme_signals.changed.emit()
    assert not made
    qtbot.waitUntil(lambda: bool(made))
    dialog.close()
    made.clear()
    theme_signals.changed.emit()
    finish_delayed_calls(qtbot, dialog)
    assert not made
    dialog.show_page("explanation")
    assert made
