"""Wrong findings are found by models of the other units' cases."""

from __future__ import annotations

import numpy as np
import pytest

from semblance.core.evaluation.label_errors import FOLDS, LEAST_MARGIN, doubtful_findings, judged_findings


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
