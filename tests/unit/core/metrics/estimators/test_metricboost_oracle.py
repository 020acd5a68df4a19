"""Every quantity of every round of MetricBoost equals its definition over all triplets, in plain loops."""

from __future__ import annotations

import functools

import numpy as np
import pytest

from semblance.core.metrics.estimators import stump_triplets
from semblance.core.metrics.estimators.anchored_triplets import PrefixSums, memory_needed
from semblance.core.metrics.estimators.stump_triplets import SortedPlaces, gaussian_threshold
from tests.helpers import naive_metricboost as naive
from tests.helpers.learner_checks import in_order_of_training
from tests.helpers.learners import of_paper
from tests.helpers.naive_bdm import problem

ROUNDS = 4
FORMS = {
    "binary": {"readout": "votes"},
    "gaussian": {"threshold": "gaussian", "readout": "votes"},
    "normalised": {"weak": "normalised"},
    "real": {"weak": "real"},
}


@functools.cache
def all_triplets():
    X, y = problem()
    return X, y, naive.triplets(y)


@pytest.fixture(scope="module", params=[(form, given) for form in FORMS for given in (False, True)], ids=str)
def fitted(request):
    form, given = request.param
    X, y, table = all_triplets()
    learner = of_paper("metricboost", rounds=ROUNDS, **FORMS[form])
    if given:
        learner.fit(X, triplets=np.array(table))
    else:
        learner.fit(X, y)
    return form, learner, X, table


def weak_models(form, learner):
    """(direction, alpha, threshold or None, h) of every round; for binary votes these are stored."""
    found = learner.distance_
    if form in ("binary", "gaussian"):
        for u, beta, alpha in zip(found.directions.T, found.thresholds, found.weights, strict=True):
            yield u, alpha, beta, lambda z, u=u, beta=beta: float((u @ z) ** 2 >= beta)
    else:
        for row in found.L:
            alpha = row @ row
            u = row / np.sqrt(alpha)
            yield u, alpha, None, lambda z, u=u: (u @ z) ** 2


def test_every_round_equals_its_definition(fitted):
    form, learner, X, table = fitted
    diameter = max(((a - b) ** 2).sum() for a in X for b in X)
    done = []
    for number, (u, alpha, beta, h) in enumerate(weak_models(form, learner)):
        D, bound = naive.weights(done, X, table)
        assert np.exp(learner.log_bounds_[number]) == pytest.approx(bound, rel=1e-12)
        K = naive.curvature(D, X, table)
        top = np.linalg.eigvalsh(K)[-1]
        assert u @ u == pytest.approx(1.0, rel=1e-12)
        assert np.abs(K @ u - top * u).max() < 1e-11 * abs(top)

        q = naive.squares(u, X, table)
        if form == "binary":
            expected, best, _ = naive.best_stump(D, q)
            assert (beta, alpha) == (pytest.approx(expected, rel=1e-12), pytest.approx(best, rel=1e-12))
        elif form == "gaussian":
            near = {tuple(sorted((i, j))) for i, j, _ in table}
            far = {tuple(sorted((i, k))) for i, _, k in table}
            moments = []
            for pairs in (near, far):
                values = np.array([(u @ (X[i] - X[j])) ** 2 for i, j in pairs])
                moments.append(np.array([len(values), values.sum(), (values**2).sum()]))
            assert beta == pytest.approx(gaussian_threshold(*moments), rel=1e-12)
            _, best = naive.z_of(*naive.errors(D, q, beta), len(table))
            assert alpha == pytest.approx(best, rel=1e-12)
        elif form == "normalised":
            r = top / diameter
            assert alpha * diameter == pytest.approx(0.5 * np.log((1 + r) / (1 - r)), rel=1e-12)
        else:
            at = [naive.log_z(D, q, alpha * factor) for factor in (1 - 1e-3, 1.0, 1 + 1e-3)]
            assert at[1] <= min(at)
            tilted = D * np.exp(alpha * (q[:, 0] - q[:, 1]))
            slope = tilted * (q[:, 0] - q[:, 1])
            assert abs(slope.sum()) < 1e-11 * np.abs(slope).sum()
        done.append((h, alpha))
    _, bound = naive.weights(done, X, table)
    assert np.exp(learner.log_bounds_[-1]) == pytest.approx(bound, rel=1e-12)
    assert len(done) == ROUNDS


