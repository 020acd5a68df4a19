"""ROC curves and areas equal the count over all pairs, ties included."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from semblance.core.evaluation.roc import (
    GRID,
    auc,
    auc_with_interval,
    average,
    bootstrap,
    is_defined,
    roc,
    sensitivity_at,
)

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
def test_negated_scores_give_the_complement(rows):
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


def test_coverage_of_the_interval():
    rng = np.random.default_rng(0)
    positive = np.arange(120) < 60
    truth, covered = 0.7602499389065233, 0
    for _ in range(400):
        low, high = auc_with_interval(rng.normal(size=120) + positive, positive).ci95
        covered += low <= truth <= high
    assert 0.91 <= covered / 400 <= 0.98


def naive_obuchowski(scores, positive, patients):
    ps, ns = np.flatnonzero(positive), np.flatnonzero(~positive)
    kernel = np.array([[(scores[p] > scores[n]) + 0.5 * (scores[p] == scores[n]) for n in ns] for p in ps])
    area, names = kernel.mean(), sorted(set(patients.tolist()))
    first = {k: sum(kernel[i].mean() - area for i, p in enumerate(ps) if patients[p] == k) for k in names}
    second = {k: sum(kernel[:, j].mean() - area for j, n in enumerate(ns) if patients[n] == k) for k in names}
    a, b, all_of_them = len(set(patients[ps])), len(set(patients[ns])), len(names)
    s10 = a / ((a - 1) * len(ps)) * sum(value**2 for value in first.values())
    s01 = b / ((b - 1) * len(ns)) * sum(value**2 for value in second.values())
    s11 = all_of_them / (all_of_them - 1) * sum(first[k] * second[k] for k in names)
    return s10 / len(ps) + s01 / len(ns) + 2 * s11 / (len(ps) * len(ns))


@pytest.mark.parametrize("seed", range(6))
def test_with_several_cases_of_a_patient_the_interval_is_obuchowskis(seed):
    rng = np.random.default_rng(seed)
    positive, patients = rng.random(40) < 0.4, rng.integers(0, 15, 40)
    scores = rng.integers(0, 8, 40) / 8 + 0.3 * positive
    low, high = auc_with_interval(scores, positive, patients).ci95
    half = 1.959963984540054 * naive_obuchowski(scores, positive, patients) ** 0.5
    area = auc(scores, positive)
    assert (low, high) == pytest.approx((max(0, area - half), min(1, area + half)), abs=1e-9)
    alone = auc_with_interval(scores, positive, rng.permutation(40)).ci95
    assert alone == pytest.approx(auc_with_interval(scores, positive).ci95, abs=1e-12)


def test_cases_of_one_patient_do_not_make_the_interval_narrow():
    """Four cases of each patient say hardly more than one."""
    rng = np.random.default_rng(0)
    patients = np.repeat(np.arange(60), 4)
    positive, truth, covered = patients < 30, 0.7602499389065233, np.zeros(2)
    for _ in range(300):
        scores = (rng.normal(size=60)[patients] + 0.01 * rng.normal(size=240)) + positive
        for place, known in enumerate((patients, None)):
            low, high = auc_with_interval(scores, positive, known).ci95
            covered[place] += low <= truth <= high
    assert 0.91 <= covered[0] / 300 <= 0.98
    assert covered[1] / 300 < 0.8
    assert auc_with_interval(scores, positive, np.where(positive, 0, patients)).ci95 is None


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
    assert not is_defined(np.array([True, True]))
    assert not is_defined(np.array([False]))
    assert not is_defined(np.array([], dtype=bool))
    assert is_defined(np.array([True, False]))


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
