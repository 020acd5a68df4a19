"""The coordinates in which feedback is learnt."""

from __future__ import annotations

import numpy as np
import pytest

from semblance.core.errors import BadInput
from semblance.core.metrics.distances import LinearDistance, SignedDistance
from semblance.core.metrics.relevance_feedback.feedback_space import (
    MOST,
    FeedbackSpace,
    diagonalise_together,
    neighbour_structure,
)
from semblance.core.metrics.relevance_feedback.triplet_learning import WeightedTriplets, fit_form
from semblance.core.retrieval.refined_index import RefinedIndex
from tests.helpers.feedback_bases import base_distances, unequal_rows


@pytest.mark.parametrize("base", base_distances(), ids=["euclidean", "rank 1", "bits"])
def test_coordinates_have_a_median_squared_distance_of_two(base: object) -> None:
    X = unequal_rows(n=300)
    Z = FeedbackSpace.of(base, X).coordinates(X)
    D = ((Z[:, np.newaxis] - Z) ** 2).sum(axis=2)[np.triu_indices(300, 1)]
    assert np.median(D) == pytest.approx(2.0, rel=0.1)


def test_a_linear_start_keeps_nine_tenths_and_forgets_nothing() -> None:
    X, L = unequal_rows(n=300), np.array([[1.0, 0.0, 0.0, 0.0]])
    space = FeedbackSpace.of(LinearDistance(4, L), X)
    M = space.root.T @ space.root
    standardised = M * np.outer(X.std(axis=0), X.std(axis=0))
    values = np.linalg.eigvalsh(standardised)
    assert values[0] > 0
    np.testing.assert_allclose(values / values[0], [1.0, 1.0, 1.0, (0.9 * 4 + 0.1) / 0.1], rtol=1e-9)


@pytest.mark.parametrize("base", base_distances(), ids=["euclidean", "rank 1", "bits"])
def test_without_a_click_distances_are_those_of_the_metric(base: object) -> None:
    X = unequal_rows(n=60)
    space = FeedbackSpace.of(base, X)
    Z, expected = space.coordinates(X), base.between(X[:1], X)[0]
    np.testing.assert_allclose(space.start().squared(Z - Z[0]), expected, rtol=1e-9, atol=1e-12)
    np.testing.assert_allclose(
        space.distance(space.start()).between(X[:1], X)[0], expected, rtol=1e-9, atol=1e-12
    )
    index = RefinedIndex(Z, Z[0], space.initial_weights)
    order = np.lexsort(((Z - Z[0]) ** 2 @ np.ones(Z.shape[1]), np.round(expected, 9)))
    np.testing.assert_array_equal(index.search(Z[0], 60).rows, order)


@pytest.mark.parametrize("base", base_distances(), ids=["euclidean", "rank 1", "bits"])
def test_a_form_leaves_the_metric_little_by_little(base: object) -> None:
    X = unequal_rows(n=60)
    space = FeedbackSpace.of(base, X)
    Z, expected = space.coordinates(X), base.between(X[:1], X)[0]
    full = fit_form(WeightedTriplets.of(Z, [[0, 1, 2], [3, 4, 5]])).with_initial_weights(
        space.initial_weights, 0.5
    )
    away = [np.abs(full.blended(part).squared(Z - Z[0]) - expected).max() for part in (1.0, 0.1, 0.01, 0.0)]
    assert away[0] > 5 * away[1] > 25 * away[2]
    assert away[3] < 1e-9 * expected.max()


@pytest.mark.parametrize(
    ("base", "X", "message"),
    [
        (SignedDistance(np.eye(4), np.ones(4)), unequal_rows(), "no coordinates"),
        (LinearDistance(4), unequal_rows(n=1), "too few cases"),
        (LinearDistance(4), np.ones((5, 4)), "one place"),
    ],
)
def test_what_cannot_be_refined_says_so(base: object, X: np.ndarray, message: str) -> None:
    with pytest.raises(BadInput, match=message):
        FeedbackSpace.of(base, X)


def kinds(n: int = 300, seed: int = 0) -> tuple[np.ndarray, np.ndarray]:
    """Three kinds apart along two quiet columns, beside eight columns that tell nothing."""
    rng = np.random.default_rng(seed)
    kind = rng.integers(3, size=n)
    centres = np.array([[0.0, 0.0], [2.0, 0.0], [0.0, 2.0]])
    telling = centres[kind] + rng.normal(0.0, 0.4, (n, 2))
    X = np.hstack([telling, rng.normal(size=(n, 8)) @ rng.normal(size=(8, 8))])
    return (X - X.mean(axis=0)) / X.std(axis=0), kind


def share_alike(E: np.ndarray, kind: np.ndarray) -> float:
    squared = ((E[:, np.newaxis] - E) ** 2).sum(axis=2)
    np.fill_diagonal(squared, np.inf)
    return float((kind[np.argsort(squared, axis=1)[:, :10]] == kind[:, np.newaxis]).mean())


def test_neighbour_structure_brings_cases_of_one_finding_nearer() -> None:
    X, kind = kinds()
    form = neighbour_structure(X)
    assert form is not None
    values, vectors = np.linalg.eigh(form)
    assert values.min() > 0.0
    assert share_alike(X @ (vectors * np.sqrt(values)), kind) > share_alike(X, kind) + 0.02


def test_what_shows_no_structure_is_left_nearly_as_it_is() -> None:
    X = np.random.default_rng(0).normal(size=(600, 4))
    form = neighbour_structure(X)
    assert form is not None
    values = np.linalg.eigvalsh(form)
    assert values[-1] / values[0] < 1.5


@pytest.mark.parametrize("X", [np.eye(9), np.zeros((40, 3)), np.repeat(np.eye(3), 20, axis=0)])
def test_too_few_cases_or_places_give_no_result(X: np.ndarray) -> None:
    assert neighbour_structure(X) is None


def test_two_forms_become_sums_of_squares() -> None:
    rng = np.random.default_rng(2)
    A, metric = rng.normal(size=(6, 4)), np.array([2.0, 0.0, 1.0, 0.5])
    turn, own = diagonalise_together(A.T @ A, metric)
    np.testing.assert_allclose(turn.T @ turn, A.T @ A, atol=1e-10)
    np.testing.assert_allclose((turn.T * own) @ turn, np.diag(metric), atol=1e-10)


def test_only_a_metric_that_learnt_nothing_opens_to_it() -> None:
    X, kind = kinds()
    plain, learnt = (
        FeedbackSpace.of(LinearDistance(10), X),
        FeedbackSpace.of(LinearDistance(10, np.eye(10)), X),
    )
    assert plain.structured
    assert not learnt.structured
    initial_distances = plain.start().squared(plain.coordinates(X) - plain.coordinates(X[:1]))
    np.testing.assert_allclose(initial_distances, ((X - X[0]) ** 2).sum(axis=1), rtol=1e-9, atol=1e-9)
    opened = plain.start().opened(1.0)
    assert share_alike(opened.embed(plain.coordinates(X)), kind) > share_alike(X, kind) + 0.02
    assert np.median(opened.squared(plain.coordinates(X) - plain.coordinates(X[:1]))) == pytest.approx(
        np.median(initial_distances), rel=0.4
    )


def test_a_large_library_is_represented_by_a_sample() -> None:
    X, _ = kinds(n=MOST + 500)
    space = FeedbackSpace.of(LinearDistance(10), X)
    again = FeedbackSpace.of(LinearDistance(10), X)
    assert space.structured
    np.testing.assert_array_equal(space.root, again.root)
