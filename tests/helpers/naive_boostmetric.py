"""BoostMetric (Shen et al. 2012) written as its definitions read: one matrix a triplet, bisection."""

from __future__ import annotations

import math

import numpy as np


def nearest_triplets(X, y, k):
    """(i, j, k): j among the k nearest of i's finding, k among the k nearest of others; ties by row."""
    table = []
    for i in range(len(X)):
        order = sorted((j for j in range(len(X)) if j != i), key=lambda j: (((X[i] - X[j]) ** 2).sum(), j))
        targets = [j for j in order if y[j] == y[i]][:k]
        impostors = [j for j in order if y[j] != y[i]][:k]
        table += [(i, j, other) for j in targets for other in impostors]
    return table


def matrices(X, table):
    """A_r (Eq. 6)."""
    return [np.outer(X[i] - X[k], X[i] - X[k]) - np.outer(X[i] - X[j], X[i] - X[j]) for i, j, k in table]


def margins(A, M):
    """<A_r, M>."""
    return np.array([(a * M).sum() for a in A])


def weights(loss, rho):
    """Eqs. 19 and 28."""
    if loss == "logistic":
        return np.array([1 / (1 + math.exp(r)) for r in rho])
    e = np.array([math.exp(-r) for r in rho])
    return e / math.fsum(e)


def value(loss, rho):
    """The loss in Eqs. 25 and 11."""
    if loss == "logistic":
        return math.fsum(math.log1p(math.exp(-r)) for r in rho)
    return math.log(math.fsum(math.exp(-r) for r in rho))


def step(loss, rho, H, v):
    """Algorithm 2: bisection for the root of Eq. 21 or 30."""

    def side(w):
        moved = rho + w * H
        if loss == "logistic":
            return math.fsum(H * weights(loss, moved)) - v
        return math.fsum((H - v) * np.exp(-moved))

    low, high = 0.0, 1.0
    while side(high) > 0:
        high *= 2
    for _ in range(200):
        middle = 0.5 * (low + high)
        if side(middle) > 0:
            low = middle
        else:
            high = middle
    return 0.5 * (low + high)
