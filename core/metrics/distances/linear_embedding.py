"""A linear map learnt on top of another distance's embedding."""

from __future__ import annotations

from typing import Any, ClassVar, Self

import numpy as np
import numpy.typing as npt

from semblance.core.errors import BadInput
from semblance.core.language import tr_lazy
from semblance.core.metrics.distance import Distance, Matrix, Part, distance_class


class LinearEmbeddingDistance(Distance):
    """d(x, x') = |L (e(x) - e(x'))|^2 with e the embedding of ``base`` and L of shape (r, m)."""

    kind: ClassVar[str] = "mapped"

    def __init__(self, base: Distance, L: Matrix) -> None:
        self.base = base
        self.L = L
        self.ties = base.ties

    @property
    def n_features(self) -> int:
        """Those of ``base``."""
        return self.base.n_features

    def embed(self, X: Matrix) -> Matrix:
        """(n, d) -> (n, r): L e(x)."""
        return self.base.embed(X) @ self.L.T

    def parts(self, q: Matrix, x: Matrix, names: tuple[str, ...]) -> list[Part]:
        """One part a dimension of the base's embedding, numbered from 1: z_k (Mz)_k, M = L'L."""
        z = (self.base.embed(q[np.newaxis]) - self.base.embed(x[np.newaxis]))[0]
        amounts = z * (self.L.T @ (self.L @ z))
        return [
            Part(tr_lazy("dimension {number}", number=number), float(amount))
            for number, amount in enumerate(amounts, 1)
        ]

    def settings(self) -> dict[str, Any]:
        """The kind and the settings of ``base``."""
        return {"base": self.base.kind, "settings": self.base.settings()}

    def arrays(self) -> dict[str, npt.NDArray[Any]]:
        """L, and the arrays of ``base`` under names that begin with ``base_``."""
        return {"L": self.L, **{f"base_{name}": array for name, array in self.base.arrays().items()}}

    @classmethod
    def restore(cls, settings: dict[str, Any], arrays: dict[str, npt.NDArray[Any]]) -> Self:
        """The inverse of :meth:`settings` and :meth:`arrays`.

        Raises:
            BadInput: no base, or a map that does not fit its embedding.
        """
        L, inner, of_base = arrays.get("L"), settings.get("settings"), distance_class(settings.get("base"))
        if of_base is None or of_base is cls or not isinstance(inner, dict):
            raise BadInput("A mapped distance lacks its base distance.")
        own = {name.removeprefix("base_"): array for name, array in arrays.items() if name != "L"}
        base = of_base.restore(inner, own)
        width = base.embed(np.zeros((1, base.n_features))).shape[1]
        if L is None or L.ndim != 2 or L.dtype != np.float64 or len(L) == 0 or L.shape[1] != width:
            raise BadInput("The map of a mapped distance does not fit its base distance.")
        return cls(base, L)
