"""The concepts of a library, by mouse, keys and menu."""

from __future__ import annotations

import shutil
from pathlib import Path

import pytest
from PySide6.QtCore import QPoint, Qt
from PySide6.QtWidgets import QMenu

from semblance.app.search.feedback.concepts_section import STEPS
from semblance.app.shell import search_operations
from semblance.app.widgets.dialog import NameDialog
from semblance.core.searches.query import Query
from semblance.core.workflows.metrics.train_request import TrainRequest
from semblance.core.workflows.searches.open_metrics import close_loaded_metrics
from tests.helpers.libraries import raw
from tests.helpers.tables import PLAIN, table_library
from tests.helpers.windows import open_window, wait_for
from tests.unit.app.window.test_main_window import LEFT

pytestmark = pytest.mark.usefixtures("without_processes")

WITH, WITHOUT = ("t/c2", "t/c6", "t/c10", "t/c14"), ("t/c4", "t/c8", "t/c12", "t/c16")


@pytest.fixture(scope="module")
def trained(tmp_path_factory) -> Path:
    return table_library(
        tmp_path_factory.mktemp("concepts"),
        n=60,
        metrics=(TrainRequest("l1", "city"), TrainRequest("bdm", "bits", settings={"rounds": 5}), PLAIN),
    )


@pytest.fixture
def library(trained, tmp_path) -> Path:
    return Path(shutil.copytree(trained, tmp_path / "lib.semblance"))


@pytest.fixture
def window(library):
    with open_window(library) as opened:
        search_operations.submit_query(opened.context, Query(case="t/c0"))
        wait_for(opened, lambda: opened.state.ranking is not None)
        opened.parts.layout.show_side("refine")
        yield opened


def make(window, name: str = "high") -> int:
    """A concept with four cases on either side."""
    window.panels.concepts.add(name, [*((c, True) for c in WITH), *((c, False) for c in WITHOUT)])
    wait_for(window, lambda: any(one.name == name and one.without for one in window.panels.concepts.facts))
    return next(one.id for one in window.panels.concepts.facts if one.name == name)


def fact(window):
    (one,) = window.panels.concepts.facts
    return one


def test_concept_is_added_and_marked_by_keys(qtbot, window, monkeypatch):
    monkeypatch.setattr(NameDialog, "ask", lambda _: "high")
    window.context.actions["new_concept"].trigger()
    wait_for(window, lambda: window.panels.concepts.facts)
    section = window.panels.side.concepts
    (row,) = section.rows
    assert section.isVisible()
    assert not row.bar.isEnabled()
    assert "Not enough marks" in row.strength.text()
    row.strength.resize(220, row.strength.height())
    assert row.strength.shown_text() == "Not enough marks to measure"
    assert row.strength.text() in row.strength.toolTip()
    grid = window.panels.library.grid
    grid.setFocus()
    columns = window.state.columns
    for cases, key in ((WITH, Qt.Key.Key_Y), (WITHOUT, Qt.Key.Key_N)):
        for case in cases:
            grid.set_current(int(columns.case_row[columns.index_of_id(case)]))
            qtbot.keyClick(grid, key)
    wait_for(window, lambda: len(fact(window).with_) == 4 and len(fact(window).without) == 4)
    assert row.bar.isEnabled()
    assert row.marks.text() == "4 with · 4 without · Mark with Y and N"
    assert row.strength.text().startswith("Strength 1.00 (")
    assert "Cross-validated on 8 marks of 8 patients" in row.strength.toolTip()


