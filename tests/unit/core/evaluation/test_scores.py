"""Scores equal their definitions written as loops."""

from __future__ import annotations

import itertools
import math

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from semblance.core.errors import BadInput
from semblance.core.evaluation.neighbours import EmbeddedDistances, GivenDistances
from semblance.core.evaluation.scores import (
    finding_neighbours,
    mean_over_findings,
    mean_over_queries,
    retrieval_accuracy,
    retrieval_scores,
    triplet_accuracy,
    vote_weights,
    votes,
    wrong_shares,
)

MAX_K = 6


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
    n=st.integers(1, 16), levels=st.integers(1, 40), with_patients=st.booleans(), seed=st.integers(0, 10_000)
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


def orders(distances):
    """Every order of the cases by distance, tied ones in any."""
    groups = [np.flatnonzero(distances == value) for value in np.unique(distances)]
    for parts in itertools.product(*(itertools.permutations(group.tolist()) for group in groups)):
        yield [row for part in parts for row in part]


def naive(distances, findings, patients, query):
    """Means over all orders of precision, recall, ndcg, hit at 1..MAX_K, and of average precision at R."""
    others = [row for row in range(len(findings)) if patients[row] != patients[query]]
    relevant = sum(findings[row] == findings[query] for row in others)
    scores = {name: [] for name in ("precision", "recall", "ndcg", "hit", "map")}
    for order in orders(distances[query][others]):
        good = [findings[others[place]] == findings[query] for place in order]
        depth = range(1, MAX_K + 1)
        scores["precision"].append([sum(good[:k]) / k for k in depth])
        if relevant:
            scores["recall"].append([sum(good[:k]) / relevant for k in depth])
            gains = [[g / np.log2(rank + 2) for rank, g in enumerate(good[:k])] for k in depth]
            ideal = [sum(1 / np.log2(rank + 2) for rank in range(min(k, relevant))) for k in depth]
            scores["ndcg"].append([sum(gain) / best for gain, best in zip(gains, ideal, strict=True)])
            scores["hit"].append([float(any(good[:k])) for k in depth])
            scores["map"].append(
                sum(good[i] * sum(good[: i + 1]) / (i + 1) for i in range(relevant)) / relevant
            )
    return {name: np.mean(values, axis=0) if values else np.nan for name, values in scores.items()}


@pytest.mark.parametrize("seed", range(6))
@pytest.mark.parametrize("levels", [3, 5, 1000])
def test_against_every_order(seed, levels):
    rng = np.random.default_rng(seed)
    n = 9
    distances = rng.integers(0, levels, (n, n)).astype(float)
    findings = rng.integers(0, 3, n)
    patients = rng.integers(0, 6, n) if seed % 2 else np.arange(n)
    found = retrieval_scores(GivenDistances(distances), findings, patients, MAX_K)
    for query in range(n):
        expected = naive(distances, findings, patients, query)
        for name, got in (
            ("precision", found.precision),
            ("recall", found.recall),
            ("ndcg", found.ndcg),
            ("hit", found.hit),
        ):
            np.testing.assert_allclose(got[query], np.broadcast_to(expected[name], MAX_K), err_msg=name)
        np.testing.assert_allclose(found.average_precision[query], expected["map"])


def test_a_perfect_and_a_worst_ranking():
    findings = np.array([0, 0, 0, 1, 1, 1])
    apart = np.abs(findings[:, None] - findings[None, :]).astype(float) + np.linspace(0, 0.1, 36).reshape(
        6, 6
    )
    best = retrieval_scores(GivenDistances(apart), findings, max_k=2)
    assert best.precision.min() == best.recall[:, 1].min() == best.average_precision.min() == 1.0
    assert best.ndcg.min() == pytest.approx(1.0)
    worst = retrieval_scores(GivenDistances(2.0 - apart), findings, max_k=3)
    assert worst.hit.max() == worst.average_precision.max() == worst.ndcg.max() == 0.0


def test_query_without_relevant_cases_has_no_recall():
    findings = np.array([0, 1, 1])
    found = retrieval_scores(GivenDistances(np.arange(9.0).reshape(3, 3)), findings, max_k=2)
    assert np.isnan(found.recall[0]).all()
    assert np.isnan(found.average_precision[0])
    assert found.precision[0].tolist() == [0.0, 0.0]


def problem(q=15, n=40, findings=4, seed=0):
    rng = np.random.default_rng(seed)
    codes = rng.integers(0, findings - 1, n)
    codes[:2] = findings - 1
    Q, X = rng.normal(size=(q, 3)), rng.normal(size=(n, 3)) + codes[:, None]
    return ((Q[:, None] - X[None]) ** 2).sum(axis=-1), codes


