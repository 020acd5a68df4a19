"""The passive-aggressive family (Perez-Suay et al. 2013) as its Algorithm 1 reads: pair by pair, in full."""

from __future__ import annotations

import numpy as np


def step_length(variant, p, size, C):
    """tau of Eqs. 11, 12, 13 and 16; ``size`` is |z z'|^2 (Frobenius), p the signed loss."""
    loss = max(0.0, p)
    if variant == "pa":
        return loss / (1 + size)
    if variant == "pa1":
        return min(C, loss / (1 + size))
    if variant == "pa2":
        return loss / (1 + 1 / (2 * C) + size)
    return p / (1 + 1 / (2 * C) + size)


def nearest_psd(M):
    values, vectors = np.linalg.eigh(M)
    total = np.zeros_like(M)
    for value, v in zip(values, vectors.T, strict=True):
        if value > 0:
            total += value * np.outer(v, v)
    return total


def run(X, pairs, labels, variant, C, positive, M=None, b=0.0):
    """M, b, updates and mistakes after all pairs; constraints after each step if ``positive``."""
    d = X.shape[1]
    M = np.zeros((d, d)) if M is None else M.copy()
    updates = mistakes = 0
    for (i, j), y in zip(pairs, labels, strict=True):
        z = X[i] - X[j]
        distance = sum(z[a] * M[a, c] * z[c] for a in range(d) for c in range(d))
        p = 1 - y * (b - distance)
        mistakes += y * (b - distance) <= 0
        size = sum((z[a] * z[c]) ** 2 for a in range(d) for c in range(d))
        tau = step_length(variant, p, size, C)
        if tau == 0:
            continue
        updates += 1
        M = M - tau * y * np.outer(z, z)
        b = b + tau * y
        if positive:
            M, b = nearest_psd(M), max(1.0, b)
    return M, b, updates, mistakes
