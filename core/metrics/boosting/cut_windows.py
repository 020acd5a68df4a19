"""The pairs that may hold the best threshold, one by one: what each adds to the errors, in order."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, NamedTuple, Self

import numpy as np
import numpy.typing as npt

from semblance.core.metrics.boosting.anchored_triplets import Block, Floats, Rows
from semblance.core.metrics.boosting.stumps import DISTINCT, EQUAL, Cut, best_of, least_z, weighed
from semblance.core.metrics.distance import Matrix

if TYPE_CHECKING:
    from semblance.core.metrics.boosting.stump_search import CutSearch

#: Pairs taken at once: the many small arrays they make stay in the cache.
_BLOCK = 16_000
#: Pairs are sorted bin by bin, and only where a bin may hold the best.
_PAIRS_A_BIN, _MOST_BINS = 64, 1 << 15


@dataclass(frozen=True, eq=False)
class SortedColumns:
    """The cases as the anchors of one finding see them: its own by p, then the others by p.

    ``order`` (n,) the case at each place, ``p`` (n,) in that order; the first ``n_own`` have the finding.
    ``own_before`` (n + 1,) are how many have it among so many cases that come first on the line.
    """

    order: Rows
    p: Matrix
    n_own: int
    own_before: Rows


class Windows(NamedTuple):
    """Thresholds from ``low`` to ``high`` (w,), ascending and apart.

    ``own`` and ``rest`` (w, B) are each anchor's shares beyond the high ends.
    """

    low: Matrix
    high: Matrix
    own: Matrix
    rest: Matrix

    @classmethod
    def everything(cls, anchors: int) -> Self:
        """One of all pairs."""
        return cls(np.zeros(1), np.array([np.inf]), *np.zeros((2, 1, anchors)))


class _Pairs(NamedTuple):
    """Some pairs: the bin of each, |p_i - p_j|, and what joining those beyond adds to gain and loss."""

    bin: npt.NDArray[np.int32]
    apart: Matrix
    gain: Floats
    loss: Floats


def best_inside(search: CutSearch, windows: Windows, pairs: int, found: Cut | None) -> Cut | None:
    """The best cut inside the windows, which hold about so many ``pairs``, or ``found`` if none is better."""
    if not len(windows.low):
        return found
    bins = min(max(pairs // _PAIRS_A_BIN, len(windows.low)), _MOST_BINS) // len(windows.low)
    count = bins * len(windows.low)
    parts, totals = [], np.zeros((2, 2, count))
    anchors = windows.own.shape[1]
    for block, columns, here in search.blocks(size=max(4, anchors * _BLOCK // max(1, pairs))):
        part, cases = _changes(search, block, columns, here, windows, bins)
        parts.append(part)
        # Near cases can only lower the gain and raise the loss, far ones the other way.
        kinds = part.bin + count * cases
        for total, values in zip(totals, (part.gain, part.loss), strict=True):
            total += np.bincount(kinds, values, 2 * count).reshape(2, count)
    # Gain and loss at the high end of each bin, and the best they may come to in it.
    gain, loss = (
        (end[:, np.newaxis] + total.sum(axis=1, keepdims=True) - np.cumsum(total, axis=1)).ravel()
        for end, total in zip(
            search.gain_and_loss(windows.own, windows.rest),
            totals.sum(axis=1).reshape(2, -1, bins),
            strict=True,
        )
    )
    bound = least_z(np.maximum(gain + totals[0, 1], 0.0), np.maximum(loss + totals[1, 1], 0.0)) - EQUAL
    best = float(weighed(gain, loss, search.triplets.count)[1].min())
    kept = bound <= (best if found is None else min(best, found.z))
    chosen = _joined(parts, kept)
    cut = _best_of_sorted(search, chosen, windows.low[chosen.bin // bins], gain, loss)
    if cut is None or found is None:
        return cut or found
    # Unless it was listed, a threshold found before stands anywhere between two pairs: midway is better.
    return cut if cut.z < found.z + (-EQUAL if search.listed else EQUAL) else found


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
) -> tuple[_Pairs, npt.NDArray[np.bool_]]:
    """The pairs of a block's anchors, ``here`` on the line, in the windows; and which are of far cases.

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
    np.clip(within, 0.0, bins * (1.0 - 1e-12), out=within)
    # Rows and windows stay together, so what is repeated for them needs no sorting.
    order = _sorted_within(within * (1.0 / bins), by_group)
    own, apart, weight, within = own.take(order), apart.take(order), weight.take(order), within.take(order)
    ends = np.cumsum(by_group)
    # Both sides in one sum: what is beyond of the anchor's own finding, and of the rest.
    on = np.empty(len(own), dtype=np.complex128)
    on.real = weight * own
    on.imag = weight - on.real
    running = np.cumsum(on)
    shares = (windows.own[:, block.anchors] + 1j * windows.rest[:, block.anchors]).T.reshape(-1)
    beyond = np.repeat(shares + np.append(0.0, running)[ends], by_group) - running
    met = np.where(own, beyond.imag, beyond.real)
    weight *= np.repeat(search.shares[block.anchors], by_row)
    far = ~own if search.sign > 0.0 else own
    gain = far * weight
    met *= weight
    loss = weight - gain
    loss -= met
    gain -= met
    kind = search.triplets.kind
    bin_ = np.repeat(np.tile(np.arange(count, dtype=np.int32) * bins, len(here)), by_group)
    bin_ += within.astype(np.int32)
    return _Pairs(bin_, apart, gain.astype(kind, copy=False), loss.astype(kind, copy=False)), far


def _sorted_within(values: Matrix, sizes: Rows) -> Rows:
    """The order of ``values`` (p,), from 0 to below 1, within groups of ``sizes`` that stand together.

    The place is packed into the low bits: sorting whole numbers is faster than sorting places by them.
    """
    places = max(1, len(values).bit_length())
    groups = max(1, len(sizes).bit_length())
    key = (values * 2.0 ** (63 - places - groups)).astype(np.int64)
    key += np.repeat(np.arange(len(sizes)) << (63 - places - groups), sizes)
    key <<= places
    key |= np.arange(len(values))
    key.sort()
    return key & ((1 << places) - 1)


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
