"""Triplets of findings under weak models h = [(u.(x - x'))^2 >= beta] (Bi et al. 2011, Eq. 3)."""

from __future__ import annotations

import numpy as np
import numpy.typing as npt

from core.errors import BadInput
from core.metrics.boosting.anchored_triplets import AnchoredTriplets, Block, Floats, Rows
from core.metrics.boosting.cut import Cut, best_of, gaussian_threshold
from core.metrics.boosting.cut_windows import SortedColumns
from core.metrics.boosting.vote_cuts import CutSearch
from core.metrics.distance import Matrix
from core.tasks import Reporter

#: Scores of more pairs than this are kept in float32: those of 15,155 cases take 0.92 GB, not 1.84.
_DOUBLE_PAIRS = 1 << 23
#: 2 GiB of scores.
_MOST_BYTES = 1 << 31


class VoteTriplets(AnchoredTriplets):
    """H is kept, for votes have no embedding: an array of anchors by cases.

    Raises:
        BadInput: the scores would not fit into memory.
    """

    def __init__(self, X: Matrix, codes: Rows, anchors: int, seed: int) -> None:
        super().__init__(X, codes, anchors, seed)
        pairs = len(self.at) * len(self.X)
        self.kind = np.dtype(np.float64 if pairs <= _DOUBLE_PAIRS else np.float32)
        if pairs * self.kind.itemsize > _MOST_BYTES:
            raise BadInput(
                f"The scores of all pairs of {len(self.X)} cases would take "
                f"{pairs * self.kind.itemsize / 1e9:.1f} GB of memory.",
                "Use fewer anchors (anchors=1000, say), another weak model, or fewer cases.",
            )
        self._kept: Floats = np.zeros((len(self.at), len(self.X)), dtype=self.kind)
        #: Of few pairs the weights themselves are kept, too.
        self._weights = np.empty(self._kept.shape) if self.kind == np.float64 else None
        self._buffers: dict[str, Floats] = {}

    def add_vote(self, direction: Matrix, threshold: float, alpha: float) -> None:
        """H += ``alpha`` [(``direction`` . z)^2 >= ``threshold``]; the weights follow with the refresh."""
        projection = self.X @ direction
        for block in self.blocks():
            rows = _run(block.anchors)
            squares = self._buffer("squares", len(block.anchors), np.dtype(np.float64))
            np.subtract(projection[self.at[rows], np.newaxis], projection, out=squares)
            np.multiply(squares, squares, out=squares)
            self._kept[rows] += np.multiply(squares >= threshold, self.kind.type(alpha))

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

    def sorted_weights(self, block: Block, columns: SortedColumns) -> Floats:
        """(b, n + 1) the weights with the ``columns`` in their order, and a 0 at the end."""
        rows = block.anchors
        out = self._buffer("sorted", len(rows), self.kind, len(self.X) + 1)
        weights = out[:, :-1]
        out[:, -1] = 0.0
        if self._weights is not None:
            np.take(self._weights[_run(rows)], columns.order, axis=1, out=weights, mode="clip")
            return out
        np.take(self._kept[_run(rows)], columns.order, axis=1, out=weights, mode="clip")
        self._normalise(weights, rows, slice(0, columns.n_own))
        np.exp(weights, out=weights)
        weights[np.arange(len(rows)), columns.place[self.at[rows]]] = 0.0
        return out

    def some_weights(self, block: Block, sizes: Rows, cases: Rows, own: npt.NDArray[np.bool_]) -> Matrix:
        """(p,) the weights of ``cases`` (p,) with the block's anchors, ``sizes`` (b,) of them with each."""
        rows = block.anchors
        pairs = np.repeat(rows * self._kept.shape[1], sizes)
        pairs += cases
        if self._weights is not None:
            kept: Matrix = self._weights.reshape(-1).take(pairs)
            return kept
        scores = self._kept.reshape(-1).take(pairs).astype(np.float64)
        similar = scores - np.repeat(self.log_similar[rows], sizes)
        dissimilar = -scores - np.repeat(self.log_dissimilar[rows], sizes)
        weights: Matrix = np.exp(np.where(own, similar, dissimilar))
        weights[cases == np.repeat(self.at[rows], sizes)] = 0.0
        return weights

    def _exponents(self, block: Block) -> Floats:
        if self._weights is None:
            out = self._buffer("weights", len(block.anchors), self.kind)
        else:
            out = self._weights[_run(block.anchors)]
        out[...] = self._kept[_run(block.anchors)]
        self._normalise(out, block.anchors, block.own)
        return out

    def _weighed(self, weights: Floats, own: slice, similar: Matrix, dissimilar: Matrix) -> None:
        if self._weights is not None:
            weights[:, own] /= similar[:, np.newaxis]
            for part in self._rest(own):
                weights[:, part] /= dissimilar[:, np.newaxis]

    def _normalise(self, scores: Floats, rows: Rows, own: slice) -> None:
        """From H to exponents, in place."""
        scores[:, own] -= self.log_similar[rows, np.newaxis].astype(self.kind)
        level = -self.log_dissimilar[rows, np.newaxis].astype(self.kind)
        for part in self._rest(own):
            np.subtract(level, scores[:, part], out=scores[:, part])

    def _buffer(self, name: str, rows: int, kind: np.dtype[np.floating], width: int = 0) -> Floats:
        """(``rows``, n or ``width``), the same memory at every call."""
        if name not in self._buffers or len(self._buffers[name]) < rows:
            self._buffers[name] = np.empty((rows, width or len(self.X)), dtype=kind)
        return self._buffers[name][:rows]

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


def _run(rows: Rows) -> slice | Rows:
    """Rows that follow one another as a slice, for that makes no copy."""
    return slice(int(rows[0]), int(rows[-1]) + 1) if (np.diff(rows) == 1).all() else rows


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
