"""Properties of metrics with and without steps, and what learners say of themselves and refuse."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from hypothesis.extra.numpy import arrays

from semblance.core.errors import BadArguments, BadInput
from semblance.core.metrics import fit_metric, load_metric, make_learner
from semblance.core.metrics.distances import (
    DISTANCES,
    ConvolutionDistance,
    LinearEmbeddingDistance,
    RefinedDistance,
)
from semblance.core.metrics.metric import exclude_feature_groups, explained_groups, replacement_values
from semblance.core.metrics.steps import parse_steps
from tests.helpers import naive_bdm as naive
from tests.helpers.learners import ONE_OF_EACH_DISTANCE

D = 6
ROWS = arrays(
    np.float64,
    st.tuples(st.integers(1, 5), st.just(D)),
    elements=st.floats(-1e4, 1e4, allow_subnormal=False) | st.integers(-3, 3).map(float),
)

GROUPS = ("margin", "shape", "margin", "texture")


@pytest.fixture(scope="module", params=ONE_OF_EACH_DISTANCE, ids=str)
def both(request):
    """A learner's metric with steps and without."""
    X, y = naive.problem(d=D)
    groups = ("shape", "shape", "grey", "grey", "grey", "edge")
    steps = parse_steps("standardise,pca:4")
    with_steps = fit_metric(request.param.make(), X * 3 + 7, y, steps=steps, feature_groups=groups)
    return with_steps, request.param.make().fit(X, y).metric()


@pytest.fixture(scope="module")
def metric(both):
    return both[0]


def test_every_distance_that_learners_give_is_here():
    X, y = naive.problem(d=D)
    kinds = {type(variant.make().fit(X, y).metric().distance) for variant in ONE_OF_EACH_DISTANCE}
    # Made by training on images, by refining and by ranking without a feature group.
    assert set(DISTANCES) - kinds == {ConvolutionDistance, RefinedDistance, LinearEmbeddingDistance}


@settings(max_examples=25)
@given(X=ROWS)
def test_distances_are_symmetric_never_negative_and_zero_to_oneself(both, X):
    for each in both:
        d = each.distances(X, X)
        assert (d >= 0).all()
        assert (np.diag(d) == 0).all()
        assert (np.abs(d - d.T) <= 1e-12 * d.max()).all()


@settings(max_examples=25)
@given(X=ROWS)
def test_roots_obey_the_triangle_inequality_where_the_metric_says_so(metric, X):
    if metric.is_metric:
        root = np.sqrt(metric.distances(X, X))
        assert (root[:, :, None] <= root[:, None, :] + root[None, :, :] + 1e-9 * (1 + root.max())).all()


@settings(max_examples=25)
@given(X=ROWS)
def test_parts_sum_to_the_distance(both, X):
    for each in both:
        d = each.distances(X[:1], X[-1:])[0, 0]
        parts = [part.amount for part in each.explain(X[0], X[-1])]
        # Parts that cancel can be no better than the rounding of the largest.
        assert sum(parts) == pytest.approx(d, rel=1e-9, abs=1e-13 * max(map(abs, parts)))


@settings(max_examples=25)
@given(X=ROWS)
def test_distances_are_those_of_embeddings(metric, X):
    if not metric.distance.embeds:
        with pytest.raises(BadInput, match="no coordinates"):
            metric.embed(X)
        return
    e = metric.embed(X)
    d = ((e[:, None] - e[None]) ** 2).sum(axis=-1)
    assert metric.distances(X, X) == pytest.approx(d, rel=1e-9, abs=1e-12)


def test_saved_and_loaded_it_is_the_same(metric, tmp_path):
    path = tmp_path / "a metric.zip"
    metric.save(path)
    again = load_metric(path)
    X = np.random.default_rng(0).normal(size=(20, D))
    assert (again.distances(X, X) == metric.distances(X, X)).all()
    assert again.explain(X[0], X[1]) == metric.explain(X[0], X[1])
    assert again.card == metric.card
    assert (again.n_features, again.feature_groups) == (metric.n_features, metric.feature_groups)
    assert [file.name for file in tmp_path.iterdir()] == [path.name]


def test_queries_of_another_width_are_refused(metric):
    with pytest.raises(BadInput, match=f"{D} numbers a case are expected, 2 were given"):
        metric.distances(np.zeros((1, 2)), np.zeros((1, D)))


def test_unknown_names_and_values_are_refused_with_the_choices():
    with pytest.raises(BadArguments, match=r"no learner 'bmd'.*bdm_v"):
        make_learner("bmd")
    with pytest.raises(BadArguments, match=r"no parameter 'round'.*rounds"):
        make_learner("bdm", round=3)
    with pytest.raises(BadArguments, match="at least 1"):
        make_learner("bdm", rounds=0)


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
