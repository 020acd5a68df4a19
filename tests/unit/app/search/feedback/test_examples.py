"""Examples beside the query, by mouse, by keys and dropped."""

from __future__ import annotations

import shutil
from pathlib import Path

import pytest
from PySide6.QtCore import QMimeData, QPoint, QPointF, Qt, QUrl
from PySide6.QtGui import QDragEnterEvent, QDropEvent
from PySide6.QtWidgets import QApplication, QFileDialog, QMenu, QWidget

from semblance.app.search.feedback import examples
from semblance.app.search.similar.panel import adjustments_text
from semblance.app.shell import search_operations
from semblance.app.shell.state import Change
from semblance.app.widgets.cards.case_drag import CASE_MIME
from semblance.app.window import parts
from semblance.core.imaging.region import Region
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


def names(window, like: bool) -> list[str]:
    search = window.state.ranked_search.search
    return [one.case or one.image.name for one in (search.like if like else search.unlike)]


def ranked(window) -> list[str]:
    return [case.case_id for case in window.state.ranking.ranked]


def ids(window) -> list[str]:
    return list(window.state.columns.ids)


def row(window, place: int) -> int:
    return int(window.state.columns.case_row[place])


def count(window, n: int) -> None:
    def shown() -> int:
        ranked = window.state.ranked_search
        return -1 if ranked is None else len(ranked.search.like + ranked.search.unlike)

    wait_for(window, lambda: shown() == n)


