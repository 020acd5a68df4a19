"""The extractor of masses: finds the mass, brings it to square pixels, and measures it."""

from __future__ import annotations

import math

import numpy as np
import numpy.typing as npt

from semblance.core.features.extractor import Extractor, FeatureName
from semblance.core.features.mass.grey import AROUND, breast, margin_and_grey
from semblance.core.features.mass.outline import fourier_factor, outline_points, radial_length, size_and_shape
from semblance.core.features.mass.table import FEATURES, NAMES
from semblance.core.features.resampling import finite, resampled
from semblance.core.imaging.image import Image
from semblance.core.imaging.outline import Ellipse
from semblance.core.imaging.region import Region
from semblance.core.imaging.segmentation import segment_in
from semblance.core.parameters import Parameter

#: Longest side, in pixels, of what is measured: a larger mass or breast is reduced to it.
LONGEST = 256

#: Powers of the length of a pixel that turn a number of pixels into one of mm.
_POWERS = {"mm² or px²": 2, "mm or px": 1, "1/mm or 1/px": -1}


class Mass(Extractor):
    """38 numbers of a mass: 9 of the whole breast, 29 of the mass and its surround (bdm.txt, section 4.1).

    :data:`semblance.core.features.mass.table.FEATURES` says what each is. An outline (polygon, brush, mask) is the mass
    as drawn. A rectangle, an ellipse and an image without a region only say where the mass is: it is found
    inside, bright or dark.
    """

    name = "mass"
    title = "Mass: shape, margin and breast"
    summary = "Size, shape, margin, contrast and texture of a mass, and its breast: 38 numbers."
    version = 1
    parameters = (
        Parameter(
            "segment",
            "auto",
            "auto finds the mass inside rectangles and ellipses and keeps other outlines; always, or never.",
            choices=("auto", "always", "never"),
        ),
    )

    @property
    def feature_names(self) -> tuple[FeatureName, ...]:
        return NAMES

    def extract(self, image: Image, region: Region | None = None) -> npt.NDArray[np.float32]:
        """(38,) float32.

        Raises:
            BadInput: the region lies outside, or the pixels hold NaN or infinite values.
        """
        grey = finite(image.grey(), image)
        whole = Region(0, 0, image.width, image.height)
        mass = self._mass(image, (region or whole).clipped(image.height, image.width))
        near = _with_surround(mass).clipped(image.height, image.width)
        mask = mass.mask(image.height, image.width)
        if not mask.any():
            mask = whole.mask(image.height, image.width)
            near = whole
        part = slice(near.y, near.y + near.height), slice(near.x, near.x + near.width)
        spacing = image.spacing_mm or (1.0, 1.0)
        small, pixel = _square(grey[part], spacing)
        inside = _square(mask[part].astype(np.float32), spacing)[0] >= 0.5
        if not inside.any():
            inside = np.ones(inside.shape, dtype=np.bool_)
        points = outline_points(inside)
        of_outline = [*size_and_shape(inside), *radial_length(inside, points), fourier_factor(points)]
        numbers = {
            **dict(zip((feature.name for feature in FEATURES), of_outline, strict=False)),
            **margin_and_grey(small.astype(np.float64), inside),
        }
        around, coarse = _square(grey, spacing)
        of_breast = breast(around.astype(np.float64))
        values = [numbers[feature.name] for feature in FEATURES[: -len(of_breast)]]
        scales = [pixel] * len(values) + [coarse] * len(of_breast)
        return np.array(
            [
                value * scale ** _POWERS.get(feature.unit, 0)
                for value, scale, feature in zip([*values, *of_breast], scales, FEATURES, strict=True)
            ],
            dtype=np.float32,
        )

    def outline(self, image: Image, region: Region | None = None) -> npt.NDArray[np.float64]:
        """(p, 2) x and y, in pixels of the image, of the outline that is measured.

        Raises:
            BadInput: as :meth:`extract`.
        """
        whole = Region(0, 0, image.width, image.height)
        mass = self._mass(image, (region or whole).clipped(image.height, image.width))
        mask = mass.mask(image.height, image.width)
        if not mask.any():
            mask = whole.mask(image.height, image.width)
        near = mass.clipped(image.height, image.width)
        part = mask[near.y : near.y + near.height, near.x : near.x + near.width]
        return outline_points(part) + np.array([near.x, near.y], dtype=np.float64)

    def _mass(self, image: Image, region: Region) -> Region:
        rough = region.outline is None or isinstance(region.outline, Ellipse)
        wanted = self.settings["segment"]
        return segment_in(image, region) if wanted == "always" or (wanted == "auto" and rough) else region


def _with_surround(mass: Region) -> Region:
    """The rectangle of the mass and what lies around it."""
    margin = math.ceil(AROUND * max(mass.width, mass.height) / 2) + 3
    return Region(mass.x - margin, mass.y - margin, mass.width + 2 * margin, mass.height + 2 * margin)


def _square(
    plane: npt.NDArray[np.float32], spacing: tuple[float, float]
) -> tuple[npt.NDArray[np.float32], float]:
    """``plane`` with square pixels and at most ``LONGEST`` of them a side, and the length of one."""
    down, across = plane.shape[0] * spacing[0], plane.shape[1] * spacing[1]
    pixel = max(min(spacing), max(down, across) / LONGEST)
    return resampled(plane, max(1, round(down / pixel)), max(1, round(across / pixel))), pixel
