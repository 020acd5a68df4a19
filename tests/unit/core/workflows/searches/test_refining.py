"""Refining by clicks through the calls a window makes: ranking, ledger, questions, saving."""

from __future__ import annotations

import dataclasses
import shutil

import numpy as np
import pytest

from semblance.core.errors import BadArguments, BadInput
from semblance.core.imaging.region import Region
from semblance.core.library.library import Library
from semblance.core.metrics.card import MetricCard
from semblance.core.metrics.relevance_feedback.feedback_space import FeedbackSpace
from semblance.core.metrics.storage import load_metric
from semblance.core.reports.card_facts import card_facts
from semblance.core.searches.contradictions import Reason
from semblance.core.searches.judgement import Kind
from semblance.core.searches.query import Query
from semblance.core.searches.search import Search
from semblance.core.workflows.metrics.train_metric import score_metric
from semblance.core.workflows.searches import desk as desk_module
from semblance.core.workflows.searches import refining
from semblance.core.workflows.searches.asking import ask
from semblance.core.workflows.searches.desk import close_desks, slim_desks
from semblance.core.workflows.searches.refining import closer, thumb
from semblance.core.workflows.searches.refining_desk import bench_for
from semblance.core.workflows.searches.searching import search
from tests.helpers.asked import ranked
from tests.helpers.libraries import raw


@pytest.fixture
def table(eighty):
    return eighty


def request_for(metric="plain", case="t/c0", **more) -> Search:
    return Search(metric, Query(case=case), "mine", **more)


def test_it_begins_with_the_metric_as_it_is(table):
    refined = ask(table, request_for(), k=10)
    assert ranked(refined) == [
        line.case_id for line in search(table, "plain", Query(case="t/c0"), k=10).ranked
    ]
    assert refined.shifts == ()
    assert refined.entries == ()
    assert refined.trust == 0.0


@pytest.mark.parametrize("metric", ["plain", "bits"])
def test_how_held_out_cases_lie_is_not_told_to_what_is_scored_on_them(table, metric):
    bench = bench_for(table, metric)
    rows = bench.desk.stepped.rows()
    assert 1 < bench.trained.sum() < len(rows)
    seen = FeedbackSpace.of(bench.desk.metric.distance, rows[bench.trained])
    assert np.array_equal(bench.coordinates, seen.coordinates(rows))
    told = FeedbackSpace.of(bench.desk.metric.distance, rows)
    assert not np.allclose(bench.coordinates, told.coordinates(rows))


@pytest.mark.parametrize("metric", ["plain", "bits"])
def test_shifts_are_counted_from_the_ranking_that_was_seen_before_the_first_click(table, metric):
    request = dataclasses.replace(request_for(metric), fold_duplicates=False)
    before = ranked(ask(table, request, k=200))
    said = [thumb(request, before[-1 - n], n % 2 == 0) for n in range(6)]
    refined = refining.judge(table, request, said, k=200)
    now = ranked(refined)
    assert now != before
    assert list(refined.shifts) == [before.index(case) - rank for rank, case in enumerate(now)]


def test_any_click_is_undone_and_made_again(table):
    request = request_for()
    start = ranked(ask(table, request))
    one = refining.judge(table, request, [thumb(request, start[5], True), thumb(request, start[0], False)])
    two = refining.judge(table, request, [closer(request, start[7], start[1])])
    first = two.entries[0].id
    without = refining.undo(table, request, [first])
    assert [entry.undone is None for entry in without.entries] == [False, True, True]
    assert ranked(refining.redo(table, request, [first])) == ranked(two)
    assert ranked(refining.undo(table, request)) == ranked(one)
    assert ranked(refining.redo(table, request)) == ranked(two)
    assert ranked(refining.reset(table, request)) == start
    with pytest.raises(BadArguments, match="no judgement 999"):
        refining.undo(table, request, [999])


@pytest.mark.parametrize("metric", ["plain", "bits"])
def test_strength_leads_from_the_metric_to_the_clicks(table, metric):
    request = request_for(metric)
    start = ask(table, request)
    full = refining.judge(
        table, request, [closer(request, f"t/c{n}", f"t/c{n + 1}") for n in range(10, 60, 2)]
    )
    assert ranked(full) != ranked(start)
    assert ranked(ask(table, dataclasses.replace(request, strength=0.0))) == ranked(start)


def test_a_click_lays_nothing_out_anew(table):
    request = request_for()
    bench = bench_for(table, "plain")
    refining.judge(table, request, [thumb(request, "t/c9", True)])
    refining.undo(table, request)
    assert bench_for(table, "plain") is bench
    with Library.open(table) as other, other.catalogue.writing() as connection:
        connection.exec_driver_sql("UPDATE cases SET finding='kind 1' WHERE case_id='t/c4'")
    assert bench_for(table, "plain") is not bench


