"""A metric that leaves out groups of features."""

from __future__ import annotations

import numpy as np
import pytest

from semblance.core.errors import BadArguments
from semblance.core.metrics import fit_metric, load_metric, make_learner
from semblance.core.metrics.exclude_feature_groups import (
    exclude_feature_groups,
    explained_groups,
    replacement_values,
)
from semblance.core.metrics.steps import parse_steps

GROUPS = ("margin", "shape", "margin", "texture")


@pytest.fixture
def rows():
    rng = np.random.default_rng(4)
    return rng.normal(loc=[1.0, 2.0, 3.0, 4.0], size=(40, 4)), rng.integers(2, size=40)


def metric_of(rows, learner="euclidean", steps="standardise"):
    X, y = rows
    return fit_metric(make_learner(learner), X, y, steps=parse_steps(steps), feature_groups=GROUPS)


def test_groups_are_named_once_in_the_order_of_their_columns(rows):
    assert explained_groups(metric_of(rows)) == ("margin", "shape", "texture")


def test_values_left_out_become_the_medians_of_the_training_rows_or_0(rows):
    metric = metric_of(rows)
    assert np.array_equal(replacement_values(metric), np.median(rows[0], axis=0))
    plain = make_learner("euclidean").fit(rows[0]).metric()
    assert np.array_equal(replacement_values(plain), np.zeros(4))


@pytest.mark.parametrize("learner", ["euclidean", "l1", "bdm"])
def test_distances_are_those_of_cases_that_agree_in_what_is_left_out(rows, learner):
    metric = metric_of(rows, learner)
    reduced = exclude_feature_groups(metric, ["margin"])
    X = rows[0].copy()
    X[:, [0, 2]] = np.median(rows[0], axis=0)[[0, 2]]
    assert np.array_equal(reduced.distances(rows[0], rows[0]), metric.distances(X, X))
    parts = {part.name: part.amount for part in reduced.explain(rows[0][0], rows[0][1])}
    assert parts.get("margin", 0.0) == 0.0
    assert sum(parts.values()) == pytest.approx(reduced.distances(rows[0][:1], rows[0][1:2])[0, 0], rel=1e-9)


def test_the_card_names_what_is_left_out_and_its_hash_is_another(rows, tmp_path):
    metric = metric_of(rows)
    reduced = exclude_feature_groups(metric, ["texture", "margin"])
    assert [str(step) for step in reduced.card.steps] == [
        *map(str, metric.card.steps),
        "without: margin, texture",
    ]
    assert [step.kind for step in reduced.steps] == ["impute", "without", "standardise"]
    assert reduced.card.content_hash != metric.card.content_hash
    reduced.save(tmp_path / "m")
    assert np.array_equal(
        load_metric(tmp_path / "m").distances(*rows[:1] * 2), reduced.distances(*rows[:1] * 2)
    )


def test_missing_values_of_a_group_left_out_make_no_difference(rows):
    reduced = exclude_feature_groups(metric_of(rows), ["shape"])
    X = rows[0][:5].copy()
    X[:, 1] = np.nan
    assert np.array_equal(reduced.transform(X), reduced.transform(rows[0][:5]))


def test_without_a_group_the_metric_is_itself(rows):
    metric = metric_of(rows)
    assert exclude_feature_groups(metric, []) is metric


def test_unknown_groups_and_all_groups_are_refused(rows):
    metric = metric_of(rows)
    with pytest.raises(BadArguments, match="no group of features 'colour'") as caught:
        exclude_feature_groups(metric, ["margin", "colour"])
    assert "margin, shape, texture" in str(caught.value.hint)
    with pytest.raises(BadArguments, match="nothing can be compared"):
        exclude_feature_groups(metric, ["texture", "margin", "shape"])
