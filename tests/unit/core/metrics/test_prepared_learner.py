"""Learners that start from whitened features and may fall back on the plain distance."""

import json

import numpy as np
import pytest

from semblance.core.metrics import declarations, make_learner
from semblance.core.metrics.linear_learner import LearntMap
from semblance.core.metrics.prepared_learner import SHARES, PreparedLinearLearner, best_place
from tests.helpers.learners import of_paper


class Misled(declarations.MMC, PreparedLinearLearner):
    """Learns to look at one column alone, and keeps what it was fitted on."""

    column = 0

    def _learn(self, data):
        fits.append(data)
        return LearntMap(np.eye(data.X.shape[1])[[self.column]])


fits = []


@pytest.fixture
def clouds():
    """Three findings apart in two of six columns, where a patient has two cases."""
    rng = np.random.default_rng(0)
    y = np.repeat(np.arange(3), 40)
    X = rng.normal(size=(120, 6))
    X[:, 1:3] += 4.0 * np.array([[0, 0], [1, 0], [0, 1]])[y]
    return X, y.astype(str), np.arange(120) // 2


def accuracy(metric, X, y):
    distances = metric.distances(X, X)
    np.fill_diagonal(distances, np.inf)
    return float((y[np.argsort(distances, axis=1)[:, :10]] == y[:, None]).mean())


def test_what_retrieves_less_than_the_plain_distance_is_not_kept_and_the_card_says_so(clouds):
    X, y, _ = clouds
    metric = Misled().fit(X, y).metric()
    plain = make_learner("euclidean").fit(X, y).metric()
    share = metric.distances(X[:5], X) / plain.distances(X[:5], X).clip(1e-9)
    assert np.ptp(share[:, 10:]) < 1e-9
    card = json.dumps(metric.card.to_json())
    assert "This is the plain (Euclidean) distance" in card
    assert Misled(plain=0.0).fit(X, y).metric().card.notes == ()


def test_what_retrieves_more_is_kept(clouds):
    X, y, _ = clouds

    class Right(Misled):
        column = slice(1, 3)

        def _learn(self, data):
            return LearntMap(np.eye(6)[1:3])

    metric = Right().fit(X, y).metric()
    assert metric.card.notes == ()
    assert accuracy(metric, X, y) > accuracy(make_learner("euclidean").fit(X, y).metric(), X, y)


def test_a_patient_is_fitted_with_all_cases_or_none(clouds):
    X, y, patients = clouds
    fits.clear()
    Misled().fit(X, y, groups=patients)
    parts = [data.groups for data in fits if len(data.X) < len(X)]
    assert len(parts) >= 4
    for groups in parts:
        assert set(np.unique(groups, return_counts=True)[1]) == {2}


def test_a_share_that_is_given_is_taken():
    rng = np.random.default_rng(1)
    X, y = rng.normal(size=(60, 3)), np.repeat(["a", "b"], 30)
    metric = Misled(plain=0.5).fit(X, y).metric()
    variances = X.var(axis=0)
    M = metric.distance.L.T @ metric.distance.L
    scale = variances[0] / variances.sum()
    assert pytest.approx(np.diag([0.5 + 0.5 * scale, 0.5 * scale, 0.5 * scale]), rel=1e-12) == M
    assert any("50 %" in note for note in map(str, metric.card.notes))


def test_the_rule_keeps_what_was_learnt_unless_more_of_the_plain_is_better_beyond_chance():
    flat = np.full((5, len(SHARES)), 0.7)
    assert best_place(flat) == 0
    noisy = flat + np.random.default_rng(0).normal(size=flat.shape) * 0.01
    noisy[:, -1] -= 0.05
    assert best_place(noisy) <= 2
    falling = np.tile(np.linspace(0.5, 0.7, len(SHARES)), (5, 1))
    assert best_place(falling) == len(SHARES) - 1


def test_a_direction_in_which_all_findings_vary_is_evened_out_first():
    rng = np.random.default_rng(3)
    y = np.repeat(np.arange(4), 40)
    X = rng.normal(size=(160, 8))
    X[:, :3] += 2.5 * rng.normal(size=(4, 3))[y]
    # What the columns share hides the findings from the plain distance.
    X += 6.0 * rng.normal(size=(160, 1)) * rng.normal(size=8)
    train, test = np.arange(0, 160, 2), np.arange(1, 160, 2)
    names = y.astype(str)
    ours = make_learner("passive_aggressive", random_state=0).fit(X[train], names[train]).metric()
    paper = of_paper("passive_aggressive", random_state=0).fit(X[train], names[train]).metric()
    assert any("whitened first" in str(note) for note in ours.card.notes)
    assert accuracy(ours, X[test], y[test]) > accuracy(paper, X[test], y[test]) + 0.02


def test_passive_aggressive_learns_further_from_what_it_whitened():
    rng = np.random.default_rng(4)
    y = np.repeat(["a", "b"], 40)
    X = rng.normal(size=(80, 120)) + (y == "b")[:, None] * 0.8
    learner = make_learner("passive_aggressive", random_state=0).fit(X[::2], y[::2])
    before = learner.metric().distances(X[:3], X)
    learner.partial_fit(X[1::2], y[1::2])
    after = learner.metric().distances(X[:3], X)
    assert any("whitened first" in str(note) for note in learner.metric().card.notes)
    assert np.isfinite(after).all() and not np.allclose(before, after)
    assert accuracy(learner.metric(), X, y) > 0.9


def test_points_of_the_curve_take_the_features_of_the_library():
    from semblance.core.tasks import Reporter

    class Curve(Reporter):
        def __init__(self):
            self.points = []

        def partial(self, result):
            self.points.append(result)

    rng = np.random.default_rng(5)
    y = np.repeat(["a", "b"], 30)
    X = rng.normal(size=(60, 70)) + (y == "b")[:, None]
    curve = Curve()
    make_learner("boostmetric", rounds=3, random_state=0).fit(X, y, reporter=curve)
    assert curve.points[-1].distance.n_features == 70