@pytest.mark.parametrize("k", [1, 3, 7, 100])
def test_the_mean_rule_is_equation_14(k):
    d, codes = problem()
    means = finding_neighbours(GivenDistances(d), codes, 4, k).means(k)
    for query in range(len(d)):
        for finding in range(4):
            nearest = sorted(d[query, i] for i in range(len(codes)) if codes[i] == finding)[:k]
            assert means[query, finding] == pytest.approx(sum(nearest) / len(nearest), rel=1e-12)


@pytest.mark.parametrize("k", [2, 5])
def test_the_likelihood_rule_is_algorithm_2(k):
    d, codes = problem()
    score = finding_neighbours(GivenDistances(d), codes, 4, k).log_posterior(k)
    for query in range(len(d)):
        nearest = [sorted(d[query, i] for i in range(len(codes)) if codes[i] == f)[:k] for f in range(4)]
        roots = [math.sqrt(value) for values in nearest for value in values]
        mean = sum(roots) / len(roots)
        variance = sum((root - mean) ** 2 for root in roots) / len(roots)
        for finding, values in enumerate(nearest):
            total = sum(values) * k / len(values)
            prior = sum(code == finding for code in codes) / len(codes)
            expected = -total / (2 * variance) + math.log(prior)
            assert score[query, finding] == pytest.approx(expected, rel=1e-12)


def test_the_first_of_more_neighbours_are_the_same():
    d, codes = problem()
    many = finding_neighbours(GivenDistances(d), codes, 4, 9)
    few = finding_neighbours(GivenDistances(d), codes, 4, 3)
    np.testing.assert_allclose(many.means(3), few.means(3), rtol=1e-14)
    np.testing.assert_allclose(many.log_posterior(3), few.log_posterior(3), rtol=1e-13)


def test_finding_without_cases_never_wins():
    d, codes = problem()
    near = finding_neighbours(GivenDistances(d), codes, 6, 3)
    assert np.isinf(near.means(3)[:, 4:]).all()
    assert (near.log_posterior(3)[:, 4:] == -np.inf).all()
    assert near.means(3).argmin(axis=1).max() < 4


def test_most_frequent_finding_wins_for_equal_distances():
    near = finding_neighbours(GivenDistances(np.ones((2, 5))), np.array([0, 1, 1, 1, 2]), 3, 1)
    assert near.log_posterior(1).argmax(axis=1).tolist() == [1, 1]


def test_no_cases_are_refused():
    with pytest.raises(BadInput, match="no cases"):
        finding_neighbours(GivenDistances(np.empty((2, 0))), np.empty(0, dtype=np.intp), 2, 1)


def test_findings_equal_up_to_rounding_share_the_credit():
    """On a grid of few values most cases tie; large numbers, as unscaled features have, add rounding."""
    rng = np.random.default_rng(0)
    grid = rng.integers(0, 3, (60, 4)).astype(float)
    codes = rng.integers(0, 3, 60)
    Q = rng.integers(0, 3, (40, 4)).astype(float)
    truth = rng.integers(0, 3, 40)
    d = ((Q[:, None] - grid[None]) ** 2).sum(axis=-1)
    near = finding_neighbours(EmbeddedDistances(Q / 0.7 + 1e3, grid / 0.7 + 1e3), codes, 3, 5)
    for k in (1, 3, 5):
        expected = []
        for query in range(40):
            sums = [np.sort(d[query, codes == finding])[:k].sum() for finding in range(3)]
            winners = np.flatnonzero(sums == np.min(sums))
            expected.append(1 - (truth[query] in winners) / len(winners))
        assert wrong_shares(near.nearest_in_mean(k), truth) == pytest.approx(expected)
        assert np.mean([value not in (0, 1) for value in expected]) > 0


def test_equal_likelihoods_share_the_credit():
    """Two findings of the same number of cases, mirrored about the queries."""
    X = np.array([[0.1, 0.3], [0.1, -0.3], [0.7, 0.2], [-0.1, 0.3], [-0.1, -0.3], [-0.7, 0.2]])
    Q = np.array([[0.0, 0.0], [0.0, 0.11], [0.5, 0.0]])
    near = finding_neighbours(EmbeddedDistances(Q, X), np.array([0, 0, 0, 1, 1, 1]), 2, 3)
    assert wrong_shares(near.likeliest(3), np.zeros(3, dtype=np.intp)).tolist() == [0.5, 0.5, 0.0]


def test_cases_of_the_own_patient_are_left_out():
    d = np.array([[0.0, 1.0, 2.0, 3.0]])
    own = {"query_patients": np.array([7]), "gallery_patients": np.array([7, 1, 7, 2])}
    near = finding_neighbours(GivenDistances(d), np.array([0, 0, 1, 1]), 2, 2, **own)
    assert near.distances[0].tolist() == [[1.0, np.inf], [3.0, np.inf]]
