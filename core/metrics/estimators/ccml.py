"""CCML: a metric for class-conditional nearest neighbours.

Im, Taylor: Learning a metric for class-conditional KNN. IJCNN 2016. Equation numbers are theirs.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from typing import Any, NamedTuple, Protocol, TypeVar

import numpy as np
import numpy.typing as npt

from semblance.core.language import tr_lazy
from semblance.core.metrics import declarations
from semblance.core.metrics.distance import Matrix
from semblance.core.metrics.linear_learner import LearntMap, RowSpace, linear_point
from semblance.core.metrics.prepared_learner import PreparedLinearLearner
from semblance.core.metrics.steps.pca import PCA
from semblance.core.metrics.training_data.rows import LabelledRows, TrainingInput, labelled_rows
from semblance.core.metrics.training_data.validation import (
    error_of,
    gallery_sample,
    hold_out_rows,
    parallel_map,
)

Rows = npt.NDArray[np.intp]

#: Up to so many neighbours, taking the nearest again and again is faster than a partial sort.
_FEW = 6

#: Median squared distance of two cases at the start.
_SPREAD = 10.0
_PAIRS = 4000
_MOST_COMPONENTS = 60
_MEAN, _SQUARE, _TINY = 0.9, 0.99, 1e-8
_SHARE = 0.3
#: Fewer query cases than this give no search result.
_FEWEST = 8

_SMALL, _SMALL_BATCH, _SMALL_ROUNDS = 400, 64, 90
_BATCH, _ROUNDS, _PASSES = 128, 120, 2
_POINTS = 40


class Batch(NamedTuple):
    """Rows of a batch ``X`` (b, d), ordered by ``finding`` (b,) 0, 1, ..."""

    X: Matrix
    finding: Rows


class Neighbours(NamedTuple):
    """The k nearest of each of b rows within each of g groups of rows, itself left out.

    ``rows`` (b, g, k), b where there are fewer; ``mean`` (b, g) of their squared distances, over those there
    are, infinite where there is none; ``counts`` (b, g).
    """

    rows: Rows
    mean: Matrix
    counts: Rows


def make_batch(X: Matrix, codes: npt.NDArray[np.integer]) -> Batch:
    """Of rows (b, d) with findings numbered ``codes`` (b,); numbers may be missing."""
    order = np.argsort(codes, kind="stable")
    ordered = codes[order]
    finding = np.zeros(len(codes), dtype=np.intp)
    np.cumsum(ordered[1:] != ordered[:-1], out=finding[1:])
    return Batch(X[order], finding)


def members_of(finding: Rows) -> Rows:
    """(c, m) the rows of each finding, ``finding`` (b,) 0, 1, ... ascending; filled up with b, no row."""
    sizes = np.bincount(finding)
    members = np.full((len(sizes), int(sizes.max())), len(finding))
    place = np.arange(len(finding)) - np.repeat(np.cumsum(sizes) - sizes, sizes)
    members[finding, place] = np.arange(len(finding))
    return members


def expected_accuracy(A: Matrix, batch: Batch, k: int, local: bool) -> tuple[float, Matrix]:
    """The mean of p_i(own) (Eq. 11) over rows with a neighbour of their own finding, and its gradient.

    ``A`` (p, d). p_i is the softmax of -S over all findings (Eq. 10), or over the own one and all others
    together (``local``, Eq. 15); S is the mean squared distance to the ``k`` nearest of each after z = Ax.
    The gradient is 2 sum_ij W_ij (z_i - z_j)(x_i - x_j)', W_ij = dE/dS / k for neighbours; the paper's Eq. 13
    leaves x_j out.
    """
    Z = batch.X @ A.T
    value, laplacian, counted = _weighted(Z, batch.finding, k, local)
    return value, (2.0 / counted) * (Z.T @ (laplacian @ batch.X))


def expected_accuracy_of(Z: Matrix, finding: Rows, k: int, local: bool) -> tuple[float, Matrix]:
    """As :func:`expected_accuracy`, of rows after any map: ``Z`` (b, p), and the gradient (b, p) by them.

    ``finding`` (b,) 0, 1, ... ascending.
    """
    value, laplacian, counted = _weighted(Z, finding, k, local)
    return value, (2.0 / counted) * (laplacian @ Z)


def _weighted(Z: Matrix, finding: Rows, k: int, local: bool) -> tuple[float, Matrix, int]:
    """The mean of p_i(own), the Laplacian (b, b) of W + W', and how many rows count (1 where none does)."""
    b = len(Z)
    rows = np.arange(b)
    if local:
        near, own = _two_sided(Z, finding, k), np.zeros(b, dtype=np.intp)
    else:
        members = members_of(finding)
        near, own = nearest_in_groups(_by_finding(_distances(Z), members), members, k), finding
    place = rows * near.counts.shape[1] + own
    alone = near.counts.ravel()[place] == 0
    counted = b - int(alone.sum())
    if counted == 0:
        return 0.0, np.zeros((b, b)), 1
    p = near.mean.min(axis=1, keepdims=True) - near.mean
    np.exp(p, out=p)
    p /= p.sum(axis=1, keepdims=True)
    p_own = p.ravel()[place]
    if counted < b:
        p_own[alone] = 0.0
    # dE/dS: p_own p_c of the others, -p_own (1 - p_own) of the own finding.
    slope = p
    slope *= p_own[:, np.newaxis]
    slope.ravel()[place] -= p_own
    slope /= np.maximum(near.counts, 1)
    W = np.zeros((b, b + 1))
    cells = near.rows.reshape(b, -1) + (rows * (b + 1))[:, np.newaxis]
    W.ravel()[cells] = np.repeat(slope, near.rows.shape[2], axis=1)
    W = W[:, :b] + W[:, :b].T
    laplacian = np.negative(W, out=W)
    laplacian.ravel()[:: b + 1] -= laplacian.sum(axis=1)
    return float(p_own.sum()) / counted, laplacian, counted


