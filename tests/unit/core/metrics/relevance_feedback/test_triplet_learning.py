"""Learning from triplets that a person marked, against plain loops."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest

from semblance.core.metrics.relevance_feedback import triplet_learning
from semblance.core.metrics.relevance_feedback.triplet_learning import (
    DifferencePairs,
    WeightedTriplets,
    fit_form,
    gram,
)
from tests.helpers.naive_clicks import naive_form, naive_replay


def judged(seed: int = 0, p: int = 9, m: int = 5, t: int = 12) -> WeightedTriplets:
    rng = np.random.default_rng(seed)
    triplets = np.array([rng.choice(p, 3, replace=False) for _ in range(t)])
    return WeightedTriplets.of(rng.normal(size=(p, m)), triplets, rng.random(t) + 0.5)


@pytest.mark.parametrize("m", [3, 5, 30])
def test_replay_equals_plain_gradient_descent(m: int) -> None:
    given = judged(m=m, p=5, t=6)
    expected = naive_replay(given.points, given.triplets.tolist(), given.weights.tolist(), 2.0)
    np.testing.assert_allclose(fit_form(given, 2.0).dense(), expected, atol=1e-9)


def test_many_triplets_are_learnt_as_few_are(monkeypatch: pytest.MonkeyPatch) -> None:
    given = judged(t=60)
    few = fit_form(given).dense()
    monkeypatch.setattr(triplet_learning, "GRAM_TRIPLETS", 0)
    np.testing.assert_allclose(fit_form(given).dense(), few, atol=1e-4)


@pytest.mark.parametrize("apart", [1.0, 1e-5])
def test_few_points_give_what_each_of_many_differences_gives(apart: float) -> None:
    rng = np.random.default_rng(0)
    points = rng.normal(size=(30, 20))
    points[15:] = points[:15] + apart * points[15:]
    triplets = np.array([rng.choice(30, 3, replace=False) for _ in range(500)])
    pairs = DifferencePairs.of(points, triplets, rng.random(500) + 0.5)
    assert pairs.between is not None
    each = replace(pairs, between=None)
    D = rng.normal(size=(20, 20))
    np.testing.assert_allclose(pairs.margins(D), each.margins(D), rtol=1e-6, atol=1e-9)
    np.testing.assert_allclose(pairs.summed(pairs.weights), each.summed(pairs.weights), atol=1e-9)


def test_few_differences_are_used_one_by_one() -> None:
    given = judged(t=3)
    assert DifferencePairs.of(given.points, given.triplets, given.weights).between is None


def test_the_order_of_clicks_does_not_matter_to_replay() -> None:
    given, order = judged(), np.random.default_rng(1).permutation(12)
    turned = WeightedTriplets.of(given.points, given.triplets[order], given.weights[order])
    np.testing.assert_allclose(fit_form(turned).dense(), fit_form(given).dense(), atol=1e-10)


def test_a_weight_of_two_is_two_clicks() -> None:
    given = judged()
    twice = WeightedTriplets.of(given.points, np.concatenate([given.triplets] * 2))
    heavy = WeightedTriplets.of(given.points, given.triplets, np.full(12, 2.0))
    np.testing.assert_allclose(fit_form(twice).dense(), fit_form(heavy).dense(), atol=1e-9)


def test_the_gram_matrix_is_that_of_the_forms() -> None:
    given = judged()
    forms = [naive_form(given.points, triplet) for triplet in given.triplets]
    near = given.points[given.triplets[:, 1]] - given.points[given.triplets[:, 0]]
    far = given.points[given.triplets[:, 2]] - given.points[given.triplets[:, 0]]
    expected = [[float((A * B).sum()) for B in forms] for A in forms]
    got = gram(near, far, (near**2).sum(axis=1) + (far**2).sum(axis=1))
    np.testing.assert_allclose(got, expected, atol=1e-12)


def test_a_click_moves_the_liked_case_nearer_than_the_disliked() -> None:
    points = np.array([[0.0, 0.0, 0.0], [1.0, 0.2, 0.0], [0.1, 0.9, 0.0]])
    form = fit_form(WeightedTriplets.of(points, [[0, 1, 2]]))
    before = np.diff((points[1:] ** 2).sum(axis=1))[0]
    after = np.diff(form.squared(points[1:]))[0]
    assert before < 0 < after


def test_a_thousand_contradictory_clicks_leave_the_form_finite_and_positive() -> None:
    rng = np.random.default_rng(0)
    points = rng.normal(size=(30, 8)) * 1e3
    triplets = np.array([rng.choice(30, 3, replace=False) for _ in range(500)])
    form = fit_form(WeightedTriplets.of(points, np.concatenate([triplets, triplets[:, [0, 2, 1]]])))
    assert np.isfinite(form.dense()).all()
    assert np.linalg.eigvalsh(form.dense()).min() >= -1e-9


def test_equal_cases_leave_the_metric_unchanged() -> None:
    point = np.array([1.0, 2.0])
    assert len(fit_form(WeightedTriplets.of(np.stack([point] * 3), [[0, 1, 2]])).gains) == 0
    assert len(fit_form(WeightedTriplets.of(np.empty((0, 2)), [])).gains) == 0
