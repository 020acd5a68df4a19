"""DistBoost: boosted partitions of the feature space, each from a mixture that respects like cases.

Shental, Bar-Hillel, Hertz, Weinshall: Computing Gaussian mixture models with EM using equivalence
constraints. NIPS 2003: the E step shares out whole chunklets (their Eq. 2).

Hertz, Bar-Hillel, Weinshall: Boosting margin based distance functions for clustering. ICML 2004. Their weak
distance is (1 - h) / 2 with h = +-p(x)p(x') for the most likely clouds, which is not 0 from a case to itself;
here it is |p(x) - p(x')|^2 / 2, the same for sharp posteriors. Dissimilar pairs enter through the weights. Similar
and dissimilar pairs have equal weight in every round, not in the first alone: else a mixture of one cloud, which
calls everything similar, agrees with the heavier kind, and the metric is zero everywhere.
"""

from __future__ import annotations

import math
from typing import NamedTuple

import numpy as np
import numpy.typing as npt

from semblance.core.constraints import finding_codes
from semblance.core.errors import BadInput
from semblance.core.language import tr_lazy
from semblance.core.metrics import declarations
from semblance.core.metrics.card import MetricCard
from semblance.core.metrics.distance import Matrix
from semblance.core.metrics.distances.mixtures import MixtureDistance, log_joint, posteriors
from semblance.core.metrics.estimators.rca import chunklets_of
from semblance.core.metrics.learner import Learner
from semblance.core.metrics.steps.pca import PCA
from semblance.core.metrics.training import TrainingPoint, begin_card
from semblance.core.metrics.training_data.pairs import FEWER_PAIRS, Pairs, training_pairs
from semblance.core.metrics.training_data.rows import TrainingInput, check_different, check_memory
from semblance.core.tasks import Reporter

Rows = npt.NDArray[np.int64]

#: Share of the spherical covariance in the shared one.
_ROUND = 0.1
_LEAST_WEIGHT = 1e-12

_EM_ROUNDS = 10
#: Mixtures drawn before a round, and before the first one, is given up.
_TRIES, _FIRST_TRIES = 20, 100
#: Clouds where only pairs are known; at most for many findings.
_CLOUDS, _MOST_CLOUDS = 4, 20
#: alpha of a mixture that never errs.
_MOST = 0.999
#: Rows of a chunklet at most: of larger ones, as findings make them, nothing would be left to find.
_CHUNKLET = 5
#: Arrays of pairs x clouds held at once.
_COPIES = 4


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


class DistBoost(declarations.DistBoost, Learner):
    """Each round fits a mixture to the pairs the former ones got wrong and adds the distance it gives.

    Example:
        >>> from sklearn.datasets import load_wine
        >>> from sklearn.preprocessing import scale
        >>> from semblance.core.metrics import make_learner
        >>> X, y = load_wine(return_X_y=True)
        >>> X = scale(X)
        >>> learner = make_learner("distboost", rounds=5, random_state=0).fit(X, y)
        >>> learner.metric().distances(X[:2], X).shape
        (2, 178)
    """

    def _fit(self, data: TrainingInput) -> None:
        rows, y, pairs = data.X, data.y, data.pairs
        source = training_pairs(self.title, len(rows), y, pairs, draw=self.draw, seed=data.seed)
        check_different(rows)
        rng = np.random.default_rng([data.seed, 1])
        clouds = self.clouds or _CLOUDS
        if y is not None and not self.clouds:
            clouds = min(_MOST_CLOUDS, max(2, len(finding_codes(y)[1])))
        check_memory(
            8.0 * _COPIES * len(source) * clouds,
            tr_lazy("{n:,} pairs of cases in {clouds} clouds", n=len(source), clouds=clouds),
            FEWER_PAIRS,
        )
        projection = _whitening(rows, self.components)
        boosting = Boosting(rows @ projection.T, source, _small_chunklets(len(rows), y, pairs, rng), rng)
        note = self._boost(boosting, min(clouds, len(rows)), projection, data.reporter)
        self.distance_ = boosting.distance(projection)
        self._card: MetricCard = begin_card(
            self,
            data,
            constraints=source.counts(),
            notes=(
                note,
                tr_lazy("Cases of one cloud are at distance 0; the Euclidean distance orders them."),
            ),
            rounds=len(boosting.weights),
        )

    def _boost(self, boosting: Boosting, clouds: int, projection: Matrix, reporter: Reporter) -> str:
        for done in range(self.rounds):
            reporter.progress(done, self.rounds, self.title)
            added = False
            for _ in range(_TRIES if boosting.weights else _FIRST_TRIES):
                reporter.check_cancelled()
                added = boosting.add(clouds, self.forget)
                if added:
                    break
            if not added:
                if not boosting.weights:
                    raise BadInput(
                        "No partition of these features separates similar from dissimilar cases.",
                        "Try other features, or check the findings.",
                    )
                return tr_lazy("Stopped after {done} rounds: no further mixture helps.", done=done)
            reporter.partial(_point(done + 1, boosting.error, boosting.distance(projection)))
            if reporter.stop_requested:
                return tr_lazy("Stopped on request after {done} rounds.", done=done + 1)
        return tr_lazy("All {rounds} rounds.", rounds=self.rounds)


