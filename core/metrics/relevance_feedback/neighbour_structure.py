"""A form from the structure of the cases alone, used before any feedback.

Cases that are each other's nearest are mostly of one kind, so differences between them matter little; directions in
which all cases vary more than such pairs matter. With W the covariance within such pairs and G that of all cases, the
form is W^(-1/2) (W^(-1/2) G W^(-1/2))^(1/2) W^(-1/2): relevant component analysis (Bar-Hillel et al. 2003) with
chunks of mutual neighbours instead of judged ones, times the root of what discriminant analysis would maximise.
"""

from __future__ import annotations

import numpy as np
import numpy.typing as npt

from semblance.core.metrics.distance import Matrix

#: Each case of a pair must be among this number of nearest neighbours of the other; the least number of pairs.
NEIGHBOURS, FEWEST_PAIRS = 5, 10
#: Least share of the mean variance added to W; with few cases as many as coordinates per case.
SHRUNK = 0.01
#: Maximum number of cases.
MOST = 1500
_POWER, _FLAT = 0.5, 1e-6


def neighbour_structure(points: Matrix) -> Matrix | None:
    """(m, m) positive definite form of ``points`` (n, m), MOST at most; ``None`` if there are too few pairs.

    It computes all n x n distances.
    """
    n, m = points.shape
    if n <= 2 * NEIGHBOURS:
        return None
    first, second = _mutual(points)
    if len(first) < FEWEST_PAIRS:
        return None
    apart = points[first] - points[second]
    within = apart.T @ apart / len(apart)
    spread = float(np.trace(within)) / m
    if not spread > 0.0:
        return None
    centred = points - points.mean(axis=0)
    values, vectors = np.linalg.eigh(within + max(SHRUNK, m / n) * spread * np.eye(m))
    white = vectors / np.sqrt(values)
    values, turned = np.linalg.eigh(white.T @ (centred.T @ centred) @ white)
    shrunk = np.maximum(values / values[-1], _FLAT) ** _POWER
    root = white @ turned
    form: Matrix = (root * shrunk) @ root.T
    return form


def diagonalise_together(form: Matrix, metric: Matrix) -> tuple[Matrix, Matrix]:
    """T (m, m) and l (m,) with ``form`` = T'T and diag(``metric``) = T' diag(l) T; ``form`` is definite."""
    values, vectors = np.linalg.eigh(form)
    half = (vectors * np.sqrt(values)) @ vectors.T
    inverse = (vectors / np.sqrt(values)) @ vectors.T
    own, axes = np.linalg.eigh((inverse * metric) @ inverse)
    return axes.T @ half, np.maximum(own, 0.0)


def _mutual(points: Matrix) -> tuple[npt.NDArray[np.intp], npt.NDArray[np.intp]]:
    squares = np.einsum("ij,ij->i", points, points)
    squared = squares[:, np.newaxis] - 2.0 * points @ points.T + squares
    np.fill_diagonal(squared, np.inf)
    rows = np.arange(len(points))[:, np.newaxis]
    near = np.zeros(squared.shape, dtype=np.bool_)
    near[rows, np.argsort(squared, axis=1, kind="stable")[:, :NEIGHBOURS]] = True
    first, second = np.nonzero(np.triu(near & near.T))
    return first, second