def test_another_process_goes_on_where_this_one_was(table):
    request = request_for()
    before = refining.judge(table, request, [thumb(request, "t/c9", True), thumb(request, "t/c4", False)])
    close_desks()
    again = ask(table, request)
    assert again.entries == before.entries
    assert ranked(again) == ranked(before)
    other = ask(table, dataclasses.replace(request, ledger="another"))
    assert other.entries == ()


def test_what_disagrees_is_told_with_its_clicks(table):
    request = request_for()
    refined = refining.judge(table, request, [thumb(request, "t/c9", True), thumb(request, "t/c9", False)])
    (told,) = refined.contradictions
    assert told.reason == Reason.BOTH_WAYS
    assert told.entries == tuple(entry.id for entry in refined.entries)
    own = refining.judge(table, request, [thumb(request, "t/c1", False)])
    assert Reason.OWN_PATIENT in {one.reason for one in own.contradictions}


def test_bad_clicks_are_refused_and_not_kept(table):
    request = request_for()
    with pytest.raises(BadInput, match="against itself"):
        thumb(request, "t/c0", True)
    with pytest.raises(BadInput, match="no case 't/gone'"):
        refining.judge(table, request, [thumb(request, "t/c3", True), thumb(request, "t/gone", True)])
    assert ask(table, request).entries == ()
    city = request_for("city")
    with pytest.raises(BadInput, match="no coordinates"):
        refining.judge(table, city, [thumb(city, "t/c3", True)])
    assert ask(table, city).entries == ()


def test_a_metric_that_clicks_cannot_refine_asks_without_them_and_says_why(table):
    refining.judge(table, request_for(), [thumb(request_for(), "t/c9", True)])
    asked = ask(table, request_for("city"))
    assert ranked(asked) == [line.case_id for line in search(table, "city", Query(case="t/c0")).ranked]
    assert len(asked.entries) == 1
    assert "no coordinates" in str(asked.refused)


def test_a_case_that_is_gone_stays_in_the_ledger_and_teaches_nothing(table):
    request = request_for()
    refining.judge(table, request, [closer(request, "t/c9", "t/c4")])
    with raw(table) as connection:
        connection.execute("UPDATE judgements SET other='t/gone'")
    slim_desks()
    refined = ask(table, request)
    assert refined.entries[0].judgement.other == "t/gone"
    assert not len(bench_for(table, "plain").form(refined.entries, 1.0).gains)


def test_influence_names_every_judgement_in_force(table):
    request = request_for()
    refined = refining.judge(table, request, [thumb(request, "t/c9", True), thumb(request, "t/c4", False)])
    refining.undo(table, request, [refined.entries[0].id])
    assert [one.entry for one in refining.influence(table, request)] == [refined.entries[1].id]


def test_the_held_out_score_leaves_out_what_was_judged(table):
    request = request_for()
    start = refining.held_out_accuracy(table, request)
    assert 0.0 <= start <= 1.0
    with Library.open(table, writable=False) as opened:
        fresh = {row.case_id for row in opened.catalogue.all_cases()} - {"t/c0", "t/c1"}
    refining.judge(table, request, [thumb(request, case, True) for case in sorted(fresh)])
    assert refining.held_out_accuracy(table, request) is None


def test_it_is_saved_as_a_metric_with_its_card(table):
    request = request_for()
    with pytest.raises(BadInput, match="nothing to save"):
        refining.save_refined(table, request, "better")
    refined = refining.judge(
        table, request, [thumb(request, "t/c9", True), thumb(request, "t/c4", False)], author="ann"
    )
    with pytest.raises(BadInput, match="came from"):
        refining.save_refined(table, request, "plain")
    card = refining.save_refined(table, request, "better")
    assert card["learner"] == "clicks"
    assert card["constraints"]["judgements"] == 2
    assert "2 judgements on the metric 'plain'" in card["notes"][-1]
    assert card["authors"] == ["ann"]
    # Notes stand in reports, names may not.
    assert "ann" not in [
        word for fact in card_facts(MetricCard.from_json(card)) for word in fact.value.split()
    ]
    found = search(table, "better", Query(case="t/c0"))
    assert [line.case_id for line in found.ranked] == ranked(refined)
    np.testing.assert_allclose(
        [line.distance for line in found.ranked],
        [line.distance for line in refined.result.ranked],
        rtol=1e-9,
    )
    with Library.open(table) as opened:
        record = opened.metric("better")
        judged = {opened.catalogue.row_of(case) for case in ("t/c0", "t/c9", "t/c4")}
        assert judged <= set(record.training.tolist())
        assert record.scores is None
        assert load_metric(record.file).card.scores == {}
    assert 0.0 <= score_metric(table, "better")["auc"] <= 1.0


