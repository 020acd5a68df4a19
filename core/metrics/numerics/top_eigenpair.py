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
    value, vector = _eigenpair(A, len(A))
    if by_size:
        low, low_vector = _eigenpair(A, 1)
        if -low > value:
            return low, low_vector
    return value, vector


def _eigenpair(A: Matrix, number: int) -> tuple[float, Matrix]:
    """The eigenvalue of that number, ascending from 1, and its vector.

    LAPACK without the checks of :func:`scipy.linalg.eigh`, which take as long on the small matrices of boosting.
    """
    from scipy.linalg.lapack import dsyevr

    values, vectors, _, _, failed = dsyevr(A, range="I", il=number, iu=number, lower=1)
    if failed:
        raise np.linalg.LinAlgError(f"dsyevr found no eigenvalue (info {failed})")
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
