"""The interface of metric-learn: tuples of rows to fit and score, distances of pairs, the Mahalanobis matrix."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import numpy.typing as npt
from sklearn.metrics import roc_auc_score
from sklearn.utils.validation import check_is_fitted, validate_data

from semblance.core.language import tr_lazy
from semblance.core.metrics.distance import Distance, Matrix
from semblance.core.metrics.distances.linear import LinearDistance
from semblance.core.metrics.metric import Metric
from semblance.core.metrics.scikit_learn import BadRows, as_value_errors, check_findings, check_rows

#: Nearest rows that :meth:`TupleScores.score` looks at.
NEAREST = 10
_BLOCK = 500


class TupleScores:
    """What metric-learn's estimators have. Distances are square roots of those of :meth:`metric`."""

    def metric(self) -> Metric:
        """The fitted metric."""
        raise NotImplementedError

    def _fitted_rows(self, X: npt.ArrayLike) -> npt.NDArray[Any]:
        """``X`` (n, d) with the columns of ``fit``, or tuples (n, t, d).

        Raises:
            NotFittedError: nothing is fitted yet.
            BadRows: other columns.
        """
        self._check_fitted()
        rows = check_rows(X)
        if rows.ndim == 2:
            try:
                validate_data(self, X, reset=False, skip_check_array=True)
            except ValueError as error:
                raise BadRows(str(error), "Use the features it was fitted on.") from None
        return rows

    def _check_fitted(self) -> None:
        check_is_fitted(self, msg="This %(name)s is not fitted yet: it has learnt nothing. Call fit first.")

    def pair_distance(self, pairs: npt.ArrayLike) -> npt.NDArray[np.float64]:
        """(p, 2, d) -> (p,): the learnt distance of the rows of each pair.

        Raises:
            NotFittedError: nothing is fitted yet.
            BadRows: other rows than the metric takes.
        """
        self._check_fitted()
        with as_value_errors():
            found = _tuples(pairs, 2)
            metric = self.metric()
            a, b = metric.transform(found[:, 0]), metric.transform(found[:, 1])
            return np.sqrt(_row_by_row(metric.distance, a, b))

    def pair_score(self, pairs: npt.ArrayLike) -> npt.NDArray[np.float64]:
        """(p, 2, d) -> (p,): the negative distance, larger for more similar rows; errors as :meth:`pair_distance`."""
        return -self.pair_distance(pairs)

    def get_metric(self) -> Callable[..., float]:
        """A function (u, v, squared=False) of two rows (d,), for example for scikit-learn's ``metric=``."""
        self._check_fitted()
        metric = self.metric()

        def distance(u: npt.ArrayLike, v: npt.ArrayLike, squared: bool = False) -> float:
            found = float(metric.distances(np.atleast_2d(u), np.atleast_2d(v))[0, 0])
            return found if squared else float(np.sqrt(found))

        return distance

    @property
    def components_(self) -> Matrix:
        """L (m, d) of a Mahalanobis distance |L (u - v)|; there is no such attribute for other distances."""
        if not hasattr(self, "_card"):
            raise AttributeError("components_")
        distance = self.metric().distance
        if isinstance(distance, LinearDistance):
            return np.eye(distance.n_features) if distance.L is None else distance.L.copy()
        raise AttributeError(f"The distance of {type(self).__name__} is no Mahalanobis distance.")

    def get_mahalanobis_matrix(self) -> Matrix:
        """M = L'L (d, d) of a Mahalanobis distance.

        Raises:
            NotFittedError: nothing is fitted yet.
            AttributeError: another distance.
        """
        self._check_fitted()
        L = self.components_
        return L.T @ L

    def score(self, X: npt.ArrayLike, y: npt.ArrayLike | None = None) -> float:
        """How well rows or tuples of rows are ordered.

        ``X`` (n, d) with findings ``y`` (n,): the share of the :data:`NEAREST` nearest other rows that have the
        finding of a row, averaged over the rows. ``X`` (p, 2, d) with ``y`` (p,) of +1 and -1: the area under the
        ROC curve of :meth:`pair_score`. ``X`` (t, 3, d): the share of triplets whose first row is nearer to the
        second than to the third.

        Raises:
            NotFittedError: nothing is fitted yet.
            BadRows: other rows, or pairs of one kind only.
        """
        found = self._fitted_rows(X)
        if found.ndim == 2:
            return self._retrieval_accuracy(found, check_findings(y))
        found = _tuples(found)
        if found.shape[1] == 3:
            near, far = self.pair_distance(found[:, :2]), self.pair_distance(found[:, ::2])
            return float(np.mean(near < far))
        similar = np.asarray(y) == 1
        if similar.shape != (len(found),) or similar.all() or not similar.any():
            raise BadRows(
                "The pairs are not of both kinds.", "Give y with +1 for similar and -1 for dissimilar pairs."
            )
        return float(roc_auc_score(similar, self.pair_score(found)))

    def _retrieval_accuracy(self, rows: npt.NDArray[Any], y: npt.NDArray[Any] | None) -> float:
        metric = self.metric()
        if y is None or y.shape != (len(rows),) or len(rows) < 2:
            raise BadRows(
                "There is not one finding for each of two or more rows.", "Give y with a finding a row."
            )
        k, shares = min(NEAREST, len(rows) - 1), []
        for start in range(0, len(rows), _BLOCK):
            block = np.arange(start, min(start + _BLOCK, len(rows)))
            with as_value_errors():
                distances = metric.distances(rows[block], rows)
            distances[np.arange(len(block)), block] = np.inf
            nearest = np.argsort(distances, axis=1, kind="stable")[:, :k]
            shares.append(np.mean(y[nearest] == y[block, np.newaxis], axis=1))
        return float(np.concatenate(shares).mean())