def test_a_region_and_a_image_from_outside_are_queries_too(images, tmp_path):
    outside = tmp_path / "outside.png"
    shutil.copy(sorted((images.parent / "images" / "level").iterdir())[0], outside)
    cases = ranked(ask(images, Search("plain", Query(image=outside), "l")))
    region = Region(2, 2, 12, 12)
    for query in (
        Query(image=outside),
        Query(image=outside, region=region),
        Query(case=cases[0], region=region),
    ):
        request = Search("plain", query, "l")
        refining.judge(images, request, [closer(request, cases[-1], cases[1])])
    slim_desks()
    last = ask(images, request)
    assert len({entry.judgement.asked for entry in last.entries}) == 3
    assert {entry.judgement.kind for entry in last.entries} == {Kind.CLOSER}
    outside.unlink()
    slim_desks()
    gone = ask(images, request)
    assert len(gone.entries) == 3


def test_desks_stay_current_only_through_own_writes(table):
    """A write by somebody else in the meantime is not passed over."""
    desk = desk_module.desk_for(table, "plain")
    with Library.open(table) as other, other.catalogue.writing() as connection:
        connection.exec_driver_sql("UPDATE cases SET finding='kind 1' WHERE case_id='t/c4'")
    with desk_module.own_write(table):
        pass
    assert desk_module.desk_for(table, "plain") is not desk


def test_what_was_said_together_is_undone_together(table):
    search = request_for()
    refining.judge(table, search, [thumb(search, "t/c9", True)])
    both = refining.judge(table, search, [thumb(search, case, False) for case in ("t/c4", "t/c6")])
    undone = refining.undo(table, search)
    assert [entry.undone is None for entry in undone.entries] == [True, False, False]
    assert ranked(refining.redo(table, search)) == ranked(both)


def test_a_change_of_mind_takes_the_place_of_the_first_click(table):
    search = request_for()
    first = refining.judge(table, search, [thumb(search, "t/c9", True)]).entries[0].id
    changed = refining.judge(table, search, [thumb(search, "t/c9", False)], instead=[first])
    assert changed.contradictions == ()
    assert [(entry.judgement.kind, entry.undone is None) for entry in changed.entries] == [
        (Kind.ALIKE, False),
        (Kind.NOT_ALIKE, True),
    ]
    with pytest.raises(BadArguments, match="no judgement 999"):
        refining.judge(table, search, [thumb(search, "t/c8", True)], instead=[999])
    assert len(refining.undo(table, search).entries) == 2


def test_why_a_metric_cannot_follow_clicks_is_known_before_one_is_made(table):
    assert refining.refusal(table, "plain") is None
    refused = refining.refusal(table, "city")
    assert "no coordinates" in refused.message
    assert refused.hint


def test_influence_tells_the_case_it_moved_most(table):
    search = request_for()
    refining.judge(table, search, [closer(search, f"t/c{n}", f"t/c{n + 1}") for n in range(10, 40, 2)])
    found = refining.influence(table, search)
    shown = ranked(ask(table, search))
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
    before = refining.held_out_score(table, search)
    assert before.accuracy == before.before == refining.held_out_accuracy(table, search)
    assert before.interval[0] <= before.accuracy <= before.interval[1]
    assert before.measured_on == "held-out patients"
    refining.judge(table, search, [closer(search, f"t/c{n}", f"t/c{n + 1}") for n in range(10, 40, 2)])
    after = refining.held_out_score(table, search)
    assert after.cases < before.cases


def test_a_thousand_clicks_that_contradict_each_other_leave_a_metric(table):
    """Every pair is judged both ways, in circles too: nothing becomes infinite or negative."""
    search = request_for()
    cases = [f"t/c{n}" for n in range(2, 80)]
    made = [thumb(search, case, alike) for case in cases for alike in (True, False)]
    rng = np.random.default_rng(0)
    while len(made) < 1000:
        one, two = rng.choice(cases, 2, replace=False)
        made += [closer(search, one, two), closer(search, two, one)]
    told = refining.judge(table, search, made)
    assert len(told.contradictions) > 50
    distances = np.array([line.distance for line in told.result.ranked])
    assert np.isfinite(distances).all()
    assert (distances >= 0.0).all()
    bench = bench_for(table, "plain")
    form = bench.form(bench.desk.ledger(search.ledger).in_force, 1.0)
    assert np.linalg.eigvalsh(form.dense()).min() >= -1e-9
    assert np.isfinite(form.dense()).all()