def nearest_in_groups(candidates: Matrix, members: Rows, k: int) -> Neighbours:
    """The ``k`` nearest of each row in each group.

    ``candidates`` (b, g, m) are squared distances, infinite where not to be used, and are spoilt; ``members``
    (g, m) are the rows they lead to.
    """
    b, g, m = candidates.shape
    k = min(k, m)
    if k <= _FEW:
        flat = candidates.reshape(-1)
        starts = np.arange(0, b * g * m, m).reshape(b, g)
        cells = np.empty((b, g, k), dtype=np.intp)
        found = np.empty((b, g, k))
        for place in range(k):
            cell = candidates.argmin(axis=2)
            cell += starts
            cells[..., place] = cell
            found[..., place] = flat[cell]
            if place + 1 < k:
                flat[cell] = np.inf
        cells -= starts[..., np.newaxis]
    else:
        cells = np.argpartition(candidates, k - 1, axis=2)[..., :k]
        found = np.take_along_axis(candidates, cells, axis=2)
    cells += np.arange(0, g * m, m)[:, np.newaxis]
    rows = members.ravel()[cells]
    missing = np.isinf(found)
    if not missing.any():
        return Neighbours(rows, found.mean(axis=2), np.full((b, g), k))
    count = k - missing.sum(axis=2)
    rows[missing] = b
    found[missing] = 0.0
    mean = np.where(count > 0, found.sum(axis=2) / np.maximum(count, 1), np.inf)
    return Neighbours(rows, mean, count)


def _two_sided(Z: Matrix, finding: Rows, k: int) -> Neighbours:
    """Group 0: the own finding; group 1: all others together."""
    b = len(Z)
    distances = _distances(Z)
    same = finding[:, np.newaxis] == finding
    candidates = np.full((b, 2, b), np.inf)
    np.copyto(candidates[:, 0], distances, where=same)
    np.copyto(candidates[:, 1], distances, where=~same)
    everyone = np.arange(b)
    return nearest_in_groups(candidates, np.stack([everyone, everyone]), k)


def _by_finding(distances: Matrix, members: Rows) -> Matrix:
    """(b, c, m) distances to the ``members`` (c, m) of each finding, infinite where there is none."""
    b = len(distances)
    candidates: Matrix = np.take(distances, np.minimum(members, b - 1), axis=1)
    candidates[:, members == b] = np.inf
    return candidates


def _distances(Z: Matrix) -> Matrix:
    """(b, b) squared distances, infinite from a row to itself."""
    norms = np.einsum("ij,ij->i", Z, Z)
    out: Matrix = Z @ (-2.0 * Z.T)
    out += norms
    out += norms[:, np.newaxis]
    np.maximum(out, 0.0, out=out)
    out.ravel()[:: len(Z) + 1] = np.inf
    return out


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


