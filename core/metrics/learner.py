"""The contract of a learner: an estimator that fits a metric."""

from __future__ import annotations

import abc
import dataclasses
import inspect
from typing import Any, ClassVar, Self

import numpy as np
import numpy.typing as npt

from semblance.core.errors import BadArguments
from semblance.core.language import tr_lazy
from semblance.core.metrics.card import MetricCard
from semblance.core.metrics.distance import Distance
from semblance.core.metrics.metric import Metric
from semblance.core.metrics.training_data.rows import training_rows
from semblance.core.metrics.training_data.training_input import TrainingInput
from semblance.core.metrics.training_data.training_sample import (
    TRAINING_CASES,
    training_sample,
)
from semblance.core.parameters import Parameter, Value, checked
from semblance.core.tasks import SILENT, Reporter


class Learner(abc.ABC):
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
    #: The extra of the installation it cannot do without; empty for none.
    needs: ClassVar[str] = ""

    random_state: int | None = None

    #: Set by :meth:`fit`.
    distance_: Distance
    _card: MetricCard

    def get_params(self, deep: bool = True) -> dict[str, Any]:
        """Parameter values by name, as scikit-learn's ``clone`` reads them."""
        names = list(inspect.signature(type(self).__init__).parameters)[1:]
        return {name: getattr(self, name) for name in names}

    def set_params(self, **values: Any) -> Self:
        """Set parameters by name.

        Raises:
            BadArguments: an unknown name.
        """
        checked(self.name, self.parameters, {k: v for k, v in values.items() if k != "random_state"})
        for name, value in values.items():
            setattr(self, name, value)
        return self

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
        """Fit on rows (n, d) with findings y (n,).

        ``pairs`` (p, 3): rows i, j and +1 similar or -1 dissimilar; ``triplets`` (t, 3): row i is closer
        to j than to k. ``groups`` (n,) are patients. A learner with the parameter ``training_cases`` is fitted
        on a stratified sample of that many cases where there are more; its card says so.

        Raises:
            BadInput: data the learner cannot use, with the reason and the way out.
            BadArguments: a parameter outside its range.
            Cancelled: the reporter asked for it; the learner is then as before the call.
        """
        from threadpoolctl import threadpool_limits

        self._check_parameters()
        rows = training_rows(X, groups)
        data = TrainingInput(rows, y, pairs, triplets, groups, reporter or SILENT, self.random_state or 0)
        data, notes = training_sample(data, getattr(self, TRAINING_CASES.name, 0))
        # More threads slow small eigenproblems a hundredfold on a busy machine.
        with threadpool_limits(limits=1, user_api="blas"):
            self._fit(data)
        if notes:
            self._card = dataclasses.replace(self._card, notes=(*notes, *self._card.notes))
        return self

    @abc.abstractmethod
    def _fit(self, data: TrainingInput) -> None:
        """Set what is fitted and ``_card``, at the very end; see :meth:`fit`. Parameters are checked."""

    def metric(self) -> Metric:
        """A frozen snapshot of what was fitted, without steps: ``distance_`` and its card."""
        return Metric((), self.distance_, self._card)

    def transform(self, X: npt.ArrayLike) -> npt.NDArray[np.float64]:
        """(n, d) -> (n, m): the embedding in which distances are squared Euclidean ones.

        With it a learner is a step of scikit-learn's ``Pipeline``, in front of its k-NN for example.

        Raises:
            BadInput: rows the metric cannot take, or its distance has no embedding.
            BadArguments: nothing is fitted yet.
        """
        if not self.__sklearn_is_fitted__():
            raise BadArguments(
                tr_lazy("{title} has learnt nothing yet.", title=self.title), "Call fit first."
            )
        return self.metric().embed(X)

    def fit_transform(self, X: npt.ArrayLike, y: npt.ArrayLike | None = None) -> npt.NDArray[np.float64]:
        """:meth:`fit` on rows (n, d) with findings y (n,), and their :meth:`transform`.

        Raises:
            BadInput, BadArguments: as these do.
        """
        return self.fit(X, y).transform(X)

    @property
    def n_features_in_(self) -> int:
        """Columns of the rows it was fitted on; there is no such attribute before."""
        if not self.__sklearn_is_fitted__():
            raise AttributeError("n_features_in_")
        return self.metric().n_features

    def __sklearn_is_fitted__(self) -> bool:
        return hasattr(self, "_card")

    def __sklearn_tags__(self) -> Any:
        """What scikit-learn asks of a transformer; it is loaded already where it asks."""
        from sklearn.utils import Tags, TargetTags, TransformerTags

        needs_findings = self.accepts == {"findings"}
        return Tags(None, TargetTags(required=needs_findings), TransformerTags(preserves_dtype=[]))
