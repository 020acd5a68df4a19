"""Why a case has its rank: the contributions add up to the shown distance."""

from __future__ import annotations

import dataclasses
import shutil

import pytest

from semblance.core.searches.feedback.judgements import comparison_judgement
from semblance.core.searches.query import Query
from semblance.core.searches.search import Search
from semblance.core.workflows.features.extract_features import extract_features
from semblance.core.workflows.library.import_source import import_source
from semblance.core.workflows.library.library_snapshot import read_snapshot
from semblance.core.workflows.metrics.train_metric import train_metric
from semblance.core.workflows.metrics.train_request import TrainRequest
from semblance.core.workflows.searches.explain_distance import (
    MOVED,
    explain_distance,
    most_different_groups,
    short_explanations,
)
from semblance.core.workflows.searches.feedback import refine_metric
from semblance.core.workflows.searches.rank_cases import rank_cases
from tests.helpers.images import striped_folder
from tests.helpers.tables import PLAIN, table_library

METRICS = ("plain", "bits", "votes", "kernel")


@pytest.fixture(scope="module")
def made(tmp_path_factory):
    folder = tmp_path_factory.mktemp("why")
    library = table_library(
        folder,
        n=80,
        metrics=(
            PLAIN,
            TrainRequest("bdm", "bits", settings={"rounds": 20}),
            TrainRequest("bdm_kernel", "kernel", settings={"rounds": 8}),
        ),
    )
    votes = {"rounds": 8, "weak": "binary", "readout": "votes"}
    train_metric(library, TrainRequest("metricboost", "votes", settings=votes))
    return folder


@pytest.fixture
def table(made, tmp_path):
    return shutil.copytree(made, tmp_path / "own") / "lib.semblance"


def check(library, search, places=(0, 3, 11)):
    ranked = rank_cases(library, search, k=12).result.ranked
    found = []
    for place in places:
        line = ranked[place]
        explanation = explain_distance(library, search, line.case_id, shown=line.distance)
        assert explanation.case == line.case_id
        assert explanation.distance == pytest.approx(line.distance, rel=1e-9, abs=1e-12)
        assert sum(part.amount for part in explanation.groups) == pytest.approx(
            line.distance, rel=1e-9, abs=1e-12
        )
        assert sum(share.amount for share in explanation.shares) == pytest.approx(
            line.distance, rel=1e-9, abs=1e-12
        )
        assert explanation.sentence.endswith(".")
        found.append(explanation)
    return found


@pytest.mark.parametrize("metric", METRICS)
def test_parts_sum_to_the_distance_that_is_shown(table, metric):
    for explanation in check(table, Search(metric, Query("t/c0"))):
        assert [part.name for part in explanation.groups] == [f"f{n}" for n in range(5)]
        assert not any(part.left_out for part in explanation.groups)


@pytest.mark.parametrize("metric", METRICS)
def test_what_is_left_out_is_named_and_contributes_nothing(table, metric):
    for explanation in check(table, Search(metric, Query("t/c0"), without=("f3",))):
        (out,) = [part for part in explanation.groups if part.left_out]
        assert (out.name, out.amount) == ("f3", 0.0)
        assert "f3" not in explanation.sentence


@pytest.mark.parametrize("metric", ["plain", "bits", "kernel"])
def test_they_do_so_when_clicks_changed_the_metric(table, metric):
    search = Search(metric, Query("t/c0"), "mine")
    refine_metric.add_judgements(
        table, search, [comparison_judgement(search, f"t/c{n}", f"t/c{n + 1}") for n in range(10, 40, 2)]
    )
    check(table, search)
    check(table, dataclasses.replace(search, strength=0.4))
    check(table, dataclasses.replace(search, without=("f4",)))


def test_what_moved_the_query_is_a_part_of_its_own(table):
    search = Search("plain", Query("t/c0"), concepts=(("high", 1.0),))
    explanation = explain_distance(table, search, "t/c9", shown=7.0)
    assert explanation.groups[-1].name == explanation.shares[-1].name == MOVED
    assert not explanation.groups[-1].group
    assert explanation.distance == pytest.approx(7.0, rel=1e-12)
    assert sum(part.amount for part in explanation.groups) == pytest.approx(7.0, rel=1e-9)


def test_reasons_of_several_cases_are_those_of_each(table):
    search = Search("bits", Query("t/c0"))
    cases = ["t/c5", "t/c8"]
    for case, reason in zip(cases, short_explanations(table, search, cases), strict=True):
        explanation = explain_distance(table, search, case)
        assert reason.sentence == explanation.sentence
        assert dict(reason.parts) == pytest.approx(
            {p.name: p.amount for p in explanation.groups if p.amount}, rel=1e-9
        )
    assert short_explanations(table, search, []) == []


def test_a_group_of_several_features_shows_which_of_them_differ(tmp_path):
    images = striped_folder(tmp_path / "images", n=12)
    library = tmp_path / "images.semblance"
    import_source(images, library)
    extract_features(library, "colour_edge_texture")
    train_metric(library, TrainRequest("euclidean", "plain"))
    search = Search("plain", Query(image=images / "level" / "p000.png"))
    other = rank_cases(library, search).result.ranked[-1]
    explanation = explain_distance(library, search, other.case_id)
    assert [part.name for part in explanation.groups] == ["Colour", "Edge direction", "Texture"]
    assert sum(part.amount for part in explanation.groups) == pytest.approx(other.distance, rel=1e-9)
    assert any(part.detail.startswith("Most apart, in deviations: ") for part in explanation.groups)


@pytest.mark.parametrize(("columns", "text"), [(1, ""), (2, "f1")])
def test_the_largest_difference_is_named_only_among_several_groups(tmp_path, columns, text):
    numbers = [(row % 7, row * row)[:columns] for row in range(20)]
    names = ["case_id", "f0", "f1"][: columns + 1]
    lines = [[*names, "label"], *([f"c{row}", *values, "x"] for row, values in enumerate(numbers))]
    (tmp_path / "t.csv").write_text("\n".join(",".join(map(str, line)) for line in lines))
    library = tmp_path / "lib.semblance"
    import_source(tmp_path / "t.csv", library)
    extract_features(library, "raw")
    train_metric(library, PLAIN)
    assert most_different_groups(library, Search(PLAIN.name, Query(case="t/c0")), ["t/c19"]) == [text]


def test_no_group_is_called_close_or_far_in_a_small_library(tmp_path):
    """Of two cases, the other one is not farther than most."""
    library = tmp_path / "two.semblance"
    source = tmp_path / "two.csv"
    source.write_text("f0,f1,label\n0,1,a\n2,5,b\n1,3,a\n")
    import_source(source, library)
    extract_features(library, "raw")
    train_metric(library, TrainRequest("euclidean", "plain"))
    search = Search("plain", Query(read_snapshot(library).columns.ids[0]))
    for case in rank_cases(library, search, k=2).result.ranked:
        assert explain_distance(library, search, case.case_id).sentence == ""


def test_the_query_is_not_counted_among_the_cases_that_another_is_nearer_than(tmp_path):
    (tmp_path / "t.csv").write_text("case_id,f0,label\n" + "".join(f"c{n},{1.5 * n},x\n" for n in range(20)))
    library = tmp_path / "lib.semblance"
    import_source(tmp_path / "t.csv", library)
    extract_features(library, "raw")
    train_metric(library, PLAIN)
    nearest = explain_distance(library, Search(PLAIN.name, Query(case="t/c0")), "t/c1")
    assert nearest.sentence == "Nearer to the query in f0 than 97 % of the library's cases."
