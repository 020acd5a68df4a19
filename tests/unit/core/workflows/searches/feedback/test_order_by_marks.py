"""The ranking of one search in the order that its marks give."""

from __future__ import annotations

import json
from dataclasses import replace

import numpy as np
import pytest

from semblance.core.errors import BadArguments, BadInput
from semblance.core.imaging.region import Region
from semblance.core.library.library import Library
from semblance.core.retrieval import feedback_scores
from semblance.core.searches.feedback.judgements import QueryMarks
from semblance.core.searches.query import Query
from semblance.core.searches.search import Search
from semblance.core.workflows.searches import refine_metric
from semblance.core.workflows.searches.explain_distance import nearest_mark
from semblance.core.workflows.searches.open_metrics import open_metric
from semblance.core.workflows.searches.rank_cases import nearest_cases, rank_cases
from semblance.core.workflows.searches.refine_metric import comparison_judgement, likeness_judgement
from semblance.core.workflows.searches.saved_searches import branch, reopen, search_record
from tests.helpers.ranked_searches import ids, ranked


@pytest.fixture
def table(eighty):
    return eighty


def search_for(metric="plain", **more) -> Search:
    return Search(metric, Query(case="t/c0"), "mine", **more)


def mark(table, search, liked=(), disliked=(), **more):
    judgements = [likeness_judgement(search, case, True) for case in liked]
    judgements += [likeness_judgement(search, case, False) for case in disliked]
    return refine_metric.judge(table, search, judgements, k=100, **more)


@pytest.mark.parametrize("metric", ["plain", "bits", "city"])
def test_marks_give_the_order_of_the_scores_and_keep_the_distances(table, metric):
    loaded = open_metric(table, metric)
    before = nearest_cases(table, metric, Query("t/c0"), k=100)
    marks = QueryMarks(("t/c20", "t/c9"), ("t/c6",))
    result = nearest_cases(table, metric, Query("t/c0"), k=100, marks=marks)
    places = {case: loaded.place_of(loaded.cases.row_of(case)) for case in ("t/c0", *ids(before))}
    base = loaded.index.distances(loaded.embedding[places["t/c0"]], np.arange(len(loaded.rows)))
    scores = feedback_scores(
        loaded.embedding, places["t/c0"], [places["t/c20"], places["t/c9"]], [places["t/c6"]], base=base
    )
    assert sorted(ids(result)) == sorted(ids(before))
    shown = [scores[places[case]] for case in ids(result)]
    assert shown == sorted(shown, reverse=True)
    assert result.ranked[-1].case_id == "t/c6"
    assert ids(result) != ids(before)
    distances = {line.case_id: line.distance for line in before.ranked}
    assert {line.case_id: line.distance for line in result.ranked} == distances


def test_a_sentence_names_the_nearest_marked_case_and_none_without_marks(table):
    marks = QueryMarks(("t/c20",), ("t/c6",))
    result = nearest_cases(table, "plain", Query("t/c0"), k=100, marks=marks)
    said = {
        case.case_id: str(nearest_mark(case, marks, {"t/c20": "rank 1", "t/c6": ""}.__getitem__))
        for case in result.ranked
    }
    assert said.pop("t/c20") == said.pop("t/c6") == ""
    liked = {case.case_id for case in result.ranked if case.nearer_to_liked}
    assert liked & set(said)
    assert set(said) - liked
    for case, sentence in said.items():
        expected = "Of the marked cases, nearest to rank 1, which is marked more like this."
        assert sentence == (expected if case in liked else "")
    assert nearest_mark(nearest_cases(table, "plain", Query("t/c0")).ranked[0], QueryMarks(), str) == ""


def test_every_result_names_the_marked_cases_it_is_nearest_to(table):
    marks = QueryMarks(("t/c20", "t/c9"), ("t/c6",))
    result = nearest_cases(table, "plain", Query("t/c0"), k=100, marks=marks)
    by_id = {line.case_id: line for line in result.ranked}
    assert {line.near_liked for line in result.ranked} == {"t/c20", "t/c9"}
    assert {line.near_disliked for line in result.ranked} == {"t/c6", None}
    # A marked case is near another one, not near itself.
    assert (by_id["t/c20"].near_liked, by_id["t/c6"].near_disliked) == ("t/c9", None)
    assert not all(line.nearer_to_liked for line in result.ranked)
    document = result.to_json()
    json.dumps(document, allow_nan=False)
    assert document["feedback"] == {"liked": ["t/c20", "t/c9"], "disliked": ["t/c6"]}
    assert {line["near_liked"] for line in document["results"]} == {"t/c20", "t/c9"}
    plain = nearest_cases(table, "plain", Query("t/c0")).to_json()
    assert plain["feedback"] == {"liked": [], "disliked": []}
    assert "near_liked" not in plain["results"][0]


