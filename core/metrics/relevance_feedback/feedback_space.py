"""The coordinates in which feedback is learned: those of a metric, with a share of every feature.

Cases that are each other's nearest are mostly of one kind, so differences between them matter little; directions in
which all cases vary more than such pairs matter. With W the covariance within such pairs and G that of all cases, the
form is W^(-1/2) (W^(-1/2) G W^(-1/2))^(1/2) W^(-1/2): relevant component analysis (Bar-Hillel et al. 2003) with
chunks of mutual neighbours instead of judged ones, times the root of what discriminant analysis would maximise.

The share is for learning only. Before any feedback it has no weight (:attr:`FeedbackSpace.initial_weights`), so that
distances are those of the metric; its weight grows with the reliability of the feedback. If the metric was not
trained, the structure of the neighbours is used instead of the features
(:mod:`semblance.core.metrics.relevance_feedback.feedback_space`).
"""

from __future__ import annotations

from dataclasses import dataclass, replace

import numpy as np
import numpy.typing as npt

from semblance.core.errors import BadInput
from semblance.core.metrics.distance import Distance, Matrix
from semblance.core.metrics.distances.linear import LinearDistance
from semblance.core.metrics.distances.refined import RefinedDistance
from semblance.core.metrics.relevance_feedback.quadratic_form import FeedbackForm, InitialWeights

#: Each case of a pair must be among this number of nearest neighbours of the other; the least number of pairs.
NEIGHBOURS, FEWEST_PAIRS = 5, 10
#: Least share of the mean variance added to W; with few cases as many as coordinates per case.
SHRUNK = 0.01
#: Maximum number of cases.
MOST = 1500
_POWER, _FLAT = 0.5, 1e-6

Rows = npt.NDArray[np.int64]

#: Share of the plain features. Without it, feedback could not restore directions that a metric of low rank ignores.
FEATURE_SHARE = 0.1
#: Up to so many features the share is added to the matrix of a linear metric; with more, the features are appended to
#: its embedding.
_DENSE = 512
_PAIRS = 4000
#: Smaller shares of the largest eigenvalue are rounding errors.
_LOST = 1e-12


def neighbour_structure(points: Matrix) -> Matrix | None:
    """(m, m) positive definite form of ``points`` (n, m), MOST at most; ``None`` if there are too few pairs.

    It computes all n x n distances.
    """
    n, m = points.shape
    if n <= 2 * NEIGHBOURS:
        return None
    first, second = _mutual(points)
    if len(first) < FEWEST_PAIRS:
        return None
    apart = points[first] - points[second]
    within = apart.T @ apart / len(apart)
    spread = float(np.trace(within)) / m
    if not spread > 0.0:
        return None
    centred = points - points.mean(axis=0)
    values, vectors = np.linalg.eigh(within + max(SHRUNK, m / n) * spread * np.eye(m))
    white = vectors / np.sqrt(values)
    values, turned = np.linalg.eigh(white.T @ (centred.T @ centred) @ white)
    shrunk = np.maximum(values / values[-1], _FLAT) ** _POWER
    root = white @ turned
    form: Matrix = (root * shrunk) @ root.T
    return form


def diagonalise_together(form: Matrix, metric: Matrix) -> tuple[Matrix, Matrix]:
    """T (m, m) and l (m,) with ``form`` = T'T and diag(``metric``) = T' diag(l) T; ``form`` is definite."""
    values, vectors = np.linalg.eigh(form)
    half = (vectors * np.sqrt(values)) @ vectors.T
    inverse = (vectors / np.sqrt(values)) @ vectors.T
    own, axes = np.linalg.eigh((inverse * metric) @ inverse)
    return axes.T @ half, np.maximum(own, 0.0)


def _mutual(points: Matrix) -> tuple[npt.NDArray[np.intp], npt.NDArray[np.intp]]:
    squares = np.einsum("ij,ij->i", points, points)
    squared = squares[:, np.newaxis] - 2.0 * points @ points.T + squares
    np.fill_diagonal(squared, np.inf)
    rows = np.arange(len(points))[:, np.newaxis]
    near = np.zeros(squared.shape, dtype=np.bool_)
    near[rows, np.argsort(squared, axis=1, kind="stable")[:, :NEIGHBOURS]] = True
    first, second = np.nonzero(np.triu(near & near.T))
    return first, second


def no_coordinates_error() -> BadInput:
    """The error for a metric that feedback cannot refine."""
    return BadInput(
        "This metric has no coordinates in which clicks could be learnt.",
        "Refine a metric that has, such as BDM, MetricBoost's matrix form or Euclidean.",
    )


