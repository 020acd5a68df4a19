"""Refining by clicks through the calls a window makes: ranking, ledger, questions, saving."""

from __future__ import annotations

import dataclasses
import shutil

import numpy as np
import pytest
import sqlalchemy as sa

from semblance.core.errors import BadArguments, BadInput
from semblance.core.imaging.region import Region
from semblance.core.library import catalogue
from semblance.core.library.library import Library
from semblance.core.metrics.card import MetricCard
from semblance.core.metrics.metric import load_metric
from semblance.core.metrics.relevance_feedback.feedback_space import FeedbackSpace
from semblance.core.reports.card_document import card_facts
from semblance.core.searches.feedback.judgements import (
    JudgementKind,
    comparison_judgement,
    likeness_judgement,
)
from semblance.core.searches.feedback.ledger import ContradictionReason
from semblance.core.searches.query import Query
from semblance.core.searches.search import Search
from semblance.core.tasks import Cancelled, Reporter
from semblance.core.workflows.metrics.score_metric import score_metric
from semblance.core.workflows.searches import open_metrics as open_metrics_module
from semblance.core.workflows.searches.feedback import refine_metric, refinement_session
from semblance.core.workflows.searches.feedback.refinement_session import open_refinement
from semblance.core.workflows.searches.open_metrics import close_loaded_metrics
from semblance.core.workflows.searches.rank_cases import nearest_cases, rank_cases
from tests.helpers.libraries import raw
from tests.helpers.ranked_searches import ranked


def drop_caches() -> None:
    """Drop the caches of all loaded metrics."""
    for _, loaded in open_metrics_module._open_metrics.values():
        loaded.drop_caches()


@pytest.fixture
def table(eighty):
    return eighty


def request_for(metric="plain", case="t/c0", **more) -> Search:
    return Search(metric, Query(case=case), "mine", **more)


def test_it_begins_with_the_metric_as_it_is(table):
    refined = rank_cases(table, request_for(), k=10)
    assert ranked(refined) == [
        line.case_id for line in nearest_cases(table, "plain", Query(case="t/c0"), k=10).ranked
    ]
    assert refined.shifts == ()
    assert refined.entries == ()
    assert refined.trust == 0.0


@pytest.mark.parametrize("metric", ["plain", "bits"])
def test_held_out_cases_do_not_shape_the_feedback_space(table, metric):
    session = open_refinement(table, metric)
    rows = session.loaded.transformed.rows()
    assert 1 < session.trained.sum() < len(rows)
    of_trained = FeedbackSpace.of(session.loaded.metric.distance, rows[session.trained])
    assert np.array_equal(session.coordinates, of_trained.coordinates(rows))
    of_all = FeedbackSpace.of(session.loaded.metric.distance, rows)
    assert not np.allclose(session.coordinates, of_all.coordinates(rows))


@pytest.mark.parametrize("metric", ["plain", "bits"])
def test_shifts_are_counted_from_the_ranking_before_the_first_click(table, metric):
    request = dataclasses.replace(request_for(metric), group_duplicates=False)
    before = ranked(rank_cases(table, request, k=200))
    judgements = [likeness_judgement(request, before[-1 - n], n % 2 == 0) for n in range(6)]
    refined = refine_metric.add_judgements(table, request, judgements, k=200)
    now = ranked(refined)
    assert now != before
    assert list(refined.shifts) == [before.index(case) - rank for rank, case in enumerate(now)]


def test_any_click_is_undone_and_made_again(table):
    request = request_for()
    start = ranked(rank_cases(table, request))
    one = refine_metric.add_judgements(
        table,
        request,
        [likeness_judgement(request, start[5], True), likeness_judgement(request, start[0], False)],
    )
    two = refine_metric.add_judgements(table, request, [comparison_judgement(request, start[7], start[1])])
    first = two.entries[0].id
    without = refine_metric.undo_judgements(table, request, [first])
    assert [entry.undone is None for entry in without.entries] == [False, True, True]
    assert ranked(refine_metric.redo_judgements(table, request, [first])) == ranked(two)
    assert ranked(refine_metric.undo_judgements(table, request)) == ranked(one)
    assert ranked(refine_metric.redo_judgements(table, request)) == ranked(two)
    assert ranked(refine_metric.undo_all_judgements(table, request)) == start
    with pytest.raises(BadArguments, match="no mark 999"):
        refine_metric.undo_judgements(table, request, [999])


