"""Exact search for the nearest rows: by their coordinates, or by a distance that has none."""

from __future__ import annotations

from collections.abc import Sequence
from functools import cached_property
from typing import Any, NamedTuple, NewType

import numpy as np
import numpy.typing as npt

from semblance.core.errors import BadInput
from semblance.core.language import tr_lazy
from semblance.core.metrics.distance import Distance

#: The number of a case in the catalogue, and its place among the cases of an index, from 0. Its rank is from 1.
CaseRow = NewType("CaseRow", int)
Position = NewType("Position", int)
Rank = NewType("Rank", int)
#: Of a case outside the ranking.
NO_RANK = Rank(0)
Matrix = npt.NDArray[np.float64]
Rows = npt.NDArray[np.int64]

#: Bytes of float32 rows compared at once: few calls, and numbers that stay in the cache.
_BLOCK_BYTES = 4 << 20
#: Bytes of float64 differences at once, likewise.
_MEASURED_BYTES = 1 << 20
#: The largest whole number that stands for a coordinate, and the least step between two of them.
_WHOLE, _LEAST_STEP = 32767, 1e-290
#: Unit roundoff of float32.
_UNIT = 2.0**-24
#: Absolute error of float32 products too small to be normal numbers.
_TINY = 1e-36

#: With more candidates than these, many rows are equal.
_MANY = 1_024
#: An odd number that mixes bits.
_MIXED = np.uint64(0x9E3779B97F4A7C15)


class NearestRows(NamedTuple):
    """``rows`` (k,) from near to far, and their squared ``distances`` (k,)."""

    rows: Rows
    distances: Matrix


class PreparedRows(NamedTuple):
    """What an :class:`Index` derives from n rows of m numbers, in blocks of a fixed size.

    ``whole`` (n, m) int16 times ``steps`` (b, m) of the block, rounded: the rows less ``centre`` (m,), times ``scale``
    (1,); ``half`` (n,) float32: half the squares of these; ``radius`` (b,): the largest norm in each block. A file of
    them may be mapped: a search reads two bytes a number, and only candidates in full.
    """

    centre: Matrix
    scale: Matrix
    whole: npt.NDArray[np.int16]
    steps: Matrix
    half: npt.NDArray[np.float32]
    radius: Matrix


