"""The index gives what comparing every row in float64 gives: rows, ties and distances."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from semblance.core.errors import BadInput
from semblance.core.evaluation.neighbours import GivenDistances, distances_after_steps, ranked_blocks
from semblance.core.metrics import fit_metric, make_learner
from semblance.core.metrics.distances import LinearDistance, SignedDistance, StumpDistance
from semblance.core.metrics.steps import parse_steps
from semblance.core.retrieval import index as index_module
from semblance.core.retrieval.index import DistanceIndex, Index, index_for
from semblance.core.retrieval.ranking import EmbeddedQuery, rank
from tests.helpers import naive_bdm as naive
from tests.helpers.naive_bdm import problem


def brute(X, q, k, allowed=None, ties=None, tie_query=None):
    """Rows and distances by plain float64 differences; equal distances by ``ties``, then by row."""
    X, q = np.asarray(X, dtype=np.float64), np.asarray(q, dtype=np.float64)
    d = ((X - q) ** 2).sum(axis=1)
    second = np.zeros(len(X)) if ties is None else ((ties - tie_query) ** 2).sum(axis=1)
    rows = [row for row in range(len(X)) if allowed is None or allowed[row]]
    rows.sort(key=lambda row: (d[row], second[row], row))
    return rows[:k], d[rows[:k]]


def agree(hits, expected):
    rows, distances = expected
    assert hits.rows.tolist() == list(rows)
    assert hits.distances == pytest.approx(distances, rel=1e-12, abs=0)


@pytest.fixture
def small_blocks(monkeypatch):
    """Blocks of a few rows, so that small tables have many."""
    monkeypatch.setattr("semblance.core.retrieval.index._BLOCK_BYTES", 4 * 64 * 8)


@pytest.mark.parametrize("dtype", [np.float32, np.float64])
@pytest.mark.parametrize(("n", "m"), [(1, 1), (5, 3), (700, 8), (3000, 70)])
def test_nearest_rows_equal_brute_force(dtype, n, m, small_blocks):
    rng = np.random.default_rng(n)
    X = rng.normal(size=(n, m)).astype(dtype)
    index = Index(X)
    for k in (1, 7, 20, n, n + 5):
        q = rng.normal(size=m)
        agree(index.search(q, k), brute(X, q, k))


# Whole numbers: distances are exact in float64, so ties are true ties.
@settings(max_examples=60)
@given(
    data=st.data(),
    n=st.integers(1, 60),
    m=st.integers(1, 4),
    offset=st.sampled_from([0, 3, 10**4, 10**7]),
    dtype=st.sampled_from([np.float32, np.float64]),
)
def test_ties_go_to_the_earlier_row_or_the_tie_break(data, n, m, offset, dtype):
    rng = np.random.default_rng(data.draw(st.integers(0, 10**6)))
    X = (rng.integers(-2, 3, size=(n, m)) + offset).astype(dtype)
    q = (rng.integers(-2, 3, size=m) + offset).astype(np.float64)
    k = data.draw(st.integers(1, 25))
    allowed = rng.random(n) < 0.7 if data.draw(st.booleans()) else None
    agree(Index(X).search(q, k, allowed), brute(X, q, k, allowed))
    ties, tie_query = rng.integers(0, 3, size=(n, 2)).astype(np.float64), rng.integers(0, 3, size=2)
    hits = Index(X, ties).search(q, k, allowed, tie_query=tie_query)
    agree(hits, brute(X, q, k, allowed, ties, tie_query))


@pytest.mark.parametrize("offset", [0.0, 1e3, 1e6, 1e9])
@pytest.mark.parametrize("scale", [1e-6, 1.0, 1e5])
def test_far_off_and_close_together_rows_are_still_distinguished(offset, scale):
    rng = np.random.default_rng(0)
    X = rng.normal(size=(2000, 16)) * scale + offset
    q = X[17] + 0.01 * scale * rng.normal(size=16)
    agree(Index(X).search(q, 30), brute(X, q, 30))


def test_index_is_exact_for_compact_clusters_far_apart(small_blocks):
    rng = np.random.default_rng(0)
    centres = rng.normal(size=(6, 8)) * 1e4
    X = centres[rng.integers(0, 6, 900)] + 1e-4 * rng.normal(size=(900, 8))
    for dtype in (np.float32, np.float64):
        rows = X.astype(dtype)
        agree(Index(rows).search(rows[3], 200), brute(rows, rows[3], 200))


def test_one_giant_row_does_not_hide_the_others(small_blocks):
    rng = np.random.default_rng(0)
    X = rng.normal(size=(500, 8))
    X[250] *= 1e12
    agree(Index(X).search(X[0], 20), brute(X, X[0], 20))
    agree(Index(X).search(X[250], 3), brute(X, X[250], 3))


@pytest.mark.parametrize("scale", [1e-150, 1e-30, 1e30, 1e140])
def test_numbers_beyond_single_precision_are_searched(scale):
    X = np.random.default_rng(0).normal(size=(300, 5)) * scale
    agree(Index(X).search(X[7] * 1.01, 10), brute(X, X[7] * 1.01, 10))
    agree(Index(X).search(X[7] + 1e8 * scale, 10), brute(X, X[7] + 1e8 * scale, 10))


def test_rows_from_far_to_near_are_all_considered(small_blocks):
    X = np.arange(1000.0, 0.0, -1.0)[:, None]
    agree(Index(X).search([0.5], 20), brute(X, [0.5], 20))


def test_what_an_earlier_index_derived_is_used_if_it_fits(small_blocks, monkeypatch):
    rng = np.random.default_rng(0)
    rows, ties = rng.normal(3.0, 1.0, (50, 3)), rng.normal(size=(50, 2))
    index = Index(rows, ties)
    prepared, prepared_ties = index.prepared, index.prepared_ties
    expected = index.search(rows[7], 10, tie_query=ties[7])
    other = Index(rows + 1.0, ties, prepared=prepared._replace(half=prepared.half[:-1]))
    assert np.array_equal(other.search(rows[7] + 1.0, 10, tie_query=ties[7]).rows, expected.rows)
    monkeypatch.setattr(Index, "_prepare", None)
    again = Index(rows, ties, prepared=prepared, prepared_ties=prepared_ties)
    found = again.search(rows[7], 10, tie_query=ties[7])
    assert np.array_equal(found.rows, expected.rows)
    assert np.array_equal(found.distances, expected.distances)


@pytest.mark.parametrize("dtype", [np.float32, np.float64])
@pytest.mark.parametrize("mixed", [None, 0])
def test_equal_rows_are_measured_once_and_rows_with_one_hash_apart(dtype, mixed, small_blocks, monkeypatch):
    monkeypatch.setattr(index_module, "_MANY", 10)
    if mixed is not None:
        # Every row has the same hash.
        monkeypatch.setattr(index_module, "_MIXED", np.uint64(mixed))
    measured, measure = [], Index._measure
    monkeypatch.setattr(
        Index, "_measure", lambda self, rows, q: measured.append(len(rows)) or measure(self, rows, q)
    )
    rng = np.random.default_rng(0)
    X, ties = rng.integers(0, 2, size=(900, 5)).astype(dtype), rng.normal(size=(900, 3))
    index, q, tie_query = Index(X, ties), np.array([1.0, 0.0, 1.0, 1.0, 0.0]), np.zeros(3)
    for k in (3, 40, 900):
        measured.clear()
        agree(index.search(q, k, tie_query=tie_query), brute(X, q, k, ties=ties, tie_query=tie_query))
    # Of all 900; there are 32 rows of five bits.
    assert measured[0] == (32 if mixed is None else 900)


def test_only_allowed_rows_answer():
    X = np.arange(50.0)[:, None]
    allowed = np.arange(50) % 10 == 3
    agree(Index(X).search([0.0], 20, allowed), brute(X, [0.0], 20, allowed))
    assert len(Index(X).search([0.0], 20, np.zeros(50, dtype=bool)).rows) == 0


def test_an_empty_index_or_k_of_0_gives_nothing():
    assert len(Index(np.empty((0, 3))).search(np.zeros(3)).rows) == 0
    assert len(Index(np.zeros((4, 3))).search(np.zeros(3), 0).rows) == 0


def test_the_index_of_a_metric_reports_its_distances_and_breaks_ties_by_euclid():
    X, y = naive.problem(n=200, findings=2)
    metric = fit_metric(make_learner("bdm", rounds=4), X, y)
    index = Index(metric.embed(X), metric.tie_break(X))
    q = X[11] + 0.05
    hits = index.search(metric.embed(q)[0], 40, tie_query=metric.tie_break(q)[0])
    exact, euclid = metric.distances(q, X)[0], ((X - q) ** 2).sum(axis=1)
    expected = np.lexsort((euclid, np.round(exact, 9)))[:40]
    assert hits.rows.tolist() == expected.tolist()
    assert hits.distances == pytest.approx(exact[expected], rel=1e-12)
    assert len(np.unique(np.round(exact[expected], 9))) < 40
    for row, distance in zip(*hits, strict=True):
        parts = metric.explain(q, X[row])
        assert sum(part.amount for part in parts) == pytest.approx(distance, rel=1e-9)


@pytest.mark.parametrize(
    "embedding", [np.zeros(3), np.zeros((2, 2), dtype=int), np.array([[np.nan]]), np.array([[np.inf]])]
)
def test_tables_that_cannot_be_searched_are_refused(embedding):
    with pytest.raises(BadInput):
        Index(embedding)


def test_queries_and_filters_that_do_not_fit_are_refused():
    index = Index(np.zeros((4, 3)), np.zeros((4, 2)))
    for query in (np.zeros(2), [0, 0, np.nan]):
        with pytest.raises(BadInput):
            index.search(query)
    with pytest.raises(BadInput):
        index.search(np.zeros(3), tie_query=np.zeros(3))
    with pytest.raises(BadInput, match="filter"):
        index.search(np.zeros(3), allowed=np.ones(3, dtype=bool))
    with pytest.raises(BadInput, match="length"):
        Index(np.zeros((4, 3)), np.zeros((3, 2)))


@pytest.fixture
def votes():
    rng = np.random.default_rng(2)
    return StumpDistance(rng.normal(size=(4, 5)), np.full(5, 0.4), np.array([0.3, 0.2, 0.7, 0.2, 0.1]))


def test_it_finds_what_comparing_and_sorting_finds(votes):
    rng = np.random.default_rng(0)
    X = np.round(rng.normal(size=(80, 4)), 1)
    X[40:50] = X[:10]
    index = DistanceIndex(votes, X, X)
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
    assert DistanceIndex(votes, X).search(X[0], 4).rows.tolist() == [0, 1, 2, 3]


def test_what_does_not_fit_is_refused(votes):
    X = np.zeros((6, 4))
    for make in (
        lambda: DistanceIndex(votes, X[:, :3]),
        lambda: DistanceIndex(votes, X, X[:2]),
        lambda: DistanceIndex(votes, X).search(np.zeros(3)),
        lambda: DistanceIndex(votes, X).search(np.full(4, np.nan)),
        lambda: DistanceIndex(votes, X).search(np.zeros(4), allowed=np.ones(2, dtype=bool)),
    ):
        with pytest.raises(BadInput):
            make()


def test_each_distance_gets_the_index_it_needs(votes):
    X = np.zeros((3, 4))
    assert isinstance(index_for(votes, X, None), DistanceIndex)
    assert isinstance(index_for(LinearDistance(4), X, None), Index)


@pytest.mark.parametrize(
    ("kind", "settings"),
    [(StumpDistance, {"readout": "votes"}), (SignedDistance, {"weak": "real", "allow_similarity": True})],
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
    ranking = rank(index, EmbeddedQuery(coordinates[4], ties[4], position=4), 10)
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
