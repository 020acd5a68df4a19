"""Every quantity of every round of BDM equals its definition, written as plain loops."""

from __future__ import annotations

import numpy as np
import pytest

from semblance.core.constraints import from_findings, visual_neighbour_pairs
from semblance.core.metrics import make_learner
from semblance.core.metrics.estimators import bdm, bdm_pairs
from semblance.core.metrics.estimators.bdm_cells import CellPairs
from semblance.core.metrics.estimators.bdm_pairs import DensePairs
from tests.helpers import naive_bdm as naive

ROUNDS = 6


def laid_out(limit):
    """All pairs by finding, however many are changed, or similar pairs apart from dissimilar ones."""

    def dense(similarity, X):
        with pytest.MonkeyPatch.context() as patch:
            patch.setattr(bdm_pairs, "_MANY_OF_A_FINDING", limit)
            patch.setattr(bdm_pairs, "_COST_OF_CHANGED", limit)
            return DensePairs(similarity, X)

    return dense


over_forms = pytest.mark.parametrize(
    "form", [laid_out(0), laid_out(10**9), CellPairs], ids=["by finding", "by pair", "cells"]
)


@pytest.fixture(
    scope="module",
    params=[(name, form) for name in ("bdm", "bdm_v") for form in ("by finding", "by pair", "cells")],
    ids="-".join,
)
def fitted(request):
    name, form = request.param
    X, y = naive.problem()
    with pytest.MonkeyPatch.context() as patch:
        if form == "cells":
            patch.setattr(bdm, "DENSE_BELOW", 0)
        else:
            patch.setattr(bdm_pairs, "_MANY_OF_A_FINDING", 0 if form == "by finding" else 10**9)
            patch.setattr(bdm_pairs, "_COST_OF_CHANGED", 0)
        learner = make_learner(name, rounds=ROUNDS).fit(X, y)
    visual = naive.visual_neighbour_pairs(X, 5) if name == "bdm_v" else ()
    return learner, X, naive.similarity(y, visual)


def rounds_of(learner, X):
    """Per round: direction, threshold, alpha and the bits as +-1."""
    found = learner.distance_
    for t in range(len(found.weights)):
        u, b, alpha = found.directions[:, t], found.thresholds[t], found.weights[t]
        yield u, b, alpha, [1.0 if value > b else -1.0 for value in X @ u]


def test_objective_is_the_triple_loop_in_every_round(fitted):
    learner, X, y = fitted
    bits = [([1.0] * len(X), 0.0)]
    assert learner.objectives_[0] == pytest.approx(naive.objective(y, naive.distances(bits)), rel=1e-12)
    for t, (_, _, alpha, f) in enumerate(rounds_of(learner, X), 1):
        bits.append((f, alpha))
        assert learner.objectives_[t] == pytest.approx(naive.objective(y, naive.distances(bits)), rel=1e-12)
    assert len(learner.objectives_) == ROUNDS + 1


def test_every_round_takes_the_top_eigenvector_the_best_threshold_and_the_bounds_minimum(fitted):
    learner, X, y = fitted
    bits = [([1.0] * len(X), 0.0)]
    for u, b, alpha, f in rounds_of(learner, X):
        s_plus, s_minus = naive.weights(y, naive.distances(bits))
        matrix = X.T @ (naive.laplacian(s_minus) - naive.laplacian(s_plus)) @ X
        top = np.linalg.eigvalsh(matrix)[-1]
        assert u @ u == pytest.approx(1.0, rel=1e-12)
        assert np.abs(matrix @ u - top * u).max() < 1e-10 * abs(top)

        splits = naive.all_cuts(s_plus, s_minus, (X @ u).tolist())
        threshold, similar, dissimilar = max(splits, key=lambda cut: cut[2] ** 0.5 - cut[1] ** 0.5)
        assert b == pytest.approx(threshold, rel=1e-12)

        e = 1e-3 * (similar + dissimilar)
        assert alpha == pytest.approx(np.log((dissimilar + e) / (similar + e)) / 16, rel=1e-12)
        bits.append((f, alpha))


