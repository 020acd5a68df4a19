"""Mahalanobis distance: the inverse covariance of the training cases."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np

from semblance.core.metrics import declarations
from semblance.core.metrics.moment_learner import Maps, ShrunkLearner
from semblance.core.metrics.numerics.covariance import Codes, Moments, ShrunkRoots
from semblance.core.metrics.training_data.rows import TrainingInput, codes_of_findings


class Mahalanobis(declarations.Mahalanobis, ShrunkLearner):
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

    def _classes(self, data: TrainingInput) -> Codes:
        if data.y is not None:
            codes_of_findings(len(data.X), data.y)
        return np.zeros(len(data.X), dtype=np.int64)

    def _maps(self, moments: Moments, estimate: Callable[[], float]) -> Maps:
        return ShrunkRoots(moments.covariance, estimate).root
