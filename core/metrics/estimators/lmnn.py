"""LMNN: pulls each case's nearest of its finding close, pushes others beyond them by a margin.

Weinberger, Saul: Distance metric learning for large margin nearest neighbor classification. Journal of
Machine Learning Research 10, 2009. Equation numbers are theirs.
"""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
import numpy.typing as npt

from semblance.core.language import tr_lazy
from semblance.core.metrics import declarations
from semblance.core.metrics.distance import Matrix
from semblance.core.metrics.linear_learner import LearntMap, LinearLearner, linear_point
from semblance.core.metrics.numerics.minimise import Descent, minimise
from semblance.core.metrics.numerics.pair_weights import squared_distances
from semblance.core.metrics.training_data.rows import TrainingInput, check_memory, labelled_rows
from semblance.core.metrics.training_data.validation import chosen_rounds, validation_part

Rows = npt.NDArray[np.intp]

#: Distances held at once.
_BLOCK = 1 << 21
#: Arrays of n x k x d numbers that finding the scale holds at once.
_COPIES = 3
#: Cases for which impostors are counted, and bytes of each impostor besides those of targets.
_SAMPLED_ROWS, _PER_IMPOSTOR = 256, 90


class LMNN(declarations.LMNN, LinearLearner):
    """Minimises (1 - mu) pull + mu push (Eq. 13) over L, with targets fixed beforehand and all impostors.

    Run to its optimum it overfits where there are many features. The authors' code (LMNN 3) keeps the round with the
    least k-NN error on a part of the cases; here that round is found so, and as many are run on all cases.

    Example:
        >>> from sklearn.datasets import load_wine
        >>> from sklearn.preprocessing import scale
        >>> from semblance.core.metrics import make_learner
        >>> X, y = load_wine(return_X_y=True)
        >>> X = scale(X)
        >>> learner = make_learner("lmnn", random_state=0).fit(X, y)
        >>> learner.score(X, y) > 0.9
        True
    """

    def _learn(self, data: TrainingInput) -> LearntMap:
        rows = labelled_rows(self.title, data.X, data.y)
        X, codes = rows.X - rows.X.mean(axis=0), rows.codes
        check_memory(
            8.0 * _COPIES * self.k * X.size,
            tr_lazy(
                "The differences of {n:,} cases of {shape:,} features from {k} targets each",
                n=len(X),
                shape=X.shape[1],
                k=self.k,
            ),
            tr_lazy("Train on fewer cases, ask for fewer targets (k), or put the step pca in front."),
        )
        targets = target_neighbours(X, codes, self.k)
        known = targets >= 0
        reach = np.square(X[:, np.newaxis] - X[targets])[known].sum(axis=1)
        # The margin is 1: targets start about that far away.
        scale = float(np.sqrt(reach.mean())) or float(np.sqrt(np.square(X).sum(axis=1).mean()))
        X = X / scale
        check_memory(
            expected_bytes(X, codes, targets),
            tr_lazy("The impostors of {n:,} cases", n=len(X)),
            tr_lazy("Train on fewer cases, or use boostmetric, which looks at the nearest few."),
        )

        def on_part(part: npt.NDArray[np.intp], ended: Callable[[Matrix], bool]) -> Descent:
            own = target_neighbours(X[part], codes[part], self.k)
            return minimise(
                lambda L: objective(L, X[part], codes[part], own, self.push),
                np.eye(X.shape[1]),
                rounds=self.rounds,
                reporter=data.reporter,
                what=tr_lazy("{title}: choosing the number of rounds", title=self.title),
                ended=ended,
            )

        part = validation_part(X, codes, rows.groups(data), self.validation, data.seed)
        rounds, notes = chosen_rounds(part, self.rounds, on_part)
        found = minimise(
            lambda L: objective(L, X, codes, targets, self.push),
            np.eye(X.shape[1]),
            rounds=rounds,
            reporter=data.reporter,
            what=self.title,
            point=lambda number, value, L: linear_point(number, value, L / scale),
        )
        return LearntMap(found.best / scale, (found.note, *notes), rounds=found.rounds)


