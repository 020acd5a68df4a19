from __future__ import annotations

import pytest
from PySide6.QtCore import QUrl

import resources
from app.dialogs.help import HelpDialog
from app.theme import LIGHT, set_theme

PAGES = sorted(file.stem for file in resources.path("help").glob("*.md"))


@pytest.fixture
def dialog(qtbot):
    made = HelpDialog()
    qtbot.addWidget(made)
    return made


def title(page: str) -> str:
    text = resources.path(f"help/{page}.md").read_text(encoding="utf-8")
    return text.splitlines()[0].removeprefix("# ").strip()


@pytest.mark.parametrize("page", PAGES)
def test_every_page_opens_at_its_beginning(dialog, page):
    dialog.show_page(page)
    assert dialog.isVisible()
    assert dialog.page.toPlainText().startswith(title(page))
    assert dialog.page.verticalScrollBar().value() == 0


@pytest.mark.parametrize("page", ["no such page", "", "../../pyproject", "\0"])
def test_where_there_is_no_page_the_words_are_shown(dialog, page):
    dialog.show_page(page)
    assert dialog.page.toPlainText().startswith(title("words"))


def test_every_link_leads_to_a_page(dialog):
    for page in PAGES:
        dialog.show_page(page)
        text = dialog.page.toMarkdown()
        links = [part.split(")")[0] for part in text.split("](")[1:]]
        assert all(link.removesuffix(".md").partition("#")[0] in PAGES for link in links), (page, links)
    dialog.page.anchorClicked.emit(QUrl("query.md"))
    assert dialog.page.toPlainText().startswith(title("query"))


def test_wide_tables_get_a_wide_window_and_keep_their_words_whole(dialog):
    dialog.show_page("words")
    narrow = dialog.width()
    dialog.show_page("benchmarks")
    assert dialog.width() > narrow
    assert dialog.page.horizontalScrollBar().maximum() == 0


def test_an_open_page_follows_the_theme(qapp, dialog):
    dialog.show_page("words")
    set_theme(qapp, "light", 1.5)
    back = dialog.page.grab().toImage().pixelColor(300, 3)
    assert back.name().upper() == LIGHT.panel