class Index:
    """Squared Euclidean search with exactly the result of comparing all rows in float64.

    |x|^2/2 - x.q of rows in 16 bits picks candidates: all rows whose value, less the largest error it can have, is
    below the k-th smallest value plus its error. These are measured again in float64 by direct difference. Rows at
    equal distance are ordered by ``tie_break``, then by row number. Pass float64 if distances must equal those of a
    metric's explanation.
    """

    def __init__(
        self,
        embedding: npt.NDArray[np.floating],
        tie_break: npt.NDArray[np.floating] | None = None,
        *,
        prepared: PreparedRows | None = None,
        prepared_ties: PreparedRows | None = None,
    ) -> None:
        """``embedding`` (n, m) float32 or float64, not copied; ``tie_break`` (n, d) likewise.

        ``prepared``: :attr:`prepared` of an earlier index of the same ``embedding``, which saves several passes over
        it; ``prepared_ties`` likewise of ``tie_break``. What does not fit is not used.

        Raises:
            BadInput: not a table, a value that is not finite, or tables of different length.
        """
        rows = np.ascontiguousarray(embedding)
        if rows.ndim != 2 or rows.dtype not in (np.float32, np.float64):
            raise BadInput("An index needs a table of numbers, one row a case.")
        if tie_break is not None and len(tie_break) != len(rows):
            raise BadInput("The two tables of an index differ in length.")
        self._rows = rows
        self._ties = None if tie_break is None else Index(tie_break, prepared=prepared_ties)
        self._step = max(1, _BLOCK_BYTES // (4 * max(1, rows.shape[1])))
        if prepared is None or not self._fits(prepared):
            self._prepare()
        else:
            self._centre, self._scale = prepared.centre, float(prepared.scale[0])
            self._whole, self._steps, self._half, self._radius = prepared[2:]

    def __len__(self) -> int:
        return len(self._rows)

    @property
    def n_features(self) -> int:
        """Columns of the embedding."""
        return int(self._rows.shape[1])

    @property
    def prepared(self) -> PreparedRows:
        """What was derived from the embedding."""
        scale = np.array([self._scale])
        return PreparedRows(self._centre, scale, self._whole, self._steps, self._half, self._radius)

    @property
    def prepared_ties(self) -> PreparedRows | None:
        """What was derived from the rows that break ties, if there are any."""
        return None if self._ties is None else self._ties.prepared

    def search(
        self,
        query: npt.ArrayLike,
        k: int = 20,
        allowed: npt.NDArray[np.bool_] | None = None,
        *,
        tie_query: npt.ArrayLike | None = None,
    ) -> NearestRows:
        """The ``k`` rows nearest to ``query`` (m,), fewer where fewer are allowed.

        ``allowed`` (n,) leaves the other rows out. ``tie_query`` (d,) is the query in the space of
        ``tie_break``; without it ties are ordered by row number.

        Raises:
            BadInput: a query that does not fit the index or is not finite.
        """
        return self.search_many([query], k, [allowed], tie_queries=[tie_query])[0]

    def search_many(
        self,
        queries: Sequence[npt.ArrayLike],
        k: int,
        allowed: Sequence[npt.NDArray[np.bool_] | None],
        *,
        tie_queries: Sequence[npt.ArrayLike | None],
    ) -> list[NearestRows]:
        """The results of :meth:`search` for a few queries, which are compared with every row at once.

        Raises:
            BadInput: a query that does not fit the index or is not finite.
        """
        checked = [checked_query(query, self.n_features) for query in queries]
        for mask in allowed:
            check_filter(mask, len(self))
        k = min(k, len(self))
        if k < 1:
            return [NearestRows(np.empty(0, dtype=np.int64), np.empty(0)) for _ in checked]
        candidates = self._candidates(checked, k, allowed)
        return [
            self._nearest(rows, q, k, tie_query)
            for rows, q, tie_query in zip(candidates, checked, tie_queries, strict=True)
        ]

    def _nearest(self, rows: Rows, q: Matrix, k: int, tie_query: npt.ArrayLike | None) -> NearestRows:
        """The ``k`` nearest of ``rows``."""
        distances = self._measure_repeated(rows, q) if len(rows) > _MANY else self._measure(rows, q)
        if len(rows) > 1:
            order = np.argsort(distances, kind="stable")
            rows, distances = rows[order], distances[order]
        if self._ties is None or tie_query is None:
            return NearestRows(rows[:k], distances[:k])
        return self._untie(rows, distances, k, checked_query(tie_query, self._ties.n_features))

    def distances(self, query: npt.ArrayLike, rows: Rows) -> Matrix:
        """(r,) squared distances of ``query`` (m,) to some ``rows`` (r,), as :meth:`search` gives them.

        Raises:
            BadInput: a query that does not fit the index or is not finite.
        """
        return self._measure(np.asarray(rows, dtype=np.int64), checked_query(query, self.n_features))

    def tie_distances(self, rows: Rows, tie_query: npt.ArrayLike | None) -> Matrix | None:
        """(r,) what orders some ``rows`` (r,) at equal distance; ``None`` where only their number does."""
        return None if self._ties is None or tie_query is None else self._ties.distances(tie_query, rows)

    def _fits(self, prepared: PreparedRows) -> bool:
        n, m = self._rows.shape
        blocks = -(-n // self._step)
        expected = (
            ((m,), "f8"),
            ((1,), "f8"),
            ((n, m), "i2"),
            ((blocks, m), "f8"),
            ((n,), "f4"),
            ((blocks,), "f8"),
        )
        found: tuple[npt.NDArray[Any], ...] = prepared
        return all(
            one.shape == shape and one.dtype == kind
            for one, (shape, kind) in zip(found, expected, strict=True)
        )

    def _prepare(self) -> None:
        """Rows in 16 bits, centred and scaled, half their squares, and largest norms."""
        n, m = self._rows.shape
        with np.errstate(over="ignore", invalid="ignore"):
            for part in self._parts():
                block = self._rows[part].astype(np.float64, copy=False)
                if not np.isfinite(np.einsum("ij,ij->i", block, block)).all():
                    raise BadInput("An index needs finite numbers.", "Remove infinite or missing values.")
            self._centre = self._rows.mean(axis=0, dtype=np.float64) if n else np.zeros(m)
        largest = self._largest_centred_norm()
        self._scale = 2.0 ** -round(float(np.log2(largest))) if largest > 0.0 else 1.0
        parts = self._parts()
        self._whole = np.empty((n, m), dtype=np.int16)
        self._steps = np.empty((len(parts), m))
        self._half = np.empty(n, dtype=np.float32)
        self._radius = np.empty(len(parts))
        for number, part in enumerate(parts):
            block = (self._rows[part] - self._centre) * self._scale
            norms = np.einsum("ij,ij->i", block, block)
            self._half[part], self._radius[number] = 0.5 * norms, np.sqrt(norms.max())
            self._steps[number] = np.maximum(np.abs(block).max(axis=0) / _WHOLE, _LEAST_STEP)
            block /= self._steps[number]
            self._whole[part] = np.rint(block, out=block)

    def _largest_centred_norm(self) -> float:
        largest = 0.0
        for part in self._parts():
            block = self._rows[part] - self._centre
            largest = max(largest, float(np.einsum("ij,ij->i", block, block).max(initial=0.0)))
        return float(np.sqrt(largest))

    def _parts(self) -> list[slice]:
        return [slice(start, start + self._step) for start in range(0, len(self._rows), self._step)]

    def _candidates(
        self, queries: Sequence[Matrix], k: int, allowed: Sequence[npt.NDArray[np.bool_] | None]
    ) -> list[Rows]:
        """For each query ascending rows that include the ``k`` nearest and all that tie with the last of them."""
        shifted = np.array([(q - self._centre) * self._scale for q in queries]).reshape(-1, self.n_features)
        candidates = [
            _Candidates(float(np.sqrt(q @ q)), k, mask) for q, mask in zip(shifted, allowed, strict=True)
        ]
        if not all(one.length < 1e12 for one in candidates):
            everything = np.arange(len(self))
            return [everything if mask is None else everything[mask] for mask in allowed]
        errors = self._errors(shifted)
        m, rows = self.n_features, min(self._step, len(self))
        memory, converted = np.zeros(len(shifted) * rows, np.float32), np.empty((rows, m), np.float32)
        filtered = any(mask is not None for mask in allowed)
        for number, part in enumerate(self._parts()):
            whole, half = self._whole[part], self._half[part]
            block = converted[: len(whole)]
            np.copyto(block, whole)
            values = memory[: len(shifted) * len(block)].reshape(len(shifted), len(block))
            if filtered:
                # BLAS multiplies the old content by 0, which gives NaN for the infinity of a row that is left out.
                values.fill(0.0)
            np.dot((shifted * self._steps[number]).astype(np.float32), block.T, out=values)
            for one, value, error in zip(candidates, values, errors[number], strict=True):
                np.subtract(half, value, out=value)
                one.add(value, part, float(error))
        return [one.rows() for one in candidates]

    def _errors(self, shifted: Matrix) -> Matrix:
        """(b, queries) the largest error of a value in each block, for the ``shifted`` queries (queries, m)."""
        rounded = 0.5001 * (self._steps @ np.abs(shifted).T)
        radius = self._radius[:, np.newaxis]
        length = np.sqrt(np.einsum("ij,ij->i", shifted, shifted))
        largest = radius + np.linalg.norm(self._steps, axis=1, keepdims=True)
        # Rounding of q, of the m products and their sum, of |x|^2/2 and of the last difference.
        summed = _UNIT * (1.02 * (self.n_features + 6) * largest * length + 2.0 * radius * radius)
        errors: Matrix = rounded + summed + _TINY
        return errors

    def _measure(self, rows: Rows, q: Matrix) -> Matrix:
        distances = np.empty(len(rows))
        step = max(1, _MEASURED_BYTES // (8 * max(1, len(q))))
        memory = np.empty((min(step, len(rows)), len(q)))
        # The whole table, as for a mark, need not be copied.
        everything = len(rows) == len(self) and bool((rows == np.arange(len(self))).all())
        for start in range(0, len(rows), step):
            part = slice(start, start + step)
            numbers = self._rows[part] if everything else self._rows[rows[part]]
            difference = np.subtract(numbers, q, out=memory[: len(numbers)])
            distances[part] = np.einsum("ij,ij->i", difference, difference)
        return distances

    def _measure_repeated(self, rows: Rows, q: Matrix) -> Matrix:
        """As :meth:`_measure`, each of equal rows once."""
        if self._repeated is None:
            return self._measure(rows, q)
        first, number = self._repeated
        of_rows = number[rows]
        used = np.zeros(len(first), dtype=np.bool_)
        used[of_rows] = True
        distances = np.empty(len(first))
        distances[used] = self._measure(first[used], q)
        found: Matrix = distances[of_rows]
        return found

    @cached_property
    def _repeated(self) -> tuple[Rows, Rows] | None:
        """(d,) the first of each of the d distinct rows, and (n,) the number of each row among them.

        ``None`` where most rows are distinct; a metric of bits has few.
        """
        words = self._rows.view(np.uint64 if self._rows.dtype == np.float64 else np.uint32)
        hashed = np.zeros(len(self), dtype=np.uint64)
        for column in words.T:
            hashed ^= column
            hashed *= _MIXED
            hashed ^= hashed >> np.uint64(29)
        first, number = np.unique(hashed, return_index=True, return_inverse=True)[1:]
        if len(first) > len(self) // 4:
            return None
        # Different rows with the same hash would get the distance of one of them.
        same = all((self._rows[part] == self._rows[first[number[part]]]).all() for part in self._parts())
        return (first, number) if same else None

    def _untie(self, rows: Rows, distances: Matrix, k: int, tie_query: Matrix) -> NearestRows:
        """The first ``k`` of ``rows`` (ascending by distance), equal distances ordered by ``tie_break``."""
        assert self._ties is not None
        if len(rows) > k and distances[k] == distances[k - 1]:
            last = distances == distances[k - 1]
            inner = int(last.argmax())
            among = np.zeros(len(self), dtype=np.bool_)
            among[rows[last]] = True
            nearest = self._ties.search(tie_query, k - inner, among).rows
            rows = np.concatenate([rows[:inner], nearest])
        rows, distances = rows[:k], distances[:k]
        order = nearest_first(distances, self._ties.distances(tie_query, rows), rows)
        return NearestRows(rows[order], distances[order])


class _Candidates:
    """The rows that may be among the ``k`` nearest to a query whose centred norm is ``length``."""

    def __init__(self, length: float, k: int, allowed: npt.NDArray[np.bool_] | None) -> None:
        self.length, self._k, self._allowed = length, k, allowed
        self._best = np.full(k, np.inf)
        self._bound = np.inf
        self._found: list[tuple[Rows, npt.NDArray[np.float32], float]] = []

    def add(self, value: npt.NDArray[np.float32], part: slice, error: float) -> None:
        """Add those of a ``part`` of the rows whose ``value``, with an error up to ``error``, is small enough."""
        if self._allowed is not None:
            np.putmask(value, ~self._allowed[part], np.inf)
        near = np.flatnonzero(value <= self._reach(error))
        if not len(near):
            return
        close = value[near]
        self._found.append((near + part.start, close, error))
        least = close if len(close) <= self._k else np.partition(close, self._k - 1)[: self._k]
        upper = least.astype(np.float64) + error
        self._best = np.partition(np.concatenate([self._best, upper]), self._k - 1)[: self._k]
        self._bound = float(self._best.max())

    def rows(self) -> Rows:
        """Ascending rows that may be among the nearest."""
        remaining = [rows[close <= self._reach(error)] for rows, close, error in self._found]
        return np.concatenate(remaining) if remaining else np.empty(0, dtype=np.int64)

    def _reach(self, error: float) -> np.float32:
        """Up to which a value with this ``error`` may be among the nearest, rounded up."""
        reach: np.float32 = np.nextafter(np.float32(min(self._bound + error, 3e38)), np.float32(np.inf))
        return reach


def check_filter(allowed: npt.NDArray[np.bool_] | None, n: int) -> None:
    """
    Raises:
        BadInput: ``allowed`` is not for ``n`` rows.
    """
    if allowed is not None and allowed.shape != (n,):
        raise BadInput("The filter does not fit the index.")


def nearest_first(distances: Matrix, ties: Matrix | None, rows: Rows) -> Rows:
    """(r,) the order of ``rows`` (r,) by ``distances`` (r,), equal ones by ``ties`` (r,), then by row number."""
    order: Rows = np.lexsort((rows, distances) if ties is None else (rows, ties, distances))
    return order


def checked_query(query: npt.ArrayLike, n_features: int) -> Matrix:
    """``query`` as (n_features,) float64.

    Raises:
        BadInput: another length, or a value that is not finite.
    """
    q = np.asarray(query, dtype=np.float64).reshape(-1)
    if len(q) != n_features:
        raise BadInput(
            tr_lazy("The query has {n} numbers, the index {n_features}.", n=len(q), n_features=n_features)
        )
    if not np.isfinite(q).all():
        raise BadInput("The query has a value that is not a number.", "Give every feature a finite value.")
    return q


class DistanceIndex:
    """As :class:`semblance.core.retrieval.index.Index`, for a distance without an embedding.

    The rows are those after the metric's steps, compared in float64 by the distance itself. Rows at equal
    distance are ordered by ``tie_break``, then by row number.
    """

    def __init__(
        self,
        distance: Distance,
        rows: npt.NDArray[np.floating],
        tie_break: npt.NDArray[np.floating] | None = None,
    ) -> None:
        """``rows`` (n, d), ``tie_break`` (n, m).

        Raises:
            BadInput: not a table that fits the distance, or tables of different length.
        """
        if rows.ndim != 2 or rows.shape[1] != distance.n_features:
            raise BadInput("The rows of an index do not fit its metric.")
        if tie_break is not None and len(tie_break) != len(rows):
            raise BadInput("The two tables of an index differ in length.")
        self._distance, self._rows, self._tie_break = distance, rows, tie_break

    def __len__(self) -> int:
        return len(self._rows)

    @property
    def n_features(self) -> int:
        """Columns of the rows."""
        return int(self._rows.shape[1])

    def search(
        self,
        query: npt.ArrayLike,
        k: int = 20,
        allowed: npt.NDArray[np.bool_] | None = None,
        *,
        tie_query: npt.ArrayLike | None = None,
    ) -> NearestRows:
        """The ``k`` rows nearest to ``query`` (d,), fewer where fewer are allowed; see ``Index.search``.

        Raises:
            BadInput: a query that does not fit the index or is not finite.
        """
        q = checked_query(query, self.n_features)
        check_filter(allowed, len(self))
        rows: Rows = np.arange(len(self)) if allowed is None else np.flatnonzero(allowed)
        k = min(k, len(rows))
        if k < 1:
            return NearestRows(np.empty(0, dtype=np.int64), np.empty(0))
        distances = self._measure(rows, q)
        near = np.flatnonzero(distances <= np.partition(distances, k - 1)[k - 1])
        rows, distances = rows[near], distances[near]
        order = nearest_first(distances, self.tie_distances(rows, tie_query), rows)[:k]
        return NearestRows(rows[order], distances[order])

    def distances(self, query: npt.ArrayLike, rows: Rows) -> Matrix:
        """(r,) distances of ``query`` (d,) to some ``rows`` (r,), as :meth:`search` gives them.

        Raises:
            BadInput: a query that does not fit the index or is not finite.
        """
        return self._measure(np.asarray(rows, dtype=np.int64), checked_query(query, self.n_features))

    def tie_distances(self, rows: Rows, tie_query: npt.ArrayLike | None) -> Matrix | None:
        """As :meth:`Index.tie_distances`."""
        if self._tie_break is None or tie_query is None:
            return None
        return Index(self._tie_break[rows]).distances(tie_query, np.arange(len(rows)))

    def _measure(self, rows: Rows, q: Matrix) -> Matrix:
        wide = self._rows[rows].astype(np.float64, copy=False)
        return self._distance.between(q[np.newaxis], wide).reshape(-1)


def index_for(
    distance: Distance,
    coordinates: npt.NDArray[np.floating],
    tie_break: npt.NDArray[np.floating] | None,
    prepared: PreparedRows | None = None,
    prepared_ties: PreparedRows | None = None,
) -> Index | DistanceIndex:
    """The index of rows given by ``Metric.coordinates`` and ``Metric.tie_break``; the rest as ``Index`` takes it.

    Raises:
        BadInput: tables that do not fit.
    """
    if distance.embeds:
        return Index(coordinates, tie_break, prepared=prepared, prepared_ties=prepared_ties)
    return DistanceIndex(distance, coordinates, tie_break)
