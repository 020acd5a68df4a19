"""Numbers as they are: the image itself, made small, for convolutional learners, and the columns of a table."""

from __future__ import annotations

import functools
from typing import ClassVar

import numpy as np
import numpy.typing as npt

from semblance.core.errors import BadInput
from semblance.core.features.extractor import Extractor, FeatureName
from semblance.core.features.resampling import finite, resampled
from semblance.core.imaging.image import Image
from semblance.core.imaging.region import Region
from semblance.core.language import tr_lazy
from semblance.core.parameters import Parameter, Value


class Raw(Extractor):
    """A table's own numbers: the import brings them, so nothing is computed from pixels."""

    name = "raw"
    title = "Columns of the table"
    summary = "The numbers that came with the table, unchanged."
    version = 1
    needs_image: ClassVar[bool] = False
    needs_table: ClassVar[bool] = True

    @property
    def feature_names(self) -> tuple[FeatureName, ...]:
        """Empty: the table names its columns."""
        return ()

    def extract(self, image: Image, region: Region | None = None) -> npt.NDArray[np.float32]:
        """Never gives numbers.

        Raises:
            BadInput: always; an image has no columns.
        """
        raise BadInput(
            tr_lazy(
                "Raw features come with a table, and {image} is an image.", image=image.name or "this case"
            ),
            "Choose another extractor for images, gabor for instance.",
        )


#: Pixels of one side of the squares that pixels are grouped into for explanations.
_BLOCK = 7


@functools.cache
def _names(size: int) -> tuple[FeatureName, ...]:
    def block(row: int, column: int) -> str:
        return tr_lazy(
            "Pixels, block row {row}, column {column}", row=row // _BLOCK + 1, column=column // _BLOCK + 1
        )

    return tuple(
        FeatureName(
            tr_lazy("Pixel row {row}, column {column}", row=row + 1, column=column + 1), block(row, column)
        )
        for row in range(size)
        for column in range(size)
    )


class Pixels(Extractor):
    """size * size grey values, 0 black to 1 white, of the image resampled to a square.

    Row by row from the top left; an image that is not square is squeezed, not cut.
    """

    name = "pixels"
    title = "Pixels"
    summary = "The image itself as a small grey square, for convolutional learners: size x size numbers."
    version = 1
    parameters: ClassVar[tuple[Parameter, ...]] = (
        Parameter("size", 28, "Pixels along each side.", minimum=8, maximum=128, paper=28),
    )

    def __init__(self, **settings: Value) -> None:
        super().__init__(**settings)
        size = self.settings["size"]
        assert isinstance(size, int)
        self._size = size

    @property
    def feature_names(self) -> tuple[FeatureName, ...]:
        """The names and groups of the numbers, in order."""
        return _names(self._size)

    def extract(self, image: Image, region: Region | None = None) -> npt.NDArray[np.float32]:
        """(size * size,) float32, in the grey units of the image (white is 1).

        Raises:
            BadInput: the region lies outside, or the pixels hold NaN or infinite values.
        """
        grey = resampled(image.cropped(region).grey(), self._size, self._size)
        return finite(grey, image).reshape(-1)
