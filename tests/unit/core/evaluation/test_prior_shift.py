from __future__ import annotations

import numpy as np
import pytest

from semblance.core.evaluation.prior_shift import shift_prior


def test_the_same_prevalence_changes_nothing():
    assert shift_prior(0.71, 0.62, 0.62) == pytest.approx(0.71)


def test_the_odds_change_by_the_ratio_of_the_prior_odds():
    shifted = shift_prior(0.8, 0.5, 0.1)
    assert shifted / (1 - shifted) == pytest.approx(4 / 9)


def test_shifted_probabilities_are_true_where_the_finding_is_rarer():
    rng = np.random.default_rng(0)

    def draw(prevalence: float, n: int):
        truth = rng.random(n) < prevalence
        return truth, rng.normal(np.where(truth, 1.0, 0.0))

    truth, seen = draw(0.1, 200_000)
    # Bayes' rule where half of the cases have the finding.
    probability = 1 / (1 + np.exp(0.5 - seen))
    shifted = np.array([shift_prior(p, 0.5, 0.1) for p in probability])
    for low in (0.0, 0.1, 0.2, 0.3):
        bin_ = (shifted >= low) & (shifted < low + 0.1)
        assert truth[bin_].mean() == pytest.approx(shifted[bin_].mean(), abs=0.01)
