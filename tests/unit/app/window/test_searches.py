from __future__ import annotations

import sqlite3
from contextlib import closing

import pytest
from PySide6.QtCore import Qt

from semblance.app.screenshot import wait_until_idle
from semblance.app.shell import search_operations
from semblance.app.widgets.dialog import NameDialog
from semblance.core.library.records import CATALOGUE
from semblance.core.searches.query import Query
from semblance.core.workflows.library.library_snapshot import load_state
from semblance.core.workflows.metrics.train_metric import train_metric
from semblance.core.workflows.metrics.train_request import TrainRequest
from semblance.core.workflows.searches import saved_searches
from semblance.core.workflows.searches.open_metrics import close_loaded_metrics, open_metric
from semblance.core.workflows.searches.outcomes import enter_outcome
from tests.helpers.windows import open_window, wait_for

pytestmark = pytest.mark.usefixtures("without_processes")

ALT = Qt.KeyboardModifier.ControlModifier | Qt.KeyboardModifier.AltModifier
SHIFT = Qt.KeyboardModifier.ControlModifier | Qt.KeyboardModifier.ShiftModifier


def ask(window, place):
    search_operations.submit_query(window.context, Query(case=window.state.columns.ids[place]))
    wait_for(window, lambda: window.state.ranking is not None and window.panels.query.shows_query)


def answer(monkeypatch, name):
    monkeypatch.setattr(NameDialog, "ask", lambda _: name)


def save_as(window, monkeypatch, name):
    answer(monkeypatch, name)
    window.context.actions["save_search"].trigger()
    wait_for(window, lambda: window.state.search_name == name)


def saved_and_listed(window, monkeypatch):
    """The dialog of saved searches with one, named "one"."""
    ask(window, 0)
    save_as(window, monkeypatch, "one")
    window.context.actions["searches"].trigger()
    dialog = window.parts.commands.searches.panel
    wait_for(window, lambda: dialog.names() == ["one"])
    return dialog


def stored_view(library):
    """What a start after a crash would find."""
    state = load_state(library) or {}
    return state.get("strength"), (state.get("view") or {}).get("zoom")


def test_a_search_is_saved_left_and_reopened_to_the_pixel(qtbot, library, monkeypatch):
    with open_window(library) as window:
        ask(window, 0)
        view, grid = window.panels.query.view, window.panels.ranking.grid
        view.zoom_by(3)
        view.pan_by(11, -7)
        view.rotate()
        view.set_window(type(view.window_level)(31.0, 97.0))
        grid.set_current(window.state.ranking.ranked[15].row)
        answer(monkeypatch, "first")
        qtbot.keyClick(window, Qt.Key.Key_S, ALT)
        wait_for(window, lambda: window.state.search_name == "first")
        assert window.windowTitle().startswith("first – ")
        view_state = view.viewport, view.window_level, view.orientation
        current, scroll = grid.current(), grid.verticalScrollBar().value()
        grid.setFocus()
        search, before = window.state.search, window.panels.query.grab().toImage()
        ranked = window.panels.ranking.grid.grab().toImage()
        wait_until_idle(window)
        ask(window, 5)
        assert window.state.search_name == ""
        assert window.state.ledger != search.ledger
        assert view.viewport != view_state[0]
        qtbot.keyClick(window, Qt.Key.Key_O, ALT)
        dialog = window.parts.commands.searches.panel
        wait_for(window, lambda: dialog.names() == ["first"])
        assert window.focusWidget() is dialog.list, "Enter opens, it does not close"
        qtbot.keyClick(dialog.list, Qt.Key.Key_Return)
        wait_for(window, lambda: window.state.search_name == "first" and window.panels.query.shows_query)
        qtbot.keyClick(dialog.list, Qt.Key.Key_Escape)
        wait_until_idle(window)
        assert window.state.search == search
        assert (view.viewport, view.window_level, view.orientation) == view_state
        assert (grid.current(), grid.verticalScrollBar().value()) == (current, scroll)
        assert window.panels.query.grab().toImage() == before
        assert window.panels.ranking.grid.grab().toImage() == ranked
        assert [m for m in window.context.messages.history if m.level != "info"] == []


