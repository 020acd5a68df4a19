from __future__ import annotations

import numpy as np

from semblance.core.features.registry import make_extractor
from semblance.core.metrics import make_learner
from semblance.core.metrics.pipeline import fit_metric
from semblance.core.metrics.steps import parse_steps
from semblance.core.retrieval.explanation import Grouping, shares_of


def explain_shares(X, y, names, groups, learner, q=0, x=1, steps="standardise", **settings):
    metric = fit_metric(
        make_learner(learner, random_state=0, **settings),
        X,
        y,
        steps=parse_steps(steps),
        feature_groups=groups,
    )
    grouping = Grouping(metric)
    rows = grouping.head_rows(X)
    return shares_of(grouping, rows[q], rows[x], names)


def test_a_bit_is_named_by_its_deciding_features_with_the_side_of_both_images():
    rng = np.random.default_rng(0)
    X = rng.normal(size=(80, 4))
    y = np.where(X[:, 2] > 0, "b", "a")
    X[:, 2] *= 3.0
    low, high = int(X[:, 2].argmin()), int(X[:, 2].argmax())
    names = ["Area", "Perimeter", "Sharpness", "Contrast"]
    kind, shares = explain_shares(
        X, y, names, ["Size", "Size", "Margin", "Contrast"], "bdm", low, high, rounds=10
    )
    assert kind == "Bits"
    assert shares[0].name.startswith("Sharpness")
    assert shares[0].detail.startswith("Bit ")
    assert "side" in shares[0].detail
    assert [share.amount for share in shares] == sorted((share.amount for share in shares), reverse=True)


def test_directions_are_named_by_what_they_load_in_deviations_not_in_units():
    rng = np.random.default_rng(1)
    X = rng.normal(size=(60, 3)) * (1e4, 1.0, 1e-4)
    y = np.where(X[:, 2] > 0, "b", "a")
    kind, shares = explain_shares(X, y, ["large", "middle", "small"], ["g"] * 3, "lda")
    assert kind == "Directions"
    assert shares[0].name.startswith("small")
    assert "The query lies" in shares[0].detail


def test_gabor_directions_give_width_angle_and_part_of_the_image():
    extractor = make_extractor("gabor")
    names = [name.name for name in extractor.feature_names]
    groups = [name.group for name in extractor.feature_names]
    rng = np.random.default_rng(2)
    X = rng.normal(size=(60, len(names)))
    y = np.array(["a", "b"] * 30)
    chosen = [
        n for n, name in enumerate(names) if name.startswith("Gabor 5 px, 45°") and "row 1, column 1" in name
    ]
    X[:, chosen] += 9.0 * (y == "b")[:, np.newaxis]
    _, shares = explain_shares(X, y, names, groups, "pca", steps="standardise,pca:3")
    assert all("px" in share.name for share in shares)
    assert not any("row" in share.name for share in shares)


def test_votes_show_how_far_the_two_are_beyond_the_threshold():
    rng = np.random.default_rng(3)
    X = rng.normal(size=(60, 3))
    y = np.where(X[:, 0] > 0, "b", "a")
    low, high = int(X[:, 0].argmin()), int(X[:, 0].argmax())
    kind, shares = explain_shares(
        X,
        y,
        ["p", "q", "r"],
        ["p", "q", "r"],
        "metricboost",
        low,
        high,
        rounds=8,
        weak="binary",
        readout="votes",
    )
    assert kind == "Votes"
    assert any("times its threshold" in share.detail for share in shares)
