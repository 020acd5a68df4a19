"""Learning from clicks against plain loops; what no clicks may break; the frozen metric."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest

from semblance.core.errors import BadInput
from semblance.core.metrics.card import MetricCard
from semblance.core.metrics.distances import BitDistance, LinearDistance, RefinedDistance, SignedDistance
from semblance.core.metrics.metric import Metric, load_metric
from semblance.core.metrics.relevance_feedback import triplet_learning
from semblance.core.metrics.relevance_feedback.feedback_space import FeedbackSpace
from semblance.core.metrics.relevance_feedback.quadratic_form import FeedbackForm, span_basis
from semblance.core.metrics.relevance_feedback.refined_metric import LEARNER, refined_metric
from semblance.core.metrics.relevance_feedback.triplet_learning import (
    Pairs,
    WeightedTriplets,
    fit_form,
    gram,
    updated_with_triplet,
)
from semblance.core.retrieval.click_index import ClickIndex
from tests.helpers.naive_clicks import naive_form, naive_instant, naive_psd, naive_replay


def judged(seed: int = 0, p: int = 9, m: int = 5, t: int = 12) -> WeightedTriplets:
    rng = np.random.default_rng(seed)
    triplets = np.array([rng.choice(p, 3, replace=False) for _ in range(t)])
    return WeightedTriplets.of(rng.normal(size=(p, m)), triplets, rng.random(t) + 0.5)


@pytest.mark.parametrize("m", [3, 5, 30])
def test_replay_equals_plain_gradient_descent(m: int) -> None:
    given = judged(m=m, p=5, t=6)
    wanted = naive_replay(given.points, given.triplets.tolist(), given.weights.tolist(), 2.0)
    np.testing.assert_allclose(fit_form(given, 2.0).dense(), wanted, atol=1e-9)


def test_many_triplets_are_learnt_as_few_are(monkeypatch: pytest.MonkeyPatch) -> None:
    given = judged(t=60)
    few = fit_form(given).dense()
    monkeypatch.setattr(triplet_learning, "GRAM_TRIPLETS", 0)
    np.testing.assert_allclose(fit_form(given).dense(), few, atol=1e-4)


@pytest.mark.parametrize("apart", [1.0, 1e-5])
def test_few_points_of_many_differences_say_what_each_difference_says(apart: float) -> None:
    rng = np.random.default_rng(0)
    points = rng.normal(size=(30, 20))
    points[15:] = points[:15] + apart * points[15:]
    triplets = np.array([rng.choice(30, 3, replace=False) for _ in range(500)])
    pairs = Pairs.of(points, triplets, rng.random(500) + 0.5)
    assert pairs.between is not None
    each = replace(pairs, between=None)
    D = rng.normal(size=(20, 20))
    np.testing.assert_allclose(pairs.margins(D), each.margins(D), rtol=1e-6, atol=1e-9)
    np.testing.assert_allclose(pairs.summed(pairs.weights), each.summed(pairs.weights), atol=1e-9)


def test_few_differences_are_gone_through_one_by_one() -> None:
    given = judged(t=3)
    assert Pairs.of(given.points, given.triplets, given.weights).between is None


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
    wanted = [[float((A * B).sum()) for B in forms] for A in forms]
    got = gram(near, far, (near**2).sum(axis=1) + (far**2).sum(axis=1))
    np.testing.assert_allclose(got, wanted, atol=1e-12)


@pytest.mark.parametrize("m", [4, 40])
def test_instant_steps_equal_the_dense_ones(m: int) -> None:
    given = judged(m=m)
    form, M = FeedbackForm.start(m), np.eye(m)
    for triplet in given.triplets.tolist():
        form = updated_with_triplet(form, *given.points[triplet])
        M = naive_instant(M, naive_form(given.points, triplet))
        np.testing.assert_allclose(form.dense(), M, atol=1e-9)


def test_a_click_moves_the_liked_case_nearer_than_the_disliked() -> None:
    points = np.array([[0.0, 0.0, 0.0], [1.0, 0.2, 0.0], [0.1, 0.9, 0.0]])
    form = fit_form(WeightedTriplets.of(points, [[0, 1, 2]]))
    before = np.diff((points[1:] ** 2).sum(axis=1))[0]
    after = np.diff(form.squared(points[1:]))[0]
    assert before < 0 < after


@pytest.mark.parametrize("how", ["instant", "replay"])
def test_a_thousand_contradictory_clicks_leave_the_form_finite_and_positive(how: str) -> None:
    rng = np.random.default_rng(0)
    points = rng.normal(size=(30, 8)) * 1e3
    triplets = np.array([rng.choice(30, 3, replace=False) for _ in range(500)])
    both = np.concatenate([triplets, triplets[:, [0, 2, 1]]])
    form = FeedbackForm.start(8)
    if how == "replay":
        form = fit_form(WeightedTriplets.of(points, both))
    else:
        for triplet in both:
            form = updated_with_triplet(form, *points[triplet])
    assert np.isfinite(form.dense()).all()
    assert np.linalg.eigvalsh(form.dense()).min() >= -1e-9


def test_equal_cases_teach_nothing() -> None:
    point = np.array([1.0, 2.0])
    assert len(updated_with_triplet(FeedbackForm.start(2), point, point, point).gains) == 0
    assert len(updated_with_triplet(FeedbackForm.start(2), point, point + 1, point + 1).gains) == 0
    assert len(fit_form(WeightedTriplets.of(np.stack([point] * 3), [[0, 1, 2]])).gains) == 0
    assert len(fit_form(WeightedTriplets.of(np.empty((0, 2)), [])).gains) == 0


def test_the_nearest_form_lifts_what_would_be_negative() -> None:
    rng = np.random.default_rng(0)
    change = rng.normal(size=(3, 3)) * 3
    change += change.T
    basis = np.linalg.qr(rng.normal(size=(6, 3)))[0].T
    wanted = naive_psd(np.eye(6) + basis.T @ change @ basis)
    np.testing.assert_allclose(FeedbackForm.nearest(change, basis).dense(), wanted, atol=1e-12)


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


def rows(seed: int = 0, n: int = 80, d: int = 4) -> np.ndarray:
    return np.random.default_rng(seed).normal(size=(n, d)) * np.array([1.0, 5.0, 0.2, 1.0])[:d] + 3.0


def bases() -> list:
    rng = np.random.default_rng(5)
    return [
        LinearDistance(4),
        LinearDistance(4, rng.normal(size=(1, 4))),
        BitDistance(rng.normal(size=(4, 12)), rng.normal(size=12), rng.random(12) + 0.1),
    ]


@pytest.mark.parametrize("base", bases(), ids=["euclidean", "rank 1", "bits"])
def test_coordinates_have_a_median_squared_distance_of_two(base: object) -> None:
    X = rows(n=300)
    Z = FeedbackSpace.of(base, X).coordinates(X)
    D = ((Z[:, np.newaxis] - Z) ** 2).sum(axis=2)[np.triu_indices(300, 1)]
    assert np.median(D) == pytest.approx(2.0, rel=0.1)


def test_a_linear_start_keeps_nine_tenths_and_forgets_nothing() -> None:
    X, L = rows(n=300), np.array([[1.0, 0.0, 0.0, 0.0]])
    space = FeedbackSpace.of(LinearDistance(4, L), X)
    M = space.root.T @ space.root
    standardised = M * np.outer(X.std(axis=0), X.std(axis=0))
    values = np.linalg.eigvalsh(standardised)
    assert values[0] > 0
    np.testing.assert_allclose(values / values[0], [1.0, 1.0, 1.0, (0.9 * 4 + 0.1) / 0.1], rtol=1e-9)


@pytest.mark.parametrize("base", bases(), ids=["euclidean", "rank 1", "bits"])
def test_without_a_click_distances_are_those_of_the_metric(base: object) -> None:
    X = rows(n=60)
    space = FeedbackSpace.of(base, X)
    Z, wanted = space.coordinates(X), base.between(X[:1], X)[0]
    np.testing.assert_allclose(space.start().squared(Z - Z[0]), wanted, rtol=1e-9, atol=1e-12)
    np.testing.assert_allclose(
        space.distance(space.start()).between(X[:1], X)[0], wanted, rtol=1e-9, atol=1e-12
    )
    index = ClickIndex(Z, Z[0], space.beginning)
    order = np.lexsort(((Z - Z[0]) ** 2 @ np.ones(Z.shape[1]), np.round(wanted, 9)))
    np.testing.assert_array_equal(index.search(Z[0], 60).rows, order)


@pytest.mark.parametrize("base", bases(), ids=["euclidean", "rank 1", "bits"])
def test_a_form_leaves_the_metric_little_by_little(base: object) -> None:
    X = rows(n=60)
    space = FeedbackSpace.of(base, X)
    Z, wanted = space.coordinates(X), base.between(X[:1], X)[0]
    full = fit_form(WeightedTriplets.of(Z, [[0, 1, 2], [3, 4, 5]])).begun(space.beginning, 0.5)
    away = [np.abs(full.blended(part).squared(Z - Z[0]) - wanted).max() for part in (1.0, 0.1, 0.01, 0.0)]
    assert away[0] > 5 * away[1] > 25 * away[2]
    assert away[3] < 1e-9 * wanted.max()


@pytest.mark.parametrize("base", bases(), ids=["euclidean", "rank 1", "bits"])
def test_the_frozen_metric_is_the_form_and_explains_itself(base: object, tmp_path) -> None:
    X = rows()
    start = Metric((), base, MetricCard(learner="euclidean", name="start"))
    space = FeedbackSpace.of(base, X)
    Z = space.coordinates(X)
    learnt = fit_form(WeightedTriplets.of(Z, [[0, 1, 2], [3, 4, 5], [0, 6, 7]]))
    form = learnt.begun(space.beginning, 0.4).blended(0.7)
    metric = refined_metric(
        start, space, form, name="mine", judgements=3, triplets=3, authors=("ann",), strength=0.7
    )
    wanted = form.squared(Z - Z[0])
    np.testing.assert_allclose(metric.distances(X[:1], X)[0], wanted, rtol=1e-9, atol=1e-12)
    for other in (1, 5, 40):
        parts = metric.explain(X[0], X[other])
        assert sum(part.amount for part in parts) == pytest.approx(wanted[other], rel=1e-9)
    metric.save(tmp_path / "m.metric")
    again = load_metric(tmp_path / "m.metric")
    np.testing.assert_array_equal(again.distances(X[:2], X), metric.distances(X[:2], X))
    assert again.card.learner == LEARNER
    assert again.card.parameters["base"] == "start"
    assert "3 judgements on the metric 'start'" in again.card.notes[-1]
    assert again.card.authors == ("ann",)
    assert again.card.constraints == {"judgements": 3, "judged triplets": 3}


def test_a_refined_metric_can_be_refined() -> None:
    X, base = rows(), bases()[2]
    first = FeedbackSpace.of(base, X)
    form = fit_form(WeightedTriplets.of(first.coordinates(X), [[0, 1, 2]]))
    once = first.distance(form)
    again = FeedbackSpace.of(once, X)
    twice = again.distance(FeedbackForm.start(again.coordinates(X).shape[1]))
    stored = RefinedDistance.restore(twice.settings(), twice.arrays())
    np.testing.assert_array_equal(stored.between(X[:1], X), twice.between(X[:1], X))


@pytest.mark.parametrize(
    ("base", "X", "said"),
    [
        (SignedDistance(np.eye(4), np.ones(4)), rows(), "no coordinates"),
        (LinearDistance(4), rows(n=1), "too few cases"),
        (LinearDistance(4), np.ones((5, 4)), "one place"),
    ],
)
def test_what_cannot_be_refined_says_so(base: object, X: np.ndarray, said: str) -> None:
    with pytest.raises(BadInput, match=said):
        FeedbackSpace.of(base, X)


@pytest.mark.parametrize(
    ("change", "said"),
    [
        (lambda s, a: s.pop("base"), "lacks the one"),
        (lambda s, a: a.pop("gains"), "what was learnt"),
        (lambda s, a: a.update(weights=np.ones(7)), "does not fit"),
        (lambda s, a: a.update(directions=np.ones((1, 3))), "wrong form"),
        (lambda s, a: a.update(gains=np.array([-2.0] * len(a["gains"]))), "negative"),
    ],
)
def test_a_forged_distance_is_refused(change, said: str) -> None:
    X, base = rows(), bases()[2]
    space = FeedbackSpace.of(base, X)
    distance = space.distance(fit_form(WeightedTriplets.of(space.coordinates(X), [[0, 1, 2]])))
    settings, arrays = distance.settings(), distance.arrays()
    change(settings, arrays)
    with pytest.raises(BadInput, match=said):
        RefinedDistance.restore(settings, arrays)
