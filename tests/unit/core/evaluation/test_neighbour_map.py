from __future__ import annotations

import numpy as np
import pytest

from semblance.core.evaluation.neighbour_map import attraction, gradient, repulsion, rounds


def _near(rows, k):
    away = ((rows[:, None] - rows) ** 2).sum(axis=2)
    np.fill_diagonal(away, np.inf)
    near = np.argsort(away, axis=1)[:, :k]
    return near, np.take_along_axis(away, near, axis=1)


def _table(attracted):
    n = len(attracted)
    full = np.zeros((n, n))
    for i in range(n):
        for e in range(attracted.starts[i], attracted.starts[i + 1]):
            full[i, attracted.columns[e]] += attracted.weights[e]
    return full


def test_every_case_has_the_requested_perplexity():
    rng = np.random.default_rng(0)
    rows = rng.normal(size=(80, 5)) * rng.uniform(0.1, 10, (80, 1))
    near, away = _near(rows, 79)
    # Symmetrised rows lose it: one case alone keeps its own.
    full = _table(attraction(near, away, perplexity=20.0))
    assert full.sum() == pytest.approx(1.0)
    assert np.allclose(full, full.T)
    shifted = away[0] - away[0, 0]
    low, high = 0.0, 1e6
    for _ in range(200):
        beta = (low + high) / 2
        p = np.exp(-beta * shifted)
        p /= p.sum()
        entropy = -(p[p > 0] * np.log(p[p > 0])).sum()
        low, high = (beta, high) if entropy > np.log(20.0) else (low, beta)
    one_way = np.zeros((80, 80))
    for i in range(80):
        s = away[i] - away[i, 0]
        low, high = 0.0, 1e6
        for _ in range(200):
            beta = (low + high) / 2
            p = np.exp(-beta * s)
            p /= p.sum()
            entropy = -(p[p > 0] * np.log(p[p > 0])).sum()
            low, high = (beta, high) if entropy > np.log(20.0) else (low, beta)
        one_way[i, near[i]] = p
    assert np.allclose(full, (one_way + one_way.T) / 160, atol=1e-6)


@pytest.mark.parametrize("spread", [1e-4, 1.0, 6.0])
def test_the_repulsion_is_that_summed_over_all_pairs(spread):
    y = np.random.default_rng(1).normal(size=(300, 2)) * spread
    away = y[:, None] - y
    w = 1 / (1 + (away**2).sum(axis=2))
    np.fill_diagonal(w, 0)
    expected = (w[:, :, None] ** 2 * away).sum(axis=1)
    push, total = repulsion(y)
    assert total == pytest.approx(w.sum(), rel=0.005)
    assert np.abs(push - expected).max() <= 0.08 * np.abs(expected).max()
    assert np.abs(push - expected).mean() <= 0.03 * np.abs(expected).mean()


def test_the_gradient_is_that_of_the_divergence():
    rng = np.random.default_rng(2)
    rows = rng.normal(size=(60, 4))
    table = attraction(*_near(rows, 59), perplexity=15.0)
    p, y = _table(table), rng.normal(size=(60, 2))

    def divergence(at):
        w = 1 / (1 + ((at[:, None] - at) ** 2).sum(axis=2))
        np.fill_diagonal(w, 0)
        there = p > 0
        return (p[there] * np.log(p[there] / (w / w.sum())[there])).sum()

    found = gradient(table, y)
    for case, axis in ((0, 0), (17, 1), (59, 0)):
        step = np.zeros_like(y)
        step[case, axis] = 1e-5
        slope = (divergence(y + step) - divergence(y - step)) / 2e-5
        assert found[case, axis] == pytest.approx(slope, abs=0.03 * np.abs(found).max())


@pytest.mark.slow
def test_neighbour_preservation_is_that_of_scikit_learn():
    from sklearn.datasets import load_digits
    from sklearn.manifold import TSNE, trustworthiness

    rows = load_digits().data[:400]
    start = (rows - rows.mean(axis=0)) @ np.linalg.svd(rows - rows.mean(axis=0))[2][:2].T
    y = list(rounds(attraction(*_near(rows, 90)), start, 500))[-1]
    ours = trustworthiness(rows, y, n_neighbors=10)
    theirs = trustworthiness(rows, TSNE(init="pca", random_state=0).fit_transform(rows), n_neighbors=10)
    assert ours >= theirs - 0.01
    assert ours > trustworthiness(rows, start, n_neighbors=10) + 0.1


def test_equal_and_few_cases():
    rows = np.zeros((8, 3))
    rows[4:] = 1.0
    y = list(rounds(attraction(*_near(rows, 7)), np.zeros((8, 2)), 60))[-1]
    assert np.isfinite(y).all()
