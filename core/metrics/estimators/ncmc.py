"""NCMC: a metric in which the nearest mean names the finding.

Mensink, Verbeek, Perronnin, Csurka: Distance-based image classification: generalizing to new classes at
near-zero cost. IEEE Transactions on Pattern Analysis and Machine Intelligence 35(11), 2013. Equation numbers
are theirs.
"""

from __future__ import annotations

import numpy as np
import numpy.typing as npt

from semblance.core.language import tr_lazy
from semblance.core.metrics import declarations
from semblance.core.metrics.distance import Matrix
from semblance.core.metrics.linear_learner import LearntMap, linear_point
from semblance.core.metrics.numerics.k_means import k_means
from semblance.core.metrics.numerics.minimise import minimise
from semblance.core.metrics.prepared_learner import PreparedLinearLearner
from semblance.core.metrics.training_data.rows import LabelledRows, TrainingInput, check_memory, labelled_rows
from semblance.core.tasks import Reporter

Rows = npt.NDArray[np.int64]

#: Rounds of k-means at most.
_K_MEANS_ROUNDS = 100
#: Arrays of cases x centres held at once.
_COPIES = 8


class NCMC(declarations.NCMC, PreparedLinearLearner):
    """Maximises the likelihood of the findings under p(c|x) = softmax(-d(x, mean of c) / 2) (Eqs. 6, 8).

    Example:
        >>> from sklearn.datasets import load_wine
        >>> from sklearn.preprocessing import scale
        >>> from semblance.core.metrics import make_learner
        >>> X, y = load_wine(return_X_y=True)
        >>> X = scale(X)
        >>> make_learner("ncmc", random_state=0).fit(X, y).score(X, y) > 0.9
        True
    """

    def _learn(self, data: TrainingInput) -> LearntMap:
        rows = labelled_rows(self.title, data.X, data.y)
        centred = rows.X - rows.X.mean(axis=0)
        scale = float(np.sqrt(np.square(centred).mean()))
        rows = LabelledRows(centred / scale, rows.codes, rows.names)
        d = rows.X.shape[1]
        centres, owner = centres_of(rows, self.centres, data.seed, data.reporter)
        check_memory(
            8.0 * _COPIES * len(rows.X) * len(centres),
            tr_lazy("Comparing {n:,} cases with {n2:,} centres", n=len(rows.X), n2=len(centres)),
            tr_lazy("Ask for fewer centres, or train on fewer cases."),
        )
        # All d directions, without an n x n array where there are many rows.
        directions = np.linalg.svd(rows.X, full_matrices=len(rows.X) < d)[2][: self.components or d]
        found = minimise(
            lambda L: negative_log_likelihood(L, rows, centres, owner, self.decay),
            directions / np.sqrt(d),
            rounds=self.rounds,
            reporter=data.reporter,
            what=self.title,
            point=lambda number, value, L: linear_point(number, value, L / scale),
        )
        return LearntMap(found.best / scale, (found.note,), rounds=found.rounds)


def negative_log_likelihood(
    L: Matrix, rows: LabelledRows, centres: Matrix, owner: Rows, decay: float
) -> tuple[float, Matrix]:
    """Mean of -ln p(own finding) plus ``decay`` |L|^2 / 2, and its gradient in L (m, d).

    p(c|x) sums softmax(-|L(x - centre)|^2 / 2) over the ``centres`` (k, d) whose ``owner`` is c (Eq. 24).
    """
    X, codes, _ = rows
    n = len(X)
    Z, M = X @ L.T, centres @ L.T
    score = Z @ M.T
    score -= 0.5 * np.einsum("ij,ij->i", M, M)
    score -= score.max(axis=1, keepdims=True)
    own = codes[:, np.newaxis] == owner
    p = np.exp(score)
    total = p.sum(axis=1, keepdims=True)
    mine = np.where(own, score, -np.inf)
    best = mine.max(axis=1, keepdims=True)
    q = np.exp(mine - best)
    of_mine = q.sum(axis=1, keepdims=True)
    value = float(np.mean(np.log(total) - best - np.log(of_mine)))
    # dE/d(d_ij) = (q - p) / 2, and its rows sum to 0: only the products with centres remain.
    g = 0.5 * (q / of_mine - p / total) / n
    column = g.sum(axis=0)
    gradient = 2.0 * ((M * column[:, np.newaxis]).T @ centres - Z.T @ (g @ centres) - (M.T @ g.T) @ X)
    return value + 0.5 * decay * float(np.square(L).sum()), gradient + decay * L


def centres_of(rows: LabelledRows, count: int, seed: int, reporter: Reporter) -> tuple[Matrix, Rows]:
    """(k, d) up to ``count`` centres of each finding by k-means, and (k,) the finding of each."""
    if count == 1:
        return rows.means(), np.arange(len(rows.names))
    rng = np.random.default_rng(seed)
    centres, owners = [], []
    for code in range(len(rows.names)):
        reporter.check_cancelled()
        found = k_means(rows.X[rows.codes == code], count, rng, _K_MEANS_ROUNDS)
        centres.append(found)
        owners.append(np.full(len(found), code))
    return np.concatenate(centres), np.concatenate(owners)
