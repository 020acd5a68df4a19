"""The protocol pairs against loops over cases and pairs."""

from __future__ import annotations

import itertools
from types import SimpleNamespace

import numpy as np
import pytest

from semblance.core.errors import BadInput
from semblance.core.evaluation.protocols import pairs, protocol
from semblance.core.evaluation.protocols.pairs import (
    BY_DISTANCE,
    BY_VOTES,
    K_CHOICES,
    PairSet,
    PairsProtocol,
    _best_k,
    _distances,
    _marginal,
    _threshold,
    _without_rounding,
    balanced_pairs,
)
from semblance.core.evaluation.protocols.protocol import repeat_seed
from semblance.core.evaluation.splits import halves
from semblance.core.metrics.registry import make_learner
from tests.helpers.blobs import blobs
from tests.helpers.naive_protocols import nearest, run_protocol, squared, standardised


def area(scores, same):
    """The share of pairs of one finding that score above pairs of two; a tie counts half."""
    above = scores[same][:, None] - scores[~same]
    return float(((above > 0) + 0.5 * (above == 0)).mean())


def best_cut(scores, same):
    """The lowest threshold with the most right answers, midway between two scores."""
    ordered = sorted(set(scores.tolist()))
    between = [(a + b) / 2 for a, b in itertools.pairwise(ordered)]
    cuts = [ordered[0], *between, ordered[-1] + 1.0]
    return max(cuts, key=lambda cut: (int(((scores >= cut) == same).sum()), -cut))


def expected(data, seed, step):
    """Every score of one repeat, by loops; every ``step``-th training case is a query of the others."""
    split = halves(data.y.tolist(), data.units, repeat_seed(seed, 0))
    Z, y = standardised(data, split.train), data.y
    codes = np.unique(y, return_inverse=True)[1]
    own = np.arange(len(y)) if data.groups is None else np.unique(data.groups, return_inverse=True)[1]
    test = balanced_pairs(codes[split.test], own[split.test], pairs.MAX_PAIRS, split.seed)
    train = balanced_pairs(codes[split.train], own[split.train], pairs.MAX_PAIRS, split.seed + 1)
    queries = set(range(0, len(split.train), step))
    known = np.array([i in queries and j in queries for i, j in zip(train.i, train.j, strict=True)])
    inside = PairSet(train.i[known], train.j[known], train.same[known])

    def chances(rows, chosen, k):
        shares = {}
        for query in rows:
            near = nearest(Z, query, [row for row in split.train if own[row] != own[query]], k)
            shares[query] = np.array([np.mean(y[near] == finding) for finding in "abc"])
        found = [shares[rows[i]] @ shares[rows[j]] for i, j in zip(chosen.i, chosen.j, strict=True)]
        return np.round(found, 9)

    def nearness(rows, chosen):
        return np.array([-squared(Z, rows[i], rows[j]) for i, j in zip(chosen.i, chosen.j, strict=True)])

    allowed = [k for k in K_CHOICES if k < len(split.train)]
    areas = [round(area(chances(split.train, inside, k), inside.same), 12) for k in allowed]
    k = allowed[int(np.argmax(areas))]
    near, likely = nearness(split.test, test), chances(split.test, test, k)
    near_cut = best_cut(nearness(split.train, train), train.same)
    likely_cut = best_cut(chances(split.train, inside, k), inside.same)
    return {
        "auc_distance": area(near, test.same),
        "auc_marginal": area(likely, test.same),
        "pair_accuracy_distance": np.mean((near >= near_cut) == test.same),
        "pair_accuracy_marginal": np.mean((likely >= likely_cut) == test.same),
        "chosen_k": k,
    }


