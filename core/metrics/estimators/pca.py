"""Euclidean distance of the principal components."""

from __future__ import annotations

from typing import ClassVar

from semblance.core.language import tr_lazy
from semblance.core.metrics.linear_learner import LearntMap, LinearLearner
from semblance.core.metrics.steps.pca import PCA
from semblance.core.metrics.training_data.training_input import TrainingInput
from semblance.core.parameters import Parameter


class PrincipalComponents(LinearLearner):
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

    name: ClassVar[str] = "pca"
    title: ClassVar[str] = "PCA"
    paper: ClassVar[str] = "Pearson 1901, On lines and planes of closest fit to systems of points in space"
    summary: ClassVar[str] = "Euclidean without the directions of least variance; ignores findings."
    parameters: ClassVar[tuple[Parameter, ...]] = (
        Parameter(
            "components",
            0,
            "How many components are kept; 0: as many as hold the share of the variance.",
            minimum=0,
            maximum=100_000,
        ),
        Parameter(
            "variance",
            0.99,
            "Share of the variance to keep where the number of components is 0.",
            minimum=0.01,
            maximum=1.0,
            paper=0.99,
        ),
    )

    def __init__(self, components: int = 0, variance: float = 0.99, random_state: int | None = None) -> None:
        self.components = components
        self.variance = variance
        self.random_state = random_state

    def _learn(self, data: TrainingInput) -> LearntMap:
        n, d = data.X.shape
        step = PCA(self.components or min(n, d)).fit(data.X)
        n_components = len(step.components_)
        if not self.components:
            spread = step.transform(data.X).var(axis=0)
            n_components = 1 + int((spread.cumsum() < self.variance * spread.sum() * (1.0 - 1e-12)).sum())
            n_components = min(n_components, len(step.components_))
        return LearntMap(step.components_[:n_components], (tr_lazy("{n} components.", n=n_components),))