def test_the_first_mark_moves_the_search_and_every_step_back_is_exact(table):
    search = search_for()
    before = rank_cases(table, search, k=100)
    one = mark(table, search, ["t/c20"])
    two = mark(table, search, [], ["t/c6"])
    assert len({tuple(ranked(step)) for step in (before, one, two)}) == 3
    assert one.result.marks == QueryMarks(("t/c20",))
    assert two.result.marks == QueryMarks(("t/c20",), ("t/c6",))
    # Before and after.
    assert ranked(rank_cases(table, replace(search, strength=0.0), k=100)) == ranked(before)
    assert list(two.shifts) == [ranked(before).index(case) - rank for rank, case in enumerate(ranked(two))]
    # Undo, and start again.
    assert ranked(refine_metric.undo(table, search, k=100)) == ranked(one)
    assert ranked(refine_metric.redo(table, search, k=100)) == ranked(two)
    assert ranked(refine_metric.clear_marks(table, search, k=100)) == ranked(before)
    assert not any(entry.undone is None for entry in rank_cases(table, search).entries)


def test_a_case_marked_again_counts_as_its_last_mark(table):
    search = search_for()
    mark(table, search, ["t/c20"])
    marks = mark(table, search, [], ["t/c20"]).result.marks
    assert marks == QueryMarks((), ("t/c20",))


def test_marks_of_another_query_refine_the_metric_and_do_not_order_this_search(table):
    other = Search("plain", Query(case="t/c40"), "mine")
    mark(table, other, ["t/c20"], ["t/c6"])
    result = rank_cases(table, search_for(), k=100)
    assert not result.result.marks
    before = rank_cases(table, search_for(strength=0.0), k=100)
    assert [line.distance for line in result.result.ranked] != [
        line.distance for line in before.result.ranked
    ]
    both = mark(table, search_for(), ["t/c9"])
    assert both.result.marks == QueryMarks(("t/c9",))
    assert len(refine_metric.clear_marks(table, search_for()).entries) == 3
    assert ranked(rank_cases(table, search_for(), k=100)) == ranked(result)


def test_strength_goes_from_the_order_of_the_metric_to_that_of_the_marks(table):
    search = search_for()
    after = ranked(mark(table, search, ["t/c20"], ["t/c6", "t/c2"]))
    before = ranked(rank_cases(table, replace(search, strength=0.0), k=100))
    half = ranked(rank_cases(table, replace(search, strength=0.5), k=100))

    def apart(one, other):
        return sum(abs(one.index(case) - other.index(case)) for case in one)

    assert apart(half, before) < apart(after, before)
    assert apart(half, after) < apart(before, after)


def test_patients_and_filters_hold_in_the_order_of_marks(table):
    marks = QueryMarks(("t/c20",), ("t/c6",))
    hidden = nearest_cases(table, "plain", Query("t/c10"), k=100, marks=marks)
    assert not {"t/c10", "t/c11"} & set(ids(hidden))
    assert hidden.same_patient == 1
    shown = nearest_cases(table, "plain", Query("t/c10"), k=100, marks=marks, hide_same_patient=False)
    assert "t/c11" in ids(shown)
    various = nearest_cases(table, "plain", Query("t/c10"), k=10, marks=marks, diverse=0.5)
    assert ids(various)[0] == ids(hidden)[0]
    assert ids(various) != ids(hidden)[:10]


def test_what_cannot_be_marked_is_named(table):
    def ask(*marks):
        return nearest_cases(table, "plain", Query("t/c0"), marks=QueryMarks(*marks))

    with pytest.raises(BadInput, match=r"no cases t/x, t/y in"):
        ask(("t/c3", "t/x"), ("t/y",))
    with pytest.raises(BadArguments, match=r"query t/c0 cannot be marked"):
        ask((), ("t/c0",))
    with pytest.raises(BadArguments, match=r"Marked both .*: t/c3"):
        ask(("t/c3", "t/c4"), ("t/c3",))