@dataclass(frozen=True, eq=False)
class FeedbackSpace:
    """Maps rows after a metric's steps to coordinates whose median squared pair distance is 2.

    For a linear distance M0 they are a root of M = 0.9 M0 d / tr(M0) + 0.1 I over standardised features
    along the axes of M0 (``root`` (d, d)); for others the ``base``'s embedding times ``scale`` beside the
    features times ``weights`` (d,), the embedding having nine times the variance of the features.

    For the Euclidean one they are turned into those in which the structure of the cases is Euclidean.

    ``initial_weights``: their weights under ``base`` alone; the total is the same with equal weights.
    ``structured``: they have equal weights where the structure of the cases is followed.
    """

    base: Distance
    root: Matrix | None
    scale: float
    weights: Matrix
    initial_weights: InitialWeights
    structured: bool = False

    @classmethod
    def of(cls, base: Distance, rows: Matrix, seed: int = 0) -> FeedbackSpace:
        """The space of a metric; ``rows`` (n, d): the cases to search after the steps.

        Raises:
            BadInput: a distance without embedding, fewer than two cases, or all cases at one place.
        """
        if not base.embeds:
            raise no_coordinates_error()
        if len(rows) < 2:
            raise BadInput(
                "There are too few cases to refine a metric on.", "Extract features of more cases."
            )
        deviation = rows.std(axis=0)
        varies = deviation > 0.0
        inverse = np.where(varies, 1.0 / np.where(varies, deviation, 1.0), 0.0)
        if isinstance(base, LinearDistance) and len(deviation) <= _DENSE:
            root, initial_weights = _mixed_root(base, deviation, inverse)
            space = cls(base, root, 1.0, np.zeros(0), initial_weights)
        else:
            embedded = base.embed(rows)
            spread = float(embedded.var(axis=0).sum())
            scale = (
                np.sqrt((1.0 - FEATURE_SHARE) * max(1, int(varies.sum())) / spread) if spread > 0.0 else 0.0
            )
            usual = 1.0 / scale**2 if scale > 0.0 else 0.0
            own = np.repeat([usual, 0.0], [embedded.shape[1], len(inverse)])
            initial_weights = InitialWeights(own, float((1.0 - FEATURE_SHARE) * usual) or 1.0)
            space = cls(base, None, float(scale), np.sqrt(FEATURE_SHARE) * inverse, initial_weights)
        space = space._scaled(rows, seed)
        learnt = not isinstance(base, LinearDistance) or base.L is not None
        return space if learnt or space.root is None else space._structured(rows, space.root, seed)

    def _structured(self, rows: Matrix, root: Matrix, seed: int) -> FeedbackSpace:
        """In coordinates where what opens is how the cases lie, instead of a share of the features."""
        some = rows if len(rows) <= MOST else rows[_drawn(len(rows), seed)]
        form = neighbour_structure(self.coordinates(some))
        if form is None:
            return self
        turn, own = diagonalise_together(form, self.initial_weights.own)
        turned = replace(self, root=turn @ root)
        apart = turned._pairs(rows, seed)
        factor = np.sqrt(2.0 / _usual(apart**2 @ np.ones(len(own))))
        initial_weights = InitialWeights(own / factor**2, _usual(apart**2 @ own) / 2.0)
        return replace(turned, root=turn @ root * factor, initial_weights=initial_weights, structured=True)

    def _pairs(self, rows: Matrix, seed: int) -> Matrix:
        """(p, m) differences of pairs drawn."""
        i, j = np.random.default_rng(seed).integers(len(rows), size=(2, _PAIRS))
        apart = i != j
        return self.coordinates(rows[i[apart]]) - self.coordinates(rows[j[apart]])

    def _scaled(self, rows: Matrix, seed: int) -> FeedbackSpace:
        difference = self._pairs(rows, seed)
        usual = _usual(np.einsum("ij,ij->i", difference, difference))
        if not usual > 0.0:
            raise BadInput(
                "All cases lie at one place under this metric.",
                "Refine another metric, or extract other features.",
            )
        factor = float(np.sqrt(2.0 / usual))
        root = None if self.root is None else self.root * factor
        initial_weights = InitialWeights(
            self.initial_weights.own / factor**2, self.initial_weights.equal_weight / factor**2
        )
        return FeedbackSpace(self.base, root, self.scale * factor, self.weights * factor, initial_weights)

    def coordinates(self, rows: Matrix) -> Matrix:
        """(n, d) -> (n, m)."""
        if self.root is not None:
            return rows @ self.root.T
        return np.hstack([self.base.embed(rows) * self.scale, rows * self.weights])

    def start(self) -> FeedbackForm:
        """The form of the original metric."""
        return FeedbackForm.start(len(self.initial_weights.own), self.initial_weights)

    def distance(self, form: FeedbackForm) -> Distance:
        """The frozen distance of rows after the steps: |z - z'|^2 under ``form`` of their coordinates."""
        if self.root is not None:
            return LinearDistance(self.base.n_features, form.embed(self.root.T).T)
        # The first coordinate is the embedding's, the last a feature's; each kind has the same weight.
        of_base, of_features = float(form.scales[0]), float(form.scales[-1])
        weights = self.weights * of_features
        return RefinedDistance(self.base, self.scale * of_base, weights, form.directions, form.gains)


def _usual(squared: Matrix) -> float:
    """The median of squared distances (p,), or their mean where most are 0."""
    return float(np.median(squared)) or float(squared.mean())


def _drawn(n: int, seed: int) -> Rows:
    """(MOST,) of ``n`` places."""
    return np.sort(np.random.default_rng(seed).choice(n, MOST, replace=False))


def _mixed_root(base: LinearDistance, deviation: Matrix, inverse: Matrix) -> tuple[Matrix, InitialWeights]:
    """``root`` and ``initial_weights`` before scaling."""
    d, used = len(deviation), int((inverse > 0.0).sum())
    L = np.diag(deviation) if base.L is None else base.L * deviation
    M0 = L.T @ L
    trace = float(np.trace(M0))
    share = 1.0 - FEATURE_SHARE
    values, axes = np.linalg.eigh(share * max(1, used) / trace * M0 if trace > 0.0 else np.zeros((d, d)))
    values = np.where(values > _LOST * values[-1], values, 0.0)
    mixed = values + FEATURE_SHARE
    equal_weight = trace / max(1, used) if trace > 0.0 else 1.0
    return (np.sqrt(mixed) * axes).T * inverse, InitialWeights(
        equal_weight / share * values / mixed, equal_weight
    )