def test_every_change_is_saved_at_once(library):
    with open_window(library) as window:
        ask(window, 3)
        window.state.change_search(strength=0.4)
        wait_for(window, lambda: stored_view(library)[0] == 0.4)
        window.panels.query.view.zoom_by(2)
        viewport = window.panels.query.view.viewport
        wait_for(window, lambda: stored_view(library)[1] == [viewport.zoom, viewport.x, viewport.y])


def test_the_next_start_shows_the_last_query_and_zoom(library):
    with open_window(library) as window:
        ask(window, 2)
        window.panels.query.view.zoom_by(4)
        viewport, query = window.panels.query.view.viewport, window.state.query
    close_loaded_metrics()
    with open_window(library) as window:
        wait_for(window, lambda: window.state.ranking is not None and window.panels.query.shows_query)
        assert window.state.query == query
        now = window.panels.query.view.viewport
        assert (now.zoom, now.x, now.y) == (viewport.zoom, viewport.x, viewport.y)


def test_a_start_without_the_metric_leaves_the_saved_search_as_it_was(library, monkeypatch):
    train_metric(library, TrainRequest("pca", "other", settings={"components": 2}))
    with open_window(library) as window:
        window.state.set_metric("other")
        ask(window, 2)
        save_as(window, monkeypatch, "mine")
    close_loaded_metrics()
    with closing(sqlite3.connect(library / CATALOGUE)) as connection, connection:
        connection.execute("DELETE FROM metrics WHERE name = 'other'")
    with open_window(library) as window:
        wait_for(window, lambda: window.state.ranking is not None)
        assert (window.state.search_name, window.state.search.metric) == ("", "plain")
        (warning,) = [m for m in window.context.messages.history if m.level == "warning"]
        assert "'other' no longer exists" in warning.hint
        wait_until_idle(window)
    assert saved_searches.saved_searches(library)[0].metric == "other"


def test_a_branch_does_not_change_the_original(qtbot, library, monkeypatch):
    with open_window(library) as window:
        ask(window, 0)
        save_as(window, monkeypatch, "stem")
        ledger = window.state.ledger
        answer(monkeypatch, "twig")
        qtbot.keyClick(window, Qt.Key.Key_B, SHIFT)
        wait_for(window, lambda: window.state.search_name == "twig")
        assert window.state.ledger != ledger
        window.state.change_search(strength=0.2)
        wait_for(window, lambda: saved_searches.reopen(library, "twig").search.strength == 0.2)
        assert saved_searches.reopen(library, "stem").search.strength == 1.0


def choose_diagnosis(panel, text):
    panel.outcome.setCurrentIndex(panel.outcome.findText(text))
    panel.outcome.activated.emit(panel.outcome.currentIndex())


def test_a_diagnosis_is_entered_for_a_saved_search(library, monkeypatch):
    with open_window(library) as window:
        panel = saved_and_listed(window, monkeypatch)
        findings = window.state.columns.findings
        offered = [panel.outcome.itemText(place) for place in range(panel.outcome.count())]
        assert offered == ["(not known)", *findings, "(another finding)"]
        choose_diagnosis(panel, findings[-1])
        wait_for(window, lambda: f"diagnosis {findings[-1]}" in panel.list.item(0).text())


def test_a_diagnosis_that_another_person_entered_is_shown_before_it_is_replaced(library, monkeypatch):
    with open_window(library) as window:
        panel = saved_and_listed(window, monkeypatch)
        mine, theirs = window.state.columns.findings[:2]
        enter_outcome(library, "one", theirs)
        choose_diagnosis(panel, mine)
        wait_for(window, lambda: panel.outcome.currentText() == theirs)
        assert f"now {theirs}" in panel.problem.text()
        choose_diagnosis(panel, mine)
        wait_for(window, lambda: f"diagnosis {mine}" in panel.list.item(0).text())
        assert not panel.problem.isVisible()


