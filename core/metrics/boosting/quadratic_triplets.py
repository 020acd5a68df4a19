"""Triplets of findings under weak models h = (u.(x - x'))^2 (Bi et al. 2011, 3.1, options 1 and 3)."""

from __future__ import annotations

import numpy as np
import numpy.typing as npt

from semblance.core.metrics.boosting.anchored_triplets import AnchoredTriplets, Block, Floats, Rows, run
from semblance.core.metrics.distance import Matrix
from semblance.core.metrics.numerics.convex_minimum import CLOSE, Slopes, convex_minimum
from semblance.core.tasks import Reporter

#: Largest alpha times the largest h, so that no weight overflows.
_LARGEST_EXPONENT = 500.0
#: Anchors from which a part of them is used first to find the region of the minimum.
_SAMPLE_FROM, _SAMPLED_LEAST = 300, 64
_SAMPLED_SHARE = 32
#: H this large still has two digits behind the point in single precision.
_SINGLE_UP_TO = 1e4
#: A step this small, relative to the place, ends the search for where to begin the next.
_ROUGH = 0.03

Embedding = tuple[Matrix, Matrix]


class QuadraticTriplets(AnchoredTriplets):
    """H is |E_i - E_j|^2 for embeddings E whose columns count as +1 or -1: no array of pairs is stored."""

    def __init__(self, X: Matrix, codes: Rows, anchors: int, seed: int) -> None:
        super().__init__(X, codes, anchors, seed)
        self._directions, self._alphas = np.zeros((X.shape[1], 0)), np.zeros(0)
        self._embedding = self._embedded(self._directions, self._alphas)
        self._buffers: dict[npt.DTypeLike, Floats] = {}
        #: alpha times the largest h, as of the last round: where to look for the next.
        self._usual = 4.0

    def add_square(self, direction: Matrix, alpha: float) -> None:
        """H += ``alpha`` (``direction`` . z)^2; the weights follow with the next refresh."""
        self._directions = np.column_stack([self._directions, direction])
        self._alphas = np.append(self._alphas, alpha)
        self._embedding = self._embedded(self._directions, self._alphas)

    def step(self, direction: Matrix, sign: float, reporter: Reporter) -> float:
        """alpha of this sign with the least Z (option 1): ln Z is convex in alpha.

        Its region is found with a part of the anchors, and then in single precision.
        """
        projection = self.X @ direction
        spread = float(np.ptp(projection)) ** 2
        most = _LARGEST_EXPONENT / spread

        def minimum(
            start: float, chosen: Rows | None = None, kind: npt.DTypeLike = np.float64, close: float = CLOSE
        ) -> float:
            def slopes(alpha: float) -> Slopes:
                first, second, third = self._slopes(
                    direction, projection, sign * alpha, chosen, kind, reporter
                )
                return sign * first, second, sign * third

            return convex_minimum(slopes, start, most, close).place

        alpha = self._usual / spread
        if len(self.at) >= _SAMPLE_FROM:
            few = self.sampled(max(_SAMPLED_LEAST, len(self.at) // _SAMPLED_SHARE))
            # A sample may show no gain although all anchors together have some.
            alpha = max(minimum(alpha, few, close=_ROUGH), alpha / 64.0)
            if float(np.abs(self._embedding[1][:, -1]).max()) < _SINGLE_UP_TO:
                alpha = max(minimum(alpha, kind=np.float32, close=_ROUGH), alpha / 64.0)
        alpha = minimum(alpha)
        self._usual = max(alpha * spread, 0.1)
        return sign * alpha

    def _slopes(
        self,
        direction: Matrix,
        projection: Matrix,
        alpha: float,
        chosen: Rows | None,
        kind: npt.DTypeLike,
        reporter: Reporter,
    ) -> Slopes:
        """The first three derivatives of ln Z at ``alpha``, by the anchors or a sample of them.

        ln Z is the logarithm of the shares' sum of exp(f_i), f_i = ln sum_j s_ij exp(alpha h_ij) + ln sum_k
        w_ik exp(-alpha h_ik), whose derivatives are cumulants of h; those come from sums of the weights
        times powers of the projection.
        """
        embedding = self._embedded(
            np.column_stack([self._directions, direction]), np.append(self._alphas, alpha)
        )
        embedding = embedding[0].astype(kind, copy=False), embedding[1].astype(kind, copy=False)
        size = float(np.abs(projection).max())
        powers = np.ones((7, len(projection)))
        powers[1:] = projection / size
        powers = np.multiply.accumulate(powers, axis=0).astype(kind, copy=False)
        own, rest = np.zeros((2, 7, len(self.at)))
        for block in self.blocks(chosen):
            reporter.check_cancelled()
            weights, rows = self._weights(block, embedding), run(block.anchors)
            own[:, rows] = powers[:, block.own] @ weights[block.own]
            for part in self._rest(block.own):
                rest[:, rows] += powers[:, part] @ weights[part]
        log = self.log_similar + self.log_dissimilar
        here = projection[self.at] / size
        if chosen is not None:
            # They were drawn by their shares.
            own, rest, here, log = own[:, chosen], rest[:, chosen], here[chosen], np.zeros(len(chosen))
        similar, dissimilar = _cumulants(own, here), _cumulants(rest, here)
        log = log + similar[0] + dissimilar[0]
        first, second, third = similar[1:] + np.array([[-1.0], [1.0], [-1.0]]) * dissimilar[1:]
        share = np.exp(log - log.max())
        share /= share.sum()
        mean = float(share @ first)
        off = first - mean
        unit = size * size
        return (
            unit * mean,
            unit**2 * float(share @ (second + off * off)),
            unit**3 * float(share @ (third + 3.0 * off * second + off * off * off)),
        )

    def _embedded(self, directions: Matrix, alphas: Matrix) -> Embedding:
        """(m + 2, B) and (n, m + 2): the second times the first is H = z' (sum_t alpha_t u_t u_t') z, m <= d.

        Its last column but one are the ones, and the last the squared lengths.
        """
        if len(alphas) > len(directions):
            alphas, directions = np.linalg.eigh((directions * alphas) @ directions.T)
        E = self.X @ (directions * np.sqrt(np.abs(alphas)))
        signed = E * np.sign(alphas)
        norms = np.einsum("ij,ij->i", signed, E)
        right = np.column_stack([E, np.ones(len(E)), norms])
        left = np.empty((len(alphas) + 2, len(self.at)))
        left[:-2] = -2.0 * signed[self.at].T
        left[-2], left[-1] = norms[self.at], 1.0
        return left, right

    def _weighed(self, block: Block) -> tuple[Floats, Matrix, Matrix]:
        rows = block.anchors
        return self._weights(block, self._embedding), self.log_similar[rows], self.log_dissimilar[rows]

    def _weights(self, block: Block, embedding: Embedding) -> Floats:
        """(n, b) as of the last refresh but for the ``embedding``, divided by their sums as of then.

        One matrix product: the logarithms to subtract stand in the row that meets the ones. The array is
        used again.
        """
        rows, (left, right) = block.anchors, embedding
        out = self._buffer(len(rows), left.dtype)
        similar = left[:, run(rows)].copy()
        dissimilar = -similar
        similar[-2] -= self.log_similar[rows]
        dissimilar[-2] -= self.log_dissimilar[rows]
        np.matmul(right[block.own], similar, out=out[block.own])
        for part in self._rest(block.own):
            np.matmul(right[part], dissimilar, out=out[part])
        np.exp(out, out=out)
        out[self.at[rows], np.arange(len(rows))] = 0.0
        return out

    def _buffer(self, columns: int, kind: np.dtype[np.floating]) -> Floats:
        """(n, ``columns``), the same memory at every call."""
        size = len(self.X) * columns
        if kind not in self._buffers or self._buffers[kind].size < size:
            self._buffers[kind] = np.empty(size, dtype=kind)
        return self._buffers[kind][:size].reshape(len(self.X), columns)


def _cumulants(sums: Matrix, here: Matrix) -> Matrix:
    """(4, b): ln of the weight and the first three cumulants of (p - here)^2, from (7, b) sums of p^k."""
    weight = sums[0]
    m = sums / weight
    # Powers of the difference, by the binomial theorem; raising to a power would take most of the time.
    h2 = here * here
    h4 = h2 * h2
    second = m[2] - 2.0 * here * m[1] + h2
    fourth = m[4] - 4.0 * here * (m[3] + h2 * m[1]) + 6.0 * h2 * m[2] + h4
    sixth = m[6] - here * (6.0 * m[5] + 20.0 * h2 * m[3] + 6.0 * h4 * m[1])
    sixth += h2 * (15.0 * (m[4] + h2 * m[2]) + h4)
    variance = np.maximum(fourth - second * second, 0.0)
    return np.stack(
        [np.log(weight), second, variance, sixth - 3.0 * fourth * second + 2.0 * second * second * second]
    )
