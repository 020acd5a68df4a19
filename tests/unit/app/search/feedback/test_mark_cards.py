"""Judging in the Ranking ranking_panel, by mouse and by keyboard, with real learning on a small table."""

from __future__ import annotations

from dataclasses import replace

import pytest
from PySide6.QtCore import QPoint, Qt
from PySide6.QtWidgets import QMenu

from semblance.app.search.feedback import mark_cards as operations
from semblance.app.shell import search_operations
from semblance.app.shell.settings import AUTHOR
from semblance.app.widgets.cards.card_layout import card_feedback_buttons
from semblance.core.imaging.region import Region
from semblance.core.library.library import Library
from semblance.core.searches.feedback.judgements import JudgementKind, likeness_judgement
from semblance.core.searches.query import Query
from semblance.core.searches.similar_cases import MatchedPlace
from semblance.core.workflows.library.library_snapshot import read_snapshot
from semblance.core.workflows.searches.feedback import refine_metric
from tests.helpers.contexts import make_context
from tests.helpers.ranked_searches import with_places

LEFT = Qt.MouseButton.LeftButton
SHIFT = Qt.KeyboardModifier.ShiftModifier


def row(ranking_panel, place: int) -> int:
    return ranking_panel.grid.model().case_row(place)


def marked_cases(judging_context) -> list[tuple[JudgementKind, bool]]:
    return [
        (entry.judgement.kind, entry.undone is None) for entry in judging_context.state.ranked_search.entries
    ]


def press(qtbot, ranking_panel, place: int, verdict: int) -> None:
    up, down = card_feedback_buttons(ranking_panel.grid.card_rect(place), ranking_panel.grid._layout)
    qtbot.mouseClick(ranking_panel.grid.viewport(), LEFT, pos=(up if verdict > 0 else down).center())


@pytest.mark.parametrize("view", ["grid", "list"])
def test_mark_is_saved_shown_and_undone(qtbot, ranking_panel, judging_context, jobs, view):
    ranking_panel._set_view(view)
    marked_row = row(ranking_panel, 2)
    press(qtbot, ranking_panel, 2, 1)
    # Shown at once, before it is saved.
    assert ranking_panel.grid.model().judgements == {marked_row: 1}
    jobs.run_pending()
    assert marked_cases(judging_context) == [(JudgementKind.ALIKE, True)]
    assert ranking_panel.grid.model().judgements == {marked_row: 1}
    press(qtbot, ranking_panel, ranking_panel.grid.model().position_of(marked_row), 1)
    assert ranking_panel.grid.model().judgements == {}
    jobs.run_pending()
    assert marked_cases(judging_context) == [(JudgementKind.ALIKE, False)]
    assert ranking_panel.grid.model().judgements == {}


def test_opposite_mark_replaces_the_first(qtbot, ranking_panel, judging_context, jobs):
    marked_row = row(ranking_panel, 2)
    for verdict in (1, -1):
        press(qtbot, ranking_panel, ranking_panel.grid.model().position_of(marked_row), verdict)
        jobs.run_pending()
    assert ranking_panel.grid.model().judgements == {marked_row: -1}
    assert marked_cases(judging_context) == [(JudgementKind.ALIKE, False), (JudgementKind.NOT_ALIKE, True)]
    assert judging_context.state.ranked_search.contradictions == ()


def test_author_time_and_visible_cases_are_saved(ranking_panel, judging_context, jobs):
    judging_context.settings.set_text(AUTHOR, "Ann")
    ranking_panel.card_feedback.mark_rows(1, [row(ranking_panel, 0)])
    jobs.run_pending()
    (entry,) = judging_context.state.ranked_search.entries
    assert entry.judgement.author == "Ann"
    assert entry.judgement.time
    with Library.open(judging_context.state.location, writable=False) as opened:
        ((_, stored, _),) = opened.judgements(judging_context.state.ledger).read()
    assert entry.judgement.case in stored.shown
    assert len(stored.shown) > 3


def test_several_cases_are_judged_and_undone_together(qtbot, ranking_panel, judging_context, jobs):
    ranking_panel.grid.setFocus()
    for key, pending in ((Qt.Key.Key_Home, None), (Qt.Key.Key_Right, SHIFT), (Qt.Key.Key_Right, SHIFT)):
        qtbot.keyClick(ranking_panel.grid, key, *([pending] if pending else []))
    chosen = ranking_panel.grid.selected().tolist()
    ranking_panel.card_feedback.mark_rows(-1)
    jobs.run_pending()
    assert ranking_panel.grid.model().judgements == dict.fromkeys(chosen, -1)
    assert ranking_panel.grid.selected().tolist() == sorted(
        chosen, key=ranking_panel.grid.model().position_of
    )
    # A mark on one selected case applies to all of them.
    ranking_panel.card_feedback._mark_card(chosen[1], -1)
    jobs.run_pending()
    assert ranking_panel.grid.model().judgements == {}
    operations.redo(judging_context)
    jobs.run_pending()
    operations.undo(judging_context)
    jobs.run_pending()
    assert [undone for _, undone in marked_cases(judging_context)] == [False] * 3


