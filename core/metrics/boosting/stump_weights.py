"""The weights of all triplets under weak models h = [(u.(x - x'))^2 >= beta] (Bi et al. 2011, Eqs. 2, 3)."""

from __future__ import annotations

from dataclasses import dataclass
from typing import NamedTuple

import numpy as np
import numpy.typing as npt

from semblance.core.errors import BadInput
from semblance.core.language import tr_lazy
from semblance.core.metrics.boosting.anchored_triplets import AnchoredTriplets, Block, Floats, Rows, run
from semblance.core.metrics.distance import Matrix
from semblance.core.tasks import Reporter

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

    def prefix_sums(self, block: Block, columns: SortedColumns, name: str) -> tuple[PrefixSums, PrefixSums]:
        """Those of the block's weights with the ``columns`` in their order: of the finding, of the others.

        They are valid until the next call with this ``name``.
        """
        weights = self._is_included[:, run(block.anchors)]
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

    def some_weights(self, block: Block, sizes: Rows, cases: Rows, own: npt.NDArray[np.bool_]) -> Matrix:
        """(p,) the weights of ``cases`` (p,) with the block's anchors, ``sizes`` (b,) of them with each.

        They are divided by their anchor's sum over the finding, or over the others.
        """
        rows = block.anchors
        pairs = cases * len(self.at) + np.repeat(rows, sizes)
        similar, dissimilar = (np.repeat(sums[rows], sizes) for sums in self._sums)
        weights: Matrix = self._is_included.reshape(-1).take(pairs) / np.where(own, similar, dissimilar)
        return weights

    def _weighed(self, block: Block) -> tuple[Floats, Matrix, Matrix]:
        rows = run(block.anchors)
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

    def _raise(self, weights: Floats, block: Block, part: slice, far: bool) -> None:
        """Multiply the weights of a part of the cases, where they lie ``far`` (or near) by the new stump."""
        assert self._new is not None
        p, threshold, alpha = self._new
        here, grown = p[self.at[run(block.anchors)]], self.kind.type(np.expm1(abs(alpha)))
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

    def _recompute(self, weights: Floats, block: Block) -> None:
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
