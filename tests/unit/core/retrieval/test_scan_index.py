"""Metrics without coordinates are searched and scored as those with them, by their own distances."""

from __future__ import annotations

import numpy as np
import pytest

from semblance.core.errors import BadInput
from semblance.core.evaluation.neighbours import GivenDistances, distances_after_steps, ranked_blocks
from semblance.core.metrics import fit_metric, make_learner
from semblance.core.metrics.distances import LinearDistance, SignedDistance, StumpDistance
from semblance.core.metrics.steps import parse_steps
from semblance.core.retrieval.index import Index
from semblance.core.retrieval.ranking import EmbeddedQuery, rank
from semblance.core.retrieval.scan_index import ScanIndex, index_for
from tests.helpers.naive_bdm import problem


@pytest.fixture
def votes():
    rng = np.random.default_rng(2)
    return StumpDistance(rng.normal(size=(4, 5)), np.full(5, 0.4), np.array([0.3, 0.2, 0.7, 0.2, 0.1]))


def test_it_finds_what_comparing_and_sorting_finds(votes):
    rng = np.random.default_rng(0)
    X = np.round(rng.normal(size=(80, 4)), 1)
    X[40:50] = X[:10]
    index = ScanIndex(votes, X, X)
    assert (len(index), index.n_features) == (80, 4)
    for q in X[:12]:
        d, second = votes.between(q[None], X)[0], ((X - q) ** 2).sum(axis=1)
        for allowed in (None, rng.random(80) < 0.5):
            rows = sorted(
                (row for row in range(80) if allowed is None or allowed[row]),
                key=lambda row: (d[row], second[row], row),
            )
            for k in (1, 7, 200):
                hits = index.search(q, k, allowed, tie_query=q)
                assert hits.rows.tolist() == rows[:k]
                assert (hits.distances == d[rows[:k]]).all()
        assert (index.distances(q, np.array([3, 3, 9])) == d[[3, 3, 9]]).all()
    assert index.search(X[0], 5, np.zeros(80, dtype=bool)).rows.tolist() == []


def test_without_tie_break_the_earlier_row_comes_first(votes):
    X = np.zeros((6, 4))
    assert ScanIndex(votes, X).search(X[0], 4).rows.tolist() == [0, 1, 2, 3]


def test_what_does_not_fit_is_refused(votes):
    X = np.zeros((6, 4))
    for make in (
        lambda: ScanIndex(votes, X[:, :3]),
        lambda: ScanIndex(votes, X, X[:2]),
        lambda: ScanIndex(votes, X).search(np.zeros(3)),
        lambda: ScanIndex(votes, X).search(np.full(4, np.nan)),
        lambda: ScanIndex(votes, X).search(np.zeros(4), allowed=np.ones(2, dtype=bool)),
    ):
        with pytest.raises(BadInput):
            make()


def test_each_distance_gets_the_index_it_needs(votes):
    X = np.zeros((3, 4))
    assert isinstance(index_for(votes, X, None), ScanIndex)
    assert isinstance(index_for(LinearDistance(4), X, None), Index)


@pytest.mark.parametrize(
    ("kind", "settings"),
    [
        (StumpDistance, {"readout": "votes"}),
        (SignedDistance, {"weak": "real", "allow_similarity": True}),
    ],
)
def test_a_metric_without_coordinates_is_ranked_by_its_own_distances(kind, settings):
    X, y = problem(n=60)
    # Findings separated by similar features, too: the middle against both ends.
    y = np.where(np.abs(X[:, 0]) < 0.6, "middle", "end") if kind is SignedDistance else y
    metric = fit_metric(
        make_learner("metricboost", rounds=8, **settings), X, y, steps=parse_steps("standardise")
    )
    assert isinstance(metric.distance, kind)
    assert not metric.is_metric
    with pytest.raises(BadInput, match="no coordinates"):
        metric.embed(X)
    coordinates, ties = metric.coordinates(X), metric.tie_break(X)
    index = index_for(metric.distance, coordinates, ties)
    ranking = rank(index, EmbeddedQuery(coordinates[4], ties[4], row=4), 10)
    d = metric.distances(X[4:5], X)[0]
    assert ranking.distances.tolist() == sorted(np.delete(d, 4).tolist())[:10]
    for row, distance in zip(ranking.rows, ranking.distances, strict=True):
        parts = [part.amount for part in metric.explain(X[4], X[row])]
        assert sum(parts) == pytest.approx(distance, rel=1e-9, abs=1e-12)


def test_scores_of_a_scanned_metric_are_those_of_its_distances(votes):
    rng = np.random.default_rng(1)
    Q, X, findings = rng.normal(size=(9, 4)), rng.normal(size=(70, 4)), rng.integers(3, size=70)
    second = ((Q[:, None] - X[None]) ** 2).sum(axis=-1)
    given = GivenDistances(votes.between(Q, X), second)
    for one, other in zip(
        ranked_blocks(distances_after_steps(votes, Q, X), findings, 3, 12),
        ranked_blocks(given, findings, 3, 12),
        strict=True,
    ):
        order, other_order = np.argsort(one.queries), np.argsort(other.queries)
        assert (one.share[order] == other.share[other_order]).all()
        assert (one.distance[order] == other.distance[other_order]).all()
