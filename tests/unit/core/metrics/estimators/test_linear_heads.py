"""The losses of the linear heads against plain loops, and what all heads do with them."""

from __future__ import annotations

import math

import numpy as np
import pytest

from semblance.core.metrics import make_learner
from semblance.core.metrics.estimators.linear_heads import (
    contrastive_loss,
    proxy_anchor_loss,
    soft_triplet_loss,
)
from semblance.core.metrics.numerics.pair_weights import gradient_of, squared_distances
from tests.helpers.learner_checks import labelled_problem, numeric_gradient

HEADS = ("supcon", "proxy_anchor", "triplet_head")


def similarity(L, a, b):
    return 1.0 - 0.5 * float(((L @ (a - b)) ** 2).sum())


def naive_contrastive(L, X, codes, t):
    """Eq. 2 of Khosla et al. (2020)."""
    losses = []
    for i in range(len(X)):
        others = [a for a in range(len(X)) if a != i]
        total = sum(math.exp(similarity(L, X[i], X[a]) / t) for a in others)
        own = [p for p in others if codes[p] == codes[i]]
        if own:
            terms = [math.log(math.exp(similarity(L, X[i], X[p]) / t) / total) for p in own]
            losses.append(-sum(terms) / len(own))
    return sum(losses) / len(losses)


def naive_proxy_anchor(L, X, codes, proxies, scale, margin):
    """Eq. 4 of Kim et al. (2020)."""
    value = 0.0
    for c, proxy in enumerate(proxies):
        s = [similarity(L, x, proxy) for x in X]
        near = sum(math.exp(-scale * (v - margin)) for v, code in zip(s, codes, strict=True) if code == c)
        far = sum(math.exp(scale * (v + margin)) for v, code in zip(s, codes, strict=True) if code != c)
        value += (math.log(1 + near) + math.log(1 + far)) / len(proxies)
    return value


def small():
    rng = np.random.default_rng(0)
    codes = np.array([0, 0, 1, 1, 1, 2, 2, 0, 1, 2, 3])
    return rng.normal(size=(11, 4)), codes, 0.5 * rng.normal(size=(3, 4))


def test_weights_of_pairs_give_the_gradient():
    X, _, L = small()
    W = np.random.default_rng(1).normal(size=(11, 11))
    numeric = numeric_gradient(lambda A: float((W * squared_distances(X @ A.T, X @ A.T)).sum()), L)
    np.testing.assert_allclose(gradient_of(L, X, W), numeric, atol=1e-6 * np.abs(numeric).max())


def test_the_contrastive_loss_is_its_definition():
    X, codes, L = small()
    value, gradient = contrastive_loss(L, X, codes, 0.3)
    assert value == pytest.approx(naive_contrastive(L, X, codes, 0.3), rel=1e-9)
    numeric = numeric_gradient(lambda A: contrastive_loss(A, X, codes, 0.3)[0], L)
    np.testing.assert_allclose(gradient, numeric, atol=1e-6 * np.abs(numeric).max())


@pytest.mark.parametrize("scale", [2.0, 8.0])
def test_the_proxy_anchor_loss_is_its_definition(scale):
    X, codes, L = small()
    proxies = np.random.default_rng(2).normal(size=(4, 4))
    F = np.concatenate([L, proxies])
    value, gradient = proxy_anchor_loss(F, X, codes, scale, 0.1)
    assert value == pytest.approx(naive_proxy_anchor(L, X, codes, proxies, scale, 0.1), rel=1e-9)
    numeric = numeric_gradient(lambda A: proxy_anchor_loss(A, X, codes, scale, 0.1)[0], F)
    np.testing.assert_allclose(gradient, numeric, atol=1e-6 * np.abs(numeric).max())


def test_the_triplet_loss_is_its_definition():
    X, _, L = small()
    triplets = np.array([[0, 1, 2], [0, 1, 2], [3, 4, 5], [6, 5, 0], [2, 8, 10]])
    value, gradient = soft_triplet_loss(L, X, triplets, 0.4)
    expected = [
        math.log(1 + math.exp(2 * (similarity(L, X[i], X[k]) - similarity(L, X[i], X[j])) / 0.4))
        for i, j, k in triplets
    ]
    assert value == pytest.approx(sum(expected) / 5, rel=1e-9)
    numeric = numeric_gradient(lambda A: soft_triplet_loss(A, X, triplets, 0.4)[0], L)
    np.testing.assert_allclose(gradient, numeric, atol=1e-6 * np.abs(numeric).max())


@pytest.mark.parametrize("name", HEADS)
def test_a_head_finds_the_features_that_distinguish_findings(name):
    rng = np.random.default_rng(0)
    codes = np.arange(300) % 4
    X = rng.normal(size=(300, 40))
    X[:, :5] += 1.6 * rng.normal(size=(4, 5))[codes]
    y = codes.astype(str)

    def error(learner):
        d = learner.fit(X[:200], y[:200]).metric().distances(X[200:], X[:200])
        return float((codes[:200][np.argsort(d, axis=1)[:, :5]] != codes[200:, None]).mean())

    learner = make_learner(name, components=10, random_state=0)
    assert error(learner) < 0.7 * error(make_learner("euclidean"))
    assert learner.L_.shape == (10, 40)
    assert any("chosen on cases set aside" in note for note in learner.metric().card.notes)


def test_the_triplet_head_learns_from_triplets_alone():
    X, y, _ = labelled_problem(n=40)
    triplets = [
        (i, j, k) for i in range(40) for j in range(i) for k in range(0, 40, 7) if y[i] == y[j] != y[k]
    ]
    metric = make_learner("triplet_head").fit(X, triplets=np.array(triplets)).metric()
    d = metric.distances(X, X)
    same = y[:, None] == y
    np.fill_diagonal(same, False)
    assert d[same].mean() < d[y[:, None] != y].mean()
