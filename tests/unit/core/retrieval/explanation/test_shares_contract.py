"""Shares of a distance sum to it, for every learner there is and behind every kind of step."""

from __future__ import annotations

import functools

import numpy as np
import pytest

from semblance.core.errors import BadInput
from semblance.core.metrics.metric import exclude_feature_groups, explained_groups
from semblance.core.metrics.pipeline import fit_metric
from semblance.core.metrics.steps import parse_steps
from semblance.core.retrieval.explanation import Grouping, shares_of
from tests.helpers.learners import ONE_OF_EACH_DISTANCE, VARIANTS, problem

over_variants = pytest.mark.parametrize("variant", VARIANTS, ids=str)

GROUPS = ("shape", "margin", "texture")
STEPS = ("standardise,pca:3", "standardise,mrmr:3", "none")


@functools.cache
def fitted(variant, steps):
    X, y = problem("two findings")
    groups = [GROUPS[column % 3] for column in range(X.shape[1])]
    try:
        return fit_metric(
            variant.make(),
            X,
            y,
            steps=parse_steps(steps),
            feature_names=[f"f{column}" for column in range(X.shape[1])],
            feature_groups=groups,
        )
    except BadInput as refusal:
        pytest.skip(f"refuses: {refusal}")


@pytest.mark.parametrize(
    ("variant", "steps"),
    [
        *((variant, "standardise") for variant in VARIANTS),
        *((variant, steps) for variant in ONE_OF_EACH_DISTANCE for steps in STEPS),
    ],
    ids=str,
)
def test_they_sum_to_the_distance(variant, steps):
    metric = fitted(variant, steps)
    X = problem("two findings")[0]
    names = [f"f{column}" for column in range(X.shape[1])]
    grouping = Grouping(metric)
    rows = grouping.head_rows(X)
    for q, x in ((0, 1), (2, 20), (3, 3), (1, -1)):
        d = metric.distances(X[q], X[x])[0, 0]
        by_group = grouping.parts(rows[q], rows[x])
        assert [part.name for part in by_group] == list(grouping.groups)
        kind, shares = shares_of(grouping, rows[q], rows[x], names)
        assert kind[0].isupper()
        for amounts in ([part.amount for part in by_group], [share.amount for share in shares]):
            assert np.isfinite(amounts).all()
            # Shares that cancel can be no better than the rounding of the largest.
            largest = max(map(abs, amounts), default=0.0)
            assert sum(amounts) == pytest.approx(d, rel=1e-9, abs=1e-13 * largest)
        assert all(share.name for share in shares)
        assert all(share.amount for share in shares)


@over_variants
def test_several_pairs_at_once_are_each_pair_alone(variant):
    metric = fitted(variant, "standardise")
    grouping = Grouping(metric)
    rows = grouping.head_rows(problem("two findings")[0])
    together = grouping.shares(rows[0], rows[1:5])
    alone = [[part.amount for part in grouping.parts(rows[0], row)] for row in rows[1:5]]
    np.testing.assert_allclose(together, alone, rtol=1e-9, atol=1e-12 * np.abs(together).max())


@over_variants
def test_a_group_left_out_contributes_nothing_and_is_the_metric_of_equal_columns(variant):
    metric = fitted(variant, "standardise,mrmr:4")
    X = problem("two findings")[0].astype(np.float64)
    masked = exclude_feature_groups(metric, ["margin"])
    equal = X.copy()
    columns = [column for column in range(X.shape[1]) if GROUPS[column % 3] == "margin"]
    equal[:, columns] = np.nan
    expected = metric.distances(equal[:6], equal)
    np.testing.assert_array_equal(masked.distances(X[:6], X), expected)
    order = [np.argsort(row, kind="stable").tolist() for row in expected]
    assert [np.argsort(row, kind="stable").tolist() for row in masked.distances(X[:6], X)] == order
    grouping = Grouping(masked)
    rows = grouping.head_rows(X)
    for x in (1, 9, 20):
        parts = {part.name: part.amount for part in grouping.parts(rows[0], rows[x])}
        assert parts["margin"] == 0.0
        assert sum(parts.values()) == pytest.approx(expected[0, x], rel=1e-9, abs=1e-13)
    assert explained_groups(masked) == explained_groups(metric)