@pytest.mark.parametrize("metric", ["plain", "bits"])
def test_strength_leads_from_the_metric_to_the_clicks(table, metric):
    request = request_for(metric)
    start = rank_cases(table, request)
    full = refine_metric.add_judgements(
        table, request, [comparison_judgement(request, f"t/c{n}", f"t/c{n + 1}") for n in range(10, 60, 2)]
    )
    assert ranked(full) != ranked(start)
    assert ranked(rank_cases(table, dataclasses.replace(request, strength=0.0))) == ranked(start)


def test_a_click_causes_no_new_layout(table):
    request = request_for()
    session = open_refinement(table, "plain")
    refine_metric.add_judgements(table, request, [likeness_judgement(request, "t/c9", True)])
    refine_metric.undo_judgements(table, request)
    assert open_refinement(table, "plain") is session
    with Library.open(table) as other, other.catalogue.transaction() as connection:
        connection.exec_driver_sql("UPDATE cases SET finding='kind 1' WHERE case_id='t/c4'")
    assert open_refinement(table, "plain") is not session


def test_another_process_continues_where_this_one_stopped(table):
    request = request_for()
    before = refine_metric.add_judgements(
        table,
        request,
        [likeness_judgement(request, "t/c9", True), likeness_judgement(request, "t/c4", False)],
    )
    close_loaded_metrics()
    again = rank_cases(table, request)
    assert again.entries == before.entries
    assert ranked(again) == ranked(before)
    other = rank_cases(table, dataclasses.replace(request, ledger="another"))
    assert other.entries == ()


def test_contradictions_are_reported_with_their_clicks(table):
    request = request_for()
    refined = refine_metric.add_judgements(
        table,
        request,
        [likeness_judgement(request, "t/c9", True), likeness_judgement(request, "t/c9", False)],
    )
    (contradiction,) = refined.contradictions
    assert contradiction.reason == ContradictionReason.BOTH_WAYS
    assert contradiction.entries == tuple(entry.id for entry in refined.entries)
    own = refine_metric.add_judgements(table, request, [likeness_judgement(request, "t/c1", False)])
    assert ContradictionReason.OWN_PATIENT in {one.reason for one in own.contradictions}


def test_bad_clicks_are_refused_and_not_stored(table):
    request = request_for()
    with pytest.raises(BadInput, match="against itself"):
        likeness_judgement(request, "t/c0", True)
    with pytest.raises(BadInput, match="no case 't/gone'"):
        refine_metric.add_judgements(
            table,
            request,
            [likeness_judgement(request, "t/c3", True), likeness_judgement(request, "t/gone", True)],
        )
    assert rank_cases(table, request).entries == ()
    city = request_for("city")
    with pytest.raises(BadInput, match="no coordinates"):
        refine_metric.add_judgements(table, city, [comparison_judgement(city, "t/c3", "t/c5")])
    assert rank_cases(table, city).entries == ()


def test_a_metric_that_clicks_cannot_refine_asks_without_them_and_says_why(table):
    refine_metric.add_judgements(table, request_for(), [comparison_judgement(request_for(), "t/c9", "t/c4")])
    before = rank_cases(table, request_for("city"))
    assert ranked(before) == [
        line.case_id for line in nearest_cases(table, "city", Query(case="t/c0")).ranked
    ]
    assert len(before.entries) == 1
    assert "no coordinates" in str(before.refused)


def test_a_judgement_of_a_removed_case_stays_in_the_ledger_without_effect(table):
    request = request_for()
    refine_metric.add_judgements(table, request, [comparison_judgement(request, "t/c9", "t/c4")])
    with raw(table) as connection:
        connection.execute("UPDATE judgements SET other='t/gone'")
    drop_caches()
    refined = rank_cases(table, request)
    assert refined.entries[0].judgement.other == "t/gone"
    assert not len(open_refinement(table, "plain").form(refined.entries, 1.0).gains)


def test_influence_names_every_judgement_in_force(table):
    request = request_for()
    refined = refine_metric.add_judgements(
        table,
        request,
        [likeness_judgement(request, "t/c9", True), likeness_judgement(request, "t/c4", False)],
    )
    refine_metric.undo_judgements(table, request, [refined.entries[0].id])
    assert [one.entry for one in refine_metric.influence(table, request)] == [refined.entries[1].id]


def test_the_held_out_score_leaves_out_what_was_judged(table):
    request = request_for()
    start = refine_metric.held_out_score(table, request)
    assert 0.0 <= start.accuracy == start.before <= 1.0
    with Library.open(table, writable=False) as opened:
        fresh = {row.case_id for row in opened.catalogue.all_cases()} - {"t/c0", "t/c1"}
    refine_metric.add_judgements(
        table, request, [likeness_judgement(request, case, True) for case in sorted(fresh)]
    )
    assert refine_metric.held_out_score(table, request) is None


