"""The rounds of BoostMetric: what each adds to a sum of rank-one matrices, and when they end.

Shen, Kim, Wang, van den Hengel 2012; equation numbers are theirs. A_r = (x_i - x_k)(x_i - x_k)' -
(x_i - x_j)(x_i - x_j)' (Eq. 6) of a triplet is never formed. Three forms, each a generator of :class:`Round`
that returns why it ended: :func:`stagewise` (3.4), :func:`totally_corrective` (3.6, all weights at once by
L-BFGS-B) and :func:`hinge` (3.1, PSDBoost: a linear program by column generation).
"""

from __future__ import annotations

import math
from collections.abc import Generator
from typing import Any, NamedTuple

import numpy as np

from semblance.core.errors import SemblanceError
from semblance.core.language import tr_lazy
from semblance.core.metrics.boosting.margin_losses import NOTHING_LEFT, MarginLoss
from semblance.core.metrics.distance import Matrix
from semblance.core.metrics.numerics.convex_minimum import Slopes, convex_minimum
from semblance.core.metrics.numerics.top_eigenpair import top_eigenpair
from semblance.core.metrics.training_data.triplets import Rows

_MOST_STEPS = 200
_TOLERANCE = 1e-8
#: If all triplets can be satisfied, the loss falls without end; at this mean margin the rounds end.
_MOST_MARGIN = 400.0
#: The rounds end if the largest eigenvalue is this near to the cost of a unit of trace, to which the exponential loss
#: converges.
_CONVERGED = 1.0 + 1e-6
#: A step that changes all margins by less than this counts as none.
_NO_STEP = 1e-9
#: Share of the largest margin by which a column of the linear program must improve on it.
_NO_GAIN = 1e-7
#: A direction that satisfies all triplets would get infinite weight, which is limited to this mean margin.
_FAR_APART = 40.0
_NO_DIRECTION = tr_lazy("no further direction helps")
_NO_CHANGE = tr_lazy("the margins moved no more")
_NO_LOSS = tr_lazy("all triplets have a large margin")


class TripletMargins:
    """Triplets (t, 3) of rows i, j, k of ``X`` (n, d), as edges ij and ik of a graph of the rows."""

    def __init__(self, X: Matrix, triplets: Rows) -> None:
        from scipy.sparse import csr_array

        self.X = X
        n = len(X)
        i, j, k = triplets.T
        edges, place = np.unique(np.concatenate([i * n + j, i * n + k]), return_inverse=True)
        self._i, self._j = np.divmod(edges, n)
        self._near, self._far = place[: len(triplets)], place[len(triplets) :]
        starts = np.searchsorted(self._i, np.arange(n + 1))
        #: The edges; making an array of them costs more than a product with few rows.
        self._graph: Any = csr_array((np.zeros(len(edges)), self._j, starts), shape=(n, n))
        self.n_triplets, self.n_edges = len(triplets), len(edges)

    def squares(self, direction: Matrix) -> Matrix:
        """(e,) (v . (x - x'))^2 of every edge."""
        p = self.X @ direction
        difference: Matrix = p.take(self._i) - p.take(self._j)
        difference *= difference
        return difference

    def of(self, squares: Matrix) -> Matrix:
        """(t,) <A_r, Z>, from what Z gives each edge (e,): H_r of Eq. 8 for :meth:`squares`."""
        margins: Matrix = squares.take(self._far) - squares.take(self._near)
        return margins

    def on_edges(self, u: Matrix) -> Matrix:
        """(e,) the adjoint of :meth:`of`: the weight of each edge from weights ``u`` (t,)."""
        e = len(self._i)
        return np.asarray(np.bincount(self._far, u, e) - np.bincount(self._near, u, e))

    def curvature(self, u: Matrix) -> Matrix:
        """(d, d) sum_r u_r A_r (Eq. 23), as X'LX with L the sparse Laplacian of the weighted edges."""
        n = len(self.X)
        self._graph.data = on = self.on_edges(u)
        degrees = np.bincount(self._i, on, n) + np.bincount(self._j, on, n)
        half = self.X.T @ (self._graph @ self.X)
        return np.asarray(self.X.T @ (degrees[:, np.newaxis] * self.X) - half - half.T)


