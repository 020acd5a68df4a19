"""Ranks over several tables: against scipy, against hand-computed values, and against a paper's tables."""

from __future__ import annotations

import itertools
from types import SimpleNamespace

import numpy as np
import pytest
from scipy import stats

from semblance.core.evaluation.friedman import (
    FriedmanResult,
    critical_difference,
    friedman,
    friedman_over,
    holm,
    indistinguishable_groups,
    nemenyi_json,
    smaller_is_better,
)

#: Demsar (2006), Table 5a: q at alpha 0.05 and 0.10 for 2 ... 10 learners.
TABLE_5A = {
    0.05: (1.960, 2.343, 2.569, 2.728, 2.850, 2.949, 3.031, 3.102, 3.164),
    0.10: (1.645, 2.052, 2.291, 2.459, 2.589, 2.693, 2.780, 2.855, 2.920),
}


@pytest.mark.parametrize("seed", range(6))
@pytest.mark.parametrize("tied", [False, True])
def test_friedman_is_scipys(seed, tied):
    rng = np.random.default_rng(seed)
    table = rng.random((rng.integers(2, 12), rng.integers(3, 7)))
    if tied:
        table = np.round(3 * table)
    ours = friedman(
        "auc", {f"learner {column}": table[:, column].tolist() for column in range(table.shape[1])}
    )
    theirs = stats.friedmanchisquare(*table.T)
    assert ours.statistic == pytest.approx(theirs.statistic, rel=1e-12)
    assert ours.p_value == pytest.approx(theirs.pvalue, rel=1e-10)
    ranks = np.array([stats.rankdata(-row) for row in table]).mean(axis=0)
    np.testing.assert_allclose(list(ours.ranks.values()), ranks)


def test_better_learner_has_the_smaller_rank_for_errors_and_accuracies():
    better, worse = [0.9, 0.8, 0.7], [0.5, 0.8, 0.6]
    up = friedman("triplet_accuracy", {"a": better, "b": worse})
    assert up.ranks == {"a": pytest.approx(7 / 6), "b": pytest.approx(11 / 6)}
    down = friedman("knn_error@3", {"a": better, "b": worse})
    assert down.ranks == {"a": pytest.approx(11 / 6), "b": pytest.approx(7 / 6)}
    assert smaller_is_better("predictive_loss")
    assert not smaller_is_better("auc:malignant")


def test_learners_that_never_differ_and_differences_of_rounding():
    test = friedman("auc", {"a": [0.1 + 0.2, 0.5], "b": [0.3, 0.5]})
    assert (test.ranks, test.statistic, test.p_value) == ({"a": 1.5, "b": 1.5}, 0.0, 1.0)
    assert [pair.p_adjusted for pair in holm(test)] == [1.0]


def test_too_few_learners_or_tables_are_refused():
    for values in ({}, {"a": [1.0, 2.0]}, {"a": [1.0], "b": [2.0]}, {"a": [1.0, 2.0], "b": [1.0]}):
        with pytest.raises(ValueError, match=r"two|inhomogeneous"):
            friedman("auc", values)


def test_holm_by_hand():
    # Standard error sqrt(3 * 4 / (6 * 8)) = 1/2, so that z is twice the difference of ranks.
    pairs = holm(FriedmanResult("auc", 8, {"a": 1.0, "b": 2.0, "c": 3.0}, 0.0, 1.0))
    assert [(pair.a, pair.b, pair.z) for pair in pairs] == [
        ("a", "c", -4.0),
        ("a", "b", -2.0),
        ("b", "c", -2.0),
    ]
    p = [2 * stats.norm.sf(z) for z in (4, 2, 2)]
    assert [pair.p_value for pair in pairs] == pytest.approx(p)
    # The last would be p itself; it may not fall below the one before it, which is 2 p.
    assert [pair.p_adjusted for pair in pairs] == pytest.approx([3 * p[0], 2 * p[1], 2 * p[1]])


