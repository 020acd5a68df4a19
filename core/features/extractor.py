"""The contract of an extractor."""

from __future__ import annotations

import abc
from collections.abc import Sequence
from dataclasses import dataclass
from typing import ClassVar

import numpy as np
import numpy.typing as npt

from core.imaging.picture import Picture
from core.imaging.region import Region
from core.parameters import Parameter, Value, checked


@dataclass(frozen=True)
class FeatureName:
    """One column: its ``name``, unique within the extractor, and the ``group`` it is explained with."""

    name: str
    group: str


class Extractor(abc.ABC):
    """Turns one picture into numbers that depend on that picture alone.

    Everything fitted on several pictures is a step of the metric, not part of an extractor.
    """

    name: ClassVar[str]
    title: ClassVar[str]
    summary: ClassVar[str]
    #: Raised by one whenever the numbers change; old feature sets then count as another version.
    version: ClassVar[int]
    parameters: ClassVar[tuple[Parameter, ...]] = ()
    #: False where the numbers come with the case instead of its pixels.
    needs_picture: ClassVar[bool] = True

    def __init__(self, **settings: Value) -> None:
        self.settings = checked(self.name, self.parameters, settings)

    @property
    @abc.abstractmethod
    def feature_names(self) -> tuple[FeatureName, ...]:
        """One entry per number given by :meth:`extract`, in order."""

    @abc.abstractmethod
    def extract(self, picture: Picture, region: Region | None = None) -> npt.NDArray[np.float32]:
        """(d,) float32 of ``picture``, or of its part inside ``region``.

        Raises:
            BadInput: the picture or region cannot give these numbers (too small, say).
        """

    def extract_many(self, pictures: Sequence[Picture]) -> npt.NDArray[np.float32]:
        """(n, d): the same numbers as :meth:`extract` gives one by one."""
        return np.stack([self.extract(picture) for picture in pictures])
