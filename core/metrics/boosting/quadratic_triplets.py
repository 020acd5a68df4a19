"""Triplets of findings under weak models h = (u.(x - x'))^2 (Bi et al. 2011, 3.1, options 1 and 3)."""

from __future__ import annotations

import numpy as np

from core.metrics.boosting.anchored_triplets import AnchoredTriplets, Block, Rows
from core.metrics.distance import Matrix
from core.metrics.maths.convex_step import Slopes, convex_minimum
from core.tasks import Reporter

#: alpha times the largest h is at most this: no weight overflows, nothing of use is lost.
_LARGEST_EXPONENT = 500.0
#: Anchors from which a part of them is asked first where the minimum is about.
_SAMPLE_FROM = 2000
_SAMPLED_SHARE = 32


class QuadraticTriplets(AnchoredTriplets):
    """H is |E_i - E_j|^2 for embeddings E whose columns count as +1 or -1: no array of pairs is kept."""

    def __init__(self, X: Matrix, codes: Rows, anchors: int, seed: int) -> None:
        super().__init__(X, codes, anchors, seed)
        self._directions, self._alphas = np.zeros((X.shape[1], 0)), np.zeros(0)
        self._embedding = self._embedded(self._directions, self._alphas)
        self._buffer = np.empty((0, len(self.X)))
        #: alpha times the largest h, as of the last round: where to look for the next.
        self._usual = 4.0

    def add_square(self, direction: Matrix, alpha: float) -> None:
        """H += ``alpha`` (``direction`` . z)^2; the weights follow with the next refresh."""
        self._directions = np.column_stack([self._directions, direction])
        self._alphas = np.append(self._alphas, alpha)
        self._embedding = self._embedded(self._directions, self._alphas)

    def step(self, direction: Matrix, sign: float, reporter: Reporter) -> float:
        """alpha of this sign with the least Z (option 1): ln Z is convex in alpha."""
        projection = self.X @ direction
        spread = float(np.ptp(projection)) ** 2
        most = _LARGEST_EXPONENT / spread

        def slopes(chosen: Rows | None, alpha: float) -> Slopes:
            first, second, third = self._slopes(direction, projection, sign * alpha, chosen, reporter)
            return sign * first, second, sign * third

        start = self._usual / spread
        if len(self.at) >= _SAMPLE_FROM:
            few = self.sampled(len(self.at) // _SAMPLED_SHARE)
            # A sample may see no gain where all anchors together see some.
            seen = convex_minimum(lambda alpha: slopes(few, alpha), start, most).place
            start = max(seen, start / 64.0)
        alpha = convex_minimum(lambda alpha: slopes(None, alpha), start, most).place
        self._usual = max(alpha * spread, 0.1)
        return sign * alpha

    def _slopes(
        self, direction: Matrix, projection: Matrix, alpha: float, chosen: Rows | None, reporter: Reporter
    ) -> Slopes:
        """The first three derivatives of ln Z at ``alpha``, by the anchors or a sample of them.

        ln Z is the logarithm of the shares' sum of exp(f_i), f_i = ln sum_j s_ij exp(alpha h_ij) + ln sum_k
        w_ik exp(-alpha h_ik), whose derivatives are cumulants of h; those come from sums of the weights
        times powers of the projection.
        """
        kept = self._embedding
        self._embedding = self._embedded(
            np.column_stack([self._directions, direction]), np.append(self._alphas, alpha)
        )
        powers = projection[:, np.newaxis] ** np.arange(7)
        own, rest = np.zeros((2, len(self.at), 7))
        try:
            for block in self.blocks(chosen):
                reporter.check_cancelled()
                weights = self.weights(block)
                own[block.anchors] = weights[:, block.own] @ powers[block.own]
                for part in self._rest(block.own):
                    rest[block.anchors] += weights[:, part] @ powers[part]
        finally:
            self._embedding = kept
        log = self.log_similar + self.log_dissimilar
        here = projection[self.at]
        if chosen is not None:
            # They were drawn by their shares already.
            own, rest, here, log = own[chosen], rest[chosen], here[chosen], np.zeros(len(chosen))
        similar, dissimilar = _cumulants(own, here), _cumulants(rest, here)
        log = log + similar[0] + dissimilar[0]
        first, second, third = similar[1:] + np.array([[-1.0], [1.0], [-1.0]]) * dissimilar[1:]
        share = np.exp(log - log.max())
        share /= share.sum()
        mean = float(share @ first)
        off = first - mean
        return (
            mean,
            float(share @ (second + off * off)),
            float(share @ (third + 3.0 * off * second + off**3)),
        )

    def _embedded(self, directions: Matrix, alphas: Matrix) -> tuple[Matrix, Matrix]:
        """(B, m + 2) and (m + 2, n) whose product is H = z' (sum_t alpha_t u_t u_t') z, m <= d."""
        if len(alphas) > len(directions):
            alphas, directions = np.linalg.eigh((directions * alphas) @ directions.T)
        E = self.X @ (directions * np.sqrt(np.abs(alphas)))
        signed = E * np.sign(alphas)
        norms = np.einsum("ij,ij->i", signed, E)
        ones = np.ones(len(E))
        left = np.column_stack([-2.0 * signed[self.at], norms[self.at], ones[self.at]])
        return left, np.ascontiguousarray(np.column_stack([E, ones, norms]).T)

    def _exponents(self, block: Block) -> Matrix:
        """One matrix product: the logarithms to subtract stand in the column that meets the ones."""
        rows = block.anchors
        if len(self._buffer) < len(rows):
            self._buffer = np.empty((len(rows), len(self.X)))
        out, (left, right) = self._buffer[: len(rows)], self._embedding
        similar, dissimilar = left[rows], -left[rows]
        similar[:, -2] -= self.log_similar[rows]
        dissimilar[:, -2] -= self.log_dissimilar[rows]
        np.matmul(similar, right[:, block.own], out=out[:, block.own])
        for part in self._rest(block.own):
            np.matmul(dissimilar, right[:, part], out=out[:, part])
        return out


def _cumulants(sums: Matrix, here: Matrix) -> Matrix:
    """(4, b): ln of the weight and the first three cumulants of (p - here)^2, from (b, 7) sums of p^k."""
    weight = sums[:, 0]
    m = (sums / weight[:, np.newaxis]).T
    # Powers of the difference, by the binomial theorem.
    second = m[2] - 2.0 * here * m[1] + here**2
    fourth = m[4] - 4.0 * here * m[3] + 6.0 * here**2 * m[2] - 4.0 * here**3 * m[1] + here**4
    sixth = (
        m[6]
        - 6.0 * here * m[5]
        + 15.0 * here**2 * m[4]
        - 20.0 * here**3 * m[3]
        + 15.0 * here**4 * m[2]
        - 6.0 * here**5 * m[1]
        + here**6
    )
    variance = np.maximum(fourth - second**2, 0.0)
    return np.stack([np.log(weight), second, variance, sixth - 3.0 * fourth * second + 2.0 * second**3])
