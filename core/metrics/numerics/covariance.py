"""Covariance matrices that can be inverted: shrunk towards the round one where the cases are too few."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np

from semblance.core.metrics.distance import Matrix

#: Below this share of the largest eigenvalue a covariance counts as singular.
_SINGULAR = 1e-8
_LEAST_SHRINKAGE = 1e-6


def covariance(centred: Matrix) -> Matrix:
    """(d, d) mean product of rows (n, d) that have mean zero."""
    product: Matrix = centred.T @ centred / len(centred)
    return product


def ledoit_wolf(S: Matrix, n: float, fourth: float) -> float:
    """How much of the round covariance to mix in, 0..1.

    ``S`` (d, d) is the covariance of ``n`` rows, and ``fourth`` the sum of |z|^4 over these rows less their mean.
    Ledoit, Wolf: A well-conditioned estimator for large-dimensional covariance matrices, 2004: b^2 / d^2 of Lemmas 3.2
    to 3.4.
    """
    d = len(S)
    mean = float(np.trace(S)) / d
    distance = float(np.square(S).sum()) / d - mean * mean
    if distance <= 0.0:
        return 1.0
    spread = fourth / n / d - float(np.square(S).sum()) / d
    return float(min(1.0, max(0.0, spread / n / distance)))


def shrunk(S: Matrix, shrinkage: float) -> Matrix:
    """(1 - shrinkage) S + shrinkage tr(S) / d I."""
    d = len(S)
    return (1.0 - shrinkage) * S + np.eye(d) * (shrinkage * float(np.trace(S)) / d)


class ShrunkRoots:
    """Roots of the inverses of a covariance ``S`` (d, d) shrunk by any amount, all from one eigenproblem.

    ``estimate`` gives the shrinkage of a singular S that is to be shrunk no more than needed.
    """

    def __init__(self, S: Matrix, estimate: Callable[[], float]) -> None:
        self._values, self._vectors = np.linalg.eigh(S)
        self._mean = float(np.trace(S)) / len(S)
        self._estimate = estimate

    def root(self, shrinkage: float) -> tuple[Matrix, float]:
        """(d, d) L with L'L the inverse of the shrunk covariance, and the shrinkage it took.

        Rows of L go from the least variance to the largest. 0 asks for no more than needed: none, or the estimate where
        S is singular. The identity for S = 0.
        """
        if self._mean <= 0.0:
            return np.eye(len(self._values)), shrinkage
        if shrinkage == 0.0 and not self._values[0] > _SINGULAR * self._values[-1]:
            shrinkage = max(_LEAST_SHRINKAGE, self._estimate())
        values = (1.0 - shrinkage) * self._values + shrinkage * self._mean
        L: Matrix = (self._vectors / np.sqrt(values)).T
        return L, shrinkage


def roots_of_rows(centred: Matrix) -> ShrunkRoots:
    """Those of the covariance of rows (n, d) of mean zero, estimated as Ledoit and Wolf do."""
    return ShrunkRoots(covariance(centred), lambda: ledoit_wolf_of_rows(centred))


def ledoit_wolf_of_rows(centred: Matrix) -> float:
    """:func:`ledoit_wolf` of rows (n, d) of mean zero."""
    lengths = np.einsum("ij,ij->i", centred, centred)
    return ledoit_wolf(covariance(centred), len(centred), float(np.square(lengths).sum()))
