from __future__ import annotations

import numpy as np
import pytest

from semblance.core.errors import BadInput
from semblance.core.metrics.distances import DISTANCES, BitDistance, LinearDistance


@pytest.fixture
def bits():
    return BitDistance(np.array([[1.0, 0.0], [0.0, 1.0]]), np.array([0.5, 0.5]), np.array([0.25, 0.1]))


def test_bits_that_differ_add_four_times_their_weight(bits):
    X = np.array([[0.0, 0.0], [1.0, 0.0], [1.0, 1.0]])
    assert bits.between(X, X).tolist() == [[0, 1.0, 1.4], [1.0, 0, 0.4], [1.4, 0.4, 0]]
    assert [(part.name, part.amount) for part in bits.parts(X[0], X[1], ())] == [
        ("bit 1", 1.0),
        ("bit 2", 0.0),
    ]


def test_bit_distances_of_blocks_equal_those_at_once(monkeypatch):
    rng = np.random.default_rng(0)
    many = BitDistance(rng.normal(size=(3, 7)), rng.normal(size=7), rng.random(7) + 0.1)
    X = rng.normal(size=(50, 3))
    whole = many.between(X, X)
    monkeypatch.setattr("semblance.core.metrics.distances.bits._BLOCK", 50)
    assert (many.between(X, X) == whole).all()
    assert (whole[:, 3] == many.between(X, X[3:4])[:, 0]).all()


def test_linear_parts_may_be_negative_and_follow_the_order_of_groups():
    distance = LinearDistance(3, np.array([[2.0, -1.0, 1.0]]))
    parts = distance.parts(np.array([1.0, 1.0, 0.0]), np.zeros(3), ("b", "a", "b"))
    assert [(part.name, part.amount) for part in parts] == [("b", 2.0), ("a", -1.0)]


def test_linear_distance_is_that_of_its_matrix():
    rng = np.random.default_rng(0)
    L, X = rng.normal(size=(2, 4)), rng.normal(size=(6, 4))
    z = X[:, None] - X[None]
    expected = np.einsum("ijk,kl,ijl->ij", z, L.T @ L, z)
    assert LinearDistance(4, L).between(X, X) == pytest.approx(expected, abs=1e-12)


@pytest.mark.parametrize(
    ("kind", "stored", "given"),
    [
        (LinearDistance, {}, {}),
        (LinearDistance, {"n_features": 2}, {"L": np.zeros((2, 3))}),
        (LinearDistance, {"n_features": 2}, {"L": np.zeros((2, 2), dtype=np.int64)}),
        (BitDistance, {}, {"directions": np.zeros((2, 1))}),
        (BitDistance, {}, {"directions": np.zeros((2, 3)), "thresholds": np.zeros(2), "weights": np.ones(2)}),
        (
            BitDistance,
            {},
            {"directions": np.zeros((2, 2)), "thresholds": np.zeros(2), "weights": -np.ones(2)},
        ),
        (BitDistance, {}, {"directions": np.zeros(2), "thresholds": np.zeros(2), "weights": np.ones(2)}),
    ],
)
def test_stored_values_that_do_not_fit_are_refused(kind, stored, given):
    with pytest.raises(BadInput):
        kind.restore(stored, given)


def test_kinds_are_different():
    assert len({kind.kind for kind in DISTANCES}) == len(DISTANCES)