def test_it_is_saved_as_a_metric_with_its_card(table):
    request = request_for()
    with pytest.raises(BadInput, match="nothing to save"):
        refine_metric.save_refined(table, request, "better")
    refined = refine_metric.add_judgements(
        table,
        request,
        [likeness_judgement(request, "t/c9", True), likeness_judgement(request, "t/c4", False)],
        author="ann",
    )
    with pytest.raises(BadInput, match="came from"):
        refine_metric.save_refined(table, request, "plain")
    card = refine_metric.save_refined(table, request, "better")
    assert card["learner"] == "clicks"
    assert card["constraints"]["judgements"] == 2
    assert "2 marks on the metric 'plain'" in card["notes"][-1]
    assert card["authors"] == ["ann"]
    # Notes stand in reports, names may not.
    assert "ann" not in [
        word for fact in card_facts(MetricCard.from_json(card)) for word in fact.value.split()
    ]
    session = open_refinement(table, "plain")
    taught = session.embedded(np.arange(len(session.loaded.rows)), refined.entries, 1.0)
    query = session.position_of("t/c0")
    away = {session.case_at(place): ((row - taught[query]) ** 2).sum() for place, row in enumerate(taught)}
    found = nearest_cases(table, "better", Query(case="t/c0"))
    np.testing.assert_allclose(
        [line.distance for line in found.ranked], [away[line.case_id] for line in found.ranked]
    )
    with Library.open(table) as opened:
        record = opened.metric("better")
        judged = {opened.catalogue.row_of(case) for case in ("t/c0", "t/c9", "t/c4")}
        assert judged <= set(record.training.tolist())
        assert record.scores is None
        assert load_metric(record.file).card.scores == {}
    assert 0.0 <= score_metric(table, "better")["auc"] <= 1.0


def test_a_region_and_an_image_from_outside_are_queries_too(images, tmp_path):
    outside = tmp_path / "outside.png"
    shutil.copy(sorted((images.parent / "images" / "level").iterdir())[0], outside)
    cases = ranked(rank_cases(images, Search("plain", Query(image=outside), "l")))
    region = Region(2, 2, 12, 12)
    for query in (
        Query(image=outside),
        Query(image=outside, region=region),
        Query(case=cases[0], region=region),
    ):
        request = Search("plain", query, "l")
        refine_metric.add_judgements(images, request, [comparison_judgement(request, cases[-1], cases[1])])
    drop_caches()
    last = rank_cases(images, request)
    assert len({entry.judgement.query_key for entry in last.entries}) == 3
    assert {entry.judgement.kind for entry in last.entries} == {JudgementKind.CLOSER}
    outside.unlink()
    drop_caches()
    gone = rank_cases(images, request)
    assert len(gone.entries) == 3


def test_loaded_metrics_stay_current_only_through_own_writes(table):
    """A write by somebody else in the meantime is not passed over."""
    loaded = open_metrics_module.open_metric(table, "plain")
    with Library.open(table) as other, other.catalogue.transaction() as connection:
        connection.exec_driver_sql("UPDATE cases SET finding='kind 1' WHERE case_id='t/c4'")
    with open_metrics_module.without_reload(table):
        pass
    assert open_metrics_module.open_metric(table, "plain") is not loaded


def test_judgements_made_together_are_undone_together(table):
    search = request_for()
    refine_metric.add_judgements(table, search, [likeness_judgement(search, "t/c9", True)])
    both = refine_metric.add_judgements(
        table, search, [likeness_judgement(search, case, False) for case in ("t/c4", "t/c6")]
    )
    undone = refine_metric.undo_judgements(table, search)
    assert [entry.undone is None for entry in undone.entries] == [True, False, False]
    assert ranked(refine_metric.redo_judgements(table, search)) == ranked(both)


def test_a_second_click_on_a_case_replaces_the_first(table):
    search = request_for()
    first = (
        refine_metric.add_judgements(table, search, [likeness_judgement(search, "t/c9", True)]).entries[0].id
    )
    changed = refine_metric.add_judgements(
        table, search, [likeness_judgement(search, "t/c9", False)], replaced=[first]
    )
    assert changed.contradictions == ()
    assert [(entry.judgement.kind, entry.undone is None) for entry in changed.entries] == [
        (JudgementKind.ALIKE, False),
        (JudgementKind.NOT_ALIKE, True),
    ]
    with pytest.raises(BadArguments, match="no mark 999"):
        refine_metric.add_judgements(
            table, search, [likeness_judgement(search, "t/c8", True)], replaced=[999]
        )
    assert len(refine_metric.undo_judgements(table, search).entries) == 2


