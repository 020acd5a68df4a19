"""Intervals equal their formulas and cover what they say."""

from __future__ import annotations

import numpy as np
import pytest

from semblance.core.evaluation.intervals import corrected_variance, over_queries, over_repeats, t_quantile
from semblance.core.evaluation.significance import corrected_t_test


def test_t_quantiles_are_the_tables():
    assert t_quantile(0.975, 9) == pytest.approx(2.262157, abs=1e-6)
    assert t_quantile(0.975, 1) == pytest.approx(12.7062, abs=1e-4)


def test_a_summary_over_repeats():
    summary = over_repeats([0.5, 0.7, None, 0.6])
    assert summary.mean == pytest.approx(0.6)
    assert summary.std == pytest.approx(0.1)
    half = 4.302653 * 0.1 / 3**0.5
    assert summary.ci95 == pytest.approx((0.6 - half, 0.6 + half), abs=1e-6)
    assert summary.to_json()["values"] == [0.5, 0.7, None, 0.6]


def test_an_interval_of_fractions_stays_among_fractions():
    assert over_repeats([1.0, 0.99, 1.0]).ci95[1] == 1.0


def test_one_repeat_has_no_interval():
    summary = over_repeats([0.8])
    assert (summary.mean, summary.std, summary.ci95) == (0.8, None, None)
    with pytest.raises(ValueError, match="needs a value"):
        over_repeats([None])


def test_the_bootstrap_is_seeded_and_near_the_normal_interval():
    values = np.random.default_rng(0).random((400, 2))
    mean, low, high = over_queries(values, seed=3)
    again = over_queries(values, seed=3)
    np.testing.assert_array_equal(low, again[1])
    assert (over_queries(values, seed=4)[1] != low).any()
    np.testing.assert_allclose(mean, values.mean(axis=0))
    error = values.std(axis=0) / 20
    np.testing.assert_allclose(low, mean - 1.96 * error, atol=0.15 * error.max())
    np.testing.assert_allclose(high, mean + 1.96 * error, atol=0.15 * error.max())


def test_whole_patients_are_drawn():
    values = np.repeat(np.random.default_rng(1).random(20), 10)[:, None]
    _, low, high = over_queries(values, seed=0)
    _, wide_low, wide_high = over_queries(values, seed=0, groups=np.repeat(np.arange(20), 10))
    assert (wide_high - wide_low)[0] > 2 * (high - low)[0]


def test_queries_without_value_are_left_out():
    values = np.array([[1.0, np.nan], [0.0, np.nan], [np.nan, np.nan]])
    mean, low, high = over_queries(values, seed=0)
    assert mean[0] == 0.5
    assert (low[0], high[0]) == (0.0, 1.0)
    assert np.isnan([mean[1], low[1], high[1]]).all()


def test_the_corrected_variance_is_nadeau_and_bengios():
    d = np.array([0.1, 0.2, 0.15, 0.05])
    expected = (1 / 4 + 100 / 300) * sum((d - d.mean()) ** 2) / 3
    assert corrected_variance(d, 300, 100) == pytest.approx(expected)


def test_the_corrected_t_test_by_hand():
    from scipy import stats

    rng = np.random.default_rng(0)
    a, b = rng.normal(0.82, 0.02, 10), rng.normal(0.8, 0.02, 10)
    result = corrected_t_test(list(a), list(b), 200, 200)
    d = a - b
    error = np.sqrt((0.1 + 1.0) * d.var(ddof=1))
    assert result.difference == pytest.approx(d.mean())
    assert result.p_value == pytest.approx(2 * stats.t.sf(abs(d.mean()) / error, 9))
    half = stats.t.ppf(0.975, 9) * error
    assert result.ci95 == pytest.approx((d.mean() - half, d.mean() + half))
    mirrored = corrected_t_test(list(b), list(a), 200, 200)
    assert mirrored.p_value == pytest.approx(result.p_value)
    assert mirrored.difference == pytest.approx(-result.difference)


def test_equal_learners_do_not_differ_and_nothing_is_certain_of_constant_differences():
    assert corrected_t_test([0.5, 0.6], [0.5, 0.6], 10, 10).p_value == 1.0
    assert corrected_t_test([0.75, 0.75], [0.5, 0.5], 10, 10) is None
    assert corrected_t_test([0.9, 0.8, 0.7], [0.8, 0.7, 0.6], 10, 10) is None


def test_repeats_without_a_value_do_not_pair():
    assert corrected_t_test([0.5, None], [0.5, 0.7], 10, 10) is None
    result = corrected_t_test([0.5, None, 0.7], [0.4, 0.1, 0.5], 10, 10)
    assert result.difference == pytest.approx(0.15)


def test_false_positive_rate_of_the_corrected_t_test():
    """Accuracies over random halves of one sample share cases; the plain t test errs far more often."""
    rng = np.random.default_rng(2)
    wrong = 0
    for _ in range(200):
        right_a, right_b = rng.random(100) < 0.8, rng.random(100) < 0.8
        tests = [rng.permutation(100)[:50] for _ in range(10)]
        a, b = ([float(right[rows].mean()) for rows in tests] for right in (right_a, right_b))
        wrong += corrected_t_test(a, b, 50, 50).p_value < 0.05
    assert wrong / 200 <= 0.08


def test_only_intervals_of_fractions_stay_within_0_and_1():
    assert over_repeats([0.0, 0.5, 1.0]).ci95 == (0.0, 1.0)
    low, high = over_repeats([10.0, 20.0, 30.0]).ci95
    assert (low < 0, high > 40) == (True, True)