def test_mark_outside_the_selection_applies_to_its_case_only(ranking_panel, judging_context, jobs):
    ranking_panel.grid.set_current(row(ranking_panel, 0))
    ranking_panel.grid._choose(1, SHIFT)
    other = row(ranking_panel, 4)
    ranking_panel.card_feedback._mark_card(other, 1)
    jobs.run_pending()
    assert ranking_panel.grid.model().judgements == {other: 1}


def test_comparison_by_keys(qtbot, ranking_panel, judging_context, jobs):
    ranking_panel.grid.setFocus()
    qtbot.keyClick(ranking_panel.grid, Qt.Key.Key_Home)
    closer = row(ranking_panel, 0)
    ranking_panel.card_feedback.compare_current()
    ids = judging_context.state.columns
    assert f"{ids.name(ids.index_of_row(closer))} is closer than" in ranking_panel.order.text
    qtbot.keyClick(ranking_panel.grid, Qt.Key.Key_Right)
    farther = ranking_panel.grid.current()
    ranking_panel.card_feedback.compare_current()
    assert "closer" not in ranking_panel.order.text
    jobs.run_pending()
    (entry,) = judging_context.state.ranked_search.entries
    named = [ids.ids[ids.index_of_row(one)] for one in (closer, farther)]
    assert [entry.judgement.case, entry.judgement.other] == named
    ranking_panel.card_feedback.compare_current()
    ranking_panel.card_feedback.compare_current()
    assert not ranking_panel.grid.comparison.pending, "the same key on the same case gives it up"


def test_another_query_cancels_a_comparison(ranking_panel, judging_context, jobs):
    ranking_panel.grid.set_current(row(ranking_panel, 0))
    ranking_panel.card_feedback.compare_current()
    search_operations.submit_query(judging_context, Query(case=judging_context.state.columns.ids[7]))
    assert "closer" not in ranking_panel.order.text


def test_marks_are_those_of_the_current_query(ranking_panel, judging_context, jobs):
    ranking_panel.card_feedback.mark_rows(1, [row(ranking_panel, 0)])
    jobs.run_pending()
    search_operations.submit_query(judging_context, Query(case=judging_context.state.columns.ids[7]))
    jobs.run_pending()
    assert len(judging_context.state.ranked_search.entries) == 1
    assert ranking_panel.grid.model().judgements == {}


def test_cards_show_their_shift(ranking_panel, judging_context, jobs):
    for place in (8, 9):
        ranking_panel.card_feedback.mark_rows(1, [row(ranking_panel, place)])
        ranking_panel.card_feedback.mark_rows(-1, [row(ranking_panel, place - 8)])
    jobs.run_pending()
    refined, model = judging_context.state.ranked_search, ranking_panel.grid.model()
    assert any(refined.shifts)
    assert model.shifts.tolist() == list(refined.shifts)
    operations.reset(judging_context)
    jobs.run_pending()
    assert ranking_panel.grid.model().shifts is None


def test_menu_judges_the_selected_cases(ranking_panel, judging_context, jobs):
    ranking_panel.grid.set_current(row(ranking_panel, 1))
    menu = QMenu()
    ranking_panel.card_feedback.fill_menu(menu, [row(ranking_panel, 1)], is_ranking=True)
    texts = [action.text() for action in menu.actions() if action.text()]
    assert texts == ["More like this\tU", "Less like this\tD", "Mark as closer than…\tT"]
    menu.actions()[1].trigger()
    jobs.run_pending()
    assert marked_cases(judging_context) == [(JudgementKind.ALIKE, True)]
    ranking_panel.grid._choose(3, SHIFT)
    several = QMenu()
    ranking_panel.card_feedback.fill_menu(several, ranking_panel.grid.selected().tolist(), is_ranking=True)
    assert several.actions()[1].text().startswith(f"{len(ranking_panel.grid.selected())} cases: More like")
    assert len(several.actions()) == 3
    for one in (menu, several):
        one.deleteLater()


def test_mark_that_cannot_be_saved_is_not_shown(ranking_panel, judging_context, jobs, monkeypatch):
    def fail(*_given, **_more):
        raise OSError("disk full")

    monkeypatch.setattr(refine_metric, "add_judgements", fail)
    ranking_panel.card_feedback.mark_rows(1, [row(ranking_panel, 0)])
    jobs.run_pending()
    assert ranking_panel.grid.model().judgements == {}
    assert [message.level for message in judging_context.messages.history] == ["error"]


