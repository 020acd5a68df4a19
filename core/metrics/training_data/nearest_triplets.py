"""Triplets from neighbours: nearer to the nearest of its own finding than to the nearest of the others.

Weinberger, Saul 2009, as used by Shen et al. 2012, 4.2: targets are the k nearest cases of the same finding,
impostors the k nearest of other findings.
"""

from __future__ import annotations

import numpy as np
import numpy.typing as npt

from semblance.core.metrics.distance import Matrix
from semblance.core.metrics.training_data.triplets import Rows
from semblance.core.tasks import Reporter

#: Distances compared at once; they stay in the cache while their smallest are taken.
_BLOCK = 1 << 21
#: Unit roundoff of float32.
_UNIT = 2.0**-24


def nearest_triplets(X: Matrix, codes: npt.NDArray[np.int64], k: int, reporter: Reporter) -> Rows:
    """(t, 3): each case with each of its ``k`` targets and each of its ``k`` impostors.

    ``X`` (n, d) with findings ``codes`` (n,), all known. A finding with fewer cases gives fewer.
    """
    targets, impostors = nearest_of_both(X, codes, k, reporter)
    anchors = np.arange(len(X))[:, np.newaxis, np.newaxis]
    table = np.stack(
        np.broadcast_arrays(anchors, targets[:, :, np.newaxis], impostors[:, np.newaxis]), axis=3
    )
    table = table.reshape(-1, 3)
    return np.ascontiguousarray(table[(table >= 0).all(axis=1)])


def nearest_of_both(X: Matrix, codes: npt.NDArray[np.int64], k: int, reporter: Reporter) -> tuple[Rows, Rows]:
    """(n, k) the nearest rows of the own finding, itself left out, and (n, k) of all others; -1: no more.

    By squared Euclidean distance in float64 and then by row. Products in float32 pick the candidates.
    """
    order = np.argsort(codes, kind="stable")
    rows, findings = X[order], codes[order]
    centred = rows - X.mean(axis=0)
    norms = np.einsum("ij,ij->i", centred, centred)
    largest = float(norms.max(initial=0.0))
    scale = 1.0 / np.sqrt(largest) if largest > 0.0 else 1.0
    single = (centred * scale).astype(np.float32)
    halves = (0.5 * norms * scale * scale).astype(np.float32)
    # x.x/2 - x.q orders as the distance does; the factor in front makes it one matrix product.
    left = np.column_stack([-single, np.ones(len(rows), dtype=np.float32)])
    right = np.ascontiguousarray(np.column_stack([single, halves]).T)
    # Of the distance, after scaling: rounding of both rows, of the products and their sum.
    slack = 4.0 * _UNIT * (rows.shape[1] + 8)
    ends = np.searchsorted(findings, np.arange(findings.max(initial=0) + 2))
    found = np.full((2, len(rows), k), -1, dtype=np.int64)
    step = max(16, _BLOCK // len(rows))
    buffer = np.empty((step, len(rows)), dtype=np.float32)
    for first, last in zip(ends[:-1].tolist(), ends[1:].tolist(), strict=True):
        for start in range(first, last, step):
            reporter.check_cancelled()
            stop = min(start + step, last)
            values = np.matmul(left[start:stop], right, out=buffer[: stop - start])
            values[np.arange(stop - start), np.arange(start, stop)] = np.inf
            own = values[:, first:last].copy()
            values[:, first:last] = np.inf
            for kind, offset, table in ((0, first, own), (1, 0, values)):
                row, column = _candidates(table, k, slack)
                column += offset
                difference = rows[column] - rows[start + row]
                exact = np.einsum("ij,ij->i", difference, difference)
                _take_nearest(found[kind, start:stop], row, order[column], exact)
    back = np.empty_like(order)
    back[order] = np.arange(len(order))
    return found[0][back], found[1][back]


def _candidates(values: npt.NDArray[np.float32], k: int, slack: float) -> tuple[Rows, Rows]:
    """(row, column) of all values that may be among the ``k`` smallest of their row; infinite ones never."""
    rows = np.arange(len(values))
    smallest_values = []
    for _ in range(min(k, values.shape[1])):
        place = values.argmin(axis=1)
        smallest = values[rows, place]
        smallest_values.append((place, smallest))
        values[rows, place] = np.inf
    if not smallest_values:
        return rows[:0], rows[:0]
    finite = [np.where(np.isfinite(value), value, -np.inf) for _, value in smallest_values]
    reach = np.max(finite, axis=0) + np.float32(slack)
    # Backwards: a row without any more gives the same place again.
    for place, value in smallest_values[::-1]:
        values[rows, place] = value
    row, column = np.divmod(np.flatnonzero(values <= reach[:, np.newaxis]), values.shape[1])
    return row, column


def _take_nearest(out: Rows, row: Rows, case: Rows, distance: Matrix) -> None:
    """Write the nearest ``case`` of each ``row`` into ``out`` (b, k), by distance and then by case."""
    order = np.lexsort((case, distance, row))
    row, case = row[order], case[order]
    rank = np.arange(len(row)) - np.searchsorted(row, row)
    first = rank < out.shape[1]
    out[row[first], rank[first]] = case[first]
