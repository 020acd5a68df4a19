"""The quadratic form that feedback makes."""

from __future__ import annotations

import numpy as np

from semblance.core.metrics.relevance_feedback.quadratic_form import FeedbackForm, span_basis
from semblance.core.metrics.relevance_feedback.triplet_learning import WeightedTriplets, fit_form
from tests.helpers.naive_clicks import naive_psd


def judged(seed: int = 0, p: int = 9, m: int = 5, t: int = 12) -> WeightedTriplets:
    rng = np.random.default_rng(seed)
    triplets = np.array([rng.choice(p, 3, replace=False) for _ in range(t)])
    return WeightedTriplets.of(rng.normal(size=(p, m)), triplets, rng.random(t) + 0.5)


def test_the_nearest_form_lifts_what_would_be_negative() -> None:
    rng = np.random.default_rng(0)
    change = rng.normal(size=(3, 3)) * 3
    change += change.T
    basis = np.linalg.qr(rng.normal(size=(6, 3)))[0].T
    expected = naive_psd(np.eye(6) + basis.T @ change @ basis)
    np.testing.assert_allclose(FeedbackForm.nearest(change, basis).dense(), expected, atol=1e-12)


def test_strength_blends_between_the_start_and_the_clicks() -> None:
    form = fit_form(judged())
    np.testing.assert_allclose(form.blended(0.0).dense(), np.eye(5))
    np.testing.assert_allclose(form.blended(0.25).dense(), 0.75 * np.eye(5) + 0.25 * form.dense(), atol=1e-12)


def test_the_basis_spans_all_differences() -> None:
    points = np.random.default_rng(0).normal(size=(4, 9))
    basis = span_basis(points)
    differences = points - points[2]
    np.testing.assert_allclose(differences @ basis.T @ basis, differences, atol=1e-12)
    assert basis.shape == (3, 9)
