"""Polyp candidates of CT colonography in 96 numbers."""

from __future__ import annotations

import functools
from typing import ClassVar

import numpy as np
import numpy.typing as npt

from semblance.core.errors import BadArguments, BadInput
from semblance.core.features.extractor import Extractor, FeatureName
from semblance.core.features.polyp.candidate import cut_out
from semblance.core.features.polyp.colon_wall import ColonWall
from semblance.core.features.polyp.definitions import definitions
from semblance.core.features.polyp.measures import measured
from semblance.core.features.polyp.voxel_block import voxel_block
from semblance.core.imaging.image import Image
from semblance.core.imaging.region import Region
from semblance.core.imaging.volume import Spacing, Stack
from semblance.core.language import tr_lazy
from semblance.core.parameters import Parameter, Value


@functools.cache
def _names() -> tuple[FeatureName, ...]:
    return tuple(
        FeatureName(f"{one.group}: {one.name}" + (f" ({one.unit})" if one.unit else ""), one.group)
        for one in definitions()
    )


class Polyp(Extractor):
    """96 numbers of a candidate in a CT volume (metricboost.txt 5.3, which names their groups only).

    36 of local geometry, 20 of shape and size, 22 of densities, 15 of the surroundings, 3 of the place in the
    scan; see :mod:`semblance.core.features.polyp.definitions` for each. The region is a position (a box of one voxel),
    a box around the candidate, or drawn voxels; without one the middle of the volume is meant. The volume is
    brought to 1 mm, so all is in mm whatever the spacing. Only the place changes when the scan is shifted or
    turned by 90 degrees.
    """

    name = "polyp"
    title = "Polyp candidate"
    summary = "A polyp candidate in a CT volume: local geometry, shape, density, surroundings; 96 numbers."
    version = 1
    volumes: ClassVar[bool] = True
    needs_volume: ClassVar[bool] = True
    parameters: ClassVar[tuple[Parameter, ...]] = (
        Parameter(
            "spacing",
            "1,1,1",
            "Slice, row and column distance in mm, for volumes that do not tell theirs.",
        ),
    )

    COUNT: ClassVar[int] = 96

    def __init__(self, **settings: Value) -> None:
        super().__init__(**settings)
        self._spacing = _spacing(str(self.settings["spacing"]))

    @property
    def feature_names(self) -> tuple[FeatureName, ...]:
        return _names()

    def extract(self, image: Image, region: Region | None = None) -> npt.NDArray[np.float32]:
        """Raises BadInput: a single image has no depth."""
        raise BadInput(
            tr_lazy("'{image}' is a single image; polyp candidates lie in volumes.", image=image.name),
            "Import the CT series, or use an extractor for images.",
        )

    def prepare_stack(self, stack: Stack, region: Region | None = None) -> npt.NDArray[np.float32]:
        """(96,) float32.

        Raises:
            BadInput: the region lies outside the volume or near no wall of the colon, or a slice cannot be
                read.
        """
        block = voxel_block(stack, region, self._spacing)
        wall = ColonWall(block.hu)
        return np.array(measured(block, wall, cut_out(block, wall)), dtype=np.float32)


def _spacing(text: str) -> Spacing:
    try:
        z, y, x = (float(part) for part in text.split(","))
    except ValueError:
        raise BadArguments(
            tr_lazy("The spacing '{value}' is not three numbers.", value=text),
            "Write it like 1,0.7,0.7 (slice, row, column).",
        ) from None
    return z, y, x
