"""Mahalanobis distance: the inverse covariance of the training cases."""

from __future__ import annotations

from collections.abc import Callable
from typing import ClassVar

import numpy as np

from semblance.core.metrics.moment_learner import SHRINKAGE, Maps, ShrunkLearner
from semblance.core.metrics.numerics.covariance import ShrunkRoots
from semblance.core.metrics.numerics.moments import Codes, Moments
from semblance.core.metrics.training_data.labelled_rows import codes_of_findings
from semblance.core.metrics.training_data.training_input import TrainingInput
from semblance.core.parameters import Parameter


class Mahalanobis(ShrunkLearner):
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
    summary: ClassVar[str] = "Like Euclidean, but correlated features count once; ignores findings."
    parameters: ClassVar[tuple[Parameter, ...]] = (SHRINKAGE,)
    uses_given_findings: ClassVar[bool] = True

    def __init__(
        self, shrinkage: float = -1.0, random_state: int | None = None, n_jobs: int | None = None
    ) -> None:
        self.shrinkage = shrinkage
        self.random_state = random_state
        self.n_jobs = n_jobs

    def _classes(self, data: TrainingInput) -> Codes:
        if data.y is not None:
            codes_of_findings(len(data.X), data.y)
        return np.zeros(len(data.X), dtype=np.int64)

    def _maps(self, moments: Moments, estimate: Callable[[], float]) -> Maps:
        return ShrunkRoots(moments.covariance, estimate).root
