"""Triplets of findings under weak models h = [(u.(x - x'))^2 >= beta] (Bi et al. 2011, Eq. 3)."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
import numpy.typing as npt

from semblance.core.errors import BadInput
from semblance.core.language import tr_lazy
from semblance.core.metrics.boosting.anchored_triplets import AnchoredTriplets, Block, Floats, Rows, run
from semblance.core.metrics.boosting.cut_windows import SortedColumns
from semblance.core.metrics.boosting.running_sums import RunningSums, needed
from semblance.core.metrics.boosting.stump_search import CutSearch
from semblance.core.metrics.boosting.stumps import Cut, best_of, gaussian_threshold
from semblance.core.metrics.distance import Matrix
from semblance.core.tasks import Reporter

#: Weights of more pairs than this are kept in float32: those of 15,155 cases take 0.92 GB, not 1.84.
_DOUBLE_PAIRS = 1 << 20
#: 2 GiB of weights.
_MOST_BYTES = 1 << 31
#: Weights changed at once: they stay in the cache.
_AT_ONCE = 1 << 16
#: How much the logarithm of a weight may grow before all are made anew from the votes.
_MOST_GROWN = {np.dtype(np.float64): 600.0, np.dtype(np.float32): 60.0}


class _Vote(NamedTuple):
    """``alpha`` [(p_i - p_j)^2 >= ``threshold``] for the projection p (n,)."""

    projection: Matrix
    threshold: float
    alpha: float


class VoteTriplets(AnchoredTriplets):
    """The weights are kept, for votes have no embedding: an array of cases by anchors.

    Every vote multiplies those it raises; none is ever lowered, so none is lost to rounding before the
    next time that all are made anew.

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
                "Use fewer anchors (anchors=1000, say), another weak model, or fewer cases.",
            )
        self._kept: Floats = np.ones((len(self.X), len(self.at)), dtype=self.kind)
        self._kept[self.at, np.arange(len(self.at))] = 0.0
        #: (2, B) the logarithms of the factors left out of the weights of both sides, and the weights' sums.
        self._without, self._sums = np.zeros((2, 2, len(self.at)))
        self._votes: list[_Vote] = []
        self._memories: dict[str, Floats] = {}
        self._new: _Vote | None = None
        self._grown = 0.0

    def add_vote(self, direction: Matrix, threshold: float, alpha: float) -> None:
        """H += ``alpha`` [(``direction`` . z)^2 >= ``threshold``]; the weights follow with the refresh."""
        self._new = _Vote(self.X @ direction, threshold, alpha)
        self._votes.append(self._new)

    def refresh(self, reporter: Reporter) -> None:
        """See :meth:`AnchoredTriplets.refresh`."""
        self._grown += 0.0 if self._new is None else abs(self._new.alpha)
        super().refresh(reporter)
        self._new = None
        if self._grown > _MOST_GROWN[self.kind]:
            self._grown = 0.0
        self._sums[0] = np.exp(self.log_similar - self._without[0])
        self._sums[1] = np.exp(self.log_dissimilar - self._without[1])

    def best_cut(self, direction: Matrix, sign: float, reporter: Reporter) -> Cut | None:
        """The cut of all pairs' (``direction`` . z)^2 with the least Z, its alpha of this sign.

        ``None`` where no cut has Z < 1.
        """
        return CutSearch(self, self.X @ direction, sign, reporter).best()

    def gaussian_cut(self, direction: Matrix, sign: float, reporter: Reporter) -> Cut | None:
        """The cut between two Gaussians, of the similar and of the dissimilar pairs; else the same."""
        projection = self.X @ direction
        threshold = gaussian_threshold(*self._moments(projection))
        gain, loss = CutSearch(self, projection, sign, reporter).errors_at(threshold)
        return best_of(np.array([threshold]), gain, loss, sign, self.count)

    def running_sums(
        self, block: Block, columns: SortedColumns, name: str
    ) -> tuple[RunningSums, RunningSums]:
        """Those of the block's weights with the ``columns`` in their order: of the finding, of the others.

        They are good until others of this ``name`` are asked for.
        """
        weights = self._kept[:, run(block.anchors)]
        sums = []
        for side, order in enumerate(np.split(columns.order, [columns.n_own])):
            size = needed(len(order), weights.shape[1])
            memory, scratch = self._memory(f"{name} {side}", size), self._memory("scratch", size)
            sums.append(RunningSums(weights.take(order, axis=0), memory, scratch))
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
        weights: Matrix = self._kept.reshape(-1).take(pairs) / np.where(own, similar, dissimilar)
        return weights

    def _weighed(self, block: Block) -> tuple[Floats, Matrix, Matrix]:
        rows = run(block.anchors)
        weights = self._kept[:, rows]
        if self._grown > _MOST_GROWN[self.kind]:
            self._make_anew(weights, block)
        elif self._new is not None:
            alpha = self._new.alpha
            # Only raise: the near of other findings instead of lowering the far, the same but for a factor.
            self._raise(weights, block, block.own, alpha > 0.0)
            for part in self._rest(block.own):
                self._raise(weights, block, part, alpha < 0.0)
            self._without[1 if alpha > 0.0 else 0, rows] -= abs(alpha)
        return weights, self._without[0, rows], self._without[1, rows]

    def _raise(self, weights: Floats, block: Block, part: slice, far: bool) -> None:
        """Multiply the weights of a part of the cases, where they lie ``far`` (or near) by the new vote."""
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

    def _make_anew(self, weights: Floats, block: Block) -> None:
        """Write the weights of a block, each side's largest 1, from all votes."""
        here, columns = self.at[block.anchors], np.arange(len(block.anchors))
        scores = np.zeros(weights.shape)
        for p, threshold, alpha in self._votes:
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
