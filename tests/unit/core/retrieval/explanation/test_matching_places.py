"""Where two images agree, on images that were made to agree at known places."""

from __future__ import annotations

import numpy as np
import pytest

from semblance.core.features.registry import make_extractor
from semblance.core.imaging.image_reader import image_of
from semblance.core.imaging.region import Region
from semblance.core.metrics import make_learner
from semblance.core.metrics.metric import exclude_feature_groups
from semblance.core.metrics.pipeline import fit_metric
from semblance.core.metrics.steps.sequence import chosen_steps
from semblance.core.retrieval.explanation import Grouping
from semblance.core.retrieval.explanation.matching_places import (
    REGIONS,
    ImageFeatures,
    column_weights,
    places_of,
)

SIDE = 128


def scene(seed, *spots):
    """Noise with a patch of bold stripes, of a pattern of its own, around each (x, y, period)."""
    y, x = np.mgrid[:SIDE, :SIDE]
    out = 0.5 + 0.02 * np.random.default_rng(seed).normal(size=(SIDE, SIDE))
    for at_x, at_y, period in spots:
        near = np.hypot(x - at_x, y - at_y) < 20
        out[near] += 0.4 * np.sin(2 * np.pi * (x + y) / period)[near]
    return image_of((255 * np.clip(out, 0, 1)).astype(np.uint8), "made")


def explain_places(name, query, case, *, learner="euclidean", without=(), regions=(None, None)):
    extractor = make_extractor(name)
    rng = np.random.default_rng(5)
    others = [
        scene(seed, *[(*rng.integers(15, 113, 2), rng.integers(4, 12)) for _ in range(2)])
        for seed in range(40)
    ]
    X = np.stack([extractor.extract(image) for image in others])
    columns = extractor.feature_names
    metric = fit_metric(
        make_learner(learner, random_state=0),
        X,
        np.array(["a", "b"] * 20),
        steps=chosen_steps("", name),
        feature_groups=[column.group for column in columns],
    )
    grouping = Grouping(exclude_feature_groups(metric, without))
    features = [
        ImageFeatures(image, region, extractor.extract(image, region).astype(np.float64))
        for image, region in zip((query, case), regions, strict=True)
    ]
    return places_of(extractor, grouping, *features, grouping.head_rows(X.astype(np.float64))), grouping


def test_rings_stand_where_strong_texture_is_alike():
    places, _ = explain_places(
        "gabor", scene(90, (32, 32, 6), (96, 40, 5)), scene(91, (32, 32, 6), (40, 100, 9))
    )
    assert places.query.rings == places.case.rings
    assert 1 <= len(places.query.rings) <= REGIONS
    x, y, _ = places.query.rings[0]
    assert np.hypot(x - 0.25, y - 0.25) < 0.15
    assert "Gabor energy" in places.note


def test_where_nothing_stands_out_there_are_no_rings():
    places, _ = explain_places("gabor", scene(90, (32, 32, 6)), scene(91, (96, 96, 6)))
    assert all(np.hypot(x - 0.25, y - 0.25) > 0.1 for x, y, _ in places.query.rings)


def test_bands_left_out_of_the_ranking_weigh_nothing():
    everything = tuple(sorted({name.group for name in make_extractor("gabor").feature_names}))
    _, grouping = explain_places("gabor", scene(1), scene(2), without=everything[:2])
    weights = column_weights(grouping)
    groups = np.array([name.group for name in make_extractor("gabor").feature_names])
    assert (weights[np.isin(groups, everything[:2])] == 0.0).all()
    assert weights.sum() > 0.0


@pytest.mark.slow
def test_shared_words_are_found_wherever_they_are():
    query, case = scene(90, (32, 32, 6)), scene(91, (92, 88, 6))
    places, _ = explain_places("textons", query, case)
    assert len(places.query.rings) == len(places.case.rings) >= 1
    near = [
        (np.hypot(a[0] - 0.25, a[1] - 0.25), np.hypot(b[0] - 0.72, b[1] - 0.69))
        for a, b in zip(places.query.rings, places.case.rings, strict=True)
    ]
    assert any(here < 0.2 and there < 0.2 for here, there in near), near
    assert "visual words" in places.note


@pytest.mark.parametrize("name", ["visual_words", "textons"])
@pytest.mark.parametrize("region", [None, Region(20, 30, 70, 60)])
def test_every_visual_word_has_a_place_in_the_image(name, region):
    extractor = make_extractor(name)
    image = scene(3, (50, 60, 6))
    at = extractor.keypoints(image, region)
    assert len(at) == int(extractor.local.places(extractor.extract(image, region)[None]).sum())
    assert ((at >= 0) & (at <= 1)).all()


def test_of_a_mass_the_measured_outline_is_drawn():
    y, x = np.mgrid[:SIDE, :SIDE]
    disc = image_of(np.where(np.hypot(x - 60, y - 70) < 25, 200, 60).astype(np.uint8), "disc")
    region = Region(25, 35, 70, 70)
    extractor = make_extractor("mass")
    points = extractor.outline(disc, region)
    assert np.hypot(points[:, 0] - 60, points[:, 1] - 70).mean() == pytest.approx(25, abs=3)


def test_features_of_the_whole_say_that_they_have_no_places():
    places, _ = explain_places("colour_edge_texture", scene(1), scene(2))
    assert places.query.rings == places.case.rings == ()
    assert "no places" in places.note
