"""The training triplets of a learner: given and checked, or to be drawn from findings."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
import numpy.typing as npt

from semblance.core.errors import BadInput
from semblance.core.language import tr_lazy
from semblance.core.metrics.distance import Matrix
from semblance.core.metrics.training_data.labelled_rows import check_one_finding_each, labelled_rows
from semblance.core.metrics.training_data.rows import check_different

Rows = npt.NDArray[np.int64]


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
