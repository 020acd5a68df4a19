"""Missing values replaced by the medians of the training rows."""

from __future__ import annotations

from typing import Any, ClassVar, Self

import numpy as np
import numpy.typing as npt

from semblance.core.language import tr_lazy
from semblance.core.metrics.distance import Matrix
from semblance.core.metrics.steps.step import Step, stored_vector


class Impute(Step):
    """Every NaN becomes the median of its column; a column without any value becomes 0."""

    kind: ClassVar[str] = "impute"

    def __init__(self) -> None:
        self.medians_ = np.empty(0)
        #: Values that were missing in the training rows.
        self.count_ = 0

    @property
    def n_features(self) -> int:
        """d, the columns it takes and gives."""
        return len(self.medians_)

    def fit(self, X: Matrix, y: npt.NDArray[Any] | None = None) -> Self:
        """Take the medians of the columns of ``X`` (n, d), NaN left out."""
        missing = np.isnan(X)
        self.count_ = int(missing.sum())
        filled = np.where(missing.all(axis=0), 0.0, X) if self.count_ else X
        self.medians_ = np.nanmedian(filled, axis=0) if self.count_ else np.median(X, axis=0)
        return self

    def transform(self, X: Matrix) -> Matrix:
        """(n, d) -> (n, d) without NaN; ``X`` itself where there is none."""
        missing = np.isnan(X)
        return np.where(missing, self.medians_, X) if missing.any() else X

    def names(self, names: tuple[str, ...]) -> tuple[str, ...]:
        """The given names, because no column changes."""
        return names

    def describe(self) -> str:
        """How many values of the training part were missing."""
        return tr_lazy(
            "impute: {count} missing values of the training part set to its medians", count=self.count_
        )

    def settings(self) -> dict[str, Any]:
        """How many values were missing."""
        return {"count": self.count_}

    def arrays(self) -> dict[str, npt.NDArray[Any]]:
        """The medians."""
        return {"medians": self.medians_}

    @classmethod
    def restore(cls, settings: dict[str, Any], arrays: dict[str, npt.NDArray[Any]]) -> Self:
        """The inverse of :meth:`settings` and :meth:`arrays`.

        Raises:
            BadInput: no medians.
        """
        step = cls()
        step.medians_ = stored_vector(arrays, "medians")
        step.count_ = int(settings.get("count", 0))
        return step
