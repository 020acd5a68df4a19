"""Overlapping clouds of cases to evaluate on."""

from __future__ import annotations

import numpy as np

from semblance.core.evaluation.data import EvaluationData


def blobs(n: int = 90, *, patients: int = 0, seed: int = 4) -> EvaluationData:
    """``n`` cases of findings a, b, c, apart along the first of three features.

    ``patients``: cases each has; 0 where patients are unknown.
    """
    rng = np.random.default_rng(seed)
    y = rng.choice(list("abc"), n)
    X = rng.normal(size=(n, 3))
    X[:, 0] += 1.5 * np.searchsorted(list("abc"), y)
    groups = np.array([f"p{row // patients}" for row in range(n)]) if patients else None
    return EvaluationData(X, y, groups)
