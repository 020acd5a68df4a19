"""Learn a quadratic form from all judged triplets together.

A triplet states that the liked case l is closer to the query q than the disliked k: with z_l = l - q, z_k = k - q, A
= (z_k z_k' - z_l z_l') / (|z_l|^2 + |z_k|^2), <M, A> should be large. There is no threshold: distances among a query's
nearest cases lie far below any threshold common to all pairs.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt

from semblance.core.metrics.distance import Matrix
from semblance.core.metrics.relevance_feedback.quadratic_form import FeedbackForm, span_basis

Rows = npt.NDArray[np.int64]

#: Steepness of the logistic loss.
SLOPE = 1.0
#: Up to so many triplets Newton's method works on their Gram matrix, beyond on M itself.
GRAM_TRIPLETS = 400
_NEWTON_STEPS, _EXACT = 60, 1e-10


@dataclass(frozen=True, eq=False)
class WeightedTriplets:
    """Points and the judgements about them.

    ``points`` (p, m); ``triplets`` (t, 3) rows of it: the first is closer to the second than to the third;
    ``weights`` (t,) how much each counts.
    """

    points: Matrix
    triplets: Rows
    weights: Matrix

    @classmethod
    def of(
        cls, points: Matrix, triplets: npt.ArrayLike, weights: npt.ArrayLike | None = None
    ) -> WeightedTriplets:
        """``points`` (p, m) with ``triplets`` (t, 3) of their rows; without ``weights`` each counts 1."""
        t = np.asarray(triplets, dtype=np.int64).reshape(-1, 3)
        given = np.ones(len(t)) if weights is None else np.asarray(weights, dtype=np.float64)
        return cls(points, t, given)


def fit_form(judged: WeightedTriplets, slope: float = SLOPE) -> FeedbackForm:
    """The form that fits all triplets together, whatever their order.

    It minimises |D|^2 / 2 + sum_r w_r log(1 + exp(-s <D, A_r>)) over symmetric D = M - I, s = ``slope``;
    D = sum_r a_r A_r with a_r = s w_r sigma(-s <D, A_r>). M is then brought to the nearest positive
    semidefinite matrix.
    """
    m = judged.points.shape[1]
    used, inside = np.unique(judged.triplets, return_inverse=True)
    if not len(used):
        return FeedbackForm.start(m)
    points = judged.points[used]
    basis = span_basis(points)
    pairs = DifferencePairs.of(points @ basis.T, inside.reshape(-1, 3), judged.weights)
    if not len(pairs.sizes):
        return FeedbackForm.start(m)
    fit = _on_gram if len(pairs.sizes) <= GRAM_TRIPLETS else on_form
    return FeedbackForm.nearest(fit(pairs, slope), basis)


@dataclass(frozen=True, eq=False)
class PointDifferences:
    """Differences of points by what they are between: few points make many of them.

    ``points`` (n, r); ``first`` and ``second`` (p,) rows of it, one from each to the other.
    """

    points: Matrix
    first: Rows
    second: Rows

    @classmethod
    def of(cls, points: Matrix, first: Rows, second: Rows) -> PointDifferences | None:
        """``None`` where going by each difference is less work."""
        n, r = points.shape
        # Centred, so that little is lost where points are close to each other.
        return cls(points - points.mean(axis=0), first, second) if n * (n + r) < len(first) * r else None

    def stretched(self, D: Matrix) -> Matrix:
        """(p,): z'Dz of D (r, r)."""
        products = (self.points @ D) @ self.points.T
        own = np.diagonal(products)
        across = products[self.first, self.second] + products[self.second, self.first]
        out: Matrix = own[self.first] + own[self.second] - across
        return out

    def summed(self, each: Matrix) -> Matrix:
        """(r, r): the sum of each z z' for ``each`` (p,)."""
        n = len(self.points)
        across = np.bincount(self.first * n + self.second, each, n * n).reshape(n, n)
        laplacian = -across - across.T
        laplacian[np.diag_indices(n)] -= laplacian.sum(axis=1)
        out: Matrix = self.points.T @ (laplacian @ self.points)
        return out


