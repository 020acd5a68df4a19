"""MetricBoost: AdaBoost on rank-one matrices, so that a case is closer to its own finding than to others.

Bi, Wu, Lu, Liu, Tao, Wolf: AdaBoost on Low-Rank PSD Matrices for Metric Learning. IEEE Conference on
Computer Vision and Pattern Recognition, 2011. Equation numbers are theirs.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import NamedTuple, Self

import numpy as np
import numpy.typing as npt

from semblance.core.errors import BadArguments, BadInput
from semblance.core.language import tr_lazy
from semblance.core.metrics import declarations
from semblance.core.metrics.card import MetricCard
from semblance.core.metrics.distance import Distance, Matrix
from semblance.core.metrics.distances.linear import LinearDistance
from semblance.core.metrics.distances.stumps import SignedDistance, StumpDistance
from semblance.core.metrics.estimators.anchored_triplets import (
    AnchorBlock,
    AnchoredTriplets,
    Floats,
    as_slice,
)
from semblance.core.metrics.estimators.stump_triplets import (
    DISTINCT,
    Stump,
    StumpTriplets,
    best_stump_of,
    gaussian_threshold,
)
from semblance.core.metrics.numerics.eigenpairs import top_eigenpair
from semblance.core.metrics.numerics.minimise import CLOSE, Slopes, convex_minimum
from semblance.core.metrics.prepared_learner import PreparedLearner
from semblance.core.metrics.training import TrainingPoint, begin_card
from semblance.core.metrics.training_data.rows import TrainingInput, check_features
from semblance.core.metrics.training_data.triplets import Rows, TripletSource, triplet_source
from semblance.core.tasks import Reporter

_BLOCK = 1 << 20

_LARGEST_EXPONENT = 500.0
#: Anchors from which a part of them is used first to find the region of the minimum.
_SAMPLE_FROM, _SAMPLED_LEAST = 300, 64
_SAMPLED_SHARE = 32
#: H this large still has two digits behind the point in single precision.
_SINGLE_UP_TO = 1e4
#: A step this small, relative to the place, ends the search for where to begin the next.
_ROUGH = 0.03

Embedding = tuple[Matrix, Matrix]

#: An eigenvalue below this share of the largest squared length is rounding.
_NO_EIGENVALUE = 1e-13
#: r of Eq. 5 is kept below 1, where alpha is infinite.
_LARGEST_R = 1.0 - 1e-15
#: The logarithm of the bound falls less than this by rounding.
_LEAST_FALL = 1e-11


def largest_squared_distance(X: Matrix, reporter: Reporter) -> float:
    """max |x - x'|^2 over the rows of ``X`` (n, d) (Bi et al. 2011, 3.2: C squared).

    Only rows far enough from the mean to reach the largest distance so far are compared.
    """
    centred = X - X.mean(axis=0)
    norms = np.sqrt(np.einsum("ij,ij->i", centred, centred))
    if not norms.max(initial=0.0) > 0.0:
        return 0.0
    largest, start = 0.0, int(norms.argmax())
    for _ in range(4):
        difference = centred - centred[start]
        squares = np.einsum("ij,ij->i", difference, difference)
        start, largest = int(squares.argmax()), max(largest, float(squares.max()))
    far = np.flatnonzero(norms + norms.max() >= np.sqrt(largest) * (1.0 - 1e-9))
    rows, lengths = centred[far], norms[far] ** 2
    step = max(1, _BLOCK // len(far))
    best = (largest, start, start)
    for first in range(0, len(far), step):
        reporter.check_cancelled()
        block = rows[first : first + step]
        squares = lengths[first : first + step, np.newaxis] + lengths - 2.0 * (block @ rows.T)
        place = np.unravel_index(int(squares.argmax()), squares.shape)
        difference = rows[first + place[0]] - rows[place[1]]
        best = max(best, (float(difference @ difference), first + int(place[0]), int(place[1])))
    return best[0]


class ExplicitTriplets:
    """The weights D of Eq. 2 as logarithms, one a triplet (t, 3) of rows i, j, k of ``X`` (n, d).

    Attributes: as :class:`semblance.core.metrics.estimators.anchored_triplets.AnchoredTriplets`.
    """

    def __init__(self, X: Matrix, triplets: Rows) -> None:
        self.X = X
        self.order: Rows = np.arange(len(X), dtype=np.int64)
        self._i, self._j, self._k = triplets.T
        self.count = float(len(triplets))
        #: sum_t alpha_t (h_ij - h_ik).
        self._logs = np.zeros(len(triplets))
        self.log_bound = 0.0
        self.curvature = np.zeros((X.shape[1],) * 2)

    def refresh(self, reporter: Reporter) -> None:
        """Eq. 8 as X'LX, L the Laplacian of the graph with weight D on ik and -D on ij."""
        from scipy.sparse import coo_array

        reporter.check_cancelled()
        weights = self._weights()
        top = self._logs.max()
        self.log_bound = float(np.log(np.exp(self._logs - top).sum()) + top - np.log(self.count))
        n = len(self.X)
        i = np.concatenate([self._i, self._i])
        other = np.concatenate([self._k, self._j])
        value = np.concatenate([weights, -weights])
        graph = coo_array((value, (i, other)), shape=(n, n)).tocsr()
        degrees = np.bincount(i, value, n) + np.bincount(other, value, n)
        half = self.X.T @ (graph @ self.X)
        self.curvature = self.X.T @ (degrees[:, np.newaxis] * self.X) - half - half.T

    def add_square(self, direction: Matrix, alpha: float) -> None:
        """The weak model (``direction`` . z)^2; the weights follow with the next refresh."""
        near, far = self._squares(direction)
        self._logs += alpha * (near - far)

    def add_stump(self, direction: Matrix, threshold: float, alpha: float) -> None:
        """The weak model [(``direction`` . z)^2 >= ``threshold``]."""
        near, far = self._squares(direction)
        self._logs += alpha * ((near >= threshold).astype(np.float64) - (far >= threshold))

    def step(self, direction: Matrix, sign: float, reporter: Reporter) -> float:
        """alpha of this sign with the least Z (option 1)."""
        near, far = self._squares(direction)
        change = sign * (near - far)
        largest = float(np.abs(change).max())

        def slopes(alpha: float) -> Slopes:
            reporter.check_cancelled()
            logs = self._logs + alpha * change
            share = np.exp(logs - logs.max())
            share /= share.sum()
            mean = float(share @ change)
            off = change - mean
            return mean, float(share @ off**2), float(share @ off**3)

        return sign * convex_minimum(slopes, 1.0 / largest, _LARGEST_EXPONENT / largest).place

    def best_stump(self, direction: Matrix, sign: float, reporter: Reporter) -> Stump | None:
        """The cut with the least Z, its alpha of this sign; ``None`` where no cut has Z < 1.

        A triplet counts at thresholds between its two squares, as gain where ij is the smaller.
        """
        reporter.check_cancelled()
        near, far = self._squares(direction)
        values = np.unique(np.concatenate([near, far]))
        roots, reach = np.sqrt(values), float(np.ptp(self.X @ direction))
        cuts = np.flatnonzero(np.diff(roots) > DISTINCT * reach)
        thresholds = 0.5 * (values[cuts] + values[cuts + 1])
        low, high = np.searchsorted(thresholds, np.stack([np.minimum(near, far), np.maximum(near, far)]))
        weights = self._weights()
        size = len(thresholds) + 1
        errors = []
        for kind in (near < far, near > far):
            change = np.bincount(low[kind], weights[kind], size) - np.bincount(
                high[kind], weights[kind], size
            )
            errors.append(np.cumsum(change)[:-1])
        right, wrong = errors if sign > 0.0 else errors[::-1]
        return best_stump_of(thresholds, right, wrong, sign, self.count)

    def gaussian_stump(self, direction: Matrix, sign: float, reporter: Reporter) -> Stump | None:
        """The cut between two Gaussians, of the pairs named closer and of those named farther."""
        reporter.check_cancelled()
        moments = []
        for other in (self._j, self._k):
            pairs = np.unique(np.stack([np.minimum(self._i, other), np.maximum(self._i, other)]), axis=1)
            q = ((self.X[pairs[0]] - self.X[pairs[1]]) @ direction) ** 2
            moments.append(np.array([len(q), q.sum(), (q * q).sum()]))
        threshold = gaussian_threshold(*moments)
        near, far = self._squares(direction)
        weights = self._weights()
        right = weights[(near < threshold) & (far >= threshold)].sum(keepdims=True)
        wrong = weights[(near >= threshold) & (far < threshold)].sum(keepdims=True)
        gain, loss = (right, wrong) if sign > 0.0 else (wrong, right)
        return best_stump_of(np.array([threshold]), gain, loss, sign, self.count)

    def _weights(self) -> Matrix:
        weights: Matrix = np.exp(self._logs - self._logs.max())
        weights /= weights.sum()
        return weights

    def _squares(self, direction: Matrix) -> tuple[Matrix, Matrix]:
        """(t,) each: the squared projections of ij and of ik."""
        p = self.X @ direction
        return (p[self._i] - p[self._j]) ** 2, (p[self._i] - p[self._k]) ** 2


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
            weights, rows = self._weights(block, embedding), as_slice(block.anchors)
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

    def _weighed(self, block: AnchorBlock) -> tuple[Floats, Matrix, Matrix]:
        rows = block.anchors
        return self._weights(block, self._embedding), self.log_similar[rows], self.log_dissimilar[rows]

    def _weights(self, block: AnchorBlock, embedding: Embedding) -> Floats:
        """(n, b) as of the last refresh but for the ``embedding``, divided by their sums as of then.

        One matrix product: the logarithms to subtract stand in the row that meets the ones. The array is
        used again.
        """
        rows, (left, right) = block.anchors, embedding
        out = self._buffer(len(rows), left.dtype)
        similar = left[:, as_slice(rows)].copy()
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


