"""The contract of a learner: an estimator that fits a metric."""

from __future__ import annotations

import abc
import dataclasses
from collections.abc import Sequence
from typing import Any, ClassVar, Self

import numpy as np
import numpy.typing as npt

from semblance.core.errors import BadInput
from semblance.core.language import tr_lazy
from semblance.core.metrics.card import MetricCard
from semblance.core.metrics.distance import Distance
from semblance.core.metrics.metric import Metric
from semblance.core.metrics.metric_learn import TupleEstimator, rows_of_tuples
from semblance.core.metrics.scikit_learn import (
    BadRows,
    as_value_errors,
    check_findings,
    check_rows,
    column_names,
    if_embedding,
)
from semblance.core.metrics.training_data.content_order import in_content_order
from semblance.core.metrics.training_data.rows import check_usable, training_rows
from semblance.core.metrics.training_data.training_input import TrainingInput
from semblance.core.metrics.training_data.training_sample import (
    TRAINING_CASES,
    training_sample,
)
from semblance.core.parameters import Parameter, Value, checked
from semblance.core.tasks import SILENT, Reporter
from semblance.core.threads import one_thread

#: Parameters of the fit that do not change the method; all others are on the card.
HOW_FITTED = frozenset({"random_state", "n_jobs"})


class Learner(TupleEstimator, abc.ABC):
    """scikit-learn style: parameters in ``__init__``, fitted names end in ``_``.

    Subclasses write their parameters out in ``__init__`` and describe the same ones in ``parameters``.
    """

    name: ClassVar[str]
    title: ClassVar[str]
    paper: ClassVar[str]
    #: When to use it, in one line.
    summary: ClassVar[str]
    parameters: ClassVar[tuple[Parameter, ...]] = ()
    #: The constraints it eats: any of "findings", "pairs", "triplets"; empty for none.
    accepts: ClassVar[frozenset[str]] = frozenset()
    #: Whether it chooses something by findings where they are given, though it needs none.
    uses_given_findings: ClassVar[bool] = False
    #: The extra of the installation it cannot do without; empty for none.
    needs: ClassVar[str] = ""

    random_state: int | None = None
    #: Threads that choose parameters, where a learner takes it; the result is the same for any number.
    n_jobs: int | None = None
    #: Whether its distance can have an embedding.
    _embeds: ClassVar[bool] = True
    #: Whether it learns from tuples of rows alone, without taking all other pairs of these rows as dissimilar.
    _learns_from_tuples: ClassVar[bool] = True

    #: Set by :meth:`fit`.
    distance_: Distance
    _card: MetricCard

    def _check_parameters(self) -> None:
        """Raise BadArguments unless every parameter is in its range; called first by ``fit``."""
        values: dict[str, Value] = {p.name: getattr(self, p.name) for p in self.parameters}
        checked(self.name, self.parameters, values)

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
        data = self._training_input(X, y, pairs, triplets, groups, reporter)
        with as_value_errors(len(data.X)):
            data = in_content_order(data, self.accepts)
        data, notes = training_sample(data, self._most_cases)
        # More threads slow small eigenproblems a hundredfold on a busy machine, and change the last digits.
        with as_value_errors(len(data.X)), one_thread():
            self._fit_usable(data)
        self._feature_names = column_names(X)
        self._note(notes)
        return self

    def _fit_usable(self, data: TrainingInput) -> None:
        """Fit, unless what comes out is no distance on the training cases: then the learner is as before.

        Raises:
            BadInput: as :meth:`fit`.
        """
        before = dict(vars(self))
        try:
            self._fit(data)
            check_usable(self.title, self.metric().distances, data.X)
        except np.linalg.LinAlgError as error:
            vars(self).clear()
            vars(self).update(before)
            raise BadInput(
                tr_lazy(
                    "{title} cannot be computed on these cases: too few of their features differ, or the cases of a "
                    "finding have the same ones.",
                    title=self.title,
                ),
                tr_lazy("Add cases or other features, or use another learner."),
            ) from error
        except BadInput:
            vars(self).clear()
            vars(self).update(before)
            raise

    @property
    def _most_cases(self) -> int:
        """How many cases it is fitted on at most; 0: all."""
        most: int = getattr(self, TRAINING_CASES.name, 0)
        return most

    def _note(self, notes: tuple[str, ...]) -> None:
        """Put ``notes`` first on the card."""
        if notes:
            self._card = dataclasses.replace(self._card, notes=(*notes, *self._card.notes))

    def _training_input(
        self,
        X: npt.ArrayLike,
        y: npt.ArrayLike | None,
        pairs: npt.NDArray[np.int64] | None,
        triplets: npt.NDArray[np.int64] | None,
        groups: npt.ArrayLike | None,
        reporter: Reporter | None,
    ) -> TrainingInput:
        """The checked arguments of :meth:`fit`; errors as there."""
        with as_value_errors():
            self._check_parameters()
            column_names(X)
            source = check_rows(X)
            if source.ndim == 3:
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
        return TrainingInput(
            rows, findings, pairs, triplets, groups, reporter or SILENT, self.random_state or 0
        )

    def method_params(self) -> dict[str, Any]:
        """Values of the parameters of the method, by name: all but :data:`HOW_FITTED`."""
        return {name: value for name, value in self.get_params().items() if name not in HOW_FITTED}

    @abc.abstractmethod
    def _fit(self, data: TrainingInput) -> None:
        """Set what is fitted and ``_card``, at the very end; see :meth:`fit`. Parameters are checked."""

    def metric(self) -> Metric:
        """A frozen snapshot of what was fitted, without steps: ``distance_`` and its card.

        Fitted on a data frame it names its columns, as a library does that takes the saved metric.
        """
        return self._as_metric(self.distance_)

    def _as_metric(self, distance: Distance) -> Metric:
        names = () if self._feature_names is None else tuple(self._feature_names)
        # Names of an earlier fit stay until a new one has ended.
        return Metric((), distance, self._card, names if len(names) == distance.n_features else ())

    @property
    def has_embedding(self) -> bool:
        """Whether there is a :meth:`transform`: once it is fitted, whether the distance has an embedding."""
        return self._embeds and getattr(getattr(self, "distance_", None), "embeds", True)

    @if_embedding
    def transform(self, X: npt.ArrayLike) -> npt.NDArray[np.floating]:
        """(n, d) -> (n, m): the embedding in which distances are squared Euclidean ones; float32 for float32 rows.

        With it a learner is a step of scikit-learn's ``Pipeline``, in front of its k-NN for example.

        Raises:
            NotFitted: nothing is fitted yet.
            BadRows: rows the metric cannot take.
        """
        self._check_fitted()
        self._check_names(X)
        rows = check_rows(X)
        self._check_width(rows)
        metric = self.metric()
        with as_value_errors():
            embedded = metric.embed(rows)
        kept = embedded.astype(np.float32) if rows.dtype == np.float32 else embedded
        found: npt.NDArray[np.floating] = self._in_container(kept, X)
        return found

    @if_embedding
    def fit_transform(
        self, X: npt.ArrayLike, y: npt.ArrayLike | None = None, **fit_params: Any
    ) -> npt.NDArray[np.floating]:
        """:meth:`fit` on rows (n, d) with findings y (n,), and their :meth:`transform`.

        Raises:
            BadRows, BadParameter: as these do.
        """
        return self.fit(X, y, **fit_params).transform(X)

    @if_embedding
    def get_feature_names_out(self, input_features: Sequence[str] | None = None) -> npt.NDArray[np.object_]:
        """Names (m,) of the columns of :meth:`transform`: the class in lower case and a number.

        Raises:
            NotFitted: nothing is fitted yet.
            BadRows: ``input_features`` are not the columns of ``fit``.
        """
        self._check_fitted()
        self._check_input_names(input_features)
        size = self.metric().embed(np.zeros((1, self.n_features_in_))).shape[1]
        return np.array(self._output_names(size), dtype=object)

    @property
    def n_features_in_(self) -> int:
        """Columns of the rows it was fitted on; there is no such attribute before."""
        if not self.__sklearn_is_fitted__():
            raise AttributeError("n_features_in_")
        return self.metric().n_features

    def __sklearn_is_fitted__(self) -> bool:
        return hasattr(self, "_card")

    def __sklearn_tags__(self) -> Any:
        """What scikit-learn asks of an estimator; it is loaded already where it asks."""
        from sklearn.utils import Tags, TargetTags, TransformerTags

        target = TargetTags(required=self.accepts == {"findings"})
        keeps = TransformerTags(preserves_dtype=["float64", "float32"]) if self.has_embedding else None
        return Tags(None, target, keeps)
