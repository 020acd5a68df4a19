"""RCA: directions in which similar cases vary are scaled down.

Bar-Hillel, Hertz, Shental, Weinshall: Learning a Mahalanobis metric from equivalence constraints. Journal of
Machine Learning Research 6, 2005.
"""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
import numpy.typing as npt

from semblance.core.constraints import checked_pairs
from semblance.core.errors import BadInput
from semblance.core.language import tr_lazy
from semblance.core.metrics import declarations
from semblance.core.metrics.distance import Matrix
from semblance.core.metrics.moment_learner import Maps, ShrunkLearner
from semblance.core.metrics.numerics.covariance import Codes, Moments, ShrunkRoots
from semblance.core.metrics.training_data.rows import TrainingInput, codes_of_findings

Rows = npt.NDArray[np.int64]


class RCA(declarations.RCA, ShrunkLearner):
    """M = C^-1, C the covariance about the means of chunklets: cases known to be similar (Eq. 2).

    The paper puts a PCA in front where C is nearly singular (section 3); here C is shrunk as the covariance of
    :class:`Mahalanobis` is.

    Example:
        >>> import numpy as np
        >>> from sklearn.datasets import load_wine
        >>> from sklearn.preprocessing import scale
        >>> from semblance.core.metrics import make_learner
        >>> X, y = load_wine(return_X_y=True)
        >>> X = scale(X)
        >>> similar = np.column_stack([np.arange(50), np.arange(1, 51), np.ones(50, dtype=int)])
        >>> make_learner("rca").fit(X, pairs=similar).metric().distances(X[:2], X).shape
        (2, 178)
    """

    def _classes(self, data: TrainingInput) -> Codes:
        return chunklets_of(self.title, len(data.X), data.y, data.pairs)

    def _maps(self, moments: Moments, estimate: Callable[[], float]) -> Maps:
        return ShrunkRoots(moments.covariance, estimate).root

    def _check(self, moments: Moments) -> None:
        if not moments.scatter.any():
            raise BadInput("Cases that are alike have the same features.", "Nothing is left to learn.")

    def _notes(self, moments: Moments, L: Matrix) -> tuple[str, ...]:
        return (tr_lazy("{chunklets} groups of like cases.", chunklets=len(moments.counts)),)


def chunklets_of(title: str, n: int, y: npt.ArrayLike | None, pairs: npt.NDArray[np.int64] | None) -> Rows:
    """(n,) the number of each case's chunklet, -1 for those without another case in theirs.

    Cases of one finding, or joined by similar pairs, make a chunklet.

    Raises:
        BadInput: neither findings nor pairs, or no two similar cases.
    """
    from scipy.sparse import coo_matrix
    from scipy.sparse.csgraph import connected_components

    if y is None and pairs is None:
        raise BadInput(
            tr_lazy("{title} learns from findings or pairs.", title=title), "Give it at least one of them."
        )
    i, j = np.empty((2, 0), dtype=np.int64)
    if y is not None:
        codes, names = codes_of_findings(n, y)
        known = np.flatnonzero(codes >= 0)
        first = np.full(len(names), n)
        np.minimum.at(first, codes[known], known)
        i, j = known, first[codes[known]]
    if pairs is not None:
        given = checked_pairs(pairs, n)
        given = given[given[:, 2] > 0]
        i, j = np.append(i, given[:, 0]), np.append(j, given[:, 1])
    graph = coo_matrix((np.ones(len(i)), (i, j)), shape=(n, n))
    numbers = connected_components(graph, directed=False)[1]
    large = np.bincount(numbers) > 1
    if not large.any():
        raise BadInput(
            "No two training cases are called similar.", "Add cases of the same finding or similar pairs."
        )
    renumbered = np.where(large, np.cumsum(large) - 1, -1)
    chunklets: Rows = renumbered[numbers]
    return chunklets


def about_chunklets(X: Matrix, chunklets: Rows) -> Matrix:
    """(m, d) the rows that are in a chunklet, less the mean of theirs."""
    rows, numbers = X[chunklets >= 0], chunklets[chunklets >= 0]
    numbers = np.unique(numbers, return_inverse=True)[1]
    sums = np.zeros((int(numbers.max(initial=-1)) + 1, X.shape[1]))
    np.add.at(sums, numbers, rows)
    means = sums / np.bincount(numbers)[:, np.newaxis]
    return rows - means[numbers]
