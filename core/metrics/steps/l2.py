"""Rows brought to length 1."""

from __future__ import annotations

from typing import Any, ClassVar, Self

import numpy as np
import numpy.typing as npt

from semblance.core.errors import BadInput
from semblance.core.metrics.distance import Matrix
from semblance.core.metrics.steps.step import Step


class L2(Step):
    """x / |x|; a row of zeros stays one. Nothing but the number of columns is fitted."""

    kind: ClassVar[str] = "l2"

    def __init__(self) -> None:
        self._n_features = 0

    @property
    def n_features(self) -> int:
        """d, the columns it takes."""
        return self._n_features

    def fit(self, X: Matrix, y: npt.NDArray[Any] | None = None) -> Self:
        """Takes rows (n, d)."""
        self._n_features = X.shape[1]
        return self

    def transform(self, X: Matrix) -> Matrix:
        """(n, d) -> (n, d) of length 1."""
        length = np.sqrt(np.einsum("ij,ij->i", X, X))[:, np.newaxis]
        out: Matrix = X / np.where(length > 0.0, length, 1.0)
        return out

    def names(self, names: tuple[str, ...]) -> tuple[str, ...]:
        """The same."""
        return names

    def describe(self) -> str:
        """The word itself."""
        return self.kind

    def settings(self) -> dict[str, Any]:
        """The number of columns."""
        return {"n_features": self._n_features}

    def arrays(self) -> dict[str, npt.NDArray[Any]]:
        """None."""
        return {}

    @classmethod
    def restore(cls, settings: dict[str, Any], arrays: dict[str, npt.NDArray[Any]]) -> Self:  # noqa: ARG003
        """The inverse of :meth:`settings`.

        Raises:
            BadInput: no number of columns.
        """
        n_features = settings.get("n_features")
        if type(n_features) is not int or n_features < 1:
            raise BadInput("A stored l2 step lacks its number of columns.")
        step = cls()
        step._n_features = n_features
        return step
