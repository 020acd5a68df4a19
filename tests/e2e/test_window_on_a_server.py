"""The real window on a library of a real PostgreSQL server."""

from __future__ import annotations

from collections.abc import Iterator

import pytest
from PySide6.QtCore import Qt
from PySide6.QtTest import QTest
from PySide6.QtWidgets import QToolTip

from semblance.app.screenshot import process_events
from semblance.app.search.feedback.mark_cards import FeedbackButtons
from semblance.app.search.saved import save_search
from semblance.app.shell import edit_operations, search_operations
from semblance.app.widgets.cards.card_layout import card_feedback_buttons
from semblance.app.widgets.mark_button import MarkButton
from semblance.app.window.main_window import MainWindow
from semblance.core.library.location import ServerAddress, server_address
from semblance.core.library.open_library import open_library
from semblance.core.library.records import JudgementRecord
from semblance.core.library.stored_searches import update_search
from semblance.core.searches.query import Query
from semblance.core.workflows.features.extract_features import extract_features
from semblance.core.workflows.library.edit_cases import set_finding
from semblance.core.workflows.library.import_source import import_source
from semblance.core.workflows.maintenance.share_library import set_right
from semblance.core.workflows.metrics.train_metric import train_metric
from semblance.core.workflows.metrics.train_request import TrainRequest
from tests.helpers.images import striped_folder
from tests.helpers.isolation import redirect_user_folders
from tests.helpers.windows import open_window, search_first_case, wait_for

#: Accounts with their rights.
PEOPLE = {"rita": "reader", "anna": "annotator", "carl": "curator", "cora": "curator"}
_TEMPLATE = "window_template"


@pytest.fixture(scope="module")
def template(postgres, tmp_path_factory) -> Iterator[str]:
    """The name of a database with 24 images, a metric, and people with rights."""
    address = server_address(postgres.new_database(_TEMPLATE))
    import_source(striped_folder(tmp_path_factory.mktemp("images"), n=24), address)
    extract_features(address, "colour_edge_texture")
    train_metric(address, TrainRequest("euclidean", "plain"))
    for name, right in PEOPLE.items():
        set_right(address, name, right, "pw")
    yield _TEMPLATE
    roles = [f"{_TEMPLATE}_{right}" for right in ("administrator", "curator", "annotator", "reader")]
    postgres.execute(f'DROP DATABASE "{_TEMPLATE}" WITH (FORCE)')
    postgres.execute("DROP DATABASE IF EXISTS library WITH (FORCE)")
    postgres.execute(f"DROP ROLE {', '.join([*PEOPLE, *roles])}")


@pytest.fixture
def library(template, postgres):
    """The address of a copy of the library for a person."""
    postgres.new_database("library", template)

    def of(person: str) -> ServerAddress:
        return server_address(postgres.address("library", person, "pw"))

    return of


def note_of(library: ServerAddress, case: str) -> str | None:
    """The note on a case in the saved search."""
    with open_library(library) as opened:
        return dict(opened.load_search("conference")["notes"]).get(case)


def change_note(library: ServerAddress, case: str, text: str) -> None:
    """Change the note on a case in the saved search, as another window does."""
    with open_library(library) as opened:
        update_search(
            opened.catalogue, "conference", lambda stored: {**stored.state, "notes": [[case, text]]}
        )


def press_more_like_this(window: MainWindow, place: int) -> str:
    """Press + on the card at ``place`` with the mouse; what a mouse that rests there is told."""
    grid = window.panels.ranking.grid
    at = card_feedback_buttons(grid.card_rect(place), grid._layout)[0].center()
    QTest.mouseClick(grid.viewport(), Qt.MouseButton.LeftButton, pos=at)
    return grid._tooltip(place, at).replace("\n", " ")


