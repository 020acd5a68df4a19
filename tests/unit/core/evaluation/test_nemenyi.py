"""Nemenyi's distance against the printed table, groups against a loop over all pairs."""

from __future__ import annotations

import itertools

import numpy as np
import pytest

from semblance.core.evaluation.friedman import friedman
from semblance.core.evaluation.nemenyi import critical_difference, indistinguishable_groups, nemenyi_json

#: Demsar (2006), Table 5a: q at alpha 0.05 and 0.10 for 2 ... 10 learners.
TABLE_5A = {
    0.05: (1.960, 2.343, 2.569, 2.728, 2.850, 2.949, 3.031, 3.102, 3.164),
    0.10: (1.645, 2.052, 2.291, 2.459, 2.589, 2.693, 2.780, 2.855, 2.920),
}


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
