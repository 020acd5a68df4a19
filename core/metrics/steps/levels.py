"""Some of the levels of the encoder: which depths of the network, and which averages over the image."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, ClassVar, Self

import numpy as np
import numpy.typing as npt

from semblance.core.errors import BadInput
from semblance.core.features.encoder.efficientnet import LEVEL_CHANNELS, LEVEL_WIDTH
from semblance.core.language import tr_lazy
from semblance.core.metrics.distance import Matrix
from semblance.core.metrics.steps.step import Step

#: By the name of a choice, what it means.
CHOICES = {
    "head": tr_lazy("the mean of the last level"),
    "means": tr_lazy("the means of all levels"),
    "generalised": tr_lazy("the generalised means of all levels"),
    "blocks": tr_lazy("the generalised means of the levels before the last"),
}


def of_levels(extractor: str, settings: Mapping[str, Any] | None) -> bool:
    """Whether the numbers of ``extractor`` with these ``settings`` are the levels of the encoder."""
    given = settings or {}
    return extractor == "encoder" and "levels" in (given.get("description"), given.get("part"))


def columns_of(choice: str) -> npt.NDArray[np.int64]:
    """(m,) the columns of a choice among the LEVEL_WIDTH numbers: of each level the mean, then the generalised mean."""
    ends = np.cumsum([channels for channels in LEVEL_CHANNELS for _ in range(2)])
    groups = np.split(np.arange(LEVEL_WIDTH, dtype=np.int64), ends[:-1])
    means, generalised = groups[::2], groups[1::2]
    chosen = {"head": means[-1:], "means": means, "generalised": generalised, "blocks": generalised[:-1]}
    return np.concatenate(chosen[choice])


class Levels(Step):
    """The columns of one of :data:`CHOICES`; nothing is fitted."""

    kind: ClassVar[str] = "levels"
    linear: ClassVar[bool] = True

    def __init__(self, choice: str) -> None:
        self.choice = choice
        self._columns = columns_of(choice)

    @property
    def text(self) -> str:
        """``levels:CHOICE``."""
        return f"{self.kind}:{self.choice}"

    @property
    def n_features(self) -> int:
        """The numbers of all levels."""
        return LEVEL_WIDTH

    def fit(self, X: Matrix, y: npt.NDArray[Any] | None = None) -> Self:
        """Raises BadInput if the rows are not the levels of the encoder."""
        if X.shape[1] != LEVEL_WIDTH:
            raise BadInput(
                tr_lazy(
                    "The step '{step}' needs the levels of the encoder ({needed:,} numbers), not {n:,} numbers.",
                    step=self.text,
                    needed=LEVEL_WIDTH,
                    n=X.shape[1],
                ),
                "Choose the features 'encoder levels', or leave the step out.",
            )
        return self

    def transform(self, X: Matrix) -> Matrix:
        """(n, LEVEL_WIDTH) -> (n, m)."""
        return X[:, self._columns]

    def pull_back(self, gradient: Matrix) -> Matrix:
        """(..., m) -> (..., LEVEL_WIDTH): 0 in the columns that are not chosen."""
        out = np.zeros((*gradient.shape[:-1], LEVEL_WIDTH))
        out[..., self._columns] = gradient
        return out

    def names(self, names: tuple[str, ...]) -> tuple[str, ...]:
        """Those of the chosen columns."""
        return tuple(names[column] for column in self._columns)

    def describe(self) -> str:
        """Which averages they are."""
        return tr_lazy("levels: {choice}", choice=CHOICES[self.choice])

    def settings(self) -> dict[str, Any]:
        """The choice."""
        return {"choice": self.choice}

    def arrays(self) -> dict[str, npt.NDArray[Any]]:
        """None."""
        return {}

    @classmethod
    def restore(cls, settings: dict[str, Any], arrays: dict[str, npt.NDArray[Any]]) -> Self:  # noqa: ARG003
        """The inverse of :meth:`settings`.

        Raises:
            BadInput: no such choice.
        """
        choice = settings.get("choice")
        if choice not in CHOICES:
            raise BadInput("A stored step 'levels' does not say which levels it takes.")
        return cls(str(choice))
