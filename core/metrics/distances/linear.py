"""Squared Euclidean distance after a linear map: every Mahalanobis metric, and Euclid himself."""

from __future__ import annotations

from typing import Any, ClassVar, Self

import numpy as np
import numpy.typing as npt

from semblance.core.errors import BadInput
from semblance.core.language import tr_lazy
from semblance.core.metrics.distance import Distance, DistancePart, Matrix, distance_class


def parts_by_group(amounts: Matrix, names: tuple[str, ...], total: float | None = None) -> list[DistancePart]:
    """Sum ``amounts`` (d,) over equal ``names``, in the order the names first appear.

    The rounding error between their sum and ``total`` is added to the largest part. For rows that differ only in the
    null space of the map it is the whole distance.
    """
    index = {name: place for place, name in enumerate(dict.fromkeys(names))}
    places = np.fromiter((index[name] for name in names), dtype=np.intp, count=len(names))
    sums = np.bincount(places, weights=amounts, minlength=len(index))
    if total is not None:
        sums[np.abs(sums).argmax()] += total - sums.sum()
    return [DistancePart(name, float(sums[place])) for name, place in index.items()]


class LinearDistance(Distance):
    """d(x, x') = |L (x - x')|^2, L of shape (m, d); without L it is the squared Euclidean distance."""

    kind: ClassVar[str] = "linear"

    def __init__(self, n_features: int, L: Matrix | None = None) -> None:
        self._n_features = n_features
        self.L = L

    @property
    def n_features(self) -> int:
        """d, the columns of L."""
        return self._n_features

    def embed(self, X: Matrix) -> Matrix:
        """(n, d) -> (n, m): L x."""
        return X if self.L is None else X @ self.L.T

    def pull_back(self, e: Matrix) -> Matrix:
        """(m,) -> (d,): L'e, so that the difference z with e = L z has |e|^2 = z . L'e."""
        return e if self.L is None else e @ self.L

    def parts(self, q: Matrix, x: Matrix, names: tuple[str, ...]) -> list[DistancePart]:
        """z_g (Mz)_g summed over each group g, with z = q - x and M = L'L; one may be negative."""
        e = (self.embed(q[np.newaxis]) - self.embed(x[np.newaxis]))[0]
        return parts_by_group((q - x) * self.pull_back(e), names, float(e @ e))

    def settings(self) -> dict[str, Any]:
        """The number of features."""
        return {"n_features": self._n_features}

    def arrays(self) -> dict[str, npt.NDArray[Any]]:
        """L, where there is one."""
        return {} if self.L is None else {"L": self.L}

    @classmethod
    def restore(cls, settings: dict[str, Any], arrays: dict[str, npt.NDArray[Any]]) -> Self:
        """The inverse of :meth:`settings` and :meth:`arrays`.

        Raises:
            BadInput: no number of features, or a map that does not fit it.
        """
        n_features, L = settings.get("n_features"), arrays.get("L")
        if not isinstance(n_features, int) or n_features < 1:
            raise BadInput("A linear distance without its number of features.")
        if L is not None and (L.ndim != 2 or L.shape[1] != n_features or L.dtype != np.float64):
            raise BadInput("The map of a linear distance does not fit its number of features.")
        return cls(n_features, L)


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

    def parts(self, q: Matrix, x: Matrix, names: tuple[str, ...]) -> list[DistancePart]:
        """One part a dimension of the base's embedding, numbered from 1: z_k (Mz)_k, M = L'L."""
        z = (self.base.embed(q[np.newaxis]) - self.base.embed(x[np.newaxis]))[0]
        amounts = z * (self.L.T @ (self.L @ z))
        return [
            DistancePart(tr_lazy("dimension {number}", number=number), float(amount))
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