def _point(number: int, error: float, distance: MixtureDistance) -> TrainingPoint:
    return TrainingPoint(number, error, lambda: distance)


class Boosting:
    """The weights of the labelled pairs, and of all others together, from round to round."""

    def __init__(
        self, X: Matrix, source: Pairs, chunklets: npt.NDArray[np.int64], rng: np.random.Generator
    ) -> None:
        self._X, self._source, self._chunklets, self._rng = X, source, chunklets, rng
        n = len(X)
        similar = source.label > 0
        # Half of the weight is on known pairs, with equal shares of both kinds.
        self._known = np.where(similar, 0.25 / similar.sum(), 0.25 / (~similar).sum())
        self._unknown = 0.5 / n
        self._norm = 1.0
        self.mixtures: list[Mixture] = []
        self.weights: list[float] = []
        self._distances = np.zeros(len(source))

    @property
    def error(self) -> float:
        """Chance that a dissimilar pair is no farther apart than a similar one (1 - AUC) so far."""
        order = np.argsort(self._distances, kind="stable")
        _, place, count = np.unique(self._distances[order], return_inverse=True, return_counts=True)
        ranks = (np.cumsum(count) - (count - 1) / 2.0)[place]
        far = self._source.label[order] < 0
        n = int(far.sum())
        return 1.0 - float((ranks[far].sum() - n * (n + 1) / 2) / (n * (len(far) - n)))

    def add(self, clouds: int, forget: float) -> bool:
        """One round; false, and nothing learnt, where the mixture drawn is of no use (r <= 0)."""
        i, j, label = self._source
        similar = label > 0
        half = 0.5 * float(self._known.sum())
        for kind in (similar, ~similar):
            self._known[kind] *= half / float(self._known[kind].sum())
        case = np.full(len(self._X), self._unknown)
        np.add.at(case, i, 0.5 * self._known)
        np.add.at(case, j, 0.5 * self._known)
        case /= case.sum()
        mixture = fit_mixture(self._X, case, self._chunklets, clouds, _EM_ROUNDS, self._rng)
        p = posteriors(self._X, *mixture)
        weak = 0.5 * np.square(p[i] - p[j]).sum(axis=1)
        agreement = label * (1.0 - 2.0 * weak)
        r = float(self._known @ agreement) / float(self._known.sum())
        if not r > 1e-6:
            return False
        alpha = 0.5 * math.log((1.0 + min(r, _MOST)) / (1.0 - min(r, _MOST)))
        self._known *= np.exp(-alpha * agreement)
        self._unknown *= math.exp(-forget * alpha)
        total = float(self._known.sum()) + self._unknown * len(self._X)
        self._known /= total
        self._unknown /= total
        self._distances += alpha * weak
        self.mixtures.append(mixture)
        self.weights.append(alpha)
        return True

    def distance(self, projection: Matrix) -> MixtureDistance:
        """The distance of the mixtures so far, between rows (n, d) that ``projection`` (p, d) projects."""
        offsets, means, roots = (np.stack(parts) for parts in zip(*self.mixtures, strict=True))
        return MixtureDistance(projection, offsets, means, roots, np.array(self.weights))


def _whitening(X: Matrix, components: int) -> Matrix:
    """(p, d) principal directions, each divided by the deviation along it."""
    directions = PCA(components).fit(X).components_
    deviations = (X @ directions.T).std(axis=0)
    whitened: Matrix = directions / deviations[:, np.newaxis]
    return whitened


def _small_chunklets(
    n: int, y: npt.ArrayLike | None, pairs: npt.NDArray[np.int64] | None, rng: np.random.Generator
) -> npt.NDArray[np.int64]:
    """(n,) a number for each case, shared by at most five that are known to be similar."""
    whole = chunklets_of("DistBoost", n, y, pairs)
    numbers = np.arange(n)
    for chunklet in range(int(whole.max()) + 1):
        members = rng.permutation(np.flatnonzero(whole == chunklet))
        for start in range(0, len(members), _CHUNKLET):
            numbers[members[start : start + _CHUNKLET]] = members[start]
    compact: npt.NDArray[np.int64] = np.unique(numbers, return_inverse=True)[1]
    return compact
