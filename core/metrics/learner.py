"""The contract of a learner: an estimator that fits a metric."""

from __future__ import annotations

import abc
import contextlib
import dataclasses
from collections.abc import Iterator
from typing import Any, ClassVar, Self

import numpy as np
import numpy.typing as npt
from sklearn.base import BaseEstimator, ClassNamePrefixFeaturesOutMixin, TransformerMixin
from sklearn.utils import Tags
from sklearn.utils.metadata_routing import UNUSED
from sklearn.utils.metaestimators import available_if
from sklearn.utils.validation import validate_data

from semblance.core.language import tr_lazy
from semblance.core.metrics.card import MetricCard
from semblance.core.metrics.declarations import LearnerDeclaration
from semblance.core.metrics.distance import Distance
from semblance.core.metrics.metric import Metric
from semblance.core.metrics.metric_learn import TupleScores, rows_of_tuples
from semblance.core.metrics.scikit_learn import BadRows, as_value_errors, check_findings, check_rows
from semblance.core.metrics.training_data.content_order import in_content_order
from semblance.core.metrics.training_data.rows import check_usable, training_rows
from semblance.core.metrics.training_data.training_input import TrainingInput
from semblance.core.metrics.training_data.training_sample import training_sample
from semblance.core.parameters import checked
from semblance.core.tasks import SILENT, Reporter
from semblance.core.threads import one_thread


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
