"""Means of classes and the scatter about them."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from semblance.core.metrics.distance import Matrix

Codes = npt.NDArray[np.int64]

#: Rows taken at once.
_BLOCK = 1 << 14


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
