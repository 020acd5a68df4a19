"""BoostMetric: a Mahalanobis metric as a sum of rank-one matrices, found one by one as boosting finds them.

Shen et al. 2012, 3.2 and 3.5. ``rho`` (t,) are the margins so far, ``H`` (t,) those the new rank-one matrix adds per
unit of its weight w. Working arrays are allocated once, because with many triplets the allocation costs more than the
arithmetic.

Shen, Kim, Wang, van den Hengel 2012; equation numbers are theirs. A_r = (x_i - x_k)(x_i - x_k)' -
(x_i - x_j)(x_i - x_j)' (Eq. 6) of a triplet is never formed. Three forms, each a generator of :class:`BoostingRound`
that returns why it ended: :func:`stagewise` (3.4), :func:`totally_corrective` (3.6, all weights at once by
L-BFGS-B) and :func:`hinge` (3.1, PSDBoost: a linear program by column generation).

Shen, Kim, Wang, van den Hengel: Positive Semidefinite Metric Learning Using Boosting-like Algorithms. Journal
of Machine Learning Research 13, 2012. Equation numbers are theirs.
"""

from __future__ import annotations

import abc
import math
import warnings
from collections.abc import Generator
from typing import Any, NamedTuple, Self

import numpy as np
import numpy.typing as npt

from semblance.core.errors import BadInput, SemblanceError
from semblance.core.language import tr_lazy
from semblance.core.metrics import declarations
from semblance.core.metrics.card import MetricCard
from semblance.core.metrics.distance import Matrix
from semblance.core.metrics.distances.linear import LinearDistance
from semblance.core.metrics.linear_learner import RowSpace
from semblance.core.metrics.numerics.eigenpairs import psd_root, top_eigenpair
from semblance.core.metrics.numerics.minimise import Slopes, convex_minimum
from semblance.core.metrics.prepared_learner import PreparedLearner
from semblance.core.metrics.training import TrainingPoint, begin_card
from semblance.core.metrics.training_data.rows import TrainingInput, check_features, check_memory
from semblance.core.metrics.training_data.triplets import Rows, nearest_triplets, triplet_source
from semblance.core.tasks import Reporter

#: The rounds end below this share of the initial loss.
NOTHING_LEFT = 1e-6
#: exp of more is not representable; sigma of less is 0 anyway.
_LARGEST = 700.0

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

#: Triplets the linear program of the hinge loss is tried with.
MOST_HINGE_TRIPLETS = 50_000
#: Bytes a triplet takes: its rows, its edges, their order, its margin and weight.
_PER_TRIPLET = 200


class MarginLoss(abc.ABC):
    """A convex loss of margins that decrease it, summed over ``count`` triplets."""

    def __init__(self, count: int) -> None:
        self._a, self._b, self._c = np.empty((3, count))

    @abc.abstractmethod
    def value(self, rho: Matrix) -> float:
        """The loss of the margins (t,)."""

    @abc.abstractmethod
    def share(self, value: float) -> float:
        """The share of the loss at margins of 0 that is left."""

    @abc.abstractmethod
    def weights(self, rho: Matrix) -> Matrix:
        """(t,) u, minus the derivative of the loss in each margin; overwritten by the next call."""

    @abc.abstractmethod
    def slopes(self, rho: Matrix, H: Matrix, w: float) -> Slopes:
        """The first three derivatives of the loss of ``rho + w H`` in w."""

    def _moved(self, rho: Matrix, H: Matrix, w: float) -> Matrix:
        np.multiply(H, w, out=self._a)
        self._a += rho
        return self._a


class ExponentialLoss(MarginLoss):
    """log sum_r exp(-rho_r) (Eq. 11); the weights are its softmax (Eq. 19) and sum to 1."""

    def value(self, rho: Matrix) -> float:
        """Eq. 11 of the margins (t,), without overflow."""
        low = float(rho.min())
        np.subtract(low, rho, out=self._b)
        np.exp(self._b, out=self._b)
        return float(np.log(self._b.sum())) - low

    def share(self, value: float) -> float:
        """exp of the loss over the number of triplets, at most 1."""
        return math.exp(min(value - math.log(len(self._a)), 0.0))

    def weights(self, rho: Matrix) -> Matrix:
        """(t,) the softmax of -rho (Eq. 19); overwritten by the next call."""
        u = self._b
        np.subtract(rho.min(), rho, out=u)
        np.exp(u, out=u)
        u /= u.sum()
        return u

    def slopes(self, rho: Matrix, H: Matrix, w: float) -> Slopes:
        """Derivatives in w: minus the mean of H under the weights, its variance, minus its third central moment."""
        u, off = self.weights(self._moved(rho, H, w)), self._c
        mean = float(u @ H)
        np.subtract(H, mean, out=off)
        u *= off
        second = float(u @ off)
        u *= off
        return -mean, second, -float(u @ off)


