from __future__ import annotations

import pytest
from PySide6.QtCore import Qt

from semblance.app.search.similar.marks_bar import MarksBar
from semblance.app.search.similar.panel import RankingPanel
from semblance.app.widgets.thumbnail_loader import ThumbnailLoader
from semblance.core.searches.marks import QueryMarks
from tests.helpers.judgement_library import context_for_copy, library_for_judgements, search_case
from tests.helpers.widgets import show_widget

LEFT = Qt.MouseButton.LeftButton
#: A marked case without a rank.
MINUS = "\N{EN DASH}"


@pytest.fixture(scope="module")
def made(tmp_path_factory):
    return library_for_judgements(tmp_path_factory.mktemp("marks"))


@pytest.fixture
def context(jobs, made, tmp_path):
    return context_for_copy(made, tmp_path / "lib.semblance", jobs)


@pytest.fixture
def panel(qtbot, context, jobs):
    panel = show_widget(qtbot, RankingPanel(context, ThumbnailLoader(lambda _rows, done: done([]))), 720, 480)
    search_case(context, jobs)
    return panel


@pytest.fixture
def bar(panel) -> MarksBar:
    return panel.findChild(MarksBar)


def order(context) -> list[str]:
    return [case.case_id for case in context.state.ranking.ranked]


def test_the_bar_counts_the_marks_and_shows_the_order_before(qtbot, panel, bar, context, jobs):
    before = order(context)
    assert bar.text == ""
    liked, disliked = panel.grid.model().case_row(5), panel.grid.model().case_row(0)
    for row, mark in ((liked, 1), (disliked, -1)):
        panel.card_feedback.judge(mark, [row])
        jobs.run_pending()
    after = order(context)
    assert bar.text == "Ordered by 2 marks"
    assert bar.undo.toolTip() == "Undo the last mark (Ctrl+Z)"
    assert bar.start_again.toolTip() == "Undo all marks of this query"
    assert after != before
    qtbot.mouseClick(bar.before, LEFT)
    jobs.run_pending()
    assert bar.text == "Order before 2 marks"
    assert order(context) == before
    qtbot.mouseClick(bar.before, LEFT)
    jobs.run_pending()
    assert order(context) == after


def test_a_mark_made_in_the_order_before_is_followed(qtbot, panel, bar, context, jobs):
    panel.card_feedback.judge(1, [panel.grid.model().case_row(5)])
    jobs.run_pending()
    qtbot.mouseClick(bar.before, LEFT)
    jobs.run_pending()
    before = order(context)
    panel.card_feedback.judge(-1, [panel.grid.model().case_row(0)])
    jobs.run_pending()
    assert bar.text == "Ordered by 2 marks"
    assert order(context) != before


def test_undo_removes_one_mark_and_start_again_removes_all(qtbot, panel, bar, context, jobs):
    before = order(context)
    for place in (5, 6):
        panel.card_feedback.judge(1, [panel.grid.model().case_row(place)])
        jobs.run_pending()
    qtbot.mouseClick(bar.undo, LEFT)
    jobs.run_pending()
    assert len(context.state.marks) == 1
    qtbot.mouseClick(bar.start_again, LEFT)
    jobs.run_pending()
    assert context.state.marks == QueryMarks()
    assert order(context) == before
    assert not bar.isVisible()


def test_cards_say_which_marked_cases_they_are_near_to(panel, context, jobs):
    assert panel.grid.model().notes is None
    liked, disliked = panel.grid.model().case_row(1), panel.grid.model().case_row(6)
    for row, mark in ((liked, 1), (disliked, -1)):
        panel.card_feedback.judge(mark, [row])
        jobs.run_pending()
    model, ranks = panel.grid.model(), {case.case_id: case.rank for case in context.state.ranking.ranked}
    for place, case in enumerate(context.state.ranking.ranked):
        note, tip = model.notes[place]
        if case.row in (liked, disliked):
            assert (note, tip) == (f"marked {'more' if case.row == liked else 'less'} like this", "")
            continue
        near, far = case.near_liked, case.near_disliked
        near, far = (near, far) if case.nearer_to_liked else (far, near)
        assert note == f"near {ranks[near]}, far from {ranks.get(far, MINUS)}"
        names = [context.state.columns.name(context.state.columns.index_of_id(one)) for one in (near, far)]
        assert tip == f"near {names[0]}, far from {names[1]}"
        assert tip in model.describe(place)
