"""ITML: the metric nearest to the Euclidean one, in information, that keeps pairs within two bounds.

Davis, Kulis, Jain, Sra, Dhillon: Information-theoretic metric learning. ICML 2007. Equation numbers are
theirs.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

from semblance.core.errors import BadInput
from semblance.core.language import tr_lazy
from semblance.core.metrics import declarations
from semblance.core.metrics.distance import Matrix
from semblance.core.metrics.distances.linear import LinearDistance
from semblance.core.metrics.linear_learner import LearntMap, RowSpace
from semblance.core.metrics.numerics.eigenpairs import symmetric_root
from semblance.core.metrics.prepared_learner import PreparedLinearLearner
from semblance.core.metrics.training import TrainingPoint
from semblance.core.metrics.training_data.pairs import FEWER_PAIRS, training_pairs
from semblance.core.metrics.training_data.rows import TrainingInput, check_different, check_memory
from semblance.core.tasks import Reporter

#: Pairs projected on together.
_CHUNK = 32
#: Passes where none are asked for: the usual number, or fewer where they would be more steps than this.
_USUAL_PASSES, _FEWEST_PASSES, _MOST_STEPS = 50, 2, 60_000
#: Passes of the fits on parts: what follows changes little.
_PASSES_OF_PARTS = 10
#: Arrays of pairs x features held at once.
_COPIES = 3


class ITML(declarations.ITML, PreparedLinearLearner):
    """Bregman projections on one pair after another (Algorithm 1) till they hardly change anything.

    Example:
        >>> import numpy as np
        >>> from sklearn.datasets import load_wine
        >>> from sklearn.preprocessing import scale
        >>> from semblance.core.metrics import make_learner
        >>> X, y = load_wine(return_X_y=True)
        >>> i, j = np.arange(177), np.random.default_rng(0).permutation(np.arange(1, 178))
        >>> i, j = i[i != j], j[i != j]
        >>> pairs = np.stack([scale(X)[i], scale(X)[j]], axis=1)
        >>> learner = make_learner("itml", random_state=0).fit(pairs, np.where(y[i] == y[j], 1, -1))
        >>> learner.get_mahalanobis_matrix().shape
        (13, 13)
    """

    def _choices(self) -> dict[str, Any]:
        return {"passes": min(self.passes or _PASSES_OF_PARTS, _PASSES_OF_PARTS)}

    def _learn(self, data: TrainingInput) -> LearntMap:
        source = training_pairs(self.title, len(data.X), data.y, data.pairs, draw=self.draw, seed=data.seed)
        check_different(data.X)
        space = RowSpace(data.X)
        check_memory(
            8.0 * _COPIES * len(source) * space.rows.shape[1],
            tr_lazy("{n:,} pairs of cases of {shape:,} features", n=len(source), shape=data.X.shape[1]),
            FEWER_PAIRS,
        )
        z = source.differences(space.rows)
        apart = np.einsum("ij,ij->i", z, z) > 0.0
        if not apart.any():
            raise BadInput("The cases of all pairs have the same features.", "Extract other features first.")
        order = np.random.default_rng([data.seed, 1]).permutation(np.flatnonzero(apart))
        z, label = z[order], source.label[order]
        state = start_of(z, label)
        note = self._sweep(state, z, label, space, data.reporter)
        return LearntMap(_map(state.M, space), (note,), source.counts(), rounds=state.passes)

    def _sweep(
        self, state: ProjectionState, z: Matrix, label: Matrix, space: RowSpace, reporter: Reporter
    ) -> str:
        passes = self.passes or max(_FEWEST_PASSES, min(_USUAL_PASSES, _MOST_STEPS // len(z)))
        for done in range(passes):
            reporter.progress(done, passes, self.title)
            before = state.multiplier.copy()
            violated = 0
            for start in range(0, len(z), _CHUNK):
                reporter.check_cancelled()
                violated += project(state, z, label, slice(start, start + _CHUNK), self.gamma)
            state.passes = done + 1
            reporter.partial(_point(done + 1, violated / len(z), state.M.copy(), space))
            change = float(np.abs(state.multiplier - before).sum())
            size = float(np.linalg.norm(before) + np.linalg.norm(state.multiplier))
            if change <= self.tolerance * size:
                return tr_lazy("Converged after {done} passes.", done=done + 1)
            if reporter.stop_requested:
                return tr_lazy("Stopped on request after {done} passes.", done=done + 1)
        return tr_lazy("All {passes} passes; not yet converged.", passes=passes)


@dataclass(eq=False)
class ProjectionState:
    """M (d, d), the slackened bound xi (p,) and the multiplier lambda (p,) of every pair."""

    M: Matrix
    bound: Matrix
    multiplier: Matrix
    passes: int = 0


def start_of(z: Matrix, label: Matrix) -> ProjectionState:
    """The Euclidean metric; similar z (p, d) shall come below its 5th percentile, others above its 95th."""
    lengths = np.einsum("ij,ij->i", z, z)
    low, high = np.percentile(lengths, [5.0, 95.0])
    bound = np.where(label > 0, max(float(low), 1e-12 * float(high)), float(high))
    return ProjectionState(np.eye(z.shape[1]), bound, np.zeros(len(z)))


def project(state: ProjectionState, z: Matrix, label: Matrix, part: slice, gamma: float) -> int:
    """The steps 3.1 to 3.7 of Algorithm 1 for the pairs ``part``; how many were beyond their bound.

    All products of the differences z under M are made at once. A step with w = Mz changes them by beta (z'w)(z'w)',
    and the w stay sums of the Mz of the start, so M itself is changed once, at the end.
    """
    differences = z[part]
    size, violated = len(differences), 0
    bounds, multipliers = state.bound[part].tolist(), state.multiplier[part].tolist()
    images = differences @ state.M
    products = images @ differences.T
    # Row t: how much of each image is in w of step t; and beta z'w of the later pairs.
    shares, changes, betas = np.eye(size), np.zeros((size, size)), np.zeros(size)
    for t, delta in enumerate(label[part].tolist()):
        p = float(products[t, t])
        if p <= 0.0:
            continue
        bound = bounds[t]
        violated += delta * (p - bound) > 0.0
        alpha = min(multipliers[t], 0.5 * delta * (1.0 / p - gamma / bound))
        if alpha == 0.0:
            continue
        betas[t] = beta = delta * alpha / (1.0 - delta * alpha * p)
        bounds[t] = gamma * bound / (gamma + delta * alpha * bound)
        multipliers[t] -= alpha
        if t:
            shares[t] += changes[:t, t] @ shares[:t]
        column = products[t + 1 :, t].copy()
        changes[t, t + 1 :] = beta * column
        products[t + 1 :, t + 1 :] += np.multiply.outer(beta * column, column)
    state.bound[part], state.multiplier[part] = bounds, multipliers
    moves = shares @ images
    state.M += (moves * betas[:, np.newaxis]).T @ moves
    return violated


def _point(number: int, objective: float, M: Matrix, space: RowSpace) -> TrainingPoint:
    """A point of the curve, whose root is computed only if its distance is read."""

    def distance() -> LinearDistance:
        L = _map(M, space)
        return LinearDistance(L.shape[1], L)

    return TrainingPoint(number, objective, distance)


def _map(M: Matrix, space: RowSpace) -> Matrix:
    """L with L'L = M over the span of the rows, and the Euclidean metric beside it, which no pair reaches."""
    return space.map_with_rest(symmetric_root(M))
