"""Order the cases of one search by the marks "more like this" and "less like this".

Three scores are added. The *rule* compares a case's distances to its nearest liked and to its nearest disliked cases,
in coordinates stretched along the directions that separate the two. A *Gaussian process* and a *logistic regression*
learn the marks as labels; the first starts from the metric's own distance, the second uses some cases of the whole
range as weak negatives. Last, each of the best is averaged with its neighbours, which are mostly of its kind, so that
a wrong mark has less effect.

Only the nearest :data:`POOL` cases are scored; the others keep the order of their distances behind them.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import cached_property

import numpy as np
import numpy.typing as npt

from semblance.core.retrieval.index import Matrix, NearestRows, Rows

#: Cases that are scored at most, and numbers: fewer cases where each has more than 128.
POOL, POOL_NUMBERS = 20_000, 20_000 * 128
#: Number of these, the best by the rule, that the regressions order; and number of the best of them that are
#: averaged.
REGRESSED, SMOOTHED = 1_000, 200
#: Number of neighbours that a case is averaged with, and their weight.
NEIGHBOURS, NEIGHBOUR_SHARE = 10, 0.5
#: Weights of the other scores relative to the rule's 1.
PROCESS, LOGISTIC = 0.5, 0.3
#: Distances differ from this share of the usual one on.
CLOSE = 0.05
#: Weight in the rule of the distance to liked cases relative to that to disliked ones.
ATTACHMENT = 0.2
#: Constants added to differences of means and to variances in the stretching of coordinates.
PRIOR = 3.0
#: Variance of the noise of marks, and slope of the prior mean by the standardised distance.
NOISE, PRIOR_SLOPE = 0.2, 0.5
#: Inverse penalty, weak negatives and the weight of each.
INVERSE_PENALTY, WEAK, WEAK_WEIGHT = 0.05, 40, 0.1
#: Number of cases that scales are measured on, and of those whose pair distances are.
SAMPLE, PAIRED = 4_096, 200
_TINY = 1e-12


def feedback_scores(
    X: npt.ArrayLike,
    query: int | npt.ArrayLike,
    liked: npt.ArrayLike,
    disliked: npt.ArrayLike,
    *,
    base: npt.ArrayLike | None = None,
) -> Matrix:
    """(n,) scores of all cases for one search with marks; larger is shown earlier.

    ``X`` (n, d): coordinates in which squared Euclidean distance is the metric's; centred and scaled inside by one
    common factor, so neither their origin nor their unit counts. ``query``: a row number or (d,) coordinates. ``liked``
    and ``disliked``: row numbers; a number given twice counts once, and the query itself is ignored among the liked.
    ``base`` (n,): the metric's squared distances of all cases from the query, by default those in ``X``. Disliked cases
    come last. Without marks the order is that of ``base``. The same input gives the same scores.

    Raises:
        ValueError: not a table of finite numbers, a query or distances that do not fit it, row numbers outside
            of it, or a case marked both ways.
    """
    table = np.asarray(X)
    if np.iscomplexobj(table):
        raise ValueError("Complex data is not supported.")
    if table.ndim != 2 or not table.size:
        raise ValueError(f"Expected a table of cases, got an array of shape {table.shape}.")
    if not np.issubdtype(table.dtype, np.floating):
        table = table.astype(np.float64)
    if not np.isfinite(table.sum(dtype=np.float64)) and not np.isfinite(table).all():
        raise ValueError("Input X contains NaN or infinity.")
    query_row, row = _query(table, query)
    plus, minus = _marks(liked, "liked", len(table)), _marks(disliked, "disliked", len(table))
    if row is not None:
        plus = plus[plus != row]
        if row in minus:
            raise ValueError("The query itself is among the disliked cases.")
    if len(both := np.intersect1d(plus, minus)):
        raise ValueError(f"Cases marked both ways: {', '.join(map(str, both.tolist()))}.")
    if base is None:
        with np.errstate(over="ignore"):
            distances = squared_distances(table, query_row)
        if not np.isfinite(distances).all():
            raise ValueError("Input X contains numbers that are too large for their squares.")
    else:
        distances = np.asarray(base, dtype=np.float64)
        if distances.shape != (len(table),):
            raise ValueError(f"Expected {len(table)} distances, got an array of shape {distances.shape}.")
        if not np.isfinite(distances).all():
            raise ValueError("The base distances contain NaN or infinity.")
    return Feedback(FeedbackCases(table.__getitem__, table.shape, distances), query_row, plus, minus).scores()


def squared_distances(X: npt.NDArray[np.floating], point: Matrix) -> Matrix:
    """(n,) squared Euclidean distances of the rows (n, d) from ``point`` (d,)."""
    out = np.empty(len(X))
    for start in range(0, len(X), SAMPLE):
        apart = X[start : start + SAMPLE] - point
        out[start : start + SAMPLE] = np.einsum("ij,ij->i", apart, apart)
    return out


RowsOf = Callable[[Rows], npt.NDArray[np.floating]]


@dataclass(frozen=True, eq=False)
class CaseScale:
    """``centre`` (d,): what is subtracted from coordinates, which are then multiplied by ``scale``. The same for all
    searches by them."""

    centre: Matrix
    scale: float

    @classmethod
    def of(cls, rows_of: RowsOf, shape: tuple[int, ...]) -> CaseScale:
        """That of a table of ``shape`` (n, d), read as :class:`FeedbackCases` does."""
        rows = rows_of(np.arange(0, shape[0], max(1, shape[0] // SAMPLE)))
        sample = np.asarray(rows, dtype=np.float64).reshape(-1, shape[1])
        centre = sample.mean(axis=0)
        return cls(centre, _one_over_deviation(sample - centre))


class FeedbackCases:
    """The n cases of one search, with what all orders by its marks have in common.

    ``rows_of``: row numbers (r,) -> coordinates (r, d), of a table of ``shape`` (n, d). ``base`` (n,): squared
    distances from the query before the marks. ``scale``: of these coordinates, measured where it is not given.
    """

    def __init__(
        self, rows_of: RowsOf, shape: tuple[int, ...], base: Matrix, scale: CaseScale | None = None
    ) -> None:
        self._rows_of, self.n, self.d = rows_of, shape[0], shape[1]
        self.base = base
        scale = scale or CaseScale.of(rows_of, shape)
        self.centre, self.scale = scale.centre, scale.scale

    @property
    def nbytes(self) -> int:
        """Bytes of what is in memory."""
        arrays = (self.__dict__.get(name) for name in ("scaled_base", "behind", "nearest", "nearest_rows"))
        return sum(one.nbytes for one in arrays if one is not None)

    def centred(self, places: Rows) -> Matrix:
        """(r, d) coordinates of some cases less the centre."""
        rows: Matrix = self._rows(places) - self.centre
        return rows

    def _rows(self, places: Rows) -> Matrix:
        return np.asarray(self._rows_of(places), dtype=np.float64).reshape(-1, self.d)

    @cached_property
    def scaled_base(self) -> Matrix:
        """(n,) ``base`` in a unit of its own: its square might be too large or too small."""
        scaled: Matrix = self.base / (float(np.abs(self.base).max()) or 1.0)
        return scaled

    @cached_property
    def base_range(self) -> tuple[float, float, float]:
        """The least, mean and deviation of :attr:`scaled_base`."""
        base = self.scaled_base
        return float(base.min()), float(base.mean()), float(base.std())

    @cached_property
    def behind(self) -> Matrix:
        """(n,) scores below 1 in the order of the distances."""
        return _behind(-self.scaled_base, 0.0)

    @cached_property
    def nearest(self) -> Rows:
        """The cases that are scored whatever the marks are, ascending."""
        most = min(POOL, max(REGRESSED, POOL_NUMBERS // self.d))
        if self.n <= most:
            return np.arange(self.n)
        near: Rows = np.sort(np.argpartition(self.scaled_base, most - 1)[:most])
        return near

    @cached_property
    def nearest_rows(self) -> Matrix:
        """(p, d) :meth:`centred` coordinates of :attr:`nearest`."""
        return self.centred(self.nearest)

    @cached_property
    def sample_rows(self) -> Matrix:
        """(s, d) :meth:`centred` coordinates of cases of the whole range of distances, whatever their order."""
        step = max(1, self.n // SAMPLE)
        order = np.argsort(self.scaled_base[::step], kind="stable") * step
        return self.centred(order[_spread_over(len(order), PAIRED)])


class Feedback:
    """The marks of one search among its ``cases``, in coordinates stretched by them.

    ``query_row`` (d,): the query. ``liked`` and ``disliked``: different row numbers. ``more_liked`` (p, d) and
    ``more_disliked`` (m, d): marked images that are no case.
    """

    def __init__(
        self,
        cases: FeedbackCases,
        query_row: Matrix,
        liked: Rows,
        disliked: Rows,
        more_liked: Sequence[Matrix] = (),
        more_disliked: Sequence[Matrix] = (),
    ) -> None:
        self._cases, self.liked, self.disliked = cases, liked, disliked
        around = [one[np.newaxis] - cases.centre for one in (query_row, *more_liked, *more_disliked)]
        positive = np.vstack([around[0], cases.centred(liked), *around[1 : 1 + len(more_liked)]])
        negative = np.vstack([cases.centred(disliked), *around[1 + len(more_liked) :]])
        weights = coordinate_weights(positive * cases.scale, negative * cases.scale)
        self._stretch = cases.scale * np.sqrt(weights)
        self._positive, self._negative = positive * self._stretch, negative * self._stretch

    def scores(self) -> Matrix:
        """(n,) as :func:`feedback_scores`."""
        cases = self._cases
        if len(self._positive) + len(self._negative) == 1:
            return -cases.base
        pool, rows = self._pool()
        norms = _norms(rows)
        to_positive = _squared(rows, self._positive, norms)
        to_negative = _squared(rows, self._negative, norms)
        rule = _rule(to_positive, to_negative)
        best = _largest(rule, REGRESSED)
        sample = cases.sample_rows * self._stretch
        blended = standardised(rule[best])
        blended += PROCESS * standardised(
            self._gaussian_process_scores(to_positive[best], to_negative[best], pool[best], sample)
        )
        blended += LOGISTIC * standardised(self._logistic(rows[best], sample))
        shown = _smoothed(blended, rows[best], np.isin(pool[best], self.liked))
        # In descending order: the best, the rest of the pool by the rule, all others by their distance, the disliked.
        out = cases.behind.copy()
        out[pool] = _behind(rule, 2.0)
        out[pool[best]] = 3.0 + (shown - shown.min())
        out[self.disliked] = _behind(out[self.disliked], -2.0)
        return out

    def nearest(self, rows: Rows) -> NearestMarks:
        """Which marked cases each of ``rows`` (r,) is nearest to, other than itself."""
        here = self._cases.centred(rows) * self._stretch
        plus = self._positive[1 : 1 + len(self.liked)]
        minus = self._negative[: len(self.disliked)]
        liked, to_liked = _nearest(here, plus, rows, self.liked)
        disliked, to_disliked = _nearest(here, minus, rows, self.disliked)
        return NearestMarks(liked, disliked, to_liked <= to_disliked)

    def _pool(self) -> tuple[Rows, Matrix]:
        """The cases that are scored, the nearest and all marked ones, and their stretched coordinates."""
        near, rows = self._cases.nearest, self._cases.nearest_rows * self._stretch
        marked = np.unique(np.concatenate([self.liked, self.disliked]))
        more = marked[near[np.minimum(np.searchsorted(near, marked), len(near) - 1)] != marked]
        if not len(more):
            return near, rows
        return np.concatenate([near, more]), np.vstack([rows, self._cases.centred(more) * self._stretch])

    def _gaussian_process_scores(
        self, to_positive: Matrix, to_negative: Matrix, rows: Rows, sample: Matrix
    ) -> Matrix:
        """Posterior mean of a Gaussian process with an RBF kernel, liked 1 and disliked -1."""
        pairs = _squared(sample, sample)[np.triu_indices(len(sample), 1)]
        length = 2.0 * float(np.median(pairs)) if len(pairs) else 0.0
        if not length > _TINY:
            length = 1.0
        points = np.vstack([self._positive, self._negative])
        labels = np.concatenate([np.ones(len(self._positive)), -np.ones(len(self._negative))])
        base = self._cases.scaled_base
        least, middle, spread = self._cases.base_range
        slope = PRIOR_SLOPE / spread if spread > _TINY else 0.0
        # The prior mean of marked images from outside is that of the query.
        distances = np.full(len(points), least)
        first = len(self._positive)
        distances[1 : 1 + len(self.liked)] = base[self.liked]
        distances[first : first + len(self.disliked)] = base[self.disliked]
        kernel = np.exp(-_squared(points, points) / length)
        kernel[np.diag_indices_from(kernel)] += NOISE
        weights = np.linalg.solve(kernel, labels + slope * (distances - middle))
        across = np.exp(-np.hstack([to_positive, to_negative]) / length)
        mean: Matrix = across @ weights - slope * (base[rows] - middle)
        return mean

    def _logistic(self, rows: Matrix, sample: Matrix) -> Matrix:
        """Log odds of a penalised logistic regression, solved in the span of its cases."""
        weak = sample[_spread_over(len(sample), WEAK)]
        points = np.vstack([self._positive, self._negative, weak])
        n, p = len(points), len(self._positive)
        liked = np.arange(n) < p
        weights = np.where(np.arange(n) < p + len(self._negative), 1.0, WEAK_WEIGHT)
        # One more coordinate, the same for all cases: the intercept, hardly penalised.
        kernel = INVERSE_PENALTY * (points @ points.T + points.shape[1])
        alpha = np.zeros(n)
        for _ in range(8):
            share = 1.0 / (1.0 + np.exp(-(kernel @ alpha)))
            curvature = weights * share * (1.0 - share)
            gradient = alpha + weights * (share - liked)
            step = np.linalg.solve(np.eye(n) + curvature[:, None] * kernel, gradient)
            alpha -= step
            if np.abs(step).max() < 1e-7:
                break
        odds: Matrix = rows @ (points.T @ alpha)
        return odds


@dataclass(frozen=True, eq=False)
class NearestMarks:
    """For each case the row of its nearest ``liked`` and ``disliked`` case (r,), -1 where none is marked so,
    and whether it is nearer to the liked one."""

    liked: Rows
    disliked: Rows
    nearer_to_liked: npt.NDArray[np.bool_]


def _one_over_deviation(centred: Matrix) -> float:
    """What makes the mean variance of the columns of ``centred`` (n, d) 1; 1 for equal rows."""
    reach = float(np.abs(centred).max())
    if not reach > np.finfo(np.float64).tiny:
        return 1.0
    return float(1.0 / (reach * np.sqrt(np.square(centred / reach).mean())))


def coordinate_weights(positive: Matrix, negative: Matrix) -> Matrix:
    """(d,) weights of mean 1: large where the means differ and the positive cases (p, d) do not.

    All 1 for fewer than two positive cases or no negative one (m, d).
    """
    if len(positive) < 2 or not len(negative):
        return np.ones(positive.shape[1])
    apart = positive.mean(axis=0) - negative.mean(axis=0)
    weights: Matrix = (apart * apart + PRIOR) / (positive.var(axis=0) + PRIOR)
    weights /= weights.mean()
    return weights


def _rule(to_positive: Matrix, to_negative: Matrix) -> Matrix:
    """Log distance from the nearest disliked less that, counted somewhat more, from the nearest liked."""
    marks = to_positive.shape[1] - 1 + to_negative.shape[1]
    k = int(np.clip(1 + marks // 5, 3, 5))
    near = _mean_nearest(to_positive, k)
    # Copies of a marked case are no more than close to it.
    least = CLOSE * float(np.median(near)) + _TINY
    score: Matrix = -np.log(near + least)
    if to_negative.shape[1]:
        score = (1.0 + ATTACHMENT) * score + np.log(_mean_nearest(to_negative, k) + least)
    return score


def _mean_nearest(squared: Matrix, k: int) -> Matrix:
    """(n,) mean of the k smallest root distances of each row (n, m)."""
    if squared.shape[1] > k:
        squared = np.partition(squared, k - 1, axis=1)[:, :k]
    mean: Matrix = np.sqrt(squared).mean(axis=1)
    return mean


def _smoothed(score: Matrix, rows: Matrix, liked: npt.NDArray[np.bool_]) -> Matrix:
    """Each of the best averaged with the scores of its nearest, except the ``liked`` ones (n,), which are known."""
    k = min(NEIGHBOURS, len(rows) - 1)
    if k < 1:
        return score
    best = _largest(score, SMOOTHED)
    squared = _squared(rows[best], rows)
    squared[np.arange(len(best)), best] = np.inf
    near = np.argpartition(squared, k - 1, axis=1)[:, :k]
    averaged = (1.0 - NEIGHBOUR_SHARE) * score[best] + NEIGHBOUR_SHARE * score[near].mean(axis=1)
    averaged = np.where(liked[best], score[best], averaged)
    out = score.copy()
    # Cases that are not averaged come after these.
    rest = np.ones(len(score), dtype=np.bool_)
    rest[best] = False
    out[best] = averaged
    if rest.any():
        out[best] += max(0.0, float(score[rest].max() - averaged.min()) + _TINY)
    return out


def _nearest(here: Matrix, marked: Matrix, rows: Rows, marks: Rows) -> tuple[Rows, Matrix]:
    """The nearest of ``marks`` to each of ``rows``, other than itself, and its squared distance."""
    if not len(marks):
        return np.full(len(rows), -1), np.full(len(rows), np.inf)
    squared = _squared(here, marked)
    squared[rows[:, None] == marks[None, :]] = np.inf
    at = squared.argmin(axis=1)
    nearest = squared[np.arange(len(rows)), at]
    return np.where(np.isfinite(nearest), marks[at], -1), nearest


def _spread_over(n: int, k: int) -> Rows:
    """At most ``k`` numbers from 0 to ``n`` - 1, evenly spread."""
    found: Rows = np.linspace(0, n - 1, min(n, k)).round().astype(np.int64)
    return found


def _largest(score: Matrix, k: int) -> Rows:
    """Ascending places of the ``k`` largest."""
    if len(score) <= k:
        return np.arange(len(score))
    found: Rows = np.sort(np.argpartition(-score, k - 1)[:k])
    return found


def _behind(score: Matrix, floor: float) -> Matrix:
    """The same order between ``floor`` and ``floor`` + 1 (excluded)."""
    if not len(score):
        return score
    low, high = float(score.min()), float(score.max())
    return floor + (score - low) * (0.999 / (high - low) if high > low else 0.0)


def standardised(score: Matrix) -> Matrix:
    """``score`` (n,) less its mean, over its standard deviation; 0 for equal ones."""
    spread = float(score.std())
    if not spread > _TINY:
        return np.zeros(len(score))
    standardised: Matrix = (score - score.mean()) / spread
    return standardised


def _squared(rows: Matrix, points: Matrix, norms: Matrix | None = None) -> Matrix:
    """(n, m) squared Euclidean distances, never negative; ``norms``: those of ``rows``, where they are known."""
    out: Matrix = rows @ (-2.0 * points.T)
    out += (_norms(rows) if norms is None else norms)[:, None]
    out += _norms(points)[None, :]
    return np.maximum(out, 0.0, out=out)


def _norms(rows: Matrix) -> Matrix:
    """(n,) squared Euclidean norms."""
    found: Matrix = np.einsum("ij,ij->i", rows, rows)
    return found


def _query(X: npt.NDArray[np.floating], query: int | npt.ArrayLike) -> tuple[Matrix, int | None]:
    """The query's coordinates, and its row number where it was given by that."""
    given = np.asarray(query)
    if given.ndim == 0:
        row = int(_row_numbers(given.reshape(1), "query", len(X))[0])
        return np.asarray(X[row], dtype=np.float64), row
    point = given.astype(np.float64)
    if point.shape != X.shape[1:]:
        raise ValueError(f"Expected a query of {X.shape[1]} numbers, got an array of shape {point.shape}.")
    if not np.isfinite(point).all():
        raise ValueError("The query contains NaN or infinity.")
    return point, None


