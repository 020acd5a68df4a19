"""The distance between the posteriors of two cases under several Gaussian mixtures."""

from __future__ import annotations

from typing import Any, ClassVar, Self

import numpy as np
import numpy.typing as npt

from semblance.core.errors import BadInput
from semblance.core.language import tr_lazy
from semblance.core.metrics.distance import Distance, DistancePart, Matrix

_DECIMALS = 12
_NAMES = {"projection", "offsets", "means", "roots", "weights"}


def posteriors(X: Matrix, offsets: Matrix, means: Matrix, roots: Matrix) -> Matrix:
    """(n, p) -> (n, k) p(cloud | x) to 12 decimals, from log p(x, cloud) = offset - |R (x - mean)|^2 / 2.

    ``offsets`` (k,), ``means`` (k, p), ``roots`` (k, p, p).
    """
    score = log_joint(X, offsets, means, roots)
    score -= score.max(axis=1, keepdims=True)
    p = np.exp(score)
    p /= p.sum(axis=1, keepdims=True)
    # Smaller shares are rounding, and would order cases that tie.
    return np.round(p, _DECIMALS, out=p)


def log_joint(X: Matrix, offsets: Matrix, means: Matrix, roots: Matrix) -> Matrix:
    """(n, k) log p(x, cloud), as in :func:`posteriors`."""
    score = np.empty((len(X), len(offsets)))
    for cloud, (offset, mean, root) in enumerate(zip(offsets.tolist(), means, roots, strict=True)):
        Y = (X - mean) @ root.T
        score[:, cloud] = offset - 0.5 * np.einsum("ij,ij->i", Y, Y)
    return score


class MixtureDistance(Distance):
    """d(x, x') = sum_t (weight_t / 2) |p_t(x) - p_t(x')|^2, p_t the posteriors of mixture t.

    Rows are projected first: ``projection`` (p, d); then ``offsets`` (T, k), ``means`` (T, k, p), ``roots``
    (T, k, p, p) and ``weights`` (T,) > 0. Cases deep inside one cloud tie at 0.
    """

    kind: ClassVar[str] = "mixtures"
    ties = True

    def __init__(
        self, projection: Matrix, offsets: Matrix, means: Matrix, roots: Matrix, weights: Matrix
    ) -> None:
        self.projection = projection
        self.offsets = offsets
        self.means = means
        self.roots = roots
        self.weights = weights

    @property
    def n_features(self) -> int:
        """d, the columns of the projection."""
        return int(self.projection.shape[1])

    def embed(self, X: Matrix) -> Matrix:
        """(n, d) -> (n, T k): posteriors, those of mixture t times sqrt(weight_t / 2)."""
        rows = X @ self.projection.T
        mixtures = zip(self.offsets, self.means, self.roots, self.weights.tolist(), strict=True)
        shares = [
            np.sqrt(0.5 * weight) * posteriors(rows, offsets, means, roots)
            for offsets, means, roots, weight in mixtures
        ]
        return np.concatenate(shares, axis=1)

    def parts(self, q: Matrix, x: Matrix, names: tuple[str, ...]) -> list[DistancePart]:
        """One part a mixture, numbered from 1."""
        difference = self.embed(q[np.newaxis]) - self.embed(x[np.newaxis])
        difference = difference.reshape(len(self.weights), -1)
        amounts = np.square(difference).sum(axis=1)
        return [
            DistancePart(tr_lazy("mixture {number}", number=number), float(amount))
            for number, amount in enumerate(amounts, 1)
        ]

    def settings(self) -> dict[str, Any]:
        """None are needed."""
        return {}

    def arrays(self) -> dict[str, npt.NDArray[Any]]:
        """Projection, offsets, means, roots and weights."""
        return {name: getattr(self, name) for name in sorted(_NAMES)}

    @classmethod
    def restore(cls, settings: dict[str, Any], arrays: dict[str, npt.NDArray[Any]]) -> Self:
        """The inverse of :meth:`arrays`.

        Raises:
            BadInput: an array that is missing, of another type, or does not fit the others.
        """
        if settings or set(arrays) != _NAMES:
            raise BadInput("A distance of mixtures lacks some of its arrays.")
        if any(array.dtype != np.float64 for array in arrays.values()):
            raise BadInput("The arrays of a distance of mixtures have the wrong form.")
        projection, offsets, weights = arrays["projection"], arrays["offsets"], arrays["weights"]
        if projection.ndim != 2 or offsets.ndim != 2 or min(*projection.shape, *offsets.shape) < 1:
            raise BadInput("The arrays of a distance of mixtures have the wrong form.")
        whole = (*offsets.shape, len(projection))
        fits = arrays["means"].shape == whole and arrays["roots"].shape == (*whole, len(projection))
        if not fits or weights.shape != offsets.shape[:1] or not (weights > 0).all():
            raise BadInput("The arrays of a distance of mixtures do not fit together.")
        return cls(**arrays)