class RankOneSum:
    """Rank-one matrices v v' with the squares they give each edge, and weights w of their sum."""

    def __init__(self, margins: TripletMargins) -> None:
        self._margins = margins
        self.weights = np.empty(0)
        self._directions: list[Matrix] = []
        self._squares = np.empty((margins.n_edges, 0))

    def add(self, direction: Matrix, squares: Matrix, weight: float) -> None:
        """One more column, with the weight it begins with."""
        self._directions.append(direction)
        self._squares = np.column_stack([self._squares, squares])
        self.weights = np.append(self.weights, weight)

    def table(self) -> Matrix:
        """(t, J) H (Eq. 8)."""
        return np.stack([self._margins.of(column) for column in self._squares.T], axis=1)

    def matrix(self) -> Matrix:
        """(d, d) sum_j w_j v_j v_j'."""
        V = np.stack(self._directions, axis=1)
        M: Matrix = (V * self.weights) @ V.T
        return M

    def correct(self, loss: MarginLoss, regularisation: float) -> Matrix:
        """Set the weights w >= 0 to those with the least loss(H w) + v sum w; the margins H w (t,).

        Each is scaled by the mean margin its column gives, so that all are of one size. Columns with weight 0 are
        dropped; if they become useful again, they are found again.
        """
        from scipy.optimize import Bounds, minimize

        scale = np.array([np.abs(self._margins.of(column)).mean() for column in self._squares.T])

        def objective(scaled: Matrix) -> tuple[float, Matrix]:
            w = scaled / scale
            rho = self._margins.of(self._squares @ w)
            value = loss.value(rho) + regularisation * float(w.sum())
            slope = regularisation - self._margins.on_edges(loss.weights(rho)) @ self._squares
            return value / unit, slope / (scale * unit)

        begin, unit = self.weights * scale, 1.0
        unit = max(abs(objective(begin)[0]), 1e-300)

        def enough(intermediate_result: Any) -> None:
            if loss.share(intermediate_result.fun * unit) < NOTHING_LEFT:
                raise StopIteration

        found: Any = minimize(
            objective,
            begin,
            jac=True,
            method="L-BFGS-B",
            bounds=Bounds(0.0, _MOST_MARGIN),
            callback=enough,
            options={"maxiter": _MOST_STEPS, "ftol": _TOLERANCE, "gtol": _TOLERANCE},
        )
        better = objective(found.x)[0] <= objective(begin)[0]
        self.weights = (found.x if better else begin) / scale
        remaining = self.weights > 0.0
        self.weights, self._squares = self.weights[remaining], self._squares[:, remaining]
        self._directions = [
            v for v, remains in zip(self._directions, remaining.tolist(), strict=True) if remains
        ]
        return self._margins.of(self._squares @ self.weights)


class LinearProgramOptimum(NamedTuple):
    """The optimum of the restricted linear program: weights (J,) of the columns, u (t,), and pi."""

    weights: Matrix
    u: Matrix
    pi: float


def solve_program(H: Matrix, most: float) -> LinearProgramOptimum:
    """Eq. 10: the u in [0, ``most``] that sum to 1 and make the largest entry pi of u'H least.

    ``H`` (t, J). The weights (Eq. 9) are the dual values of its J constraints; they sum to 1.

    Raises:
        SemblanceError: the solver failed.
    """
    from scipy.optimize import linprog

    count, columns = H.shape
    # Margins near 1: the solver's tolerances are absolute.
    scale = float(np.abs(H).max())
    found: Any = linprog(
        np.append(np.zeros(count), 1.0),
        A_ub=np.column_stack([H.T / scale, -np.ones(columns)]),
        b_ub=np.zeros(columns),
        A_eq=np.append(np.ones(count), 0.0)[np.newaxis],
        b_eq=np.ones(1),
        bounds=[*([(0.0, most)] * count), (None, None)],
        method="highs",
    )
    if found.status != 0:
        raise SemblanceError(
            "The linear program of the hinge loss could not be solved.",
            "Use loss=logistic, or fewer training cases.",
        )
    weights = np.maximum(-found.ineqlin.marginals, 0.0)
    return LinearProgramOptimum(
        weights / weights.sum(), np.maximum(found.x[:-1], 0.0), float(found.x[-1]) * scale
    )


