"""The pairs that may hold the best threshold, one by one: what each adds to the errors, in order."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, NamedTuple, Self

import numpy as np
import numpy.typing as npt

from core.metrics.anchored_triplets import Block, Floats, Rows
from core.metrics.cut import DISTINCT, EQUAL, Cut, best_of, least_z, weighed
from core.metrics.distance import Matrix

if TYPE_CHECKING:
    from core.metrics.vote_cuts import CutSearch

#: Pairs are sorted bin by bin, and only where a bin may hold the best.
_PAIRS_A_BIN, _MOST_BINS = 64, 1 << 15


@dataclass(frozen=True, eq=False)
class SortedColumns:
    """The cases as the anchors of one finding see them: its own by p, then the others by p.

    ``order`` (n,) the case at each place, ``place`` (n,) the place of each case, ``p`` (n,) in that order;
    the first ``n_own`` have the finding.
    """

    order: Rows
    place: Rows
    p: Matrix
    n_own: int


class Windows(NamedTuple):
    """Thresholds from ``low`` to ``high`` (w,), ascending and apart.

    ``own`` and ``rest`` (B, w) are each anchor's shares beyond the high ends.
    """

    low: Matrix
    high: Matrix
    own: Matrix
    rest: Matrix

    @classmethod
    def everything(cls, anchors: int) -> Self:
        nothing = np.zeros((anchors, 1))
        return cls(np.zeros(1), np.array([np.inf]), nothing, nothing)


class _Pairs(NamedTuple):
    """Some pairs: the bin of each, |p_i - p_j|, and what joining those beyond adds to gain and loss."""

    bin: npt.NDArray[np.int32]
    apart: Matrix
    gain: Floats
    loss: Floats


def best_inside(search: CutSearch, windows: Windows, pairs: float, found: Cut | None) -> Cut | None:
    """The best cut inside the windows, which hold about so many ``pairs``, or ``found`` if none is better."""
    if not len(windows.low):
        return found
    bins = int(np.clip(pairs / _PAIRS_A_BIN, len(windows.low), _MOST_BINS)) // len(windows.low)
    count = bins * len(windows.low)
    parts, totals = [], np.zeros((4, count))
    for block, columns, here in search.blocks():
        part = _changes(search, block, columns, here, windows, bins)
        parts.append(part)
        signed = (part.gain, part.loss, np.maximum(part.gain, 0.0), np.minimum(part.loss, 0.0))
        for total, values in zip(totals, signed, strict=True):
            total += np.bincount(part.bin, values, count)
    # Gain and loss at the high end of each bin, and the best they may come to in it.
    ends = [values[:, np.newaxis] for values in search.gain_and_loss(windows.own, windows.rest)]
    gain, loss = (
        (end + total.sum(axis=1, keepdims=True) - np.cumsum(total, axis=1)).ravel()
        for end, total in zip(ends, totals[:2].reshape(2, -1, bins), strict=True)
    )
    bound = least_z(np.maximum(gain + totals[2], 0.0), np.maximum(loss + totals[3], 0.0)) - EQUAL
    best = float(weighed(gain, loss, search.triplets.count)[1].min())
    kept = bound <= (best if found is None else min(best, found.z))
    chosen = _joined(parts, kept)
    cut = _best_of_sorted(search, chosen, windows.low[chosen.bin // bins], gain, loss)
    # A threshold between bins stands somewhere between two pairs; midway is the better place.
    return cut if cut is not None and (found is None or cut.z < found.z + EQUAL) else found


def _joined(parts: list[_Pairs], kept: npt.NDArray[np.bool_]) -> _Pairs:
    """The pairs in bins ``kept``, those farthest apart first."""
    taken = [np.flatnonzero(kept[part.bin]) for part in parts]
    columns: list[Any] = [
        np.concatenate([values[rows] for values, rows in zip(column, taken, strict=True)])
        for column in zip(*parts, strict=True)
    ]
    order = np.argsort(columns[1])[::-1]
    return _Pairs(*(values[order] for values in columns))


def _best_of_sorted(search: CutSearch, pairs: _Pairs, low: Matrix, gain: Matrix, loss: Matrix) -> Cut | None:
    """The best cut behind one of the ``pairs``; ``gain`` and ``loss`` are those at the high ends of bins."""
    if not len(pairs.bin):
        return None
    first = np.flatnonzero(np.diff(pairs.bin, prepend=-1))
    size = np.diff(np.append(first, len(pairs.bin)))
    sums = []
    for changes, at_end in ((pairs.gain, gain), (pairs.loss, loss)):
        running = np.cumsum(changes, dtype=np.float64)
        before = np.append(0.0, running)[first]
        sums.append(running + np.repeat(at_end[pairs.bin[first]] - before, size))
    # Behind the last pair of a window the threshold may stand anywhere above its low end.
    after = np.maximum(np.append(pairs.apart[1:], 0.0), low)
    cuts = np.flatnonzero(pairs.apart - after > DISTINCT * search.range)
    middle = 0.5 * (pairs.apart[cuts] ** 2 + after[cuts] ** 2)
    return best_of(middle, sums[0][cuts], sums[1][cuts], search.sign, search.triplets.count)


def _changes(
    search: CutSearch, block: Block, columns: SortedColumns, here: Matrix, windows: Windows, bins: int
) -> _Pairs:
    """The pairs of a block's anchors, ``here`` on the line, in the windows.

    From far to near: a pair that joins those beyond the threshold meets, on the other side of its anchor's
    triplets, what is beyond already and what is not.
    """
    count = len(windows.low)
    place, sizes = _between(columns, here, windows.low, windows.high)
    by_row, by_group = sizes.sum(axis=1), sizes.reshape(-1)
    own = place < columns.n_own
    apart = np.abs(columns.p.take(place) - np.repeat(here, by_row))
    weight = search.triplets.some_weights(block, by_row, columns.order.take(place), own)
    low = np.repeat(np.tile(windows.low, len(here)), by_group)
    scale = bins / (np.minimum(windows.high, search.range * (1.0 + 1e-9)) - windows.low)
    within = (apart - low) * np.repeat(np.tile(scale, len(here)), by_group)
    np.clip(within, 0.0, bins * (1.0 - 1e-15), out=within)
    group = np.repeat(np.arange(len(by_group)), by_group)
    # Rows and windows stay together, so what is repeated for them needs no sorting.
    order = np.argsort(group + within * (0.999 / bins))
    own, apart, weight, within = own.take(order), apart.take(order), weight.take(order), within.take(order)
    ends = np.cumsum(by_group)
    on_own = weight * own
    beyond = []
    for shares, weights in ((windows.own, on_own), (windows.rest, weight - on_own)):
        running = np.cumsum(weights)
        at_end = np.append(0.0, running)[ends]
        beyond.append(np.repeat(shares[block.anchors].reshape(-1) + at_end, by_group) - running)
    met = np.where(own, beyond[1], beyond[0])
    weight *= np.repeat(search.shares[block.anchors], by_row)
    gain, loss = (~own - met) * weight, (own - met) * weight
    if search.sign < 0.0:
        gain, loss = loss, gain
    kind = search.triplets.kind
    bin_ = np.repeat(np.tile(np.arange(count, dtype=np.int32) * bins, len(here)), by_group)
    bin_ += within.astype(np.int32)
    return _Pairs(bin_, apart, gain.astype(kind, copy=False), loss.astype(kind, copy=False))


def _between(columns: SortedColumns, here: Matrix, low: Matrix, high: Matrix) -> tuple[Rows, Rows]:
    """Places at a distance from ``low`` (w,) up to below ``high`` of ``here`` (b,), row by row.

    Flat, with (b, w) how many there are for each row and window.
    """
    starts, ends = [], []
    below, above = (here - low[:, np.newaxis], here - high[:, np.newaxis]), here + low[:, np.newaxis]
    for first, p in ((0, columns.p[: columns.n_own]), (columns.n_own, columns.p[columns.n_own :])):
        middle = np.searchsorted(p, here)
        starts.append(first + np.searchsorted(p, below[1], side="right"))
        ends.append(first + np.minimum(np.searchsorted(p, below[0], side="right"), middle))
        starts.append(first + np.maximum(np.searchsorted(p, above), middle))
        ends.append(first + np.searchsorted(p, here + high[:, np.newaxis]))
    start = np.stack(starts).T
    size = np.stack(ends).T - start
    flat = size.reshape(-1)
    offset = start.reshape(-1) - np.cumsum(flat) + flat
    return np.arange(int(flat.sum())) + np.repeat(offset, flat), size.sum(axis=2)
