"""The share of every group of features in a distance, through the metric's steps."""

from __future__ import annotations

import functools
from collections.abc import Sequence

import numpy as np
import numpy.typing as npt

from semblance.core.metrics.distance import Matrix, Part
from semblance.core.metrics.distances.linear import LinearDistance
from semblance.core.metrics.metric import Metric
from semblance.core.metrics.steps.sequence import apply_steps
from semblance.core.metrics.training_data.rows import as_rows
from semblance.core.retrieval.explanation.shapley import ROWS, shapley_shares


class Grouping:
    """A metric and the groups of its columns, for explaining many pairs.

    ``names`` (d',): groups of the columns that the linear steps take (after a codebook and imputation), by default
    those of the extractor.
    """

    def __init__(self, metric: Metric, names: Sequence[str] = ()) -> None:
        self.metric = metric
        self.tail = metric.linear_tail()
        self.head = metric.steps[: len(metric.steps) - len(self.tail)]
        column_groups = tuple(names) or metric.names_before_tail()
        #: The groups, in the order of their first columns.
        self.groups = tuple(dict.fromkeys(column_groups))
        place = {name: number for number, name in enumerate(self.groups)}
        self._codes = np.array([place[name] for name in column_groups], dtype=np.intp)

    @functools.cached_property
    def linear(self) -> Matrix:
        """(m, d') the linear part of the tail: a difference z of head rows becomes ``linear`` z."""
        return self.pull_back(np.eye(self.metric.distance.n_features))

    def head_rows(self, X: npt.ArrayLike) -> Matrix:
        """(n, d) as extracted -> (n, d') in the columns of the groups: words counted, values imputed.

        Raises:
            BadInput: rows the metric cannot take.
        """
        if not self.head:
            return as_rows(X, self.metric.n_features)
        return apply_steps(self.head, X, self.metric.n_features)

    def after(self, rows: Matrix) -> Matrix:
        """(n, d') -> (n, m), the rows that the distance compares."""
        for step in self.tail:
            rows = step.transform(rows)
        return rows

    def pull_back(self, gradient: Matrix) -> Matrix:
        """(..., m) -> (..., d')."""
        for step in reversed(self.tail):
            gradient = step.pull_back(gradient)
        return gradient

    def deviations(self) -> Matrix:
        """(d',) of the training rows, by which columns of different units are compared; 1 where unknown."""
        from semblance.core.metrics.steps.standardise import Standardise

        rows = np.ones(len(self._codes))
        for step in self.tail:
            if isinstance(step, Standardise):
                rows[:] = 0.0
                rows[step.selected_] = step.deviation_
                break
            if step.n_features != len(rows):
                break
        return rows

    def shares(self, q: Matrix, X: Matrix, *, rows: int = ROWS) -> Matrix:
        """(d',) and (n, d') head rows -> (n, G): the contribution of each group to each distance.

        For a linear distance z_g (Mz)_g, which is the Shapley value of a quadratic form; for every other the Shapley
        value of replacing the query's values by the case's, group by group
        (:func:`semblance.core.retrieval.explanation.shapley.shapley_shares`). Each row sums to its distance; the
        rounding error is added to the largest.
        """
        after = self.after(np.concatenate([q[np.newaxis], X]))
        distance = self.metric.distance
        if isinstance(distance, LinearDistance):
            e = distance.embed(after)
            e = e[:1] - e[1:]
            amounts = (q - X) * self.pull_back(distance.pull_back(e))
            found, totals = self._summed(amounts), np.einsum("ij,ij->i", e, e)
        else:
            totals = distance.between(after[:1], after[1:])[0]
            found = np.stack(
                [self._shared(q, x, after[0], to, rows) for x, to in zip(X, after[1:], strict=True)]
            )
        largest = np.abs(found).argmax(axis=1)
        found[np.arange(len(found)), largest] += totals - found.sum(axis=1)
        return found

    def steps_of(self, q: Matrix, x: Matrix) -> Matrix:
        """(G, m) how far each group moves the query towards the case, after the steps."""
        z = x - q
        return np.stack([part @ z[own] for part, own in zip(self._linear_of, self._columns, strict=True)])

    @functools.cached_property
    def _linear_of(self) -> list[Matrix]:
        """The columns of :attr:`linear` of each group."""
        return [np.ascontiguousarray(self.linear[:, own]) for own in self._columns]

    def parts(self, q: Matrix, x: Matrix) -> list[Part]:
        """The shares of one pair of head rows (d',), by name."""
        amounts = self.shares(q, x[np.newaxis])[0].tolist()
        return [Part(name, amount) for name, amount in zip(self.groups, amounts, strict=True)]

    def columns_of(self, group: int) -> npt.NDArray[np.intp]:
        """The head columns of the group with this number."""
        return self._columns[group]

    @functools.cached_property
    def _columns(self) -> list[npt.NDArray[np.intp]]:
        return [np.flatnonzero(self._codes == group) for group in range(len(self.groups))]

    def _shared(self, q: Matrix, x: Matrix, start: Matrix, end: Matrix, rows: int) -> Matrix:
        def value(mixed: Matrix) -> Matrix:
            return self.metric.distance.between(start[np.newaxis], mixed).T

        shares: Matrix = shapley_shares(value, start, end, self.steps_of(q, x), rows)[:, 0]
        return shares

    def _summed(self, amounts: Matrix) -> Matrix:
        """(n, d') -> (n, G)."""
        one = np.zeros((len(self._codes), len(self.groups)))
        one[np.arange(len(self._codes)), self._codes] = 1.0
        out: Matrix = amounts @ one
        return out
