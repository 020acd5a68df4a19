"""What extractors of local descriptors share."""

from __future__ import annotations

import functools
from typing import ClassVar

from semblance.core.features.extractor import Extractor, FeatureName
from semblance.core.local_descriptors import DescriptorPacking
from semblance.core.parameters import Value


class LocalExtractor(Extractor):
    """Packed descriptors of the places of an image, at most the setting ``points`` of them."""

    local: ClassVar[DescriptorPacking]
    #: The group of the feature names.
    group: ClassVar[str]

    def __init__(self, **settings: Value) -> None:
        super().__init__(**settings)
        points = self.settings["points"]
        assert isinstance(points, int)
        self._points = points

    @staticmethod
    def _column_name(point: int, first: int, last: int) -> str:
        """The name of the column with the values ``first`` to ``last``, from 1, of a point."""
        raise NotImplementedError

    @property
    def feature_names(self) -> tuple[FeatureName, ...]:
        """The names and groups of the numbers, in order."""
        return _names(type(self), self._points)


@functools.cache
def _names(extractor: type[LocalExtractor], points: int) -> tuple[FeatureName, ...]:
    packing = extractor.local
    values = range(0, packing.values, packing.values_per_column)
    return tuple(
        FeatureName(
            extractor._column_name(
                point, before + 1, min(before + packing.values_per_column, packing.values)
            ),
            extractor.group,
        )
        for point in range(1, points + 1)
        for before in values
    )
