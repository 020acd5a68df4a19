from __future__ import annotations

import os
import shutil
import sqlite3
from pathlib import Path

import pytest

from semblance.app.screenshot import wait_until_idle
from semblance.app.shell.settings import Settings
from semblance.app.window.main_window import MainWindow
from semblance.core.library.records import CATALOGUE
from tests.helpers.windows import open_window

pytestmark = pytest.mark.usefixtures("without_processes")


#: What changes a library.
CHANGES = ("import_more", "import_file", "relink", "extract", "train", "score")


def last_error(window: MainWindow):
    """The one error reported; it is shown with a hint."""
    (message,) = [m for m in window.context.messages.history if m.level == "error"]
    assert [view.what for view in window.message_corner.messages()] == [message.what]
    assert window.message_corner.isVisible()
    assert message.hint
    return message


def damaged(folder: Path, library: Path) -> Path:
    bad = Path(shutil.copytree(library, folder / "Damaged.semblance"))
    (bad / CATALOGUE).write_bytes(b"no catalogue at all" * 400)
    return bad


def newer(folder: Path, library: Path) -> Path:
    bad = Path(shutil.copytree(library, folder / "Newer.semblance"))
    with sqlite3.connect(bad / CATALOGUE) as catalogue:
        catalogue.execute("UPDATE meta SET value = '999' WHERE key = 'schema'")
    catalogue.close()
    return bad


def half_written(folder: Path, library: Path) -> Path:
    bad = Path(shutil.copytree(library, folder / "Half.semblance"))
    (bad / CATALOGUE).write_bytes(b"")
    return bad


def missing(folder: Path, library: Path) -> Path:
    return folder / "Gone.semblance"


@pytest.mark.parametrize("spoil", [damaged, newer, half_written, missing])
def test_a_library_that_cannot_be_opened_is_reported_once_and_the_present_one_stays(tmp_path, library, spoil):
    bad = spoil(tmp_path, library)
    with open_window(library) as window:
        before = window.state.library
        window.open_library(bad)
        wait_until_idle(window)
        assert bad.name in last_error(window).what
        assert window.state.library is before
        assert window.panels.ranking.isVisible()
        assert window.context.settings.last_library == library


def test_a_library_that_cannot_be_opened_at_the_start_leaves_the_start_page(tmp_path, library):
    with open_window(damaged(tmp_path, library)) as window:
        assert "Damaged.semblance" in last_error(window).what
        assert window.start_page.isVisible()


def test_a_library_that_was_moved_away_is_not_looked_for_at_the_next_start(library):
    Settings().last_library = library.with_name("Gone.semblance")
    with open_window() as window:
        assert window.start_page.isVisible()
        assert window.context.messages.history == []


def test_a_read_only_library_says_so_and_allows_no_change(library, monkeypatch):
    real = os.access
    # The tests may be run by one who may write everywhere.
    monkeypatch.setattr(os, "access", lambda path, mode: mode != os.W_OK and real(path, mode))
    with open_window(library) as window:
        assert window.state.library is not None
        assert not window.state.library.writable
        (message,) = window.message_corner.messages()
        assert "read-only" in message.what
        assert "(read-only)" in window.status.where.text()
        assert [c for c in CHANGES if window.context.actions[c].isEnabled()] == []
        assert not window.panels.side.train.train_button.isEnabled()
        window.panels.library.step(1)
        wait_until_idle(window)
        assert window.state.ranking is not None


def test_a_second_window_on_the_same_library_is_reported(library):
    with open_window(library) as first:
        assert first.context.messages.history == []
        with open_window(library) as second:
            (message,) = second.context.messages.history
            assert "open in another window" in message.what
            assert str(os.getpid()) in message.what
    with open_window(library) as again:
        assert again.context.messages.history == []
