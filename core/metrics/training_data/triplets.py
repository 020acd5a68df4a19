"""Triplets as learners take them: checked, and made from the nearest cases of each finding."""

from __future__ import annotations

import numpy as np
import numpy.typing as npt

from semblance.core.errors import BadInput
from semblance.core.language import tr_lazy

Rows = npt.NDArray[np.int64]


def checked_triplets(triplets: npt.ArrayLike, n: int) -> Rows:
    """``triplets`` (t, 3): row i is closer to j than to k, among ``n`` cases; as int64, each one once.

    Raises:
        BadInput: none, a row that does not exist, a case named twice, or one said to be both the closer and
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
                "Row {i} is said to be closer to {j} than to {k}, and the other way round.",
                i=i[row],
                j=j[row],
                k=k[row],
            ),
            "Keep one of the two triplets.",
        )
    return table
