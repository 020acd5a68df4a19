"""Learners as scikit-learn's estimators: its own checks, pipelines, searches, data frames, routing."""

from __future__ import annotations

import pickle

import joblib
import numpy as np
import pandas
import pytest
import scipy.sparse
import sklearn
from sklearn.base import clone
from sklearn.exceptions import DataConversionWarning, NotFittedError
from sklearn.model_selection import GridSearchCV, GroupKFold, cross_val_score
from sklearn.neighbors import KNeighborsClassifier
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler
from sklearn.utils import estimator_checks as checks
from sklearn.utils.validation import check_is_fitted

from semblance.core.errors import BadArguments, BadInput
from semblance.core.metrics import learners, load_metric, make_learner
from tests.helpers.learners import problem

NAMES = [learner.name for learner in learners() if not learner.needs]
#: L1 has no embedding.
EMBEDDING = [name for name in NAMES if name != "l1"]

of_each_learner = checks.parametrize_with_checks([make_learner(name, random_state=0) for name in NAMES])


# Some checks draw findings at random.
@pytest.mark.filterwarnings("ignore:BoostMetric. Nothing was learnt")
@of_each_learner
def test_checks_of_scikit_learn(estimator, check):
    check(estimator)


# One learner for each form of distance: names of columns and containers are the work of the common base class.
@pytest.mark.parametrize("name", ["lda", "bdm", "bdm_kernel", "distboost"])
@pytest.mark.parametrize(
    "check",
    [
        checks.check_dataframe_column_names_consistency,
        checks.check_transformer_get_feature_names_out,
        checks.check_transformer_get_feature_names_out_pandas,
        checks.check_set_output_transform,
        checks.check_set_output_transform_pandas,
        checks.check_global_output_transform_pandas,
    ],
)
@pytest.mark.filterwarnings("ignore:X does not have valid feature names", "ignore:X has feature names, but")
def test_further_checks_of_transformers(check, name):
    check(name, make_learner(name, random_state=0))


def test_sparse_rows_are_refused_with_the_remedy():
    with pytest.raises(BadInput, match=r"toarray\(\)"):
        make_learner("pca").fit(scipy.sparse.eye_array(5).tocsr())


def test_a_missing_value_of_pandas_is_reported_as_missing():
    X, y = problem("two findings")
    frame = pandas.DataFrame(X).astype("Float64")
    assert np.isfinite(make_learner("lda").fit(frame, pandas.Series(y, dtype="string")).transform(X)).all()
    frame.iloc[3, 1] = pandas.NA
    with pytest.raises(ValueError, match="missing values"):
        make_learner("lda").fit(frame, y)


def test_a_column_of_findings_is_taken_with_a_warning():
    X, y = problem("two findings")
    with pytest.warns(DataConversionWarning):
        learner = make_learner("lda").fit(X, y[:, np.newaxis])
    np.testing.assert_array_equal(learner.transform(X), make_learner("lda").fit(X, y).transform(X))


@pytest.mark.parametrize("name", EMBEDDING)
def test_single_precision_stays_and_is_close_to_double(name):
    X, y = problem("many findings")
    learner = make_learner(name, random_state=0).fit(X, y)
    single = learner.transform(X.astype(np.float32))
    assert single.dtype == np.float32
    double = learner.transform(X.astype(np.float32).astype(np.float64))
    np.testing.assert_allclose(single, double, rtol=1e-6, atol=1e-6 * np.abs(double).max())


@pytest.mark.parametrize("name", NAMES)
def test_a_fitted_learner_survives_pickle_joblib_and_its_own_file(name, tmp_path):
    X, y = problem("two findings")
    X = pandas.DataFrame(X, columns=[f"column {number}" for number in range(X.shape[1])])
    learner = make_learner(name, random_state=1).fit(X, y)
    expected = learner.metric().distances(X, X)
    joblib.dump(learner, tmp_path / "learner.joblib", compress=3)
    for copy in (pickle.loads(pickle.dumps(learner)), joblib.load(tmp_path / "learner.joblib")):
        np.testing.assert_array_equal(copy.metric().distances(X, X), expected)
        assert copy.get_params() == learner.get_params()
        assert list(copy.feature_names_in_) == list(X.columns)
    learner.metric().save(tmp_path / "metric.zip")
    again = load_metric(tmp_path / "metric.zip")
    np.testing.assert_array_equal(again.distances(X, X), expected)
    assert again.feature_groups == tuple(X.columns)
    assert again.card.to_json() == learner.metric().card.to_json()


