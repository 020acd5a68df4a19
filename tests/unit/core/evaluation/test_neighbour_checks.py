"""Outliers and doubtful findings are told by the neighbours of other units."""

from __future__ import annotations

import numpy as np
import pytest

from semblance.core.evaluation.neighbour_checks import (
    OUTLIER_Z,
    VOTERS,
    doubtful_findings,
    nearest_of_other_units,
    outlier_scores,
)


@pytest.fixture
def rng():
    return np.random.default_rng(0)


def test_neighbours_are_the_nearest_rows_of_other_units_in_any_block_size(rng, monkeypatch):
    X, units = rng.normal(size=(40, 3)), np.repeat(np.arange(20), 2)
    distances = np.linalg.norm(X[:, None] - X, axis=2)
    distances[units[:, None] == units] = np.inf
    expected = np.argsort(distances, axis=1)[:, :5]
    for values in (4_000_000, 100):
        monkeypatch.setattr("semblance.core.evaluation.neighbour_checks._BLOCK_VALUES", values)
        places, found = nearest_of_other_units(X, units, 5)
        assert np.array_equal(places, expected)
        assert found == pytest.approx(np.take_along_axis(distances, expected, axis=1))


def test_too_few_other_rows_leave_places_empty():
    places, distances = nearest_of_other_units(np.eye(3), np.array([0, 0, 1]), 4)
    assert places.tolist() == [[2, -1, -1, -1], [2, -1, -1, -1], [0, 1, -1, -1]]
    assert np.isinf(distances[:, 2:]).all()


def test_a_few_rows_from_elsewhere_are_outliers_though_they_are_near_each_other(rng):
    X = np.concatenate([rng.normal(size=(300, 8)), 12 + 0.1 * rng.normal(size=(4, 8))])
    _, distances = nearest_of_other_units(X, np.arange(len(X)), 10)
    scores = outlier_scores(distances[:, -1])
    assert (scores[-4:] > OUTLIER_Z).all()
    assert (scores[:-4] > OUTLIER_Z).mean() < 0.01
    assert outlier_scores(np.array([np.inf, 1.0, 1.0])).tolist() == [0, 0, 0]


def test_wrong_findings_of_two_classes_are_found_and_named(rng):
    X = np.concatenate([rng.normal(0, 1, (150, 6)), rng.normal(4, 1, (150, 6))])
    y = np.repeat(["benign", "malignant"], 150)
    wrong = rng.choice(300, 6, replace=False)
    y[wrong] = np.where(y[wrong] == "benign", "malignant", "benign")
    neighbours, _ = nearest_of_other_units(X, np.arange(300), VOTERS)
    found = doubtful_findings(y, neighbours)
    assert sorted(one.place for one in found) == sorted(wrong.tolist())
    assert all(one.suggested != y[one.place] and one.votes >= 12 and one.voters == VOTERS for one in found)


def test_copies_of_one_patient_do_not_confirm_a_wrong_finding(rng):
    X = np.concatenate([rng.normal(0, 1, (100, 4)), rng.normal(6, 1, (100, 4)), rng.normal(0, 0.01, (20, 4))])
    y, units = np.repeat(["a", "b", "b"], [100, 100, 20]), np.r_[np.arange(200), np.full(20, 999)]
    alone, _ = nearest_of_other_units(X, np.arange(220), VOTERS)
    assert not any(one.place >= 200 for one in doubtful_findings(y, alone))
    as_patients, _ = nearest_of_other_units(X, units, VOTERS)
    assert {one.place for one in doubtful_findings(y, as_patients)} >= set(range(200, 220))
