"""The training triplets of a learner: given and checked, or to be drawn from findings.

Weinberger, Saul 2009, as used by Shen et al. 2012, 4.2: targets are the k nearest cases of the same finding,
impostors the k nearest of other findings.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
import numpy.typing as npt

from semblance.core.errors import BadInput
from semblance.core.language import tr_lazy
from semblance.core.metrics.distance import Matrix
from semblance.core.metrics.training_data.rows import check_different, check_one_finding_each, labelled_rows
from semblance.core.tasks import Reporter

Rows = npt.NDArray[np.int64]

#: Distances compared at once; they stay in the cache while their smallest are taken.
_BLOCK = 1 << 21
#: Unit roundoff of float32.
_UNIT = 2.0**-24


def checked_triplets(triplets: npt.ArrayLike, n: int) -> Rows:
    """``triplets`` (t, 3): row i is closer to j than to k, among ``n`` cases; as int64, each one once.

    Raises:
        BadInput: none, a row that does not exist, a case named twice, or one given as both the closer and
            the farther.
    """
    table = np.asarray(triplets)
    if table.ndim != 2 or table.shape[1] != 3 or table.dtype.kind not in "iu":
        raise BadInput("Triplets are not a table of three rows.", "Give three whole numbers a triplet.")
    if not len(table):
        raise BadInput("There is no triplet to learn from.", "Give at least one, or findings.")
    if table.min() < 0 or table.max() >= n:
        raise BadInput(tr_lazy("A triplet names a row outside 0 to {n}.", n=n - 1), "Rows count from 0.")
    table = np.unique(table.astype(np.int64), axis=0)
    i, j, k = table.T
    twice = (i == j) | (i == k) | (j == k)
    if twice.any():
        row = int(twice.argmax())
        raise BadInput(
            tr_lazy("The triplet {table} names a case twice.", table=tuple(table[row].tolist())),
            "Name three cases.",
        )
    key, reverse = (i * n + j) * n + k, (i * n + k) * n + j
    both = np.isin(key, reverse)
    if both.any():
        row = int(both.argmax())
        raise BadInput(
            tr_lazy(
                "One triplet has row {i} closer to {j} than to {k}, another one the opposite.",
                i=i[row],
                j=j[row],
                k=k[row],
            ),
            "Keep one of the two triplets.",
        )
    return table


class TripletSource(NamedTuple):
    """``triplets`` (t, 3) of the rows ``X`` (n, d), or ``None`` and the findings ``codes`` (n,)."""

    X: Matrix
    codes: npt.NDArray[np.int64]
    triplets: Rows | None


def triplet_source(
    title: str, X: Matrix, y: npt.ArrayLike | None, triplets: npt.ArrayLike | None
) -> TripletSource:
    """The given ``triplets`` of all rows, or else the rows that have a finding.

    Raises:
        BadInput: neither, triplets that :func:`checked_triplets` or findings that :func:`labelled_rows` refuses,
            or equal rows. ``title`` names the learner.
    """
    if triplets is None:
        if y is None:
            raise BadInput(
                tr_lazy("{title} learns from findings or triplets.", title=title), "Give it one of them."
            )
        known = labelled_rows(title, X, y)
        return TripletSource(known.X, known.codes, None)
    if y is not None:
        check_one_finding_each(len(X), len(np.asarray(y)))
    checked = checked_triplets(triplets, len(X))
    check_different(X)
    return TripletSource(X, np.empty(0, dtype=np.int64), checked)


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
