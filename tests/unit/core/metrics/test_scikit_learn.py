"""Learners among scikit-learn's estimators: its own checks that apply, pipelines, searches.

Left out are checks of what a learner is no kind of (classifiers, sparse rows, sample weights), and those that
ask for ``ValueError``: a learner refuses with :class:`semblance.core.errors.BadInput`.
"""

from __future__ import annotations

import numpy as np
import pytest
from sklearn.base import clone
from sklearn.model_selection import GridSearchCV, cross_val_score
from sklearn.neighbors import KNeighborsClassifier
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler
from sklearn.utils import estimator_checks as checks
from sklearn.utils.validation import check_is_fitted

from semblance.core.errors import BadArguments, BadInput
from semblance.core.metrics import learners, make_learner
from tests.helpers.learners import problem

NAMES = [learner.name for learner in learners() if not learner.needs]
#: L1 has no embedding.
EMBEDDING = [name for name in NAMES if name != "l1"]

OF_ANY = (
    checks.check_parameters_default_constructible,
    checks.check_get_params_invariance,
    checks.check_no_attributes_set_in_init,
    checks.check_estimator_cloneable,
    checks.check_estimator_repr,
    checks.check_valid_tag_types,
    checks.check_dont_overwrite_parameters,
    checks.check_estimators_overwrite_params,
    checks.check_estimators_fit_returns_self,
    checks.check_estimators_unfitted,
    checks.check_fit_check_is_fitted,
    checks.check_fit2d_1feature,
    checks.check_n_features_in,
    checks.check_readonly_memmap_input,
)
OF_TRANSFORMERS = (
    checks.check_pipeline_consistency,
    checks.check_dict_unchanged,
    checks.check_estimators_dtypes,
    checks.check_estimators_pickle,
    checks.check_f_contiguous_array_estimator,
    checks.check_fit_idempotent,
    checks.check_methods_sample_order_invariance,
    checks.check_methods_subset_invariance,
    checks.check_transformer_data_not_an_array,
    checks.check_transformer_preserve_dtypes,
)


@pytest.mark.parametrize("name", NAMES)
@pytest.mark.parametrize("check", OF_ANY)
def test_checks_of_any_estimator(check, name):
    check(name, make_learner(name, random_state=0))


@pytest.mark.parametrize("name", EMBEDDING)
@pytest.mark.parametrize("check", OF_TRANSFORMERS)
def test_checks_of_transformers(check, name):
    check(name, make_learner(name, random_state=0))


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
    with pytest.raises(BadArguments, match="has learnt nothing yet"):
        copy.transform(X)
    assert copy.fit(X, y).metric().card.content_hash == learner.metric().card.content_hash


@pytest.mark.parametrize("name", NAMES)
def test_parameters_that_are_no_numbers_are_refused(name):
    learner = make_learner(name)
    before = learner.get_params()
    for parameter in learner.parameters:
        for value in (float("nan"), float("-inf"), [1], None):
            with pytest.raises(BadArguments, match=parameter.name):
                learner.set_params(**{parameter.name: value})
    with pytest.raises(BadArguments, match="no parameter 'colour'"):
        learner.set_params(colour=1)
    assert learner.get_params() == before


@pytest.mark.parametrize("name", NAMES)
def test_complex_numbers_are_refused_not_cut(name):
    X, y = problem("two findings")
    with pytest.raises(BadInput, match="numbers"):
        make_learner(name).fit(X + 1j, y)