def test_slider_changes_the_ranking(qtbot, window):
    make(window)
    (row,) = window.panels.side.concepts.rows
    before = [case.case_id for case in window.state.ranking.ranked]
    row.bar.setFocus()
    for _ in range(6):
        qtbot.keyClick(row.bar, Qt.Key.Key_Right)
    wait_for(window, lambda: window.state.ranked_search.search.concepts == (("high", 6 / STEPS),))
    assert [case.case_id for case in window.state.ranking.ranked] != before
    assert row.value.text() == "+0.30"
    assert window.panels.ranking.status_text == "by 1 concept"
    qtbot.mouseClick(row.bar, LEFT, pos=QPoint(2, row.bar.height() // 2))
    wait_for(window, lambda: window.state.ranked_search.search.concepts[0][1] < 0.3)
    qtbot.keyClick(row.bar, Qt.Key.Key_Delete)
    wait_for(window, lambda: window.state.ranked_search.search.concepts == ())
    assert [case.case_id for case in window.state.ranking.ranked] == before
    assert row.value.text() == ""


def test_delete_and_rename_are_undone(window, monkeypatch):
    key = make(window)
    window.panels.concepts.set_amount("high", 0.5)
    wait_for(window, lambda: window.state.ranked_search.search.concepts)
    window.panels.concepts.rename(key, "tall")
    wait_for(window, lambda: window.state.ranked_search.search.concepts == (("tall", 0.5),))
    window.panels.concepts.delete(key)
    wait_for(
        window, lambda: not window.panels.concepts.facts and window.state.ranked_search.search.concepts == ()
    )
    assert window.panels.concepts.undoable == "deleting tall"
    window.panels.side.concepts.undo.click()
    wait_for(window, lambda: window.state.ranked_search.search.concepts == (("tall", 0.5),))
    assert fact(window).with_ == WITH
    window.context.actions["undo_concept"].trigger()
    wait_for(window, lambda: fact(window).name == "high")
    wait_for(window, lambda: window.state.ranked_search.search.concepts == (("high", 0.5),))


def test_mark_is_undone(window):
    key = make(window)
    window.panels.concepts.mark(key, ["t/c2", "t/c20"], False)
    wait_for(window, lambda: "t/c2" in fact(window).without and "t/c20" in fact(window).without)
    assert window.panels.concepts.undoable == "2 marks of high"
    window.panels.concepts.undo()
    wait_for(window, lambda: "t/c2" in fact(window).with_)
    assert "t/c20" not in fact(window).without


def test_number_of_undoable_changes_is_limited(window, monkeypatch):
    monkeypatch.setattr("semblance.app.search.feedback.concepts_section.UNDOABLE", 2)
    key = make(window)
    for case in ("t/c20", "t/c22", "t/c24"):
        window.panels.concepts.mark(key, [case], True)
    wait_for(window, lambda: len(fact(window).with_) == len(WITH) + 3)
    for left in (2, 1):
        window.panels.concepts.undo()
        wait_for(window, lambda left=left: len(fact(window).with_) == len(WITH) + left)
    assert window.panels.concepts.undoable == ""


def test_the_menu_of_a_case_marks_it(window, monkeypatch):
    make(window)

    def take(menu: QMenu, *_where) -> None:
        concepts = next(action.menu() for action in menu.actions() if action.text() == "Concepts")
        (high, *_rest) = [action.menu() for action in concepts.actions() if action.menu() is not None]
        ticked = [action.text() for action in high.actions() if action.isChecked()]
        assert ticked == ["Without it\tN"]
        high.actions()[0].trigger()

    monkeypatch.setattr(QMenu, "popup", take)
    columns = window.state.columns
    window.parts.show_case_menu(int(columns.case_row[columns.index_of_id("t/c4")]), QPoint())
    wait_for(window, lambda: "t/c4" in fact(window).with_)


def test_concept_menu_lists_the_marks(window):
    make(window)
    (row,) = window.panels.side.concepts.rows
    menu = row.make_menu()
    subs = {action.menu().title(): action.menu() for action in menu.actions() if action.menu() is not None}
    assert list(subs) == ["With it (4)", "Without it (4)"]
    subs["With it (4)"].actions()[0].trigger()
    menu.close()
    wait_for(window, lambda: fact(window).with_ == WITH[1:])


def test_existing_concept_name_is_refused(qtbot, window):
    make(window)
    window.panels.concepts.add("High")
    qtbot.waitUntil(lambda: any("already" in message.what for message in window.context.messages.history))
    assert [one.name for one in window.panels.concepts.facts] == ["high"]


def test_another_metric_measures_the_concepts_again(window):
    make(window)
    before = fact(window).strength
    window.state.set_metric("bits")
    search_operations.rank(window.context)
    wait_for(window, lambda: fact(window).strength is not before and fact(window).strength is not None)
    window.state.set_metric("city")
    search_operations.rank(window.context)
    wait_for(window, lambda: not fact(window).moves)
    (row,) = window.panels.side.concepts.rows
    assert "no coordinates" in row.strength.text()
    assert not row.bar.isEnabled()


def test_concepts_are_restored_and_deleted_cases_counted(library):
    with open_window(library) as window:
        wait_for(window, lambda: window.state.metric is not None)
        make(window)
    close_loaded_metrics()
    with raw(library) as connection:
        connection.execute("UPDATE cases SET case_id='t/other' WHERE case_id='t/c2'")
    with open_window(library) as window:
        wait_for(window, lambda: window.panels.concepts.facts)
        assert fact(window).gone == 1
        (row,) = window.panels.side.concepts.rows
        assert "1 deleted" in row.marks.text()


def test_empty_list_shows_instructions(window):
    section = window.panels.side.concepts
    assert section.rows == []
    assert "Mark a few of each" in section._instructions.text()
    assert section._instructions.isVisible()
    assert not section.undo.isVisible()
    assert not window.context.actions["concept_with"].isEnabled()
