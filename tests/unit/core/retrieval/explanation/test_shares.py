from __future__ import annotations

import itertools
import math

import numpy as np
import pytest

from semblance.core.features.registry import make_extractor
from semblance.core.metrics import make_learner
from semblance.core.metrics.pipeline import fit_metric
from semblance.core.metrics.steps import parse_steps
from semblance.core.retrieval.explanation import Grouping, shares_of
from semblance.core.retrieval.explanation.shares import EXACT_GROUPS, shapley_shares, subsets


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


def naive(value, start, steps):
    """The average over all orders of what each group adds when it comes."""
    out = np.zeros(len(steps))
    for order in itertools.permutations(range(len(steps))):
        here = start.copy()
        for group in order:
            before = value(here[np.newaxis])[0, 0]
            here = here + steps[group]
            out[group] += value(here[np.newaxis])[0, 0] - before
    return out / math.factorial(len(steps))


def bent(X):
    return (np.abs(X @ np.array([1.0, -2.0, 0.5])) > 0.7).astype(float)[:, np.newaxis] + np.sin(X[:, :1])


@pytest.mark.parametrize("groups", [1, 2, 4])
def test_up_to_nine_groups_get_the_average_over_all_orders(groups):
    rng = np.random.default_rng(groups)
    steps = rng.normal(size=(groups, 3))
    start = rng.normal(size=3)
    shares = shapley_shares(bent, start, start + steps.sum(axis=0), steps)
    assert shares[:, 0] == pytest.approx(naive(bent, start, steps), abs=1e-12)


def test_of_a_quadratic_form_it_is_z_times_mz():
    rng = np.random.default_rng(0)
    root = rng.normal(size=(4, 6))
    start, z = rng.normal(size=6), rng.normal(size=6)
    steps = np.diag(z).reshape(3, 2, 6).sum(axis=1)

    def value(X):
        return np.square((X - start) @ root.T).sum(axis=1, keepdims=True)

    expected = (z * (root.T @ root @ z)).reshape(3, 2).sum(axis=1)
    assert shapley_shares(value, start, start + z, steps)[:, 0] == pytest.approx(expected, rel=1e-9)


def test_more_groups_are_drawn_and_sum_as_exactly_every_time_the_same():
    rng = np.random.default_rng(1)
    steps = rng.normal(size=(EXACT_GROUPS + 6, 3))
    start = rng.normal(size=3)
    end = start + steps.sum(axis=0)
    shares = shapley_shares(bent, start, end, steps)
    whole = bent(np.stack([start, end]))[:, 0]
    assert shares.sum() == pytest.approx(whole[1] - whole[0], abs=1e-12)
    np.testing.assert_array_equal(shares, shapley_shares(bent, start, end, steps))


def test_a_group_that_changes_nothing_has_no_share():
    steps = np.array([[1.0, 0.0, 0.0], [0.0, 0.0, 0.0], [0.0, 1.0, 1.0]])
    shares = shapley_shares(bent, np.zeros(3), steps.sum(axis=0), steps)
    assert shares[1, 0] == 0.0
    assert not shapley_shares(bent, np.zeros(3), np.zeros(3), np.zeros((2, 3))).any()


def test_the_weights_of_subsets_share_out_one():
    inside, weights = subsets(5)
    assert inside.shape == (32, 5)
    additive = inside @ np.arange(1.0, 6.0)
    assert weights @ additive == pytest.approx(np.arange(1.0, 6.0))