def test_a_deleted_marked_case_is_skipped(table):
    search = search_for()
    mark(table, search, ["t/c20"], ["t/c6"])
    with Library.open(table) as library:
        (source,) = library.catalogue.sources()
        library.catalogue.remove(source, [], ["t/c6"])
    found = rank_cases(table, search, k=100)
    assert found.result.marks == QueryMarks(("t/c20",))
    assert ids(nearest_cases(table, "plain", Query("t/c0"), k=100, marks=QueryMarks(("t/c20",)))) == ranked(
        found
    )


def test_a_saved_search_keeps_its_marks(table):
    search = search_for()
    after = mark(table, search, ["t/c20"], ["t/c6"])
    branch(table, "saved", search_record(search, after, {}))
    refine_metric.clear_marks(table, search)
    opened = reopen(table, "saved")
    assert ranked(rank_cases(table, opened.search, k=100)) == ranked(after)


def test_influence_shows_the_effect_of_each_mark(table):
    search = search_for()
    mark(table, search, ["t/c20"], ["t/c6"])
    refine_metric.judge(table, search, [comparison_judgement(search, "t/c9", "t/c4")])
    found = refine_metric.influence(table, search)
    entries = rank_cases(table, search).entries
    assert [one.entry for one in found] == [entry.id for entry in entries]
    assert all(one.moved for one in found[:2])


def cases(*names: str) -> tuple[Query, ...]:
    return tuple(Query(case=name) for name in names)


@pytest.mark.parametrize("metric", ["plain", "bits", "city"])
def test_examples_of_other_cases_count_as_marks(table, metric):
    search = search_for(metric, like=cases("t/c20", "t/c0"), unlike=cases("t/c6"))
    example = rank_cases(table, search, k=100)
    marked = nearest_cases(table, metric, Query("t/c0"), k=100, marks=QueryMarks(("t/c20",), ("t/c6",)))
    assert ranked(example) == ids(marked)
    assert example.result.marks == marked.marks
    assert ranked(rank_cases(table, replace(search, strength=0.0), k=100)) == ids(
        nearest_cases(table, metric, Query("t/c0"), k=100)
    )
    # A mark made later counts.
    judged = mark(table, search, ["t/c6"], ["t/c20"])
    assert judged.result.marks == QueryMarks(("t/c6",), ("t/c20",))


def test_examples_with_judgements_that_refine_the_metric(table):
    mark(table, Search("plain", Query(case="t/c40"), "mine"), ["t/c20"], ["t/c6"])
    search = search_for(unlike=cases("t/c9"))
    result = rank_cases(table, search, k=100)
    assert ranked(result)[-1] == "t/c9"
    assert ranked(result)[:-1] != [
        case for case in ranked(rank_cases(table, search_for(), k=100)) if case != "t/c9"
    ]


def test_examples_from_outside_and_regions_order_the_search(images):
    with Library.open(images) as opened:
        names = sorted(r.case_id for r in opened.catalogue.all_cases())
    file = images.parent / "images" / names[7].partition("/")[2]
    search = Search("plain", Query(case=names[0]), "mine", hide_same_patient=False)
    plain = ranked(rank_cases(images, search, k=11))
    for example in (Query(image=file), Query(case=names[7], region=Region(0, 0, 8, 8))):
        found = rank_cases(images, replace(search, like=(example,)), k=11)
        assert found.left_out == ()
        assert found.result.marks == QueryMarks(liked_images=(example,))
        assert ranked(found) != plain
    # Under a metric that judgements refine, too.
    other = Search("plain", Query(case=names[3]), "mine")
    mark(images, other, [names[5]], [names[9]])
    refined = ranked(rank_cases(images, search, k=11))
    assert ranked(rank_cases(images, replace(search, unlike=(Query(image=file),)), k=11)) != refined


def test_a_missing_example_is_left_out_and_reported(images, tmp_path):
    with Library.open(images) as opened:
        name = min(r.case_id for r in opened.catalogue.all_cases())
    search = Search("plain", Query(case=name))
    gone = (Query(image=tmp_path / "away.png"), Query(case="no/such.png"))
    result = rank_cases(images, replace(search, like=gone), k=11)
    assert ranked(result) == ranked(rank_cases(images, search, k=11))
    assert len(result.left_out) == 2
    assert "away.png" in result.left_out[0]
    assert "no/such.png" in result.left_out[1]
