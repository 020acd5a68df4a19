"""Validation inside the training cases, to choose the shrinkage of a covariance and the number of rounds."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
import numpy.typing as npt

from semblance.core.language import tr_lazy
from semblance.core.metrics.distance import Matrix
from semblance.core.metrics.training_data.content_order import row_hashes
from semblance.core.metrics.training_data.parallel_map import parallel_map
from semblance.core.metrics.training_data.parameter_search import error_of, gallery_sample, hold_out_rows
from semblance.core.metrics.training_data.training_sample import stratified_sample

Rows = npt.NDArray[np.intp]
Codes = npt.NDArray[np.int64]

#: Shares of a spherical covariance that are tried.
SHRINKAGES = (0.0, 0.01, 0.1, 0.3, 0.5, 0.7, 0.9, 0.99)
#: Splits over which the errors of a shrinkage are averaged, and the share set aside in each.
_SPLITS, _SHARE = 5, 0.25
#: With fewer validation cases nothing is chosen.
_FEWEST = 8
#: Cases that a shrinkage is chosen on at most.
_CASES = 4000
#: Rounds without improvement after which it stops.
_PATIENCE = 10


class Validation:
    """Rows ``fitted`` of ``X`` (n, d) to learn from, and others to measure an error on."""

    def __init__(self, X: Matrix, codes: Codes, fitted: Rows, queries: Rows) -> None:
        self.fitted = fitted
        gallery = gallery_sample(fitted)
        used = np.concatenate([gallery, queries])
        self._X, self._codes = X[used], codes[used]
        self._gallery, self._queries = np.arange(len(gallery)), np.arange(len(gallery), len(used))

    def error(self, L: Matrix) -> float:
        """That of :func:`error_of` after the map L (m, d): of k-NN and class-conditional k-NN on the rows set aside."""
        return error_of(self._X @ L.T, self._codes, self._gallery, self._queries)


def set_aside(
    X: Matrix, codes: Codes, groups: npt.ArrayLike | None, share: float, seed: int, turn: int = 0
) -> Validation | None:
    """About ``share`` of the rows (n, d) with findings ``codes`` (n,), whole patients of ``groups`` (n,).

    ``None`` if there are too few cases for either part.
    """
    if share <= 0.0 or share * len(X) < _FEWEST:
        return None
    fitted, queries = hold_out_rows(len(X), groups, share, np.random.default_rng([seed, 11, turn]))
    sizes = np.unique(codes[fitted], return_counts=True)[1]
    if len(queries) < _FEWEST or len(sizes) < 2 or sizes.max() < 2:
        return None
    return Validation(X, codes, fitted, queries)


def best_shrinkage(
    X: Matrix,
    codes: Codes,
    groups: npt.ArrayLike | None,
    seed: int,
    map_of: Callable[[Rows], Callable[[float], Matrix]],
    n_jobs: int | None = None,
) -> float | None:
    """That of :data:`SHRINKAGES` with the least error on rows set aside, the larger of equal ones.

    ``map_of(rows)(shrinkage)`` is the map L (m, d) learnt from these rows of ``X`` (n, d). ``codes`` (n,) are
    findings, -1 for none. ``None`` where there are too few cases to choose. Splits are taken by ``n_jobs`` threads.
    """
    names = None if groups is None else np.asarray(groups)
    known = np.flatnonzero(codes >= 0)
    if len(known) > _CASES:
        units = None if names is None else names[known]
        known = known[stratified_sample(codes[known], _CASES, seed, units, row_hashes(X, seed)[known])]
    rows, findings = X[known], codes[known]
    units = None if names is None else names[known]

    def errors_of(turn: int) -> list[float] | None:
        part = set_aside(rows, findings, units, _SHARE, seed, turn)
        if part is None:
            return None
        make = map_of(known[part.fitted])
        return [part.error(make(shrinkage)) for shrinkage in SHRINKAGES]

    found = [one for one in parallel_map(errors_of, range(_SPLITS), n_jobs) if one is not None]
    if not found:
        return None
    errors = np.sum(found, axis=0)
    return SHRINKAGES[int(np.flatnonzero(errors <= errors.min() + 1e-12)[-1])]


class EarlyStopping:
    """The round with the least error on rows set aside, and whether it is time to stop."""

    def __init__(self, part: Validation) -> None:
        self._part = part
        self._least = np.inf
        self.best, self.latest = 1, 0

    def ended(self, L: Matrix) -> bool:
        """Take the map L (m, d) after the next round; true where there was no improvement for ten rounds."""
        self.latest += 1
        error = self._part.error(L)
        if error < self._least:
            self._least, self.best = error, self.latest
        return self.latest - self.best >= _PATIENCE


def chosen_rounds(
    part: Validation | None, rounds: int, run: Callable[[Rows, Callable[[Matrix], bool]], object]
) -> tuple[int, tuple[str, ...]]:
    """How many of ``rounds`` to run on all cases, and the card's sentence about it.

    ``run(fitted, ended)`` learns from these rows and calls ``ended`` with the map after each round. So do the
    authors of LMNN, whose code keeps the best round on a part of the cases.
    """
    if part is None:
        return rounds, ()
    best = EarlyStopping(part)
    run(part.fitted, best.ended)
    note = tr_lazy(
        "{best} of at most {rounds} rounds, chosen on cases set aside.", best=best.best, rounds=rounds
    )
    return best.best, (note,)
