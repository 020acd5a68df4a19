"""An order of the training cases that depends on their content and not on the order of rows."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import numpy.typing as npt

from semblance.core.constraints import Rows, checked_pairs, finding_codes
from semblance.core.metrics.distance import Matrix
from semblance.core.metrics.training_data.training_input import TrainingInput
from semblance.core.metrics.training_data.triplets import checked_triplets

#: Numbers hashed at once.
_BLOCK = 1 << 20


def in_content_order(data: TrainingInput, accepts: frozenset[str]) -> TrainingInput:
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
    y = None if data.y is None else np.asarray(data.y)
    if y is not None and y.shape != (n,):
        # The learner checks that there is one finding per case.
        return data
    groups = None if data.groups is None else np.asarray(data.groups)
    order = content_order(data.X, y, groups)
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


def content_order(
    X: Matrix, y: npt.NDArray[np.generic] | None, groups: npt.NDArray[np.generic] | None
) -> npt.NDArray[np.intp]:
    """(n,) the places of rows (n, d) with findings and patients (n,) in the order of :func:`in_content_order`."""
    whole = _ordered_bits(X)
    columns = [_at_six_digits(whole).astype(">u4"), whole.astype(">u8")]
    if y is not None:
        columns.append(finding_codes(y)[0][:, np.newaxis].astype(">i8"))
    if groups is not None:
        names = ["" if group is None else str(group) for group in groups.tolist()]
        columns.append(np.unique(names, return_inverse=True)[1][:, np.newaxis].astype(">i8"))
    keys = np.concatenate([column.view(np.uint8) for column in columns], axis=1)
    return np.argsort(keys.view(np.dtype((np.void, keys.shape[1]))).ravel(), kind="stable")


def row_hashes(X: Matrix, seed: int) -> npt.NDArray[np.uint64]:
    """(n,) numbers that are as good as drawn by ``seed``, and depend on nothing but the row (d,) itself.

    Ascending, they give the same order to the same rows however these are listed or divided among files. Features
    count at six digits, as in :func:`in_content_order`.
    """
    # Multilinear hashing, then the last steps of splitmix64: Steele, Lea, Flood 2014.
    factors = np.random.default_rng([seed, 17]).bit_generator.random_raw(X.shape[1]) | np.uint64(1)
    found = np.empty(len(X), dtype=np.uint64)
    step = max(1, _BLOCK // X.shape[1])
    for start in range(0, len(X), step):
        bits = _at_six_digits(_ordered_bits(X[start : start + step]))
        found[start : start + step] = (bits * factors).sum(axis=1, dtype=np.uint64)
    for shift, factor in ((30, 0xBF58476D1CE4E5B9), (27, 0x94D049BB133111EB)):
        found ^= found >> np.uint64(shift)
        found *= np.uint64(factor)
    found ^= found >> np.uint64(31)
    return found


def _at_six_digits(bits: npt.NDArray[np.uint64]) -> npt.NDArray[np.uint64]:
    """The upper halves of :func:`_ordered_bits`, rounded: 20 bits of the fraction stay."""
    rounded: npt.NDArray[np.uint64] = (bits + np.uint64(1 << 31)) >> np.uint64(32)
    return rounded


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