def test_marks_order_a_metric_that_they_cannot_refine(ranking_panel, judging_context, jobs):
    judging_context.state.set_metric("city")
    search_operations.rank(judging_context)
    jobs.run_pending()
    before = [case.case_id for case in judging_context.state.ranking.ranked]
    assert "no coordinates" in judging_context.state.refusal.message
    ranking_panel.card_feedback.mark_rows(1, [row(ranking_panel, 6)])
    jobs.run_pending()
    after = [case.case_id for case in judging_context.state.ranking.ranked]
    assert judging_context.state.marks.liked == (before[6],)
    assert after.index(before[6]) < 6
    ranking_panel.card_feedback.compare(row(ranking_panel, 1), row(ranking_panel, 0))
    assert jobs.pending == []
    assert "no coordinates" in judging_context.messages.history[-1].what


def test_judgement_during_another_search_is_saved_without_its_ranking(ranking_panel, judging_context, jobs):
    ranking_panel.card_feedback.mark_rows(1, [row(ranking_panel, 0)])
    search_operations.submit_query(judging_context, Query(case=judging_context.state.columns.ids[7]))
    jobs.run_pending()
    assert judging_context.state.ranked_search.search.query.case == judging_context.state.columns.ids[7]
    assert marked_cases(judging_context) == [(JudgementKind.ALIKE, True)]


def test_judgement_while_the_metric_is_replaced_applies_to_the_new_metric(
    ranking_panel, judging_context, jobs
):
    ranking_panel.card_feedback.mark_rows(1, [row(ranking_panel, 0)])
    judging_context.state.set_metric("city")
    search_operations.rank(judging_context)
    jobs.run_pending()
    assert judging_context.state.ranked_search.search.metric == "city"
    assert marked_cases(judging_context) == [(JudgementKind.ALIKE, True)]
    assert judging_context.messages.history == []


def test_judgement_while_the_library_closes_shows_nothing(ranking_panel, judging_context, jobs):
    ranking_panel.card_feedback.mark_rows(1, [row(ranking_panel, 0)])
    judging_context.state.set_library(None)
    jobs.run_pending()
    assert judging_context.state.ranked_search is None
    assert judging_context.messages.history == []


def test_repeated_mark_is_one_judgement(ranking_panel, judging_context, jobs):
    search = judging_context.state.search
    made = likeness_judgement(search, judging_context.state.columns.ids[3], True)
    for _ in range(100):
        operations.save_judgements(judging_context, [made])
    jobs.run_pending()
    assert marked_cases(judging_context) == [(JudgementKind.ALIKE, True)]


def test_two_windows_share_a_ledger(ranking_panel, judging_context, jobs):
    """What the other one judged is in the ledger with the next click here."""
    other = make_context(jobs)
    other.state.set_library(read_snapshot(judging_context.state.location))
    other.state.restore_search(judging_context.state.search)
    search_operations.rank(other)
    jobs.run_pending()
    columns = judging_context.state.columns
    for window, case in ((judging_context, 5), (other, 6), (judging_context, 9)):
        operations.save_judgements(window, [likeness_judgement(window.state.search, columns.ids[case], True)])
        jobs.run_pending()
    assert len(judging_context.state.ranked_search.entries) == 3
    assert len(other.state.ranked_search.entries) == 2
    search_operations.rank(other)
    jobs.run_pending()
    assert len(other.state.ranked_search.entries) == 3


def test_a_case_is_not_judged_against_itself(ranking_panel, judging_context, jobs):
    ranking_panel.card_feedback.mark_rows(1, [int(judging_context.state.columns.case_row[0])])
    assert "against itself" in judging_context.messages.history[0].what
    assert judging_context.messages.history[0].hint
    ranking_panel.card_feedback.compare(row(ranking_panel, 0), row(ranking_panel, 0))
    assert "closer than itself" in judging_context.messages.history[1].what
    jobs.run_pending()
    assert marked_cases(judging_context) == []


def test_comparison_is_cancelled_by_mouse(qtbot, ranking_panel):
    ranking_panel.grid.set_current(row(ranking_panel, 0))
    ranking_panel.card_feedback.compare_current()
    qtbot.mouseClick(ranking_panel.order.cancel, LEFT, pos=QPoint(4, 4))
    assert not ranking_panel.order.cancel.isVisible()
    assert not ranking_panel.grid.comparison.pending


def test_after_a_search_by_place_a_mark_is_on_the_place_and_says_so(
    qtbot, ranking_panel, judging_context, jobs
):
    state, place = judging_context.state, MatchedPlace(3, 4, 10, 12, None, 0.7, 64, 64)
    result = replace(with_places(state.ranking, place), compared_by="place")
    state.set_ranked_search(replace(state.ranked_search, result=result))
    menu = QMenu()
    ranking_panel.card_feedback.fill_menu(menu, [row(ranking_panel, 2)], is_ranking=True)
    texts = [action.text() for action in menu.actions() if action.text()]
    assert texts[:2] == ["More like this place\tU", "Less like this place\tD"]
    press(qtbot, ranking_panel, 2, 1)
    jobs.run_pending()
    (entry,) = state.ranked_search.entries
    assert entry.judgement.place == Region(3, 4, 10, 12).to_json()
    operations.undo(judging_context)
    jobs.run_pending()
    assert state.ranked_search.entries[0].undone is not None
