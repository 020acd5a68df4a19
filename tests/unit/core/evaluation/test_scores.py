"""Scores equal their definitions written as loops."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from semblance.core.evaluation.neighbours import EmbeddedDistances, GivenDistances
from semblance.core.evaluation.scores import (
    mean_over_findings,
    mean_over_queries,
    retrieval_accuracy,
    triplet_accuracy,
    vote_weights,
    votes,
)


def naive_retrieval_accuracy(distances, findings, own, max_k):
    """Equation 20, for distances without ties."""
    n = len(distances)
    out = np.full((n, min(max_k, n - 1)), np.nan)
    for query in range(n):
        ranked = [row for row in np.argsort(distances[query]) if own[row] != own[query]]
        for k in range(1, out.shape[1] + 1):
            first = ranked[:k]
            if first:
                out[query, k - 1] = sum(findings[row] == findings[query] for row in first) / len(first)
    return out


@given(
    n=st.integers(2, 25), max_k=st.integers(1, 30), with_patients=st.booleans(), seed=st.integers(0, 10_000)
)
def test_retrieval_accuracy_is_equation_20(n, max_k, with_patients, seed):
    rng = np.random.default_rng(seed)
    distances, findings = rng.random((n, n)), rng.integers(0, 3, n)
    patients = rng.integers(0, 5, n) if with_patients else None
    ours = retrieval_accuracy(GivenDistances(distances), findings, patients, max_k)
    own = np.arange(n) if patients is None else patients
    np.testing.assert_allclose(ours, naive_retrieval_accuracy(distances, findings, own, max_k))


def test_perfect_ranking_scores_one_without_the_query_itself():
    findings = np.repeat([0, 1, 2], 20)
    X = findings[:, None] * 100.0 + np.random.default_rng(0).random((60, 1))
    accuracy = mean_over_queries(retrieval_accuracy(EmbeddedDistances(X, X), findings, None, 50))
    np.testing.assert_allclose(accuracy[:19], 1.0)
    np.testing.assert_allclose(accuracy[49], 19 / 50)


def test_uninformative_distances_score_the_base_rate():
    rng = np.random.default_rng(1)
    findings = (rng.random(1500) < 0.7).astype(int)
    X = rng.normal(size=(1500, 5))
    rates = np.bincount(findings) / 1500
    accuracy = mean_over_queries(retrieval_accuracy(EmbeddedDistances(X, X), findings))
    np.testing.assert_allclose(accuracy[9:], np.square(rates).sum(), atol=0.02)
    ties = mean_over_queries(retrieval_accuracy(GivenDistances(np.zeros((1500, 1500))), findings))
    np.testing.assert_allclose(ties, np.square(rates).sum(), atol=1e-3)


def test_cases_of_the_query_patient_are_left_out():
    findings, patients = np.array([0, 0, 1, 0]), np.array([0, 0, 1, 2])
    X = np.array([[0.0], [0.1], [1.0], [2.0]])
    accuracy = retrieval_accuracy(EmbeddedDistances(X, X), findings, patients, 1)
    np.testing.assert_allclose(accuracy[:, 0], [0.0, 0.0, 0.0, 0.0])
    np.testing.assert_allclose(
        retrieval_accuracy(EmbeddedDistances(X, X), findings, None, 1)[:, 0], [1.0, 1.0, 0.0, 0.0]
    )


@pytest.mark.parametrize("n", [1, 2])
def test_retrieval_accuracy_of_one_or_two_cases(n):
    accuracy = retrieval_accuracy(GivenDistances(np.zeros((n, n))), np.zeros(n, dtype=int))
    assert accuracy.shape == (n, 1)
    assert np.isnan(accuracy).all() if n == 1 else (accuracy == 1.0).all()


def naive_votes(distances, gallery, n_findings, k):
    plain, weighted = np.zeros((len(distances), n_findings)), np.zeros((len(distances), n_findings))
    for query, row in enumerate(distances):
        nearest = np.argsort(row)[:k]
        farthest = row[nearest[-1]]
        total = sum(np.exp(-row[case] / farthest) for case in nearest)
        for case in nearest:
            plain[query, gallery[case]] += 1 / len(nearest)
            weighted[query, gallery[case]] += np.exp(-row[case] / farthest) / total
    return plain, weighted


@given(q=st.integers(1, 12), n=st.integers(1, 25), k=st.integers(1, 12), seed=st.integers(0, 10_000))
def test_votes_equal_the_loop(q, n, k, seed):
    rng = np.random.default_rng(seed)
    distances, gallery, query_findings = rng.random((q, n)), rng.integers(0, 3, n), rng.integers(0, 4, q)
    ours = votes(GivenDistances(distances), gallery, query_findings, 3, k=k, max_k=15)
    plain, weighted = naive_votes(distances, gallery, 3, k)
    np.testing.assert_allclose(ours.plain, plain, atol=1e-11)
    np.testing.assert_allclose(ours.weighted, weighted, atol=1e-11)
    np.testing.assert_allclose(ours.plain.sum(axis=1), 1.0)
    for nearest in range(1, ours.correct.shape[1] + 1):
        shares, _ = naive_votes(distances, gallery, 3, nearest)
        for query in range(q):
            winners = np.flatnonzero(np.isclose(shares[query], shares[query].max()))
            credit = 1 / len(winners) if query_findings[query] in winners else 0.0
            assert ours.correct[query, nearest - 1] == pytest.approx(credit)


def test_a_tied_vote_shares_the_credit():
    distances = GivenDistances(np.array([[1.0, 2.0, 3.0, 4.0]]))
    ours = votes(distances, np.array([0, 1, 1, 0]), np.array([0]), 2, k=4, max_k=4)
    np.testing.assert_allclose(ours.correct[0], [1.0, 0.5, 0.0, 0.5])


def test_means():
    per_query = np.array([[1.0, np.nan], [0.0, np.nan], [1.0, np.nan]])
    np.testing.assert_allclose(mean_over_queries(per_query), [2 / 3, np.nan])
    np.testing.assert_allclose(mean_over_findings(per_query, np.array([0, 0, 1])), [0.75, np.nan])


def naive_triplets(distances, findings, own):
    """Right and all triplets of every anchor (metricboost.txt Eq. 1)."""
    n = len(findings)
    found = np.zeros((2, n))
    for i in range(n):
        for j in range(n):
            for k in range(n):
                if own[i] in (own[j], own[k]) or findings[j] != findings[i] or findings[k] == findings[i]:
                    continue
                found[:, i] += distances[i, j] < distances[i, k], 1
    return found


@given(
    n=st.integers(1, 16),
    levels=st.integers(1, 40),
    with_patients=st.booleans(),
    seed=st.integers(0, 10_000),
)
def test_triplet_accuracy_is_equation_1_with_ties_as_errors(n, levels, with_patients, seed):
    rng = np.random.default_rng(seed)
    distances = rng.integers(0, levels, (n, n)).astype(float)
    findings = rng.integers(0, 3, n)
    patients = rng.integers(0, 5, n) if with_patients else None
    ours = triplet_accuracy(GivenDistances(distances), findings, patients)
    right, every = naive_triplets(distances, findings, np.arange(n) if patients is None else patients)
    np.testing.assert_array_equal(ours.right, right)
    np.testing.assert_array_equal(ours.all, every)
    if every.sum():
        assert ours.share == pytest.approx(right.sum() / every.sum(), rel=1e-12)
    else:
        assert np.isnan(ours.share)


def test_triplets_of_embeddings_are_judged_by_exact_distances_block_by_block(monkeypatch):
    rng = np.random.default_rng(3)
    # Eighths are exact, and so far from the origin the expanded square is wrong by more than they differ.
    X = np.round(8 * rng.normal(size=(40, 3))) / 8 + 2.0**26
    findings = rng.integers(0, 3, 40)
    distances = ((X[:, None] - X) ** 2).sum(axis=2)
    right, every = naive_triplets(distances, findings, np.arange(40))
    monkeypatch.setattr("semblance.core.evaluation.scores.BLOCK", 500)
    ours = triplet_accuracy(EmbeddedDistances(X, X), findings)
    np.testing.assert_array_equal(ours.right, right)
    np.testing.assert_array_equal(ours.all, every)


def test_ties_of_triplets_are_errors():
    same = np.zeros((4, 4))
    second = np.array([[0, 1, 5, 5], [1, 0, 5, 5], [5, 5, 0, 1], [5, 5, 1, 0]], dtype=float)
    findings = np.array([0, 0, 1, 1])
    assert triplet_accuracy(GivenDistances(same, second), findings).share == 0.0
    assert triplet_accuracy(GivenDistances(second), findings).share == 1.0


def test_triplets_of_a_perfect_and_of_a_random_distance():
    rng = np.random.default_rng(0)
    findings = rng.integers(0, 3, 300)
    noise = rng.normal(size=(300, 4))
    assert triplet_accuracy(EmbeddedDistances(noise, noise), findings).share == pytest.approx(0.5, abs=0.02)
    apart = noise + 100.0 * findings[:, None]
    assert triplet_accuracy(EmbeddedDistances(apart, apart), findings).share == 1.0


def test_one_exact_copy_does_not_decide_alone():
    weights = vote_weights([0.0, 1.0, 1.0, 1.0])
    assert weights[0] == pytest.approx(1 / (1 + 3 * np.exp(-1)))
    assert weights[0] < weights[1:].sum()


@given(
    st.lists(st.floats(0, 1e6, allow_subnormal=False), min_size=1, max_size=12),
    st.sampled_from([2.0**-20, 8.0]),
)
def test_weights_sum_to_one_fall_with_distance_and_are_scale_invariant(distances, scale):
    d = np.sort(distances)
    weights = vote_weights(d)
    assert weights.sum() == pytest.approx(1)
    assert (np.diff(weights) <= 0).all()
    assert vote_weights(d * scale) == pytest.approx(weights)
    assert (vote_weights(np.stack([d, d]))[1] == weights).all()


def test_equal_copies_weigh_alike():
    assert vote_weights(np.zeros(4)).tolist() == [0.25] * 4
