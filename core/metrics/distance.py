"""The frozen distance a learner gives, in the space its steps lead to."""

from __future__ import annotations

import abc
from dataclasses import dataclass
from typing import Any, ClassVar

import numpy as np
import numpy.typing as npt

Matrix = npt.NDArray[np.float64]


@dataclass(frozen=True)
class DistancePart:
    """A part of a distance with the ``name`` of its cause; parts sum to the distance."""

    name: str
    amount: float


#: Classes of distances by kind, filled as they are defined.
_CLASSES: dict[str, type[Distance]] = {}


class Distance(abc.ABC):
    """A *squared* distance between rows: non-negative, symmetric, zero from a row to itself."""

    #: Written into stored metrics; the key under which storage finds the class again.
    kind: ClassVar[str]
    #: The square root obeys the triangle inequality.
    is_metric: bool = True
    #: Different rows are often at exactly the same distance; the Euclidean one then decides their order.
    ties: bool = False
    #: :meth:`embed` works; where it does not, cases are found by comparing the query with each of them.
    embeds: bool = True

    def __init_subclass__(cls, **kwargs: Any) -> None:
        """Remember the class under its ``kind``, for :func:`distance_class`."""
        super().__init_subclass__(**kwargs)
        if "kind" in cls.__dict__:
            _CLASSES[cls.kind] = cls

    @property
    @abc.abstractmethod
    def n_features(self) -> int:
        """Columns of the rows it compares."""

    @abc.abstractmethod
    def embed(self, X: Matrix) -> Matrix:
        """(n, d) -> (n, m) such that the distance is the squared Euclidean one between embeddings.

        Raises:
            BadInput: there is no such embedding.
        """

    def between(self, Q: Matrix, X: Matrix) -> Matrix:
        """(q, d), (n, d) -> (q, n) by direct difference in float64, never negative."""
        from_q, from_x = self.embed(Q), self.embed(X)
        out = np.empty((len(from_q), len(from_x)))
        for row, q in enumerate(from_q):
            difference = from_x - q
            out[row] = np.einsum("ij,ij->i", difference, difference)
        return out

    @abc.abstractmethod
    def parts(self, q: Matrix, x: Matrix, names: tuple[str, ...]) -> list[DistancePart]:
        """Shares of the distance of two rows (d,); ``names`` are the groups of the d columns."""

    @abc.abstractmethod
    def settings(self) -> dict[str, Any]:
        """JSON values that restore the distance together with :meth:`arrays`."""

    @abc.abstractmethod
    def arrays(self) -> dict[str, npt.NDArray[Any]]:
        """Arrays that restore the distance together with :meth:`settings`."""

    @classmethod
    @abc.abstractmethod
    def restore(cls, settings: dict[str, Any], arrays: dict[str, npt.NDArray[Any]]) -> Distance:
        """The inverse of :meth:`settings` and :meth:`arrays`.

        Raises:
            BadInput: values that do not fit together.
        """


def distance_class(kind: Any) -> type[Distance] | None:
    """The class of distances stored under ``kind``, or ``None``; they are in :mod:`.distances`."""
    return _CLASSES.get(kind)
