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

from core.metrics.distance import Matrix
from core.tasks import Reporter

Rows = npt.NDArray[np.int64]
Floats = npt.NDArray[np.floating]

#: Pairs weighted at once: they stay in the cache, and matrix products are large enough to be fast.
_BLOCK = 1 << 20


class Block(NamedTuple):
    """Anchors of one finding, by their number, and the columns ``own`` of that finding."""

    anchors: Rows
    finding: int
    own: slice


class AnchoredTriplets(abc.ABC):
    """The weights of all triplets of some anchors; a subclass knows the score H of their pairs.

    Cases without a finding are to be left out beforehand. Cases are kept sorted by finding; projections are
    of the cases in that order, :attr:`order`.

    Attributes:
        order: (n,) the given row of each case kept.
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
        columns, cross, mass, scale = np.zeros(n), np.zeros((d, d)), 0.0, -np.inf
        X = self.X.astype(self.kind, copy=False)
        for block in self.blocks():
            reporter.check_cancelled()
            weights, rows = self.weights(block), block.anchors
            own, rest = block.own, self._rest(block.own)
            similar = weights[:, own].sum(axis=1).astype(np.float64)
            dissimilar = np.add(*(weights[:, part].sum(axis=1).astype(np.float64) for part in rest))
            self.log_similar[rows] += np.log(similar)
            self.log_dissimilar[rows] += np.log(dissimilar)
            logs = self.log_similar[rows] + self.log_dissimilar[rows]
            if logs.max() > scale:
                shrink = np.exp(scale - logs.max())
                columns, cross, mass, scale = columns * shrink, cross * shrink, mass * shrink, logs.max()
            share = np.exp(logs - scale)
            mass += float(share.sum())
            minus, plus = share / similar, share / dissimilar
            columns[own] -= minus.astype(self.kind) @ weights[:, own]
            pulled = -minus[:, np.newaxis] * (weights[:, own] @ X[own])
            for part in rest:
                columns[part] += plus.astype(self.kind) @ weights[:, part]
                pulled += plus[:, np.newaxis] * (weights[:, part] @ X[part])
            cross += self.X[self.at[rows]].T @ pulled
            self._weighed(weights, own, similar, dissimilar)
        self.log_bound = float(np.log(mass) + scale - np.log(self.count))
        curvature = self.X.T @ (columns[:, np.newaxis] * self.X) - cross - cross.T
        self.curvature = 0.5 * (curvature + curvature.T) / mass

    def blocks(self, chosen: Rows | None = None, size: int = 0) -> Iterator[Block]:
        """The anchors, or the ``chosen`` of them (by finding), some of one finding at a time.

        ``size`` are at most in a block; 0 stands for as many as are best weighted at once.
        """
        size = size or max(16, _BLOCK // len(self.X))
        anchors = np.arange(len(self.at)) if chosen is None else chosen
        findings = self.codes[self.at[anchors]]
        for finding, own in enumerate(self._own):
            first, last = np.searchsorted(findings, [finding, finding + 1])
            for start in range(first, last, size):
                yield Block(anchors[start : min(start + size, last)], finding, own)

    def sampled(self, count: int) -> Rows:
        """``count`` anchors, fewer than there are, drawn by their shares without replacement; ascending."""
        keys = self.log_similar + self.log_dissimilar
        keys = keys + np.random.default_rng(0).gumbel(size=len(keys))
        return np.sort(np.argpartition(-keys, count)[:count])

    def weights(self, block: Block) -> Floats:
        """(b, n) exp(H_ij) in the columns of the finding, exp(-H_ik) in the others, 0 for the anchor.

        Both are divided by their sums as of the last :meth:`refresh`. The array is used again.
        """
        weights = self._exponents(block)
        np.exp(weights, out=weights)
        weights[np.arange(len(block.anchors)), self.at[block.anchors]] = 0.0
        return weights

    def _weighed(  # noqa: B027 - for those that keep the weights
        self, weights: Floats, own: slice, similar: Matrix, dissimilar: Matrix
    ) -> None:
        """Hear of a block's weights, before they are used again, and of their sums (b,) on both sides."""

    def _rest(self, own: slice) -> tuple[slice, slice]:
        return slice(0, own.start), slice(own.stop, len(self.X))

    @abc.abstractmethod
    def _exponents(self, block: Block) -> Floats:
        """(b, n) H_ij - ln sum_j exp(H_ij) in the block's own columns, -H_ik - ln sum_k exp(-H_ik) else.

        In an array that may be written to.
        """
