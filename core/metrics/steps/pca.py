"""Principal components of the training rows."""

from __future__ import annotations

from typing import Any, ClassVar, Self

import numpy as np
import numpy.typing as npt

from semblance.core.errors import BadInput
from semblance.core.language import tr_lazy
from semblance.core.metrics.distance import Matrix
from semblance.core.metrics.steps.step import Step, stored_vector

#: Below this share of the largest variance a direction counts as noise of the arithmetic.
_RANK = 1e-12
#: Below it, components found from the Gram matrix of the rows are no longer orthogonal enough.
_ORTHOGONAL = 1e-7


class PCA(Step):
    """Projection on the ``n_components`` directions of largest variance, no more than the rank."""

    kind: ClassVar[str] = "pca"
    linear: ClassVar[bool] = True

    def __init__(self, n_components: int) -> None:
        self.n_components = n_components
        self.mean_ = np.empty(0)
        #: (m, d), orthonormal rows.
        self.components_ = np.empty((0, 0))
        #: Share of the variance of the training rows that the components keep.
        self.explained_ = 0.0

    @property
    def text(self) -> str:
        """``pca:N``."""
        return f"pca:{self.n_components}"

    @property
    def n_features(self) -> int:
        """d, the columns it takes."""
        return len(self.mean_)

    def fit(self, X: Matrix, y: npt.NDArray[Any] | None = None) -> Self:
        """Raises BadInput if all rows are equal.

        The eigenproblem is solved on the smaller side: n x n scalar products of rows, or d x d of columns.
        scikit-learn's PCA takes seven times as long on 400 x 1,280 (``full``), or finds other directions where means
        are a million deviations (``covariance_eigh``), or where variances fall off slowly (``randomized``).
        """
        from scipy.linalg import blas

        n, d = X.shape
        mean = X.mean(axis=0)
        centred = X - mean
        # The transposed view is in Fortran order, so BLAS reads it without a copy.
        gram = blas.dsyrk(1.0, centred.T, trans=1 if n <= d else 0, lower=1)
        return self._solve(gram, mean, centred if n <= d else None, min(self.n_components, n, d))

    def _solve(self, gram: Matrix, mean: Matrix, centred: Matrix | None, count: int) -> Self:
        """``gram`` (lower half) of columns, or of the rows ``centred`` (n, d)."""
        from scipy.linalg import eigh

        side = len(gram)
        total = float(np.trace(gram))
        values, vectors = eigh(gram, lower=True, subset_by_index=[side - count, side - 1], check_finite=False)
        values, vectors = values[::-1], vectors[:, ::-1]
        real = int((values > _RANK * max(values[0], 0.0)).sum()) if total > 0 else 0
        if real == 0:
            raise BadInput("All training cases have the same features.", "Extract other features first.")
        values, vectors = values[:real], vectors[:, :real]
        components = vectors.T
        if centred is not None:
            components = (components / np.sqrt(values)[:, np.newaxis]) @ centred
            if values[-1] < _ORTHOGONAL * values[0]:
                components = np.linalg.qr(components.T)[0].T
        largest = np.abs(components).argmax(axis=1)
        signs = np.where(components[np.arange(real), largest] < 0, -1.0, 1.0)
        self.mean_ = mean
        self.components_ = np.ascontiguousarray(components * signs[:, np.newaxis])
        self.explained_ = min(1.0, float(values.sum()) / total)
        return self

    def transform(self, X: Matrix) -> Matrix:
        """(n, d) -> (n, m): coordinates along the components, from the mean."""
        return (X - self.mean_) @ self.components_.T

    def pull_back(self, gradient: Matrix) -> Matrix:
        """(..., m) -> (..., d): the transposed components."""
        return gradient @ self.components_

    def names(self, names: tuple[str, ...]) -> tuple[str, ...]:
        """``component 1`` and so on, the largest variance first."""
        return tuple(
            tr_lazy("component {number}", number=number) for number in range(1, len(self.components_) + 1)
        )

    def describe(self) -> str:
        """How many components, and the share of the variance they keep."""
        n_components = len(self.components_)
        requested = (
            ""
            if n_components == self.n_components
            else tr_lazy(" of {n_components} requested", n_components=self.n_components)
        )
        return tr_lazy(
            "pca: {n} components{requested}, {explained:.1%} of the variance",
            n=n_components,
            requested=requested,
            explained=self.explained_,
        )

    def settings(self) -> dict[str, Any]:
        """How many components to compute, and the share of the variance to preserve."""
        return {"n_components": self.n_components, "explained": self.explained_}

    def arrays(self) -> dict[str, npt.NDArray[Any]]:
        """The mean and the components."""
        return {"mean": self.mean_, "components": self.components_}

    @classmethod
    def restore(cls, settings: dict[str, Any], arrays: dict[str, npt.NDArray[Any]]) -> Self:
        """The inverse of :meth:`settings` and :meth:`arrays`.

        Raises:
            BadInput: components that are missing or do not fit the mean.
        """
        n_components, components = settings.get("n_components"), arrays.get("components")
        if not isinstance(n_components, int) or components is None or components.dtype != np.float64:
            raise BadInput("A stored pca step lacks its components.")
        step = cls(n_components)
        step.mean_ = stored_vector(arrays, "mean")
        if components.ndim != 2 or len(components) == 0 or components.shape[1] != len(step.mean_):
            raise BadInput("The components of a stored pca step have the wrong form.")
        step.components_, step.explained_ = components, float(settings.get("explained", 0.0))
        return step
