"""Euclidean distance of the principal components."""

from __future__ import annotations

from semblance.core.language import tr_lazy
from semblance.core.metrics import declarations
from semblance.core.metrics.linear_learner import LearntMap, LinearLearner
from semblance.core.metrics.steps.pca import PCA
from semblance.core.metrics.training_data.rows import TrainingInput


class PrincipalComponents(declarations.PrincipalComponents, LinearLearner):
    """L = the directions of largest variance; see the step ``pca``.

    Example:
        >>> from sklearn.datasets import load_wine
        >>> from sklearn.preprocessing import scale
        >>> from semblance.core.metrics import make_learner
        >>> X, y = load_wine(return_X_y=True)
        >>> X = scale(X)
        >>> make_learner("pca", components=3).fit_transform(X).shape
        (178, 3)
    """

    def _learn(self, data: TrainingInput) -> LearntMap:
        n, d = data.X.shape
        step = PCA(self.components or min(n, d)).fit(data.X)
        n_components = len(step.components_)
        if not self.components:
            spread = step.transform(data.X).var(axis=0)
            n_components = 1 + int((spread.cumsum() < self.variance * spread.sum() * (1.0 - 1e-12)).sum())
            n_components = min(n_components, len(step.components_))
        return LearntMap(step.components_[:n_components], (tr_lazy("{n} components.", n=n_components),))