def rows_of_tuples(
    title: str, accepts: frozenset[str], X: npt.ArrayLike, y: npt.ArrayLike | None
) -> tuple[Matrix, npt.NDArray[np.int64] | None, npt.NDArray[np.int64] | None]:
    """Rows (n, d), pairs (p, 3) and triplets (t, 3) of tuples (p, 2, d) with ``y`` (p,) of +1 and -1, or (t, 3, d).

    Rows that are equal become one.

    Raises:
        BadRows: tuples that the learner ``title``, which ``accepts`` these constraints, does not learn from.
    """
    tuples = _tuples(X)
    size = tuples.shape[1]
    kind = {2: "pairs", 3: "triplets"}.get(size, "")
    if kind not in accepts:
        raise BadRows(
            tr_lazy("{title} does not learn from tuples of {size} rows.", title=title, size=size),
            "Choose another learner, or fit it on rows with findings.",
        )
    rows, places = np.unique(tuples.reshape(-1, tuples.shape[2]), axis=0, return_inverse=True)
    members = places.reshape(len(tuples), size).astype(np.int64)
    if kind == "triplets":
        return rows, None, members
    kinds = np.asarray(y) if y is not None else np.zeros(0)
    if kinds.shape != (len(tuples),) or not np.isin(kinds, (-1, 1)).all():
        raise BadRows(
            "Each pair needs +1 for similar or -1 for dissimilar in y.", "Give one of them for each pair."
        )
    return rows, np.column_stack([members, kinds.astype(np.int64)]), None


def _tuples(X: npt.ArrayLike, size: int = 0) -> npt.NDArray[Any]:
    """``X`` as (p, t, d); ``size``: the t that it must have."""
    found = np.asarray(check_rows(X), dtype=np.float64)
    if found.ndim != 3 or (size and found.shape[1] != size):
        raise BadRows(
            tr_lazy("Tuples of rows have three dimensions, these have the shape {shape}.", shape=found.shape),
            "Give pairs as (p, 2, d) and triplets as (t, 3, d).",
        )
    return found


def _row_by_row(distance: Distance, a: Matrix, b: Matrix) -> npt.NDArray[np.float64]:
    """(p, d), (p, d) -> (p,) squared distances of rows in the same place."""
    if distance.embeds:
        difference = distance.embed(a) - distance.embed(b)
        squared: npt.NDArray[np.float64] = np.einsum("pm,pm->p", difference, difference)
        return squared
    return np.array([distance.between(u[np.newaxis], v[np.newaxis])[0, 0] for u, v in zip(a, b, strict=True)])
