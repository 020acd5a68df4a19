"""The likelihood of NCMC against plain loops, and its centres."""

from __future__ import annotations

import math

import numpy as np
import pytest

from semblance.core.metrics.estimators.ncmc import negative_log_likelihood
from semblance.core.metrics.training_data.rows import LabelledRows
from tests.helpers.learner_checks import labelled_problem, numeric_gradient


def test_ncmc_likelihood_and_gradient_are_those_of_the_paper():
    X, _, codes = labelled_problem(n=20, d=4)
    rows = LabelledRows(X, codes.astype(np.int64), ("a", "b", "c"))
    centres = np.random.default_rng(2).normal(size=(5, 4))
    owner = np.array([0, 0, 1, 2, 2])
    L = np.random.default_rng(1).normal(size=(3, 4))
    value, gradient = negative_log_likelihood(L, rows, centres, owner, 0.1)
    expected = 0.0
    for x, code in zip(X, codes, strict=True):
        near = [math.exp(-0.5 * np.square(L @ (x - m)).sum()) for m in centres]
        expected -= math.log(sum(p for p, c in zip(near, owner, strict=True) if c == code) / sum(near))
    assert value == pytest.approx(expected / 20 + 0.05 * np.square(L).sum(), rel=1e-12)
    numeric = numeric_gradient(lambda A: negative_log_likelihood(A, rows, centres, owner, 0.1)[0], L)
    np.testing.assert_allclose(gradient, numeric, atol=1e-6 * np.abs(numeric).max())
