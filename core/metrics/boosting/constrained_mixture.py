"""A Gaussian mixture fitted to weighted rows of which some are known to share a cloud.

Shental, Bar-Hillel, Hertz, Weinshall: Computing Gaussian mixture models with EM using equivalence
constraints. NIPS 2003: the E step shares out whole chunklets (their Eq. 2).
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
import numpy.typing as npt

from semblance.core.metrics.distance import Matrix
from semblance.core.metrics.distances.mixtures import log_joint

Rows = npt.NDArray[np.int64]

#: Share of the spherical covariance in the shared one.
_ROUND = 0.1
_LEAST_WEIGHT = 1e-12


class Mixture(NamedTuple):
    """log p(x, cloud) = offset - |R (x - mean)|^2 / 2.

    ``offsets`` (k,), ``means`` (k, p), ``roots`` (k, p, p).
    """

    offsets: Matrix
    means: Matrix
    roots: Matrix


def fit_mixture(
    X: Matrix, weights: Matrix, chunklets: Rows, clouds: int, rounds: int, rng: np.random.Generator
) -> Mixture:
    """EM for rows (n, p) of ``weights`` (n,), sum 1; rows of one number in ``chunklets`` (n,) share a cloud.

    Starts from rows drawn by weight, far apart. The covariance of a cloud is shrunk towards that within all clouds,
    with the weight of p rows of mean weight.
    """
    p = X.shape[1]
    total = covariance_of(X, weights, weights @ X)
    scale = np.trace(total) / p
    means = _far_apart(X, weights, clouds, rng)
    root = np.eye(p) / np.sqrt(scale)
    mixture = Mixture(np.full(clouds, -np.log(clouds)), means, np.repeat(root[np.newaxis], clouds, axis=0))
    for _ in range(rounds):
        mixture = _maximised(X, weights, share_out(mixture, X, chunklets), mixture)
    return mixture


def share_out(mixture: Mixture, X: Matrix, chunklets: Rows) -> Matrix:
    """(n, k) posteriors: for all rows of a chunklet the product of theirs, the prior counted once."""
    joint = log_joint(X, *mixture)
    prior = _log_prior(mixture)
    sums = np.zeros((int(chunklets.max()) + 1, joint.shape[1]))
    np.add.at(sums, chunklets, joint - prior)
    sums += prior
    sums -= sums.max(axis=1, keepdims=True)
    shares = np.exp(sums)
    shares /= shares.sum(axis=1, keepdims=True)
    out: Matrix = shares[chunklets]
    return out


def covariance_of(X: Matrix, weights: Matrix, mean: Matrix) -> Matrix:
    """(p, p) weighted mean product about ``mean``; ``weights`` sum to 1."""
    centred = X - mean
    product: Matrix = (centred * weights[:, np.newaxis]).T @ centred
    return product


def _log_prior(mixture: Mixture) -> Matrix:
    """(k,) the log prior: the offset less the log of what normalises the density, but for a constant."""
    prior: Matrix = mixture.offsets - np.linalg.slogdet(mixture.roots)[1]
    return prior


def _maximised(X: Matrix, weights: Matrix, shares: Matrix, before: Mixture) -> Mixture:
    p = X.shape[1]
    held = shares * weights[:, np.newaxis]
    mass = held.sum(axis=0)
    alive = mass > _LEAST_WEIGHT
    divisor = np.maximum(mass, _LEAST_WEIGHT)
    means = np.where(alive[:, np.newaxis], (held.T @ X) / divisor[:, np.newaxis], before.means)
    each = np.stack([covariance_of(X, held[:, k] / divisor[k], means[k]) for k in range(len(mass))])
    within = np.einsum("k,kij->ij", mass, each) / mass.sum()
    within = (1.0 - _ROUND) * within + np.eye(p) * (_ROUND * np.trace(within) / p)
    # A cloud that shrinks to a point keeps a small covariance.
    within += np.eye(p) * (1e-6 * np.trace(covariance_of(X, weights, weights @ X)) / p)
    lean = p / len(X)
    covariances = (mass[:, np.newaxis, np.newaxis] * each + lean * within) / (divisor + lean)[
        :, np.newaxis, np.newaxis
    ]
    roots = np.linalg.inv(np.linalg.cholesky(covariances))
    prior = np.log(np.maximum(mass, _LEAST_WEIGHT) / mass.sum())
    return Mixture(prior + np.linalg.slogdet(roots)[1], means, roots)


def _far_apart(X: Matrix, weights: Matrix, count: int, rng: np.random.Generator) -> Matrix:
    """(count, p) rows, the first drawn by weight, each further one also by its distance to those drawn."""
    chosen = [int(rng.choice(len(X), p=weights / weights.sum()))]
    nearest = np.square(X - X[chosen[0]]).sum(axis=1)
    while len(chosen) < count:
        odds = weights * nearest
        total = float(odds.sum())
        drawn = rng.choice(len(X), p=odds / total) if total > 0.0 else rng.integers(len(X))
        chosen.append(int(drawn))
        nearest = np.minimum(nearest, np.square(X - X[chosen[-1]]).sum(axis=1))
    return X[chosen]