def test_the_bound_falls_and_bounds_the_training_error(fitted):
    form, learner, X, table = fitted
    assert (np.diff(learner.log_bounds_) < 0).all()
    H = np.zeros((len(table), 2))
    for number, (_, alpha, _, h) in enumerate(weak_models(form, learner), 1):
        H += alpha * np.array([[h(X[i] - X[j]), h(X[i] - X[k])] for i, j, k in table])
        error = np.mean(H[:, 0] >= H[:, 1])
        assert error <= np.exp(learner.log_bounds_[number])


def test_normalised_rounds_fall_at_least_as_their_bound_says():
    X, y, _ = all_triplets()
    learner = of_paper("metricboost", weak="normalised", rounds=ROUNDS).fit(X, y)
    diameter = max(((a - b) ** 2).sum() for a in X for b in X)
    for row, before, after in zip(
        learner.distance_.L, learner.log_bounds_, learner.log_bounds_[1:], strict=False
    ):
        r = np.tanh(row @ row * diameter)
        assert np.exp(after - before) <= np.sqrt(1 - r**2) * (1 + 1e-12)


def test_some_anchors_give_what_their_triplets_give():
    X, y = in_order_of_training(*all_triplets()[:2])
    # Gaussians count a pair of two anchors twice.
    for form in (FORMS[name] for name in ("binary", "normalised", "real")):
        some = of_paper("metricboost", anchors=7, rounds=ROUNDS, random_state=3, **form).fit(X, y)
        anchors = np.random.default_rng(3).choice(45, 7, replace=False)
        # The learner keeps cases by finding; the draw is among them in that order.
        order = np.argsort(y, kind="stable")
        table = np.array(naive.triplets(y, order[np.sort(anchors)].tolist()))
        alone = of_paper("metricboost", rounds=ROUNDS, **form).fit(X, triplets=table)
        assert some.log_bounds_ == pytest.approx(alone.log_bounds_, rel=1e-10, abs=1e-12)
        d = alone.metric().distances(X, X)
        assert some.metric().distances(X, X) == pytest.approx(d, rel=1e-9, abs=1e-9 * d.max())


@pytest.mark.parametrize("shape", ["smooth", "grid", "two values"])
@pytest.mark.parametrize("similarity", [False, True])
def test_bounding_the_thresholds_finds_what_sorting_all_pairs_finds(monkeypatch, shape, similarity):
    rng = np.random.default_rng(5)
    for n, findings in ((40, 2), (90, 5)):
        y = rng.integers(findings, size=n)
        X = rng.normal(size=(n, 3)) + 0.8 * rng.normal(size=(findings, 3))[y]
        if shape == "grid":
            X = np.round(2 * X)
        if shape == "two values":
            X = (X > 0).astype(float)
        learner = of_paper("metricboost", readout="votes", rounds=5, allow_similarity=similarity)
        sorted_all = learner.fit(X, y).metric().distance, learner.log_bounds_
        for name, value in (("_FEW", 50), ("_MAX_RUNNING_SUMS", 0), ("_SAMPLED_LEAST", 5), ("_PLACES", 60)):
            monkeypatch.setattr(stump_triplets, name, value)
        bounded = learner.fit(X, y).metric().distance, learner.log_bounds_
        monkeypatch.undo()
        assert bounded[1] == pytest.approx(sorted_all[1], rel=1e-10, abs=1e-12)
        X = X @ sorted_all[0].directions
        for one, other in zip(sorted_all[0].thresholds, bounded[0].thresholds, strict=True):
            q = (X[:, None] - X[None]) ** 2
            assert ((q >= one) == (q >= other)).any(axis=(0, 1)).all()


