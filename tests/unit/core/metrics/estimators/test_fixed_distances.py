"""The learners that learn nothing."""

from __future__ import annotations

import numpy as np
import pytest

from semblance.core.errors import BadInput
from semblance.core.metrics import fit_metric, make_learner
from semblance.core.metrics.steps import parse_steps
from tests.helpers.learner_checks import labelled_problem


def test_l1_is_the_square_of_the_sum_of_absolute_differences():
    X, y, _ = labelled_problem()
    metric = make_learner("l1").fit(X).metric()
    expected = [[sum(abs(a - b) for a, b in zip(p, q, strict=True)) ** 2 for q in X] for p in X]
    np.testing.assert_allclose(metric.distances(X, X), expected, rtol=1e-12)
    assert all(part.amount >= 0 for part in metric.explain(X[0], X[1]))
    grouped = fit_metric(make_learner("l1"), X, y, steps=parse_steps("standardise,pca:3"))
    assert [part.name for part in grouped.explain(X[0], X[1])] == [f"component {n}" for n in (1, 2, 3)]
    with pytest.raises(BadInput, match="no coordinates"):
        metric.embed(X)
