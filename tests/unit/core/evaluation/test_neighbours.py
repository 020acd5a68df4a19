"""Ranks equal a loop over queries, and ties favour no order of rows."""

from __future__ import annotations

import itertools

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from semblance.core.evaluation import neighbours
from semblance.core.evaluation.neighbours import EmbeddedDistances, GivenDistances, ranked_blocks
from semblance.core.tasks import Cancelled, Reporter


def naive_shares(first, second, findings, n_findings, k, excluded):
    """For each query: sort by (first, second); tied cases share their ranks equally."""
    n_queries, n = first.shape
    share = np.zeros((n_queries, min(k, n), n_findings))
    for query in range(n_queries):
        there = [row for row in range(n) if not excluded[query, row]]
        key = {row: (first[query, row], 0.0 if second is None else second[query, row]) for row in there}
        ranked = sorted(there, key=key.__getitem__)
        for rank in range(min(k, len(ranked))):
            tied = [row for row in ranked if key[row] == key[ranked[rank]]]
            for row in tied:
                share[query, rank, findings[row]] += 1.0 / len(tied)
    return share


def gathered(distances, findings, n_findings, k, **options):
    shares = None
    sizes = np.zeros(distances.n_queries, dtype=int)
    queries = []
    for block in ranked_blocks(distances, findings, n_findings, k, **options):
        if shares is None:
            shares = np.zeros((distances.n_queries, *block.share.shape[1:]))
        shares[block.queries], sizes[block.queries] = block.share, block.size
        queries.extend(block.queries.tolist())
    assert sorted(queries) == list(range(distances.n_queries))
    return shares, sizes


@given(
    n=st.integers(2, 14),
    k=st.integers(1, 16),
    levels=st.integers(1, 6),
    with_second=st.booleans(),
    with_patients=st.booleans(),
    seed=st.integers(0, 10_000),
)
def test_shares_equal_the_loop(n, k, levels, with_second, with_patients, seed):
    rng = np.random.default_rng(seed)
    first = rng.integers(0, levels, (n, n)).astype(float)
    second = rng.integers(0, 3, (n, n)).astype(float) if with_second else None
    findings = rng.integers(0, 3, n)
    own = rng.integers(0, 4, n) if with_patients else np.arange(n)
    shares, sizes = gathered(
        GivenDistances(first, second), findings, 3, k, query_patients=own, gallery_patients=own
    )
    excluded = own[:, None] == own
    np.testing.assert_allclose(shares, naive_shares(first, second, findings, 3, k, excluded), atol=1e-12)
    np.testing.assert_array_equal(sizes, (~excluded).sum(axis=1))


@given(n=st.integers(2, 14), k=st.integers(1, 16), lesions=st.integers(1, 9), seed=st.integers(0, 10_000))
def test_of_each_lesion_only_the_nearest_case_is_ranked(n, k, lesions, seed):
    rng = np.random.default_rng(seed)
    first, findings = rng.random((n, n)), rng.integers(0, 3, n)
    lesion, own = rng.integers(0, lesions, n), rng.integers(0, 4, n)
    shares, sizes = gathered(
        GivenDistances(first, lesions=lesion), findings, 3, k, query_patients=own, gallery_patients=own
    )
    excluded = own[:, None] == own
    for query in range(n):
        nearest: dict[int, int] = {}
        for row in np.argsort(first[query]).tolist():
            if not excluded[query, row] and nearest.setdefault(int(lesion[row]), row) != row:
                excluded[query, row] = True
    np.testing.assert_allclose(shares, naive_shares(first, None, findings, 3, k, excluded), atol=1e-12)
    np.testing.assert_array_equal(sizes, (~excluded).sum(axis=1))


def test_equally_near_copies_of_a_lesion_are_ranked_once():
    shares, sizes = gathered(
        GivenDistances(np.array([[1.0, 1.0, 2.0]]), lesions=np.array([5, 5, 7])), np.array([0, 0, 1]), 2, 3
    )
    assert sizes.tolist() == [2]
    assert shares.tolist() == [[[1.0, 0.0], [0.0, 1.0], [0.0, 0.0]]]


