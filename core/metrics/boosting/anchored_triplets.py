"""All triplets of findings, weighted anchor by anchor (Bi et al. 2011, section 4).

A triplet (i, j, k) has an anchor i, a case j of i's finding and a case k of another; its weight is
exp(H_ij - H_ik) up to a factor (Eq. 2), H = sum_t alpha_t h_t the score of a pair so far. So all that is
needed of an anchor is the softmax of H_ij over the cases of its finding, that of -H_ik over the others, and
its share of the whole weight: nothing overflows, however many rounds there were.
"""

from __future__ import annotations

import abc
from collections.abc import Iterator
from typing import NamedTuple

import numpy as np
import numpy.typing as npt

from semblance.core.metrics.distance import Matrix
from semblance.core.tasks import Reporter

Rows = npt.NDArray[np.int64]
Floats = npt.NDArray[np.floating]

#: Pairs weighted at once: they stay in the cache, and matrix products are large enough to be fast.
_BLOCK = 1 << 18
#: Numbers of single precision added at once.
_SUMMED = 1024


class Block(NamedTuple):
    """Anchors of one finding, by their number, and the columns ``own`` of that finding."""

    anchors: Rows
    finding: int
    own: slice


class AnchoredTriplets(abc.ABC):
    """The weights of all triplets of some anchors; a subclass knows the score H of their pairs.

    Cases without a finding must be left out beforehand. Cases are sorted by finding; projections are
    of the cases in that order, :attr:`order`. Arrays of pairs have a row a case and a column an anchor.

    Attributes:
        order: (n,) the original row of each case.
        count: m, the number of triplets.
        log_bound: ln prod_t Z_t, the bound on the weighted training error (Theorem 1).
        curvature: (d, d) the matrix of Eq. 8.
    """

    #: Of the weights; sums over blocks of them are always taken in float64.
    kind: np.dtype[np.floating] = np.dtype(np.float64)

    def __init__(self, X: Matrix, codes: Rows, anchors: int, seed: int) -> None:
        """Rows (n, d) with findings ``codes`` (n,); ``anchors`` of the cases drawn by ``seed``, or 0: all."""
        self.order: Rows = np.argsort(codes, kind="stable").astype(np.int64)
        self.X = np.ascontiguousarray(X[self.order])
        self.codes = codes[self.order]
        sizes = np.bincount(self.codes)
        ends = np.cumsum(sizes)
        self._own = [slice(int(end - size), int(end)) for end, size in zip(ends, sizes, strict=True)]
        n = len(self.X)
        able = np.flatnonzero((sizes[self.codes] > 1) & (sizes[self.codes] < n)).astype(np.int64)
        if 0 < anchors < len(able):
            able = np.sort(np.random.default_rng(seed).choice(able, anchors, replace=False))
        #: (B,) the case each anchor is.
        self.at: Rows = able
        own = sizes[self.codes[able]].astype(np.float64)
        self.count = float(((own - 1.0) * (n - own)).sum())
        #: (B,) ln sum_j exp(H_ij) and ln sum_k exp(-H_ik).
        self.log_similar, self.log_dissimilar = np.zeros((2, len(able)))
        self.log_bound = 0.0
        self.curvature = np.zeros((self.X.shape[1],) * 2)

    @property
    def shares(self) -> Matrix:
        """(B,) the share of each anchor's triplets in the whole weight."""
        logs = self.log_similar + self.log_dissimilar
        shares: Matrix = np.exp(logs - logs.max(initial=-np.inf))
        shares /= shares.sum()
        return shares

    def refresh(self, reporter: Reporter) -> None:
        """Weigh all triplets by the scores as they are now; all attributes follow.

        With s_ij and w_ik the softmaxes and g_i the shares, Eq. 8 is the sum over anchors of g_i times
        sum_k w_ik (x_i - x_k)(x_i - x_k)' - sum_j s_ij (x_i - x_j)(x_i - x_j)'; the x_i x_i' cancel.
        """
        n, d = self.X.shape
        degrees, cross, mass, scale = np.zeros(n), np.zeros((d, d)), 0.0, -np.inf
        X = self.X.T.astype(self.kind)
        for block in self.blocks():
            reporter.check_cancelled()
            weights, without_similar, without_dissimilar = self._weighed(block)
            rows, own, rest = run(block.anchors), block.own, self._rest(block.own)
            similar = column_sums(weights[own])
            dissimilar = sum(column_sums(weights[part]) for part in rest)
            self.log_similar[rows] = without_similar + np.log(similar)
            self.log_dissimilar[rows] = without_dissimilar + np.log(dissimilar)
            logs = self.log_similar[rows] + self.log_dissimilar[rows]
            highest = float(logs.max())
            if highest > scale:
                shrink = np.exp(scale - highest)
                degrees, cross, mass, scale = degrees * shrink, cross * shrink, mass * shrink, highest
            share = np.exp(logs - scale)
            mass += float(share.sum())
            minus, plus = share / similar, share / dissimilar
            degrees[own] -= weights[own] @ minus.astype(self.kind)
            pulled = (X[:, own] @ weights[own]) * -minus
            pushed = np.zeros_like(pulled)
            for part in rest:
                degrees[part] += weights[part] @ plus.astype(self.kind)
                pushed += X[:, part] @ weights[part]
            pushed *= plus
            pulled += pushed
            cross += pulled @ self.X[self.at[rows]]
        self.log_bound = float(np.log(mass) + scale - np.log(self.count))
        curvature = (self.X.T * degrees) @ self.X - cross - cross.T
        self.curvature = 0.5 * (curvature + curvature.T) / mass

    def blocks(self, chosen: Rows | None = None, size: int = 0) -> Iterator[Block]:
        """The anchors, or the ``chosen`` of them (by finding), some of one finding at a time.

        ``size`` are at most in a block; 0: as many as are fastest to weight at once.
        """
        size = size or max(64, _BLOCK // len(self.X))
        anchors = np.arange(len(self.at)) if chosen is None else chosen
        findings = self.codes[self.at[anchors]]
        edges = np.searchsorted(findings, np.arange(len(self._own) + 1)).tolist()
        for finding, own in enumerate(self._own):
            first, last = edges[finding], edges[finding + 1]
            for start in range(first, last, size):
                yield Block(anchors[start : min(start + size, last)], finding, own)

    def sampled(self, count: int) -> Rows:
        """``count`` anchors, fewer than there are, drawn by their shares without replacement; ascending."""
        keys = self.log_similar + self.log_dissimilar
        keys = keys + np.random.default_rng(0).gumbel(size=len(keys))
        return np.sort(np.argpartition(-keys, count)[:count])

    def _rest(self, own: slice) -> list[slice]:
        """The cases of other findings."""
        parts = slice(0, own.start), slice(own.stop, len(self.X))
        return [part for part in parts if part.stop > part.start]

    @abc.abstractmethod
    def _weighed(self, block: Block) -> tuple[Floats, Matrix, Matrix]:
        """The weights (n, b) of a block by the scores as they are now.

        They are exp(H_ij) for the cases of the finding, exp(-H_ik) for the others and 0 for the anchor, but
        for factors, the logarithms (b,) of which follow: those of the finding's own cases and of the others.
        """


def column_sums(weights: Floats) -> Matrix:
    """(b,) in float64: of single precision so few at once that rounding stays small."""
    step = len(weights) if weights.dtype == np.float64 else _SUMMED
    total = np.zeros(weights.shape[1])
    for start in range(0, len(weights), max(1, step)):
        part = weights[start : start + step]
        total += np.ones(len(part), dtype=weights.dtype) @ part
    return total


def run(rows: Rows) -> slice | Rows:
    """Rows that follow one another as a slice, for that makes no copy."""
    follow = len(rows) and int(rows[-1]) - int(rows[0]) == len(rows) - 1 and (rows[1:] > rows[:-1]).all()
    return slice(int(rows[0]), int(rows[-1]) + 1) if follow else rows