def test_why_a_metric_cannot_follow_clicks_is_known_before_one_is_made(table):
    assert refine_metric.refusal(table, "plain") is None
    refused = refine_metric.refusal(table, "city")
    assert "no coordinates" in refused.message
    assert refused.hint


def test_influence_names_the_case_that_moved_most(table):
    search = request_for()
    refine_metric.add_judgements(
        table, search, [comparison_judgement(search, f"t/c{n}", f"t/c{n + 1}") for n in range(10, 40, 2)]
    )
    found = refine_metric.influence(table, search)
    shown = ranked(rank_cases(table, search))
    with Library.open(table, writable=False) as opened:
        ids = {int(row.id): row.case_id for row in opened.catalogue.all_cases()}
    assert any(one.moved for one in found)
    for one in found:
        assert 0 <= one.moved <= 20
        assert 1 <= one.rank <= 20
        assert ids[one.most_moved] in ids.values()
    assert len(shown) == 20


def test_the_held_out_score_says_what_it_was_measured_on(table):
    search = request_for()
    before = refine_metric.held_out_score(table, search)
    assert before.accuracy == before.before
    assert before.interval[0] <= before.accuracy <= before.interval[1]
    assert before.measured_on == "held-out patients"
    refine_metric.add_judgements(
        table, search, [comparison_judgement(search, f"t/c{n}", f"t/c{n + 1}") for n in range(10, 40, 2)]
    )
    after = refine_metric.held_out_score(table, search)
    assert after.cases < before.cases


def test_a_thousand_contradictory_clicks_still_give_a_metric(table):
    """Every pair is judged both ways, in circles too: nothing becomes infinite or negative."""
    search = request_for()
    cases = [f"t/c{n}" for n in range(2, 80)]
    made = [likeness_judgement(search, case, alike) for case in cases for alike in (True, False)]
    rng = np.random.default_rng(0)
    while len(made) < 1000:
        one, two = rng.choice(cases, 2, replace=False)
        made += [comparison_judgement(search, one, two), comparison_judgement(search, two, one)]
    refined = refine_metric.add_judgements(table, search, made)
    assert len(refined.contradictions) > 50
    distances = np.array([line.distance for line in refined.result.ranked])
    assert np.isfinite(distances).all()
    assert (distances >= 0.0).all()
    session = open_refinement(table, "plain")
    form = session.form(session.loaded.ledger(search.ledger).in_force, 1.0)
    assert np.linalg.eigvalsh(form.dense()).min() >= -1e-9
    assert np.isfinite(form.dense()).all()


class EndsAt(Reporter):
    """Cancels at the given check."""

    def __init__(self, check):
        self.checks, self.check = 0, check

    def check_cancelled(self):
        self.checks += 1
        if self.checks == self.check:
            raise Cancelled


def test_a_mark_ends_the_score_of_the_held_out_cases_at_any_of_its_steps(table, monkeypatch):
    # A judgement waits for no more than a step.
    monkeypatch.setattr(catalogue, "_CASES_AT_ONCE", 20)
    monkeypatch.setattr(refinement_session, "_AT_ONCE", 20)
    request = request_for()
    refine_metric.add_judgements(table, request, [likeness_judgement(request, "t/c9", True)])
    counter = EndsAt(0)
    score = refine_metric.held_out_score(table, request, reporter=counter)
    assert score is not None
    # Three parts of the cases into coordinates, three to see who belongs together, and the two accuracies.
    assert counter.checks >= 3 + 3 + 2
    for check in range(1, counter.checks + 1):
        close_loaded_metrics()
        with pytest.raises(Cancelled):
            refine_metric.held_out_score(table, request, reporter=EndsAt(check))
        assert refine_metric.held_out_score(table, request) == score


def test_a_mark_asks_the_catalogue_a_few_times_whatever_the_number_of_ranked_cases(table):
    request = request_for()
    shown = ranked(rank_cases(table, request, k=200))
    for case in shown[:3]:
        refine_metric.add_judgements(table, request, [likeness_judgement(request, case, True)], k=200)
    statements = []
    engine = open_metrics_module.open_metric(table, "plain").library.catalogue.engine
    sa.event.listen(engine, "before_cursor_execute", lambda *event: statements.append(event[2]))
    refine_metric.add_judgements(table, request, [likeness_judgement(request, shown[3], False)], k=200)
    # The row of the case, and the judgement itself.
    assert len([one for one in statements if not one.startswith("BEGIN")]) <= 2, statements