def drop(widget: QWidget, mime: QMimeData, share: float) -> None:
    where = QPoint(round(widget.width() * share), widget.height() // 2)
    held = (Qt.DropAction.CopyAction, mime, LEFT, Qt.KeyboardModifier.NoModifier)
    QApplication.sendEvent(widget, QDragEnterEvent(where, *held))
    QApplication.sendEvent(widget, QDropEvent(QPointF(where), *held))


def test_keys_make_examples_of_ranked_cases(qtbot, window):
    grid, before = window.panels.ranking.grid, ranked(window)
    grid.setFocus()
    first, last = (window.state.ranking.ranked[place] for place in (0, -1))
    grid.set_current(first.row)
    qtbot.keyClick(grid, Qt.Key.Key_E)
    count(window, 1)
    grid.set_current(last.row)
    qtbot.keyClick(grid, Qt.Key.Key_E, Qt.KeyboardModifier.ShiftModifier)
    count(window, 2)
    assert names(window, like=True) == [first.case_id]
    assert names(window, like=False) == [last.case_id]
    assert sorted(ranked(window)) == sorted(before)
    assert ranked(window)[-1] == last.case_id
    assert ranked(window) != before
    assert window.panels.ranking.status_text == "by 2 examples"


def test_keys_make_examples_of_library_cases(qtbot, window):
    grid = window.panels.library.grid
    grid.setFocus()
    grid.set_current(row(window, 9))
    qtbot.keyClick(grid, Qt.Key.Key_E)
    count(window, 1)
    assert names(window, like=True) == [ids(window)[9]]
    assert [tile.accessibleName() for tile in window.panels.query.examples.tiles] == [
        f"Positive example {window.state.columns.name(9)}"
    ]


def test_keys_switch_and_remove_examples(qtbot, window):
    examples.add_case_examples(window.context, [row(window, 5), row(window, 9)], like=True)
    count(window, 2)
    strip = window.panels.query.examples
    strip.tiles[0].setFocus()
    qtbot.keyClick(strip.tiles[0], Qt.Key.Key_Minus)
    wait_for(window, lambda: names(window, like=False) == [ids(window)[5]])
    qtbot.keyClick(strip.tiles[1], Qt.Key.Key_Plus)
    wait_for(window, lambda: not names(window, like=False))
    qtbot.keyClick(strip.tiles[0], Qt.Key.Key_Delete)
    count(window, 1)
    qtbot.mouseClick(strip.tiles[0], LEFT, pos=strip.tiles[0].cross.center())
    count(window, 0)
    assert strip.tiles == []
    assert window.panels.ranking.status_text.endswith(" cases")


def test_a_tile_has_a_menu(window):
    examples.add_case_examples(window.context, [row(window, 5)], like=True)
    count(window, 1)
    strip = window.panels.query.examples
    menu = strip._menu(strip.tiles[0])
    texts = [action.text().partition("\t")[0] for action in menu.actions() if action.text()]
    assert texts == ["Make it a negative example", "Remove", "Search with it"]
    menu.actions()[0].trigger()
    menu.close()
    wait_for(window, lambda: names(window, like=False) == [ids(window)[5]])


def test_cases_and_files_are_dropped_on_either_half(window, tmp_path):
    strip, mime = window.panels.query.examples, QMimeData()
    mime.setData(CASE_MIME, str(row(window, 6)).encode())
    drop(strip, mime, 0.2)
    count(window, 1)
    with Library.open(window.state.path) as opened:
        source = opened.catalogue.sources()[0].path
    file = QMimeData()
    image = next(source.rglob("*.png"))
    file.setUrls([QUrl.fromLocalFile(str(image))])
    drop(strip, file, 0.8)
    count(window, 2)
    assert names(window, like=True) == [ids(window)[6]]
    assert names(window, like=False) == [image.name]
    wait_for(window, lambda: strip._image(Query(image=image))[0] is not None)


def test_choose_image_searches_with_the_file(window, monkeypatch, tmp_path):
    away = tmp_path / "away.png"
    monkeypatch.setattr(QFileDialog, "getOpenFileName", lambda *_a, **_k: (str(away), ""))
    window.context.actions["example_file"].trigger()
    count(window, 1)
    strip = window.panels.query.examples
    assert strip.note.isVisible()
    assert "away.png" in strip.note.text()
    assert not [m for m in window.context.messages.history if m.level == "error"]
    window.context.actions["no_examples"].trigger()
    count(window, 0)
    assert not strip.note.isVisible()


def test_the_query_itself_and_too_many_are_refused(window):
    context = window.context
    examples.add_examples(context, [window.state.query], like=True)
    assert window.state.search.like == ()
    regions = [
        Query(case=ids(window)[3], region=Region(n, 0, 4, 4)) for n in range(examples.MAX_EXAMPLES + 1)
    ]
    examples.add_examples(context, regions, like=False)
    assert window.state.search.unlike == ()
    messages = [m.what for m in context.messages.history]
    assert messages == [
        "This is the query itself. Choose another case as an example.",
        f"A search has at most {examples.MAX_EXAMPLES} examples. Remove some first.",
    ]


def test_another_query_removes_the_examples(window):
    examples.add_case_examples(window.context, [row(window, 5)], like=True)
    count(window, 1)
    search_operations.submit_query(window.context, Query(case=ids(window)[7]))
    count(window, 0)
    assert window.panels.query.examples.tiles == []


def test_metric_without_coordinates_shows_a_notice(window, monkeypatch):
    examples.add_case_examples(window.context, [row(window, 5)], like=True)
    count(window, 1)
    window.state.set_metric("city")
    window.state.change_search(concepts=(("round", 0.5),))
    search_operations.rank(window.context)
    wait_for(window, lambda: window.state.ranked_search.refused is not None)
    assert "The search continues without concepts." in window.panels.query.examples.note.text()
    assert window.panels.ranking.status_text == "by 1 example"
    with use_language("de"):
        window.state.changed.emit(Change.RANKING)
        note = window.panels.query.examples.note.text()
        assert translate(no_coordinates_error().message) in note
        assert no_coordinates_error().message not in note


def test_the_menu_of_a_case_offers_both_sides(window, monkeypatch):
    chosen = []

    def take(menu: QMenu, *_where) -> None:
        texts = {action.text().partition("\t")[0]: action for action in menu.actions()}
        chosen.extend(texts)
        texts["Add as negative example"].trigger()

    monkeypatch.setattr(parts, "Menu", type("Taken", (QMenu,), {"exec": take}))
    window.parts.show_case_menu(row(window, 8), QPoint())
    assert "Add as positive example" in chosen
    count(window, 1)
    assert names(window, like=False) == [ids(window)[8]]


def test_header_counts_examples_and_concepts(window):
    ranked_search = window.state.ranked_search
    assert adjustments_text(ranked_search) == ""
    search = ranked_search.search
    for changes, words in (
        ({"like": (Query("a"),)}, "by 1 example"),
        ({"like": (Query("a"),), "unlike": (Query("b"), Query("c"))}, "by 3 examples"),
        ({"concepts": (("x", 0.5), ("y", 0.0))}, "by 1 concept"),
        ({"without": ("Margin", "Shape")}, "without Margin, Shape"),
        ({"like": (Query("a"),), "without": ("Margin",)}, "by 1 example, without Margin"),
        ({"unlike": (Query("a"),), "concepts": (("x", 0.5), ("y", -1.0))}, "by 1 example, 2 concepts"),
    ):
        changed = type(search)(search.metric, search.query, **changes)
        assert adjustments_text(RankedSearch(changed, ranked_search.result)) == words
