"""The eigenvector a boosting round adds: the one of the largest eigenvalue."""

from __future__ import annotations

import numpy as np

from semblance.core.metrics.distance import Matrix

#: Columns from which Lanczos' method beats a full decomposition, where it needs few restarts.
_LANCZOS_FROM = 400
#: Where the largest eigenvalues are nearly equal it would need thousands.
_MOST_RESTARTS = 20


def top_eigenpair(A: Matrix, *, by_size: bool = False) -> tuple[float, Matrix]:
    """The largest eigenvalue of a symmetric matrix (d, d), and its unit eigenvector (d,).

    ``by_size``: the largest in absolute value, of either sign. The vector's largest entry is positive.
    """
    found = _by_lanczos(A, by_size) if len(A) > _LANCZOS_FROM and A.any() else None
    value, vector = _by_decomposition(A, by_size) if found is None else found
    return value, vector * (1.0 if vector[np.abs(vector).argmax()] > 0 else -1.0)


def _by_decomposition(A: Matrix, by_size: bool) -> tuple[float, Matrix]:
    from scipy.linalg import eigh

    last = len(A) - 1
    values, vectors = eigh(A, subset_by_index=[last, last], check_finite=False)
    if by_size:
        low, low_vectors = eigh(A, subset_by_index=[0, 0], check_finite=False)
        if -low[0] > values[0]:
            return float(low[0]), low_vectors[:, 0]
    return float(values[0]), vectors[:, 0]


def _by_lanczos(A: Matrix, by_size: bool) -> tuple[float, Matrix] | None:
    from scipy.sparse.linalg import ArpackError, eigsh

    # A start that is the same every time, and not orthogonal to anything likely.
    start = 1.0 + np.sin(np.arange(len(A)))
    try:
        values, vectors = eigsh(A, k=1, which="LM" if by_size else "LA", v0=start, maxiter=_MOST_RESTARTS)
    except ArpackError:
        return None
    return float(values[0]), vectors[:, 0]
