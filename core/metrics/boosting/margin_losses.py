"""The losses of BoostMetric along one new column of margins: their weights, values and slopes.

Shen et al. 2012, 3.2 and 3.5. ``rho`` (t,) are the margins so far, ``H`` (t,) those the new rank-one matrix adds per
unit of its weight w. Working arrays are allocated once, because with many triplets the allocation costs more than the
arithmetic.
"""

from __future__ import annotations

import abc
import math

import numpy as np

from semblance.core.metrics.distance import Matrix
from semblance.core.metrics.numerics.convex_minimum import Slopes

#: The rounds end below this share of the initial loss.
NOTHING_LEFT = 1e-6
#: exp of more is not representable; sigma of less is 0 anyway.
_LARGEST = 700.0


class MarginLoss(abc.ABC):
    """A convex loss of margins that decrease it, summed over ``count`` triplets."""

    def __init__(self, count: int) -> None:
        self._a, self._b, self._c = np.empty((3, count))

    @abc.abstractmethod
    def value(self, rho: Matrix) -> float:
        """The loss of the margins (t,)."""

    @abc.abstractmethod
    def share(self, value: float) -> float:
        """The share of the loss at margins of 0 that is left."""

    @abc.abstractmethod
    def weights(self, rho: Matrix) -> Matrix:
        """(t,) u, minus the derivative of the loss in each margin; overwritten by the next call."""

    @abc.abstractmethod
    def slopes(self, rho: Matrix, H: Matrix, w: float) -> Slopes:
        """The first three derivatives of the loss of ``rho + w H`` in w."""

    def _moved(self, rho: Matrix, H: Matrix, w: float) -> Matrix:
        np.multiply(H, w, out=self._a)
        self._a += rho
        return self._a


class ExponentialLoss(MarginLoss):
    """log sum_r exp(-rho_r) (Eq. 11); the weights are its softmax (Eq. 19) and sum to 1."""

    def value(self, rho: Matrix) -> float:
        """Eq. 11 of the margins (t,), without overflow."""
        low = float(rho.min())
        np.subtract(low, rho, out=self._b)
        np.exp(self._b, out=self._b)
        return float(np.log(self._b.sum())) - low

    def share(self, value: float) -> float:
        """exp of the loss over the number of triplets, at most 1."""
        return math.exp(min(value - math.log(len(self._a)), 0.0))

    def weights(self, rho: Matrix) -> Matrix:
        """(t,) the softmax of -rho (Eq. 19); overwritten by the next call."""
        u = self._b
        np.subtract(rho.min(), rho, out=u)
        np.exp(u, out=u)
        u /= u.sum()
        return u

    def slopes(self, rho: Matrix, H: Matrix, w: float) -> Slopes:
        """Derivatives in w: minus the mean of H under the weights, its variance, minus its third central moment."""
        u, off = self.weights(self._moved(rho, H, w)), self._c
        mean = float(u @ H)
        np.subtract(H, mean, out=off)
        u *= off
        second = float(u @ off)
        u *= off
        return -mean, second, -float(u @ off)


class LogisticLoss(MarginLoss):
    """sum_r log(1 + exp(-rho_r)) (Eq. 25); the weights are sigma(-rho_r) (Eq. 28), each below 1."""

    def value(self, rho: Matrix) -> float:
        """Eq. 25 of the margins (t,), without overflow."""
        size = np.abs(rho, out=self._b)
        np.negative(size, out=size)
        np.exp(size, out=size)
        np.log1p(size, out=size)
        return float(size.sum() - np.minimum(rho, 0.0, out=self._c).sum())

    def share(self, value: float) -> float:
        """The loss over that at margins of 0, t log 2."""
        return value / (len(self._a) * math.log(2.0))

    def weights(self, rho: Matrix) -> Matrix:
        """(t,) sigma(-rho) (Eq. 28); overwritten by the next call."""
        u = np.minimum(rho, _LARGEST, out=self._b)
        np.exp(u, out=u)
        u += 1.0
        np.reciprocal(u, out=u)
        return u

    def slopes(self, rho: Matrix, H: Matrix, w: float) -> Slopes:
        """Of sigma = u: sigma' = -H sigma (1 - sigma)."""
        u, curved = self.weights(self._moved(rho, H, w)), self._c
        first = -float(u @ H)
        np.subtract(1.0, u, out=curved)
        curved *= u
        curved *= H
        second = float(curved @ H)
        curved *= H
        u *= -2.0
        u += 1.0
        curved *= u
        return first, second, -float(curved @ H)


LOSSES: dict[str, type[MarginLoss]] = {"exponential": ExponentialLoss, "logistic": LogisticLoss}
