"""The ranking of one search in the order that its marks give."""

from __future__ import annotations

import json
import shutil
from dataclasses import replace

import numpy as np
import pytest

from semblance.core.errors import BadArguments, BadInput
from semblance.core.library.library import Library
from semblance.core.retrieval import feedback_scores
from semblance.core.searches.feedback.judgements import QueryMarks, comparison_judgement, likeness_judgement
from semblance.core.searches.query import Query
from semblance.core.searches.search import Search, new_ledger
from semblance.core.workflows.searches.explain_distance import nearest_mark
from semblance.core.workflows.searches.feedback import refine_metric
from semblance.core.workflows.searches.open_metrics import close_loaded_metrics, open_metric
from semblance.core.workflows.searches.rank_cases import nearest_cases, rank_cases
from semblance.core.workflows.searches.saved_searches import (
    branch,
    last_search,
    reopen,
    save,
    save_current,
    search_record,
)
from tests.helpers.ranked_searches import ids, ranked


@pytest.fixture
def table(eighty):
    return eighty


def search_for(metric="plain", **more) -> Search:
    return Search(metric, Query(case="t/c0"), "mine", **more)


def mark(table, search, liked=(), disliked=(), **more):
    judgements = [likeness_judgement(search, case, True) for case in liked]
    judgements += [likeness_judgement(search, case, False) for case in disliked]
    return refine_metric.add_judgements(table, search, judgements, k=100, **more)


@pytest.mark.parametrize("metric", ["plain", "bits", "city"])
def test_marks_give_the_order_of_the_scores_and_keep_the_distances(table, metric):
    loaded = open_metric(table, metric)
    before = nearest_cases(table, metric, Query("t/c0"), k=100)
    result = nearest_cases(table, metric, Query("t/c0"), k=100, like=("t/c20", "t/c9"), unlike=("t/c6",))
    places = {case: loaded.position_of(loaded.cases.row_of(case)) for case in ("t/c0", *ids(before))}
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
    result = nearest_cases(table, "plain", Query("t/c0"), k=100, like=("t/c20",), unlike=("t/c6",))
    marks = result.marks
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
    result = nearest_cases(table, "plain", Query("t/c0"), k=100, like=("t/c20", "t/c9"), unlike=("t/c6",))
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
    assert ranked(refine_metric.undo_judgements(table, search, k=100)) == ranked(one)
    assert ranked(refine_metric.redo_judgements(table, search, k=100)) == ranked(two)
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
    marks = {"like": ("t/c20",), "unlike": ("t/c6",)}
    hidden = nearest_cases(table, "plain", Query("t/c10"), k=100, **marks)
    assert not {"t/c10", "t/c11"} & set(ids(hidden))
    assert hidden.same_patient == 1
    shown = nearest_cases(table, "plain", Query("t/c10"), k=100, hide_same_patient=False, **marks)
    assert "t/c11" in ids(shown)
    various = nearest_cases(table, "plain", Query("t/c10"), k=10, diverse=0.5, **marks)
    assert ids(various)[0] == ids(hidden)[0]
    assert ids(various) != ids(hidden)[:10]


def test_what_cannot_be_marked_is_named(table):
    def ask(like, unlike):
        return nearest_cases(table, "plain", Query("t/c0"), like=like, unlike=unlike)

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
    assert ids(nearest_cases(table, "plain", Query("t/c0"), k=100, like=("t/c20",))) == ranked(found)


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
    refine_metric.add_judgements(table, search, [comparison_judgement(search, "t/c9", "t/c4")])
    found = refine_metric.influence(table, search)
    entries = rank_cases(table, search).entries
    assert [one.entry for one in found] == [entry.id for entry in entries]
    assert all(one.moved for one in found[:2])


