"""Validation inside the training cases, to choose the shrinkage of a covariance and the number of rounds."""

from __future__ import annotations

import os
from collections.abc import Callable, Iterable, Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from contextvars import ContextVar
from typing import Any, TypeVar

import numpy as np
import numpy.typing as npt

from semblance.core.language import tr_lazy
from semblance.core.metrics.distance import Matrix
from semblance.core.metrics.training_data.training_sample import row_hashes, stratified_sample

T = TypeVar("T")
R = TypeVar("R")

#: ``map(function, items)``: the results in the order of the items.
Map = Callable[[Callable[[Any], Any], Iterable[Any]], list[Any]]
_OFFERED: ContextVar[Map | None] = ContextVar("_OFFERED", default=None)

Rows = npt.NDArray[np.intp]

#: Maximum number of queries, and of cases in the gallery.
_MAX_QUERIES, _MAX_GALLERY = 400, 1200
_NEAREST = (1, 3, 5)
_NEAREST_OF_EACH = (1, 3)
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


@contextmanager
def using_parallel_map(offered: Map) -> Iterator[None]:
    """A context in which :func:`parallel_map` is ``offered``, such as the tasks of a cluster.

    What a function changes there in its arguments may stay there: only its result counts.
    """
    token = _OFFERED.set(offered)
    try:
        yield
    finally:
        _OFFERED.reset(token)


def parallel_map(function: Callable[[T], R], items: Iterable[T], n_jobs: int | None) -> list[R]:
    """``function`` of each of ``items``, in their order, by ``n_jobs`` threads at once.

    ``None`` and 1: without threads; negative: as many as processors, plus one, less. Threads, because matrices are
    multiplied outside Python's lock, and a process would take longer to start than most choices take. In the context
    of :func:`using_parallel_map` the number does not matter.

    Raises:
        ValueError: 0.
    """
    if n_jobs == 0:
        raise ValueError("n_jobs == 0 has no meaning.")
    offered = _OFFERED.get()
    if offered is not None:
        return offered(function, items)
    count = 1 if n_jobs is None else n_jobs if n_jobs > 0 else max(1, (os.cpu_count() or 1) + 1 + n_jobs)
    if count == 1:
        return [function(item) for item in items]
    with ThreadPoolExecutor(count) as pool:
        return list(pool.map(function, items))


def hold_out_rows(
    n: int, groups: npt.ArrayLike | None, share: float, rng: np.random.Generator
) -> tuple[Rows, Rows]:
    """Rows to fit on and query rows, about ``share`` of ``n``; no patient of ``groups`` (n,) is in both."""
    names = [None] * n if groups is None else np.asarray(groups).tolist()
    keys = [("case", row) if name in (None, "") else ("patient", name) for row, name in enumerate(names)]
    numbers: dict[tuple[str, object], int] = {}
    codes = np.array([numbers.setdefault(key, len(numbers)) for key in keys])
    turn = rng.permutation(len(numbers))[codes]
    order = np.argsort(turn, kind="stable")
    size = min(_MAX_QUERIES, max(1, round(share * n)))
    # Whole patients only: all cases of the last patient are queries.
    cut = int(np.searchsorted(turn[order], turn[order[size - 1]], side="right"))
    return np.sort(order[cut:]), np.sort(order[:cut])


def gallery_sample(fitted: Rows) -> Rows:
    """The gallery of :func:`error_of`: evenly spaced ones of the rows ``fitted``."""
    return fitted[:: max(1, -(-len(fitted) // _MAX_GALLERY))]


def error_of(Z: Matrix, codes: npt.NDArray[np.int64], fitted: Rows, queries: Rows) -> float:
    """Mean error of k-NN (k = 1, 3, 5) and class-conditional k-NN (k = 1, 3) on the rows ``queries``.

    ``Z`` (n, p) rows after the map, ``codes`` (n,) their findings; the rows ``fitted`` are the gallery. Findings with
    equally many votes share the credit.
    """
    fitted = gallery_sample(fitted)
    A, B = Z[queries], Z[fitted]
    distances = A @ (-2.0 * B.T)
    distances += np.einsum("ij,ij->i", B, B)
    known, answers = np.unique(codes[fitted], return_inverse=True)
    place = np.minimum(np.searchsorted(known, codes[queries]), len(known) - 1)
    truth = np.where(known[place] == codes[queries], place, -1)
    # The nearest of all are among the nearest of each finding.
    near = np.full((len(queries), len(known), max(_NEAREST)), np.inf)
    for finding in range(len(known)):
        own = distances[:, answers == finding]
        if own.shape[1] > near.shape[2]:
            own = np.partition(own, near.shape[2] - 1, axis=1)[:, : near.shape[2]]
        near[:, finding, : own.shape[1]] = np.sort(own, axis=1)
    order = np.argsort(near.reshape(len(queries), -1), axis=1, kind="stable")[:, : max(_NEAREST)]
    voters = order // near.shape[2]
    errors = []
    for k in _NEAREST:
        count = min(k, len(fitted))
        counts = (voters[:, :count, np.newaxis] == np.arange(len(known))).sum(axis=1)
        errors.append(1.0 - _credit(counts == counts.max(axis=1, keepdims=True), truth))
    finite = np.isfinite(near)
    for k in _NEAREST_OF_EACH:
        total = np.where(finite, near, 0.0)[..., :k].sum(axis=2)
        mean = total / finite[..., :k].sum(axis=2)
        errors.append(1.0 - _credit(mean == mean.min(axis=1, keepdims=True), truth))
    return float(np.mean(errors))


def _credit(winners: npt.NDArray[np.bool_], truth: Rows) -> float:
    right = np.where(truth >= 0, winners[np.arange(len(truth)), np.maximum(truth, 0)], False)
    return float(np.mean(right / winners.sum(axis=1)))


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


def validation_part(
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
        part = validation_part(rows, findings, units, _SHARE, seed, turn)
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
        self.errors: list[float] = []

    def ended(self, L: Matrix) -> bool:
        """Take the map L (m, d) after the next round; true where there was no improvement for ten rounds."""
        self.latest += 1
        error = self._part.error(L)
        self.errors.append(error)
        if error < self._least:
            self._least, self.best = error, self.latest
        return self.latest - self.best >= _PATIENCE


def chosen_rounds(
    part: Validation | Sequence[Validation] | None,
    rounds: int,
    run: Callable[[Rows, Callable[[Matrix], bool]], object],
) -> tuple[int, tuple[str, ...]]:
    """How many of ``rounds`` to run on all cases, and the card's sentence about it.

    Of several parts the mean error counts, one that has ended keeping its last. ``run(fitted, ended)`` learns from
    these rows and calls ``ended`` with the map after each round. So do the authors of LMNN, whose code keeps the best
    round on a part of the cases.
    """
    parts = [] if part is None else [part] if isinstance(part, Validation) else list(part)
    curves = []
    for one in parts:
        stopping = EarlyStopping(one)
        run(one.fitted, stopping.ended)
        curves.append(stopping.errors)
    if not any(curves):
        return (1 if parts else rounds), ()
    length = max(map(len, curves))
    errors = np.sum([curve + [curve[-1]] * (length - len(curve)) for curve in curves if curve], axis=0)
    best = int(np.argmin(errors)) + 1
    note = tr_lazy("{best} of at most {rounds} rounds, chosen on cases set aside.", best=best, rounds=rounds)
    return best, (note,)
