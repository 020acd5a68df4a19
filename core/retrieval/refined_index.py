"""The ranking of one query under a metric that changes with every judgement."""

from __future__ import annotations

import numpy as np
import numpy.typing as npt

from semblance.core.errors import BadInput
from semblance.core.metrics.relevance_feedback.quadratic_form import FeedbackForm, InitialWeights
from semblance.core.retrieval.index import (
    DistanceIndex,
    Index,
    Matrix,
    NearestRows,
    Rows,
    check_filter,
    nearest_first,
)

#: Rows compared at once, so that results stay in the cache.
_ROWS = 8192
_UNIT = 2.0**-24


class RefinedIndex:
    """As :class:`semblance.core.retrieval.index.Index`, for one query and a form that changes with every judgement.

    |x - q|^2, plain and under the original metric, is computed once; only the projections of x - q on the changed
    directions are computed for each judgement, in float32. Every row that may be among the k nearest, given the
    largest possible error, is measured again in float64, so the ranking is that of the frozen metric.
    """

    def __init__(
        self,
        coordinates: Matrix,
        query: Matrix,
        initial_weights: InitialWeights | None = None,
        original: Index | DistanceIndex | None = None,
    ) -> None:
        """``coordinates`` (n, m) float64, not copied; ``query`` (m,); ``initial_weights``: those of the forms.
        ``original``: the same cases under the original metric, which says how equal distances are ordered.

        Raises:
            BadInput: not a table, or a query that does not fit it.
        """
        if coordinates.ndim != 2 or query.shape != coordinates.shape[1:]:
            raise BadInput("The query does not fit the cases it is compared with.")
        self._rows, self._initial_weights, self._original = coordinates, initial_weights, original
        self.set_query(query)
        self.form = FeedbackForm.start(coordinates.shape[1], initial_weights)

    def set_query(self, query: Matrix) -> None:
        """Change the query (m,) under the same form."""
        self._query = np.asarray(query, dtype=np.float64)
        n, m = self._rows.shape
        self._single = np.empty((n, m), dtype=np.float32)
        self._base = np.empty(n)
        self._own = self._base if self._initial_weights is None else np.empty(n)
        for part in self._parts():
            difference = self._rows[part] - self._query
            self._single[part] = difference
            self._base[part] = np.einsum("ij,ij->i", difference, difference)
            if self._initial_weights is not None:
                difference *= difference
                self._own[part] = difference @ self._initial_weights.own

    @property
    def query(self) -> Matrix:
        """(m,) the query."""
        return self._query

    def __len__(self) -> int:
        return len(self._rows)

    @property
    def n_features(self) -> int:
        """Columns of the coordinates."""
        return int(self._rows.shape[1])

    def search(
        self,
        query: npt.ArrayLike,
        k: int = 20,
        allowed: npt.NDArray[np.bool_] | None = None,
        *,
        tie_query: npt.ArrayLike | None = None,
    ) -> NearestRows:
        """The ``k`` rows nearest to ``query``, which must be the query of the index; equal ones by
        :meth:`tie_distances`, then by row number.

        Raises:
            BadInput: another query, or a filter that does not fit.
        """
        self._check(query)
        check_filter(allowed, len(self))
        k = min(k, len(self) if allowed is None else int(allowed.sum()))
        if k < 1:
            return NearestRows(np.empty(0, dtype=np.int64), np.empty(0))
        rows = self._candidates(k, allowed)
        distances = self._measure(rows)
        order = nearest_first(distances, self.tie_distances(rows, tie_query), rows)[:k]
        return NearestRows(rows[order], distances[order])

    def tie_distances(self, rows: Rows, tie_query: npt.ArrayLike | None) -> Matrix:
        """(r,) what orders some ``rows`` (r,) at equal distance: what does so under the original metric, else their
        distance with equal weights of all coordinates."""
        ties = None if self._original is None else self._original.tie_distances(rows, tie_query)
        return self._base[rows] if ties is None else ties

    def embedded(self, rows: Rows) -> Matrix:
        """(r, m) coordinates of the ``rows`` (r,) whose squared Euclidean distances are those of the present form."""
        return self.form.embed(self._rows[rows])

    def distances(self, query: npt.ArrayLike, rows: Rows) -> Matrix:
        """(r,) squared distances of the query to some ``rows`` (r,), as :meth:`search` gives them.

        Raises:
            BadInput: another query than the one it was made for.
        """
        self._check(query)
        return self._measure(np.asarray(rows, dtype=np.int64))

    def _check(self, query: npt.ArrayLike) -> None:
        if not np.array_equal(np.asarray(query, dtype=np.float64).reshape(-1), self._query):
            raise BadInput("This index answers the query it was made for.")

    def _parts(self) -> list[slice]:
        return [slice(start, start + _ROWS) for start in range(0, len(self._rows), _ROWS)]

    def _candidates(self, k: int, allowed: npt.NDArray[np.bool_] | None) -> Rows:
        """Ascending rows that include the ``k`` nearest and all that tie with the last of them."""
        equal_weight = 1.0 if self._initial_weights is None else self._initial_weights.equal_weight
        values = self._base * (equal_weight * self.form.open)
        values += self._own * (1.0 - self.form.open)
        scaled = self.form.directions * self.form.scales
        directions = np.ascontiguousarray(scaled.T, dtype=np.float32)
        gains = self.form.gains.astype(np.float32)
        if len(gains):
            for part in self._parts():
                along = self._single[part] @ directions
                along *= along
                values[part] += along @ gains
        error = self._error() * self._base
        if allowed is not None:
            values[~allowed] = np.inf
        upper = values + error
        reach = np.partition(upper, k - 1)[k - 1]
        near: Rows = np.flatnonzero(values - error <= reach)
        return near if allowed is None else near[allowed[near]]

    def _error(self) -> float:
        """Largest error of a candidate's value, in units of |x - q|^2.

        With s the largest of S and u the unit roundoff of float32 a projection errs by (m + 3) u s |x - q| at most;
        their squares, weighed by the gains and summed, by twice that times s |g| (Cauchy-Schwarz), and the sum of r
        terms by (r + 4) u s^2 max |g|. The error of float64 is negligible.
        """
        gains = np.abs(self.form.gains)
        largest = float(self.form.scales.max(initial=0.0))
        if not len(gains):
            return 1e-12 * largest * largest
        m, r = self.n_features, len(gains)
        one = _UNIT * (m + 3) * largest
        squares = 2.1 * one * largest * float(np.sqrt(gains @ gains)) + one * one * float(gains.sum())
        return 1.02 * (squares + _UNIT * (r + 4) * largest * largest * float(gains.max()))

    def _measure(self, rows: Rows) -> Matrix:
        out = np.empty(len(rows))
        for start in range(0, len(rows), _ROWS):
            part = rows[start : start + _ROWS]
            out[start : start + _ROWS] = self.form.squared(self._rows[part] - self._query)
        return out
