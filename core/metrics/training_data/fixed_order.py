"""An order of the training cases that depends on their content and not on the order of rows."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import numpy.typing as npt

from semblance.core.constraints import Rows, checked_pairs, finding_codes
from semblance.core.metrics.distance import Matrix
from semblance.core.metrics.training_data.training_input import TrainingInput
from semblance.core.metrics.training_data.triplets import checked_triplets


def in_fixed_order(data: TrainingInput, accepts: frozenset[str]) -> TrainingInput:
    """``data`` with rows, and the pairs and triplets that the learner ``accepts``, in an order of their own.

    Rows ascend by their first feature, then the next, so whatever a learner draws or goes through in turn (pairs,
    batches, cases set aside) is the same for the same cases in another order. Rows that are equal in features,
    finding and patient are interchangeable. Features are compared at six digits first, so that the last digit, which
    differs among processors, moves no row far.

    Raises:
        BadInput: pairs or triplets that are none.
    """
    n = len(data.X)
    pairs = checked_pairs(data.pairs, n) if data.pairs is not None and "pairs" in accepts else None
    triplets = (
        checked_triplets(data.triplets, n) if data.triplets is not None and "triplets" in accepts else None
    )
    whole = _ordered_bits(data.X)
    # Half a unit is added before what lies below 20 bits of the fraction is cut off.
    columns = [((whole + np.uint64(1 << 31)) >> np.uint64(32)).astype(">u4"), whole.astype(">u8")]
    y = None if data.y is None else np.asarray(data.y)
    if y is not None:
        if y.shape != (n,):
            # The learner checks that there is one finding per case.
            return data
        columns.append(finding_codes(y)[0][:, np.newaxis].astype(">i8"))
    groups = None if data.groups is None else np.asarray(data.groups)
    if groups is not None:
        names = ["" if group is None else str(group) for group in groups.tolist()]
        columns.append(np.unique(names, return_inverse=True)[1][:, np.newaxis].astype(">i8"))
    keys = np.concatenate([column.view(np.uint8) for column in columns], axis=1)
    order = np.argsort(keys.view(np.dtype((np.void, keys.shape[1]))).ravel(), kind="stable")
    place = np.empty(n, dtype=np.int64)
    place[order] = np.arange(n)
    return replace(
        data,
        X=data.X[order],
        y=None if y is None else y[order],
        groups=None if groups is None else groups[order],
        pairs=data.pairs if pairs is None else _in_order(pairs, place, 2),
        triplets=data.triplets if triplets is None else _in_order(triplets, place, 3),
    )


def _ordered_bits(X: Matrix) -> npt.NDArray[np.uint64]:
    """Whole numbers (n, d) in the order of the numbers ``X`` (n, d)."""
    bits = (X + 0.0).view(np.uint64)  # -0.0 becomes 0.0
    sign = np.uint64(1 << 63)
    ordered: npt.NDArray[np.uint64] = np.where(bits & sign, ~bits, bits | sign)
    return ordered


def _in_order(table: Rows, place: npt.NDArray[np.int64], columns: int) -> Rows:
    """``table`` (p, 3), whose first ``columns`` are rows, with their new places, in ascending order."""
    found = table.copy()
    found[:, :columns] = place[table[:, :columns]]
    ascending: Rows = found[np.lexsort(found.T[::-1])]
    return ascending