@over_forms
def test_all_cuts_and_the_curvature_equal_their_definitions_after_many_rounds(form):
    X, y = naive.problem(seed=3)
    similarity = from_findings(y).with_similar(visual_neighbour_pairs(X, 3))
    pairs = form(similarity, X)
    rng = np.random.default_rng(1)
    bits = [([1.0] * len(X), 0.0)]
    for _ in range(12):
        f = rng.random(len(X)) < 0.5
        pairs.add_bit(f, 0.05)
        bits.append((np.where(f, 1.0, -1.0).tolist(), 0.05))
    s_plus, s_minus = naive.weights(similarity.dense().tolist(), naive.distances(bits))

    expected = X.T @ (naive.laplacian(s_minus) - naive.laplacian(s_plus)) @ X
    assert np.abs(pairs.curvature - expected).max() < 1e-12 * np.abs(expected).max()

    projection = rng.normal(size=len(X))
    splits = pairs.splits(projection)
    for place, (_, similar, dissimilar) in enumerate(naive.all_cuts(s_plus, s_minus, projection.tolist())):
        assert 4 * splits.similar[place] == pytest.approx(similar, rel=1e-11)
        assert 4 * splits.dissimilar[place] == pytest.approx(dissimilar, rel=1e-11)


@over_forms
def test_masses_across_a_cut_equal_plain_sums(form):
    X, y = naive.problem(seed=4)
    pairs = form(from_findings(y), X)
    f = X[:, 0] > 0.2
    pairs.add_bit(X[:, 1] > 0, 0.1)
    d = naive.distances([(np.where(X[:, 1] > 0, 1.0, -1.0).tolist(), 0.1)])
    a, b = pairs.across(f)
    for i in range(len(X)):
        others = [j for j in range(len(X)) if f[i] != f[j]]
        assert a[i] == pytest.approx(
            sum(np.exp(d[i][j]) for j in others if y[i] == y[j]), rel=1e-12, abs=1e-300
        )
        assert b[i] == pytest.approx(
            sum(np.exp(-d[i][j]) for j in others if y[i] != y[j]), rel=1e-12, abs=1e-300
        )


@pytest.mark.parametrize("limit", [0, 10**9], ids=["by finding", "by pair"])
def test_blocks_of_rows_give_what_one_block_gives(limit, monkeypatch):
    X, y = naive.problem(n=90)
    monkeypatch.setattr(bdm_pairs, "_MANY_OF_A_FINDING", limit)
    whole = make_learner("bdm_v", rounds=5).fit(X, y).objectives_
    monkeypatch.setattr("semblance.core.metrics.estimators.bdm_pairs._BLOCK", 17 * 90)
    assert make_learner("bdm_v", rounds=5).fit(X, y).objectives_ == pytest.approx(whole, rel=1e-12)


def test_the_exact_step_is_the_minimum_of_the_objective_along_the_new_bit(monkeypatch):
    monkeypatch.setattr(bdm, "SMOOTHING", 0.0)
    X, y = naive.problem()
    y[:12] = np.roll(y[:12], 1)
    learner = make_learner("bdm", rounds=4, step="exact").fit(X, y)
    table = naive.similarity(y)
    bits = []
    for _, _, alpha, f in rounds_of(learner, X):
        at = [
            naive.objective(table, naive.distances([*bits, (f, alpha * factor)]))
            for factor in (0.99, 1.0, 1.01)
        ]
        assert at[1] < at[0]
        assert at[1] < at[2]
        bits.append((f, alpha))


def test_the_exact_step_needs_fewer_rounds():
    X, y = naive.problem()
    paper = make_learner("bdm", rounds=15).fit(X, y).objectives_
    exact = make_learner("bdm", rounds=15, step="exact").fit(X, y).objectives_
    assert exact[1] < paper[1]
    assert exact[-1] < paper[-1]