@pytest.mark.parametrize("metric", ["plain", "bits", "city"])
def test_marks_given_with_the_search_count_as_those_of_the_ledger(table, metric):
    search = search_for(metric, like=("t/c20", "t/c0"), unlike=("t/c6",))
    given = rank_cases(table, search, k=100)
    assert given.result.marks == QueryMarks(("t/c20",), ("t/c6",))
    assert ranked(rank_cases(table, replace(search, strength=0.0), k=100)) == ids(
        nearest_cases(table, metric, Query("t/c0"), k=100)
    )
    saved = mark(table, search_for(metric), ["t/c20"], ["t/c6"])
    assert ranked(saved) == ranked(given)
    # A mark made later counts.
    judged = mark(table, search, ["t/c6"], ["t/c20"])
    assert judged.result.marks == QueryMarks(("t/c6",), ("t/c20",))


def test_given_marks_with_judgements_that_refine_the_metric(table):
    mark(table, Search("plain", Query(case="t/c40"), "mine"), ["t/c20"], ["t/c6"])
    result = rank_cases(table, search_for(unlike=("t/c9",)), k=100)
    assert ranked(result)[-1] == "t/c9"
    assert ranked(result)[:-1] != [
        case for case in ranked(rank_cases(table, search_for(), k=100)) if case != "t/c9"
    ]


@pytest.fixture
def marked_image(images):
    """A library, its case ids, and an image that is not in it."""
    with Library.open(images) as opened:
        names = sorted(r.case_id for r in opened.catalogue.all_cases())
    file = images.parent / "outside.png"
    shutil.copy(images.parent / "images" / names[7].partition("/")[2], file)
    return images, names, file


def test_an_image_from_outside_is_marked_and_orders_the_search(marked_image):
    library, names, file = marked_image
    search = Search("plain", Query(case=names[0]), "mine", hide_same_patient=False)
    plain = ranked(rank_cases(library, search, k=11))
    marked = mark(library, search, [str(file)])
    assert marked.left_out == ()
    assert marked.result.marks == QueryMarks((str(file),))
    save(library, "marked", search_record(search, marked, {}))
    opened = reopen(library, "marked")
    assert (opened.notes, opened.is_current) == ((), True)
    assert ranked(marked) != plain
    assert ranked(refine_metric.undo_judgements(library, search, k=11)) == plain
    # On another query it refines the metric.
    other = Search("plain", Query(case=names[3]), "mine")
    before = [line.distance for line in rank_cases(library, search, k=11).result.ranked]
    mark(library, other, [str(file)], [names[9]])
    assert [line.distance for line in rank_cases(library, search, k=11).result.ranked] != before
    saved = refine_metric.save_refined(library, search, "refined")
    assert saved["name"] == "refined"
    with Library.open(library) as opened:
        training = opened.metric("refined").training
        # The image is a copy of this case, which the refined metric knows thereby.
        assert opened.catalogue.row_of(names[7]) in training


def test_a_missing_marked_image_is_refused_and_later_left_out(marked_image):
    library, names, file = marked_image
    search = Search("plain", Query(case=names[0]), "mine")
    plain = ranked(rank_cases(library, search, k=11))
    with pytest.raises(BadInput):
        mark(library, search, [str(file.with_name("away.png"))])
    mark(library, search, [str(file)])
    file.unlink()
    result = rank_cases(library, search, k=11)
    assert ranked(result) == plain
    assert "outside.png" in "".join(result.left_out)


def test_examples_of_the_version_before_become_marks_when_a_search_is_opened(marked_image):
    library, names, file = marked_image
    search = Search("plain", Query(case=names[0]), new_ledger())
    mark(library, search, [], [names[4]])
    given = replace(search, like=(names[3], names[4], str(file)), unlike=(names[5],))
    expected = ranked(rank_cases(library, given, k=11))
    stored = search_record(given, None, {}, "old")
    save(library, "old", stored)
    save_current(library, stored)
    close_loaded_metrics()
    for opened in (reopen(library, "old"), last_search(library), reopen(library, "old")):
        assert opened.search == search
        found = rank_cases(library, opened.search, k=11)
        assert ranked(found) == expected
        assert found.result.marks == QueryMarks((names[3], str(file)), (names[4], names[5]))
    # Nobody else changed it meanwhile.
    save_current(library, stored | {"like": [], "unlike": []}, seen=[search.to_json()])
