"""Every learner on tables from which little or nothing can be learnt."""

from __future__ import annotations

import warnings

import numpy as np
import pytest

from semblance.core.errors import BadInput
from semblance.core.metrics import learners, make_learner


def clouds():
    rng = np.random.default_rng(0)
    y = np.repeat(["a", "b"], 10)
    return rng.normal(size=(20, 4)) + 1.2 * (y == "b")[:, np.newaxis], y


def with_column(column):
    X, y = clouds()
    X[:, 1] = column
    return X, y


def every_row_once_with_each_finding():
    X, y = clouds()
    return np.concatenate([X[:10], X[:10]]), y


def one_row_a_finding():
    rows = np.random.default_rng(1).normal(size=(3, 4))
    return np.repeat(rows, 8, axis=0), np.repeat(["a", "b", "c"], 8)


def singular_within_a_finding():
    X, y = with_column(np.repeat([0.0, 1.0], 10))
    X[:, 2] = 2.0 * X[:, 0]
    return X, y


TABLES = {
    "each row once with each finding": every_row_once_with_each_finding,
    "one row a finding": one_row_a_finding,
    "two rows of whole numbers": lambda: (np.repeat([[0.0] * 4, [1.0] * 4], 10, axis=0), clouds()[1]),
    "singular within a finding": singular_within_a_finding,
    "a column a billion times as wide": lambda: with_column(1e9 * np.random.default_rng(3).normal(size=20)),
    "a column that is always a billion": lambda: with_column(1e9),
    "a column far from 0": lambda: with_column(1e9 + np.arange(20.0)),
    "a column of 1e150": lambda: with_column(1e150 * np.random.default_rng(3).normal(size=20)),
    "every column three times": lambda: (np.tile(clouds()[0], 3), clouds()[1]),
    "one finding": lambda: (clouds()[0], np.repeat("a", 20)),
    "one column": lambda: (clouds()[0][:, :1], clouds()[1]),
    "yes or no": lambda: ((clouds()[0] > 0.0) * 1.0, clouds()[1]),
    "two cases": lambda: (np.array([[0.0, 1.0], [1.0, 0.0]]), np.array(["a", "b"])),
    "three cases": lambda: (np.array([[0.0, 1.0], [1.0, 0.0], [1.0, 1.0]]), np.array(["a", "b", "a"])),
}
#: Of these at least one learner is refused; all others are fitted to the rest.
FITTED_BY_ALL = (
    "a column that is always a billion",
    "a column far from 0",
    "every column three times",
    "yes or no",
)


@pytest.mark.parametrize("learner", [one.name for one in learners() if not one.needs])
def test_a_learner_gives_a_distance_that_tells_cases_apart_or_says_why_not(learner):
    for name, made in TABLES.items():
        X, y = made()
        fitted = make_learner(learner, random_state=0)
        try:
            with warnings.catch_warnings():
                # That a method needs findings it can use is said as a warning too.
                warnings.simplefilter("ignore", UserWarning)
                distances = fitted.fit(X, y).metric().distances(X, X)
        except BadInput as error:
            assert name not in FITTED_BY_ALL, (name, error)
            assert error.hint, name
            assert not any(word in str(error) for word in ("Error", "leading minor", "array", "NaN")), name
            assert not hasattr(fitted, "_card"), name
        else:
            assert np.isfinite(distances).all(), name
            assert distances.max() > 0.0, name


def test_a_learner_that_is_refused_stays_as_it_was():
    X, y = clouds()
    fitted = make_learner("metricboost", random_state=0).fit(X, y)
    before = fitted.metric().distances(X, X)
    with pytest.raises(BadInput, match="Along no direction"):
        fitted.fit(*every_row_once_with_each_finding())
    assert (fitted.metric().distances(X, X) == before).all()
