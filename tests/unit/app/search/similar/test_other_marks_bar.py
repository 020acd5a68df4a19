from __future__ import annotations

import pytest
from PySide6.QtCore import Qt

from semblance.app.search.similar.other_marks_bar import OtherMarksBar
from semblance.app.shell import search_operations
from semblance.core.imaging.region import Region
from semblance.core.searches.query import Query
from semblance.core.workflows.searches.rank_cases import nearest_cases

LEFT = Qt.MouseButton.LeftButton
PLACES = (5, 7)


@pytest.fixture
def bar(ranking_panel) -> OtherMarksBar:
    return ranking_panel.findChild(OtherMarksBar)


@pytest.fixture
def marked(ranking_panel, judging_context, jobs) -> Query:
    """The query, of which two cases are marked."""
    rows = [ranking_panel.grid.model().case_row(place) for place in PLACES]
    ranking_panel.card_feedback.judge(1, rows)
    jobs.run_pending()
    return judging_context.state.query


def order(state) -> list[tuple[str, float]]:
    return [(case.case_id, case.distance) for case in state.ranking.ranked]


def test_marks_do_not_change_the_next_search_unless_a_person_asks_for_it(
    qtbot, ranking_panel, bar, marked, judging_context, jobs
):
    state = judging_context.state
    other = Query(case=state.columns.ids[9])
    search_operations.submit_query(judging_context, other)
    jobs.run_pending()
    plain = nearest_cases(state.path, state.metric.name, other, k=judging_context.settings.similar_cases)
    assert order(state) == [(case.case_id, case.distance) for case in plain.ranked]
    assert (bar.text, state.own_judgement_count, state.judgement_count) == ("", 0, len(PLACES))
    assert not ranking_panel.grid.model().judgements
    state.change_search(refined=True)
    search_operations.rank(judging_context)
    jobs.run_pending()
    assert bar.text == "Refined by 2 marks on other cases"
    assert order(state) != [(case.case_id, case.distance) for case in plain.ranked]
    assert state.ranking.vote.probability is None
    qtbot.mouseClick(bar.change, LEFT)
    jobs.run_pending()
    assert bar.text == ""
    assert order(state) == [(case.case_id, case.distance) for case in plain.ranked]


def test_undo_leaves_the_marks_of_other_queries(ranking_panel, marked, judging_context, jobs):
    from semblance.app.search.feedback import refine_metric

    state = judging_context.state
    search_operations.submit_query(judging_context, Query(case=state.columns.ids[9]))
    jobs.run_pending()
    refine_metric.undo(judging_context)
    jobs.run_pending()
    assert state.judgement_count == len(PLACES)


def test_marks_that_a_region_sets_aside_can_be_used_for_it(
    qtbot, bar, marked, judging_context, jobs, monkeypatch
):
    from dataclasses import replace

    state = judging_context.state
    # A row of a table has no regions: the ranking stays, the query has one.
    search = replace(
        state.ranked_search.search, query=replace(marked, region=Region(1, 2, 8, 8)), refined=False
    )
    state.set_region(search.query.region)
    state.set_ranked_search(replace(state.ranked_search, search=search))
    assert bar.text == "2 marks on this image are set aside for the region"
    judged = []
    monkeypatch.setattr(
        "semblance.app.search.feedback.refine_metric.judge",
        lambda _context, judgements: judged.extend(judgements),
    )
    qtbot.mouseClick(bar.change, LEFT)
    assert [one.case for one in judged] == list(state.marks_set_aside.liked)
    assert all(one.region == search.query.region.to_json() for one in judged)
