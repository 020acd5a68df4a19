"""Groups of features left out of a distance: every case gets the same value in them."""

from __future__ import annotations

from typing import Any, ClassVar, Self

import numpy as np
import numpy.typing as npt

from semblance.core.errors import BadInput
from semblance.core.language import tr_lazy
from semblance.core.metrics.distance import Matrix
from semblance.core.metrics.steps.step import Step, stored_vector


class ExcludedGroups(Step):
    """The ``columns`` (c,) of ``n_features`` become the ``constants`` (c,), so they contribute nothing.

    It is made by :func:`semblance.core.metrics.metric.exclude_feature_groups`, never fitted;
    ``groups`` are the names of what is left out.
    """

    kind: ClassVar[str] = "without"
    linear: ClassVar[bool] = True

    def __init__(
        self, n_features: int, columns: npt.NDArray[np.int64], constants: Matrix, groups: tuple[str, ...]
    ) -> None:
        self._n_features = n_features
        self.columns, self.constants, self.groups = columns, constants, groups

    @property
    def n_features(self) -> int:
        """d, the columns it takes and gives."""
        return self._n_features

    def fit(self, X: Matrix, y: npt.NDArray[Any] | None = None) -> Self:
        """Nothing is learnt."""
        return self

    def transform(self, X: Matrix) -> Matrix:
        """(n, d) -> (n, d): a copy with the constants in the columns left out."""
        out: Matrix = X.copy()
        out[:, self.columns] = self.constants
        return out

    def pull_back(self, gradient: Matrix) -> Matrix:
        """(..., d) -> (..., d): a copy with 0 in the columns left out."""
        out: Matrix = gradient.copy()
        out[..., self.columns] = 0.0
        return out

    def names(self, names: tuple[str, ...]) -> tuple[str, ...]:
        """Those given: no column is removed."""
        return names

    def describe(self) -> str:
        """Which groups are left out."""
        return tr_lazy("without: {groups}", groups=", ".join(self.groups))

    def settings(self) -> dict[str, Any]:
        """The number of columns and the names of the groups."""
        return {"n_features": self._n_features, "groups": list(self.groups)}

    def arrays(self) -> dict[str, npt.NDArray[Any]]:
        """The columns left out, ascending, and their constants."""
        return {"columns": self.columns, "constants": self.constants}

    @classmethod
    def restore(cls, settings: dict[str, Any], arrays: dict[str, npt.NDArray[Any]]) -> Self:
        """The inverse of :meth:`settings` and :meth:`arrays`.

        Raises:
            BadInput: something missing, columns that do not exist or do not ascend, or not one constant for each.
        """
        n_features, groups, columns = (
            settings.get("n_features"),
            settings.get("groups"),
            arrays.get("columns"),
        )
        if not isinstance(n_features, int) or not isinstance(groups, list) or columns is None:
            raise BadInput("A stored step 'without' does not say what it leaves out.")
        if columns.ndim != 1 or columns.dtype != np.int64 or not len(columns):
            raise BadInput("The columns of a stored step 'without' have the wrong form.")
        if columns[0] < 0 or columns[-1] >= n_features or (np.diff(columns) <= 0).any():
            raise BadInput("The columns of a stored step 'without' are not in order.")
        constants = stored_vector(arrays, "constants", len(columns))
        return cls(n_features, columns, constants, tuple(str(group) for group in groups))
