"""Kernel BDM equals its definition written as plain loops, and learns what no straight border separates."""

from __future__ import annotations

import math

import numpy as np
import pytest

from semblance.core.errors import BadInput
from semblance.core.metrics import make_learner
from semblance.core.metrics.distances.bits import BitDistance, Kernel, KernelBitDistance
from tests.helpers import naive_bdm as naive
from tests.helpers.learner_checks import in_order_of_training


def kernel_value(name, gamma, degree, x, z):
    if name == "polynomial":
        return (gamma * sum(a * b for a, b in zip(x, z, strict=True)) + 1.0) ** degree
    if name == "laplacian":
        return math.exp(-gamma * sum(abs(a - b) for a, b in zip(x, z, strict=True)))
    return math.exp(-gamma * sum((a - b) ** 2 for a, b in zip(x, z, strict=True)))


def rings(n, seed=0):
    """Two rings about one centre, which no projection separates."""
    rng = np.random.default_rng(seed)
    y, angle = np.arange(n) % 2, rng.uniform(0, 2 * np.pi, n)
    radius = 1.0 + y + 0.1 * rng.normal(size=n)
    return radius[:, None] * np.stack([np.cos(angle), np.sin(angle)], axis=1), y


@pytest.mark.parametrize("visual", [0, 3])
@pytest.mark.parametrize("kernel", ["rbf", "laplacian", "polynomial"])
def test_every_round_is_that_of_the_definition(kernel, visual):
    X, y = in_order_of_training(*naive.problem(n=30, d=4))
    learner = make_learner("bdm_kernel", kernel=kernel, degree=3, rounds=4, visual_neighbours=visual)
    found = learner.fit(X, y).distance_
    assert (found.rows == X).all()
    table = naive.similarity(y, naive.visual_neighbour_pairs(X, visual) if visual else ())
    K = np.array([[kernel_value(kernel, 0.25, 3, x, z) for z in X.tolist()] for x in X.tolist()])
    assert found.kernel.gamma == pytest.approx(0.25, rel=1e-12)
    bits = [([1.0] * 30, 0.0)]
    for t in range(4):
        u, b, alpha = found.bits.directions[:, t], found.bits.thresholds[t], found.bits.weights[t]
        s_plus, s_minus = naive.weights(table, naive.distances(bits))
        matrix = K @ (naive.laplacian(s_minus) - naive.laplacian(s_plus)) @ K
        top = np.linalg.eigvalsh(matrix)[-1]
        assert u @ u == pytest.approx(1.0, rel=1e-10)
        assert np.abs(matrix @ u - top * u).max() < 1e-8 * top
        cuts = naive.all_cuts(s_plus, s_minus, (K @ u).tolist())
        threshold, similar, dissimilar = max(cuts, key=lambda cut: cut[2] ** 0.5 - cut[1] ** 0.5)
        assert b == pytest.approx(threshold, rel=1e-9)
        e = 1e-3 * (similar + dissimilar)
        assert alpha == pytest.approx(np.log((dissimilar + e) / (similar + e)) / 16, rel=1e-9)
        bits.append(([1.0 if value > b else -1.0 for value in K @ u], alpha))
        assert learner.objectives_[t + 1] == pytest.approx(
            naive.objective(table, naive.distances(bits)), rel=1e-9
        )


@pytest.mark.parametrize("kernel", ["rbf", "laplacian", "polynomial"])
def test_new_rows_are_compared_through_the_kernel(kernel):
    X, y = naive.problem(n=40, d=3)
    found = make_learner("bdm_kernel", kernel=kernel, rounds=10).fit(X, y).distance_
    new = np.random.default_rng(1).normal(size=(9, 3))
    gamma, degree = found.kernel.gamma, found.kernel.degree
    K = [[kernel_value(kernel, gamma, degree, x, z) for z in found.rows.tolist()] for x in new.tolist()]
    bits = np.array(K) @ found.bits.directions > found.bits.thresholds
    for i in range(9):
        for j in range(9):
            expected = sum(4.0 * found.bits.weights[bits[i] != bits[j]])
            assert found.between(new, new)[i, j] == pytest.approx(expected, rel=1e-12)
    embedded = found.embed(new)
    squared = ((embedded[:, None] - embedded) ** 2).sum(axis=2)
    assert squared == pytest.approx(found.between(new, new), rel=1e-12)