def test_a_reader_searches_and_sees_why_nothing_can_be_changed(library, tmp_path):
    with open_window(library("rita")) as window:
        wait_for(window, lambda: window.state.library is not None)
        search_first_case(window)
        assert len(window.state.columns) == 24
        assert len(window.state.ranking.ranked) > 10
        grid = window.panels.ranking.grid
        rows = [case.row for case in window.state.ranking.ranked[:3]]
        wait_for(window, lambda: all(window.panels.thumbnails.get(row) is not None for row in rows))
        actions = window.context.actions
        assert [actions[one].isEnabled() for one in ("report", "compare", "map")] == [True] * 3
        changing = ("set_finding", "import_more", "train", "extract", "judge_alike", "save_search", "prepare")
        assert not any(actions[one].isEnabled() for one in changing)
        assert "right in this library is reader" in actions["set_finding"].toolTip()
        for reason in (press_more_like_this(window, 1), QToolTip.text().replace("\n", " ")):
            assert "right in this library is reader" in reason
        # A key that no menu guards changes nothing either.
        grid.judged.emit(rows[0], 1)
        wait_for(window, lambda: True)
        assert window.state.judgement_count == 0
        shown = (window.windowTitle(), window.status.where.text(), *map(str, window.context.settings.recent))
        assert shown[:2] == ("library – Semblance", f"library on {library('rita').host} (reader)")
        assert "pw@" not in "".join(shown)
    files = [file for file in tmp_path.rglob("*") if file.is_file()]
    assert not [file for file in files if b":pw@" in file.read_bytes()]


def test_an_annotator_marks_and_is_told_what_the_server_refuses(library):
    with open_window(library("anna")) as window:
        wait_for(window, lambda: window.state.library is not None)
        search_first_case(window)
        window.panels.ranking.grid.judged.emit(window.state.ranking.ranked[2].row, 1)
        wait_for(window, lambda: window.state.judgement_count == 1)
        assert not window.context.actions["set_finding"].isEnabled()
        # What the window still offered is refused by the server, and said in words.
        window.parts.commands.edits.set_finding([window.state.ranking.ranked[0].row], "other")
        history = window.context.messages.history
        while not history or history[-1].level != "error":
            process_events()
        assert "You have no right to do this" in history[-1].what
        assert "permission denied for table cases" in history[-1].what


