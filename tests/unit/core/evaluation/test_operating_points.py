from __future__ import annotations

import numpy as np
import pytest

from semblance.core.evaluation.operating_points import bootstrap, sensitivity_at
from semblance.core.evaluation.roc import auc


def naive_sensitivity(scores, positive, specificity):
    """The best over every threshold that calls enough negatives negative."""
    best = 0.0
    for threshold in [*np.unique(scores), np.inf]:
        called = scores >= threshold
        if (~called[~positive]).mean() >= specificity - 1e-9:
            best = max(best, called[positive].mean())
    return best


@pytest.mark.parametrize("seed", range(20))
@pytest.mark.parametrize("specificity", [0.0, 0.5, 0.8, 0.9, 1.0])
def test_sensitivity_against_every_threshold(seed, specificity):
    rng = np.random.default_rng(seed)
    positive = np.concatenate([[True, False], rng.random(18) < 0.5])
    scores = np.round(rng.random(20) + 0.3 * positive, 1)
    assert sensitivity_at(specificity)(scores, positive) == naive_sensitivity(scores, positive, specificity)


def test_the_bootstrap_nears_delongs_interval_where_cases_are_independent():
    from semblance.core.evaluation.roc import auc_with_interval

    rng = np.random.default_rng(1)
    positive = rng.random(400) < 0.4
    scores = rng.normal(size=400) + positive
    low, high = bootstrap(auc, scores, positive, seed=0, draws=1000)
    expected = auc_with_interval(scores, positive).ci95
    assert (low, high) == pytest.approx(expected, abs=0.012)


def test_whole_patients_are_drawn():
    """Copies of each case say nothing new: the interval is that of single cases, not a narrower one."""
    rng = np.random.default_rng(2)
    positive = rng.random(60) < 0.5
    scores = rng.normal(size=60) + positive
    alone = bootstrap(auc, scores, positive, seed=0, draws=600)
    patients = np.repeat(np.arange(60), 9)
    copied = bootstrap(
        auc, np.repeat(scores, 9), np.repeat(positive, 9), seed=0, patients=patients, draws=600
    )
    as_cases = bootstrap(auc, np.repeat(scores, 9), np.repeat(positive, 9), seed=0, draws=600)
    assert copied == pytest.approx(alone)
    assert as_cases[1] - as_cases[0] < 0.5 * (alone[1] - alone[0])


def test_too_few_of_a_side_give_none():
    lone = np.array([True, *[False] * 3])
    patients = np.zeros(4, dtype=int)
    assert bootstrap(auc, np.arange(4.0), lone, seed=0, patients=patients, draws=9) == (0.0, 0.0)
    assert bootstrap(auc, np.arange(4.0), np.ones(4, dtype=bool), seed=0, draws=9) is None
    assert bootstrap(auc, np.arange(4.0), lone, seed=0, draws=0) is None
