from __future__ import annotations

import numpy as np
import pytest
from sklearn.decomposition import PCA as PeerPCA  # noqa: N811

from semblance.core.errors import BadArguments, BadInput
from semblance.core.metrics import fit_metric, make_learner
from semblance.core.metrics.steps import STEPS, apply_steps, fit_steps, parse_steps, steps_text
from semblance.core.metrics.steps.pca import PCA
from semblance.core.metrics.steps.scaling import Impute, Standardise
from semblance.core.metrics.steps.sequence import default_steps


def rows(n=30, d=5, seed=0):
    return np.random.default_rng(seed).normal(size=(n, d)) * np.arange(1, d + 1) + 10


@pytest.mark.parametrize(
    ("text", "again"),
    [
        ("standardise,pca:200", "standardise,pca:200"),
        (" impute , standardise ", "impute,standardise"),
        ("l2,pca:64", "l2,pca:64"),
        ("", ""),
        ("none", ""),
    ],
)
def test_texts_are_read_and_written(text, again):
    assert steps_text(parse_steps(text)) == again


@pytest.mark.parametrize(
    "text",
    [
        "pca",
        "pca:",
        "pca:0",
        "pca:-3",
        "pca:x",
        "pca:2.5",
        "standardise:3",
        "l2:2",
        "zscore",
        "pca:2,pca:3",
        "none,pca:2",
    ],
)
def test_texts_that_are_no_steps_are_refused(text):
    with pytest.raises(BadArguments) as caught:
        parse_steps(text)
    assert caught.value.hint


def test_defaults_suit_the_extractor():
    assert steps_text(default_steps("gabor")) == "standardise,pca:200"
    assert steps_text(default_steps("raw")) == "standardise"
    assert steps_text(default_steps("encoder")) == "l2,pca:64"


def test_l2_brings_each_row_to_length_1_and_leaves_zeros():
    X = np.array([[3.0, 4.0], [0.0, 0.0], [-1.0, 0.0]])
    fitted, after = fit_steps(parse_steps("l2"), X)
    assert after.tolist() == [[0.6, 0.8], [0.0, 0.0], [-1.0, 0.0]]
    assert apply_steps(fitted, X[:1] * 7).tolist() == [[0.6, 0.8]]
    with pytest.raises(BadInput):
        apply_steps(fitted, np.ones((1, 3)))


def test_standardise_uses_the_training_rows_and_names_constant_columns():
    X = rows()
    X[:, 2] = 0.1
    step = Standardise().fit(X)
    moved = step.transform(X)
    assert step.dropped == (2,)
    assert moved.mean(axis=0) == pytest.approx(0, abs=1e-12)
    assert moved.std(axis=0) == pytest.approx(1)
    assert step.names(("a", "b", "c", "d", "e")) == ("a", "b", "d", "e")
    assert "1 constant" in step.describe()
    shifted = X[:1] + X.std(axis=0)
    assert step.transform(shifted) - step.transform(X[:1]) == pytest.approx(np.ones((1, 4)))


def test_standardise_refuses_columns_that_are_all_constant():
    with pytest.raises(BadInput, match="same value"):
        Standardise().fit(np.ones((5, 2)))


def test_medians_of_the_training_rows_fill_gaps_also_where_training_had_none():
    X = np.array([[1.0, np.nan, np.nan], [3.0, 5.0, np.nan], [8.0, 7.0, np.nan]])
    step = Impute().fit(X)
    assert step.transform(X).tolist() == [[1, 6, 0], [3, 5, 0], [8, 7, 0]]
    assert step.count_ == 4
    complete = Impute().fit(X[:, :1])
    assert complete.count_ == 0
    assert complete.transform(np.array([[np.nan]])).tolist() == [[3.0]]


@pytest.mark.parametrize(("n", "d"), [(30, 12), (12, 30), (20, 20)])
def test_pca_equals_scikit_learn_up_to_sign(n, d):
    X = rows(n, d)
    step = PCA(6).fit(X)
    peer = PeerPCA(6).fit(X)
    signs = np.sign((step.components_ * peer.components_).sum(axis=1))
    assert step.components_ == pytest.approx(peer.components_ * signs[:, None], abs=1e-9)
    assert step.transform(X) == pytest.approx(peer.transform(X) * signs, abs=1e-9)
    assert step.explained_ == pytest.approx(peer.explained_variance_ratio_.sum())


