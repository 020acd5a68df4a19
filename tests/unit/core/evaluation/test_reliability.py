from __future__ import annotations

import numpy as np
import pytest

from semblance.core.evaluation.reliability import expected_calibration_error, perfect_error, reliability


def test_the_error_is_the_mean_gap_of_ten_bins():
    p = np.array([0.05, 0.15, 0.15, 0.95, 1.0])
    truth = np.array([False, True, False, True, True])
    gaps = [abs(0 - 0.05) * 1, abs(0.5 - 0.15) * 2, abs(1 - 0.975) * 2]
    assert expected_calibration_error(p, truth) == pytest.approx(sum(gaps) / 5)
    bins = reliability(p, truth)
    assert [(b.low, b.high, b.n) for b in bins] == [(0.0, 0.1, 1), (0.1, 0.2, 2), (0.9, 1.0, 2)]
    assert bins[1].observed == 0.5
    assert bins[1].interval == pytest.approx((0.0945, 0.9055), abs=1e-3)


@pytest.mark.parametrize("n", [50, 200, 1000])
def test_error_of_a_perfect_forecaster_falls_with_cases(n):
    p = np.random.default_rng(0).beta(0.7, 0.7, n)
    found = perfect_error(p)
    assert found == pytest.approx(1.3 / n**0.5, rel=0.1)
    rng = np.random.default_rng(1)
    errors = [expected_calibration_error(p, rng.random(n) < p) for _ in range(400)]
    assert np.mean(np.array(errors) <= found) == pytest.approx(0.95, abs=0.03)
    assert perfect_error(p) == found