def _marks(marks: npt.ArrayLike, name: str, n: int) -> Rows:
    given = np.asarray(marks).reshape(-1)
    return np.unique(_row_numbers(given if len(given) else np.empty(0, dtype=np.int64), name, n))


def _row_numbers(values: npt.NDArray[np.generic], name: str, n: int) -> Rows:
    if not np.issubdtype(values.dtype, np.integer):
        raise ValueError(f"Expected row numbers for {name}, got {values.dtype}.")
    rows = values.astype(np.int64)
    if len(rows) and (rows.min() < 0 or rows.max() >= n):
        raise ValueError(f"Row numbers for {name} must be from 0 to {n - 1}.")
    return rows


class MarkedIndex:
    """As :class:`semblance.core.retrieval.index.Index`, for one query whose cases are ordered by scores.

    ``distances`` (n,): squared distances from the query, which results contain. ``scores`` (n,): larger ones come
    first; equal ones are ordered by distance, then by what ``ties`` gives for their rows (r,), then by row number.
    """

    def __init__(
        self, distances: Matrix, scores: Matrix, ties: Callable[[Rows], Matrix | None] = lambda _rows: None
    ) -> None:
        self._distances, self.scores, self._ties = distances, scores, ties

    def __len__(self) -> int:
        return len(self.scores)

    def search(
        self,
        query: npt.ArrayLike,
        k: int = 20,
        allowed: npt.NDArray[np.bool_] | None = None,
        *,
        tie_query: npt.ArrayLike | None = None,
    ) -> NearestRows:
        """The first ``k`` rows among those ``allowed`` (n,); ``query`` must be the query of the index."""
        rows = np.arange(len(self)) if allowed is None else np.flatnonzero(allowed)
        scores = self.scores[rows]
        k = min(k, len(rows))
        if 0 < k < len(rows):
            # All that equal the last one are included, so that their distances can decide.
            rows = rows[scores >= np.partition(scores, len(rows) - k)[len(rows) - k]]
        found = self.ordered(rows)[:k]
        return NearestRows(found, self._distances[found])

    def ordered(self, rows: Rows) -> Rows:
        """``rows`` (r,), which are ascending, in the order of the index."""
        keys = [self._distances[rows], -self.scores[rows]]
        if (ties := self._ties(rows)) is not None:
            keys.insert(0, ties)
        found: Rows = rows[np.lexsort(keys)]
        return found

    def distances(self, query: npt.ArrayLike, rows: Rows) -> Matrix:
        """(r,) squared distances of the query to some ``rows`` (r,)."""
        return self._distances[rows]
