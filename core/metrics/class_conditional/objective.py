"""The objective of class-conditional metric learning on one batch, and its gradient (Im & Taylor, CCML)."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
import numpy.typing as npt

from semblance.core.metrics.distance import Matrix

Rows = npt.NDArray[np.intp]

#: Up to so many neighbours, taking the nearest again and again is faster than a partial sort.
_FEW = 6


class Batch(NamedTuple):
    """Rows of a batch ``X`` (b, d), ordered by ``finding`` (b,) 0, 1, ..."""

    X: Matrix
    finding: Rows


class Neighbours(NamedTuple):
    """The k nearest of each of b rows within each of g groups of rows, itself left out.

    ``rows`` (b, g, k), b where there are fewer; ``mean`` (b, g) of their squared distances, over those there
    are, infinite where there is none; ``counts`` (b, g).
    """

    rows: Rows
    mean: Matrix
    counts: Rows


def make_batch(X: Matrix, codes: npt.NDArray[np.integer]) -> Batch:
    """Of rows (b, d) with findings numbered ``codes`` (b,); numbers may be missing."""
    order = np.argsort(codes, kind="stable")
    ordered = codes[order]
    finding = np.zeros(len(codes), dtype=np.intp)
    np.cumsum(ordered[1:] != ordered[:-1], out=finding[1:])
    return Batch(X[order], finding)


def members_of(finding: Rows) -> Rows:
    """(c, m) the rows of each finding, ``finding`` (b,) 0, 1, ... ascending; filled up with b, no row."""
    sizes = np.bincount(finding)
    members = np.full((len(sizes), int(sizes.max())), len(finding))
    place = np.arange(len(finding)) - np.repeat(np.cumsum(sizes) - sizes, sizes)
    members[finding, place] = np.arange(len(finding))
    return members


def expected_accuracy(A: Matrix, batch: Batch, k: int, local: bool) -> tuple[float, Matrix]:
    """The mean of p_i(own) (Eq. 11) over rows with a neighbour of their own finding, and its gradient.

    ``A`` (p, d). p_i is the softmax of -S over all findings (Eq. 10), or over the own one and all others
    together (``local``, Eq. 15); S is the mean squared distance to the ``k`` nearest of each after z = Ax.
    The gradient is 2 sum_ij W_ij (z_i - z_j)(x_i - x_j)', W_ij = dE/dS / k for neighbours; the paper's Eq. 13
    leaves x_j out.
    """
    Z = batch.X @ A.T
    value, laplacian, counted = _weighted(Z, batch.finding, k, local)
    return value, (2.0 / counted) * (Z.T @ (laplacian @ batch.X))


def expected_accuracy_of(Z: Matrix, finding: Rows, k: int, local: bool) -> tuple[float, Matrix]:
    """As :func:`expected_accuracy`, of rows after any map: ``Z`` (b, p), and the gradient (b, p) by them.

    ``finding`` (b,) 0, 1, ... ascending.
    """
    value, laplacian, counted = _weighted(Z, finding, k, local)
    return value, (2.0 / counted) * (laplacian @ Z)


def _weighted(Z: Matrix, finding: Rows, k: int, local: bool) -> tuple[float, Matrix, int]:
    """The mean of p_i(own), the Laplacian (b, b) of W + W', and how many rows count (1 where none does)."""
    b = len(Z)
    rows = np.arange(b)
    if local:
        near, own = _two_sided(Z, finding, k), np.zeros(b, dtype=np.intp)
    else:
        members = members_of(finding)
        near, own = nearest_in_groups(_by_finding(_distances(Z), members), members, k), finding
    place = rows * near.counts.shape[1] + own
    alone = near.counts.ravel()[place] == 0
    counted = b - int(alone.sum())
    if counted == 0:
        return 0.0, np.zeros((b, b)), 1
    p = near.mean.min(axis=1, keepdims=True) - near.mean
    np.exp(p, out=p)
    p /= p.sum(axis=1, keepdims=True)
    p_own = p.ravel()[place]
    if counted < b:
        p_own[alone] = 0.0
    # dE/dS: p_own p_c of the others, -p_own (1 - p_own) of the own finding.
    slope = p
    slope *= p_own[:, np.newaxis]
    slope.ravel()[place] -= p_own
    slope /= np.maximum(near.counts, 1)
    W = np.zeros((b, b + 1))
    cells = near.rows.reshape(b, -1) + (rows * (b + 1))[:, np.newaxis]
    W.ravel()[cells] = np.repeat(slope, near.rows.shape[2], axis=1)
    W = W[:, :b] + W[:, :b].T
    laplacian = np.negative(W, out=W)
    laplacian.ravel()[:: b + 1] -= laplacian.sum(axis=1)
    return float(p_own.sum()) / counted, laplacian, counted


def nearest_in_groups(candidates: Matrix, members: Rows, k: int) -> Neighbours:
    """The ``k`` nearest of each row in each group.

    ``candidates`` (b, g, m) are squared distances, infinite where not to be used, and are spoilt; ``members``
    (g, m) are the rows they lead to.
    """
    b, g, m = candidates.shape
    k = min(k, m)
    if k <= _FEW:
        flat = candidates.reshape(-1)
        starts = np.arange(0, b * g * m, m).reshape(b, g)
        cells = np.empty((b, g, k), dtype=np.intp)
        found = np.empty((b, g, k))
        for place in range(k):
            cell = candidates.argmin(axis=2)
            cell += starts
            cells[..., place] = cell
            found[..., place] = flat[cell]
            if place + 1 < k:
                flat[cell] = np.inf
        cells -= starts[..., np.newaxis]
    else:
        cells = np.argpartition(candidates, k - 1, axis=2)[..., :k]
        found = np.take_along_axis(candidates, cells, axis=2)
    cells += np.arange(0, g * m, m)[:, np.newaxis]
    rows = members.ravel()[cells]
    missing = np.isinf(found)
    if not missing.any():
        return Neighbours(rows, found.mean(axis=2), np.full((b, g), k))
    count = k - missing.sum(axis=2)
    rows[missing] = b
    found[missing] = 0.0
    mean = np.where(count > 0, found.sum(axis=2) / np.maximum(count, 1), np.inf)
    return Neighbours(rows, mean, count)


def _two_sided(Z: Matrix, finding: Rows, k: int) -> Neighbours:
    """Group 0: the own finding; group 1: all others together."""
    b = len(Z)
    distances = _distances(Z)
    same = finding[:, np.newaxis] == finding
    candidates = np.full((b, 2, b), np.inf)
    np.copyto(candidates[:, 0], distances, where=same)
    np.copyto(candidates[:, 1], distances, where=~same)
    everyone = np.arange(b)
    return nearest_in_groups(candidates, np.stack([everyone, everyone]), k)


def _by_finding(distances: Matrix, members: Rows) -> Matrix:
    """(b, c, m) distances to the ``members`` (c, m) of each finding, infinite where there is none."""
    b = len(distances)
    candidates: Matrix = np.take(distances, np.minimum(members, b - 1), axis=1)
    candidates[:, members == b] = np.inf
    return candidates


def _distances(Z: Matrix) -> Matrix:
    """(b, b) squared distances, infinite from a row to itself."""
    norms = np.einsum("ij,ij->i", Z, Z)
    out: Matrix = Z @ (-2.0 * Z.T)
    out += norms
    out += norms[:, np.newaxis]
    np.maximum(out, 0.0, out=out)
    out.ravel()[:: len(Z) + 1] = np.inf
    return out