class _WeakMetric(NamedTuple):
    """alpha times (direction . z)^2, or where there is a ``threshold`` times [that >= threshold]."""

    direction: Matrix
    alpha: float
    threshold: float = 0.0


class MetricBoost(declarations.MetricBoost, PreparedLearner):
    """Each round adds the direction along which other findings lie farthest beyond a case's own.

    Where triplets are given, findings are only counted. The reporter receives a :class:`TrainingPoint` after
    every round; its objective is the bound prod_t Z_t on the training error (Theorem 1). Fitted: ``distance_``,
    ``log_bounds_`` (the logarithm of that bound before the first and after every round), ``stopped_`` (why it
    ended).

    Example:
        >>> from sklearn.datasets import load_wine
        >>> from sklearn.preprocessing import scale
        >>> from semblance.core.metrics import make_learner
        >>> X, y = load_wine(return_X_y=True)
        >>> X = scale(X)
        >>> learner = make_learner("metricboost", rounds=10, random_state=0).fit(X, y)
        >>> learner.log_bounds_[-1] < learner.log_bounds_[0]
        True
    """

    def _can_prepare(self) -> bool:
        return self.readout == "mahalanobis" and not self.allow_similarity

    def _fit_exactly(self, data: TrainingInput) -> None:
        if self.readout == "votes" and self.weak != "binary":
            raise BadArguments(
                tr_lazy("Only weak=binary votes, not weak={weak}.", weak=self.weak),
                "Use readout=mahalanobis with it.",
            )
        check_features(min(data.X.shape))
        source = triplet_source(self.title, data.X, data.y, data.triplets)
        # Beyond n columns all projections of the rows are reached from the span of the rows.
        basis, columns = None, source.X
        if columns.shape[1] > len(columns):
            basis, columns = np.linalg.qr(columns.T)
            columns = np.ascontiguousarray(columns.T)
        weights = self._weights(source._replace(X=columns - columns.mean(axis=0)), data.seed)
        found = _BoostingRounds(self, weights, basis, data.reporter).run()
        self.distance_ = found.distance()
        self.log_bounds_: list[float] = found.log_bounds
        self.stopped_: str = found.stopped
        counts = {"triplets": int(weights.count)}
        notes = [found.stopped]
        if isinstance(weights, StumpTriplets | QuadraticTriplets) and self.anchors:
            notes.append(tr_lazy("Learnt from the triplets of {n} of the cases.", n=len(weights.at)))
        self._card: MetricCard = begin_card(
            self, data, constraints=counts, notes=tuple(notes), rounds=len(found.log_bounds) - 1
        )

    def _weights(
        self, source: TripletSource, seed: int
    ) -> StumpTriplets | QuadraticTriplets | ExplicitTriplets:
        if source.triplets is not None:
            return ExplicitTriplets(source.X, source.triplets)
        kind = StumpTriplets if self.weak == "binary" else QuadraticTriplets
        return kind(source.X, source.codes, self.anchors, seed)


