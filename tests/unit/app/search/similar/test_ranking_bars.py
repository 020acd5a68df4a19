from __future__ import annotations

import pytest
from PySide6.QtCore import Qt

from semblance.app.search.similar.ranking_bars import OrderLine
from semblance.app.search.similar.ranking_panel import RankingPanel
from semblance.app.shell import search_operations
from semblance.app.widgets.thumbnail_loader import ThumbnailLoader
from semblance.core.imaging.region import Region
from semblance.core.library.library import Library
from semblance.core.searches.feedback.judgements import QueryMarks
from semblance.core.searches.query import Query
from semblance.core.workflows.metrics.train_request import TrainRequest
from semblance.core.workflows.searches.rank_cases import nearest_cases
from tests.helpers.judgement_library import context_for_copy, search_case
from tests.helpers.tables import PLAIN, table_library
from tests.helpers.widgets import show_widget

LEFT = Qt.MouseButton.LeftButton
#: A marked case without a rank.
PLACES = (5, 7)


NONE_YET = "No marks yet. + or − reorders"


@pytest.fixture
def order_line(ranking_panel) -> OrderLine:
    return ranking_panel.order


def order(judging_context) -> list[str]:
    return [case.case_id for case in judging_context.state.ranking.ranked]


def test_the_bar_counts_the_marks_and_shows_the_order_before(
    qtbot, ranking_panel, order_line, judging_context, jobs
):
    before = order(judging_context)
    assert order_line.text == NONE_YET
    liked, disliked = ranking_panel.grid.model().case_row(5), ranking_panel.grid.model().case_row(0)
    for row, mark in ((liked, 1), (disliked, -1)):
        ranking_panel.card_feedback.mark_rows(mark, [row])
        jobs.run_pending()
    after = order(judging_context)
    assert order_line.text == "Ordered by 2 marks"
    assert order_line.undo.toolTip() == "Undo the last mark (Ctrl+Z)"
    assert order_line.start_again.toolTip() == "Undo all marks of this query"
    assert after != before
    qtbot.mouseClick(order_line.before, LEFT)
    jobs.run_pending()
    assert order_line.text == "Order before 2 marks"
    assert order(judging_context) == before
    qtbot.mouseClick(order_line.before, LEFT)
    jobs.run_pending()
    assert order(judging_context) == after


def test_a_mark_made_in_the_order_before_is_followed(qtbot, ranking_panel, order_line, judging_context, jobs):
    ranking_panel.card_feedback.mark_rows(1, [ranking_panel.grid.model().case_row(5)])
    jobs.run_pending()
    qtbot.mouseClick(order_line.before, LEFT)
    jobs.run_pending()
    before = order(judging_context)
    ranking_panel.card_feedback.mark_rows(-1, [ranking_panel.grid.model().case_row(0)])
    jobs.run_pending()
    assert order_line.text == "Ordered by 2 marks"
    assert order(judging_context) != before


def test_undo_removes_one_mark_and_start_again_removes_all(
    qtbot, ranking_panel, order_line, judging_context, jobs
):
    before = order(judging_context)
    for place in (5, 6):
        ranking_panel.card_feedback.mark_rows(1, [ranking_panel.grid.model().case_row(place)])
        jobs.run_pending()
    qtbot.mouseClick(order_line.undo, LEFT)
    jobs.run_pending()
    assert len(judging_context.state.marks) == 1
    qtbot.mouseClick(order_line.start_again, LEFT)
    jobs.run_pending()
    assert judging_context.state.marks == QueryMarks()
    assert order(judging_context) == before
    assert (order_line.text, order_line.isVisible()) == (NONE_YET, True)
    assert not order_line.start_again.isVisible()


def test_cards_say_which_marked_cases_they_are_near_to(ranking_panel, judging_context, jobs):
    assert ranking_panel.grid.model().notes is None
    liked, disliked = ranking_panel.grid.model().case_row(1), ranking_panel.grid.model().case_row(6)
    for row, mark in ((liked, 1), (disliked, -1)):
        ranking_panel.card_feedback.mark_rows(mark, [row])
        jobs.run_pending()
    model, ranks = (
        ranking_panel.grid.model(),
        {case.case_id: case.rank for case in judging_context.state.ranking.ranked},
    )
    for place, case in enumerate(judging_context.state.ranking.ranked):
        note, tip = model.notes[place]
        if case.row in (liked, disliked):
            assert (note, tip) == (f"marked {'more' if case.row == liked else 'less'}", "")
            continue
        near, far = case.near_liked, case.near_disliked
        near, far = (near, far) if case.nearer_to_liked else (far, near)
        assert note == (
            f"near {ranks[near]}, far from {ranks[far]}" if far in ranks else f"near {ranks[near]}"
        )
        names = [
            judging_context.state.columns.name(judging_context.state.columns.index_of_id(one))
            for one in (near, far)
        ]
        assert tip == f"near {names[0]}, far from {names[1]}"
        assert tip in model.describe(place)


@pytest.fixture
def marked(ranking_panel, judging_context, jobs) -> Query:
    """The query, of which two cases are marked."""
    rows = [ranking_panel.grid.model().case_row(place) for place in PLACES]
    ranking_panel.card_feedback.mark_rows(1, rows)
    jobs.run_pending()
    return judging_context.state.query


def order_with_distances(state) -> list[tuple[str, float]]:
    return [(case.case_id, case.distance) for case in state.ranking.ranked]


