"""CCML: objective and gradient against loops and differences, the search, and its choices."""

from __future__ import annotations

import math

import numpy as np
import pytest

from semblance.core.metrics import learner
from semblance.core.metrics.estimators.ccml import (
    CCMLOptimiser,
    Hyperparameters,
    best_hyperparameters,
    expected_accuracy,
    make_batch,
)
from semblance.core.metrics.training_data.rows import LabelledRows
from semblance.core.metrics.training_data.validation import error_of, hold_out_rows
from tests.helpers import naive_bdm
from tests.helpers.learners import of_paper


def naive(A, X, codes, k, local):
    """Eqs. 10, 11 and 15 as they read; the mean over cases that have another of their finding."""
    n = len(X)
    d = [[float(np.square(A @ (X[i] - X[j])).sum()) for j in range(n)] for i in range(n)]
    total, counted = 0.0, 0
    for i in range(n):
        groups = {}
        for j in range(n):
            if j != i:
                key = (codes[j] == codes[i]) if local else codes[j]
                groups.setdefault(key, []).append(d[i][j])
        own = True if local else codes[i]
        if own not in groups:
            continue
        S = {key: sum(sorted(values)[:k]) / min(k, len(values)) for key, values in groups.items()}
        total += math.exp(-S[own]) / sum(math.exp(-value) for value in S.values())
        counted += 1
    return total / counted


def some_batch(n=30, d=4, findings=4, seed=0):
    rng = np.random.default_rng(seed)
    codes = rng.integers(0, findings - 1, n)
    codes[0] = findings + 2  # a case alone in its finding, and a number left out
    return rng.normal(size=(n, d)), codes


@pytest.mark.parametrize("local", [False, True])
@pytest.mark.parametrize("k", [1, 2, 5, 9, 40])
def test_the_objective_is_the_papers(k, local):
    X, codes = some_batch()
    A = np.random.default_rng(1).normal(size=(3, 4)) * 0.6
    value, _ = expected_accuracy(A, make_batch(X, codes), k, local)
    assert value == pytest.approx(naive(A, X, codes.tolist(), k, local), rel=1e-12)


@pytest.mark.parametrize("local", [False, True])
@pytest.mark.parametrize("k", [1, 3, 8, 40])
def test_the_gradient_is_its_derivative(k, local):
    X, codes = some_batch()
    A = np.random.default_rng(1).normal(size=(3, 4)) * 0.6
    batch = make_batch(X, codes)
    _, gradient = expected_accuracy(A, batch, k, local)
    numeric = np.empty_like(A)
    for place in np.ndindex(A.shape):
        step = np.zeros_like(A)
        step[place] = 1e-6
        up, down = (expected_accuracy(A + sign * step, batch, k, local)[0] for sign in (1, -1))
        numeric[place] = (up - down) / 2e-6
    np.testing.assert_allclose(gradient, numeric, rtol=0, atol=1e-6 * np.abs(numeric).max())


def test_batches_of_one_or_only_different_findings_have_no_gradient():
    X, _ = some_batch(n=4)
    value, gradient = expected_accuracy(np.ones((2, 4)), make_batch(X, np.arange(4)), 3, local=False)
    assert value == 0.0
    assert not gradient.any()
    one = make_batch(X, np.zeros(4, dtype=int))
    for local in (False, True):
        value, gradient = expected_accuracy(np.ones((2, 4)), one, 3, local)
        assert value == pytest.approx(1.0)
        assert np.abs(gradient).max() < 1e-12


def test_the_ascent_raises_the_expected_accuracy():
    X, y = naive_bdm.problem(n=90, d=6)
    rows = LabelledRows(X, np.unique(y, return_inverse=True)[1], ("a", "b", "c"))
    for local in (False, True):
        ascent = CCMLOptimiser(
            rows, Hyperparameters(3, 0.02, 0.0, 3), local=local, batch=45, rounds=80, seed=0
        )
        before, _ = expected_accuracy(ascent.A, make_batch(X, rows.codes), 3, local)
        for _ in range(100):
            ascent.step()
        after, _ = expected_accuracy(ascent.A, make_batch(X, rows.codes), 3, local)
        assert ascent.round == 80
        assert after > before + 0.02


