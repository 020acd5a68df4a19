"""All weights of a sum of rank-one matrices at once: totally corrective boosting and its linear program.

Shen et al. 2012, 3.6 (smooth losses, by L-BFGS-B) and 3.1 (the hinge loss, PSDBoost, by column generation).
"""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np

from semblance.core.errors import SemblanceError
from semblance.core.metrics.boosting.margin_losses import NOTHING_LEFT, MarginLoss
from semblance.core.metrics.boosting.triplet_margins import TripletMargins
from semblance.core.metrics.distance import Matrix

_MOST_STEPS = 200
_TOLERANCE = 1e-8
#: Where all triplets can be kept apart the loss falls without end; a mean margin of this is far enough.
_MOST_MARGIN = 400.0


class Columns:
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

        Each is scaled by the mean margin its column gives, so that all are of one size. Columns left with
        no weight are dropped: were they of use again, they would be found again.
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
        kept = self.weights > 0.0
        self.weights, self._squares = self.weights[kept], self._squares[:, kept]
        self._directions = [v for v, keep in zip(self._directions, kept.tolist(), strict=True) if keep]
        return self._margins.of(self._squares @ self.weights)


class Program(NamedTuple):
    """The optimum of the restricted linear program: weights (J,) of the columns, u (t,), and pi."""

    weights: Matrix
    u: Matrix
    pi: float


def solve_program(H: Matrix, most: float) -> Program:
    """Eq. 10: the u in [0, ``most``] that sum to 1 and make the largest entry pi of u'H least.

    ``H`` (t, J). The weights (Eq. 9) are the dual values of its J constraints; they sum to 1.

    Raises:
        SemblanceError: the solver gave up.
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
    return Program(weights / weights.sum(), np.maximum(found.x[:-1], 0.0), float(found.x[-1]) * scale)
