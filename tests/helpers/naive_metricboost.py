"""MetricBoost (Bi et al. 2011) written as its definitions read: one weight a triplet, plain loops."""

from __future__ import annotations

import itertools
import math

import numpy as np


def triplets(y, anchors=None):
    """(i, j, k): j of i's finding, k of another."""
    n = len(y)
    return [
        (i, j, k)
        for i in (range(n) if anchors is None else anchors)
        for j in range(n)
        for k in range(n)
        if j != i and y[j] == y[i] and y[k] != y[i]
    ]


def weights(found, X, table):
    """D of all triplets after the weak models ``found`` (functions of z with their alpha), and prod Z."""
    D, bound = np.full(len(table), 1.0 / len(table)), 1.0
    h = [[[f(X[i] - X[other]) for i, *others in table for other in others]] for f, _ in found]
    for values, (_, alpha) in zip(h, found, strict=True):
        pairs = np.array(values).reshape(-1, 2)
        D = D * np.exp(alpha * (pairs[:, 0] - pairs[:, 1]))
        bound *= math.fsum(D)
        D = D / math.fsum(D)
    return D, bound


def curvature(D, X, table):
    """The matrix of Eq. 8."""
    total = np.zeros((X.shape[1],) * 2)
    for weight, (i, j, k) in zip(D, table, strict=True):
        far, near = X[i] - X[k], X[i] - X[j]
        total += weight * (np.outer(far, far) - np.outer(near, near))
    return total


def squares(u, X, table):
    """(t, 2) the squared projections of ij and ik."""
    return np.array([[(u @ (X[i] - X[j])) ** 2, (u @ (X[i] - X[k])) ** 2] for i, j, k in table])


def errors(D, q, beta):
    """eps+ and eps-."""
    near, far = q[:, 0] >= beta, q[:, 1] >= beta
    return float(D[near & ~far].sum()), float(D[~near & far].sum())


def z_of(plus, minus, m):
    """Z at the smoothed alpha, and that alpha."""
    alpha = 0.5 * math.log((minus + 1 / m) / (plus + 1 / m))
    return 1 - plus - minus + plus * math.exp(alpha) + minus * math.exp(-alpha), alpha


def best_stump(D, q, sign=1):
    """(beta, alpha, Z) over all midpoints of distinct values whose alpha has this sign."""
    values = sorted(set(q.ravel().tolist()))
    # The two anchors of a pair see the same square up to rounding.
    apart = [(a, b) for a, b in itertools.pairwise(values) if b - a > 1e-10 * values[-1]]
    cuts = []
    for low, high in apart:
        plus, minus = errors(D, q, 0.5 * (low + high))
        if sign * (minus - plus) > 0:
            z, alpha = z_of(plus, minus, len(D))
            cuts.append((z, 0.5 * (low + high), alpha))
    z, beta, alpha = min(cuts)
    return beta, alpha, z


def log_z(D, q, alpha):
    return math.log(math.fsum(D * np.exp(alpha * (q[:, 0] - q[:, 1]))))
