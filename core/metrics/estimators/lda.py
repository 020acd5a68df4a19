"""Euclidean distance of the linear discriminants."""

from __future__ import annotations

from collections.abc import Callable
from typing import ClassVar

import numpy as np
import numpy.typing as npt

from semblance.core.language import tr_lazy
from semblance.core.metrics.distance import Matrix
from semblance.core.metrics.estimators.mahalanobis import SHRINKAGE, shrinkage_note
from semblance.core.metrics.estimators.rca import about_chunklets
from semblance.core.metrics.linear_learner import LearntMap, LinearLearner
from semblance.core.metrics.numerics.covariance import ledoit_wolf, shrunk_root
from semblance.core.metrics.training_data.labelled_rows import labelled_rows
from semblance.core.metrics.training_data.training_input import TrainingInput
from semblance.core.metrics.training_data.validation import Rows, best_shrinkage
from semblance.core.parameters import Parameter

#: A discriminant with a smaller share of the largest spread is rounding.
_LEAST = 1e-9


class LDA(LinearLearner):
    """L = directions that spread the means of findings most, measured in the scatter within findings.

    A column that is constant within each finding makes that scatter singular, and distances explode. So it is shrunk
    towards tr(S)/d I, by an amount chosen on cases set aside: Friedman 1989, Regularized discriminant analysis,
    Eq. 18.

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
        SHRINKAGE,
    )
    accepts: ClassVar[frozenset[str]] = frozenset({"findings"})

    def __init__(self, components: int = 0, shrinkage: float = -1.0, random_state: int | None = None) -> None:
        self.components = components
        self.shrinkage = shrinkage
        self.random_state = random_state

    def _learn(self, data: TrainingInput) -> LearntMap:
        rows = labelled_rows(self.title, data.X, data.y)
        X, codes = rows.X, rows.codes
        shrinkage, how = self.shrinkage, ""
        centred = about_chunklets(X, codes)
        if shrinkage < 0.0:

            def map_of(part: Rows) -> Callable[[float], Matrix]:
                return lambda amount: self._map(X[part], codes[part], amount)[0]

            found = best_shrinkage(X, codes, rows.groups(data), data.seed, map_of)
            shrinkage, how = (ledoit_wolf(centred), tr_lazy(" as Ledoit and Wolf say"))
            if found is not None:
                shrinkage, how = found, tr_lazy(", chosen on cases set aside")
        L, used = self._map(X, codes, shrinkage)
        return LearntMap(L, (tr_lazy("{n} discriminants.", n=len(L)), *shrinkage_note(used, how)))

    def _map(self, X: Matrix, codes: npt.NDArray[np.int64], shrinkage: float) -> tuple[Matrix, float]:
        """(m, d) the discriminants, the strongest first, and the shrinkage it took."""
        white, used = shrunk_root(about_chunklets(X, codes), shrinkage)
        numbers, counts = np.unique(codes, return_inverse=True, return_counts=True)[1:]
        sums = np.zeros((len(counts), X.shape[1]))
        np.add.at(sums, numbers, X - X.mean(axis=0))
        spread = sums / np.sqrt(counts)[:, np.newaxis] @ white.T
        strengths, directions = np.linalg.svd(spread, full_matrices=False)[1:]
        most = min(len(counts) - 1, self.components or len(counts))
        kept = max(1, int((strengths[:most] > _LEAST * strengths[0]).sum()))
        return directions[:kept] @ white, used
