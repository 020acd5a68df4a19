"""The best threshold among all there are, exactly and without sorting all pairs.

The cases lie on a line, p = u.x, and a threshold t cuts pairs by |p_i - p_j| >= t. What lies farther from an
anchor than t are two ends of the sorted cases, so the errors at some thresholds are looked up in running sums
of its weights. Between two of them the errors are bounded, and with them Z: intervals that cannot hold the
least Z are left out, the others divided anew, and the few pairs that remain are sorted.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np
import numpy.typing as npt

from semblance.core.metrics.boosting.anchored_triplets import Block, Rows, run
from semblance.core.metrics.boosting.cut_windows import SortedColumns, Windows, best_inside
from semblance.core.metrics.boosting.line import Line
from semblance.core.metrics.boosting.running_sums import RunningSums
from semblance.core.metrics.boosting.stumps import DISTINCT, EQUAL, Cut, best_of, least_z, weighed
from semblance.core.metrics.distance import Matrix
from semblance.core.tasks import Reporter

if TYPE_CHECKING:
    from semblance.core.metrics.boosting.vote_triplets import VoteTriplets

#: So few pairs, or one of so many but not too many, are taken one by one rather than bounded again.
_FEW, _ENOUGH, _MANY = 150_000, 48, 3_500_000
_COARSE = 31
#: Thresholds at most at which the errors are looked up at once.
_FINE = 64
#: What is added to how far Z is above the least, where thresholds are shared out by it; the last leaves none.
_FLOORS = np.geomspace(1e-9, 2.0, 64)
#: Pairs up to which running sums are kept from one look to the next.
_KEPT = 1 << 23
#: Part of the anchors that tells where to look closely, how few are worth it, and of how many times more.
_SAMPLED_SHARE, _SAMPLED_LEAST, _SAMPLED_FROM = 24, 128, 5
_LOOKS = 3
_ROUNDS = 20
#: What rounding may add to gain or loss.
_ROUNDING = {np.dtype(np.float64): 1e-13, np.dtype(np.float32): 1e-6}
#: So few different places on the line that all thresholds may be listed.
_PLACES = 64
#: Between the places of a division: no fraction of two small numbers, for data often lie on a grid.
_OFF = 0.3819660112501051


@dataclass(frozen=True, eq=False)
class _Scan:
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


class CutSearch:
    """The search along one projection (n,) for the cut with the least Z whose alpha has this ``sign``."""

    def __init__(self, triplets: VoteTriplets, projection: Matrix, sign: float, reporter: Reporter) -> None:
        self.triplets, self.projection, self.sign, self.reporter = triplets, projection, sign, reporter
        self.shares = triplets.shares
        self.range = float(np.ptp(projection))
        self._by_p = np.argsort(projection, kind="stable")
        self._line = Line(projection[self._by_p])
        self._columns: dict[int, SortedColumns] = {}
        self._sums: dict[str, tuple[RunningSums, RunningSums]] = {}
        self._all = len(triplets.at) * len(projection)
        #: All thresholds there are, where they are few.
        self._cuts = _all_cuts(np.sort(projection[triplets.at]), self._line.p, DISTINCT * self.range)

    def best(self) -> Cut | None:
        """``None`` where no cut has Z < 1."""
        if not self.range > 0.0 or (self._cuts is not None and not len(self._cuts)):
            return None
        anchors = len(self.triplets.at)
        if self._all <= _FEW:
            return best_inside(self, Windows.everything(anchors), self._all, None)
        scan, found = self._first_look()
        kept = self._kept(scan, found)
        before = np.inf
        for _ in range(_ROUNDS):
            left = float(scan.pairs[kept].sum())
            # Equal distances cannot be parted, however often they are divided.
            if left <= max(_FEW, min(self._all / _ENOUGH, _MANY)) or left > 0.9 * before:
                break
            before = left
            last, scan = scan, self._scan(self._divided(scan, kept), known=scan)
            cuts = [cut for cut in (found, self._at_thresholds(scan)) if cut is not None]
            found = min(cuts, key=lambda cut: cut.z, default=None)
            inside = kept[np.searchsorted(last.edges, scan.edges[:-1], side="right") - 1]
            kept = self._kept(scan, found) & inside
        # Neighbouring bins together.
        ends = np.flatnonzero(np.diff(np.concatenate([[False], kept, [False]])))
        low, high = ends[::2], ends[1::2]
        nothing = np.zeros((1, anchors))
        own, rest = np.concatenate([scan.own, nothing]), np.concatenate([scan.rest, nothing])
        windows = Windows(scan.edges[low], scan.edges[high], own[high - 1], rest[high - 1])
        return best_inside(self, windows, int(scan.pairs[kept].sum()), found)

    @property
    def listed(self) -> bool:
        """Whether all thresholds looked at are among those listed."""
        return self._cuts is not None

    def errors_at(self, threshold: float) -> tuple[Matrix, Matrix]:
        """Gain and loss (1,), for :func:`semblance.core.metrics.boosting.stumps.weighed`, at a threshold on squares."""
        scan = self._scan(np.array([np.sqrt(threshold)]))
        return self.gain_and_loss(scan.own, scan.rest)

    def gain_and_loss(self, own: Matrix, rest: Matrix) -> tuple[Matrix, Matrix]:
        """eps- and eps+ (for a negative sign: eps+ and eps-) from the anchors' shares beyond thresholds."""
        if self.sign < 0.0:
            own, rest = rest, own
        return ((1.0 - own) * rest) @ self.shares, (own * (1.0 - rest)) @ self.shares

    def blocks(
        self, chosen: Rows | None = None, size: int = 0
    ) -> Iterator[tuple[Block, SortedColumns, Matrix]]:
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
            yield block, self._columns[block.finding], p[run(block.anchors)]

    def _first_look(self) -> tuple[_Scan, Cut | None]:
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
            seen = self._scan(t, chosen)
            for _ in range(_LOOKS):
                t = np.union1d(seen.t, self._divided(seen, seen.bound <= seen.z.min()))
                seen = self._scan(t, chosen, seen)
        scan = self._scan(t)
        return scan, self._at_thresholds(scan)

    def _divided(self, scan: _Scan, kept: npt.NDArray[np.bool_]) -> Matrix:
        """Thresholds in the bins ``kept``, the more of them, the lower the bound below the least Z known.

        A bin must be narrow where Z is near its least value, and may be wide where it is not.
        """
        ends = np.concatenate([[1.0], scan.z, [1.0]])
        known = np.minimum(ends[:-1], ends[1:])
        above = known - known.min()
        gap = np.where(kept, np.maximum(known - scan.bound, 0.0), 0.0)
        edges = scan.edges
        edges[-1] = max(self.range * (1.0 + 1e-6), edges[-2] * (1.0 + 1e-6))
        counts = np.maximum(np.ceil(1.5 * gap / (above + _FLOORS[:, np.newaxis])) - 1.0, 0.0)
        more = counts[int((counts.sum(axis=1) <= _FINE).argmax())].astype(np.int64)
        number = np.arange(more.sum()) - np.repeat(np.cumsum(more) - more, more) + 1.0
        inside = np.repeat(edges[:-1], more) + np.repeat(np.diff(edges) / np.maximum(more, 1), more) * (
            number - _OFF
        )
        return self._snapped(np.unique(np.concatenate([edges[:-1][kept], edges[1:-1][kept[:-1]], inside])))

    def _snapped(self, t: Matrix) -> Matrix:
        """Where cases stand at few places: the next thresholds midway between two squares, or the last."""
        t = t[t > 0.0]
        if self._cuts is None:
            return t
        return np.unique(self._cuts[np.minimum(np.searchsorted(self._cuts, t), len(self._cuts) - 1)])

    def _kept(self, scan: _Scan, found: Cut | None) -> npt.NDArray[np.bool_]:
        """The bins that may hold a better cut than ``found``."""
        edges = scan.edges
        if self._cuts is None:
            edges[-1] = max(self.range * (1.0 + 1e-6), edges[-2])
            wide = np.diff(edges) > DISTINCT * self.range
        else:
            wide = np.diff(np.searchsorted(self._cuts, edges)) > 1
            wide[0] = edges[1] > self._cuts[0]
            wide[-1] = edges[-2] < self._cuts[-1]
        kept: npt.NDArray[np.bool_] = wide & (scan.bound <= (1.0 if found is None else found.z))
        return kept

    def _at_thresholds(self, scan: _Scan) -> Cut | None:
        gain, loss = self.gain_and_loss(scan.own, scan.rest)
        return best_of(scan.t**2, gain, loss, self.sign, self.triplets.count)

    def _scan(self, t: Matrix, chosen: Rows | None = None, known: _Scan | None = None) -> _Scan:
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
        whole = self._counts(here, off) if self._all <= _KEPT else None
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
        # A sample was drawn by its shares already.
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
        z = weighed(gain, loss, self.triplets.count)[1]
        pairs = -np.diff(np.concatenate([[n * anchors], beyond, [0.0]]))
        return _Scan(t, beyond, z, bound, pairs, own, rest)

    def _counts(self, here: Matrix, off: Matrix) -> list[Rows]:
        """(g, b) each: how many cases lie farther than ``off`` (g, 1) below, and how many do not above."""
        line = self._line
        return [line.count(here - off, inclusive=True), line.count(here + off, inclusive=False)]

    def _running(self, block: Block, columns: SortedColumns, sample: bool) -> tuple[RunningSums, RunningSums]:
        if not sample and self._all > _KEPT:
            return self.triplets.running_sums(block, columns, "passing")
        name = f"{'sample' if sample else 'all'} {block.anchors[0]}"
        if name not in self._sums:
            self._sums[name] = self.triplets.running_sums(block, columns, name)
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