@dataclass
class _BoostingRounds:
    """The boosting itself (Algorithm 1)."""

    learner: MetricBoost
    weights: StumpTriplets | QuadraticTriplets | ExplicitTriplets
    basis: Matrix | None
    reporter: Reporter

    def __post_init__(self) -> None:
        self.found: list[_WeakMetric] = []
        self.log_bounds: list[float] = []
        self.stopped = ""
        #: Of the rows' squares, and of their distances' (C squared).
        self._lengths, self._largest = 0.0, 0.0

    def run(self) -> Self:
        """Rounds until enough are done, none helps, or the caller wants it to end."""
        learner, weights, reporter = self.learner, self.weights, self.reporter
        reporter.progress(0, learner.rounds, learner.title)
        self._lengths = float(np.einsum("ij,ij->i", weights.X, weights.X).max())
        if learner.weak == "normalised":
            self._largest = largest_squared_distance(weights.X, reporter)
        weights.refresh(reporter)
        self.log_bounds.append(weights.log_bound)
        while len(self.found) < learner.rounds:
            done = len(self.found)
            if done and reporter.stop_requested:
                self.stopped = tr_lazy("Stopped on request after {done} rounds.", done=done)
                return self
            weak = self._next()
            if weak is None:
                self.stopped = tr_lazy("Stopped after {done} rounds: no further direction helps.", done=done)
                break
            weights.refresh(reporter)
            # Normalised rounds fall by r^2 / 2 as they must, be that less than rounding.
            if learner.weak != "normalised" and weights.log_bound > self.log_bounds[-1] - _LEAST_FALL:
                self.stopped = tr_lazy(
                    "Stopped after {done} rounds: the bound on the error fell no more.", done=done
                )
                break
            self.found.append(weak)
            self.log_bounds.append(weights.log_bound)
            reporter.progress(done + 1, learner.rounds, learner.title)
            reporter.partial(self._point())
        if not self.found:
            raise BadInput(
                "Along no direction do other findings lie farther from a case than its own.",
                "Try other features, or check the findings.",
            )
        self.stopped = self.stopped or tr_lazy("All {n} rounds.", n=len(self.found))
        return self

    def distance(self) -> Distance:
        return _distance(self.found, self.learner.readout)

    def _point(self) -> TrainingPoint:
        found, readout = list(self.found), self.learner.readout
        return TrainingPoint(len(found), math.exp(self.log_bounds[-1]), lambda: _distance(found, readout))

    def _next(self) -> _WeakMetric | None:
        """The weak model of a round, already counted in the weights' scores."""
        learner, weights, reporter = self.learner, self.weights, self.reporter
        value, direction = top_eigenpair(weights.curvature, by_size=learner.allow_similarity)
        sign = 1.0 if value > 0.0 else -1.0
        if not abs(value) > _NO_EIGENVALUE * self._lengths or (sign < 0.0 and not learner.allow_similarity):
            return None
        there = direction if self.basis is None else self.basis @ direction
        if learner.weak == "binary":
            assert isinstance(weights, StumpTriplets | ExplicitTriplets)
            cut: Stump | None = None
            if learner.threshold == "gaussian":
                cut = weights.gaussian_stump(direction, sign, reporter)
            if cut is None:
                cut = weights.best_stump(direction, sign, reporter)
            if cut is None:
                return None
            weights.add_stump(direction, cut.threshold, cut.alpha)
            return _WeakMetric(there, cut.alpha, cut.threshold)
        assert isinstance(weights, QuadraticTriplets | ExplicitTriplets)
        if learner.weak == "real":
            alpha = weights.step(direction, sign, reporter)
        else:
            # Eq. 9: h = (u.z)^2 / C^2 lies in 0 to 1, and r is the eigenvalue over C^2.
            r = sign * min(abs(value) / self._largest, _LARGEST_R)
            alpha = 0.5 * math.log((1.0 + r) / (1.0 - r)) / self._largest
        weights.add_square(direction, alpha)
        return _WeakMetric(there, alpha)


def _distance(found: list[_WeakMetric], readout: str) -> Distance:
    directions = np.stack([weak.direction for weak in found], axis=1)
    alphas = np.array([weak.alpha for weak in found])
    if readout == "votes":
        return StumpDistance(directions, np.array([weak.threshold for weak in found]), alphas)
    d = len(directions)
    if len(alphas) > d:
        alphas, directions = np.linalg.eigh((directions * alphas) @ directions.T)
        nonzero = np.abs(alphas) > 1e-14 * np.abs(alphas).max()
        alphas, directions = alphas[nonzero], directions[:, nonzero]
    L = np.ascontiguousarray((directions * np.sqrt(np.abs(alphas))).T)
    if any(weak.alpha < 0.0 for weak in found):
        return SignedDistance(L, np.sign(alphas))
    return LinearDistance(d, L)