def test_rings_are_separated_where_plain_bdm_cannot():
    (X, y), (T, truth) = rings(120), rings(200, seed=1)

    def nearest_right(name):
        d = make_learner(name, rounds=50).fit(X, y).metric().distances(T, X)
        own = [d[i, y == truth[i]].mean() < d[i, y != truth[i]].mean() for i in range(len(T))]
        return float(np.mean(own))

    assert nearest_right("bdm_kernel") > 0.97
    assert nearest_right("bdm") < 0.9


def test_the_width_by_the_median_is_that_of_a_typical_pair():
    X, y = naive.problem(n=31, d=4)
    between = [np.abs(X[i] - X[j]) for i in range(31) for j in range(i)]
    squared = float(np.median([float((d**2).sum()) for d in between]))
    summed = float(np.median([float(d.sum()) for d in between]))
    for kernel, gamma in (("rbf", 0.5 / squared), ("laplacian", 1.0 / summed)):
        found = make_learner("bdm_kernel", kernel=kernel, width="median", rounds=3).fit(X, y).distance_
        assert found.kernel.gamma == pytest.approx(gamma, rel=1e-12)


def test_the_scale_of_the_features_changes_nothing():
    X, y = naive.problem(n=40, d=3)
    for kernel in ("rbf", "laplacian", "polynomial"):
        one = make_learner("bdm_kernel", kernel=kernel, rounds=5).fit(X, y).distance_
        other = make_learner("bdm_kernel", kernel=kernel, rounds=5).fit(1024.0 * X, y).distance_
        assert other.between(1024.0 * X, 1024.0 * X) == pytest.approx(one.between(X, X), rel=1e-6)


def test_landmarks_are_training_rows_drawn_by_the_seed():
    X, y = naive.problem(n=80, d=3)
    found = [
        make_learner("bdm_kernel", landmarks=20, rounds=5, random_state=seed).fit(X, y) for seed in (1, 1, 2)
    ]
    first, again, other = (learner.distance_ for learner in found)
    assert first.rows.shape == (20, 3)
    assert {tuple(row) for row in first.rows} <= {tuple(row) for row in X}
    assert (first.rows == again.rows).all()
    assert (first.rows != other.rows).any()
    assert "20 landmarks" in found[0].metric().card.notes[1]


def test_repeated_rows_make_the_kernel_singular_and_stay_together():
    X, y = naive.problem(n=30, d=4)
    X, y = np.concatenate([X, X]), np.concatenate([y, y])
    found = make_learner("bdm_kernel", rounds=40).fit(X, y).distance_
    bits = found.embed(X)
    assert (bits[:30] == bits[30:]).all()
    assert np.abs(found.bits.directions).max() <= 1.0


def test_what_would_not_fit_is_refused_with_the_way_out(monkeypatch):
    monkeypatch.setattr("semblance.core.metrics.estimators.bdm_kernel.MAX_KERNEL_VALUES", 999)
    X, y = naive.problem(n=45, d=3)
    with pytest.raises(BadInput, match="45 cases by 45 landmarks") as caught:
        make_learner("bdm_kernel").fit(X, y)
    assert "at most 22 landmarks" in caught.value.hint
    assert make_learner("bdm_kernel", landmarks=22, rounds=2).fit(X, y).distance_.rows.shape == (22, 3)


def stored():
    rows = np.array([[0.0, 1.0], [2.0, 3.0], [1.0, 1.0]])
    bits = BitDistance(np.array([[1.0], [0.5], [0.1]]), np.array([0.5]), np.array([0.25]))
    return KernelBitDistance(Kernel("rbf", 0.5), rows, bits)


def test_stored_and_restored_it_is_the_same():
    X = np.random.default_rng(0).normal(size=(20, 2))
    again = KernelBitDistance.restore(stored().settings(), stored().arrays())
    assert (again.between(X, X) == stored().between(X, X)).all()


@pytest.mark.parametrize(
    ("settings", "arrays"),
    [
        ({"kernel": "cubic"}, {}),
        ({"gamma": -1.0}, {}),
        ({"gamma": float("inf")}, {}),
        ({"gamma": None}, {}),
        ({"degree": 0}, {}),
        ({"degree": True}, {}),
        ({}, {"rows": np.zeros((2, 2))}),
        ({}, {"rows": np.zeros(3)}),
        ({}, {"rows": np.zeros((3, 2), dtype=np.int64)}),
        ({}, {"weights": -np.ones(1)}),
        ({}, {"extra": np.ones(1)}),
    ],
)
def test_stored_values_that_do_not_fit_are_refused(settings, arrays):
    with pytest.raises(BadInput):
        KernelBitDistance.restore(stored().settings() | settings, stored().arrays() | arrays)
