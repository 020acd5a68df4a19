"""Gradients of losses that depend on a linear map through squared distances alone."""

from __future__ import annotations

import numpy as np

from semblance.core.metrics.distance import Matrix


def squared_distances(A: Matrix, B: Matrix) -> Matrix:
    """(n, m), (k, m) -> (n, k) squared Euclidean distances, never negative."""
    distances = A @ B.T
    distances *= -2.0
    distances += np.einsum("ij,ij->i", A, A)[:, np.newaxis]
    distances += np.einsum("ij,ij->i", B, B)
    return np.maximum(distances, 0.0, out=distances)


def gradient_of(L: Matrix, X: Matrix, W: Matrix) -> Matrix:
    """(m, d) gradient in L of sum_ij W_ij |L (x_i - x_j)|^2 for rows X (n, d) and constant weights W (n, n).

    2 L X'(D - W - W')X with D the sums of rows and columns.
    """
    both = W + W.T
    half = both.sum(axis=1)[:, np.newaxis] * X - both @ X
    gradient: Matrix = 2.0 * L @ (X.T @ half)
    return gradient


def median_distance(X: Matrix, seed: int) -> float:
    """Median squared distance of 4,000 drawn pairs of different rows (n, d); the mean where it is 0."""
    i, j = np.random.default_rng([seed, 5]).integers(len(X), size=(2, 4000))
    found = np.square(X[i[i != j]] - X[j[i != j]]).sum(axis=1)
    return float(np.median(found)) or 2.0 * float(X.var(axis=0).sum())