def test_blocks_of_anchors_give_what_one_block_gives(monkeypatch):
    X, y = problem(n=90)
    for form in FORMS.values():
        whole = of_paper("metricboost", rounds=3, **form).fit(X, y).log_bounds_
        monkeypatch.setattr("semblance.core.metrics.estimators.anchored_triplets._BLOCK", 1)
        parts = of_paper("metricboost", rounds=3, **form).fit(X, y).log_bounds_
        monkeypatch.undo()
        assert parts == pytest.approx(whole, rel=1e-12, abs=1e-13)


def test_single_precision_scores_change_next_to_nothing(monkeypatch):
    X, y = problem(n=90)
    double = of_paper("metricboost").fit(X, y).log_bounds_
    monkeypatch.setattr("semblance.core.metrics.estimators.anchored_triplets._DOUBLE_PAIRS", 0)
    assert of_paper("metricboost").fit(X, y).log_bounds_ == pytest.approx(double, rel=1e-6, abs=1e-6)


def test_a_sample_of_anchors_only_gives_the_start_of_the_search(monkeypatch):
    X, y = problem(n=90)
    plain = of_paper("metricboost", weak="real", rounds=3).fit(X, y).log_bounds_
    monkeypatch.setattr("semblance.core.metrics.estimators.metricboost._SAMPLE_FROM", 10)
    monkeypatch.setattr("semblance.core.metrics.estimators.metricboost._SAMPLED_SHARE", 4)
    again = of_paper("metricboost", weak="real", rounds=3).fit(X, y).log_bounds_
    assert again == pytest.approx(plain, rel=1e-10, abs=1e-12)


@pytest.mark.parametrize("settings", [{}, {"allow_similarity": True, "readout": "votes"}], ids=str)
def test_recomputed_weights_equal_those_updated_by_multiplication(monkeypatch, settings):
    X, y = problem(n=90)
    plain = of_paper("metricboost", rounds=8, **settings).fit(X, y).log_bounds_
    monkeypatch.setattr(
        "semblance.core.metrics.estimators.anchored_triplets._MOST_GROWN",
        dict.fromkeys(map(np.dtype, ("f8", "f4")), 0.3),
    )
    assert of_paper("metricboost", rounds=8, **settings).fit(X, y).log_bounds_ == pytest.approx(
        plain, rel=1e-12, abs=1e-13
    )


def test_counts_on_a_line_are_those_of_a_search():
    rng = np.random.default_rng(2)
    for p in (np.sort(rng.normal(size=300)), np.repeat([-1.0, 2.0, 2.5], 7), np.array([0.0, 1e-12, 1e6])):
        places = SortedPlaces(p)
        q = np.concatenate([p, rng.normal(size=200), p[[0, -1]] + [[-1e-9], [1e-9]], p[[0]] - 1e9], axis=None)
        q = q[:, np.newaxis]
        assert (places.count(q, inclusive=True) == np.searchsorted(p, q, side="right")).all()
        assert (places.count(q, inclusive=False) == np.searchsorted(p, q)).all()


@pytest.mark.parametrize("n", [1, 15, 16, 17, 50])
def test_prefix_sums_are_sums(n):
    values = np.random.default_rng(n).random((n, 3))
    sums = PrefixSums(values, *np.empty((2, memory_needed(n, 3))))
    below = np.random.default_rng(0).integers(n + 1, size=(6, 3))
    above = np.maximum(below, np.random.default_rng(1).integers(n + 1, size=(6, 3)))
    expected = [
        [values[:b, c].sum() + values[a:, c].sum() for c, (b, a) in enumerate(zip(*row, strict=True))]
        for row in zip(below, above, strict=True)
    ]
    assert sums.beyond(below, above) == pytest.approx(expected / values.sum(axis=0), rel=1e-12, abs=1e-15)
