"""ROC curves and areas equal the count over all pairs, ties included."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from core.evaluation.roc import GRID, auc, auc_with_interval, average, defined, roc

problems = st.lists(st.tuples(st.integers(0, 5), st.booleans()), min_size=2, max_size=40).filter(
    lambda rows: 0 < sum(positive for _, positive in rows) < len(rows)
)


def arrays(rows):
    return np.array([score / 5 for score, _ in rows]), np.array([positive for _, positive in rows])


def naive_auc(scores, positive):
    pairs = [(p, n) for p in scores[positive] for n in scores[~positive]]
    return sum((p > n) + 0.5 * (p == n) for p, n in pairs) / len(pairs)


@given(problems)
def test_auc_is_the_mann_whitney_count(rows):
    scores, positive = arrays(rows)
    assert auc(scores, positive) == pytest.approx(naive_auc(scores, positive), abs=1e-12)


@given(problems)
def test_the_area_under_the_curve_is_the_auc(rows):
    scores, positive = arrays(rows)
    curve = roc(scores, positive)
    assert np.trapezoid(curve.tpr, curve.fpr) == pytest.approx(auc(scores, positive), abs=1e-12)
    assert (curve.fpr[0], curve.tpr[0], curve.fpr[-1], curve.tpr[-1]) == (0, 0, 1, 1)
    assert (np.diff(curve.fpr) >= 0).all()
    assert (np.diff(curve.tpr) >= 0).all()
    assert len(curve.fpr) == len(set(scores.tolist())) + 1


@given(problems)
def test_scores_turned_round_give_the_rest(rows):
    scores, positive = arrays(rows)
    assert auc(-scores, positive) == pytest.approx(1 - auc(scores, positive))
    assert auc(scores, ~positive) == pytest.approx(1 - auc(scores, positive))


def naive_delong(scores, positive):
    ps, ns = scores[positive], scores[~positive]
    kernel = np.array([[(p > n) + 0.5 * (p == n) for n in ns] for p in ps])
    return kernel.mean(axis=1).var(ddof=1) / len(ps) + kernel.mean(axis=0).var(ddof=1) / len(ns)


@given(problems)
def test_the_interval_is_delongs(rows):
    scores, positive = arrays(rows)
    result = auc_with_interval(scores, positive)
    if min(positive.sum(), (~positive).sum()) < 2:
        assert result.ci95 is None
        return
    half = 1.959963984540054 * naive_delong(scores, positive) ** 0.5
    assert result.ci95 == pytest.approx((max(0, result.auc - half), min(1, result.auc + half)), abs=1e-9)


def test_the_interval_covers_the_truth_as_often_as_it_says():
    rng = np.random.default_rng(0)
    positive = np.arange(120) < 60
    truth, covered = 0.7602499389065233, 0
    for _ in range(400):
        low, high = auc_with_interval(rng.normal(size=120) + positive, positive).ci95
        covered += low <= truth <= high
    assert 0.91 <= covered / 400 <= 0.98


def test_the_average_curve_holds_the_average_area():
    rng = np.random.default_rng(1)
    positive = np.arange(300) < 100
    curves = [roc(rng.normal(size=300) + positive, positive) for _ in range(5)]
    mean = average(curves)
    area = np.mean([np.trapezoid(curve.tpr, curve.fpr) for curve in curves])
    assert np.trapezoid(mean.tpr, mean.fpr) == pytest.approx(area, abs=0.01)
    assert (mean.fpr[0], mean.tpr[0], mean.fpr[-1], mean.tpr[-1]) == (0, 0, 1, 1)
    np.testing.assert_array_equal(mean.fpr[1:], GRID)


def test_one_sided_truth_has_no_curve():
    assert not defined(np.array([True, True]))
    assert not defined(np.array([False]))
    assert not defined(np.array([], dtype=bool))
    assert defined(np.array([True, False]))
