"""Roots of the positive semidefinite matrix nearest to a symmetric one, as linear maps."""

from __future__ import annotations

import numpy as np

from semblance.core.metrics.distance import Matrix

#: Eigenvalues below this share of the largest are rounding.
_RANK = 1e-12


def psd_root(M: Matrix) -> Matrix:
    """(d, d) symmetric -> (r, d) L with L'L the nearest positive semidefinite matrix in the Frobenius norm.

    r is its rank, at least 1. Rows are orthogonal, from the largest eigenvalue down. The sign of each is such that its
    largest entry is positive.
    """
    values, vectors = np.linalg.eigh(M)
    values, vectors = values[::-1], vectors[:, ::-1]
    rank = max(1, int((values > _RANK * max(values[0], 0.0)).sum()))
    roots = np.sqrt(np.maximum(values[:rank], 0.0))
    largest = np.abs(vectors[:, :rank]).argmax(axis=0)
    signs = np.where(vectors[largest, np.arange(rank)] < 0, -1.0, 1.0)
    return np.ascontiguousarray((vectors[:, :rank] * (roots * signs)).T)


def symmetric_root(M: Matrix) -> Matrix:
    """(d, d) symmetric -> the symmetric S with SS the nearest positive semidefinite matrix."""
    values, vectors = np.linalg.eigh(M)
    root: Matrix = (vectors * np.sqrt(np.maximum(values, 0.0))) @ vectors.T
    return root
