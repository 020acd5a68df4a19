"""The coordinates in which feedback is learnt."""

from __future__ import annotations

import numpy as np
import pytest

from semblance.core.errors import BadInput
from semblance.core.metrics.distances import LinearDistance, SignedDistance
from semblance.core.metrics.relevance_feedback.feedback_space import FeedbackSpace
from semblance.core.metrics.relevance_feedback.triplet_learning import (
    WeightedTriplets,
    fit_form,
)
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
