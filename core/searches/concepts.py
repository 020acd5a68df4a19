"""A concept: a direction in which cases that have it lie, learnt from a few that do and a few that do not.

After testing with concept activation vectors (Kim et al. 2018), and the concept tool of Cai et al. (2019) who
moved the query along such a vector. Moving a query by v adds -2 v.(x - q) to its squared distances, so the
direction is that of a linear classifier: the score it ranks by is the one whose strength is measured.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from semblance.core.metrics.distance import Matrix

Truth = npt.NDArray[np.bool_]
Groups = npt.NDArray[np.intp]

#: Cases with and cases without that are needed before anything is measured, of different patients.
MINIMUM = 3
#: Ridge, where the usual squared distance from the middle is 1. With REACH chosen on ionosphere and
#: balance_scale (benchmarks).
RIDGE = 1.0
#: How far the whole of a slider moves the query, in standard deviations of all cases along the direction.
REACH = 3.0
#: Up to so many pairs of one case with and one without are left out one by one; beyond, in FOLDS parts.
PAIRS, FOLDS = 900, 10
_Z = 1.959963984540054


@dataclass(frozen=True)
class Strength:
    """How well a direction tells cases that have a concept from those that do not, on cases left out.

    ``auc`` with its 95 % interval ``low`` to ``high``; ``with_`` and ``without`` count the marked cases it
    was measured on, ``patients`` whose they are (``None`` where patients are unknown).
    """

    auc: float
    low: float
    high: float
    with_: int
    without: int
    patients: int | None

    @property
    def tells(self) -> bool:
        """The interval leaves out chance."""
        return self.low > 0.5


def direction(points: Matrix, has: Truth, ridge: float = RIDGE) -> Matrix | None:
    """(m,) unit vector from cases without towards cases with; ``None`` where both lie at one place.

    ``points`` (n, m), ``has`` (n,) with both values in it. Ridge regression of +1 and -1, both sides counting
    alike whatever their number, solved on the n x n matrix of products.
    """
    middle = (points[has].mean(axis=0) + points[~has].mean(axis=0)) / 2.0
    X = points - middle
    share = np.where(has, 0.5 / has.sum(), 0.5 / (~has).sum()) * len(has)
    amounts = np.linalg.solve(X @ X.T + np.diag(ridge / share), np.where(has, 1.0, -1.0))
    v = amounts @ X
    length = float(np.linalg.norm(v))
    if not length > 1e-12:
        return None
    out: Matrix = v / length
    return out


def spread(points: Matrix, along: Matrix) -> float:
    """Standard deviation of ``points`` (n, m) along a unit vector (m,)."""
    return float((points @ along).std())


def enough(has: Truth, groups: Groups) -> bool:
    """MINIMUM cases of different patients on both sides."""
    return all(len(np.unique(groups[side])) >= MINIMUM for side in (has, ~has))


def strength(points: Matrix, has: Truth, groups: Groups, *, patients_known: bool = False) -> Strength | None:
    """Cross-validated area under the ROC curve; ``None`` with fewer than MINIMUM on either side.

    Every pair of a case with and a case without is put in order by a direction learnt without the patients
    (``groups`` (n,)) of both: leaving out pairs is not biased for few cases, as leaving out single ones is
    (Airola et al. 2011). Beyond PAIRS pairs, patients are left out in FOLDS parts and pairs counted within
    each. The interval is Newcombe's (2006, method 5), which does not vanish at 0 and 1; it counts patients,
    not cases.
    """
    if not enough(has, groups):
        return None
    with_, without = np.flatnonzero(has), np.flatnonzero(~has)
    every = len(with_) * len(without) <= PAIRS
    won = (_by_pairs if every else _by_folds)(points, has, groups)
    if won is None:
        return None
    sizes = [len(np.unique(groups[side])) for side in (has, ~has)]
    low, high = newcombe(won, *sizes)
    patients = len(np.unique(groups)) if patients_known else None
    return Strength(won, low, high, len(with_), len(without), patients)


def _by_pairs(points: Matrix, has: Truth, groups: Groups) -> float | None:
    won, counted = 0.0, 0
    learnt: dict[frozenset[int], Matrix | None] = {}
    for i in np.flatnonzero(has).tolist():
        for j in np.flatnonzero(~has).tolist():
            left_out = frozenset((int(groups[i]), int(groups[j])))
            if left_out not in learnt:
                learnt[left_out] = _without(points, has, ~np.isin(groups, list(left_out)))
            along = learnt[left_out]
            if along is not None:
                won += _won(points[[i]] @ along, points[[j]] @ along)
                counted += 1
    return won / counted if counted else None


def _by_folds(points: Matrix, has: Truth, groups: Groups) -> float | None:
    codes = np.unique(groups, return_inverse=True)[1]
    shuffled = np.random.default_rng(0).permutation(codes.max() + 1)
    fold = shuffled[codes] % FOLDS
    won, counted = 0.0, 0
    for part in range(FOLDS):
        inside = fold == part
        along = _without(points, has, ~inside)
        pairs = int((inside & has).sum()) * int((inside & ~has).sum())
        if along is not None and pairs:
            won += pairs * _won(points[inside & has] @ along, points[inside & ~has] @ along)
            counted += pairs
    return won / counted if counted else None


def _without(points: Matrix, has: Truth, kept: Truth) -> Matrix | None:
    if has[kept].all() or not has[kept].any():
        return None
    return direction(points[kept], has[kept])


def _won(upper: Matrix, lower: Matrix) -> float:
    """Share of pairs in the right order, ties counting half."""
    difference = upper[:, np.newaxis] - lower
    return float(((difference > 0).mean() + (difference >= 0).mean()) / 2.0)


def newcombe(auc: float, m: int, n: int) -> tuple[float, float]:
    """95 % interval of an area from ``m`` and ``n`` independent cases (Newcombe 2006, part 2, method 5).

    The ends are the areas t whose own Hanley-McNeil variance puts ``auc`` at 1.96 of their errors.
    """
    beside = (m + n) / 2.0 - 1.0

    def error(t: float) -> float:
        return t * (1 - t) * (1 + beside * (1 - t) / (2 - t) + beside * t / (1 + t)) / (m * n)

    def end(inside: float, outside: float) -> float:
        # abs(t - auc) grows and the error falls towards the outside, so one t is on the edge.
        for _ in range(60):
            middle = (inside + outside) / 2.0
            if (middle - auc) ** 2 <= _Z**2 * error(middle):
                inside = middle
            else:
                outside = middle
        return inside

    return end(auc, 0.0), end(auc, 1.0)
