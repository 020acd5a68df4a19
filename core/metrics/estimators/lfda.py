"""LFDA: linear discriminants that keep the shape of findings made of several clouds.

Sugiyama: Dimensionality reduction of multimodal labeled data by local Fisher discriminant analysis. Journal of
Machine Learning Research 8, 2007. Equation numbers are theirs.
"""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
import numpy.typing as npt

from semblance.core.language import tr_lazy
from semblance.core.metrics import declarations
from semblance.core.metrics.distance import Matrix
from semblance.core.metrics.linear_learner import LearntMap, LinearLearner
from semblance.core.metrics.moment_learner import shrinkage_note
from semblance.core.metrics.numerics.covariance import shrunk
from semblance.core.metrics.numerics.pair_weights import squared_distances
from semblance.core.metrics.training_data.rows import TrainingInput, check_memory, labelled_rows
from semblance.core.metrics.training_data.validation import Rows, best_shrinkage

#: A direction with a smaller share of the largest spread is rounding.
_LEAST = 1e-9
#: A scatter within of a smaller share of that between is rounding.
_ROUNDING = 1e-12
#: The shrinkage without cases to choose it on, and the least: the local scatter may be singular.
_USUAL, _SMALLEST = 0.1, 1e-6
#: Arrays of n x n numbers held at once.
_SQUARES = 4


class LFDA(declarations.LFDA, LinearLearner):
    """T maximises tr((T' S_w T)^-1 T' S_b T) (Eq. 19) for local scatters; rows of L have length sqrt(eigenvalue).

    This is the "weighted" embedding of the author's code. The local scatter within is shrunk towards tr(S)/d I, by
    an amount chosen on cases set aside.

    Example:
        >>> from sklearn.datasets import load_wine
        >>> from sklearn.preprocessing import scale
        >>> from semblance.core.metrics import make_learner
        >>> X, y = load_wine(return_X_y=True)
        >>> X = scale(X)
        >>> learner = make_learner("lfda", components=3).fit(X, y)
        >>> learner.transform(X).shape
        (178, 3)
        >>> learner.score(X, y) > 0.9
        True
    """

    def _learn(self, data: TrainingInput) -> LearntMap:
        rows = labelled_rows(self.title, data.X, data.y)
        most = int(np.bincount(rows.codes).max())
        check_memory(
            8.0 * _SQUARES * most * most,
            tr_lazy(
                "{title} compares all {n:,} cases of a finding with each other, which",
                title=self.title,
                n=most,
            ),
            tr_lazy("Train on fewer cases, or use ccml."),
        )
        X = rows.X - rows.X.mean(axis=0)
        shrinkage, how = self.shrinkage, ""
        if shrinkage < 0.0:

            def map_of(part: Rows) -> Callable[[float], Matrix]:
                scatters = local_scatters(X[part], rows.codes[part], self.k)
                return lambda amount: self._map(*scatters, amount)

            found = best_shrinkage(X, rows.codes, rows.groups(data), data.seed, map_of, self.n_jobs)
            shrinkage = _USUAL if found is None else found
            how = "" if found is None else tr_lazy(", chosen on cases set aside")
        L = self._map(*local_scatters(X, rows.codes, self.k), shrinkage)
        return LearntMap(L, (tr_lazy("{n} discriminants.", n=len(L)), *shrinkage_note(shrinkage, how)))

    def _map(self, within: Matrix, between: Matrix, shrinkage: float) -> Matrix:
        """(m, d) the generalised eigenvectors, each as long as the root of its eigenvalue, the largest first."""
        from scipy.linalg import eigh

        d = len(within)
        if not np.trace(within) > _ROUNDING * np.trace(between):
            # The cases of each finding are equal.
            within = np.eye(d)
        S = shrunk(within, max(shrinkage, _SMALLEST))
        values, vectors = eigh(between, S)
        values, vectors = values[::-1], vectors[:, ::-1]
        kept = max(1, int((values > _LEAST * values[0]).sum()))
        kept = min(kept, self.components or d)
        L: Matrix = (vectors[:, :kept] * np.sqrt(np.maximum(values[:kept], 0.0))).T
        return L


def local_scatters(X: Matrix, codes: npt.NDArray[np.int64], k: int) -> tuple[Matrix, Matrix]:
    """(d, d) the local scatter within and between findings (Eqs. 10 and 11) of rows (n, d) with ``codes`` (n,).

    S = sum_ij W_ij (x_i - x_j)(x_i - x_j)' / 2. For two cases of a finding with c cases W is A / c and
    A (1/n - 1/c), A = exp(-d_ij / (sigma_i sigma_j)) with sigma the distance to the k-th nearest of the finding; for
    others 0 and 1 / n.
    """
    n, d = X.shape
    within, between = np.zeros((d, d)), np.zeros((d, d))
    for code in np.unique(codes):
        own = X[codes == code]
        c = len(own)
        affinity = _affinity(own, k)
        graph = own.T @ (affinity.sum(axis=1)[:, np.newaxis] * own - affinity @ own)
        # All pairs of this finding at 1 / n are taken off what all pairs of cases sum up to.
        sums = own.sum(axis=0)
        alike = (c * own.T @ own - np.outer(sums, sums)) / n
        within += graph / c
        between += graph * (1.0 / n - 1.0 / c) - alike
    sums = X.sum(axis=0)
    between += X.T @ X - np.outer(sums, sums) / n
    return (within + within.T) / 2.0, (between + between.T) / 2.0


def _affinity(X: Matrix, k: int) -> Matrix:
    """(c, c) exp(-d_ij / (sigma_i sigma_j)) (Zelnik-Manor and Perona 2004); 1 at distance 0, 0 beyond a sigma of 0."""
    distances = squared_distances(X, X)
    np.fill_diagonal(distances, 0.0)
    place = min(k, len(X) - 1)
    sigma = np.sqrt(np.partition(distances, place, axis=1)[:, place])
    widths = np.multiply.outer(sigma, sigma)
    ratio = np.divide(distances, widths, out=np.full_like(distances, np.inf), where=widths > 0.0)
    affinity: Matrix = np.exp(-np.where(distances > 0.0, ratio, 0.0))
    return affinity
