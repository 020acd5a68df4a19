"""SCML: a sparse combination of directions that discriminate findings locally.

Shi, Bellet, Sha: Sparse compositional metric learning. AAAI 2014. Equation numbers are theirs.
"""

from __future__ import annotations

import numpy as np
import numpy.typing as npt

from semblance.core.language import tr_lazy
from semblance.core.metrics import declarations
from semblance.core.metrics.distance import Matrix
from semblance.core.metrics.estimators.rca import about_chunklets
from semblance.core.metrics.linear_learner import LearntMap, LinearLearner, linear_point
from semblance.core.metrics.numerics.covariance import roots_of_rows
from semblance.core.metrics.numerics.eigenpairs import psd_root
from semblance.core.metrics.numerics.k_means import k_means
from semblance.core.metrics.numerics.minimise import minimise
from semblance.core.metrics.numerics.pair_weights import median_distance, squared_distances
from semblance.core.metrics.training_data.rows import TrainingInput, check_memory
from semblance.core.metrics.training_data.triplets import Rows, nearest_triplets, triplet_source

#: Nearest cases of each finding around a centre; the directions of both are tried.
_NEAREST = (10, 20)
_FEWEST_REGIONS, _MOST_REGIONS = 10, 50
_K_MEANS_ROUNDS = 20
#: Of so few cases the scatter is noise.
_SHRINKAGE = 0.1
#: Given triplets whose differences are the directions, at most.
_DIRECTIONS = 400
#: Arrays of triplets x directions held at once.
_COPIES = 3


class SCML(declarations.SCML, LinearLearner):
    """Minimises the mean hinge loss of triplets plus beta |w|_1 over w >= 0, M = sum_k w_k b_k b_k' (Eq. 3).

    The b_k are discriminants of the nearest cases around centres (section 3), or differences of given triplets.
    The corner of the hinge is rounded, [x]^2 / 2 up to 1, so that the minimum is found by L-BFGS-B instead of the
    paper's stochastic steps, and is the same in every run.

    Example:
        >>> from sklearn.datasets import load_wine
        >>> from sklearn.preprocessing import scale
        >>> from semblance.core.metrics import make_learner
        >>> X, y = load_wine(return_X_y=True)
        >>> X = scale(X)
        >>> learner = make_learner("scml", random_state=0).fit(X, y)
        >>> learner.score(X, y) > 0.9
        True
    """

    def _learn(self, data: TrainingInput) -> LearntMap:
        source = triplet_source(self.title, data.X, data.y, data.triplets)
        X = source.X - source.X.mean(axis=0)
        scale = float(np.sqrt(median_distance(X, data.seed)))
        X = X / scale
        if source.triplets is None:
            triplets = nearest_triplets(X, source.codes, self.k, data.reporter)
            bases = local_discriminants(X, source.codes, self._regions(X), data.seed)
        else:
            triplets = source.triplets
            bases = _differences(X, triplets, data.seed)
        check_memory(
            8.0 * _COPIES * len(triplets) * len(bases),
            tr_lazy("{n:,} triplets in {directions:,} directions", n=len(triplets), directions=len(bases)),
            tr_lazy("Train on fewer cases, or ask for fewer regions."),
        )
        margins = margins_of(X, triplets, bases)
        found = minimise(
            lambda w: hinge_loss(w, margins, self.sparsity),
            np.full(len(bases), 1.0 / len(bases)),
            rounds=self.rounds,
            reporter=data.reporter,
            what=self.title,
            point=lambda number, value, w: linear_point(number, value, _map(w, bases) / scale),
            least=0.0,
        )
        weights, used = found.best, int((found.best > 0.0).sum())
        note = tr_lazy("{used} of {directions} directions.", used=used, directions=len(bases))
        if not used:
            # As BoostMetric: without any direction all cases would be the same.
            weights = np.full(len(bases), 1.0 / len(bases))
            note = tr_lazy("Nothing was learnt: no direction separates the findings. All count equally.")
        counts = {"triplets": len(triplets)}
        return LearntMap(_map(weights, bases) / scale, (note, found.note), counts, rounds=found.rounds)

    def _regions(self, X: Matrix) -> int:
        usual = min(_MOST_REGIONS, max(_FEWEST_REGIONS, X.shape[1]))
        return min(len(X), self.regions or usual)


def local_discriminants(X: Matrix, codes: npt.NDArray[np.int64], regions: int, seed: int) -> Matrix:
    """(b, d) unit vectors: linear discriminants of the cases of each finding nearest to each of ``regions`` centres."""
    centres = k_means(X, regions, np.random.default_rng([seed, 3]), _K_MEANS_ROUNDS)
    distances = squared_distances(centres, X)
    members = [np.flatnonzero(codes == code) for code in np.unique(codes)]
    found = []
    for row in distances:
        for size in _NEAREST:
            near = [own[np.argsort(row[own], kind="stable")[:size]] for own in members]
            rows = np.concatenate(near)
            numbers = np.repeat(np.arange(len(near)), [len(own) for own in near])
            white, _ = roots_of_rows(about_chunklets(X[rows], numbers)).root(_SHRINKAGE)
            means = np.stack([X[own].mean(axis=0) for own in near]) - X[rows].mean(axis=0)
            directions = np.linalg.svd(means @ white.T, full_matrices=False)[2][: len(near) - 1] @ white
            found.append(directions / np.linalg.norm(directions, axis=1, keepdims=True))
    return np.concatenate(found)


def margins_of(X: Matrix, triplets: Rows, bases: Matrix) -> Matrix:
    """(t, b) how much farther from row i row k is than row j along each direction (b, d), squared; triplets (t, 3)."""
    Z = X @ bases.T
    i, j, k = triplets.T
    margins: Matrix = np.square(Z[i] - Z[k]) - np.square(Z[i] - Z[j])
    return margins


def hinge_loss(w: Matrix, margins: Matrix, sparsity: float) -> tuple[float, Matrix]:
    """Mean rounded hinge of 1 - ``margins`` w, and ``sparsity`` sum w, for weights (b,) >= 0; and the gradient."""
    short = np.maximum(1.0 - margins @ w, 0.0)
    slopes = np.minimum(short, 1.0)
    value = float((slopes * (short - 0.5 * slopes)).mean()) + sparsity * float(w.sum())
    return value, sparsity - slopes @ margins / len(margins)


def _differences(X: Matrix, triplets: Rows, seed: int) -> Matrix:
    """(b, d) unit vectors along differences of the first row of triplets and the others."""
    chosen = np.random.default_rng([seed, 4]).permutation(len(triplets))[: _DIRECTIONS // 2]
    i, j, k = triplets[chosen].T
    z = np.concatenate([X[i] - X[k], X[i] - X[j]])
    lengths = np.linalg.norm(z, axis=1)
    z = z[lengths > 0.0] / lengths[lengths > 0.0, np.newaxis]
    return z if len(z) else np.eye(X.shape[1])


def _map(w: Matrix, bases: Matrix) -> Matrix:
    """(r, d) L with L'L = sum_k w_k b_k b_k'."""
    return psd_root((bases * w[:, np.newaxis]).T @ bases)
