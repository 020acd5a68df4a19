"""Directions of concepts, and how well they tell cases that were left out."""

from __future__ import annotations

import numpy as np
import pytest

from semblance.core.searches.feedback.concept_direction import (
    MAX_PAIRS,
    MINIMUM,
    RIDGE,
    direction,
    has_enough_cases,
    newcombe,
    separability,
    spread,
)


def made_up(n: int, gap: float, seed: int = 0, m: int = 6) -> tuple[np.ndarray, np.ndarray]:
    """``n`` points of which every second has the concept: their first coordinate is ``gap`` larger."""
    points = np.random.default_rng(seed).normal(size=(n, m)) / np.sqrt(m)
    has = np.arange(n) % 2 == 0
    points[has, 0] += gap
    return points, has


def alone(n: int) -> np.ndarray:
    return np.arange(n)


def ridge_by_hand(points: np.ndarray, has: np.ndarray) -> np.ndarray:
    """Weighted ridge regression by its normal equations."""
    middle = (points[has].mean(axis=0) + points[~has].mean(axis=0)) / 2
    X, y = points - middle, np.where(has, 1.0, -1.0)
    w = np.where(has, len(has) / (2 * has.sum()), len(has) / (2 * (~has).sum()))
    v = np.linalg.solve((X.T * w) @ X + RIDGE * np.eye(X.shape[1]), (X.T * w) @ y)
    return v / np.linalg.norm(v)


@pytest.mark.parametrize(("n", "m"), [(8, 3), (8, 40), (31, 10)])
def test_the_direction_is_that_of_ridge_regression(n: int, m: int) -> None:
    points, has = made_up(n, 1.0, m=m)
    assert direction(points, has) == pytest.approx(ridge_by_hand(points, has), abs=1e-10)


def test_direction_separates_the_sides() -> None:
    points, has = made_up(60, 2.0)
    along = direction(points, has)
    assert along[0] > 0.9
    assert np.linalg.norm(along) == pytest.approx(1.0)
    assert direction(points, ~has) == pytest.approx(-along)


def test_unequal_sides_do_not_move_the_centre() -> None:
    points, has = made_up(20, 1.0)
    twice = np.concatenate([points, points[has]]), np.concatenate([has, has[has]])
    assert direction(*twice) @ direction(points, has) > 0.99


def test_equal_positions_have_no_direction() -> None:
    assert direction(np.ones((6, 3)), np.arange(6) < 3) is None


def test_spread_is_the_deviation_along_the_direction() -> None:
    points, _ = made_up(30, 0.0)
    along = np.eye(6)[2]
    assert spread(points, along) == pytest.approx(points[:, 2].std())


def pairs_by_hand(points: np.ndarray, has: np.ndarray, groups: np.ndarray) -> float:
    """Leave out both patients of every pair of one case with and one without, one after another."""
    won = []
    for i in np.flatnonzero(has):
        for j in np.flatnonzero(~has):
            usable = (groups != groups[i]) & (groups != groups[j])
            if has[usable].any() and not has[usable].all():
                v = ridge_by_hand(points[usable], has[usable])
                won.append(float(points[i] @ v > points[j] @ v))
    return float(np.mean(won))


@pytest.mark.parametrize("groups", [np.arange(14), np.arange(14) // 2, np.arange(14) // 3])
def test_strength_leaves_out_every_pair_with_its_patients(groups: np.ndarray) -> None:
    points, has = made_up(14, 0.7, seed=3)
    found = separability(points, has, groups)
    assert found is not None
    assert found.auc == pytest.approx(pairs_by_hand(points, has, groups))
    assert (found.with_, found.without) == (7, 7)
    sides = [len(set(groups[side])) for side in (has, ~has)]
    assert (found.low, found.high) == newcombe(found.auc, *sides)


def test_strength_of_noise_is_chance() -> None:
    """Leaving out single cases would give far less than a half."""
    found = [separability(*made_up(10, 0.0, seed=seed, m=20), alone(10)).auc for seed in range(60)]
    assert np.mean(found) == pytest.approx(0.5, abs=0.06)


def test_many_marks_are_cross_validated_in_folds() -> None:
    fresh, marked = made_up(2000, 0.35, seed=100)
    measured, truth = [], []
    for seed in range(12):
        points, has = made_up(80, 0.35, seed=seed)
        assert has.sum() * (~has).sum() > MAX_PAIRS
        found, along = separability(points, has, alone(80)), direction(points, has)
        assert found.low < found.auc < found.high
        measured.append(found.auc)
        truth.append(((fresh[marked] @ along)[:, None] > fresh[~marked] @ along).mean())
    assert np.mean(measured) == pytest.approx(np.mean(truth), abs=0.04)


def test_patient_with_both_marks_is_left_out_whole() -> None:
    """Two cases a patient that are nearly one point: with the patient left in, all would be found."""
    rng = np.random.default_rng(0)
    base = rng.normal(size=(12, 60))
    points = np.repeat(base, 2, axis=0) + rng.normal(size=(24, 60)) * 1e-3
    has = np.repeat(rng.permutation(np.arange(12) < 6), 2)
    by_patient = separability(points, has, np.arange(24) // 2)
    by_case = separability(points, has, alone(24))
    assert by_case.auc > 0.95
    assert by_patient.auc < 0.8


@pytest.mark.parametrize(("with_", "without"), [(MINIMUM - 1, 9), (9, MINIMUM - 1), (0, 9)])
def test_too_few_marks_are_not_measured(with_: int, without: int) -> None:
    points = np.random.default_rng(0).normal(size=(with_ + without, 3))
    has = np.arange(with_ + without) < with_
    assert separability(points, has, alone(len(has))) is None


def test_many_cases_of_two_patients_are_too_few() -> None:
    points, has = made_up(20, 1.0)
    assert not has_enough_cases(has, np.where(has, np.arange(20) % 4, 9))
    assert separability(points, has, np.where(has, 0, 1)) is None


def test_a_perfect_score_of_few_has_a_wide_interval() -> None:
    points, has = made_up(6, 30.0)
    found = separability(points, has, alone(6))
    assert found.auc == 1.0
    assert found.high == 1.0
    assert 0.3 < found.low < 0.7


@pytest.mark.parametrize(("auc", "m", "n"), [(0.5, 10, 10), (0.8, 5, 40), (0.97, 60, 30), (0.0, 4, 4)])
def test_the_interval_ends_where_its_own_error_reaches_the_area(auc: float, m: int, n: int) -> None:
    low, high = newcombe(auc, m, n)
    assert 0.0 <= low <= auc <= high <= 1.0
    for t in (low, high):
        if 0.0 < t < 1.0:
            star = (m + n) / 2 - 1
            variance = t * (1 - t) * (1 + star * (1 - t) / (2 - t) + star * t / (1 + t)) / (m * n)
            assert abs(t - auc) == pytest.approx(1.96 * np.sqrt(variance), rel=1e-3)


def test_the_interval_covers_the_area_most_of_the_time() -> None:
    rng, inside = np.random.default_rng(0), 0
    for _ in range(400):
        upper, lower = rng.normal(1.0, 1.0, 12), rng.normal(0.0, 1.0, 15)
        low, high = newcombe(float((upper[:, None] > lower).mean()), 12, 15)
        inside += low <= 0.7602 <= high
    assert inside / 400 == pytest.approx(0.95, abs=0.035)
