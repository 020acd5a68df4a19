"""Searching without some groups of features."""

from __future__ import annotations

import dataclasses

import numpy as np
import pytest

from semblance.core.errors import BadArguments
from semblance.core.library.library import Library
from semblance.core.metrics.metric import exclude_feature_groups, explained_groups, load_metric
from semblance.core.metrics.storage import save_metric
from semblance.core.searches.query import Query
from semblance.core.searches.search import Search
from semblance.core.tasks import Cancelled, Reporter
from semblance.core.workflows.metrics.train_metric import train_metric
from semblance.core.workflows.metrics.train_request import TrainRequest
from semblance.core.workflows.searches.embedding_cache import DRAWN
from semblance.core.workflows.searches.explain_distance import explain_distance, preload_feature_groups
from semblance.core.workflows.searches.open_metrics import close_loaded_metrics, open_metric
from semblance.core.workflows.searches.rank_cases import nearest_cases, rank_cases
from tests.helpers.tables import table_library

LEARNERS = {
    "plain": TrainRequest("euclidean", "plain"),
    "projected": TrainRequest("euclidean", "projected", steps="standardise,pca:3"),
    "bits": TrainRequest("bdm_v", "bits", settings={"rounds": 20}),
    "kernel": TrainRequest("bdm_kernel", "kernel", settings={"rounds": 10}),
    "votes": TrainRequest(
        "metricboost", "votes", settings={"rounds": 10, "weak": "binary", "readout": "votes"}
    ),
}


@pytest.fixture(params=LEARNERS)
def metric(request, tmp_path):
    library = table_library(tmp_path)
    train_metric(library, LEARNERS[request.param])
    return library, request.param


def test_the_ranking_is_that_of_equal_values_in_what_is_left_out(metric):
    library, name = metric
    left_out = explained_groups(open_metric(library, name).metric)[:2]
    found = nearest_cases(library, name, Query("t/c0"), k=1000, without=left_out, hide_same_patient=False)
    with Library.open(library) as opened:
        rows, values = opened.features.read(opened.features.get(None))
        details = opened.catalogue.details(rows.tolist())
        whole = load_metric(opened.metric(name).file)
    values = values.astype(np.float64)
    values[:, np.isin(whole.feature_groups, left_out)] = np.nan
    expected = dict(
        zip(
            (details[row].case_id for row in rows.tolist()),
            whole.distances(values[:1], values)[0],
            strict=True,
        )
    )
    distances = [case.distance for case in found.ranked]
    assert len(found.ranked) == 59
    np.testing.assert_allclose(
        distances, [expected[case.case_id] for case in found.ranked], rtol=1e-9, atol=1e-12
    )
    assert distances == sorted(distances)


def test_only_the_whole_metric_is_stored_on_disk_and_its_loaded_metric_is_not_changed(metric):
    library, name = metric
    before = nearest_cases(library, name, Query("t/c0"), k=1000)
    files = sorted(path.name for path in library.rglob("*.embedding"))
    group = explained_groups(open_metric(library, name).metric)[:1]
    blind = open_metric(library, name, without=group)
    assert blind is open_metric(library, name, without=group)
    assert sorted(path.name for path in library.rglob("*.embedding")) == files
    again = nearest_cases(library, name, Query("t/c0"), k=1000)
    assert again.ranked == before.ranked


def test_a_refined_search_leaves_groups_out_too(metric):
    library, name = metric
    group = explained_groups(open_metric(library, name).metric)[:1]
    search = Search(name, Query("t/c0"), without=group)
    assert (
        rank_cases(library, search, k=50).result.ranked
        == nearest_cases(library, name, Query("t/c0"), k=50, without=group).ranked
    )
    assert (
        rank_cases(library, dataclasses.replace(search, without=()), k=50).result.ranked
        != rank_cases(library, search, k=50).result.ranked
    )


def test_an_unknown_group_and_all_groups_are_refused(metric):
    library, name = metric
    with pytest.raises(BadArguments, match="no group of features 'Nose'") as refused:
        nearest_cases(library, name, Query("t/c0"), without=("Nose",))
    groups = explained_groups(open_metric(library, name).metric)
    assert groups[0] in refused.value.hint
    with pytest.raises(BadArguments, match="Without all its features"):
        nearest_cases(library, name, Query("t/c0"), without=groups)


def test_saved_and_loaded_it_leaves_the_same_out(metric, tmp_path):
    library, name = metric
    whole = open_metric(library, name).metric
    blind = exclude_feature_groups(whole, explained_groups(whole)[:2])
    save_metric(blind, tmp_path / "blind.zip")
    again = load_metric(tmp_path / "blind.zip")
    rows = np.random.default_rng(0).normal(size=(5, whole.n_features))
    np.testing.assert_array_equal(again.distances(rows, rows), blind.distances(rows, rows))
    assert again.card == blind.card
    assert any("without" in step for step in again.card.steps)


class StopsAfter(Reporter):
    """Cancels after so many questions whether to."""

    def __init__(self, search: int) -> None:
        self.left = search

    def check_cancelled(self) -> None:
        self.left -= 1
        if self.left < 0:
            raise Cancelled


def test_preparation_continues_where_it_was_interrupted_and_changes_no_ranking(tmp_path, monkeypatch):
    library = table_library(tmp_path, n=600)
    train_metric(library, LEARNERS["projected"])
    search = Search("projected", Query("t/c0"), without=("f0",))
    unprepared = rank_cases(library, search).result.ranked
    close_loaded_metrics()
    monkeypatch.setattr("semblance.core.workflows.searches.transformed_cases.CHUNKS", 1)
    with pytest.raises(Cancelled):
        preload_feature_groups(library, search, reporter=StopsAfter(2))
    read = []
    loaded = open_metric(library, "projected")
    blocks = loaded.library.features.blocks
    monkeypatch.setattr(loaded.library.features, "blocks", lambda *args: read.append(args) or blocks(*args))
    preload_feature_groups(library, search)
    # What was started is finished, not started again. Once ready, nothing more is read.
    assert read == []
    assert rank_cases(library, search).result.ranked == unprepared
    assert read == []


def test_the_cases_that_give_usual_distances_are_the_same_from_memory_and_from_the_library(tmp_path):
    library = table_library(tmp_path, n=80)
    train_metric(library, LEARNERS["plain"])
    request = Search("plain", Query("t/c0"))
    explained = explain_distance(library, request, "t/c5")
    loaded = open_metric(library, "plain")
    assert len(loaded.drawn) == DRAWN
    loaded.drawn = None
    loaded.drop_caches()
    assert explain_distance(library, request, "t/c5") == explained
