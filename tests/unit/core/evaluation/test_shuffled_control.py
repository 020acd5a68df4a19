from __future__ import annotations

import json

import numpy as np
import pytest

from semblance.core.evaluation.shuffled_control import (
    ShuffledControl,
    measure_control,
    shuffled_by_unit,
    stored_control,
)


def test_shuffling_moves_the_findings_of_whole_patients():
    units = np.repeat(np.arange(50), 2)
    values = units % 5
    shuffled = shuffled_by_unit(values, units, np.random.default_rng(0))
    assert (shuffled[::2] == shuffled[1::2]).all()
    assert sorted(shuffled) == sorted(values)
    assert (shuffled != values).mean() > 0.5
    # Patients of different size give their findings too, and none is lost.
    uneven = np.array([0, 0, 0, 1, 2, 2, 3])
    assert sorted(shuffled_by_unit(uneven, uneven, np.random.default_rng(1))) == sorted(uneven)


@pytest.mark.slow
def test_about_one_correct_control_in_a_hundred_is_above_chance():
    rng = np.random.default_rng(1)
    above = 0
    for seed in range(80):
        # Neighbourhoods of queries overlap, so that their answers are not independent.
        answers = rng.integers(0, 2, (12, 10))[rng.integers(0, 12, 60)]
        control = measure_control(answers, rng.integers(0, 2, 60), np.arange(60) // 2, 100, seed)
        above += not control.is_near_chance
    assert above <= 4


def test_a_control_with_the_true_findings_is_above_chance():
    rng = np.random.default_rng(2)
    findings = rng.integers(0, 2, 100)
    answers = np.where(rng.random((100, 10)) < 0.7, findings[:, np.newaxis], 1 - findings[:, np.newaxis])
    control = measure_control(answers, findings, None, 80, 0)
    assert control.accuracy == pytest.approx(0.7, abs=0.05)
    assert control.chance == pytest.approx(0.5, abs=0.03)
    assert not control.is_near_chance
    assert measure_control(np.full((3, 2), -1), np.zeros(3, dtype=int), None, 5, 0) is None


def test_the_control_is_read_back():
    control = ShuffledControl(80, 40, 0.52, 0.5, (0.41, 0.6))
    stored = json.loads(json.dumps({"shuffled_control": control.to_json()}))
    assert stored_control(stored) == control
    assert stored_control({"shuffled_control": {"accuracy": 1}}) is None
    assert stored_control({}) is None