@pytest.mark.parametrize(("patients", "step"), [(0, 1), (2, 1), (2, 2)])
def test_every_score_is_that_of_loops(monkeypatch, patients, step):
    data = blobs(n=96, patients=patients)
    monkeypatch.setattr(protocol, "_MAX_QUERIES", 48 // step)
    monkeypatch.setattr(pairs, "MAX_PAIRS", 150)
    result = run_protocol("pairs", data, "euclidean", seed=2)
    scores = {name: summary.mean for name, summary in result.results[0].scores.items()}
    assert scores == pytest.approx(expected(data, 2, step))
    assert set(result.results[0].roc) == {BY_DISTANCE, BY_VOTES}


def test_ten_random_halves_and_at_most_2000_pairs_of_each_kind():
    assert pairs.MAX_PAIRS == 2000
    protocol = PairsProtocol()
    assert protocol.repeats == 10
    assert protocol.compared == (
        "auc_distance", "auc_marginal", "pair_accuracy_distance", "pair_accuracy_marginal",
    )  # fmt: skip
    rule, splits = protocol.splits(blobs(), 3, 5)
    assert rule == "random halves"
    assert [split.seed for split in splits] == [repeat_seed(5, repeat) for repeat in range(3)]


def test_pairs_are_different_true_of_both_kinds_and_of_two_patients():
    rng = np.random.default_rng(0)
    findings, patients = rng.integers(0, 3, 40), np.arange(40) // 2
    drawn = balanced_pairs(findings, patients, 100, 5)
    assert (drawn.i < drawn.j).all()
    assert len(set(zip(drawn.i.tolist(), drawn.j.tolist(), strict=True))) == 200
    assert ((findings[drawn.i] == findings[drawn.j]) == drawn.same).all()
    assert (patients[drawn.i] != patients[drawn.j]).all()
    assert drawn.same.sum() == 100
    few = balanced_pairs(np.array([0, 0, 1]), np.arange(3), 100, 5)
    assert len(few.i) == 2
    for hopeless in ([0, 1, 2], [0, 0, 0]):
        with pytest.raises(BadInput, match="no pairs of one finding, or none of two"):
            balanced_pairs(np.array(hopeless), np.arange(3), 10, 5)


def test_every_pair_is_found_where_there_are_few_and_a_seed_gives_the_same():
    findings, patients = np.arange(30) % 3, np.arange(30)
    every = balanced_pairs(findings, patients, 2000, 5)
    same = set(zip(every.i[every.same].tolist(), every.j[every.same].tolist(), strict=True))
    assert same == {(i, j) for i in range(30) for j in range(i + 1, 30) if i % 3 == j % 3}
    again, other = (balanced_pairs(findings, patients, 20, seed) for seed in (5, 6))
    assert (again.i == balanced_pairs(findings, patients, 20, 5).i).all()
    assert again.i.tolist() != other.i.tolist()
    # Drawn at random, not the first there are.
    assert again.i[again.same].max() > 15


def test_smallest_k_is_chosen_without_informative_pairs():
    few, fewer, one = (SimpleNamespace(findings=np.zeros(n)) for n in (9, 3, 1))
    i, j = np.array([0]), np.array([1])
    for same in (True, False):
        assert _best_k(None, few, PairSet(i, j, np.array([same])), 2) == 3
    assert _best_k(None, fewer, PairSet(i, j, np.array([True])), 2) == 2
    assert _best_k(None, one, PairSet(i, j, np.array([True])), 2) == 1


def test_threshold_has_the_fewest_errors():
    rng = np.random.default_rng(0)
    for _ in range(20):
        scores, same = rng.integers(0, 6, 12).astype(float), rng.random(12) < 0.5
        assert _threshold(scores, same) == best_cut(scores, same)
    assert _threshold(np.empty(0), np.empty(0, dtype=bool)) == 0.0
    assert _threshold(np.array([1.0, 3.0]), np.array([False, True])) == 2.0
    assert _threshold(np.array([3.0, 1.0]), np.array([True, True])) == 1.0
    assert _threshold(np.array([1.0, 3.0]), np.array([False, False])) == 4.0


@pytest.mark.parametrize("learner", ["euclidean", "l1", "bdm"])
def test_distances_of_pairs_are_those_of_the_metric(learner):
    data = blobs(n=30)
    metric = make_learner(learner).fit(data.X, data.y).metric()
    rows = PairSet(np.array([4, 0, 4, 7]), np.array([9, 1, 2, 8]), np.ones(4, dtype=bool))
    every = metric.distances(data.X, data.X)
    assert _distances(metric, data.X, rows) == pytest.approx(every[rows.i, rows.j])


def test_pairs_equal_up_to_rounding_tie():
    shares = np.round(np.array([[2, 1, 0], [2, 0, 1], [1, 2, 0]]) / 3, 12)
    one, other = _marginal(shares, PairSet(np.array([0, 0]), np.array([1, 2]), np.array([True, False])))
    assert one == other
    assert _without_rounding(np.array([0.5, 0.3, 0.1 + 0.2, 0.0])).tolist() == [2, 1, 1, 0]
