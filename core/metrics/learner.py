"""The contract of a learner: an estimator that fits a metric."""

from __future__ import annotations

import abc
import contextlib
import dataclasses
from collections.abc import Callable, Iterator
from typing import Any, ClassVar, Self

import numpy as np
import numpy.typing as npt
from sklearn.base import BaseEstimator, ClassNamePrefixFeaturesOutMixin, TransformerMixin
from sklearn.metrics import roc_auc_score
from sklearn.utils import Tags, check_array, column_or_1d
from sklearn.utils.metadata_routing import UNUSED
from sklearn.utils.metaestimators import available_if
from sklearn.utils.validation import check_is_fitted, validate_data

from semblance.core.errors import BadArguments, BadInput
from semblance.core.language import tr_lazy
from semblance.core.metrics.card import MetricCard
from semblance.core.metrics.declarations import LearnerDeclaration
from semblance.core.metrics.distance import Distance, Matrix
from semblance.core.metrics.distances.linear import LinearDistance
from semblance.core.metrics.metric import Metric
from semblance.core.metrics.training_data.rows import TrainingInput, check_usable, training_rows
from semblance.core.metrics.training_data.training_sample import in_content_order, training_sample
from semblance.core.parameters import checked
from semblance.core.tasks import SILENT, Reporter
from semblance.core.threads import one_thread

#: Nearest rows that :meth:`TupleScores.score` looks at.
NEAREST = 10
_BLOCK = 500


class BadRows(BadInput, ValueError):
    """Rows, findings or constraints that a learner cannot use. scikit-learn expects ``ValueError``."""


class BadRowType(BadInput, TypeError):
    """Values that are no numbers, or rows of another type. scikit-learn expects ``TypeError``."""


class BadParameter(BadArguments, ValueError):
    """A parameter outside its range. scikit-learn expects ``ValueError``."""


@contextlib.contextmanager
def as_value_errors(n_rows: int | None = None) -> Iterator[None]:
    """Turn errors about arguments inside into errors that are ours and scikit-learn's, with the same sentences.

    ``n_rows``: the number of training rows; the message mentions it if there is a single one.
    """
    try:
        yield
    except (BadRows, BadRowType, BadParameter):
        raise
    except BadInput as error:
        message = error.message
        if n_rows == 1:
            message = tr_lazy("There is only one case (1 sample). {message}", message=message)
        raise BadRows(message, error.hint) from error
    except BadArguments as error:
        raise BadParameter(error.message, error.hint) from error


def check_rows(X: npt.ArrayLike) -> npt.NDArray[Any]:
    """``X`` as an array: (n, d), or (n, t, d) for tuples.

    Raises:
        BadRows: complex numbers, one dimension, no column, values that are no numbers.
        BadRowType: a sparse matrix, values that are neither numbers nor text.
    """
    try:
        rows: npt.NDArray[Any] = check_array(X, ensure_all_finite=False, allow_nd=True, ensure_min_samples=0)
    except TypeError as error:
        raise BadRowType(str(error), "Give a table of numbers.") from None
    except ValueError as error:
        if np.asarray(X).dtype.kind in "OSU":
            raise BadRows(
                "The features are not all numbers.", "Remove or encode the columns of text."
            ) from None
        # Its further lines are the rows themselves.
        message = str(error).partition("\n")[0].rstrip(":") + "."
        hint = "Reshape your data: X.reshape(1, -1) is one case, X.reshape(-1, 1) are cases of one number."
        raise BadRows(message, hint) from None
    return rows


