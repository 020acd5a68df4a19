from __future__ import annotations

import numpy as np
import pytest
from sklearn.isotonic import IsotonicRegression
from sklearn.linear_model import LogisticRegression

from semblance.core.evaluation.calibrators import FITS, fit_isotonic, fit_platt, log_odds


def drawn(seed: int, n: int = 4000) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Votes of ten, with how many cases of each have the finding."""
    rng = np.random.default_rng(seed)
    votes = rng.integers(0, 11, n)
    had = rng.random(n) < 1 / (1 + np.exp(0.6 * (5 - votes)))
    total = np.bincount(votes, minlength=11).astype(float)
    return log_odds(np.arange(11), 10), np.bincount(votes, had, minlength=11), total


def test_platt_nears_plain_logistic_regression_on_many_cases():
    odds, positive, total = drawn(0)
    X = np.concatenate([odds, odds])[:, None]
    y = np.repeat([1, 0], 11)
    plain = LogisticRegression(C=1e9, max_iter=1000).fit(
        X, y, sample_weight=np.concatenate([positive, total - positive])
    )
    assert fit_platt(odds, positive, total)(odds) == pytest.approx(
        plain.predict_proba(odds[:, None])[:, 1], abs=0.003
    )


def test_isotonic_is_that_of_scikit_learn_on_smoothed_shares():
    odds, positive, total = drawn(1, n=300)
    base = positive.sum() / total.sum()
    ours = fit_isotonic(odds, positive, total)(odds)
    theirs = IsotonicRegression().fit_transform(
        odds, (positive + base) / (total + 1), sample_weight=total + 1
    )
    assert ours == pytest.approx(theirs, abs=1e-12)


@pytest.mark.parametrize("kind", FITS)
def test_probability_rises_with_votes(kind):
    rng = np.random.default_rng(2)
    for _ in range(20):
        total = rng.integers(0, 4, 11).astype(float)
        total[0] += 1
        positive = np.floor(total * rng.random(11))
        odds = log_odds(np.arange(11), 10)
        p = FITS[kind](odds, positive, total)(odds)
        assert (np.diff(p) >= -1e-12).all()
        assert ((p > 0) & (p < 1)).all()


@pytest.mark.parametrize("kind", FITS)
def test_vote_that_is_always_wrong_gives_no_estimate(kind):
    odds = log_odds(np.arange(11), 10)
    total = np.full(11, 100.0)
    p = FITS[kind](odds, np.linspace(100, 0, 11), total)(odds)
    assert p == pytest.approx(0.5, abs=0.01)


def test_few_equal_cases_are_not_certain():
    odds = log_odds(np.array([0, 10]), np.array([10, 10]))
    for fit in FITS.values():
        p = fit(odds, np.array([0.0, 5.0]), np.array([5.0, 5.0]))(odds)
        assert 0.0 < p[0] < 0.25
        assert 0.75 < p[1] < 1.0
