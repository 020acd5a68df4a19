"""A quadratic form that is not positive semidefinite, cut off at zero."""

from __future__ import annotations

from typing import Any, ClassVar, Self

import numpy as np
import numpy.typing as npt

from semblance.core.errors import BadInput
from semblance.core.metrics.distance import Distance, Matrix, Part
from semblance.core.metrics.distances.linear import parts_by_group
from semblance.core.metrics.distances.stumps import lifted


class SignedDistance(Distance):
    """d(x, x') = z'Mz with z = x - x' and M = L' diag(signs) L, and 0 where that is negative.

    ``L`` (m, d), ``signs`` (m,) of +1 and -1. No triangle inequality holds, and there are no coordinates.
    """

    kind: ClassVar[str] = "signed"
    is_metric = False
    ties = True
    embeds = False

    def __init__(self, L: Matrix, signs: Matrix) -> None:
        self.L = L
        self.signs = signs

    @property
    def n_features(self) -> int:
        """d, the columns of L."""
        return int(self.L.shape[1])

    def embed(self, X: Matrix) -> Matrix:
        """There is none.

        Raises:
            BadInput: always.
        """
        raise BadInput(
            "This metric subtracts similarities: it has no coordinates, it compares pairs.",
            "Search it by comparing all cases, or train with allow_similarity=false.",
        )

    def between(self, Q: Matrix, X: Matrix) -> Matrix:
        """(q, d), (n, d) -> (q, n): z'Mz by direct difference, 0 where it is negative."""
        from_q, from_x = Q @ self.L.T, X @ self.L.T
        out = np.empty((len(from_q), len(from_x)))
        for row, q in enumerate(from_q):
            difference = from_x - q
            out[row] = np.einsum("ij,j,ij->i", difference, self.signs, difference)
        return np.maximum(out, 0.0, out=out)

    def parts(self, q: Matrix, x: Matrix, names: tuple[str, ...]) -> list[Part]:
        """z_g (Mz)_g summed over each group g, and one part that lifts a negative sum to 0."""
        z = q - x
        e = q @ self.L.T - x @ self.L.T
        total = float(e @ (self.signs * e))
        return lifted(parts_by_group(z * ((self.signs * e) @ self.L), names, total), total)

    def settings(self) -> dict[str, Any]:
        """None are needed."""
        return {}

    def arrays(self) -> dict[str, npt.NDArray[Any]]:
        """L and the signs of its rows."""
        return {"L": self.L, "signs": self.signs}

    @classmethod
    def restore(cls, settings: dict[str, Any], arrays: dict[str, npt.NDArray[Any]]) -> Self:
        """The inverse of :meth:`arrays`.

        Raises:
            BadInput: an array that is missing or of another form, or signs other than +1 and -1.
        """
        if settings or set(arrays) != {"L", "signs"}:
            raise BadInput("A signed distance needs its map and its signs.")
        L, signs = arrays["L"], arrays["signs"]
        if L.dtype != np.float64 or signs.dtype != np.float64 or L.ndim != 2 or L.shape[1] < 1:
            raise BadInput("The arrays of a signed distance have the wrong form.")
        if signs.shape != L.shape[:1] or not (np.abs(signs) == 1.0).all():
            raise BadInput("The signs of a signed distance are not one +1 or -1 a row of its map.")
        return cls(L, signs)
