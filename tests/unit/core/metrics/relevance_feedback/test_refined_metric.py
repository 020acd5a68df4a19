"""A metric refined by feedback: frozen, stored, refined again."""

from __future__ import annotations

import numpy as np
import pytest

from semblance.core.errors import BadInput
from semblance.core.metrics.card import MetricCard
from semblance.core.metrics.declarations import CLICKS
from semblance.core.metrics.distances import RefinedDistance
from semblance.core.metrics.metric import Metric, load_metric
from semblance.core.metrics.relevance_feedback.feedback_space import FeedbackSpace
from semblance.core.metrics.relevance_feedback.quadratic_form import FeedbackForm
from semblance.core.metrics.relevance_feedback.refined_metric import refined_metric
from semblance.core.metrics.relevance_feedback.triplet_learning import WeightedTriplets, fit_form
from tests.helpers.feedback_bases import base_distances, unequal_rows


@pytest.mark.parametrize("base", base_distances(), ids=["euclidean", "rank 1", "bits"])
def test_the_frozen_metric_is_the_form_and_explains_itself(base: object, tmp_path) -> None:
    X = unequal_rows()
    start = Metric((), base, MetricCard(learner="euclidean", name="start"))
    space = FeedbackSpace.of(base, X)
    Z = space.coordinates(X)
    learnt = fit_form(WeightedTriplets.of(Z, [[0, 1, 2], [3, 4, 5], [0, 6, 7]]))
    form = learnt.with_initial_weights(space.initial_weights, 0.4).blended(0.7)
    metric = refined_metric(
        start, space, form, name="mine", judgements=3, triplets=3, authors=("ann",), strength=0.7
    )
    expected = form.squared(Z - Z[0])
    np.testing.assert_allclose(metric.distances(X[:1], X)[0], expected, rtol=1e-9, atol=1e-12)
    for other in (1, 5, 40):
        parts = metric.explain(X[0], X[other])
        assert sum(part.amount for part in parts) == pytest.approx(expected[other], rel=1e-9)
    metric.save(tmp_path / "m.metric")
    again = load_metric(tmp_path / "m.metric")
    np.testing.assert_array_equal(again.distances(X[:2], X), metric.distances(X[:2], X))
    assert again.card.learner == CLICKS
    assert again.card.parameters["base"] == "start"
    assert "3 marks on the metric 'start'" in again.card.notes[-1]
    assert again.card.authors == ("ann",)
    assert again.card.constraints == {"judgements": 3, "judged triplets": 3}


def test_a_refined_metric_can_be_refined() -> None:
    X, base = unequal_rows(), base_distances()[2]
    first = FeedbackSpace.of(base, X)
    form = fit_form(WeightedTriplets.of(first.coordinates(X), [[0, 1, 2]]))
    once = first.distance(form)
    again = FeedbackSpace.of(once, X)
    twice = again.distance(FeedbackForm.start(again.coordinates(X).shape[1]))
    stored = RefinedDistance.restore(twice.settings(), twice.arrays())
    np.testing.assert_array_equal(stored.between(X[:1], X), twice.between(X[:1], X))


@pytest.mark.parametrize(
    ("change", "message"),
    [
        (lambda s, a: s.pop("base"), "lacks the one"),
        (lambda s, a: a.pop("gains"), "lacks its learned form"),
        (lambda s, a: a.update(weights=np.ones(7)), "does not fit"),
        (lambda s, a: a.update(directions=np.ones((1, 3))), "wrong form"),
        (lambda s, a: a.update(gains=np.array([-2.0] * len(a["gains"]))), "negative"),
    ],
)
def test_a_forged_distance_is_refused(change, message: str) -> None:
    X, base = unequal_rows(), base_distances()[2]
    space = FeedbackSpace.of(base, X)
    distance = space.distance(fit_form(WeightedTriplets.of(space.coordinates(X), [[0, 1, 2]])))
    settings, arrays = distance.settings(), distance.arrays()
    change(settings, arrays)
    with pytest.raises(BadInput, match=message):
        RefinedDistance.restore(settings, arrays)