def test_searches_are_renamed_deleted_and_brought_back(qtbot, library, monkeypatch):
    with open_window(library) as window:
        ask(window, 0)
        for name in ("one", "two"):
            save_as(window, monkeypatch, name)
        window.context.actions["searches"].trigger()
        dialog = window.parts.commands.searches.panel
        wait_for(window, lambda: len(dialog.names()) == 2)
        dialog.select("one")
        qtbot.keyClick(dialog.list, Qt.Key.Key_F2)
        qtbot.keyClicks(dialog.name, "uno")
        qtbot.keyClick(dialog.name, Qt.Key.Key_Return)
        wait_for(window, lambda: set(dialog.names()) == {"uno", "two"})
        assert dialog.names()[dialog.list.currentRow()] == "uno"
        qtbot.keyClick(dialog.list, Qt.Key.Key_F2)
        dialog.name.setText("two")
        qtbot.keyClick(dialog.name, Qt.Key.Key_Return)
        assert "exists already" in dialog.problem.text()
        assert set(dialog.names()) == {"uno", "two"}
        dialog.select("two")
        qtbot.keyClick(dialog.list, Qt.Key.Key_Delete)
        wait_for(window, lambda: dialog.names() == ["uno"])
        assert window.state.search_name == ""
        assert dialog.undo_button.isVisible()
        qtbot.keyClick(dialog.list, Qt.Key.Key_Z, Qt.KeyboardModifier.ControlModifier)
        wait_for(window, lambda: set(dialog.names()) == {"uno", "two"})
        assert "plain" in dialog.list.item(0).text()
        wait_for(window, lambda: not dialog.deleted_button.isVisible())
        dialog.select("two")
        dialog.delete()
        wait_for(window, lambda: dialog.names() == ["uno"])
        dialog.list.setFocus()
        qtbot.keyClick(dialog.list, Qt.Key.Key_Escape)
        assert not dialog.isVisible()
        assert window.panels.ranking.grid.hasFocus()
        window.context.actions["searches"].trigger()
        again = window.parts.commands.searches.panel
        assert again is dialog
        wait_for(window, lambda: again.deleted_button.text() == "Deleted (1)")
        (action,) = again.deleted_button.menu().actions()
        assert action.text().startswith("two, deleted 2")
        action.trigger()
        wait_for(window, lambda: set(again.names()) == {"uno", "two"})
        wait_for(window, lambda: not again.deleted_button.isVisible())


def test_a_name_that_is_taken_is_refused_in_words(library, monkeypatch):
    with open_window(library) as window:
        ask(window, 0)
        answer(monkeypatch, "one")
        for _ in range(2):
            window.context.actions["save_search"].trigger()
            wait_until_idle(window)
        (error,) = [m for m in window.context.messages.history if m.level == "error"]
        assert "already" in error.what


def test_a_search_that_would_differ_is_reported_and_repeated_on_request(library, monkeypatch):
    with open_window(library) as window:
        ask(window, 0)
        memory = window.state.search_record()
        stored = memory["seen"]["ranked"]
        stored[0], stored[3] = stored[3], stored[0]
        saved_searches.save(library, "old", memory)
        now = [case.case_id for case in window.state.ranking.ranked]
        window.context.actions["searches"].trigger()
        dialog = window.parts.commands.searches.panel
        wait_for(window, lambda: dialog.names() == ["old"])
        dialog.open_selected()
        wait_for(window, lambda: window.state.search_name == "old")
        assert [case.case_id for case in window.state.ranking.ranked][:4] == [
            case for case, _, _ in stored[:4]
        ]
        (message,) = window.message_corner.messages()
        assert "another order" in message.hint
        window.context.actions["rank_again"].trigger()
        wait_until_idle(window)
        assert [case.case_id for case in window.state.ranking.ranked] == now


def test_two_windows_keep_their_own_searches(library, monkeypatch):
    with open_window(library) as one, open_window(library) as two:
        ask(one, 0)
        ask(two, 5)
        for window, name in ((one, "one"), (two, "two")):
            save_as(window, monkeypatch, name)
        queries = {name: saved_searches.reopen(library, name).search.query for name in ("one", "two")}
        assert queries == {"one": one.state.query, "two": two.state.query}
        assert open_metric(library, "plain").ledger(one.state.ledger).entries == []