class LogisticLoss(MarginLoss):
    """sum_r log(1 + exp(-rho_r)) (Eq. 25); the weights are sigma(-rho_r) (Eq. 28), each below 1."""

    def value(self, rho: Matrix) -> float:
        """Eq. 25 of the margins (t,), without overflow."""
        size = np.abs(rho, out=self._b)
        np.negative(size, out=size)
        np.exp(size, out=size)
        np.log1p(size, out=size)
        return float(size.sum() - np.minimum(rho, 0.0, out=self._c).sum())

    def share(self, value: float) -> float:
        """The loss over that at margins of 0, t log 2."""
        return value / (len(self._a) * math.log(2.0))

    def weights(self, rho: Matrix) -> Matrix:
        """(t,) sigma(-rho) (Eq. 28); overwritten by the next call."""
        u = np.minimum(rho, _LARGEST, out=self._b)
        np.exp(u, out=u)
        u += 1.0
        np.reciprocal(u, out=u)
        return u

    def slopes(self, rho: Matrix, H: Matrix, w: float) -> Slopes:
        """Of sigma = u: sigma' = -H sigma (1 - sigma)."""
        u, curved = self.weights(self._moved(rho, H, w)), self._c
        first = -float(u @ H)
        np.subtract(1.0, u, out=curved)
        curved *= u
        curved *= H
        second = float(curved @ H)
        curved *= H
        u *= -2.0
        u += 1.0
        curved *= u
        return first, second, -float(curved @ H)


LOSSES: dict[str, type[MarginLoss]] = {"exponential": ExponentialLoss, "logistic": LogisticLoss}


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


class BoostingRound(NamedTuple):
    """``matrix`` (d, d) after a round, and its ``objective``."""

    objective: float
    matrix: Matrix


Rounds = Generator[BoostingRound, None, str]


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
        yield BoostingRound(value + regularisation * trace, M)
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
        yield BoostingRound(objective, columns.matrix())
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
        yield BoostingRound(-pi, columns.matrix())


def _step(loss: MarginLoss, rho: Matrix, H: Matrix, regularisation: float) -> tuple[float, bool]:
    """The weight of a new column, and whether the loss has its least value there."""

    def slopes(w: float) -> Slopes:
        first, second, third = loss.slopes(rho, H, w)
        return first + regularisation, second, third

    most = _FAR_APART / float(H.mean()) if H.min() > 0.0 else math.inf
    found = convex_minimum(slopes, 1.0 / float(np.abs(H).max()), most)
    return found.place, found.bounded and found.place < most


class BoostMetric(declarations.BoostMetric, PreparedLearner):
    """Each round adds the direction along which impostors, those still too near most, lie farthest off.

    Where triplets are given, findings are only counted. The reporter receives a :class:`TrainingPoint` after every
    round, numbered through all passes; its objective is that of Eq. 11 (exponential) or 25 (logistic), or minus that
    of Eq. 9 (hinge), which starts again with the triplets of every pass. Fitted: ``distance_``, ``objectives_`` (a
    list a pass), ``stopped_`` (why the last pass ended). If no direction helps in the first round, it warns, and the
    metric is the Euclidean distance.

    Example:
        >>> import numpy as np
        >>> from sklearn.datasets import load_wine
        >>> from sklearn.preprocessing import scale
        >>> from semblance.core.metrics import make_learner
        >>> X, y = load_wine(return_X_y=True)
        >>> X = scale(X)
        >>> anchor, near, far = np.random.default_rng(0).integers(0, 178, (3, 900))
        >>> known = (y[anchor] == y[near]) & (y[anchor] != y[far]) & (anchor != near)
        >>> triplets = np.stack([X[anchor], X[near], X[far]], axis=1)[known]
        >>> learner = make_learner("boostmetric", random_state=0).fit(triplets)
        >>> learner.score(triplets) > 0.9
        True
    """

    def _fit_exactly(self, data: TrainingInput) -> None:
        source = triplet_source(self.title, data.X, data.y, data.triplets)
        check_features(min(source.X.shape))
        triplets = source.triplets
        self._check_memory(len(source.X) * self.neighbours**2 if triplets is None else len(triplets))
        found = _NeighbourPasses(self, RowSpace(source.X), source.codes, triplets, data.reporter).run()
        self.distance_ = found.distance()
        self.objectives_: list[list[float]] = found.objectives
        self.stopped_: str = found.stopped
        self._card: MetricCard = begin_card(
            self, data, constraints={"triplets": found.n_triplets}, notes=(found.stopped,), rounds=found.round
        )

    def _check_memory(self, triplets: int) -> None:
        # Weighing all directions again takes the margins along each.
        stored_rounds = self.rounds if self.corrective == "total" or self.loss == "hinge" else 0
        check_memory(
            (_PER_TRIPLET + 8.0 * stored_rounds) * triplets,
            tr_lazy("{triplets:,} triplets", triplets=triplets),
            tr_lazy("Ask for fewer neighbours or rounds, use corrective=stagewise, or train on fewer cases."),
        )


