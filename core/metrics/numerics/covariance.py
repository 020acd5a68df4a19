"""Covariance matrices that can be inverted: shrunk towards the round one where the cases are too few."""

from __future__ import annotations

import numpy as np

from semblance.core.metrics.distance import Matrix

#: Below this share of the largest eigenvalue a covariance counts as singular.
_SINGULAR = 1e-8
_LEAST_SHRINKAGE = 1e-6


def covariance(centred: Matrix) -> Matrix:
    """(d, d) mean product of rows (n, d) that have mean zero."""
    product: Matrix = centred.T @ centred / len(centred)
    return product


def is_singular(S: Matrix) -> bool:
    """True where the inverse of a covariance (d, d) is mostly rounding."""
    values = np.linalg.eigvalsh(S)
    return not values[0] > _SINGULAR * values[-1]


def ledoit_wolf(centred: Matrix) -> float:
    """How much of the round covariance to mix in, 0..1, for rows (n, d) of mean zero.

    Ledoit, Wolf: A well-conditioned estimator for large-dimensional covariance matrices, 2004: b^2 / d^2 of
    Lemmas 3.2 to 3.4.
    """
    n, d = centred.shape
    S = covariance(centred)
    mean = float(np.trace(S)) / d
    distance = float(np.square(S).sum()) / d - mean * mean
    if distance <= 0.0:
        return 1.0
    lengths = np.einsum("ij,ij->i", centred, centred)
    spread = float(np.square(lengths).sum()) / n / d - float(np.square(S).sum()) / d
    return float(min(1.0, max(0.0, spread / n / distance)))


def shrunk(S: Matrix, shrinkage: float) -> Matrix:
    """(1 - shrinkage) S + shrinkage tr(S) / d I."""
    d = len(S)
    return (1.0 - shrinkage) * S + np.eye(d) * (shrinkage * float(np.trace(S)) / d)


def invertible(S: Matrix, centred: Matrix, shrinkage: float) -> tuple[Matrix, float]:
    """``S``, the covariance of the rows ``centred`` (n, d), made invertible, and the shrinkage it took.

    0 asks for no more than needed: none, or that of Ledoit and Wolf where S is singular.
    """
    if shrinkage == 0.0:
        if not is_singular(S):
            return S, 0.0
        shrinkage = max(_LEAST_SHRINKAGE, ledoit_wolf(centred))
    return shrunk(S, shrinkage), shrinkage


def shrunk_root(centred: Matrix, shrinkage: float) -> tuple[Matrix, float]:
    """(d, d) L with L'L the inverse of the shrunk covariance of rows (n, d) of mean zero, and the shrinkage it took.

    The identity for rows that are all zero.
    """
    if not centred.any():
        return np.eye(centred.shape[1]), shrinkage
    S, shrinkage = invertible(covariance(centred), centred, shrinkage)
    return whitening(S), shrinkage


def whitening(S: Matrix) -> Matrix:
    """(d, d) L with L'L = S^-1, S positive definite; rows go from the least variance to the largest."""
    values, vectors = np.linalg.eigh(S)
    L: Matrix = (vectors / np.sqrt(values)).T
    return L
