"""A window changed to another theme and text size looks like one that was opened in them, on every page."""

from __future__ import annotations

import shutil
from pathlib import Path

import pytest
from PySide6.QtGui import QImage

from semblance.app.screenshot import wait_until_idle
from semblance.app.shell.settings import Settings
from semblance.app.shell.theme import theme
from semblance.app.widgets.labels import ElidedLabel
from semblance.app.window.main_window import MainWindow
from tests.helpers.windows import flush, open_window, search_first_case

pytestmark = pytest.mark.usefixtures("without_processes", "private_home")
PAGES = ("refine", "train", "why", "compare", "view_large")
LARGER, SMALLER = ("text_larger",) * 3, ("text_smaller",) * 3


@pytest.fixture(autouse=True)
def plots_at_once(monkeypatch):
    """They are drawn again as soon as their size has changed."""
    monkeypatch.setattr("semblance.app.widgets.plots.figure_view.REDRAW_MS", 0)


def show(window: MainWindow, page: str) -> None:
    if page == "train":
        # The command would train.
        window.parts.layout.show_side(page)
    else:
        window.context.actions[page].trigger()
    wait_until_idle(window)


def go_on(window: MainWindow) -> None:
    while window.parts.full.open:
        window.parts.full.leave()


def screenshot(window: MainWindow, page: str) -> QImage:
    show(window, page)
    flush()
    if focused := window.focusWidget():
        focused.clearFocus()
    for label in window.panels.ranking.findChildren(ElidedLabel):
        # How long the search took differs.
        if label.text().endswith(" ms"):
            label.setText("24")
    image = at_rest(window)
    go_on(window)
    return image


def at_rest(window: MainWindow) -> QImage:
    """What is drawn asks for thumbnails, and is drawn again with them."""
    previous = QImage()
    while (now := window.grab().toImage()) != previous:
        previous = now
        wait_until_idle(window)
    return previous


def images(window: MainWindow) -> dict[str, QImage]:
    """Every page, with the panels as wide as they usually are."""
    for _ in range(2):
        # Qt divides the room by the sizes before: the second time they are the wanted ones.
        window.context.actions["layout"].trigger()
        wait_until_idle(window)
    return {page: screenshot(window, page) for page in PAGES}


def show_every_page(window: MainWindow) -> None:
    """Open every page, so that it is built."""
    window.resize(2200, 1400)
    search_first_case(window)
    window.panels.ranking.grid.set_current(window.panels.ranking.grid.model().case_row(0))
    for page in PAGES:
        show(window, page)
        go_on(window)


def change(window: MainWindow, *commands: str) -> None:
    for command in commands:
        window.context.actions[command].trigger()
    wait_until_idle(window)


def unlike(some: dict[str, QImage], others: dict[str, QImage]) -> list[str]:
    return [page for page in PAGES if some[page] != others[page]]


def test_every_page_of_a_changed_window_looks_as_in_one_opened_so(library: Path, tmp_path: Path):
    other = shutil.copytree(library, tmp_path / "other" / library.name)
    with open_window(library) as window:
        show_every_page(window)
        first = images(window)
        change(window, "theme", *LARGER)
        changed = images(window)
        worn = theme()
        change(window, "theme", *SMALLER)
        back = images(window)
        change(window, "theme", *LARGER)
    assert unlike(back, first) == []
    settings = Settings()
    assert (settings.theme, settings.text_scale) == ("light", 1.5)
    with open_window(other) as window:
        assert theme() == worn
        show_every_page(window)
        assert unlike(images(window), changed) == []