def naive_error(Z, codes, fitted, queries):
    errors = []
    for k in (1, 3, 5):
        wrong = 0.0
        for q in queries:
            nearest = sorted(fitted, key=lambda j: ((Z[j] - Z[q]) ** 2).sum())[:k]
            votes = {c: sum(codes[j] == c for j in nearest) for c in codes[nearest].tolist()}
            winners = [c for c, count in votes.items() if count == max(votes.values())]
            wrong += 1.0 - (codes[q] in winners) / len(winners)
        errors.append(wrong / len(queries))
    for k in (1, 3):
        wrong = 0.0
        for q in queries:
            means = {}
            for c in set(codes[fitted].tolist()):
                own = sorted(((Z[j] - Z[q]) ** 2).sum() for j in fitted if codes[j] == c)[:k]
                means[c] = sum(own) / len(own)
            wrong += min(means, key=means.get) != codes[q]
        errors.append(wrong / len(queries))
    return sum(errors) / len(errors)


def test_the_error_on_the_part_set_aside_is_that_of_both_rules():
    rng = np.random.default_rng(0)
    codes = np.append(rng.integers(0, 3, 49), 5)
    Z = rng.normal(size=(50, 2)) + codes[:, None]
    fitted, queries = np.arange(0, 36), np.arange(36, 50)
    assert error_of(Z, codes, fitted, queries) == pytest.approx(
        naive_error(Z, codes, fitted, queries), rel=1e-12
    )


def test_patients_are_not_torn_apart():
    groups = np.array([f"p{row // 3}" for row in range(60)])
    fitted, queries = hold_out_rows(60, groups, 0.3, np.random.default_rng(0))
    assert sorted([*fitted, *queries]) == list(range(60))
    assert not set(groups[fitted]) & set(groups[queries])
    assert 18 <= len(queries) <= 20
    unknown = hold_out_rows(60, None, 0.3, np.random.default_rng(0))
    assert len(unknown[1]) == 18


def test_the_better_choice_is_found():
    rng = np.random.default_rng(0)
    codes = np.arange(200) % 2
    X = rng.normal(size=(200, 12)) * 4
    X[:, 0] = rng.normal(size=200) + 5 * codes
    rows = LabelledRows(X, codes, ("a", "b"))
    poor, good = Hyperparameters(3, 1e-9, 0.0, 1), Hyperparameters(3, 0.05, 0.0, 12)

    def begin(part, choice):
        return CCMLOptimiser(part, choice, local=True, batch=64, rounds=60, seed=1)

    for candidates in ((poor, good), (good, poor)):
        assert best_hyperparameters(rows, candidates, begin, groups=None, seed=0, tick=lambda: None) == good


def test_given_values_are_used_and_reported():
    X, y = naive_bdm.problem()
    given = of_paper("ccml", k=2, rate=0.02, decay=0.0, components=3, rounds=10).fit(X, y).metric()
    assert given.card.notes == ("k = 2, rate 0.02, decay 0, 3 dimensions.", "All 10 rounds.")
    assert given.distance.L.shape == (3, 5)
    chosen = of_paper("ccml", k=2, rounds=10).fit(X, y).metric()
    assert chosen.card.notes[0].startswith("k = 2, ")
    assert chosen.card.notes[0].endswith("chosen on cases set aside.")


def test_more_features_than_cases_give_what_their_span_gives(monkeypatch):
    rng = np.random.default_rng(0)
    X, y = rng.normal(size=(30, 60)), np.arange(30) % 3
    X[:, 0] += 2 * y
    X -= X.mean(axis=0)
    basis = np.linalg.qr(X.T)[0]
    values = {"k": 2, "rate": 0.02, "decay": 0.01, "components": 5, "rounds": 8}
    # Rows would be gone through in the order of their numbers, which differ.
    monkeypatch.setattr(learner, "in_content_order", lambda data, accepts: data)
    a = of_paper("ccml", **values).fit(X, y).metric()
    b = of_paper("ccml", **values).fit(X @ basis, y).metric()
    np.testing.assert_allclose(a.distances(X, X), b.distances(X @ basis, X @ basis), rtol=1e-6, atol=1e-9)
