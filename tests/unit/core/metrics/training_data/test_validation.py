"""Cases set aside: whole patients, and the round that does best on them."""

from __future__ import annotations

import numpy as np

from semblance.core.metrics import make_learner
from semblance.core.metrics.training_data.validation import (
    Validation,
    best_shrinkage,
    chosen_rounds,
    validation_part,
)
from tests.helpers.learner_checks import labelled_problem


def noisy(n=160, d=40):
    """Two features that tell four findings apart, and many that do not."""
    rng = np.random.default_rng(0)
    codes = np.arange(n) % 4
    return np.column_stack([2.5 * rng.normal(size=(4, 2))[codes], np.zeros((n, d - 2))]) + rng.normal(
        size=(n, d)
    ), codes


def test_no_patient_is_on_both_sides():
    X, _, codes = labelled_problem(n=90)
    groups = np.arange(90) // 3
    part = validation_part(X, codes, groups, 0.3, 0)
    held = np.setdiff1d(np.arange(90), part.fitted)
    assert len(held) >= 27
    assert not np.isin(groups[held], groups[part.fitted]).any()
    assert validation_part(X[:20], codes[:20], None, 0.2, 0) is None
    assert validation_part(X, np.zeros(90, dtype=np.int64), None, 0.2, 0) is None
    assert validation_part(X, codes, None, 0.0, 0) is None


def test_the_round_with_the_least_error_is_chosen_and_ten_worse_ones_end_it(monkeypatch):
    X, _, codes = labelled_problem(n=90)
    part = validation_part(X, codes, None, 0.3, 0)
    errors = iter([0.5, 0.3, 0.4, 0.2, *[0.2] * 30])
    monkeypatch.setattr(Validation, "error", lambda self, L: next(errors))
    calls = []

    def run(fitted, ended):
        np.testing.assert_array_equal(fitted, part.fitted)
        while not ended(np.eye(5)):
            calls.append(1)

    rounds, notes = chosen_rounds(part, 50, run)
    assert (rounds, len(calls)) == (4, 13)
    assert notes == ("4 of at most 50 rounds, chosen on cases set aside.",)
    assert chosen_rounds(None, 50, run) == (50, ())


def test_the_shrinkage_with_the_least_mean_error_is_chosen(monkeypatch):
    X, _, codes = labelled_problem(n=120)
    monkeypatch.setattr(Validation, "error", lambda self, L: abs(float(L[0, 0]) - 0.4))
    # .3 and .5 are equally good: the larger.
    assert best_shrinkage(X, codes, None, 0, lambda rows: lambda amount: np.array([[amount]])) == 0.5
    assert best_shrinkage(X[:12], codes[:12], None, 0, lambda rows: lambda amount: np.eye(5)) is None


def nearest_of_another_finding(name, **settings):
    """The share of the 3 nearest training cases of held-out cases that have another finding, in noise."""
    X, codes = noisy()
    train, test = np.arange(0, 160) < 80, np.arange(160) >= 80
    learner = make_learner(name, **settings)
    d = learner.fit(X[train], codes[train].astype(str)).metric().distances(X[test], X[train])
    return float((codes[train][np.argsort(d, axis=1)[:, :3]] != codes[test][:, None]).mean())


def test_stopping_on_cases_set_aside_keeps_lmnn_from_overfitting():
    assert make_learner("lmnn").validation == make_learner("mmc").validation == 0.2
    stopped = nearest_of_another_finding("lmnn", random_state=0, rounds=300)
    assert stopped <= nearest_of_another_finding("lmnn", random_state=0, rounds=300, validation=0.0)


def test_mmc_does_not_overfit_stopped_or_not():
    """It begins at the shrunk covariance and converges in a dozen rounds."""
    plain = nearest_of_another_finding("euclidean")
    for validation in (0.2, 0.0):
        error = nearest_of_another_finding("mmc", random_state=0, rounds=300, validation=validation)
        assert error < plain - 0.1