def test_only_a_learner_with_an_embedding_transforms():
    X, y = problem("two findings")
    assert not hasattr(make_learner("l1"), "transform")
    votes = make_learner("metricboost", readout="votes").fit(X, y)
    assert not hasattr(votes, "transform")
    assert not hasattr(votes, "set_output")


def test_the_text_shows_what_is_not_the_default():
    assert repr(make_learner("bdm")) == "BDM()"
    assert repr(make_learner("bdm", rounds=7)) == "BDM(rounds=7)"
    assert "BDM" in make_learner("bdm")._repr_html_()


def test_groups_are_routed_through_a_pipeline():
    X, y = problem("two findings")
    with sklearn.config_context(enable_metadata_routing=True):
        learner = make_learner("lda").set_fit_request(groups=True)
        pipeline = make_pipeline(StandardScaler(), learner, KNeighborsClassifier(1))
        scores = cross_val_score(
            clone(pipeline), X, y, cv=GroupKFold(3), params={"groups": np.arange(len(X)) // 2}
        )
        assert np.isfinite(scores).all()
        pipeline.fit(X, y, groups=np.arange(len(X)))
        with pytest.raises(BadInput, match="patients"):
            pipeline.fit(X, y, groups=np.arange(len(X) - 1))


@pytest.mark.parametrize("name", EMBEDDING)
def test_in_a_pipeline_it_votes_as_its_metric_does(name):
    X, y = problem("many findings")
    X = X + 3.0
    pipeline = make_pipeline(
        StandardScaler(), make_learner(name, random_state=0), KNeighborsClassifier(1, algorithm="brute")
    )
    pipeline.fit(X, y)
    # A row is nearest to itself, to those of equal bits as well.
    own = pipeline[:-1].transform(X)
    d = pipeline[1].metric().distances(pipeline[0].transform(X), pipeline[0].transform(X))
    between = ((own[:, None] - own) ** 2).sum(axis=-1)
    assert between == pytest.approx(d, rel=1e-9, abs=1e-12 * d.max())
    scores = cross_val_score(pipeline, X, y, cv=3)
    assert np.isfinite(scores).all()
    # Of seven findings the largest has a fifth of the cases.
    assert scores.mean() > 0.25


def test_a_search_over_parameters_finds_the_better_one():
    rng = np.random.default_rng(0)
    y = np.array(list("ab") * 40)
    X = rng.normal(size=(80, 6)) * [1, 9, 9, 9, 9, 9]
    X[:, 0] += 6.0 * (y == "b")
    pipeline = make_pipeline(make_learner("pca"), KNeighborsClassifier(3))
    search = GridSearchCV(
        pipeline,
        {"principalcomponents__components": [2, 6], "kneighborsclassifier__n_neighbors": [1, 3]},
        cv=4,
    )
    search.fit(X, y)
    assert search.best_params_["principalcomponents__components"] == 6
    assert search.best_score_ > 0.6


@pytest.mark.parametrize("name", NAMES)
def test_a_clone_has_the_parameters_and_nothing_that_was_learnt(name):
    X, y = problem("two findings")
    learner = make_learner(name, random_state=3).fit(X, y)
    check_is_fitted(learner)
    assert learner.n_features_in_ == X.shape[1]
    copy = clone(learner)
    assert copy.get_params() == learner.get_params()
    assert not hasattr(copy, "n_features_in_")
    with pytest.raises(NotFittedError, match="has learnt nothing"):
        copy.pair_distance(np.stack([X, X], axis=1))
    assert copy.fit(X, y).metric().card.content_hash == learner.metric().card.content_hash


@pytest.mark.parametrize("name", NAMES)
def test_parameters_that_are_no_numbers_are_refused_by_fit(name):
    X, y = problem("two findings")
    for parameter in make_learner(name).parameters:
        for value in (float("nan"), float("-inf"), [1], None):
            learner = make_learner(name).set_params(**{parameter.name: value})
            with pytest.raises(BadArguments, match=parameter.name) as refused:
                learner.fit(X, y)
            assert isinstance(refused.value, ValueError)
    learner = make_learner(name)
    with pytest.raises(ValueError, match="Invalid parameter 'colour'"):
        learner.set_params(colour=1)


@pytest.mark.parametrize("name", NAMES)
def test_complex_numbers_are_refused_not_cut(name):
    X, y = problem("two findings")
    with pytest.raises(BadInput, match="Complex data"):
        make_learner(name).fit(X + 1j, y)
