"""The best threshold of a stump h = [(u.(x - x'))^2 >= beta] among all there are (Bi et al. 2011, 3.1, option 2).

It is found exactly and without sorting all pairs. The cases lie on a line, p = u.x, and a threshold t splits pairs by
|p_i - p_j| >= t. What lies farther from an anchor than t are two ends of the sorted cases, so the errors at some
thresholds are looked up in prefix sums of its weights. Between two of them the errors are bounded, and with them Z:
intervals that cannot hold the least Z are left out, the others are divided again, and the few pairs that remain are
sorted.
"""

from __future__ import annotations

import math
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any, Literal, NamedTuple, Self

import numpy as np
import numpy.typing as npt

from semblance.core.metrics.distance import Matrix
from semblance.core.metrics.estimators.anchored_triplets import (
    AnchorBlock,
    Floats,
    PrefixSums,
    Rows,
    SortedColumns,
    StumpWeights,
    as_slice,
)
from semblance.core.tasks import Reporter

#: Projections closer than this share of their range are the same: equal rows may differ in rounding.
DISTINCT = 1e-11
#: Z that differ by less are equal but for rounding.
EQUAL = 1e-12

#: Cells of the line for each case.
_CELLS = 64
#: Pairs processed at once: their many small arrays stay in the cache.
_BLOCK = 16_000
#: Pairs are sorted bin by bin, and only where a bin may hold the best.
_PAIRS_A_BIN, _MOST_BINS = 64, 1 << 15
#: So few pairs, or one of so many but not too many, are taken one by one rather than bounded again.
_FEW, _ENOUGH, _MANY = 150_000, 48, 3_500_000
_COARSE = 31
#: Thresholds at most at which the errors are looked up at once.
_FINE = 64
#: What is added to how far Z is above the least, where thresholds are shared out by it; the last leaves none.
_FLOORS = np.geomspace(1e-9, 2.0, 64)
#: Pairs up to which running sums are stored from one scan to the next.
_MAX_RUNNING_SUMS = 1 << 23
#: The share of anchors that is searched first to find the region of the best threshold, the least number of them, and
#: from how many times more anchors on this is done.
_SAMPLED_SHARE, _SAMPLED_LEAST, _SAMPLED_FROM = 24, 128, 5
_SUBDIVISIONS = 3
_ROUNDS = 20
#: What rounding may add to gain or loss.
_ROUNDING = {np.dtype(np.float64): 1e-13, np.dtype(np.float32): 1e-6}
#: With so few different positions all thresholds are listed.
_PLACES = 64
#: Between the places of a division: no fraction of two small numbers, for data often lie on a grid.
_OFF = 0.3819660112501051


class Stump(NamedTuple):
    """h = [(u.z)^2 >= threshold], its alpha, and Z = eps0 + eps+ e^alpha + eps- e^-alpha."""

    threshold: float
    alpha: float
    z: float


def least_z(gain: Matrix, loss: Matrix) -> Matrix:
    """The least Z over all alpha > 0: 1 - (sqrt(gain) - sqrt(loss))^2, 1 where the loss is the larger."""
    better: Matrix = np.maximum(np.sqrt(gain) - np.sqrt(loss), 0.0)
    return 1.0 - better * better


def alpha_and_z(gain: Matrix, loss: Matrix, count: float) -> tuple[Matrix, Matrix]:
    """|alpha| and Z of cuts; 0 and 1 where the loss is no smaller than the gain.

    ``gain`` is the weight of the triplets a cut orders rightly, eps- for a positive alpha; ``loss`` that of
    those it orders wrongly, eps+. In alpha both are smoothed by 1/m, m = ``count`` triplets.
    """
    gain, loss = np.maximum(gain, 0.0), np.maximum(loss, 0.0)
    alpha = 0.5 * np.log((gain + 1.0 / count) / (loss + 1.0 / count))
    z = 1.0 + loss * np.expm1(alpha) + gain * np.expm1(-alpha)
    helps = (gain > loss) & (z < 1.0)
    return np.where(helps, alpha, 0.0), np.where(helps, z, 1.0)


