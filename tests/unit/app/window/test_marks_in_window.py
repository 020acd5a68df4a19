"""Marks by key, by menu and dropped on Refine, on cases and on images from outside, in a real window."""

from __future__ import annotations

import shutil
from pathlib import Path

import pytest
from PySide6.QtCore import QMimeData, QPoint, QPointF, Qt, QUrl
from PySide6.QtGui import QDragEnterEvent, QDropEvent
from PySide6.QtWidgets import QApplication, QFileDialog, QMenu, QWidget

from semblance.app.screenshot import wait_until_idle
from semblance.app.search.feedback import mark_cards
from semblance.app.search.similar.ranking_panel import adjustments_text
from semblance.app.shell import search_operations
from semblance.app.shell.state import Change
from semblance.app.widgets import menus
from semblance.app.widgets.cards.case_drag import CASE_MIME
from semblance.core.language import translate
from semblance.core.library.library import Library
from semblance.core.metrics.relevance_feedback.feedback_space import no_coordinates_error
from semblance.core.searches.query import Query
from semblance.core.workflows.metrics.train_request import TrainRequest
from semblance.core.workflows.searches.rank_cases import RankedSearch
from tests.helpers.striped_library import striped_library
from tests.helpers.tables import PLAIN
from tests.helpers.use_language import use_language
from tests.helpers.windows import open_window, wait_for
from tests.unit.app.window.test_main_window import LEFT

pytestmark = pytest.mark.usefixtures("without_processes")


@pytest.fixture(scope="module")
def trained(tmp_path_factory) -> Path:
    return striped_library(
        tmp_path_factory.mktemp("examples"), n=16, metrics=(TrainRequest("l1", "city"), PLAIN)
    )


@pytest.fixture
def window(trained, tmp_path):
    with open_window(Path(shutil.copytree(trained, tmp_path / "lib.semblance"))) as opened:
        search_operations.submit_query(opened.context, Query(case=opened.state.columns.ids[0]))
        wait_for(opened, lambda: opened.state.ranking is not None)
        yield opened


def marks(window) -> tuple[list[str], list[str]]:
    """The names of the cases marked more and less like the query."""
    found = window.state.marks
    return [Path(one).name for one in found.liked], [Path(one).name for one in found.disliked]


def ranked(window) -> list[str]:
    return [case.case_id for case in window.state.ranking.ranked]


def name(window, place: int) -> str:
    return Path(window.state.columns.ids[place]).name


def row(window, place: int) -> int:
    return int(window.state.columns.case_row[place])


def wait_for_marks(window, liked: list[str], disliked: list[str]) -> None:
    wait_for(window, lambda: window.state.ranked_search is not None and marks(window) == (liked, disliked))