class _NeighbourPasses:
    """The passes over ever better neighbours (3.7), each a boosting of its own."""

    def __init__(
        self,
        learner: BoostMetric,
        space: RowSpace,
        codes: npt.NDArray[np.int64],
        triplets: Rows | None,
        reporter: Reporter,
    ) -> None:
        self._learner, self._space, self._codes, self._triplets = learner, space, codes, triplets
        self._reporter = reporter
        self._rows = space.rows - space.rows.mean(axis=0)
        # At a spread of 1 per feature the regularisation does not depend on the scale of the features.
        unit = 1.0 / float(np.sqrt(np.square(self._rows).mean()))
        self._map = np.eye(self._rows.shape[1]) * unit
        self.objectives: list[list[float]] = []
        self.stopped = ""
        self.round = 0
        self.n_triplets = 0

    def run(self) -> Self:
        learner, reporter = self._learner, self._reporter
        total = learner.passes * learner.rounds
        reporter.progress(0, total, learner.title)
        for number in range(learner.passes):
            if self.round and reporter.stop_requested:
                break
            M = self._boost()
            if M is None:
                break
            self._map = self._after(M, self._map)
            reporter.progress((number + 1) * learner.rounds, total, learner.title)
        if not self.round:
            # As a later pass that finds nothing, it leaves the map as it was.
            self.stopped = tr_lazy(
                "Nothing was learnt: along no direction do other findings lie farther from a case than its own. "
                "This is the Euclidean distance."
            )
            warnings.warn(f"{learner.title}: {self.stopped}", stacklevel=2)
        elif learner.passes > 1:
            self.stopped = tr_lazy("{n} passes. {stopped}", n=len(self.objectives), stopped=self.stopped)
        return self

    def distance(self) -> LinearDistance:
        return self._distance(self._map)

    def _boost(self) -> Matrix | None:
        """One pass; the matrix learnt over the map so far, ``None`` if no direction helps."""
        learner, reporter = self._learner, self._reporter
        here = self._rows @ self._map.T
        triplets = self._triplets
        if triplets is None:
            triplets = nearest_triplets(here, self._codes, learner.neighbours, reporter)
        self.n_triplets = len(triplets)
        rounds = self._rounds(TripletMargins(here, triplets))
        objectives: list[float] = []
        M: Matrix | None = None
        while len(objectives) < learner.rounds:
            reporter.check_cancelled()
            if M is not None and reporter.stop_requested:
                self.stopped = tr_lazy("Stopped on request after {n} rounds.", n=len(objectives))
                break
            try:
                objective, M = next(rounds)
            except StopIteration as end:
                self.stopped = tr_lazy(
                    "Stopped after {n} rounds: {value}.", n=len(objectives), value=end.value
                )
                break
            if not objectives:
                self.objectives.append(objectives)
            objectives.append(objective)
            self.round += 1
            done = (len(self.objectives) - 1) * learner.rounds + len(objectives)
            reporter.progress(done, learner.passes * learner.rounds, learner.title)
            reporter.partial(self._point(M, objective))
        else:
            self.stopped = tr_lazy("All {n} rounds.", n=len(objectives))
        return M

    def _rounds(self, margins: TripletMargins) -> Rounds:
        learner = self._learner
        if learner.loss == "hinge":
            if margins.n_triplets > MOST_HINGE_TRIPLETS:
                raise BadInput(
                    tr_lazy(
                        "{n_triplets} triplets are too many for the linear program of the hinge loss.",
                        n_triplets=margins.n_triplets,
                    ),
                    tr_lazy(
                        "Use loss=logistic, or fewer cases or neighbours (up to {most_hinge_triplets}).",
                        most_hinge_triplets=MOST_HINGE_TRIPLETS,
                    ),
                )
            return hinge(margins, learner.slack)
        loss = LOSSES[learner.loss](margins.n_triplets)
        form = stagewise if learner.corrective == "stagewise" else totally_corrective
        return form(margins, loss, learner.regularisation)

    def _point(self, M: Matrix, objective: float) -> TrainingPoint:
        before = self._map
        return TrainingPoint(self.round, objective, lambda: self._distance(self._after(M, before)))

    @staticmethod
    def _after(M: Matrix, before: Matrix) -> Matrix:
        """The root of M, brought to a mean eigenvalue of 1, on top of the map ``before``."""
        L: Matrix = psd_root(M * (len(M) / np.trace(M))) @ before
        return L

    def _distance(self, L: Matrix) -> LinearDistance:
        L = np.ascontiguousarray(self._space.map(L))
        return LinearDistance(L.shape[1], L)
