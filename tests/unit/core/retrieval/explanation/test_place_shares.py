"""The shares of places sum to the distance, through steps and distances of every kind that has exact shares."""

from __future__ import annotations

import dataclasses

import numpy as np
import pytest

from semblance.core.features.encoder.efficientnet import EXPONENT, LEAST
from semblance.core.metrics import make_learner
from semblance.core.metrics.distances.linear import LinearEmbeddingDistance
from semblance.core.metrics.distances.refined import RefinedDistance
from semblance.core.metrics.pipeline import fit_metric
from semblance.core.metrics.steps import parse_steps
from semblance.core.retrieval.explanation.place_shares import (
    LEVEL_MAPS,
    agreeing_by_place,
    features_by_place,
    levels_by_place,
    shares_by_place,
)
from tests.helpers.learners import ONE_OF_EACH_DISTANCE

PLACES, FEATURES = 9, 12


def split_cases(n=60):
    """(n, PLACES, FEATURES) parts that sum to the features of n cases, and their findings."""
    rng = np.random.default_rng(0)
    parts = rng.gamma(1.0, 1.0, (n, PLACES, FEATURES)) / PLACES
    y = np.where(parts.sum(axis=1)[:, 0] > np.median(parts.sum(axis=1)[:, 0]), "b", "a")
    return parts, y


def fitted(learner, steps="l2,pca:6", **settings):
    parts, y = split_cases()
    made = make_learner(learner, random_state=0, **settings)
    return fit_metric(made, parts.sum(axis=1), y, steps=parse_steps(steps)), parts


@pytest.mark.parametrize("variant", ONE_OF_EACH_DISTANCE, ids=str)
def test_shares_of_both_images_sum_to_the_distance(variant):
    metric, parts = fitted(variant.learner, **variant.settings)
    distances = metric.distances(parts[:1].sum(axis=1), parts.sum(axis=1))[0]
    tried = np.flatnonzero(distances > 1e-9)[:12]
    assert len(tried)
    for case in tried:
        found = shares_by_place(metric, parts[0], parts[case])
        if variant.learner in ("bdm_kernel", "distboost"):
            assert found is None, "a kernel or a mixture has no exact shares"
            continue
        query, other, distance = found
        assert distance == pytest.approx(distances[case], abs=1e-9)
        assert query.sum() == pytest.approx(distance, abs=1e-9)
        assert other.sum() == pytest.approx(distance, abs=1e-9)
        assert np.ptp(query) > 0.0


@pytest.mark.parametrize("steps", ["", "standardise", "standardise,l2,pca:5", "l2", "pca:5,standardise"])
def test_shares_sum_through_other_steps(steps):
    metric, parts = fitted("euclidean", steps)
    query, case, distance = shares_by_place(metric, parts[0], parts[7])
    expected = metric.distances(parts[0].sum(axis=0)[np.newaxis], parts[7].sum(axis=0)[np.newaxis])[0, 0]
    assert distance == pytest.approx(expected, abs=1e-9)
    assert query.sum() == pytest.approx(distance, abs=1e-9)
    assert case.sum() == pytest.approx(distance, abs=1e-9)


def test_shares_sum_for_a_metric_refined_by_judgements_and_one_mapped_further():
    metric, parts = fitted("bdm", rounds=12)
    rng = np.random.default_rng(1)
    base = metric.distance
    far = int(metric.distances(parts[:1].sum(axis=1), parts.sum(axis=1))[0].argmax())
    width = base.embed(np.zeros((1, base.n_features))).shape[1]
    directions = np.linalg.qr(rng.normal(size=(width + base.n_features, 2)))[0].T
    refined = RefinedDistance(
        base, 0.8, rng.uniform(0.1, 1.0, base.n_features), directions, np.array([2.0, -0.5])
    )
    mapped = LinearEmbeddingDistance(base, rng.normal(size=(4, width)))
    for distance in (refined, mapped):
        other = dataclasses.replace(metric, distance=distance)
        query, case, whole = shares_by_place(other, parts[0], parts[far])
        assert whole > 0.0
        assert query.sum() == pytest.approx(whole, abs=1e-9)
        assert case.sum() == pytest.approx(whole, abs=1e-9)


def test_the_bits_that_agree_are_shared_by_place():
    metric, parts = fitted("bdm", rounds=12)
    query, case = agreeing_by_place(metric, parts[0], parts[3])
    rows = [one.sum(axis=0)[np.newaxis] for one in (parts[0], parts[3])]
    total = 4.0 * metric.distance.weights.sum() - metric.distances(*rows)[0, 0]
    assert query.sum() == pytest.approx(total)
    assert case.sum() == pytest.approx(total)
    assert agreeing_by_place(fitted("euclidean")[0], parts[0], parts[3]) is None


def test_a_place_that_alone_differs_has_the_whole_share():
    metric, parts = fitted("euclidean", "")
    changed = parts[0].copy()
    changed[4] += np.linspace(0.0, 1.0, FEATURES)
    query, _, distance = shares_by_place(metric, changed, parts[0])
    # The case's own numbers are spread evenly, so the shares are read against those of two equal images.
    same = (parts[0] - parts[0].sum(axis=0) / PLACES) @ (changed - parts[0]).sum(axis=0)
    assert (query - same)[4] == pytest.approx(distance)
    assert np.delete(query - same, 4) == pytest.approx(np.zeros(PLACES - 1))


def test_averages_of_maps_are_sums_over_places():
    rng = np.random.default_rng(0)
    maps = {
        name: rng.normal(0.5, 1.0, (channels, side, side)).astype(np.float32)
        for name, channels, side in zip(
            LEVEL_MAPS, (24, 40, 80, 112, 192, 1280), (56, 28, 14, 14, 7, 7), strict=True
        )
    }
    assert features_by_place(maps).sum(axis=0) == pytest.approx(maps["head"].mean(axis=(1, 2)), abs=1e-6)
    expected = []
    for one in maps.values():
        values = one.astype(np.float64)
        powers = np.maximum(values, LEAST) ** EXPONENT
        averages = values.mean(axis=(1, 2)), powers.mean(axis=(1, 2)) ** (1 / EXPONENT)
        expected += [average / np.linalg.norm(average) for average in averages]
    assert levels_by_place(maps).sum(axis=0) == pytest.approx(np.concatenate(expected), abs=1e-12)
