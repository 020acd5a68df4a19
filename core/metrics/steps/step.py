"""The contract of a step between features and distance, fitted on training rows."""

from __future__ import annotations

import abc
from typing import Any, ClassVar, Self

import numpy as np
import numpy.typing as npt

from semblance.core.errors import BadInput
from semblance.core.language import tr_lazy
from semblance.core.metrics.distance import Matrix


class Step(abc.ABC):
    """Fitted on training rows only; afterwards it never changes."""

    #: The word in ``--steps``, and the key under which storage finds the class again.
    kind: ClassVar[str]
    #: A difference of two rows goes through it linearly, so :meth:`pull_back` exists.
    linear: ClassVar[bool] = False
    #: Counts local descriptors: it takes rows as extracted, before anything is imputed.
    of_descriptors: ClassVar[bool] = False

    @property
    def text(self) -> str:
        """As written in ``--steps``."""
        return self.kind

    @property
    def uses_findings(self) -> bool:
        """Whether what it learnt depends on the findings of the training rows; known after :meth:`fit`."""
        return False

    @property
    @abc.abstractmethod
    def n_features(self) -> int:
        """Columns it takes; known after :meth:`fit`."""

    @abc.abstractmethod
    def fit(self, X: Matrix, y: npt.NDArray[Any] | None = None) -> Self:
        """Learn from training rows (n, d) and, where the step uses them, their findings (n,).

        Raises:
            BadInput: rows from which it cannot be learnt.
        """

    @abc.abstractmethod
    def transform(self, X: Matrix) -> Matrix:
        """(n, d) -> (n, m) float64."""

    def pull_back(self, gradient: Matrix) -> Matrix:
        """(..., m) -> (..., d): A'g for a linear step x -> Ax + c.

        Raises:
            NotImplementedError: the step is not linear.
        """
        raise NotImplementedError(self.kind)

    @abc.abstractmethod
    def names(self, names: tuple[str, ...]) -> tuple[str, ...]:
        """Names of the columns it gives, from those (d of them) it takes."""

    @abc.abstractmethod
    def describe(self) -> str:
        """A text on its effect, for the card of the metric."""

    @abc.abstractmethod
    def settings(self) -> dict[str, Any]:
        """JSON values that restore the step together with :meth:`arrays`."""

    @abc.abstractmethod
    def arrays(self) -> dict[str, npt.NDArray[Any]]:
        """Arrays that restore the step together with :meth:`settings`."""

    @classmethod
    @abc.abstractmethod
    def restore(cls, settings: dict[str, Any], arrays: dict[str, npt.NDArray[Any]]) -> Self:
        """The inverse of :meth:`settings` and :meth:`arrays`.

        Raises:
            BadInput: values that do not fit together.
        """


def stored_vector(arrays: dict[str, npt.NDArray[Any]], name: str, length: int | None = None) -> Matrix:
    """The float64 vector ``name`` of a stored step.

    Raises:
        BadInput: it is missing or of another form.
    """
    vector = arrays.get(name)
    if vector is None or vector.ndim != 1 or vector.dtype != np.float64:
        raise BadInput(tr_lazy("A stored step has no vector '{name}'.", name=name))
    if len(vector) == 0 or (length is not None and len(vector) != length):
        raise BadInput(tr_lazy("The vector '{name}' of a stored step has the wrong length.", name=name))
    return vector
