"""Euclidean distance of the linear discriminants."""

from __future__ import annotations

import warnings
from typing import ClassVar

import numpy as np

from semblance.core.language import tr_lazy
from semblance.core.metrics.linear_learner import LearntMap, LinearLearner
from semblance.core.metrics.training_data.labelled_rows import labelled_rows
from semblance.core.metrics.training_data.training_input import TrainingInput
from semblance.core.parameters import Parameter


class LDA(LinearLearner):
    """L = directions that spread the means of findings most, measured in the scatter within findings.

    Example:
        >>> from sklearn.datasets import load_wine
        >>> from sklearn.preprocessing import scale
        >>> from semblance.core.metrics import make_learner
        >>> X, y = load_wine(return_X_y=True)
        >>> X = scale(X)
        >>> learner = make_learner("lda").fit(X, y)
        >>> learner.transform(X).shape
        (178, 2)
        >>> learner.score(X, y) > 0.95
        True
    """

    name: ClassVar[str] = "lda"
    title: ClassVar[str] = "LDA"
    paper: ClassVar[str] = "Fisher 1936, The use of multiple measurements in taxonomic problems"
    summary: ClassVar[str] = "Instant, and strong where each finding is one cloud; few dimensions."
    parameters: ClassVar[tuple[Parameter, ...]] = (
        Parameter(
            "components",
            0,
            "How many discriminants are kept at most; 0: all there are, one less than findings.",
            minimum=0,
            maximum=10_000,
        ),
    )
    accepts: ClassVar[frozenset[str]] = frozenset({"findings"})

    def __init__(self, components: int = 0, random_state: int | None = None) -> None:
        self.components = components
        self.random_state = random_state

    def _learn(self, data: TrainingInput) -> LearntMap:
        from sklearn.discriminant_analysis import LinearDiscriminantAnalysis

        X, codes, _ = labelled_rows(self.title, data.X, data.y)
        scale = float(np.abs(X - X.mean(axis=0)).max())
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            fitted = LinearDiscriminantAnalysis(solver="svd").fit(X / scale, codes)
        L = fitted.scalings_.T[: self.components or None] / scale
        if not len(L):
            L = np.zeros((1, X.shape[1]))
        return LearntMap(L, (tr_lazy("{n} discriminants.", n=len(L)),))
