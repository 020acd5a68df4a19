"""All triplets of findings, weighted anchor by anchor (Bi et al. 2011, section 4).

A triplet (i, j, k) has an anchor i, a case j of i's finding and a case k of another; its weight is
exp(H_ij - H_ik) up to a factor (Eq. 2), H = sum_t alpha_t h_t the score of a pair so far. So all that is
needed of an anchor is the softmax of H_ij over the cases of its finding, that of -H_ik over the others, and
its share of the whole weight: nothing overflows, however many rounds there were.
"""

from __future__ import annotations

import abc
from collections.abc import Iterator
from dataclasses import dataclass
from typing import NamedTuple

import numpy as np
import numpy.typing as npt

from semblance.core.errors import BadInput
from semblance.core.language import tr_lazy
from semblance.core.metrics.distance import Matrix
from semblance.core.tasks import Reporter

Rows = npt.NDArray[np.int64]
Floats = npt.NDArray[np.floating]

#: Pairs weighted at once: they stay in the cache, and matrix products are large enough to be fast.
_BLOCK = 1 << 18
#: Numbers of single precision added at once.
_SUMMED = 1024

#: Rows that are added up by one small matrix product: thrice as fast as adding one after another.
_RUN = 16
#: Weights of more pairs than this are stored in float32: those of 15,155 cases take 0.92 GB, not 1.84.
_DOUBLE_PAIRS = 1 << 20
#: 2 GiB of weights.
_MOST_BYTES = 1 << 31
#: Weights changed at once: they stay in the cache.
_AT_ONCE = 1 << 16
#: How much the logarithm of a weight may grow before all are computed again from the stumps.
_MOST_GROWN = {np.dtype(np.float64): 600.0, np.dtype(np.float32): 60.0}


class AnchorBlock(NamedTuple):
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
            rows, own, rest = as_slice(block.anchors), block.own, self._rest(block.own)
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

    def blocks(self, chosen: Rows | None = None, size: int = 0) -> Iterator[AnchorBlock]:
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
                yield AnchorBlock(anchors[start : min(start + size, last)], finding, own)

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
    def _weighed(self, block: AnchorBlock) -> tuple[Floats, Matrix, Matrix]:
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


def as_slice(rows: Rows) -> slice | Rows:
    """Rows that follow one another as a slice, for that makes no copy."""
    follow = len(rows) and int(rows[-1]) - int(rows[0]) == len(rows) - 1 and (rows[1:] > rows[:-1]).all()
    return slice(int(rows[0]), int(rows[-1]) + 1) if follow else rows


class PrefixSums:
    """The sums of the first so many rows of ``values`` (n, b).

    ``memory`` of the same kind receives the result, ``scratch`` is only used; both hold :func:`memory_needed`.
    """

    def __init__(self, values: Floats, memory: Floats, scratch: Floats) -> None:
        n = len(values)
        columns = values.shape[1]
        runs, size = n // _RUN + 1, memory_needed(n, columns)
        rows = scratch[:size].reshape(runs, _RUN, columns)
        rows.reshape(-1, columns)[:n] = values
        rows.reshape(-1, columns)[n:] = 0.0
        sums = memory[:size].reshape(runs, _RUN, columns)
        np.matmul(np.tri(_RUN, k=-1, dtype=values.dtype), rows, out=sums)
        before = np.zeros((runs, columns))
        np.cumsum(sums[:-1, -1] + rows[:-1, -1], axis=0, dtype=np.float64, out=before[1:])
        sums += before.astype(values.dtype, copy=False)[:, np.newaxis]
        self._sums: Floats = sums.reshape(-1)
        #: (b,) the sums of all rows.
        self._total: Floats = sums.reshape(-1, columns)[n]

    def beyond(self, below: Rows, above: Rows) -> Matrix:
        """(g, b) the shares of the first ``below`` (g, b) rows and of those after the first ``above``.

        Both are overwritten.
        """
        columns = self._total.shape[0]
        for count in (below, above):
            count *= columns
            count += np.arange(columns)
        shares: Matrix = self._total - self._sums.take(above)
        shares += self._sums.take(below)
        shares /= self._total
        return shares