def best_stump_of(thresholds: Matrix, gain: Matrix, loss: Matrix, sign: float, count: float) -> Stump | None:
    """The cut with the least Z of those at ``thresholds``, alpha of this ``sign``; ``None``: none helps."""
    alpha, z = alpha_and_z(gain, loss, count)
    z = np.where(thresholds > 0.0, z, 1.0)
    place = int(z.argmin()) if len(z) else -1
    if place < 0 or not z[place] < 1.0:
        return None
    return Stump(float(thresholds[place]), sign * float(alpha[place]), float(z[place]))


def gaussian_threshold(similar: Matrix, dissimilar: Matrix) -> float:
    """Where two Gaussians fitted to the pairs' q meet between their means, else midway.

    Both arguments are (count, sum of q, sum of q^2) over unweighted pairs.
    """
    (low, low_var), (high, high_var) = sorted(
        (float(sums[1] / sums[0]), max(float(sums[2] / sums[0] - (sums[1] / sums[0]) ** 2), 0.0))
        for sums in (similar, dissimilar)
    )
    middle = 0.5 * (low + high)
    if low_var <= 0.0 or high_var <= 0.0 or low == high:
        return middle
    # In units of the distance of the means, so that no scale of the features is too large to square.
    unit = high - low
    a_var, b_var = low_var / unit**2, high_var / unit**2
    coefficients = [1.0 / a_var - 1.0 / b_var, 2.0 / b_var, -1.0 / b_var + math.log(a_var / b_var)]
    roots = np.roots(coefficients)
    real = sorted(float(root.real) for root in roots if abs(root.imag) < 1e-9 and 0.0 < root.real < 1.0)
    return low + unit * real[0] if real else middle


class SortedPlaces:
    """Places ``p`` (n,), ascending and not all equal, with equal cells in which few of them fall.

    The cell of a place rises with it, rounding included, so that a search is needed only in cells that are
    not empty.
    """

    def __init__(self, p: Matrix) -> None:
        self.p = p
        self._cells = _CELLS * len(p)
        self._first = float(p[0])
        self._scale = self._cells / (float(p[-1]) - self._first)
        inside = np.bincount(self._cell(p), minlength=self._cells + 3)
        #: How many lie in the cells before each one.
        self._start = np.concatenate([[0], np.cumsum(inside)])

    def count(self, q: Matrix, *, inclusive: bool) -> Rows:
        """How many lie below each of ``q``, of any shape; ``inclusive``: those at it, too."""
        cell = self._cell(q)
        count: Rows = self._start.take(cell)
        cell += 1
        shared = np.flatnonzero(self._start.take(cell) != count)
        side: Literal["left", "right"] = "right" if inclusive else "left"
        count.reshape(-1)[shared] = np.searchsorted(self.p, q.reshape(-1)[shared], side=side)
        return count

    def _cell(self, q: Matrix) -> Rows:
        """From 0, below all, to the number of cells + 2, above all."""
        place = (q - self._first) * self._scale
        place += 1.0
        np.clip(place, 0.0, self._cells + 2.0, out=place)
        return place.astype(np.int64)


class ThresholdWindows(NamedTuple):
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


