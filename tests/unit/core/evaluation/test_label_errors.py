"""Wrong findings are found by models of the other units' cases."""

from __future__ import annotations

import numpy as np
import pytest

from semblance.core.evaluation.label_errors import (
    FOLDS,
    LEAST_MARGIN,
    OUTLIER_NEIGHBOUR,
    OUTLIER_Z,
    distances_to_other_units,
    doubtful_findings,
    judged_findings,
    outlier_scores,
)

MODULE = "semblance.core.evaluation.label_errors"


@pytest.fixture
def rng():
    return np.random.default_rng(0)


def test_planted_errors_are_found_named_and_listed_first(rng):
    X = np.concatenate([rng.normal(0, 1, (150, 6)), rng.normal(3, 1, (150, 6))]) * 40.0
    y = np.repeat(["benign", "malignant"], 150)
    wrong = rng.choice(300, 12, replace=False)
    y[wrong] = np.where(y[wrong] == "benign", "malignant", "benign")
    found = doubtful_findings(X, y, np.arange(300))
    right = [one.place in wrong for one in found]
    assert sum(right) >= 10
    assert all(right[:10])
    assert len(found) <= 14
    assert all(one.suggested != y[one.place] and one.margin >= LEAST_MARGIN for one in found)
    assert [one.margin for one in found] == sorted((one.margin for one in found), reverse=True)


def test_classes_that_overlap_are_not_listed_as_errors(rng):
    X, y = rng.normal(size=(400, 4)), rng.choice(["a", "b"], 400)
    assert len(doubtful_findings(X, y, np.arange(400))) < 4


def test_copies_of_one_patient_do_not_confirm_a_wrong_finding(rng):
    X = np.concatenate([rng.normal(0, 1, (100, 4)), rng.normal(6, 1, (100, 4)), rng.normal(0, 0.01, (20, 4))])
    y, units = np.repeat(["a", "b", "b"], [100, 100, 20]), np.r_[np.arange(200), np.full(20, 999)]
    assert {one.place for one in doubtful_findings(X, y, units)} >= set(range(200, 220))


def test_findings_of_few_patients_are_not_judged(rng):
    units = np.arange(60)
    y = np.array(["a"] * 40 + ["b"] * (FOLDS - 1) + [""] * 5 + ["c"] * (15 + 1 - FOLDS + 1 + 3))[:60]
    assert judged_findings(y, units) == ["a", "c"]
    X = rng.normal(size=(60, 3))
    X[y == "c"] += 8.0
    judged = {one.place for one in doubtful_findings(X, y, units)}
    assert not judged & set(np.flatnonzero(np.isin(y, ["b", ""])).tolist())
    assert doubtful_findings(X, np.where(y == "c", "", y), units) == []


def test_distances_are_to_the_tenth_nearest_row_of_another_unit_in_any_block_size(rng, monkeypatch):
    X, units = rng.normal(size=(40, 3)), np.repeat(np.arange(20), 2)
    distances = np.linalg.norm(X[:, None] - X, axis=2)
    distances[units[:, None] == units] = np.inf
    expected = np.sort(distances, axis=1)[:, OUTLIER_NEIGHBOUR - 1]
    for values in (4_000_000, 100):
        monkeypatch.setattr(f"{MODULE}._BLOCK_VALUES", values)
        assert distances_to_other_units(X, units) == pytest.approx(expected, rel=1e-4)


def test_too_few_rows_of_other_units_are_at_no_distance():
    assert np.isinf(distances_to_other_units(np.eye(3), np.array([0, 0, 1]))).all()
    assert np.isinf(
        distances_to_other_units(np.random.default_rng(0).normal(size=(14, 2)), np.repeat([0, 1], 7))
    ).all()


def test_outliers_among_many_rows_are_found_by_a_sample(rng, monkeypatch):
    X = np.concatenate([rng.normal(size=(900, 8)), 12 + rng.normal(size=(3, 8))])
    monkeypatch.setattr(f"{MODULE}.MOST_COMPARED", 300)
    scores = outlier_scores(distances_to_other_units(X, np.arange(len(X))), np.full(len(X), ""))
    assert (scores[-3:] > OUTLIER_Z).all()
    assert (scores[:-3] > OUTLIER_Z).mean() < 0.01


def test_a_few_rows_of_another_source_are_outliers_though_they_are_near_each_other(rng):
    X = np.concatenate([rng.normal(size=(300, 8)), 12 + 0.1 * rng.normal(size=(4, 8))])
    scores = outlier_scores(distances_to_other_units(X, np.arange(len(X))), np.full(len(X), ""))
    assert (scores[-4:] > OUTLIER_Z).all()
    assert (scores[:-4] > OUTLIER_Z).mean() < 0.01
    assert outlier_scores(np.array([np.inf, 1.0, 1.0]), np.array(["a"] * 3)).tolist() == [0, 0, 0]


def test_a_case_is_an_outlier_among_close_cases_of_its_finding_though_others_are_far_apart(rng):
    close, wide = rng.normal(size=(200, 8)), 40 + 6 * rng.normal(size=(200, 8))
    distances = distances_to_other_units(np.concatenate([close, [np.full(8, 6.0)], wide]), np.arange(401))
    findings = np.array(["close"] * 201 + ["wide"] * 200)
    assert outlier_scores(distances, findings)[200] > OUTLIER_Z
    assert (np.delete(outlier_scores(distances, findings), 200) > OUTLIER_Z).sum() <= 4
    # Findings of too few cases have no usual distance of their own.
    assert outlier_scores(distances, np.arange(401).astype(str))[200] < OUTLIER_Z