def test_holm_of_the_ranks_a_paper_prints_gives_the_p_values_it_prints():
    """passive_aggressive.txt, Tables 4 and 5: 15 tables, 7 methods."""
    ranks = {
        "PAI-": 1.49, "PAII-": 1.77, "PALS-": 2.87, "PAII+": 4.86, "PAI+": 4.93, "ITML": 5.67, "PALS+": 6.40,
    }  # fmt: skip
    found = {
        (pair.a, pair.b): pair.p_adjusted for pair in holm(FriedmanResult("seconds", 15, ranks, 0.0, 0.0))
    }
    printed = {("PALS-", "ITML"): 0.0046, ("PALS-", "PAI+"): 0.0967, ("PALS-", "PAII+"): 0.1112}
    for pair, value in printed.items():
        # The ranks are printed to two decimals.
        assert found[pair] == pytest.approx(value, rel=0.05)
    assert found[("PAII-", "PAII+")] == pytest.approx(0.0011, rel=0.1)
    assert found[("PAI-", "ITML")] < 1e-5
    assert found[("PAII-", "PALS+")] < 1e-7


def result(**learners):
    results = [
        SimpleNamespace(
            learner=name, scores={score: SimpleNamespace(mean=mean) for score, mean in scores.items()}
        )
        for name, scores in learners.items()
    ]
    return SimpleNamespace(results=results)


def test_only_learners_measured_on_every_table_are_ranked():
    tables = [
        result(a={"auc": 0.9, "s": 1.0}, b={"auc": 0.8, "s": 2.0}, c={"auc": 0.1}),
        result(b={"auc": 0.8}, a={"auc": 0.7}),
        result(a={"auc": 0.9, "s": 1.0}, b={"auc": 0.8, "s": 2.0}, c={"auc": 0.1}),
    ]
    found = {test.score: test for test in friedman_over(tables, ("auc", "s", "magic"))}
    assert set(found) == {"auc", "s"}
    assert found["auc"].tables == 3
    assert found["auc"].ranks == {"a": pytest.approx(4 / 3), "b": pytest.approx(5 / 3)}
    assert found["s"].tables == 2


def test_one_table_or_one_learner_give_no_test():
    assert friedman_over([], ("auc",)) == ()
    assert friedman_over([result(a={"auc": 1.0}, b={"auc": 1.0})], ("auc",)) == ()
    assert friedman_over([result(a={"auc": 1.0}), result(a={"auc": 1.0})], ("auc",)) == ()


@pytest.mark.parametrize("alpha", TABLE_5A)
def test_the_printed_table(alpha):
    for k, q in enumerate(TABLE_5A[alpha], start=2):
        got = critical_difference(k, 20, alpha) / (k * (k + 1) / 120.0) ** 0.5
        assert got == pytest.approx(q, abs=1.1e-3)


def test_the_example_of_the_paper():
    """Section 3.2.2: four learners on fourteen tables, CD 1.25 at 0.05 and 1.12 at 0.10."""
    assert critical_difference(4, 14) == pytest.approx(1.25, abs=0.006)
    assert critical_difference(4, 14, 0.10) == pytest.approx(1.12, abs=0.006)


@pytest.mark.parametrize("seed", range(30))
def test_groups_are_all_that_cannot_be_larger(seed):
    rng = np.random.default_rng(seed)
    ranks = {f"l{i}": float(rank) for i, rank in enumerate(rng.uniform(1, 6, 6))}
    alike = {
        frozenset(some)
        for size in range(2, 7)
        for some in itertools.combinations(ranks, size)
        if max(ranks[n] for n in some) - min(ranks[n] for n in some) < 1.3
    }
    largest = {some for some in alike if not any(some < other for other in alike)}
    assert {frozenset(group) for group in indistinguishable_groups(ranks, 1.3)} == largest


def test_contents_of_the_document():
    test = friedman("auc", {"a": [0.9, 0.8, 0.9], "b": [0.5, 0.6, 0.4]})
    values = nemenyi_json(test)
    assert values == {
        "alpha": 0.05,
        "critical_difference": pytest.approx(1.1316, abs=1e-3),
        "alike": [["a", "b"]],
    }