def best_stump_inside(
    search: StumpSearch, windows: ThresholdWindows, pairs: int, found: Stump | None
) -> Stump | None:
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
    best = float(alpha_and_z(gain, loss, search.triplets.count)[1].min())
    included = bound <= (best if found is None else min(best, found.z))
    chosen = _joined(parts, included)
    cut = _best_of_sorted(search, chosen, windows.low[chosen.bin // bins], gain, loss)
    if cut is None or found is None:
        return cut or found
    # Unless it was listed, a threshold found before stands anywhere between two pairs: midway is better.
    return cut if cut.z < found.z + (-EQUAL if search.listed else EQUAL) else found


def _joined(parts: list[_Pairs], included: npt.NDArray[np.bool_]) -> _Pairs:
    """The pairs in bins ``included``, those farthest apart first."""
    places = [np.flatnonzero(included[part.bin]) for part in parts]
    columns: list[Any] = [
        np.concatenate([values[rows] for values, rows in zip(column, places, strict=True)])
        for column in zip(*parts, strict=True)
    ]
    order = np.argsort(columns[1])[::-1]
    return _Pairs(*(values[order] for values in columns))


def _best_of_sorted(
    search: StumpSearch, pairs: _Pairs, low: Matrix, gain: Matrix, loss: Matrix
) -> Stump | None:
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
    return best_stump_of(middle, sums[0][cuts], sums[1][cuts], search.sign, search.triplets.count)


def _changes(
    search: StumpSearch,
    block: AnchorBlock,
    columns: SortedColumns,
    here: Matrix,
    windows: ThresholdWindows,
    bins: int,
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


@dataclass(frozen=True, eq=False)
class _ScannedThresholds:
    """What is known at thresholds ``t`` (G,) and, with 0 and infinity about them, in the bins between.

    ``beyond`` (G,) pairs are cut by each, and ``z`` (G,) is its Z; ``bound`` (G + 1,) is no more than Z
    anywhere in a bin; ``pairs`` (G + 1,) lie in it; ``own`` and ``rest`` (G, B) are the shares of both sides
    beyond each threshold.
    """

    t: Matrix
    beyond: Matrix
    z: Matrix
    bound: Matrix
    pairs: Matrix
    own: Matrix
    rest: Matrix

    @property
    def edges(self) -> Matrix:
        return np.concatenate([[0.0], self.t, [np.inf]])


class StumpSearch:
    """The search along one projection (n,) for the cut with the least Z whose alpha has this ``sign``."""

    def __init__(self, triplets: StumpWeights, projection: Matrix, sign: float, reporter: Reporter) -> None:
        self.triplets, self.projection, self.sign, self.reporter = triplets, projection, sign, reporter
        self.shares = triplets.shares
        self.range = float(np.ptp(projection))
        self._by_p = np.argsort(projection, kind="stable")
        self._places = SortedPlaces(projection[self._by_p])
        self._columns: dict[int, SortedColumns] = {}
        self._sums: dict[str, tuple[PrefixSums, PrefixSums]] = {}
        self._all = len(triplets.at) * len(projection)
        #: All thresholds there are, where they are few.
        self._cuts = _all_cuts(np.sort(projection[triplets.at]), self._places.p, DISTINCT * self.range)

    def best(self) -> Stump | None:
        """``None`` where no cut has Z < 1."""
        if not self.range > 0.0 or (self._cuts is not None and not len(self._cuts)):
            return None
        anchors = len(self.triplets.at)
        if self._all <= _FEW:
            return best_stump_inside(self, ThresholdWindows.everything(anchors), self._all, None)
        scan, found = self._coarse_scan()
        included = self._included(scan, found)
        before = np.inf
        for _ in range(_ROUNDS):
            left = float(scan.pairs[included].sum())
            # Equal distances cannot be parted, however often they are divided.
            if left <= max(_FEW, min(self._all / _ENOUGH, _MANY)) or left > 0.9 * before:
                break
            before = left
            last, scan = scan, self._scan(self._subdivided_bins(scan, included), known=scan)
            cuts = [cut for cut in (found, self._at_thresholds(scan)) if cut is not None]
            found = min(cuts, key=lambda cut: cut.z, default=None)
            inside = included[np.searchsorted(last.edges, scan.edges[:-1], side="right") - 1]
            included = self._included(scan, found) & inside
        # Neighbouring bins together.
        ends = np.flatnonzero(np.diff(np.concatenate([[False], included, [False]])))
        low, high = ends[::2], ends[1::2]
        nothing = np.zeros((1, anchors))
        own, rest = np.concatenate([scan.own, nothing]), np.concatenate([scan.rest, nothing])
        windows = ThresholdWindows(scan.edges[low], scan.edges[high], own[high - 1], rest[high - 1])
        return best_stump_inside(self, windows, int(scan.pairs[included].sum()), found)

    @property
    def listed(self) -> bool:
        """Whether all tried thresholds are among those listed."""
        return self._cuts is not None

    def errors_at(self, threshold: float) -> tuple[Matrix, Matrix]:
        """Gain and loss (1,), for :func:`.stumps.alpha_and_z`, at a threshold on squares."""
        scan = self._scan(np.array([np.sqrt(threshold)]))
        return self.gain_and_loss(scan.own, scan.rest)

    def gain_and_loss(self, own: Matrix, rest: Matrix) -> tuple[Matrix, Matrix]:
        """eps- and eps+ (for a negative sign: eps+ and eps-) from the anchors' shares beyond thresholds."""
        if self.sign < 0.0:
            own, rest = rest, own
        return ((1.0 - own) * rest) @ self.shares, (own * (1.0 - rest)) @ self.shares

    def blocks(
        self, chosen: Rows | None = None, size: int = 0
    ) -> Iterator[tuple[AnchorBlock, SortedColumns, Matrix]]:
        """Anchors, the columns as they see them, and their places on the line.

        ``chosen`` and ``size`` are those of :meth:`AnchoredTriplets.blocks`.
        """
        triplets = self.triplets
        p = self.projection[triplets.at]
        for block in triplets.blocks(chosen, size):
            self.reporter.check_cancelled()
            if block.finding not in self._columns:
                same = triplets.codes[self._by_p] == block.finding
                order = np.concatenate([self._by_p[same], self._by_p[~same]])
                before = np.concatenate([[0], np.cumsum(same)])
                columns = SortedColumns(order, self.projection[order], int(before[-1]), before)
                self._columns[block.finding] = columns
            yield block, self._columns[block.finding], p[as_slice(block.anchors)]

    def _coarse_scan(self) -> tuple[_ScannedThresholds, Stump | None]:
        """Bounds at coarse thresholds, or where anchors are many, at those that part of them chose."""
        rng = np.random.default_rng(0)
        triplets, anchors = self.triplets, len(self.triplets.at)
        i = triplets.at[rng.integers(anchors, size=4096)]
        apart = np.abs(self.projection[i] - self.projection[rng.integers(len(self.projection), size=4096)])
        places = np.arange(1.0, _COARSE + 1.0) / (_COARSE + 1.0)
        # Off the values themselves, by far more than rounding.
        t = self._snapped(np.unique(np.quantile(apart[apart > DISTINCT * self.range], places) * (1.0 + 1e-9)))
        few = max(_SAMPLED_LEAST, anchors // _SAMPLED_SHARE)
        if anchors >= _SAMPLED_FROM * few:
            chosen = triplets.sampled(few)
            scan = self._scan(t, chosen)
            for _ in range(_SUBDIVISIONS):
                t = np.union1d(scan.t, self._subdivided_bins(scan, scan.bound <= scan.z.min()))
                scan = self._scan(t, chosen, scan)
        scan = self._scan(t)
        return scan, self._at_thresholds(scan)

    def _subdivided_bins(self, scan: _ScannedThresholds, included: npt.NDArray[np.bool_]) -> Matrix:
        """Thresholds in the bins ``included``, the more of them, the lower the bound below the least Z known.

        A bin must be narrow where Z is near its least value, and may be wide where it is not.
        """
        ends = np.concatenate([[1.0], scan.z, [1.0]])
        known = np.minimum(ends[:-1], ends[1:])
        above = known - known.min()
        gap = np.where(included, np.maximum(known - scan.bound, 0.0), 0.0)
        edges = scan.edges
        edges[-1] = max(self.range * (1.0 + 1e-6), edges[-2] * (1.0 + 1e-6))
        counts = np.maximum(np.ceil(1.5 * gap / (above + _FLOORS[:, np.newaxis])) - 1.0, 0.0)
        more = counts[int((counts.sum(axis=1) <= _FINE).argmax())].astype(np.int64)
        number = np.arange(more.sum()) - np.repeat(np.cumsum(more) - more, more) + 1.0
        inside = np.repeat(edges[:-1], more) + np.repeat(np.diff(edges) / np.maximum(more, 1), more) * (
            number - _OFF
        )
        return self._snapped(
            np.unique(np.concatenate([edges[:-1][included], edges[1:-1][included[:-1]], inside]))
        )

    def _snapped(self, t: Matrix) -> Matrix:
        """Where cases stand at few places: the next thresholds midway between two squares, or the last."""
        t = t[t > 0.0]
        if self._cuts is None:
            return t
        return np.unique(self._cuts[np.minimum(np.searchsorted(self._cuts, t), len(self._cuts) - 1)])

    def _included(self, scan: _ScannedThresholds, found: Stump | None) -> npt.NDArray[np.bool_]:
        """The bins that may hold a better cut than ``found``."""
        edges = scan.edges
        if self._cuts is None:
            edges[-1] = max(self.range * (1.0 + 1e-6), edges[-2])
            wide = np.diff(edges) > DISTINCT * self.range
        else:
            wide = np.diff(np.searchsorted(self._cuts, edges)) > 1
            wide[0] = edges[1] > self._cuts[0]
            wide[-1] = edges[-2] < self._cuts[-1]
        included: npt.NDArray[np.bool_] = wide & (scan.bound <= (1.0 if found is None else found.z))
        return included

    def _at_thresholds(self, scan: _ScannedThresholds) -> Stump | None:
        gain, loss = self.gain_and_loss(scan.own, scan.rest)
        return best_stump_of(scan.t**2, gain, loss, self.sign, self.triplets.count)

    def _scan(
        self, t: Matrix, chosen: Rows | None = None, known: _ScannedThresholds | None = None
    ) -> _ScannedThresholds:
        """Ascending thresholds ``t`` > 0, by all anchors or a sample of them; ``known``: some already are."""
        at = self.triplets.at if chosen is None else self.triplets.at[chosen]
        n, anchors = len(self.projection), len(at)
        own, rest = np.zeros((2, len(t), anchors), dtype=self.triplets.kind)
        beyond = np.zeros(len(t))
        new = np.ones(len(t), dtype=np.bool_)
        if known is not None:
            place = np.minimum(np.searchsorted(known.t, t), len(known.t) - 1)
            new = known.t[place] != t
            old = place[~new]
            own[~new], rest[~new], beyond[~new] = known.own[old], known.rest[old], known.beyond[old]
        here, off = self.projection[at], t[new, np.newaxis]
        # Of all anchors at once where that takes little memory: fewer calls.
        whole = self._counts(here, off) if self._all <= _MAX_RUNNING_SUMS else None
        first = 0
        for block, columns, _ in self.blocks(chosen):
            similar, dissimilar = self._running(block, columns, chosen is not None)
            last = first + len(block.anchors)
            counts = [side[:, first:last] for side in whole] if whole else self._counts(here[first:last], off)
            beyond[new] += (counts[0] - counts[1]).sum(axis=1) + n * (last - first)
            own_counts = [columns.own_before.take(count) for count in counts]
            others = [count - owned for count, owned in zip(counts, own_counts, strict=True)]
            own[new, first:last] = similar.beyond(*own_counts)
            rest[new, first:last] = dissimilar.beyond(*others)
            first = last
        # A sample was drawn by its shares.
        share = self.shares if chosen is None else np.full(anchors, 1.0 / anchors)
        near, far = (own, rest) if self.sign > 0.0 else (rest, own)
        gain, loss = ((1.0 - near) * far) @ share, (near * (1.0 - far)) @ share
        # In a bin nothing is better than all far cases beyond its low end, no near one beyond its high end.
        best_gain = np.concatenate(
            [(1.0 - near[:1]) @ share, ((1.0 - near[1:]) * far[:-1]) @ share, far[-1:] @ share]
        )
        best_loss = np.concatenate([[0.0], (near[1:] * (1.0 - far[:-1])) @ share, [0.0]])
        slack = _ROUNDING[self.triplets.kind]
        bound = least_z(best_gain + slack, np.maximum(best_loss - slack, 0.0)) - EQUAL
        z = alpha_and_z(gain, loss, self.triplets.count)[1]
        pairs = -np.diff(np.concatenate([[n * anchors], beyond, [0.0]]))
        return _ScannedThresholds(t, beyond, z, bound, pairs, own, rest)

    def _counts(self, here: Matrix, off: Matrix) -> list[Rows]:
        """(g, b) each: how many cases lie farther than ``off`` (g, 1) below, and how many do not above."""
        line = self._places
        return [line.count(here - off, inclusive=True), line.count(here + off, inclusive=False)]

    def _running(
        self, block: AnchorBlock, columns: SortedColumns, sample: bool
    ) -> tuple[PrefixSums, PrefixSums]:
        if not sample and self._all > _MAX_RUNNING_SUMS:
            return self.triplets.prefix_sums(block, columns, "passing")
        name = f"{'sample' if sample else 'all'} {block.anchors[0]}"
        if name not in self._sums:
            self._sums[name] = self.triplets.prefix_sums(block, columns, name)
        return self._sums[name]


def _all_cuts(anchors: Matrix, p: Matrix, same: float) -> Matrix | None:
    """The thresholds between any two different |p_i - p_j|, ``None`` where they are many.

    i are the ``anchors``, and both arrays ascend; closer than ``same`` is equal.
    """
    places = p[np.diff(p, prepend=-np.inf) > same]
    if len(places) > _PLACES:
        return None
    anchors = anchors[np.diff(anchors, prepend=-np.inf) > same]
    values = np.sort(np.abs(anchors[:, np.newaxis] - places), axis=None)
    values = values[np.diff(values, prepend=-np.inf) > same]
    cuts: Matrix = np.sqrt(0.5 * (values[1:] ** 2 + values[:-1] ** 2))
    return cuts


class StumpTriplets(StumpWeights):
    """The weights of all triplets under the stumps found so far, and the search for the next stump."""

    def best_stump(self, direction: Matrix, sign: float, reporter: Reporter) -> Stump | None:
        """The cut of all pairs' (``direction`` . z)^2 with the least Z, its alpha of this sign.

        ``None`` where no cut has Z < 1.
        """
        return StumpSearch(self, self.X @ direction, sign, reporter).best()

    def gaussian_stump(self, direction: Matrix, sign: float, reporter: Reporter) -> Stump | None:
        """The cut between two Gaussians, of the similar and of the dissimilar pairs; else the same."""
        projection = self.X @ direction
        threshold = gaussian_threshold(*self._moments(projection))
        gain, loss = StumpSearch(self, projection, sign, reporter).errors_at(threshold)
        return best_stump_of(np.array([threshold]), gain, loss, sign, self.count)

    def _moments(self, projection: Matrix) -> tuple[Matrix, Matrix]:
        """(count, sum of q, sum of q^2) over the anchors' similar and over their dissimilar pairs.

        q = (p_i - p_j)^2, from sums of powers of p.
        """
        centred = projection - projection.mean()
        powers = centred[:, np.newaxis] ** np.arange(5)
        findings = len(self._own)
        cases = np.stack([powers[own].sum(axis=0) for own in self._own])
        anchors = np.zeros((findings, 5))
        np.add.at(anchors, self.codes[self.at], powers[self.at])
        similar = _paired(anchors, cases)
        similar[0] -= len(self.at)
        return similar, _paired(anchors, cases.sum(axis=0) - cases)


def _paired(a: Matrix, b: Matrix) -> Matrix:
    """(3,) sums of 1, (p - p')^2 and (p - p')^4 from sums of powers (f, 5) of both sides, over all f."""
    second = a[:, 2] * b[:, 0] - 2.0 * a[:, 1] * b[:, 1] + a[:, 0] * b[:, 2]
    fourth = (
        a[:, 4] * b[:, 0]
        - 4.0 * a[:, 3] * b[:, 1]
        + 6.0 * a[:, 2] * b[:, 2]
        - 4.0 * a[:, 1] * b[:, 3]
        + a[:, 0] * b[:, 4]
    )
    return np.array([(a[:, 0] * b[:, 0]).sum(), second.sum(), fourth.sum()])
