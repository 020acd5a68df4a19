"""The quick ranking after a click is the one that comparing all cases in float64 gives."""

from __future__ import annotations

import numpy as np
import pytest

from semblance.core.errors import BadInput
from semblance.core.metrics.relevance_feedback.quadratic_form import FeedbackForm, InitialWeights
from semblance.core.metrics.relevance_feedback.triplet_learning import WeightedTriplets, fit_form
from semblance.core.retrieval.ranking import EmbeddedQuery, rank
from semblance.core.retrieval.refined_index import RefinedIndex


def trained(Z: np.ndarray, seed: int, t: int = 40) -> FeedbackForm:
    rng = np.random.default_rng(seed)
    return fit_form(WeightedTriplets.of(Z, [rng.choice(len(Z), 3, replace=False) for _ in range(t)]))


@pytest.mark.parametrize("shift", [0.0, 1e6])
@pytest.mark.parametrize(("n", "m"), [(50, 3), (9000, 12), (300, 80)])
def test_the_nearest_are_those_of_the_dense_form(n: int, m: int, shift: float) -> None:
    Z = np.random.default_rng(0).normal(size=(n, m)) + shift
    form = trained(Z, 1)
    index = RefinedIndex(Z, Z[7])
    index.form = form
    difference = Z - Z[7]
    expected = np.einsum("ij,jk,ik->i", difference, form.dense(), difference)
    hits = index.search(Z[7], 20)
    np.testing.assert_array_equal(hits.rows, np.argsort(expected, kind="stable")[:20])
    np.testing.assert_allclose(hits.distances, expected[hits.rows], rtol=1e-9, atol=1e-9)
    np.testing.assert_array_equal(index.distances(Z[7], hits.rows), hits.distances)


@pytest.mark.parametrize("open", [0.0, 0.01, 0.7])
def test_a_form_that_began_with_a_metric_is_followed(open: float) -> None:
    rng = np.random.default_rng(3)
    Z = rng.normal(size=(9000, 12))
    initial_weights = InitialWeights(np.where(np.arange(12) < 7, rng.random(12) * 30.0, 0.0), 4.0)
    form = trained(Z, 1).with_initial_weights(initial_weights, open)
    index = RefinedIndex(Z, Z[7], initial_weights)
    index.form = form
    difference = Z - Z[7]
    expected = np.einsum("ij,jk,ik->i", difference, form.dense(), difference)
    hits = index.search(Z[7], 20)
    np.testing.assert_array_equal(hits.rows, np.argsort(expected, kind="stable")[:20])
    np.testing.assert_allclose(hits.distances, expected[hits.rows], rtol=1e-9, atol=1e-9)


def test_a_new_form_and_a_new_query_are_followed() -> None:
    Z = np.random.default_rng(0).normal(size=(200, 6))
    index = RefinedIndex(Z, Z[0])
    for seed in range(3):
        index.form = trained(Z, seed)
        index.set_query(Z[seed])
        expected = np.argsort(index.form.squared(Z - Z[seed]), kind="stable")
        np.testing.assert_array_equal(index.search(Z[seed], 200).rows, expected)


def test_forgotten_directions_leave_ties_as_if_all_counted_alike() -> None:
    Z = np.random.default_rng(0).normal(size=(40, 2))
    index = RefinedIndex(Z, Z[0])
    index.form = FeedbackForm(np.eye(2), np.array([-1.0, -1.0]))
    order = np.argsort((Z**2 - 2.0 * Z * Z[0]).sum(axis=1), kind="stable")
    np.testing.assert_array_equal(index.search(Z[0], 5).rows, order[:5])


def test_it_ranks_like_any_index_with_patients_hidden() -> None:
    Z = np.random.default_rng(0).normal(size=(60, 4))
    index = RefinedIndex(Z, Z[0])
    index.form = trained(Z, 2)
    patients = np.array([f"P{n // 3}" for n in range(60)], dtype=object)
    ranking = rank(index, EmbeddedQuery(Z[0], None, 0, "P0"), 10, patients=patients)
    order = [r for r in np.argsort(index.form.squared(Z - Z[0])).tolist() if r > 2]
    assert ranking.rows.tolist() == order[:10]
    allowed = np.zeros(60, dtype=np.bool_)
    allowed[50:] = True
    assert set(index.search(Z[0], 20, allowed).rows.tolist()) == set(range(50, 60))
    assert len(index.search(Z[0], 20, np.zeros(60, dtype=np.bool_)).rows) == 0


def test_what_does_not_fit_is_refused() -> None:
    Z = np.zeros((4, 3))
    with pytest.raises(BadInput, match="does not fit"):
        RefinedIndex(Z, np.zeros(2))
    index = RefinedIndex(Z, Z[0])
    with pytest.raises(BadInput, match="made for"):
        index.search(np.ones(3))
    with pytest.raises(BadInput, match="filter"):
        index.search(Z[0], 3, np.ones(9, dtype=np.bool_))
