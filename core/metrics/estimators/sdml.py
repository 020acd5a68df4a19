"""SDML: a sparse matrix near the Euclidean metric under which similar pairs are near.

Qi, Tang, Zha, Chua, Zhang: An efficient sparse metric learning in high-dimensional space via l1-penalized
log-determinant regularization. ICML 2009. Equation numbers are theirs.
"""

from __future__ import annotations

import warnings

import numpy as np

from semblance.core.errors import BadInput
from semblance.core.language import tr_lazy
from semblance.core.metrics import declarations
from semblance.core.metrics.distance import Matrix
from semblance.core.metrics.linear_learner import LearntMap, LinearLearner
from semblance.core.metrics.numerics.eigenpairs import symmetric_root
from semblance.core.metrics.training_data.pairs import pair_differences
from semblance.core.metrics.training_data.rows import TrainingInput

#: Least eigenvalue of the matrix whose inverse is sought, of which that of the Euclidean metric is 1.
_LEAST = 0.05
_ITERATIONS = 200
#: Arrays of pairs x features held at once.
_COPIES = 3


class SDML(declarations.SDML, LinearLearner):
    """Minimises tr((I + eta K) M) - log det M + lambda |M|_1 off the diagonal (Eq. 8) by the graphical lasso.

    K is the mean over pairs of +-zz', for similar and dissimilar ones, divided by their mean squared difference a
    feature. I + eta K has to be positive definite, which the paper takes for granted: where it is not, eta is made
    smaller, and the card says so.

    Example:
        >>> from sklearn.datasets import load_wine
        >>> from sklearn.preprocessing import scale
        >>> from semblance.core.metrics import make_learner
        >>> X, y = load_wine(return_X_y=True)
        >>> X = scale(X)
        >>> learner = make_learner("sdml", random_state=0).fit(X, y)
        >>> learner.get_mahalanobis_matrix().shape
        (13, 13)
        >>> learner.score(X, y) > 0.9
        True
    """

    def _learn(self, data: TrainingInput) -> LearntMap:
        from sklearn.covariance import graphical_lasso

        source, z = pair_differences(self.title, data, draw=self.draw, copies=_COPIES)
        scale = float(np.square(z).mean())
        if scale == 0.0:
            raise BadInput("The cases of all pairs have the same features.", "Extract other features first.")
        K = mean_product(z / np.sqrt(scale), source.label)
        lowest = float(np.linalg.eigvalsh(K)[0])
        balance = self.balance if 1.0 + self.balance * lowest >= _LEAST else (_LEAST - 1.0) / lowest
        data.reporter.check_cancelled()
        P = np.eye(len(K)) + balance * K
        if self.sparsity > 0.0 and len(P) > 1:
            with warnings.catch_warnings():
                # Its last digits do not matter to distances.
                warnings.simplefilter("ignore")
                M = graphical_lasso(P, self.sparsity, max_iter=_ITERATIONS, tol=1e-6)[1]
        else:
            M = np.linalg.inv(P)
        notes = [
            tr_lazy("{share:.0%} of the products of two features count.", share=float((M != 0.0).mean()))
        ]
        if balance < self.balance:
            notes.append(
                tr_lazy("Balance lowered to {balance:.3g}, so that there is a solution.", balance=balance)
            )
        return LearntMap(symmetric_root((M + M.T) / 2.0) / np.sqrt(scale), tuple(notes), source.counts())


def mean_product(z: Matrix, label: Matrix) -> Matrix:
    """(d, d) mean of label zz' over similar and over dissimilar differences (p, d), half of the weight on each kind."""
    weights = np.where(label > 0, 0.5 / (label > 0).sum(), -0.5 / (label < 0).sum())
    product: Matrix = (z * weights[:, np.newaxis]).T @ z
    return (product + product.T) / 2.0