def test_marks_do_not_change_the_next_search_unless_a_person_asks_for_it(
    qtbot, ranking_panel, order_line, marked, judging_context, jobs
):
    state = judging_context.state
    other = Query(case=state.columns.ids[9])
    search_operations.submit_query(judging_context, other)
    jobs.run_pending()
    plain = nearest_cases(state.location, state.metric.name, other, k=judging_context.settings.similar_cases)
    assert order_with_distances(state) == [(case.case_id, case.distance) for case in plain.ranked]
    assert (order_line.text, state.own_judgement_count, state.judgement_count) == (NONE_YET, 0, len(PLACES))
    assert not ranking_panel.grid.model().judgements
    state.change_search(refined=True)
    search_operations.rank(judging_context)
    jobs.run_pending()
    assert order_line.text == "Refined by 2 marks on other cases"
    assert order_with_distances(state) != [(case.case_id, case.distance) for case in plain.ranked]
    assert state.ranking.vote.probability is None
    qtbot.mouseClick(order_line.change, LEFT)
    jobs.run_pending()
    assert order_line.text == NONE_YET
    assert order_with_distances(state) == [(case.case_id, case.distance) for case in plain.ranked]


def test_undo_leaves_the_marks_of_other_queries(ranking_panel, marked, judging_context, jobs):
    from semblance.app.search.feedback import mark_cards

    state = judging_context.state
    search_operations.submit_query(judging_context, Query(case=state.columns.ids[9]))
    jobs.run_pending()
    mark_cards.undo(judging_context)
    jobs.run_pending()
    assert state.judgement_count == len(PLACES)


def test_marks_that_a_region_sets_aside_can_be_used_for_it(
    qtbot, order_line, marked, judging_context, jobs, monkeypatch
):
    from dataclasses import replace

    state = judging_context.state
    # A row of a table has no regions: the ranking stays, the query has one.
    search = replace(
        state.ranked_search.search, query=replace(marked, region=Region(1, 2, 8, 8)), refined=False
    )
    state.set_region(search.query.region)
    state.set_ranked_search(replace(state.ranked_search, search=search))
    assert order_line.text == "2 marks on this image are set aside for the region"
    judged = []
    monkeypatch.setattr(
        "semblance.app.search.feedback.mark_cards.save_judgements",
        lambda _context, judgements: judged.extend(judgements),
    )
    qtbot.mouseClick(order_line.change, LEFT)
    assert [one.case for one in judged] == list(state.marks_set_aside.liked)
    assert all(one.region == search.query.region.to_json() for one in judged)


@pytest.fixture(scope="module")
def made(tmp_path_factory):
    return table_library(
        tmp_path_factory.mktemp("made"), n=120, metrics=(PLAIN, TrainRequest("lda", "trained"))
    )


@pytest.fixture
def context(jobs, made, tmp_path):
    context = context_for_copy(made, tmp_path / "lib.semblance", jobs)
    context.state.set_metric("trained")
    return context


@pytest.fixture
def panel(qtbot, context):
    return show_widget(qtbot, RankingPanel(context, ThumbnailLoader(lambda _rows, done: done([]))), 720, 480)


@pytest.fixture
def trained(context) -> list[bool]:
    """Of each case whether the metric was trained on it."""
    with Library.open(context.state.location) as opened:
        training = set(opened.metric("trained").training.tolist())
    return [row in training for row in context.state.columns.case_row.tolist()]


def test_a_training_case_is_ranked_without_its_patient_on_request(qtbot, panel, context, jobs, trained):
    search_case(context, jobs, trained.index(True))
    before = context.state.ranking
    assert panel.summary._note.text() == "No estimate: this case trained the ranking"
    qtbot.mouseClick(panel.summary.act, LEFT)
    assert not panel.summary.act.isEnabled()
    jobs.run_pending()
    assert context.state.ranking.without_patient
    assert context.state.ranking.vote.calibrated
    assert panel.summary.remark.text == "Ranked by trained, trained again without this patient"
    assert panel.summary.act.text() == "Rank as trained"
    assert panel.summary.act.isEnabled()
    qtbot.mouseClick(panel.summary.act, LEFT)
    jobs.run_pending()
    assert context.state.ranking.ranked == before.ranked
    assert panel.summary.act.text() == "Rank without this patient"


def test_a_cancelled_training_leaves_the_ranking_as_it_is(qtbot, panel, context, jobs, trained):
    search_case(context, jobs, trained.index(True))
    before = context.state.ranking
    qtbot.mouseClick(panel.summary.act, LEFT)
    context.jobs.active[-1].cancel()
    jobs.run_pending()
    assert context.state.ranking is before
    assert panel.summary.act.text() == "Rank without this patient"
    assert panel.summary.act.isEnabled()


@pytest.mark.parametrize("change", ["query", "metric"])
def test_the_next_search_is_by_the_metric_itself(qtbot, panel, context, jobs, trained, change):
    search_case(context, jobs, trained.index(True))
    qtbot.mouseClick(panel.summary.act, LEFT)
    if change == "query":
        # Chosen while the metric is trained for the query before.
        search_case(context, jobs, trained.index(False))
    else:
        jobs.run_pending()
        context.state.set_metric("plain")
    assert not context.state.search.without_patient
    jobs.run_pending()
    if change == "query":
        assert not panel.summary.act.isVisible()
        assert not context.state.ranking.without_patient
