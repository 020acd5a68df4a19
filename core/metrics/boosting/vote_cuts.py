"""The best threshold among all there are, exactly and without sorting all pairs.

The cases lie on a line, p = u.x, and a threshold t cuts pairs by |p_i - p_j| >= t. What lies farther from an
anchor than t are two ends of the sorted cases, so the errors at some thresholds cost one pass over the
pairs. Between two of them the errors are bounded, and with them Z: intervals that cannot hold the least Z
are left out, the others divided anew, and the few pairs that remain are sorted.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np
import numpy.typing as npt

from core.metrics.boosting.anchored_triplets import Block, Floats, Rows
from core.metrics.boosting.cut import DISTINCT, EQUAL, Cut, best_of, least_z, weighed
from core.metrics.boosting.cut_windows import SortedColumns, Windows, best_inside
from core.metrics.distance import Matrix
from core.tasks import Reporter

if TYPE_CHECKING:
    from core.metrics.boosting.vote_triplets import VoteTriplets

#: Pairs that are sorted without looking for bounds first.
_FEW = 150_000
#: Pairs that are taken one by one rather than bounded again; they take some 200 MB.
_MANY = 10_000_000
_COARSE = 31
_FINE = 2.0
#: Part of the anchors that tells where to look closely, and the fewest worth it.
_SAMPLED_SHARE, _SAMPLED_LEAST = 24, 160
_ROUNDS = 20
#: So few different places on the line that all thresholds may be listed.
_PLACES = 256
#: Between the places of a division: no fraction of two small numbers, for data often lie on a grid.
_OFF = 0.3819660112501051


@dataclass(frozen=True, eq=False)
class _Scan:
    """What is known at thresholds ``t`` (G,) and, with 0 and infinity about them, in the bins between.

    ``z`` (G,) is Z at each; ``bound`` (G + 1,) is no more than Z anywhere in a bin; ``pairs`` (G + 1,) lie
    in it; ``own`` and ``rest`` (B, G) are the shares of both sides beyond each threshold.
    """

    t: Matrix
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
        self._columns: dict[int, SortedColumns] = {}
        #: All thresholds there are, where they are few.
        self._cuts = _all_cuts(projection[self._by_p], DISTINCT * self.range)

    def best(self) -> Cut | None:
        """``None`` where no cut has Z < 1."""
        if not self.range > 0.0 or (self._cuts is not None and not len(self._cuts)):
            return None
        anchors = len(self.triplets.at)
        if anchors * len(self.projection) <= _FEW:
            return best_inside(self, Windows.everything(anchors), anchors * len(self.projection), None)
        first = self._first_look()
        scan = self._scan(self._divided(first, np.ones(len(first.bound), dtype=np.bool_)))
        found = self._at_thresholds(scan)
        kept = self._kept(scan, found)
        for _ in range(_ROUNDS):
            if scan.pairs[kept].sum() <= _MANY:
                break
            before, scan = scan, self._scan(self._divided(scan, kept))
            cuts = [cut for cut in (found, self._at_thresholds(scan)) if cut is not None]
            found = min(cuts, key=lambda cut: cut.z, default=None)
            inside = kept[np.searchsorted(before.edges, scan.edges[:-1], side="right") - 1]
            kept = self._kept(scan, found) & inside
        # Neighbouring bins together.
        ends = np.flatnonzero(np.diff(np.concatenate([[False], kept, [False]])))
        low, high = ends[::2], ends[1::2]
        nothing = np.zeros((anchors, 1))
        own, rest = np.hstack([scan.own, nothing]), np.hstack([scan.rest, nothing])
        windows = Windows(scan.edges[low], scan.edges[high], own[:, high - 1], rest[:, high - 1])
        return best_inside(self, windows, int(scan.pairs[kept].sum()), found)

    def errors_at(self, threshold: float) -> tuple[Matrix, Matrix]:
        """Gain and loss (1,), for :func:`core.metrics.boosting.cut.weighed`, at a threshold on squares."""
        scan = self._scan(np.array([np.sqrt(threshold)]))
        return self.gain_and_loss(scan.own, scan.rest)

    def gain_and_loss(self, own: Matrix, rest: Matrix) -> tuple[Matrix, Matrix]:
        """eps- and eps+ (for a negative sign: eps+ and eps-) from the anchors' shares beyond thresholds."""
        if self.sign < 0.0:
            own, rest = rest, own
        return self.shares @ ((1.0 - own) * rest), self.shares @ (own * (1.0 - rest))

    def blocks(
        self, chosen: Rows | None = None, size: int = 0
    ) -> Iterator[tuple[Block, SortedColumns, Matrix]]:
        """Anchors that are neighbours on the line, the columns as they see them, and their places.

        Neighbours look up neighbouring places: twice as fast as any other order. ``chosen`` and ``size`` are
        those of :meth:`AnchoredTriplets.blocks`.
        """
        p = self.projection[self.triplets.at]
        by_place = np.lexsort((p, self.triplets.codes[self.triplets.at]))
        if chosen is not None:
            by_place = by_place[np.isin(by_place, chosen)]
        for block in self.triplets.blocks(by_place, size):
            self.reporter.check_cancelled()
            if block.finding not in self._columns:
                same = self.triplets.codes[self._by_p] == block.finding
                order = np.concatenate([self._by_p[same], self._by_p[~same]])
                place = np.empty_like(order)
                place[order] = np.arange(len(order))
                columns = SortedColumns(order, place, self.projection[order], int(same.sum()))
                self._columns[block.finding] = columns
            yield block, self._columns[block.finding], p[block.anchors]

    def _first_look(self) -> _Scan:
        """Bounds at coarse thresholds, by a part of the anchors where there are many."""
        rng = np.random.default_rng(0)
        triplets, anchors = self.triplets, len(self.triplets.at)
        i = triplets.at[rng.integers(anchors, size=4096)]
        apart = np.abs(self.projection[i] - self.projection[rng.integers(len(self.projection), size=4096)])
        places = np.arange(1.0, _COARSE + 1.0) / (_COARSE + 1.0)
        # Off the values themselves, by far more than rounding.
        t = np.quantile(apart[apart > DISTINCT * self.range], places) * (1.0 + 1e-9)
        few = max(_SAMPLED_LEAST, anchors // _SAMPLED_SHARE)
        chosen = triplets.sampled(few) if few < anchors else None
        return self._scan(self._snapped(np.unique(t)), chosen)

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
        wanted = float(np.clip(_FINE * np.sqrt(len(self.projection)), 24, 256))
        floor = 1e-9
        while np.maximum(more := np.ceil(1.5 * gap / (above + floor)) - 1.0, 0.0).sum() > wanted:
            floor *= 1.5
        t = [edges[:-1][kept], edges[1:-1][kept[:-1]]]
        for low, high, count in zip(edges[:-1][kept], edges[1:][kept], more[kept].tolist(), strict=True):
            if count > 0.0:
                t.append(low + (high - low) * (np.arange(1.0, count + 1.0) - _OFF) / count)
        return self._snapped(np.unique(np.concatenate(t)))

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

    def _scan(self, t: Matrix, chosen: Rows | None = None) -> _Scan:
        """Ascending thresholds ``t`` > 0, by all anchors or a sample of them."""
        own, rest = np.zeros((2, len(self.triplets.at), len(t)))
        pairs = np.zeros(len(t) + 1)
        for block, columns, here in self.blocks(chosen):
            weights = self.triplets.sorted_weights(block, columns)
            for shares, first, p in (
                (own, 0, columns.p[: columns.n_own]),
                (rest, columns.n_own, columns.p[columns.n_own :]),
            ):
                shares[block.anchors], inside = _beyond(weights, p, first, here, t)
                pairs += inside
        share = self.shares
        if chosen is not None:
            # They were drawn by their shares already.
            own, rest, share = own[chosen], rest[chosen], np.full(len(chosen), 1.0 / len(chosen))
        near, far = (own, rest) if self.sign > 0.0 else (rest, own)
        gain, loss = share @ ((1.0 - near) * far), share @ (near * (1.0 - far))
        # In a bin nothing is better than all far cases beyond its low end, no near one beyond its high end.
        ones, zeros = np.ones((len(share), 1)), np.zeros((len(share), 1))
        near, far = np.hstack([near, zeros]), np.hstack([ones, far])
        bound = least_z(share @ ((1.0 - near) * far), np.maximum(share @ (near * (1.0 - far)), 0.0)) - EQUAL
        return _Scan(t, weighed(gain, loss, self.triplets.count)[1], bound, pairs, own, rest)


def _all_cuts(p: Matrix, same: float) -> Matrix | None:
    """The thresholds between any two different |p_i - p_j|, ``None`` where they are many; ``p`` ascends."""
    places = p[np.concatenate([[True], np.diff(p) > same])]
    if len(places) > _PLACES:
        return None
    values = np.sort((places[:, np.newaxis] - places)[np.tril_indices(len(places))])
    values = values[np.concatenate([[True], np.diff(values) > same])]
    cuts: Matrix = np.sqrt(0.5 * (values[1:] ** 2 + values[:-1] ** 2))
    return cuts


def _beyond(weights: Floats, p: Matrix, first: int, here: Matrix, t: Matrix) -> tuple[Matrix, Matrix]:
    """(b, G) the share of the columns from ``first`` on, at ascending ``p``, no nearer than each of ``t``.

    Also (G + 1,) how many pairs lie between the thresholds.
    """
    count, G = len(p), len(t)
    places = np.empty((len(here), 2 * G + 2), dtype=np.intp)
    places[:, 0], places[:, -1] = 0, count
    places[:, 1 : G + 1] = np.searchsorted(p, here - t[::-1, np.newaxis], side="right").T
    places[:, G + 1 : -1] = np.searchsorted(p, here + t[:, np.newaxis], side="left").T
    sizes = np.diff(places, axis=1)
    places += first + (np.arange(len(here)) * weights.shape[1])[:, np.newaxis]
    sums: Any = np.add.reduceat(weights.reshape(-1), places.reshape(-1)).reshape(places.shape)[:, :-1]
    sums = np.where(sizes > 0, sums, 0.0).astype(np.float64)
    beyond = np.cumsum(sums[:, :G], axis=1)[:, ::-1] + np.cumsum(sums[:, :G:-1], axis=1)[:, ::-1]
    total = beyond[:, :1] + sums[:, G : G + 1]
    inside = sizes.sum(axis=0)
    rings = np.concatenate([inside[G : G + 1], inside[:G][::-1] + inside[G + 1 :]])
    return beyond / total, rings.astype(np.float64)
