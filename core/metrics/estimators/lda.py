"""Euclidean distance of the linear discriminants."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np

from semblance.core.language import tr_lazy
from semblance.core.metrics import declarations
from semblance.core.metrics.distance import Matrix
from semblance.core.metrics.moment_learner import Maps, ShrunkLearner
from semblance.core.metrics.numerics.covariance import Codes, Moments, ShrunkRoots
from semblance.core.metrics.training_data.rows import TrainingInput, codes_to_learn_from

#: A discriminant with a smaller share of the largest spread is rounding.
_LEAST = 1e-9


class LDA(declarations.LDA, ShrunkLearner):
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

    def _classes(self, data: TrainingInput) -> Codes:
        return codes_to_learn_from(self.title, len(data.X), data.y)[0]

    def _maps(self, moments: Moments, estimate: Callable[[], float]) -> Maps:
        """(m, d) the discriminants, the strongest first."""
        roots = ShrunkRoots(moments.covariance, estimate)
        present = moments.counts > 0
        spread = (moments.means[present] - moments.mean) * np.sqrt(moments.counts[present])[:, np.newaxis]
        most = min(len(spread) - 1, self.components or len(spread))

        def map_of(shrinkage: float) -> tuple[Matrix, float]:
            white, used = roots.root(shrinkage)
            strengths, directions = np.linalg.svd(spread @ white.T, full_matrices=False)[1:]
            kept = max(1, int((strengths[:most] > _LEAST * strengths[0]).sum()))
            return directions[:kept] @ white, used

        return map_of

    def _notes(self, moments: Moments, L: Matrix) -> tuple[str, ...]:
        return (tr_lazy("{n} discriminants.", n=len(L)),)