def memory_needed(n: int, columns: int) -> int:
    """Numbers of memory for the running sums of ``n`` rows."""
    return (n // _RUN + 1) * _RUN * columns


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


class _PairStump(NamedTuple):
    """``alpha`` [(p_i - p_j)^2 >= ``threshold``] for the projection p (n,)."""

    projection: Matrix
    threshold: float
    alpha: float


class StumpWeights(AnchoredTriplets):
    """The weights are stored, because stumps have no embedding: an array of cases by anchors.

    Each stump multiplies the weights it raises. No weight is lowered, so none is lost to rounding before all are
    computed again.

    Raises:
        BadInput: the weights would not fit into memory.
    """

    def __init__(self, X: Matrix, codes: Rows, anchors: int, seed: int) -> None:
        super().__init__(X, codes, anchors, seed)
        pairs = len(self.at) * len(self.X)
        self.kind = np.dtype(np.float64 if pairs <= _DOUBLE_PAIRS else np.float32)
        if pairs * self.kind.itemsize > _MOST_BYTES:
            raise BadInput(
                tr_lazy(
                    "The weights of all pairs of {n} cases would take {pairs:.1f} GB of memory.",
                    n=len(self.X),
                    pairs=pairs * self.kind.itemsize / 1e9,
                ),
                "Use fewer anchors (for example anchors=1000), another weak model, or fewer cases.",
            )
        self._is_included: Floats = np.ones((len(self.X), len(self.at)), dtype=self.kind)
        self._is_included[self.at, np.arange(len(self.at))] = 0.0
        #: (2, B) the logarithms of the factors left out of the weights of both sides, and the weights' sums.
        self._without, self._sums = np.zeros((2, 2, len(self.at)))
        self._stumps: list[_PairStump] = []
        self._memories: dict[str, Floats] = {}
        self._new: _PairStump | None = None
        self._grown = 0.0

    def add_stump(self, direction: Matrix, threshold: float, alpha: float) -> None:
        """H += ``alpha`` [(``direction`` . z)^2 >= ``threshold``]; the weights follow with the refresh."""
        self._new = _PairStump(self.X @ direction, threshold, alpha)
        self._stumps.append(self._new)

    def refresh(self, reporter: Reporter) -> None:
        """See :meth:`AnchoredTriplets.refresh`."""
        self._grown += 0.0 if self._new is None else abs(self._new.alpha)
        super().refresh(reporter)
        self._new = None
        if self._grown > _MOST_GROWN[self.kind]:
            self._grown = 0.0
        self._sums[0] = np.exp(self.log_similar - self._without[0])
        self._sums[1] = np.exp(self.log_dissimilar - self._without[1])

    def prefix_sums(
        self, block: AnchorBlock, columns: SortedColumns, name: str
    ) -> tuple[PrefixSums, PrefixSums]:
        """Those of the block's weights with the ``columns`` in their order: of the finding, of the others.

        They are valid until the next call with this ``name``.
        """
        weights = self._is_included[:, as_slice(block.anchors)]
        sums = []
        for side, order in enumerate(np.split(columns.order, [columns.n_own])):
            size = memory_needed(len(order), weights.shape[1])
            memory, scratch = self._memory(f"{name} {side}", size), self._memory("scratch", size)
            sums.append(PrefixSums(weights.take(order, axis=0), memory, scratch))
        return sums[0], sums[1]

    def _memory(self, name: str, size: int, kind: npt.DTypeLike | None = None) -> Floats:
        """The same at every call: fresh memory costs more than the arithmetic."""
        if name not in self._memories or len(self._memories[name]) < size:
            self._memories[name] = np.empty(size, dtype=kind or self.kind)
        return self._memories[name]

    def some_weights(
        self, block: AnchorBlock, sizes: Rows, cases: Rows, own: npt.NDArray[np.bool_]
    ) -> Matrix:
        """(p,) the weights of ``cases`` (p,) with the block's anchors, ``sizes`` (b,) of them with each.

        They are divided by their anchor's sum over the finding, or over the others.
        """
        rows = block.anchors
        pairs = cases * len(self.at) + np.repeat(rows, sizes)
        similar, dissimilar = (np.repeat(sums[rows], sizes) for sums in self._sums)
        weights: Matrix = self._is_included.reshape(-1).take(pairs) / np.where(own, similar, dissimilar)
        return weights

    def _weighed(self, block: AnchorBlock) -> tuple[Floats, Matrix, Matrix]:
        rows = as_slice(block.anchors)
        weights = self._is_included[:, rows]
        if self._grown > _MOST_GROWN[self.kind]:
            self._recompute(weights, block)
        elif self._new is not None:
            alpha = self._new.alpha
            # Only raise: the near of other findings instead of lowering the far, the same but for a factor.
            self._raise(weights, block, block.own, alpha > 0.0)
            for part in self._rest(block.own):
                self._raise(weights, block, part, alpha < 0.0)
            self._without[1 if alpha > 0.0 else 0, rows] -= abs(alpha)
        return weights, self._without[0, rows], self._without[1, rows]

    def _raise(self, weights: Floats, block: AnchorBlock, part: slice, far: bool) -> None:
        """Multiply the weights of a part of the cases, where they lie ``far`` (or near) by the new stump."""
        assert self._new is not None
        p, threshold, alpha = self._new
        here, grown = p[self.at[as_slice(block.anchors)]], self.kind.type(np.expm1(abs(alpha)))
        compare = np.greater_equal if far else np.less
        step = max(1, _AT_ONCE // len(here))
        for start in range(part.start, part.stop, step):
            rows = slice(start, min(start + step, part.stop))
            shape = rows.stop - start, len(here)
            size = shape[0] * shape[1]
            squares = self._memory("squares", size, np.float64)[:size].reshape(shape)
            factor = self._memory("factor", size)[:size].reshape(shape)
            np.subtract(p[rows, np.newaxis], here, out=squares)
            np.multiply(squares, squares, out=squares)
            np.multiply(compare(squares, threshold), grown, out=factor)
            factor += 1.0
            weights[rows] *= factor

    def _recompute(self, weights: Floats, block: AnchorBlock) -> None:
        """Write the weights of a block, each side's largest 1, from all stumps."""
        here, columns = self.at[block.anchors], np.arange(len(block.anchors))
        scores = np.zeros(weights.shape)
        for p, threshold, alpha in self._stumps:
            scores += alpha * ((p[:, np.newaxis] - p[here]) ** 2 >= threshold)
        for part in self._rest(block.own):
            np.negative(scores[part], out=scores[part])
        scores[here, columns] = -np.inf
        own = scores[block.own].max(axis=0)
        rest = np.max([scores[part].max(axis=0) for part in self._rest(block.own)], axis=0)
        scores[block.own] -= own
        for part in self._rest(block.own):
            scores[part] -= rest
        np.exp(scores, out=scores)
        weights[...] = scores
        self._without[:, block.anchors] = own, rest
