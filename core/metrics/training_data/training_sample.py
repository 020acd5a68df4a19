"""The cases that a learner is fitted on: a stratified sample where there are many, sorted by content."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import replace

import numpy as np
import numpy.typing as npt

from semblance.core.constraints import Rows, checked_pairs, finding_codes
from semblance.core.errors import BadArguments
from semblance.core.language import tr_lazy
from semblance.core.metrics.distance import Matrix
from semblance.core.metrics.training_data.rows import TrainingInput
from semblance.core.metrics.training_data.triplets import checked_triplets

#: Numbers hashed at once.
_BLOCK = 1 << 20

Hashes = npt.NDArray[np.uint64]


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


def training_sample(data: TrainingInput, most: int) -> tuple[TrainingInput, tuple[str, ...]]:
    """``data`` with about ``most`` cases, and the note on the card about it; unchanged if it has no more cases.

    Cases named by pairs or triplets are in the sample. The others are drawn by :func:`stratified_sample` in the order
    of their hashes, so that the sample is the same for the same cases in any order.
    """
    n = len(data.X)
    y = None if data.y is None else np.asarray(data.y)
    # The learner checks that there is one finding per case.
    if not most or n <= most or (y is not None and y.shape != (n,)):
        return data, ()
    constrained = _constrained_rows(data)
    others = np.setdiff1d(np.arange(n), constrained)
    groups = None if data.groups is None else np.asarray(data.groups)
    rows = constrained
    if len(others) and len(constrained) < most:
        strata = (np.zeros(n, dtype=np.int64) if y is None else finding_codes(y)[0])[others]
        size = most - len(constrained)
        if len(constrained):
            size = max(size, len(np.unique(strata)))
        hashes = row_hashes(data.X, data.seed)[others]
        drawn = stratified_sample(strata, size, data.seed, None if groups is None else groups[others], hashes)
        rows = np.union1d(constrained, others[drawn])
    if len(rows) == n:
        return data, ()
    place = np.full(n, -1, dtype=np.int64)
    place[rows] = np.arange(len(rows))
    sample = replace(
        data,
        X=data.X[rows],
        y=None if y is None else y[rows],
        groups=None if groups is None else groups[rows],
        pairs=None if data.pairs is None else _renumbered(data.pairs, place, 2),
        triplets=None if data.triplets is None else _renumbered(data.triplets, place, 3),
    )
    return sample, (sample_note(len(rows), n, groups, data.seed),)


def sample_note(sample: int, n: int, groups: npt.NDArray[np.generic] | None, seed: int) -> str:
    """The card's note on a metric trained on ``sample`` of ``n`` cases."""
    by_patient = groups is not None and any(group not in (None, "") for group in groups.tolist())
    return tr_lazy(
        "Trained on {sample:,} of {n:,} cases, {how}, seed {seed}.",
        sample=sample,
        n=n,
        how=tr_lazy("stratified by finding, whole patients")
        if by_patient
        else tr_lazy("stratified by finding"),
        seed=seed,
    )


def stratified_sample(
    strata: npt.NDArray[np.generic],
    n: int,
    seed: int,
    groups: npt.NDArray[np.generic] | None = None,
    hashes: Hashes | None = None,
) -> npt.NDArray[np.intp]:
    """``n`` ascending rows with the ``strata`` (m,) in proportion, at least one of each; the same for one seed.

    With ``groups`` (m,), "" or ``None`` where unknown, whole groups are drawn, as many as fit into ``n``, or one
    of a stratum that nothing else represents. A group belongs to the rarest of its strata. ``hashes`` (m,) of the rows
    take the place of ``seed``: the smallest are drawn, or the groups whose sum is smallest.

    Raises:
        BadArguments: ``n`` is below the number of strata.
    """
    _, codes, counts = np.unique(strata, return_inverse=True, return_counts=True)
    if n < len(counts):
        raise BadArguments(
            tr_lazy("{n} cases cannot hold {n2} findings.", n=n, n2=len(counts)),
            tr_lazy("Ask for at least {n} cases.", n=len(counts)),
        )
    rng = np.random.default_rng(seed)
    units = None if groups is None else _unit_numbers(groups.tolist())
    if units is not None and int(units.max()) + 1 < len(units):
        return _whole_units(codes, counts, units, n, rng, hashes)
    ideal = counts * (min(n, len(codes)) / len(codes))
    takes = np.maximum(1, np.floor(ideal).astype(np.intp))
    while takes.sum() != min(n, len(codes)):
        step = 1 if takes.sum() < n else -1
        able = takes < counts if step > 0 else takes > 1
        takes[np.where(able, step * (ideal - takes), -np.inf).argmax()] += step
    chosen = [
        _in_turn(np.flatnonzero(codes == stratum), rng, hashes)[:take]
        for stratum, take in enumerate(takes.tolist())
    ]
    return np.sort(np.concatenate(chosen))


def _in_turn(
    members: npt.NDArray[np.intp], rng: np.random.Generator, hashes: Hashes | None
) -> npt.NDArray[np.intp]:
    """``members`` in the order in which they are drawn."""
    if hashes is None:
        return rng.permutation(members)
    return members[np.argsort(hashes[members], kind="stable")]


def _whole_units(
    codes: npt.NDArray[np.intp],
    counts: npt.NDArray[np.intp],
    units: npt.NDArray[np.intp],
    n: int,
    rng: np.random.Generator,
    hashes: Hashes | None,
) -> npt.NDArray[np.intp]:
    sizes = np.bincount(units)
    of_units = None
    if hashes is not None:
        of_units = np.zeros(len(sizes), dtype=np.uint64)
        np.add.at(of_units, units, hashes)
    rarest = np.full(len(sizes), np.iinfo(np.intp).max)
    np.minimum.at(rarest, units, np.argsort(np.argsort(counts, kind="stable"))[codes])
    chosen = np.zeros(len(sizes), dtype=np.bool_)
    for stratum in np.unique(rarest):
        members = _in_turn(np.flatnonzero(rarest == stratum), rng, of_units)
        reached = np.cumsum(sizes[members])
        fitting = int(np.searchsorted(reached, reached[-1] * min(1.0, n / len(codes)), side="right"))
        chosen[members[: max(1, fitting)]] = True
    return np.flatnonzero(chosen[units])


def _unit_numbers(groups: Iterable[object]) -> npt.NDArray[np.intp]:
    """(m,) a number for each group; a row without one is a unit of its own."""
    numbers: dict[tuple[object, int], int] = {}
    keys = ((group, -1) if group not in (None, "") else ("", row) for row, group in enumerate(groups))
    return np.array([numbers.setdefault(key, len(numbers)) for key in keys], dtype=np.intp)


def _constrained_rows(data: TrainingInput) -> Rows:
    tables = [np.asarray(data.pairs)[:, :2].ravel()] if data.pairs is not None and len(data.pairs) else []
    if data.triplets is not None and len(data.triplets):
        tables.append(np.asarray(data.triplets).ravel())
    named: Rows = (
        np.unique(np.concatenate(tables)).astype(np.int64) if tables else np.empty(0, dtype=np.int64)
    )
    return named[(named >= 0) & (named < len(data.X))]


def _renumbered(table: Rows, place: Rows, columns: int) -> Rows:
    """``table`` of rows in its first ``columns`` for the sample; rows that do not exist stay, to be refused."""
    out = np.array(table)
    if out.ndim == 2 and out.shape[1] >= columns:
        rows = out[:, :columns]
        known = (rows >= 0) & (rows < len(place))
        out[:, :columns] = np.where(known, place[np.where(known, rows, 0)], rows)
    return out