class Round(NamedTuple):
    """``matrix`` (d, d) after a round, and its ``objective``."""

    objective: float
    matrix: Matrix


Rounds = Generator[Round, None, str]


def stagewise(margins: TripletMargins, loss: MarginLoss, regularisation: float) -> Rounds:
    """Algorithm 3: the weight of the new direction is optimised, those before stay (Eqs. 21, 30)."""
    rho = np.zeros(margins.n_triplets)
    d = margins.X.shape[1]
    M, trace = np.zeros((d, d)), 0.0
    while True:
        value, v = top_eigenpair(margins.curvature(loss.weights(rho)))
        if value <= regularisation * _CONVERGED:
            return _NO_DIRECTION
        H = margins.of(margins.squares(v))
        w, bounded = _step(loss, rho, H, regularisation)
        if w * np.abs(H).max() < _NO_STEP:
            return _NO_CHANGE
        rho += w * H
        M = M + w * np.outer(v, v)
        trace += w
        value = loss.value(rho)
        yield Round(value + regularisation * trace, M)
        if not bounded or loss.share(value) < NOTHING_LEFT:
            return _NO_LOSS


def totally_corrective(margins: TripletMargins, loss: MarginLoss, regularisation: float) -> Rounds:
    """Algorithm 4: after each new direction the weights of all are optimised."""
    rho = np.zeros(margins.n_triplets)
    columns = RankOneSum(margins)
    before = np.inf
    while True:
        value, v = top_eigenpair(margins.curvature(loss.weights(rho)))
        if value <= regularisation * _CONVERGED:
            return _NO_DIRECTION
        squares = margins.squares(v)
        H = margins.of(squares)
        w, bounded = _step(loss, rho, H, regularisation)
        if w * np.abs(H).max() < _NO_STEP:
            return _NO_CHANGE
        columns.add(v, squares, w)
        rho = columns.correct(loss, regularisation) if bounded else rho + w * H
        value = loss.value(rho)
        objective = value + regularisation * float(columns.weights.sum())
        if not objective < before:
            return _NO_CHANGE
        yield Round(objective, columns.matrix())
        before = objective
        if not bounded or loss.share(value) < NOTHING_LEFT:
            return _NO_LOSS


def hinge(margins: TripletMargins, slack: float) -> Rounds:
    """PSDBoost (3.1): column generation for Eq. 9 with v = 1 / (slack t); the trace is 1.

    The objective is minus that of Eq. 9, which by duality is pi of Eq. 10.
    """
    from scipy.linalg import orth

    count = margins.n_triplets
    # Where no matrix gives every triplet a margin, one in which no two cases differ, such as in a constant feature,
    # would have the least cost.
    basis = orth((margins.X - margins.X.mean(axis=0)).T)
    columns = RankOneSum(margins)
    u = np.full(count, 1.0 / count)
    pi, table = -np.inf, np.empty((count, 0))
    while True:
        value, v = top_eigenpair(basis.T @ margins.curvature(u) @ basis)
        v = basis @ v
        squares = margins.squares(v)
        H = margins.of(squares)
        if value - pi <= _NO_GAIN * np.abs(H).max() or (not table.size and value <= 0.0):
            return _NO_DIRECTION
        columns.add(v, squares, 0.0)
        table = np.column_stack([table, H])
        weights, u, pi = solve_program(table, 1.0 / (slack * count))
        columns.weights = weights
        yield Round(-pi, columns.matrix())


def _step(loss: MarginLoss, rho: Matrix, H: Matrix, regularisation: float) -> tuple[float, bool]:
    """The weight of a new column, and whether the loss has its least value there."""

    def slopes(w: float) -> Slopes:
        first, second, third = loss.slopes(rho, H, w)
        return first + regularisation, second, third

    most = _FAR_APART / float(H.mean()) if H.min() > 0.0 else math.inf
    found = convex_minimum(slopes, 1.0 / float(np.abs(H).max()), most)
    return found.place, found.bounded and found.place < most
