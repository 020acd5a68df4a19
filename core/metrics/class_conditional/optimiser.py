"""The optimisation of CCML, and the choice of its parameters."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from typing import NamedTuple, Protocol, TypeVar

import numpy as np
import numpy.typing as npt

from semblance.core.metrics.class_conditional.objective import expected_accuracy, make_batch
from semblance.core.metrics.distance import Matrix
from semblance.core.metrics.steps.pca import PCA
from semblance.core.metrics.training_data.labelled_rows import LabelledRows
from semblance.core.metrics.training_data.parallel_map import parallel_map
from semblance.core.metrics.training_data.parameter_search import error_of, gallery_sample, hold_out_rows

#: Median squared distance of two cases at the start.
_SPREAD = 10.0
_PAIRS = 4000
_MOST_COMPONENTS = 60
_MEAN, _SQUARE, _TINY = 0.9, 0.99, 1e-8
_SHARE = 0.3
#: Fewer query cases than this give no search result.
_FEWEST = 8


class Hyperparameters(NamedTuple):
    """Neighbours k, learning rate, weight decay, and dimensions p of the learnt space."""

    k: int
    rate: float
    decay: float
    components: int


def usual_hyperparameters(d: int) -> tuple[Hyperparameters, ...]:
    """The candidates for rows of ``d`` features, the most usual first.

    They were chosen among 192 settings on random 70/30 splits of development tables that no benchmark reports.
    """
    full = min(d, _MOST_COMPONENTS)
    middle = max(min(d, 2), d // 2)
    return (
        Hyperparameters(1, 0.03, 0.0, full),
        Hyperparameters(2, 0.03, 0.01, full),
        Hyperparameters(1, 0.003, 0.0, full),
        Hyperparameters(1, 0.03, 0.0, middle),
    )


class TrainingRun(Protocol):
    """A map in training: ``round`` of ``rounds`` are done."""

    round: int
    rounds: int

    def step(self) -> None:
        """One round; nothing once all are done."""

    def embed(self, X: Matrix) -> Matrix:
        """(n, d) -> (n, p): rows after the map so far."""


class CCMLOptimiser:
    """Adam on mini-batches of the rows, the rate falling to 0 along half a cosine (Algorithm 1).

    ``A`` (p, d) is the map so far, ``round`` the number of batches, ``accuracy`` the running mean of Eq. 11.
    """

    def __init__(
        self, rows: LabelledRows, choice: Hyperparameters, *, local: bool, batch: int, rounds: int, seed: int
    ) -> None:
        self._rows, self._choice, self._local, self.rounds = rows, choice, local, rounds
        self._batch = min(batch, len(rows.X))
        self._rng = np.random.default_rng(seed)
        self._queue = np.empty(0, dtype=np.intp)
        self.A = _start(rows.X, choice.components, self._rng)
        self._mean, self._square = np.zeros_like(self.A), np.zeros_like(self.A)
        self.round = 0
        self.accuracy = 0.0

    def step(self) -> None:
        """One batch; does nothing once all rounds are done."""
        if self.round >= self.rounds:
            return
        self.round += 1
        if len(self._queue) < self._batch:
            self._queue = np.concatenate([self._queue, self._rng.permutation(len(self._rows.X))])
        rows, self._queue = self._queue[: self._batch], self._queue[self._batch :]
        batch = make_batch(self._rows.X[rows], self._rows.codes[rows])
        value, gradient = expected_accuracy(self.A, batch, self._choice.k, self._local)
        descent = self._choice.decay * self.A - gradient
        self._mean *= _MEAN
        self._mean += (1.0 - _MEAN) * descent
        np.square(descent, out=descent)
        descent *= 1.0 - _SQUARE
        self._square *= _SQUARE
        self._square += descent
        root = np.sqrt(self._square / (1.0 - _SQUARE**self.round))
        root += _TINY
        rate = self._choice.rate * 0.5 * (1.0 + math.cos(math.pi * self.round / self.rounds))
        self.A = self.A - (rate / (1.0 - _MEAN**self.round)) * (self._mean / root)
        memory = min(0.9, 1.0 - 1.0 / self.round)
        self.accuracy = memory * self.accuracy + (1.0 - memory) * value

    def embed(self, X: Matrix) -> Matrix:
        """(n, d) -> (n, p): rows after the map so far."""
        out: Matrix = X @ self.A.T
        return out


C = TypeVar("C")


def best_hyperparameters(
    rows: LabelledRows,
    candidates: Sequence[C],
    begin: Callable[[LabelledRows, C], TrainingRun],
    *,
    groups: npt.ArrayLike | None,
    seed: int,
    tick: Callable[[], None],
    n_jobs: int | None = None,
) -> C:
    """The best of ``candidates`` by :func:`error_of` on a part set aside, the earlier within half a case.

    All are run for a quarter of their rounds, the two best for another. ``tick`` is called every round, by
    ``n_jobs`` threads.
    """
    fitted, validation = hold_out_rows(len(rows.X), groups, _SHARE, np.random.default_rng([seed, 1]))
    part = LabelledRows(rows.X[fitted], *_renumbered(rows.codes[fitted], rows.names))
    if len(candidates) == 1 or len(validation) < _FEWEST or not _usable(part.codes):
        return candidates[0]
    runs = [begin(part, candidate) for candidate in candidates]
    answers = gallery_sample(fitted)
    used_rows = np.concatenate([answers, validation])
    X, codes = rows.X[used_rows], rows.codes[used_rows]
    first, last = np.arange(len(answers)), np.arange(len(answers), len(used_rows))

    def ranked(places: Sequence[int], share: float) -> list[int]:
        def error_after(place: int) -> float:
            run = runs[place]
            while run.round < share * run.rounds:
                tick()
                run.step()
            return error_of(run.embed(X), codes, first, last) + 0.5 * place / len(validation)

        errors = parallel_map(error_after, places, n_jobs)
        return [places[number] for number in np.argsort(errors, kind="stable").tolist()]

    return candidates[ranked(ranked(range(len(runs)), 0.25)[:2], 0.5)[0]]


def _usable(codes: npt.NDArray[np.int64]) -> bool:
    sizes = np.bincount(codes) if len(codes) else np.zeros(1)
    return len(sizes) > 1 and bool(sizes.max() > 1)


def _renumbered(
    codes: npt.NDArray[np.int64], names: tuple[str, ...]
) -> tuple[npt.NDArray[np.int64], tuple[str, ...]]:
    codes_present, numbers = np.unique(codes, return_inverse=True)
    return numbers.astype(np.int64), tuple(names[code] for code in codes_present.tolist())


def _start(X: Matrix, components: int, rng: np.random.Generator) -> Matrix:
    """(p, d) principal directions, scaled so that cases lie about as far apart as softmax resolves."""
    A = PCA(components).fit(X).components_
    i, j = rng.integers(len(X), size=(2, _PAIRS))
    differ = i != j
    Z = X @ A.T
    median = float(np.median(np.square(Z[i[differ]] - Z[j[differ]]).sum(axis=1)))
    if median <= 0.0:
        median = 2.0 * float(Z.var(axis=0).sum())
    start: Matrix = A * math.sqrt(_SPREAD / median)
    return start