@pytest.mark.parametrize(("n", "d"), [(40, 9), (9, 40)])
def test_pca_keeps_no_more_components_than_the_rank(n, d):
    rng = np.random.default_rng(0)
    X = rng.normal(size=(n, 3)) @ rng.normal(size=(3, d))
    step = PCA(200).fit(X)
    assert len(step.components_) == 3
    assert "3 components of 200 requested" in step.describe()
    assert len(PCA(200).fit(rows(9, 40)).components_) == 8


def test_pca_stays_orthonormal_when_variances_differ_by_many_orders():
    rng = np.random.default_rng(0)
    X = (rng.normal(size=(20, 15)) * 10.0 ** -np.arange(0, 15 / 2.6, 1 / 2.6)[:15]) @ rng.normal(
        size=(15, 60)
    )
    components = PCA(15).fit(X).components_
    assert components @ components.T == pytest.approx(np.eye(len(components)), abs=1e-9)


def test_pca_signs_do_not_depend_on_the_arithmetic():
    components = PCA(4).fit(rows(12, 30)).components_
    assert (components[np.arange(4), np.abs(components).argmax(axis=1)] > 0).all()


def test_pca_refuses_rows_that_are_all_equal():
    with pytest.raises(BadInput, match="same features"):
        PCA(2).fit(np.ones((4, 3)))


def test_steps_are_fitted_on_the_training_rows_only_and_leave_their_models_unfitted():
    X = rows(60, 8)
    models = parse_steps("standardise,pca:3")
    fitted, moved = fit_steps(models, X[:40])
    assert [step.kind for step in fitted] == ["impute", "standardise", "pca"]
    assert (apply_steps(fitted, X[:40]) == moved).all()
    assert models[0].n_features == 0
    other, _ = fit_steps(models, X[:40])
    assert (apply_steps(other, X[40:]) == apply_steps(fitted, X[40:])).all()


def test_the_card_lists_gaps_dropped_columns_and_components():
    X = rows(40, 5)
    X[3, 1] = np.nan
    X[:, 4] = 2.0
    metric = fit_metric(
        make_learner("euclidean"),
        X,
        steps=parse_steps("standardise,pca:3"),
        feature_names=("area", "grey", "edge", "depth", "year"),
        feature_groups=("shape", "grey", "shape", "shape", "date"),
    )
    assert metric.card.imputed == 1
    assert metric.card.dropped_columns == ("year",)
    assert [text.split(":")[0] for text in metric.card.steps] == ["impute", "standardise", "pca"]
    assert [part.name for part in metric.explain(X[0], X[1])] == ["shape", "grey", "date"]
    gap = X[0].copy()
    gap[0] = np.nan
    assert np.isfinite(metric.distances(gap, X)).all()


def test_linear_steps_trace_a_distance_back_to_the_columns_as_extracted():
    X = rows(40, 4)
    metric = fit_metric(make_learner("euclidean"), X, steps=parse_steps("standardise"))
    expected = ((X[0] - X[1]) / X.std(axis=0)) ** 2
    assert [part.amount for part in metric.explain(X[0], X[1])] == pytest.approx(expected.tolist(), rel=1e-12)


def test_kinds_are_different():
    assert len({step.kind for step in STEPS}) == len(STEPS)


@pytest.mark.parametrize(
    ("kind", "settings", "given"),
    [
        (Impute, {}, {}),
        (
            Standardise,
            {"n_features": 2},
            {"kept": np.array([0, 2]), "mean": np.zeros(2), "deviation": np.ones(2)},
        ),
        (
            Standardise,
            {"n_features": 2},
            {"kept": np.array([0, 1]), "mean": np.zeros(2), "deviation": np.zeros(2)},
        ),
        (
            Standardise,
            {"n_features": 2},
            {"kept": np.array([0, 1]), "mean": np.zeros(3), "deviation": np.ones(2)},
        ),
        (Standardise, {}, {}),
        (PCA, {"n_components": 2}, {"mean": np.zeros(3), "components": np.zeros((2, 4))}),
        (PCA, {}, {"mean": np.zeros(3), "components": np.zeros((2, 3))}),
    ],
)
def test_stored_values_that_do_not_fit_are_refused(kind, settings, given):
    with pytest.raises(BadInput):
        kind.restore(settings, given)
