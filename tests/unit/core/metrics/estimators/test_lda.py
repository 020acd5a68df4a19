"""LDA equals its definition."""

from __future__ import annotations

import numpy as np

from semblance.core.metrics import make_learner
from tests.helpers.learner_checks import labelled_problem


def test_lda_spreads_the_means_in_units_of_the_scatter_within():
    X, y, codes = labelled_problem()
    metric = make_learner("lda", shrinkage=0).fit(X, y).metric()
    within = sum(
        np.outer(x - X[codes == c].mean(axis=0), x - X[codes == c].mean(axis=0))
        for x, c in zip(X, codes, strict=True)
    )
    means = np.stack([X[codes == c].mean(axis=0) for c in range(3)])
    # Between the means the distance is the Mahalanobis one of the scatter within.
    inverse = np.linalg.inv(within / len(X))
    expected = [[(p - q) @ inverse @ (p - q) for q in means] for p in means]
    np.testing.assert_allclose(metric.distances(means, means), expected, rtol=1e-9, atol=1e-9)
    assert len(metric.distance.L) == 2
    assert len(make_learner("lda", components=1).fit(X, y).L_) == 1


def test_a_column_constant_within_each_finding_does_not_explode():
    X, y, codes = labelled_problem(n=60)
    X = np.column_stack([X, 1e-9 * codes])
    L = make_learner("lda").fit(X, y).L_
    # It was divided by its scatter within findings, which is nearly 0.
    assert np.abs(L[:, -1]).max() < 10 * np.abs(L[:, :-1]).max()
