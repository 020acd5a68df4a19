"""The columns of a table, taken as they are."""

from __future__ import annotations

from typing import ClassVar

import numpy as np
import numpy.typing as npt

from semblance.core.errors import BadInput
from semblance.core.features.extractor import Extractor, FeatureName
from semblance.core.imaging.image import Image
from semblance.core.imaging.region import Region
from semblance.core.language import tr_lazy


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
                "Raw features come with a table, and {image} is an image.",
                image=image.name or "this case",
            ),
            "Choose another extractor for images, gabor for instance.",
        )