@dataclass(frozen=True, eq=False)
class DifferencePairs:
    """Triplets whose A is not zero, as pairs of differences: most triplets share theirs with others.

    ``z`` (p, r) the differences; ``near`` and ``far`` (t,) rows of it; ``sizes`` |z_l|^2 + |z_k|^2 and
    ``weights`` (t,); ``between`` what ``z`` are the differences of, where that is less work.
    """

    z: Matrix
    near: Rows
    far: Rows
    sizes: Matrix
    weights: Matrix
    between: PointDifferences | None = None

    @classmethod
    def of(cls, points: Matrix, triplets: Rows, weights: Matrix) -> DifferencePairs:
        """The pairs of ``triplets`` (t, 3) of rows of ``points`` (n, r) with ``weights`` (t,)."""
        n, t = len(points), len(triplets)
        keys = np.concatenate([triplets[:, 0] * n + triplets[:, side] for side in (1, 2)])
        pairs, places = np.unique(keys, return_inverse=True)
        z = points[pairs % n] - points[pairs // n]
        squares = np.einsum("ij,ij->i", z, z)
        near, far = places[:t], places[t:]
        sizes = squares[near] + squares[far]
        useful = (sizes > 0.0) & (weights > 0.0)
        # Only equally long ones can be equal.
        equal = np.flatnonzero(np.abs(squares[near] - squares[far]) <= 1e-9 * sizes)
        useful[equal] &= (z[near[equal]] != z[far[equal]]).any(axis=1)
        between = PointDifferences.of(points, pairs // n, pairs % n)
        return cls(z, near[useful], far[useful], sizes[useful], weights[useful], between)

    def margins(self, D: Matrix) -> Matrix:
        """(t,): <D, A_r> of D (r, r)."""
        if self.between is None:
            stretched = np.einsum("ij,ij->i", self.z @ D, self.z)
        else:
            stretched = self.between.stretched(D)
        out: Matrix = (stretched[self.far] - stretched[self.near]) / self.sizes
        return out

    def summed(self, amounts: Matrix) -> Matrix:
        """(r, r): the sum of a_r A_r for amounts a (t,), without making any A."""
        amounts, n = amounts / self.sizes, len(self.z)
        each = np.zeros(n)
        each += np.bincount(self.far, amounts, n)
        each -= np.bincount(self.near, amounts, n)
        if self.between is not None:
            return self.between.summed(each)
        out: Matrix = (self.z.T * each) @ self.z
        return out


def gram(near: Matrix, far: Matrix, sizes: Matrix) -> Matrix:
    """(t, t): <A_r, A_s> without making any A."""
    products = (far @ far.T) ** 2 - (far @ near.T) ** 2 - (near @ far.T) ** 2 + (near @ near.T) ** 2
    out: Matrix = products / np.outer(sizes, sizes)
    return out


def _on_gram(pairs: DifferencePairs, slope: float) -> Matrix:
    """Damped Newton on the amounts a (t,); undamped it diverges."""
    near, far, sizes, weights = pairs.z[pairs.near], pairs.z[pairs.far], pairs.sizes, pairs.weights
    G = gram(near, far, sizes)
    a = np.zeros(len(sizes))
    margins = G @ a

    def objective(a: Matrix, margins: Matrix) -> float:
        return float(0.5 * a @ margins + weights @ np.logaddexp(0.0, -slope * margins))

    value = objective(a, margins)
    for _ in range(_NEWTON_STEPS):
        wrong = sigma(-slope * margins)
        residual = a - slope * weights * wrong
        if np.abs(residual).max() <= _EXACT:
            break
        curvature = slope * slope * weights * wrong * (1.0 - wrong)
        step = -np.linalg.solve(np.eye(len(a)) + curvature[:, np.newaxis] * G, residual)
        length = 1.0
        while length > 1e-9:
            moved = a + length * step
            moved_margins = G @ moved
            moved_value = objective(moved, moved_margins)
            if moved_value <= value + 1e-14 * abs(value):
                break
            length /= 2.0
        a, margins, value = moved, moved_margins, moved_value
    amounts = a / sizes
    change: Matrix = (far.T * amounts) @ far - (near.T * amounts) @ near
    return change


def on_form(pairs: DifferencePairs, slope: float = SLOPE) -> Matrix:
    """D (r, r) by limited-memory BFGS on itself: the Gram matrix of thousands of triplets would not fit."""
    from scipy.optimize import minimize

    weights, r = pairs.weights, pairs.z.shape[1]

    def objective(flat: Matrix) -> tuple[float, Matrix]:
        D = flat.reshape(r, r)
        margins = slope * pairs.margins(D)
        value = float(0.5 * flat @ flat + weights @ np.logaddexp(0.0, -margins))
        return value, (D - pairs.summed(slope * weights * sigma(-margins))).ravel()

    options: Any = {"maxiter": 200, "gtol": 1e-6 * max(1.0, float(weights.max()))}
    D = minimize(objective, np.zeros(r * r), jac=True, method="L-BFGS-B", options=options).x.reshape(r, r)
    change: Matrix = (D + D.T) / 2.0
    return change


def sigma(x: Matrix) -> Matrix:
    """1 / (1 + exp(-x))."""
    with np.errstate(over="ignore"):
        out: Matrix = 1.0 / (1.0 + np.exp(-x))
    return out
