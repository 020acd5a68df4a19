from __future__ import annotations

import numpy as np
import pytest

from semblance.core.retrieval.match_distance import (
    NEAREST,
    conformal_limit,
    leave_one_out_distances,
    mean_of_nearest,
)


def test_the_mean_is_of_the_five_nearest_that_there_are():
    squared = np.array([[4.0, 1, 0, 9, 16, 400, 900], [np.inf, 4, np.inf, np.inf, 16, np.inf, np.inf]])
    assert mean_of_nearest(squared).tolist() == [2.0, 3.0]
    assert np.isinf(mean_of_nearest(np.full((2, 3), np.inf))).all()


def test_the_limit_is_the_conformal_rank():
    distances = np.random.default_rng(0).permutation(99) + 1.0
    assert conformal_limit(distances, 0.01) == 99.0
    assert conformal_limit(distances, 0.05) == 95.0
    assert conformal_limit(distances, 0.5) == 50.0


@pytest.mark.parametrize("rate", [0.01, 0.05])
@pytest.mark.parametrize("n", [30, 60, 100, 400])
def test_new_cases_exceed_the_limit_at_most_at_the_rate(rate, n):
    rng = np.random.default_rng(n)
    known = rng.gamma(4.0, size=(4000, n))
    limits = np.array([conformal_limit(one, rate) for one in known])
    new = rng.gamma(4.0, size=(4000, 50))
    assert rate / 2 <= np.mean(new > limits[:, np.newaxis]) <= rate * 1.1


def test_too_few_cases_still_refuse_what_is_far():
    distances = np.linspace(1.0, 2.0, 30)
    assert 2.0 <= conformal_limit(distances, 0.01) < 3.0
    assert conformal_limit(np.ones(30), 0.01) == 1.0


def test_distances_leave_out_the_own_patient_and_lesion():
    rng = np.random.default_rng(0)
    rows = rng.normal(size=(240, 16)).astype(np.float32)
    rows /= np.linalg.norm(rows, axis=1, keepdims=True)
    patients, keys = rng.integers(-1, 60, 240), rng.integers(-1, 80, 240)
    places = np.sort(rng.choice(240, 150, replace=False))
    found = leave_one_out_distances(rows, places, patients, keys)
    for place, distance in zip(places.tolist(), found.tolist(), strict=True):
        others = [
            float(np.linalg.norm(rows[place].astype(float) - rows[other]))
            for other in range(240)
            if other != place
            and not (patients[place] >= 0 and patients[other] == patients[place])
            and not (keys[place] >= 0 and keys[other] == keys[place])
        ]
        assert distance == pytest.approx(np.mean(sorted(others)[:NEAREST]), abs=1e-5)
