"""EM for a Gaussian mixture with rows known to share a cloud."""

from __future__ import annotations

import itertools
import math

import numpy as np
import pytest

from semblance.core.metrics import make_learner
from semblance.core.metrics.distances.mixtures import log_joint
from semblance.core.metrics.estimators.distboost import Boosting, fit_mixture, share_out
from semblance.core.metrics.training_data.pairs import training_pairs
from tests.helpers.learner_checks import labelled_problem


def test_rows_of_a_chunklet_are_shared_out_together():
    rng = np.random.default_rng(0)
    X = rng.normal(size=(40, 2)) + 3 * (np.arange(40) % 2)[:, None]
    chunklets = np.repeat(np.arange(20), 2)
    mixture = fit_mixture(X, np.full(40, 1 / 40), chunklets, 2, 5, rng)
    shares = share_out(mixture, X, chunklets)
    prior = np.exp(mixture.offsets - np.linalg.slogdet(mixture.roots)[1])
    assert prior.sum() == pytest.approx(1.0)
    density = np.exp(log_joint(X, *mixture)) / prior
    for chunklet in range(20):
        rows = np.flatnonzero(chunklets == chunklet)
        product = prior * density[rows[0]] * density[rows[1]]
        np.testing.assert_allclose(shares[rows], np.tile(product / product.sum(), (2, 1)), rtol=1e-9)


def test_em_raises_the_likelihood_of_what_it_is_given():
    rng = np.random.default_rng(1)
    X = np.concatenate([rng.normal(size=(40, 2)), rng.normal(size=(40, 2)) + 4])
    alone = np.arange(80)
    likelihood = []
    for rounds in range(1, 8):
        mixture = fit_mixture(X, np.full(80, 1 / 80), alone, 2, rounds, np.random.default_rng(3))
        likelihood.append(np.log(np.exp(log_joint(X, *mixture)).sum(axis=1)).mean())
    # The covariances lean on a common one, so the last rounds may give back a little.
    assert likelihood[-1] > likelihood[0]
    assert all(later > earlier - 1e-3 for earlier, later in itertools.pairwise(likelihood))


def test_distboost_weighs_partitions_by_how_they_agree_with_the_pairs():
    X, y, _ = labelled_problem(n=60)
    learner = make_learner("distboost", rounds=6).fit(X, y)
    distance = learner.distance_
    assert (distance.weights > 0).all()
    embedded = distance.embed(X)
    d = ((embedded[:, None] - embedded[None]) ** 2).sum(axis=-1)
    assert d.max() <= distance.weights.sum() + 1e-12
    same = y[:, None] == y
    np.fill_diagonal(same, False)
    assert d[same].mean() < 0.6 * d[y[:, None] != y].mean()


def naive_posteriors(x, offsets, means, roots):
    scores = []
    for offset, mean, root in zip(offsets, means, roots, strict=True):
        y = [sum(root[a, b] * (x[b] - mean[b]) for b in range(len(x))) for a in range(len(x))]
        scores.append(offset - 0.5 * sum(value * value for value in y))
    best = max(scores)
    total = sum(math.exp(score - best) for score in scores)
    # Memberships are rounded to 12 decimals.
    return [round(math.exp(score - best) / total, 12) for score in scores]


def test_distboost_is_the_plain_loop_over_pairs():
    """Weights, alphas and distances of every round by sums over single pairs (Hertz et al. 2004)."""
    X, y, _ = labelled_problem(n=45, d=3)
    source = training_pairs("DistBoost", 45, y, None, draw=8, seed=0)
    boosting = Boosting(X, source, np.arange(45), np.random.default_rng(0))
    rounds = sum(boosting.add(3, 1.0) for _ in range(6))
    assert rounds >= 3
    distance = boosting.distance(np.eye(3))
    similar = sum(label > 0 for label in source.label)
    weights = [0.25 / similar if label > 0 else 0.25 / (len(source) - similar) for label in source.label]
    unknown = 0.5
    total = np.zeros((45, 45))
    for number, mixture in enumerate(boosting.mixtures):
        half = sum(weights) / 2
        for sign in (1, -1):
            mass = sum(w for w, label in zip(weights, source.label, strict=True) if label == sign)
            weights = [
                w * half / mass if label == sign else w
                for w, label in zip(weights, source.label, strict=True)
            ]
        p = [naive_posteriors(x, *mixture) for x in X]
        weak = [[0.5 * sum((a - b) ** 2 for a, b in zip(one, two, strict=True)) for two in p] for one in p]
        agreement = [
            label * (1 - 2 * weak[i][j]) for i, j, label in zip(source.i, source.j, source.label, strict=True)
        ]
        r = sum(w * a for w, a in zip(weights, agreement, strict=True)) / sum(weights)
        alpha = 0.5 * math.log((1 + r) / (1 - r))
        assert boosting.weights[number] == pytest.approx(alpha, rel=1e-12)
        weights = [w * math.exp(-alpha * a) for w, a in zip(weights, agreement, strict=True)]
        unknown *= math.exp(-alpha)
        scale = sum(weights) + unknown
        weights, unknown = [w / scale for w in weights], unknown / scale
        total += alpha * np.array(weak)
    assert distance.between(X, X) == pytest.approx(total, rel=1e-12, abs=1e-12)


def test_it_continues_and_separates_most_cases():
    """It stopped after 1 to 3 rounds, and a mixture of one cloud made all distances zero."""
    X, y, _ = labelled_problem(n=120, d=20, findings=2, seed=1)
    X[:, 5:] = np.random.default_rng(0).normal(size=(120, 15))
    metric = make_learner("distboost", random_state=0).fit(X, y).metric()
    assert metric.card.rounds >= 15
    d = metric.distances(X, X)
    assert (d[~np.eye(120, dtype=bool)] == 0).mean() < 0.1
    # A mixture of one component separates nothing, whatever the weights have become.
    boosting = Boosting(
        X, training_pairs("DistBoost", 120, y, None, draw=8, seed=0), np.arange(120), np.random.default_rng(0)
    )
    assert sum(boosting.add(3, 1.0) for _ in range(6)) >= 2
    assert not boosting.add(1, 1.0)