def target_neighbours(X: Matrix, codes: npt.NDArray[np.int64], k: int) -> Rows:
    """(n, k) the nearest rows of the same finding, -1 where there are fewer."""
    targets = np.full((len(X), k), -1, dtype=np.intp)
    for code in np.unique(codes):
        members = np.flatnonzero(codes == code)
        n_targets = min(k, len(members) - 1)
        step = max(1, _BLOCK // len(members))
        for start in range(0, len(members) if n_targets else 0, step):
            block = members[start : start + step]
            distances = squared_distances(X[block], X[members])
            distances[np.arange(len(block)), np.arange(start, start + len(block))] = np.inf
            targets[block, :n_targets] = members[np.argsort(distances, axis=1, kind="stable")[:, :n_targets]]
    return targets


def expected_bytes(X: Matrix, codes: npt.NDArray[np.int64], targets: Rows) -> float:
    """What listing the impostors takes at the start, by some of the cases; ``X`` (n, d) at a margin of 1."""
    sampled = np.unique(np.linspace(0, len(X) - 1, _SAMPLED_ROWS).astype(np.intp))
    distances = squared_distances(X[sampled], X)
    to_targets = np.take_along_axis(distances, np.maximum(targets[sampled], 0), axis=1)
    reach = np.where(targets[sampled] >= 0, 1.0 + to_targets, -np.inf).max(axis=1)
    near = (distances < reach[:, np.newaxis]) & (codes[sampled, np.newaxis] != codes)
    expected: float = float(near.sum()) * len(X) / len(sampled)
    return expected * (_PER_IMPOSTOR + 9.0 * float(targets.shape[1]))


def objective(
    L: Matrix, X: Matrix, codes: npt.NDArray[np.int64], targets: Rows, push: float
) -> tuple[float, Matrix]:
    """(1 - mu) sum_ij d_ij + mu sum_ijl [1 + d_ij - d_il]_+ (Eq. 13), over n, and its gradient in L (m, d).

    j are the ``targets`` of i, l the cases of other findings. Only the pairs that count are ever listed: the
    gradient is 2 L X'(D - W)X with W their signed weights.
    """
    from scipy.sparse import coo_matrix

    n = len(X)
    Z = X @ L.T
    i, slot = np.nonzero(targets >= 0)
    j = targets[i, slot]
    pull = np.einsum("ij,ij->i", Z[i] - Z[j], Z[i] - Z[j])
    edge = np.full(targets.shape, -np.inf)
    edge[i, slot] = 1.0 + pull
    farthest = edge.max(axis=1)
    rows, columns, weights = [i], [j], [np.full(len(i), 1.0 - push)]
    value = (1.0 - push) * float(pull.sum())
    step = max(1, _BLOCK // n)
    for start in range(0, n, step):
        block = slice(start, min(start + step, n))
        distances = squared_distances(Z[block], Z)
        near = (distances < farthest[block, np.newaxis]) & (codes[block, np.newaxis] != codes)
        a, other = np.nonzero(near)
        a += start
        excess = edge[a] - distances[near][:, np.newaxis]
        active = excess > 0.0
        value += push * float(excess[active].sum())
        times = active.sum(axis=1)
        rows.append(a)
        columns.append(other)
        weights.append(-push * times)
        counted = np.zeros(targets.shape)
        np.add.at(counted, a, active)
        b, place = np.nonzero(counted)
        rows.append(b)
        columns.append(targets[b, place])
        weights.append(push * counted[b, place])
    W = coo_matrix(
        (np.concatenate(weights), (np.concatenate(rows), np.concatenate(columns))), shape=(n, n)
    ).tocsr()
    W = W + W.T
    degree = np.asarray(W.sum(axis=1)).ravel()
    gradient: Matrix = (2.0 / n) * (Z.T @ (degree[:, np.newaxis] * X - W @ X))
    return value / n, gradient
