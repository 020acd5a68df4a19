"""Square roots and single eigenpairs of symmetric matrices."""

from __future__ import annotations

import numpy as np

from semblance.core.metrics.distance import Matrix

#: Eigenvalues below this share of the largest are rounding.
_RANK = 1e-12

#: Columns from which Lanczos' method beats a full decomposition, where it needs few restarts.
_LANCZOS_FROM = 400
#: Where the largest eigenvalues are nearly equal it would need thousands.
_MOST_RESTARTS = 20

#: Below this size a direct solver is faster than any iteration.
_SMALL = 64
#: Largest |beta x last Ritz entry|, as a share of |M|, of an eigenvector taken as found.
_RESIDUAL = 1e-12
#: Lanczos steps before which the direct solver has not lost yet, as a share of the size.
_SHARE = 0.15
_MOST_PAUSED = 256


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


class LowestEigenpair:
    """Finds it over and over, for a matrix that changes little by little, and remembers what pays.

    Of a positive semidefinite M less c zz' the eigenvector of a negative eigenvalue lies in the Krylov space
    of z under M (Perez-Suay et al. 2013, 3.4; Shalev-Shwartz et al. 2004). Lanczos from z ends after at most
    rank(M) + 1 steps; where it would take longer than a direct solver, that is used.
    """

    def __init__(self, size: int) -> None:
        self._most = min(size, max(6, int(_SHARE * size)))
        self._basis = np.empty((self._most + 1, size))
        self._ritz = np.zeros((self._most + 1, self._most + 1), order="F")
        self._pause = 0
        self._paused = 4

    def find(self, M: Matrix, z: Matrix) -> tuple[float, Matrix] | None:
        """Eigenvalue and eigenvector (d,) of the negative eigenvalue of M, or ``None`` if there is none.

        ``M`` (d, d) symmetric, at most one eigenvalue below zero, changed last along ``z`` (d,), not zero.
        """
        if len(M) > _SMALL:
            if self._pause:
                self._pause -= 1
            else:
                found = self._lanczos(M, z)
                if found is not None:
                    self._paused = 4
                    return found if found[0] < 0.0 else None
                self._pause = self._paused
                self._paused = min(2 * self._paused, _MOST_PAUSED)
        return self._direct(M)

    def _direct(self, M: Matrix) -> tuple[float, Matrix] | None:
        from scipy.linalg import lapack

        # The transposed view is in Fortran order, so LAPACK gets it with a single copy.
        values, vectors, _, _, info = lapack.dsyevr(M.T, range="I", il=1, iu=1, lower=1)
        if info != 0:
            raise np.linalg.LinAlgError("The eigenvalues of the metric did not converge.")
        return (float(values[0]), vectors[:, 0]) if values[0] < 0.0 else None

    def _lanczos(self, M: Matrix, z: Matrix) -> tuple[float, Matrix] | None:
        """The lowest Ritz pair once it is an eigenpair, negative or not; ``None`` if that takes too long."""
        from scipy.linalg import lapack

        V, T = self._basis, self._ritz
        T[:] = 0.0
        V[0] = z / np.sqrt(z @ z)
        norm = 0.0
        check = 1
        for step in range(self._most):
            w = M @ V[step]
            done = V[: step + 1]
            overlap = done @ w
            T[step, step] = overlap[step]
            w -= overlap @ done
            # Once more: rounding would else let found eigenvectors in again.
            w -= (done @ w) @ done
            beta = float(np.sqrt(w @ w))
            norm = max(norm, abs(float(overlap[step])) + beta)
            last = beta <= _RESIDUAL * norm
            if last or step == check:
                check = step + 1 + step // 4
                k = step + 1
                values, vectors, _, _, info = lapack.dsyevr(T[:k, :k], range="I", il=1, iu=1, lower=1)
                if info != 0:
                    return None
                if last or beta * abs(float(vectors[-1, 0])) <= _RESIDUAL * norm:
                    return float(values[0]), vectors[:, 0] @ V[:k]
            T[step + 1, step] = beta
            V[step + 1] = w / beta
        return None
