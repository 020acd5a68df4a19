"""Mahalanobis distance: the inverse covariance of the training cases."""

from __future__ import annotations

from collections.abc import Callable
from typing import ClassVar

import numpy as np

from semblance.core.language import tr_lazy
from semblance.core.metrics.distance import Matrix
from semblance.core.metrics.linear_learner import LearntMap, LinearLearner
from semblance.core.metrics.numerics.covariance import ledoit_wolf, shrunk_root
from semblance.core.metrics.training_data.labelled_rows import codes_of_findings
from semblance.core.metrics.training_data.rows import check_different
from semblance.core.metrics.training_data.training_input import TrainingInput
from semblance.core.metrics.training_data.validation import Rows, best_shrinkage
from semblance.core.parameters import Parameter

SHRINKAGE = Parameter(
    "shrinkage",
    -1.0,
    "Share of a round covariance mixed in; -1: chosen on cases set aside, or as Ledoit and Wolf say without findings; "
    "0: none, unless the covariance cannot be inverted.",
    minimum=-1.0,
    maximum=1.0,
)


class Mahalanobis(LinearLearner):
    """M = covariance^-1: correlated features count once.

    Of nearly singular covariances the inverse is mostly noise, so it is shrunk towards tr(S)/d I: Friedman 1989,
    Regularized discriminant analysis, Eq. 18, whose amount is chosen by the error on cases set aside.

    Example:
        >>> from sklearn.datasets import load_wine
        >>> from sklearn.preprocessing import scale
        >>> from semblance.core.metrics import make_learner
        >>> X, y = load_wine(return_X_y=True)
        >>> X = scale(X)
        >>> learner = make_learner("mahalanobis").fit(X)
        >>> learner.get_mahalanobis_matrix().shape
        (13, 13)
    """

    name: ClassVar[str] = "mahalanobis"
    title: ClassVar[str] = "Mahalanobis"
    paper: ClassVar[str] = "Mahalanobis 1936, On the generalised distance in statistics"
    summary: ClassVar[str] = "Like Euclidean, but correlated features count once; learns no meaning."
    parameters: ClassVar[tuple[Parameter, ...]] = (SHRINKAGE,)
    uses_given_findings: ClassVar[bool] = True

    def __init__(self, shrinkage: float = -1.0, random_state: int | None = None) -> None:
        self.shrinkage = shrinkage
        self.random_state = random_state

    def _learn(self, data: TrainingInput) -> LearntMap:
        check_different(data.X)
        centred = data.X - data.X.mean(axis=0)
        shrinkage, note = chosen_shrinkage(
            self.shrinkage, centred, data, lambda rows: data.X[rows] - data.X[rows].mean(axis=0)
        )
        L, used = shrunk_root(centred, shrinkage)
        return LearntMap(L, shrinkage_note(used, note))


def chosen_shrinkage(
    requested: float, centred: Matrix, data: TrainingInput, centred_of: Callable[[Rows], Matrix]
) -> tuple[float, str]:
    """The shrinkage of the covariance of the rows ``centred`` (m, d), and how it was found, for the card.

    ``requested`` as the parameter :data:`SHRINKAGE`; ``centred_of(rows)`` are these rows of ``data`` less the means
    that are learnt from them.
    """
    if requested >= 0.0:
        return requested, ""
    if data.y is not None:
        codes = codes_of_findings(len(data.X), data.y)[0]

        def map_of(rows: Rows) -> Callable[[float], Matrix]:
            part = centred_of(rows)
            return lambda shrinkage: shrunk_root(part, shrinkage)[0]

        found = best_shrinkage(data.X, codes, data.groups, data.seed, map_of)
        if found is not None:
            return found, tr_lazy(", chosen on cases set aside")
    return (ledoit_wolf(centred) if centred.any() else 0.0), tr_lazy(" as Ledoit and Wolf say")


def shrinkage_note(used: float, how: str) -> tuple[str, ...]:
    """For the card."""
    if used == 0.0:
        return ()
    return (tr_lazy("Covariance shrunk by {share:g}{why}.", share=np.round(used, 4), why=how),)
