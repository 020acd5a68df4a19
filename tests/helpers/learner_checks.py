"""What the tests of single learners share: small labelled problems, numeric gradients, the matrix of a metric."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np

from semblance.core.metrics.metric import Metric
from semblance.core.metrics.training_data.rows import TrainingInput
from semblance.core.metrics.training_data.training_sample import in_content_order
from semblance.core.tasks import SILENT
from tests.helpers import naive_bdm


def labelled_problem(
    n: int = 45, d: int = 5, findings: int = 3, seed: int = 0
) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Rows (n, d), their findings (n,), and the findings as numbers (n,)."""
    X, y = naive_bdm.problem(n=n, d=d, findings=findings, seed=seed)
    return X, y, np.unique(y, return_inverse=True)[1]


def numeric_gradient(function: Callable[[np.ndarray], float], L: np.ndarray, h: float = 1e-6) -> np.ndarray:
    """Central differences of ``function`` at ``L``, in its shape."""
    gradient = np.empty_like(L)
    for place in np.ndindex(L.shape):
        step = np.zeros_like(L)
        step[place] = h
        gradient[place] = (function(L + step) - function(L - step)) / (2 * h)
    return gradient


def matrix_of(metric: Metric) -> np.ndarray:
    """(d, d) M = L'L of a linear metric."""
    return metric.distance.L.T @ metric.distance.L


def training_input(X: np.ndarray, y: np.ndarray | None, seed: int = 0) -> TrainingInput:
    """Rows (n, d) and their findings (n,) as a learner gets them, but for their order."""
    return TrainingInput(X, y, None, None, None, SILENT, seed)


def in_order_of_training(X: np.ndarray, y: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Rows (n, d) and their findings (n,) in the order in which learners go through them."""
    data = in_content_order(training_input(X, y), frozenset())
    return data.X, np.asarray(data.y)
