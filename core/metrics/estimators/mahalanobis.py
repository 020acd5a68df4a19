"""Mahalanobis distance: the inverse covariance of the training cases."""

from __future__ import annotations

from typing import ClassVar

import numpy as np

from semblance.core.language import tr_lazy
from semblance.core.metrics.linear_learner import LearntMap, LinearLearner
from semblance.core.metrics.numerics.covariance import covariance, invertible, whitening
from semblance.core.metrics.training_data.rows import check_different
from semblance.core.metrics.training_data.training_input import TrainingInput
from semblance.core.parameters import Parameter

SHRINKAGE = Parameter(
    "shrinkage",
    0.0,
    "Share of a round covariance mixed in; 0: none, or as Ledoit and Wolf say where it cannot be inverted.",
    minimum=0.0,
    maximum=1.0,
)


class Mahalanobis(LinearLearner):
    """M = covariance^-1: correlated features count once.

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

    def __init__(self, shrinkage: float = 0.0, random_state: int | None = None) -> None:
        self.shrinkage = shrinkage
        self.random_state = random_state

    def _learn(self, data: TrainingInput) -> LearntMap:
        check_different(data.X)
        centred = data.X - data.X.mean(axis=0)
        S, shrinkage = invertible(covariance(centred), centred, self.shrinkage)
        return LearntMap(whitening(S), shrinkage_note(shrinkage, self.shrinkage))


def shrinkage_note(shrinkage: float, requested: float) -> tuple[str, ...]:
    """For the card."""
    if shrinkage == 0.0:
        return ()
    why = "" if requested else tr_lazy(": the covariance could not be inverted")
    return (tr_lazy("Covariance shrunk by {share:g}{why}.", share=np.round(shrinkage, 4), why=why),)
