"""The index gives what comparing every row in float64 gives: rows, ties and distances."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from semblance.core.errors import BadInput
from semblance.core.metrics import fit_metric, make_learner
from semblance.core.retrieval import index as index_module
from semblance.core.retrieval.index import Index
from tests.helpers import naive_bdm as naive


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
