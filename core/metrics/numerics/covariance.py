"""Covariance matrices that can be inverted: shrunk towards the round one where the cases are too few."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from semblance.core.metrics.distance import Matrix

Codes = npt.NDArray[np.int64]

#: Rows taken at once.
_BLOCK = 1 << 14

#: Below this share of the largest eigenvalue a covariance counts as singular.
_SINGULAR = 1e-8
_LEAST_SHRINKAGE = 1e-6


@dataclass(frozen=True, eq=False)
class Moments:
    """``counts`` (c,) and ``means`` (c, d) of classes, and the ``scatter`` (d, d) of the rows about them.

    The sum of the moments of two parts is that of the whole: Chan, Golub, LeVeque, Algorithms for computing the sample
    variance, 1983, Eq. 2.1. Nothing cancels, so it is as exact as of all rows at once.
    """

    counts: Matrix
    means: Matrix
    scatter: Matrix

    @classmethod
    def of(cls, X: Matrix, codes: Codes, classes: int) -> Moments:
        """Of rows (n, d) of the classes ``codes`` (n,), numbered below ``classes``; rows of class -1 do not count."""
        d = X.shape[1]
        total = cls(np.zeros(classes), np.zeros((classes, d)), np.zeros((d, d)))
        for start in range(0, len(X), _BLOCK):
            rows, numbers = X[start : start + _BLOCK], codes[start : start + _BLOCK]
            if (numbers < 0).any():
                rows, numbers = rows[numbers >= 0], numbers[numbers >= 0]
            total += cls._of_block(rows, numbers, classes)
        return total

    @classmethod
    def _of_block(cls, X: Matrix, codes: Codes, classes: int) -> Moments:
        order = np.argsort(codes, kind="stable")
        X = X[order]
        counts = np.bincount(codes, minlength=classes)
        present = np.flatnonzero(counts)
        means = np.zeros((classes, X.shape[1]))
        if len(present):
            starts = np.cumsum(counts) - counts
            means[present] = np.add.reduceat(X, starts[present], axis=0) / counts[present, np.newaxis]
        centred = X - means[codes[order]]
        return cls(counts.astype(np.float64), means, centred.T @ centred)

    def __add__(self, other: Moments) -> Moments:
        counts = self.counts + other.counts
        share = other.counts / np.maximum(counts, 1.0)
        apart = other.means - self.means
        scatter = self.scatter + other.scatter
        scatter += (apart * (self.counts * share)[:, np.newaxis]).T @ apart
        return Moments(counts, self.means + share[:, np.newaxis] * apart, scatter)

    @property
    def n(self) -> float:
        """Rows that count."""
        return float(self.counts.sum())

    @property
    def mean(self) -> Matrix:
        """(d,) the mean of all rows."""
        mean: Matrix = self.counts @ self.means / self.n
        return mean

    @property
    def covariance(self) -> Matrix:
        """(d, d) within classes."""
        return self.scatter / self.n


def fourth_moment(X: Matrix, codes: Codes, means: Matrix) -> float:
    """Sum of |x - mean of its class|^4 over rows (n, d) of the classes ``codes`` (n,), -1 for none."""
    total = 0.0
    for start in range(0, len(X), _BLOCK):
        numbers = codes[start : start + _BLOCK]
        centred = (X[start : start + _BLOCK] - means[numbers])[numbers >= 0]
        total += float(np.square(np.einsum("ij,ij->i", centred, centred)).sum())
    return total


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
    # That of scikit-learn gives the same to 1e-11, takes eight times as long, and needs all rows centred at once.
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
        self.estimate = estimate

    def root(self, shrinkage: float) -> tuple[Matrix, float]:
        """(d, d) L with L'L the inverse of the shrunk covariance, and the shrinkage it took.

        Rows of L go from the least variance to the largest. 0 asks for no more than needed: none, or the estimate where
        S is singular. The identity for S = 0.
        """
        if self._mean <= 0.0:
            return np.eye(len(self._values)), shrinkage
        if shrinkage == 0.0 and not self._values[0] > _SINGULAR * self._values[-1]:
            shrinkage = max(_LEAST_SHRINKAGE, self.estimate())
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
