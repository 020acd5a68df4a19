"""The frozen network: against loops, its parts, what a forged file may not hold; and life without torch."""

from __future__ import annotations

import importlib.util

import numpy as np
import pytest

from semblance.core.errors import BadInput
from semblance.core.metrics import learners, make_learner
from semblance.core.metrics.distances.convolution import ConvolutionDistance, side_after
from semblance.core.metrics.estimators.ccml import expected_accuracy, expected_accuracy_of, make_batch


def network(side, kernels=(5, 3), maps=3, components=4, seed=0):
    rng = np.random.default_rng(seed)
    layers, channels = [], 1
    for k in kernels:
        layers.append((rng.normal(size=(maps, channels, k, k)), rng.normal(size=maps)))
        channels = maps
    last = side_after(side, kernels)
    V = rng.normal(size=(components, channels * last * last))
    return ConvolutionDistance(side, 0.3, 0.7, tuple(layers), V)


def naive(distance, x):
    """One image through Eqs. 16 and 17, pixel by pixel; the function f is max(0, .)."""
    maps = [((x - distance.centre) / distance.scale).reshape(distance.side, distance.side)]
    for kernels, biases in distance.layers:
        k = kernels.shape[2]
        size = len(maps[0]) - k + 1
        out = []
        for kernel, bias in zip(kernels, biases, strict=True):
            z = np.empty((size, size))
            for i in range(size):
                for j in range(size):
                    response = sum(
                        (m[i : i + k, j : j + k] * w).sum() for m, w in zip(maps, kernel, strict=True)
                    )
                    z[i, j] = max(0.0, response + bias)
            half = size // 2
            out.append(
                [[z[2 * i : 2 * i + 2, 2 * j : 2 * j + 2].max() for j in range(half)] for i in range(half)]
            )
        maps = [np.array(one) for one in out]
    return distance.V @ np.concatenate([one.ravel() for one in maps])


def images(n, side, seed=1):
    return np.random.default_rng(seed).uniform(size=(n, side * side))


@pytest.mark.parametrize(
    ("side", "kernels"), [(6, (5,)), (9, (5,)), (12, (5, 3)), (15, (5, 3)), (28, (5, 3))]
)
def test_it_is_the_papers_network(side, kernels):
    distance, X = network(side, kernels), images(3, side)
    expected = np.stack([naive(distance, x) for x in X])
    assert distance.embed(X) == pytest.approx(expected, rel=1e-12, abs=1e-12)


def test_an_image_has_the_same_place_in_any_company():
    distance, X = network(28), images(150, 28)
    together = distance.embed(X)
    assert (distance.embed(X[100:101]) == together[100:101]).all()
    assert (distance.embed(X[::-1]) == together[::-1]).all()


@pytest.mark.parametrize(("side", "kernels"), [(6, (5,)), (14, (5,)), (28, (5, 3))])
def test_its_parts_are_places_of_the_image_and_sum_to_the_distance(side, kernels):
    distance, (q, x) = network(side, kernels), images(2, side)
    parts = distance.parts(q, x, tuple(map(str, range(side * side))))
    d = distance.between(q[np.newaxis], x[np.newaxis])[0, 0]
    assert sum(part.amount for part in parts) == pytest.approx(d, rel=1e-12)
    assert len({part.name for part in parts}) == len(parts)
    assert all(part.amount == 0.0 for part in distance.parts(q, q, ()))


def test_a_change_in_one_corner_is_explained_there():
    distance, q = network(28, (5,)), images(1, 28)[0]
    x = q.copy().reshape(28, 28)
    x[:6, -6:] += 2.0
    by_place = {part.name: part.amount for part in distance.parts(q, x.ravel(), ())}
    assert by_place.pop("upper right") > 0.0
    assert set(by_place.values()) == {0.0}


def test_stored_and_restored_it_is_the_same():
    distance, X = network(12), images(5, 12)
    again = ConvolutionDistance.restore(distance.settings(), distance.arrays())
    assert (again.between(X, X) == distance.between(X, X)).all()


def _changed(settings=None, drop=None, **arrays):
    distance = network(12)
    remaining = {name: array for name, array in distance.arrays().items() if name != drop}
    return distance.settings() | (settings or {}), remaining | arrays


@pytest.mark.parametrize(
    ("settings", "arrays"),
    [
        _changed({"side": "12"}),
        _changed({"side": -12}),
        _changed({"side": 13_000}),
        _changed({"layers": None}),
        _changed({"layers": 3}),
        _changed({"layers": 1}),
        _changed({"scale": 0.0}),
        _changed({"scale": float("nan")}),
        _changed({"centre": float("inf")}),
        _changed({"centre": "0"}),
        _changed(drop="V"),
        _changed(drop="biases2"),
        _changed(V=np.ones((0, 3))),
        _changed(V=np.ones(3)),
        _changed(V=np.ones((4, 3), np.float32)),
        _changed(kernels1=np.ones((3, 1, 5, 4))),
        _changed(kernels2=np.ones((3, 2, 3, 3))),
        _changed(kernels2=np.ones((3, 3, 9, 9))),
        _changed(biases1=np.ones((3, 1))),
    ],
)
def test_what_does_not_fit_together_is_refused(settings, arrays):
    with pytest.raises(BadInput):
        ConvolutionDistance.restore(settings, arrays)


@pytest.mark.parametrize("local", [False, True])
def test_the_objective_by_the_rows_is_the_one_by_the_map(local):
    rng = np.random.default_rng(0)
    batch = make_batch(rng.normal(size=(25, 4)), rng.integers(0, 3, 25))
    A = rng.normal(size=(3, 4)) * 0.5
    value, by_map = expected_accuracy(A, batch, 3, local)
    same, by_rows = expected_accuracy_of(batch.X @ A.T, batch.finding, 3, local)
    assert same == value
    np.testing.assert_allclose(by_rows.T @ batch.X, by_map, rtol=1e-10, atol=1e-13)


def test_all_learners_are_listed_whatever_is_installed():
    by_name = {learner.name: learner for learner in learners()}
    assert {name for name, learner in by_name.items() if learner.needs} == {"conv_ccml", "convnet"}


@pytest.mark.skipif(importlib.util.find_spec("torch") is not None, reason="PyTorch is installed here")
@pytest.mark.parametrize("name", ["conv_ccml", "convnet"])
def test_without_torch_one_line_says_how_to_get_it(name):
    learner = make_learner(name)
    with pytest.raises(BadInput, match=r"which is not installed") as caught:
        learner.fit(images(8, 28), ["a", "b"] * 4)
    assert 'pip install "semblance-retrieval[deep]"' in caught.value.hint
    assert "\n" not in str(caught.value)