def check_findings(y: npt.ArrayLike | None) -> npt.NDArray[Any] | None:
    """``y`` (n,); a column (n, 1) becomes (n,) with the warning that scikit-learn gives."""
    if y is None:
        return None
    found: npt.NDArray[Any] = np.asarray(y)
    return column_or_1d(found, warn=True) if found.ndim == 2 and found.shape[1] == 1 else found


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
        if metric.distance.ties:
            with as_value_errors():
                after_steps = metric.transform(rows)
        for start in range(0, len(rows), _BLOCK):
            block = np.arange(start, min(start + _BLOCK, len(rows)))
            with as_value_errors():
                distances = metric.distances(rows[block], rows)
            distances[np.arange(len(block)), block] = np.inf
            keys = [distances]
            if metric.distance.ties:
                keys.insert(0, LinearDistance(after_steps.shape[1]).between(after_steps[block], after_steps))
            nearest = np.lexsort(keys)[:, :k]
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


class Learner(
    LearnerDeclaration, TupleScores, ClassNamePrefixFeaturesOutMixin, TransformerMixin, BaseEstimator, abc.ABC
):
    """An estimator of scikit-learn: parameters are declared in :mod:`.declarations`, fitted names end in ``_``."""

    #: Whether its distance can have an embedding.
    _embeds: ClassVar[bool] = True
    #: Whether it learns from tuples of rows alone, without taking all other pairs of these rows as dissimilar.
    _learns_from_tuples: ClassVar[bool] = True
    #: Of the arguments of ``fit`` only the patients come through a pipeline or a search.
    __metadata_request__fit = dict.fromkeys(("pairs", "triplets", "reporter"), UNUSED)

    #: Set by :meth:`fit`.
    distance_: Distance
    n_features_in_: int
    _card: MetricCard

    def fit(
        self,
        X: npt.ArrayLike,
        y: npt.ArrayLike | None = None,
        *,
        pairs: npt.NDArray[np.int64] | None = None,
        triplets: npt.NDArray[np.int64] | None = None,
        groups: npt.ArrayLike | None = None,
        reporter: Reporter | None = None,
    ) -> Self:
        """Fit on rows (n, d) with findings y (n,), pairs (p, 2, d) with y (p,) of +1 and -1, or triplets (t, 3, d).

        ``pairs`` (p, 3): rows i, j and +1 similar or -1 dissimilar; ``triplets`` (t, 3): row i is closer
        to j than to k. ``groups`` (n,) are patients. A learner with the parameter ``training_cases`` is fitted
        on a stratified sample of that many cases where there are more; its card says so. The order of rows, pairs
        and triplets and the number of threads change nothing.

        Raises:
            BadRows: data the learner cannot use, with the reason and the way out.
            BadParameter: a parameter outside its range.
            Cancelled: the reporter was cancelled; the learner is then as before the call.
        """
        with self._unchanged_on_failure():
            data = self._training_input(X, y, pairs, triplets, groups, reporter)
            with as_value_errors(len(data.X)):
                data = in_content_order(data, self.accepts)
            data, notes = training_sample(data, getattr(self, "training_cases", 0))
            # More threads slow small eigenproblems a hundredfold on a busy machine, and change the last digits.
            with as_value_errors(len(data.X)), one_thread():
                self._fit(data)
                check_usable(self.title, self.metric().distances, data.X)
        if notes:
            self._card = dataclasses.replace(self._card, notes=(*notes, *self._card.notes))
        return self

    @contextlib.contextmanager
    def _unchanged_on_failure(self) -> Iterator[None]:
        """Leave the learner as it was before if what is done inside fails.

        Raises:
            BadRows: instead of what numpy says of a matrix.
        """
        before = dict(vars(self))
        try:
            yield
        except BaseException as error:
            self.__dict__ = before
            if not isinstance(error, np.linalg.LinAlgError):
                raise
            raise BadRows(
                tr_lazy(
                    "{title} cannot be computed on these cases: too few of their features differ, or the cases of a "
                    "finding have the same ones.",
                    title=self.title,
                ),
                tr_lazy("Add cases or other features, or use another learner."),
            ) from error

    def _training_input(
        self,
        X: npt.ArrayLike,
        y: npt.ArrayLike | None,
        pairs: npt.NDArray[np.int64] | None,
        triplets: npt.NDArray[np.int64] | None,
        groups: npt.ArrayLike | None,
        reporter: Reporter | None,
        *,
        further: bool = False,
    ) -> TrainingInput:
        """The checked arguments of :meth:`fit`; ``further``: with the columns of the fit before. Errors as there."""
        with as_value_errors():
            checked(self.name, self.parameters, {p.name: getattr(self, p.name) for p in self.parameters})
            source = check_rows(X)
            if source.ndim != 3:
                validate_data(self, X, reset=not further, skip_check_array=True)
            else:
                source, pairs, triplets = rows_of_tuples(
                    self.title, self.accepts if self._learns_from_tuples else frozenset(), source, y
                )
                y = None
            rows, findings = training_rows(source, groups), check_findings(y)
            if findings is None and self.accepts == {"findings"}:
                raise BadRows(
                    tr_lazy(
                        "{title} learns from findings: it requires y to be passed, but the target y is None.",
                        title=self.title,
                    ),
                    "Give a finding for each case.",
                )
            if further and rows.shape[1] != self.n_features_in_:
                raise BadRows(
                    tr_lazy(
                        "X has {given} features, but {name} is expecting {expected} features as input.",
                        given=rows.shape[1],
                        name=type(self).__name__,
                        expected=self.n_features_in_,
                    ),
                    "Use the features it was fitted on.",
                )
        self.n_features_in_ = rows.shape[1]
        return TrainingInput(
            rows, findings, pairs, triplets, groups, reporter or SILENT, self.random_state or 0
        )

    def method_params(self) -> dict[str, Any]:
        """Values of the parameters of the method, by name: all but :meth:`how_fitted`."""
        return {one.name: getattr(self, one.name) for one in self.parameters}

    @abc.abstractmethod
    def _fit(self, data: TrainingInput) -> None:
        """Set what is fitted and ``_card``, at the very end; see :meth:`fit`. Parameters are checked."""

    def metric(self) -> Metric:
        """A frozen snapshot of what was fitted, without steps: ``distance_`` and its card.

        Fitted on a data frame it names its columns, as a library does that takes the saved metric.
        """
        return self._as_metric(self.distance_)

    def _as_metric(self, distance: Distance) -> Metric:
        names = tuple(getattr(self, "feature_names_in_", ()))
        # Names of an earlier fit stay until a new one has ended.
        return Metric((), distance, self._card, names if len(names) == distance.n_features else ())

    @property
    def has_embedding(self) -> bool:
        """Whether there is a :meth:`transform`: once it is fitted, whether the distance has an embedding."""
        return self._embeds and getattr(getattr(self, "distance_", None), "embeds", True)

    def transform(self, X: npt.ArrayLike) -> npt.NDArray[np.floating]:
        """(n, d) -> (n, m): the embedding in which distances are squared Euclidean ones; float32 for float32 rows.

        With it a learner is a step of scikit-learn's ``Pipeline``, in front of its k-NN for example.

        Raises:
            NotFittedError: nothing is fitted yet.
            BadRows: rows the metric cannot take.
        """
        rows = self._fitted_rows(X)
        with as_value_errors():
            embedded = self.metric().embed(rows)
        return embedded.astype(np.float32) if rows.dtype == np.float32 else embedded

    @property
    def _n_features_out(self) -> int:
        shape: tuple[int, ...] = self.metric().embed(np.zeros((1, self.n_features_in_))).shape
        return shape[1]

    def __sklearn_is_fitted__(self) -> bool:
        return hasattr(self, "_card")

    def __sklearn_tags__(self) -> Tags:
        tags = super().__sklearn_tags__()
        tags.target_tags.required = self.accepts == {"findings"}
        if self.has_embedding:
            tags.transformer_tags.preserves_dtype = ["float64", "float32"]
        else:
            tags.transformer_tags = None
        return tags


# TransformerMixin wrapped these for set_output when the class was made. Now those without an embedding lose them.
for _method in ("transform", "fit_transform", "get_feature_names_out"):
    setattr(Learner, _method, available_if(lambda learner: learner.has_embedding)(getattr(Learner, _method)))
