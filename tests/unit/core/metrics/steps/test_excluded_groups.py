"""The step ``without``: columns held constant, stored and restored."""

from __future__ import annotations

import numpy as np
import pytest

from semblance.core.errors import BadInput
from semblance.core.metrics.steps.excluded_groups import ExcludedGroups

X = np.arange(12.0).reshape(3, 4)


def step() -> ExcludedGroups:
    return ExcludedGroups(4, np.array([1, 3]), np.array([-7.0, 9.0]), ("margin", "shape"))


def test_it_is_found_again_under_its_name_and_is_linear():
    assert step().kind == step().text == "without"
    assert step().linear
    assert not step().of_descriptors
    assert step().n_features == 4


def test_the_columns_left_out_become_their_constants_and_the_rows_given_stay_as_they_were():
    before = X.copy()
    found = step().transform(X)
    assert found.tolist() == [[0, -7, 2, 9], [4, -7, 6, 9], [8, -7, 10, 9]]
    assert np.array_equal(X, before)


def test_fitting_changes_nothing():
    one = step()
    assert one.fit(X, np.zeros(3)) is one
    assert np.array_equal(one.transform(X), step().transform(X))


@pytest.mark.parametrize("shape", [(4,), (2, 4), (2, 3, 4)])
def test_no_gradient_comes_back_along_the_columns_left_out(shape):
    gradient = np.arange(1.0, 1.0 + np.prod(shape)).reshape(shape)
    before = gradient.copy()
    found = step().pull_back(gradient)
    assert np.array_equal(found, gradient * [1, 0, 1, 0])
    assert np.array_equal(gradient, before)


def test_differences_go_through_it_as_their_gradient_comes_back():
    difference, gradient = X[2] - X[0], np.array([1.0, 2.0, 3.0, 4.0])
    moved = step().transform(X)
    assert (moved[2] - moved[0]) @ gradient == difference @ step().pull_back(gradient)


def test_columns_keep_their_names_and_the_card_says_what_is_left_out():
    assert step().names(("a", "b", "c", "d")) == ("a", "b", "c", "d")
    assert str(step().describe()) == "without: margin, shape"


def test_what_is_stored_makes_the_same_step():
    settings, arrays = step().settings(), step().arrays()
    assert settings == {"n_features": 4, "groups": ["margin", "shape"]}
    assert {name: array.tolist() for name, array in arrays.items()} == {
        "columns": [1, 3],
        "constants": [-7.0, 9.0],
    }
    again = ExcludedGroups.restore(settings, arrays)
    assert again.n_features == 4
    assert again.groups == ("margin", "shape")
    assert np.array_equal(again.transform(X), step().transform(X))


@pytest.mark.parametrize(
    ("settings", "arrays", "message"),
    [
        ({"n_features": None}, {}, "does not say what"),
        ({"n_features": "4"}, {}, "does not say what"),
        ({"groups": None}, {}, "does not say what"),
        ({"groups": "margin"}, {}, "does not say what"),
        ({}, {"columns": None}, "does not say what"),
        ({}, {"columns": np.array([[1, 3]])}, "wrong form"),
        ({}, {"columns": np.array([1.0, 3.0])}, "wrong form"),
        ({}, {"columns": np.empty(0, dtype=np.int64)}, "wrong form"),
        ({}, {"columns": np.array([-1, 3])}, "not in order"),
        ({}, {"columns": np.array([1, 4])}, "not in order"),
        ({"n_features": 3}, {}, "not in order"),
        ({}, {"columns": np.array([3, 1])}, "not in order"),
        ({}, {"columns": np.array([1, 1])}, "not in order"),
        ({}, {"constants": None}, "no vector 'constants'"),
        ({}, {"constants": np.array([1.0])}, "wrong length"),
        ({}, {"constants": np.array([1, 2])}, "no vector 'constants'"),
    ],
)
def test_forged_values_are_refused(settings, arrays, message):
    changed = {name: array for name, array in (step().arrays() | arrays).items() if array is not None}
    with pytest.raises(BadInput, match=message):
        ExcludedGroups.restore(step().settings() | settings, changed)


def test_the_first_and_the_last_column_may_be_left_out():
    arrays = {"columns": np.array([0, 3]), "constants": np.zeros(2)}
    assert ExcludedGroups.restore(step().settings(), arrays).transform(X)[2].tolist() == [0, 9, 10, 0]
