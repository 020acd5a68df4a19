"""The rounds of BoostMetric: what each adds to a sum of rank-one matrices, and when they end.

Shen, Kim, Wang, van den Hengel 2012; equation numbers are theirs.

Each form is a generator of :class:`Round`; it returns why it ended.
"""

from __future__ import annotations

import math
from collections.abc import Generator
from typing import NamedTuple

import numpy as np

from semblance.core.language import tr_lazy
from semblance.core.metrics.boosting.corrective import Columns, solve_program
from semblance.core.metrics.boosting.margin_losses import NOTHING_LEFT, MarginLoss
from semblance.core.metrics.boosting.triplet_margins import TripletMargins
from semblance.core.metrics.distance import Matrix
from semblance.core.metrics.numerics.convex_minimum import Slopes, convex_minimum
from semblance.core.metrics.numerics.top_eigenpair import top_eigenpair

#: An eigenvalue this near to what a unit of trace costs pays no more: the exponential loss converges to it.
_CONVERGED = 1.0 + 1e-6
#: A step that moves no margin by more than this moves none.
_NO_STEP = 1e-9
#: Share of the largest margin by which a column of the linear program must improve on it.
_NO_GAIN = 1e-7
#: A direction that keeps all triplets apart wants infinite weight; this mean margin is as good.
_FAR_APART = 40.0

_NO_DIRECTION = tr_lazy("no further direction helps")
_NO_CHANGE = tr_lazy("the margins moved no more")
_NO_LOSS = tr_lazy("all triplets are kept far apart")


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
    columns = Columns(margins)
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
    count = margins.n_triplets
    columns = Columns(margins)
    u = np.full(count, 1.0 / count)
    pi, table = -np.inf, np.empty((count, 0))
    while True:
        value, v = top_eigenpair(margins.curvature(u))
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