class CCMLTraining(Protocol):
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
    begin: Callable[[LabelledRows, C], CCMLTraining],
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


class CCML(declarations.CCML, PreparedLinearLearner):
    """Maximises the expected accuracy of class-conditional k-NN (Eq. 11) by Adam on mini-batches.

    Chosen parameters are on the card.

    Example:
        >>> from sklearn.datasets import load_wine
        >>> from sklearn.preprocessing import scale
        >>> from semblance.core.metrics import make_learner
        >>> X, y = load_wine(return_X_y=True)
        >>> X = scale(X)
        >>> learner = make_learner("ccml", components=2, random_state=0).fit(X, y)
        >>> learner.transform(X).shape
        (178, 2)
    """

    def _choices(self) -> dict[str, Any]:
        return self._choice._asdict()

    def _learn(self, data: TrainingInput) -> LearntMap:
        found = labelled_rows(self.title, data.X, data.y)
        space = RowSpace(found.X - found.X.mean(axis=0))
        # The learning rates suit numbers of about 1.
        scale = float(np.sqrt(np.square(space.rows).mean()))
        rows = LabelledRows(space.rows / scale, found.codes, found.names)
        return self._ascend(rows, found.groups(data), data, lambda A: space.map(A) / scale)

    def _ascend(
        self,
        rows: LabelledRows,
        groups: npt.NDArray[np.generic] | None,
        data: TrainingInput,
        map_of: Callable[[Matrix], Matrix],
    ) -> LearntMap:
        """The map ``map_of`` the one that is learnt in the coordinates of ``rows``, from patients ``groups``."""
        reporter, n = data.reporter, len(rows.X)
        batch = self.batch or (_SMALL_BATCH if n < _SMALL else _BATCH)
        usual = _SMALL_ROUNDS if n < _SMALL else _ROUNDS
        rounds = self.rounds or max(usual, -(-_PASSES * n // batch))
        candidates = self._candidates(rows)
        # A quarter of the rounds each, another quarter of two, and all at the end.
        total = rounds if len(candidates) == 1 else round(rounds * (len(candidates) / 4 + 2 / 4 + 1))
        ticks = 0

        def tick() -> None:
            nonlocal ticks
            ticks += 1
            reporter.check_cancelled()
            reporter.progress(min(ticks, total), total, self.title)

        def begin(part: LabelledRows, choice: Hyperparameters) -> CCMLOptimiser:
            local = self.locality == "local"
            return CCMLOptimiser(part, choice, local=local, batch=batch, rounds=rounds, seed=data.seed)

        chosen = best_hyperparameters(
            rows, candidates, begin, groups=groups, seed=data.seed, tick=tick, n_jobs=self.n_jobs
        )
        self._choice = chosen
        ascent = begin(rows, chosen)
        notes = [_described(chosen, len(candidates) > 1)]
        while ascent.round < rounds:
            tick()
            ascent.step()
            if ascent.round * _POINTS // rounds > (ascent.round - 1) * _POINTS // rounds:
                reporter.partial(linear_point(ascent.round, 1.0 - ascent.accuracy, map_of(ascent.A)))
            if reporter.stop_requested:
                notes.append(
                    tr_lazy(
                        "Stopped on request after {round} of {rounds} rounds.",
                        round=ascent.round,
                        rounds=rounds,
                    )
                )
                break
        else:
            notes.append(tr_lazy("All {rounds} rounds.", rounds=rounds))
        return LearntMap(map_of(ascent.A), tuple(notes), rounds=ascent.round)

    def _candidates(self, rows: LabelledRows) -> tuple[Hyperparameters, ...]:
        """What is tried, the parameters given taken as they are."""
        tried = [
            Hyperparameters(
                self.k or choice.k,
                self.rate or choice.rate,
                choice.decay if self.decay < 0.0 else self.decay,
                min(self.components or choice.components, rows.X.shape[1]),
            )
            for choice in usual_hyperparameters(rows.X.shape[1])
        ]
        return tuple(dict.fromkeys(tried))


def _described(choice: Hyperparameters, chosen: bool) -> str:
    how = tr_lazy(", chosen on cases set aside") if chosen else ""
    return tr_lazy(
        "k = {k}, rate {rate:g}, decay {decay:g}, {components} dimensions{how}.",
        k=choice.k,
        rate=choice.rate,
        decay=choice.decay,
        components=choice.components,
        how=how,
    )