def drop(widget: QWidget, mime: QMimeData, share: float) -> None:
    where = QPoint(round(widget.width() * share), widget.height() // 2)
    held = (Qt.DropAction.CopyAction, mime, LEFT, Qt.KeyboardModifier.NoModifier)
    QApplication.sendEvent(widget, QDragEnterEvent(where, *held))
    QApplication.sendEvent(widget, QDropEvent(QPointF(where), *held))


def test_keys_mark_cases_of_the_library(qtbot, window):
    grid, before = window.panels.library.grid, ranked(window)
    grid.setFocus()
    grid.set_current(row(window, 9))
    qtbot.keyClick(grid, Qt.Key.Key_U)
    wait_for_marks(window, [name(window, 9)], [])
    grid.set_current(row(window, 5))
    qtbot.keyClick(grid, Qt.Key.Key_D)
    wait_for_marks(window, [name(window, 9)], [name(window, 5)])
    assert sorted(ranked(window)) == sorted(before)
    assert ranked(window)[-1] == window.state.columns.ids[5]
    # The same key again removes the mark.
    qtbot.keyClick(grid, Qt.Key.Key_D)
    wait_for_marks(window, [name(window, 9)], [])
    window.panels.side.refine.undo.click()
    wait_for_marks(window, [], [])
    assert ranked(window) == before


def test_cases_and_files_are_dropped_on_either_half(window, tmp_path):
    window.parts.layout.show_side("refine")
    panel, mime = window.panels.side.refine, QMimeData()
    mime.setData(CASE_MIME, str(row(window, 6)).encode())
    drop(panel, mime, 0.2)
    wait_for_marks(window, [name(window, 6)], [])
    with Library.open(window.state.location) as opened:
        source = opened.catalogue.sources()[0].path
    image = Path(shutil.copy(next(source.rglob("*.png")), tmp_path / "outside.png"))
    file = QMimeData()
    file.setUrls([QUrl.fromLocalFile(str(image))])
    drop(panel, file, 0.8)
    wait_for_marks(window, [name(window, 6)], ["outside.png"])
    wait_for(window, lambda: panel.rows.rows[0].sentence == "outside.png is not like the query")
    drop(panel, file, 0.2)
    wait_for_marks(window, [name(window, 6), "outside.png"], [])
    # Its file is read for the ranking: without it the mark does not count.
    image.unlink()
    search_operations.rank(window.context)
    wait_for(window, lambda: bool(window.state.ranked_search.left_out))
    wait_for(window, lambda: "outside.png" in panel.note.text())


def test_a_file_that_cannot_be_read_is_not_marked(window, monkeypatch, tmp_path):
    away = tmp_path / "away.png"
    monkeypatch.setattr(QFileDialog, "getOpenFileName", lambda *_a, **_k: (str(away), ""))
    window.context.actions["mark_image"].trigger()
    wait_until_idle(window)
    assert [m.level for m in window.context.messages.history if "away.png" in m.what] == ["error"]
    assert marks(window) == ([], [])


def test_the_query_itself_is_not_marked(window):
    case = window.state.query.case
    assert mark_cards.mark_cases(window.context, [case], positive=True) is None
    assert [m.what for m in window.context.messages.history] == [f"{case} cannot be marked against itself."]


def test_marks_stay_with_their_query(window):
    mark_cards.mark_cases(window.context, [window.state.columns.ids[5]], positive=True)
    wait_for_marks(window, [name(window, 5)], [])
    first = window.state.query
    search_operations.submit_query(window.context, Query(case=window.state.columns.ids[7]))
    wait_for_marks(window, [], [])
    search_operations.submit_query(window.context, first)
    wait_for_marks(window, [name(window, 5)], [])


def test_metric_without_coordinates_shows_a_notice(window):
    window.state.set_metric("city")
    window.state.change_search(concepts=(("round", 0.5),))
    search_operations.rank(window.context)
    wait_for(window, lambda: window.state.ranked_search.refused is not None)
    window.parts.layout.show_side("refine")
    panel = window.panels.side.refine
    wait_for(window, lambda: "The search continues without concepts." in panel.note.text())
    with use_language("de"):
        window.state.changed.emit(Change.RANKING)
        wait_for(window, lambda: translate(no_coordinates_error().message) in panel.note.text())
        assert no_coordinates_error().message not in panel.note.text()


def test_the_menu_of_a_case_offers_both_marks_and_shows_the_keys_that_the_user_chose(window, monkeypatch):
    keys = {}

    def take(menu: QMenu, *_where) -> None:
        texts = {action.text().partition("\t")[0]: action for action in menu.actions()}
        keys.update({name: action.text().partition("\t")[2] for name, action in texts.items()})
        texts["Less like this"].trigger()

    monkeypatch.setattr(menus, "Menu", type("Taken", (QMenu,), {"popup": take}))
    actions = window.context.actions
    for command, key in (("judge_alike", "F8"), ("header", "Ctrl+F9")):
        actions.keys.choose(command, key)
    actions.update_keys()
    window.parts.show_case_menu(row(window, 8), QPoint())
    assert (keys["More like this"], keys["Less like this"], keys["File header…"]) == ("F8", "D", "Ctrl+F9")
    actions.keys.reset_all()
    actions.update_keys()
    wait_for_marks(window, [], [name(window, 8)])


def test_header_counts_concepts_and_names_groups_left_out(window):
    ranked_search = window.state.ranked_search
    search = ranked_search.search
    for changes, words in (
        ({}, ""),
        ({"concepts": (("x", 0.5), ("y", 0.0))}, "by 1 concept"),
        ({"without": ("Margin", "Shape")}, "without Margin, Shape"),
        ({"concepts": (("x", 0.5), ("y", -1.0)), "without": ("Margin",)}, "by 2 concepts, without Margin"),
    ):
        changed = type(search)(search.metric, search.query, **changes)
        assert adjustments_text(RankedSearch(changed, ranked_search.result)) == words
