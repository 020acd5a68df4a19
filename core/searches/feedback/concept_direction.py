"""A concept: a direction from cases without a property to cases with it, learnt from a few of both.

This follows testing with concept activation vectors (Kim et al. 2018) and the concept tool of Cai et al. (2019), who
moved the query along such a vector. Moving a query by v adds -2 v.(x - q) to its squared distances, so the
direction is that of a linear classifier, and the strength measures the score that ranks.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from semblance.core.metrics.distance import Matrix

Truth = npt.NDArray[np.bool_]
Groups = npt.NDArray[np.intp]

#: Number of cases of different patients, with and without the concept, that the strength needs.
MINIMUM = 3
#: Ridge for a mean squared distance from the centre of 1. RIDGE and REACH were chosen on ionosphere and
#: balance_scale (benchmarks).
RIDGE = 1.0
#: How far a slider at 1 moves the query, in standard deviations of all cases along the direction.
REACH = 3.0
#: Up to so many pairs of a case with and one without are left out one by one, otherwise in FOLDS parts.
MAX_PAIRS, FOLDS = 900, 10
_Z = 1.959963984540054


@dataclass(frozen=True)
class Separability:
    """How well a direction separates cases with a concept from cases without it, by cross-validation.

    ``auc`` with its 95 % interval ``low`` to ``high``; ``with_`` and ``without`` count the marked cases it
    was measured on, ``patients`` their patients (``None`` if unknown).
    """

    auc: float
    low: float
    high: float
    with_: int
    without: int
    patients: int | None

    @property
    def is_significant(self) -> bool:
        """Whether the interval excludes 0.5, that is chance."""
        return self.low > 0.5


def direction(points: Matrix, has: Truth, ridge: float = RIDGE) -> Matrix | None:
    """(m,) unit vector from cases without to cases with; ``None`` if both have the same position.

    ``points`` (n, m), ``has`` (n,) with both values in it. Ridge regression of +1 and -1, both sides with
    equal weight whatever their number, solved on the n x n matrix of products.
    """
    centre = (points[has].mean(axis=0) + points[~has].mean(axis=0)) / 2.0
    X = points - centre
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


def has_enough_cases(has: Truth, groups: Groups) -> bool:
    """Whether both sides have MINIMUM cases of different patients (``groups`` (n,))."""
    return all(len(np.unique(groups[side])) >= MINIMUM for side in (has, ~has))


def separability(
    points: Matrix, has: Truth, groups: Groups, *, patients_known: bool = False
) -> Separability | None:
    """Cross-validated area under the ROC curve; ``None`` with fewer than MINIMUM on either side.

    Every pair of a case with and a case without is ordered by a direction learnt without the patients
    (``groups`` (n,)) of both. Leaving out pairs is unbiased for few cases, in contrast to leaving out single ones
    (Airola et al. 2011). Beyond MAX_PAIRS pairs, patients are left out in FOLDS parts and pairs counted within
    each. The interval is Newcombe's (2006, method 5), which does not vanish at 0 and 1. It counts patients,
    not cases.
    """
    if not has_enough_cases(has, groups):
        return None
    with_, without = np.flatnonzero(has), np.flatnonzero(~has)
    by_pairs = len(with_) * len(without) <= MAX_PAIRS
    ordered = (_by_pairs if by_pairs else _by_folds)(points, has, groups)
    if ordered is None:
        return None
    sizes = [len(np.unique(groups[side])) for side in (has, ~has)]
    low, high = newcombe(ordered, *sizes)
    patients = len(np.unique(groups)) if patients_known else None
    return Separability(ordered, low, high, len(with_), len(without), patients)


def _by_pairs(points: Matrix, has: Truth, groups: Groups) -> float | None:
    ordered, counted = 0.0, 0
    directions: dict[frozenset[int], Matrix | None] = {}
    for i in np.flatnonzero(has).tolist():
        for j in np.flatnonzero(~has).tolist():
            left_out = frozenset((int(groups[i]), int(groups[j])))
            if left_out not in directions:
                directions[left_out] = _direction_without(points, has, ~np.isin(groups, list(left_out)))
            along = directions[left_out]
            if along is not None:
                ordered += _ordered_share(points[[i]] @ along, points[[j]] @ along)
                counted += 1
    return ordered / counted if counted else None


def _by_folds(points: Matrix, has: Truth, groups: Groups) -> float | None:
    codes = np.unique(groups, return_inverse=True)[1]
    shuffled = np.random.default_rng(0).permutation(codes.max() + 1)
    fold_of = shuffled[codes] % FOLDS
    ordered, counted = 0.0, 0
    for fold in range(FOLDS):
        test = fold_of == fold
        along = _direction_without(points, has, ~test)
        pairs = int((test & has).sum()) * int((test & ~has).sum())
        if along is not None and pairs:
            ordered += pairs * _ordered_share(points[test & has] @ along, points[test & ~has] @ along)
            counted += pairs
    return ordered / counted if counted else None


def _direction_without(points: Matrix, has: Truth, training: Truth) -> Matrix | None:
    if has[training].all() or not has[training].any():
        return None
    return direction(points[training], has[training])


def _ordered_share(upper: Matrix, lower: Matrix) -> float:
    """Share of pairs in the right order; ties count half."""
    difference = upper[:, np.newaxis] - lower
    return float(((difference > 0).mean() + (difference >= 0).mean()) / 2.0)


def newcombe(auc: float, m: int, n: int) -> tuple[float, float]:
    """95 % interval of an area from ``m`` and ``n`` independent cases (Newcombe 2006, part 2, method 5).

    The ends are the areas t for which ``auc`` is 1.96 standard errors (Hanley-McNeil) away.
    """
    n_star = (m + n) / 2.0 - 1.0

    def error(t: float) -> float:
        return t * (1 - t) * (1 + n_star * (1 - t) / (2 - t) + n_star * t / (1 + t)) / (m * n)

    def end(inside: float, outside: float) -> float:
        # abs(t - auc) grows and the error falls outwards, so there is one solution t.
        for _ in range(60):
            middle = (inside + outside) / 2.0
            if (middle - auc) ** 2 <= _Z**2 * error(middle):
                inside = middle
            else:
                outside = middle
        return inside

    return end(auc, 0.0), end(auc, 1.0)
