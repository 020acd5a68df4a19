"""A metric's embedding with the plain features, changed along the directions learned from feedback."""

from __future__ import annotations

from typing import Any, ClassVar, Self

import numpy as np
import numpy.typing as npt

from semblance.core.errors import BadInput
from semblance.core.metrics.distance import Distance, DistancePart, Matrix, distance_class
from semblance.core.metrics.distances.linear import parts_by_group

#: The part of a distance that comes from feedback.
CLICKS = "clicks"


class RefinedDistance(Distance):
    """d(x, x') = |z|^2 + sum_r g_r (w_r . z)^2 with z = u(x) - u(x'), u = [s e(x), w * x].

    ``base`` gives e (d,) -> (m,); ``scale`` s, ``weights`` w (d,); ``directions`` (r, m + d) with orthonormal
    rows w_r and ``gains`` g_r >= -1 (:class:`semblance.core.metrics.relevance_feedback.quadratic_form.FeedbackForm`).
    """

    kind: ClassVar[str] = "clicked"

    def __init__(
        self, base: Distance, scale: float, weights: Matrix, directions: Matrix, gains: Matrix
    ) -> None:
        self.base, self.scale, self.weights = base, scale, weights
        self.directions, self.gains = directions, gains

    @property
    def n_features(self) -> int:
        """Those of ``base``."""
        return self.base.n_features

    def _coordinates(self, X: Matrix) -> Matrix:
        return np.hstack([self.base.embed(X) * self.scale, X * self.weights])

    def embed(self, X: Matrix) -> Matrix:
        """(n, d) -> (n, m + d): u(x), stretched by sqrt(1 + g_r) along each w_r."""
        u = self._coordinates(X)
        stretched = (u @ self.directions.T) * (np.sqrt(1.0 + self.gains) - 1.0)
        out: Matrix = u + stretched @ self.directions
        return out

    def parts(self, q: Matrix, x: Matrix, names: tuple[str, ...]) -> list[DistancePart]:
        """The part of the original metric, of each group of features, and of the feedback."""
        pair = np.stack([q, x])
        u = self._coordinates(pair)
        z, embedded = u[0] - u[1], self.embed(pair)
        e = embedded[0] - embedded[1]
        initial_parts = [(part.name, part.amount * self.scale**2) for part in self.base.parts(q, x, names)]
        plain = z[len(z) - len(self.weights) :] ** 2
        changed = float(self.gains @ (self.directions @ z) ** 2)
        names = (*(name for name, _ in initial_parts), *names, CLICKS)
        amounts = np.array([*(amount for _, amount in initial_parts), *plain, changed])
        return parts_by_group(amounts, names, float(e @ e))

    def settings(self) -> dict[str, Any]:
        """The kind and the settings of ``base``, and the scale."""
        return {"base": self.base.kind, "settings": self.base.settings(), "scale": self.scale}

    def arrays(self) -> dict[str, npt.NDArray[Any]]:
        """Weights, directions and gains, and the arrays of ``base`` under names that begin with ``base_``."""
        own = {"weights": self.weights, "directions": self.directions, "gains": self.gains}
        return {**own, **{f"base_{name}": array for name, array in self.base.arrays().items()}}

    @classmethod
    def restore(cls, settings: dict[str, Any], arrays: dict[str, npt.NDArray[Any]]) -> Self:
        """The inverse of :meth:`settings` and :meth:`arrays`.

        Raises:
            BadInput: no base, something learnt that is missing or does not fit it, or a gain below -1.
        """
        inner, scale = settings.get("settings"), settings.get("scale")
        of_base = distance_class(settings.get("base"))
        if of_base is None or not isinstance(inner, dict) or not isinstance(scale, float):
            raise BadInput("A distance learnt from clicks lacks the one it started from.")
        own = {name: arrays[name] for name in ("weights", "directions", "gains") if name in arrays}
        if len(own) != 3 or any(array.dtype != np.float64 for array in own.values()):
            raise BadInput("A distance learned from feedback lacks its learned form.")
        rest = {name.removeprefix("base_"): array for name, array in arrays.items() if name not in own}
        base = of_base.restore(inner, rest)
        distance = cls(base, scale, own["weights"], own["directions"], own["gains"])
        if distance.weights.shape != (base.n_features,) or not base.embeds:
            raise BadInput("A distance learnt from clicks does not fit the one it started from.")
        width = distance._coordinates(np.zeros((1, base.n_features))).shape[1]
        if distance.directions.shape != (len(distance.gains), width) or distance.gains.ndim != 1:
            raise BadInput("The directions of a distance learnt from clicks have the wrong form.")
        if (distance.gains < -1.0).any():
            raise BadInput("A distance learnt from clicks would be negative.")
        return distance