@pytest.mark.parametrize("block", [1, 40, 10**7])
def test_small_blocks_give_the_same(monkeypatch, block):
    rng = np.random.default_rng(0)
    X = rng.integers(0, 3, (60, 4)).astype(float)
    findings = rng.integers(0, 3, 60)
    expected, _ = gathered(EmbeddedDistances(X, X), findings, 3, 20)
    monkeypatch.setattr(neighbours, "BLOCK", block)
    np.testing.assert_allclose(gathered(EmbeddedDistances(X, X), findings, 3, 20)[0], expected, atol=1e-12)


def test_embeddings_give_the_ranks_of_their_distances():
    rng = np.random.default_rng(1)
    codes = rng.choice([-0.3, 0.3], (80, 5)) * rng.random(5)
    rows = rng.normal(size=(80, 7))
    findings = rng.integers(0, 4, 80)
    first = np.square(codes[:, None] - codes).sum(axis=2)
    second = np.square(rows[:, None] - rows).sum(axis=2)
    embedded = EmbeddedDistances(codes, codes, (rows, rows))
    for k in (1, 10, 79):
        ours, _ = gathered(embedded, findings, 4, k)
        given_, _ = gathered(GivenDistances(first, second), findings, 4, k)
        np.testing.assert_allclose(ours, given_, atol=1e-12)


def test_rows_far_from_the_origin_keep_their_order():
    rng = np.random.default_rng(2)
    X = 1e6 + rng.normal(size=(50, 3)) * 1e-3
    findings = np.arange(50)
    shares, _ = gathered(EmbeddedDistances(X, X), findings, 50, 50)
    order = np.square(X[:, None] - X).sum(axis=2).argsort(axis=1)
    np.testing.assert_array_equal(shares.argmax(axis=2), order)


def test_the_order_of_rows_does_not_matter():
    rng = np.random.default_rng(3)
    X = rng.integers(0, 2, (40, 3)).astype(float)
    findings = rng.integers(0, 3, 40)
    order = rng.permutation(40)
    plain, _ = gathered(EmbeddedDistances(X, X), findings, 3, 15)
    mixed, _ = gathered(EmbeddedDistances(X[order], X[order]), findings[order], 3, 15)
    np.testing.assert_allclose(mixed, plain[order], atol=1e-12)


def test_rounding_noise_still_ties():
    first = np.array([[0.3, 0.1 + 0.2, 0.7]])
    shares, _ = gathered(GivenDistances(first), np.array([0, 1, 1]), 2, 1)
    np.testing.assert_allclose(shares[0, 0], [0.5, 0.5])


def test_expected_shares_are_the_mean_over_all_orders_of_the_ties():
    first = np.array([[0.0, 1.0, 1.0, 1.0, 2.0]])
    findings = np.array([0, 0, 1, 1, 1])
    shares, _ = gathered(GivenDistances(first), findings, 2, 3)
    means = np.zeros((3, 2))
    orders = [(0, *middle, 4) for middle in itertools.permutations([1, 2, 3])]
    for order in orders:
        for rank in range(3):
            means[rank, findings[order[rank]]] += 1 / len(orders)
    np.testing.assert_allclose(shares[0], means)


def test_query_with_an_empty_gallery_has_no_shares():
    own = np.array([0, 0, 0])
    shares, sizes = gathered(
        GivenDistances(np.zeros((3, 3))), np.array([0, 1, 1]), 2, 2, query_patients=own, gallery_patients=own
    )
    assert not shares.any()
    assert not sizes.any()


def test_cancel_stops_the_evaluation():
    class Impatient(Reporter):
        def check_cancelled(self):
            raise Cancelled

    with pytest.raises(Cancelled):
        list(ranked_blocks(GivenDistances(np.zeros((2, 2))), np.array([0, 1]), 2, 1, reporter=Impatient()))