def test_changes_of_others_appear_and_the_ranking_stays(library):
    with open_window(library("rita")) as window:
        wait_for(window, lambda: window.state.library is not None)
        search_first_case(window)
        state = window.state
        before, case = state.ranking, state.ranking.ranked[0].case_id
        index = state.columns.index_of_id(case)
        assert state.columns.finding_name(index) != "cyst"
        bar = window.panels.ranking.grid.verticalScrollBar()
        bar.setValue(bar.maximum() // 2)
        place = bar.value()
        # It comes first in the order of the findings, so that the others get new numbers.
        set_finding(library("carl"), [case], "cyst")
        wait_for(window, lambda: state.columns.finding_name(state.columns.index_of_id(case)) == "cyst")
        assert (state.ranking, bar.value()) == (before, place)
        ledger = JudgementRecord("alike", case, state.columns.ids[5], None, None, (), "x", "t")
        with open_library(library("anna")) as opened:
            opened.judgements("other").append([ledger])
        texts = [message.what for message in window.context.messages.history]
        wait_for(window, lambda: any("anna (1)" in m.what for m in window.context.messages.history))
        assert any("carl (1)" in text for text in texts)
        assert state.ranking is before


def test_a_server_that_goes_away_is_said_and_caught_up_with(library, postgres):
    with open_window(library("carl")) as window:
        wait_for(window, lambda: window.state.library is not None)
        search_first_case(window)
        state, actions = window.state, window.context.actions
        assert actions["set_finding"].isEnabled()
        shown = state.ranking
        buttons = FeedbackButtons(window.context)
        buttons.setParent(window)
        buttons.show_case(shown.ranked[2].case_id)
        large = buttons.findChildren(MarkButton)[0]
        postgres.stop("immediate")
        try:
            wait_for(window, lambda: state.server_problem)
            assert "the server does not answer, read-only" in window.status.where.text()
            assert not actions["set_finding"].isEnabled()
            assert not actions["judge_alike"].isEnabled()
            assert "does not answer" in actions["set_finding"].toolTip()
            assert "does not answer" in press_more_like_this(window, 2)
            assert "does not answer" in large.toolTip()
            assert not large.isEnabled()
            assert (len(state.columns), state.ranking) == (24, shown)
        finally:
            postgres.start()
        # Before the window is back, another person changes a finding.
        set_finding(library("cora"), [state.columns.ids[4]], "cyst")
        wait_for(window, lambda: not state.server_problem and state.columns.finding_name(4) == "cyst")
        assert actions["set_finding"].isEnabled()
        assert window.status.where.text().endswith("(curator)")
        # What was pressed while it was away was not kept for later.
        assert state.judgement_count == 0
        assert (large.isEnabled(), large.toolTip()) == (True, "More like this (U)")
        assert "does not answer" not in press_more_like_this(window, 2)
        wait_for(window, lambda: state.judgement_count == 1)


def test_a_label_that_another_person_changed_is_shown_and_not_overwritten(library):
    with open_window(library("carl")) as window:
        wait_for(window, lambda: window.state.library is not None)
        state, context = window.state, window.context
        case = state.columns.ids[2]
        seen = state.columns.finding_name(2)
        # Another connection writes what this person has not seen yet.
        set_finding(library("cora"), [case], "theirs")
        edit_operations.set_label(context, set_finding, [case], "mine", [seen])
        wait_for(window, lambda: any(one.topic == "conflict" for one in context.messages.history))
        (conflict,) = (one for one in context.messages.history if one.topic == "conflict")
        assert "now theirs, by cora at " in conflict.hint
        assert "You chose mine" in conflict.hint
        with open_library(library("carl")) as opened:
            assert opened.catalogue.all_cases()[2].finding == "theirs"
        (_, use_mine), (_, keep) = conflict.actions
        keep()
        wait_for(window, lambda: state.columns.finding_name(2) == "theirs")
        use_mine()
        wait_for(window, lambda: state.columns.finding_name(2) == "mine")


def test_everybody_has_a_last_search_of_their_own(library, tmp_path, monkeypatch):
    last = {}
    for person, case in (("anna", 3), ("carl", 5), ("anna", 3)):
        redirect_user_folders(monkeypatch, tmp_path / person)
        with open_window(library(person)) as window:
            wait_for(window, lambda: window.state.query is not None)
            opened, query = window.state.query, Query(case=window.state.columns.ids[case])
            # Without a last search it begins with a case that nobody asked for.
            assert opened == last[person] if person in last else opened not in last.values()
            search_operations.submit_query(window.context, query)
            wait_for(window, lambda query=query: window.state.query == query and window.state.ranking)
            last[person] = window.state.query


def test_the_command_opens_the_window_on_an_address_alone():
    from semblance.app.__main__ import _named_library

    assert _named_library(["postgresql://anna@db.example.org/chest"]) == server_address(
        "postgresql://anna@db.example.org/chest"
    )
    assert _named_library(["info", "postgresql://anna@db.example.org/chest"]) is None


def test_marks_of_others_in_the_open_search_appear_and_the_order_stays(library):
    with open_window(library("carl")) as window:
        wait_for(window, lambda: window.state.library is not None)
        search_first_case(window)
        state = window.state
        before, query = state.ranking, state.columns.ids[0]
        bar = window.panels.ranking.grid.verticalScrollBar()
        bar.setValue(bar.maximum() // 2)
        place, marked = bar.value(), before.ranked[4].case_id
        with open_library(library("anna")) as opened:
            record = JudgementRecord("alike", query, marked, None, None, (), "x", "2026-01-01T00:00:00+00:00")
            opened.judgements(state.ledger).append([record])
        wait_for(window, lambda: state.judgement_count == 1)
        assert (state.ranking, bar.value()) == (before, place)
        assert marked in state.marks.liked


def test_a_saved_search_that_another_person_changed_is_shown_and_not_overwritten(library):
    address = library("carl")
    with open_window(address) as window:
        wait_for(window, lambda: window.state.library is not None)
        search_first_case(window)
        state, context = window.state, window.context
        case = state.ranking.ranked[0].case_id
        save_search.save(context, "conference")
        wait_for(window, lambda: state.search_name == "conference")
        state.set_note(case, "first")
        wait_for(window, lambda: note_of(address, case) == "first")
        change_note(library("cora"), case, "theirs")
        state.set_note(case, "mine")
        wait_for(window, lambda: any(one.topic == "conflict" for one in context.messages.history))
        (conflict,) = (one for one in context.messages.history if one.topic == "conflict")
        assert f"Note on {case}: theirs “theirs”, yours “mine”." in conflict.hint
        assert note_of(address, case) == "theirs"
        (_, open_theirs), (_, save_mine) = conflict.actions
        save_mine()
        wait_for(window, lambda: note_of(address, case) == "mine")
        # What is only looked at replaces nothing.
        change_note(library("cora"), case, "later")
        state.view = {"zoom": 2}
        open_theirs()
        wait_for(window, lambda: state.note(case) == "later")
        assert note_of(address, case) == "later"
