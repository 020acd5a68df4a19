"""What no learner can learn from is refused in words, and leaves the learner as it was."""

from __future__ import annotations

import functools

import numpy as np
import pytest

from semblance.core.errors import BadInput
from tests.helpers.learners import VARIANTS, problem

over_variants = pytest.mark.parametrize("variant", VARIANTS, ids=str)
#: The input is checked before the settings matter: one variant of each learner.
over_learners = pytest.mark.parametrize(
    "variant", {variant.learner: variant for variant in reversed(VARIANTS)}.values(), ids=str
)

#: Good constraints of 24 rows, and what spoils them when it is added.
GOOD = {
    "pairs": [[0, 1, 1], [2, 3, -1], [4, 5, 1], [6, 7, -1], [8, 9, 1], [1, 9, -1]],
    "triplets": [[0, 1, 2], [3, 4, 5], [6, 7, 8], [9, 10, 11], [1, 0, 3], [4, 3, 0]],
}
SPOILT = {
    "pairs": [
        ([0, 24, 1], "outside 0 to 23"),
        ([-1, 2, 1], "outside 0 to 23"),
        ([5, 5, 1], "paired with itself"),
        ([0, 2, 5], r"neither \+1"),
        ([0, 2, 0], r"neither \+1"),
        ([0, 1, -1], "similar and dissimilar"),
        ([1, 0, -1], "similar and dissimilar"),
    ],
    "triplets": [
        ([0, 1, 24], "outside 0 to 23"),
        ([-1, 0, 1], "outside 0 to 23"),
        ([5, 5, 1], "twice"),
        ([5, 1, 1], "twice"),
        ([0, 2, 1], "the opposite"),
    ],
}


@functools.cache
def taught(place):
    """The learner of variant ``place``, fitted; what refuses leaves it as it is."""
    return VARIANTS[place].make().fit(*problem("many findings"))


def refused(variant, words, X, y=None, **rest):
    """Fitting is refused in these ``words``, and what was learnt before is still there."""
    for learner in (variant.make(), taught(VARIANTS.index(variant))):
        before = dict(vars(learner))
        with pytest.raises(BadInput, match=words) as error:
            learner.fit(X, y, **rest)
        assert error.value.message.endswith(".")
        assert error.value.hint.endswith(".")
        assert vars(learner).keys() == before.keys()
        assert all(vars(learner)[key] is value for key, value in before.items())


@over_learners
def test_constraints_that_name_no_row_or_contradict_are_refused(variant):
    X, y = problem("two findings")
    for kind in GOOD.keys() & variant.make().accepts:
        variant.make().fit(X, **{kind: np.array(GOOD[kind])})
        for row, words in SPOILT[kind]:
            table = np.array([*GOOD[kind], row])
            for findings in (None, y):
                refused(variant, words, X, findings, **{kind: table})
        for table in (np.array([[0, 1]]), np.array([0, 1, 1]), np.array(GOOD[kind], dtype=float)):
            refused(variant, "not a table of", X, y, **{kind: table})


@over_learners
def test_findings_that_do_not_fit_the_rows_are_refused(variant):
    X, y = problem("two findings")
    accepts = variant.make().accepts
    if "findings" in accepts:
        refused(variant, "There are 24 cases but 23 findings", X, y[:-1])
        refused(variant, "not one value a case", X, np.stack([y, y], axis=1))
        refused(variant, "learns from findings", X)


@over_learners
def test_patients_that_do_not_fit_the_rows_are_refused(variant):
    X, y = problem("two findings")
    refused(variant, "There are 24 cases but 3 patients", X, y, groups=np.array(["p", "q", "r"]))


@over_learners
def test_no_case_at_all_is_refused(variant):
    refused(variant, "no case to learn from", np.empty((0, 3)), np.empty(0, dtype=str))


@over_learners
def test_one_case_cannot_be_learnt_from(variant):
    X, y = problem("two findings")
    if "findings" in variant.make().accepts:
        refused(variant, "finding|similar", X[:1], y[:1])


@over_learners
def test_pairs_of_one_kind_are_refused_by_learners_that_need_both(variant):
    """RCA learns from similar pairs alone; of dissimilar ones BDM+V, which adds visual ones."""
    if "pairs" not in variant.make().accepts:
        return
    X, _ = problem("two findings")
    apart = np.array([[0, 1, -1], [2, 3, -1]])
    if variant.learner == "bdm_v":
        assert np.isfinite(variant.make().fit(X, pairs=apart).metric().distances(X, X)).all()
    else:
        refused(variant, "similar", X, pairs=apart)
    alike = np.array([[0, 1, 1], [2, 3, 1], [4, 5, 1]])
    if variant.learner == "rca":
        assert np.isfinite(variant.make().fit(X, pairs=alike).metric().distances(X, X)).all()
    else:
        refused(variant, "dissimilar", X, pairs=alike)


@over_learners
def test_values_that_are_not_finite_numbers_are_refused(variant):
    X, y = problem("two findings")
    for value, words in ((np.nan, "missing values"), (np.inf, "infinite"), (-np.inf, "infinite")):
        spoilt = X.copy()
        spoilt[3, 1] = value
        refused(variant, words, spoilt, y)
    refused(variant, "Expected 2D array", X[:, 0], y)
    refused(variant, "0 feature", np.zeros((len(X), 0)), y)
    refused(variant, "numbers", [["a", "b"]] * len(X), y)


@over_learners
def test_features_whose_squares_are_infinite_or_nothing(variant):
    X, y = problem("two findings")
    for scale, words in ((1e200, "too large"), (1e-200, "too small")):
        refused(variant, words, scale * X, y)


@over_variants
def test_features_far_from_usual_sizes(variant):
    X, y = problem("two findings")
    for scale in (1e48, 1e-48):
        metric = variant.make().fit(scale * X, y).metric()
        d = metric.distances(scale * X, scale * X)
        assert np.isfinite(d).all(), scale
        assert (d > 0).any(), scale
