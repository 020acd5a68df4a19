from __future__ import annotations

import pytest
from PySide6.QtCore import Qt

from semblance.app.search.similar.marks_bar import MarksBar
from semblance.core.searches.feedback.judgements import QueryMarks

LEFT = Qt.MouseButton.LeftButton
#: A marked case without a rank.
MINUS = "\N{EN DASH}"


@pytest.fixture
def bar(ranking_panel) -> MarksBar:
    return ranking_panel.findChild(MarksBar)


def order(judging_context) -> list[str]:
    return [case.case_id for case in judging_context.state.ranking.ranked]


def test_the_bar_counts_the_marks_and_shows_the_order_before(
    qtbot, ranking_panel, bar, judging_context, jobs
):
    before = order(judging_context)
    assert bar.text == ""
    liked, disliked = ranking_panel.grid.model().case_row(5), ranking_panel.grid.model().case_row(0)
    for row, mark in ((liked, 1), (disliked, -1)):
        ranking_panel.card_feedback.judge(mark, [row])
        jobs.run_pending()
    after = order(judging_context)
    assert bar.text == "Ordered by 2 marks"
    assert bar.undo.toolTip() == "Undo the last mark (Ctrl+Z)"
    assert bar.start_again.toolTip() == "Undo all marks of this query"
    assert after != before
    qtbot.mouseClick(bar.before, LEFT)
    jobs.run_pending()
    assert bar.text == "Order before 2 marks"
    assert order(judging_context) == before
    qtbot.mouseClick(bar.before, LEFT)
    jobs.run_pending()
    assert order(judging_context) == after


def test_a_mark_made_in_the_order_before_is_followed(qtbot, ranking_panel, bar, judging_context, jobs):
    ranking_panel.card_feedback.judge(1, [ranking_panel.grid.model().case_row(5)])
    jobs.run_pending()
    qtbot.mouseClick(bar.before, LEFT)
    jobs.run_pending()
    before = order(judging_context)
    ranking_panel.card_feedback.judge(-1, [ranking_panel.grid.model().case_row(0)])
    jobs.run_pending()
    assert bar.text == "Ordered by 2 marks"
    assert order(judging_context) != before


def test_undo_removes_one_mark_and_start_again_removes_all(qtbot, ranking_panel, bar, judging_context, jobs):
    before = order(judging_context)
    for place in (5, 6):
        ranking_panel.card_feedback.judge(1, [ranking_panel.grid.model().case_row(place)])
        jobs.run_pending()
    qtbot.mouseClick(bar.undo, LEFT)
    jobs.run_pending()
    assert len(judging_context.state.marks) == 1
    qtbot.mouseClick(bar.start_again, LEFT)
    jobs.run_pending()
    assert judging_context.state.marks == QueryMarks()
    assert order(judging_context) == before
    assert not bar.isVisible()


def test_cards_say_which_marked_cases_they_are_near_to(ranking_panel, judging_context, jobs):
    assert ranking_panel.grid.model().notes is None
    liked, disliked = ranking_panel.grid.model().case_row(1), ranking_panel.grid.model().case_row(6)
    for row, mark in ((liked, 1), (disliked, -1)):
        ranking_panel.card_feedback.judge(mark, [row])
        jobs.run_pending()
    model, ranks = (
        ranking_panel.grid.model(),
        {case.case_id: case.rank for case in judging_context.state.ranking.ranked},
    )
    for place, case in enumerate(judging_context.state.ranking.ranked):
        note, tip = model.notes[place]
        if case.row in (liked, disliked):
            assert (note, tip) == (f"marked {'more' if case.row == liked else 'less'} like this", "")
            continue
        near, far = case.near_liked, case.near_disliked
        near, far = (near, far) if case.nearer_to_liked else (far, near)
        assert note == f"near {ranks[near]}, far from {ranks.get(far, MINUS)}"
        names = [
            judging_context.state.columns.name(judging_context.state.columns.index_of_id(one))
            for one in (near, far)
        ]
        assert tip == f"near {names[0]}, far from {names[1]}"
        assert tip in model.describe(place)
