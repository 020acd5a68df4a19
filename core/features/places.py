"""Places: an encoder's descriptions of small parts of an image, coded in 8 bits.

Places describe whole images or slices, also those of cases whose features describe a region. A map of an encoder has a
grid of places. Their descriptions are centred on the mean place of a library, projected to their principal components,
brought to length 1 and stored in 8 bits, so that the inner product of two is nearly their cosine.
"""

from __future__ import annotations

import base64
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt

from semblance.core.imaging.region import Box, Region

Floats = npt.NDArray[np.float32]
#: Coded places: (..., COMPONENTS) of -127 to 127.
Codes = npt.NDArray[np.int8]

#: What one pass of an encoder gives besides its features: averages of several depths, places, and those of slices.
PARTS = LEVELS, PLACES, SLICES = "levels", "places", "slices"
#: Numbers that describe a place.
COMPONENTS = 64
#: Places that are centred together.
_BLOCK = 4096
#: A coded number is at most this.
LARGEST = 127
#: The share of places whose length is kept: longer ones would make the others coarse.
_UP_TO_TOP = 0.99


@dataclass(frozen=True, eq=False)
class Descriptions:
    """What one pass of an encoder gives of n images.

    ``features`` (n, d) describe them as a whole. ``levels`` (n, l) are averages of several depths, and ``maps``
    (n, rows, columns, c) the places, before they are coded; ``None`` where the encoder has none.
    """

    features: Floats
    levels: Floats | None = None
    maps: Floats | None = None


@dataclass(frozen=True, eq=False)
class PlaceCoding:
    """How places are coded: less ``mean`` (c,), by ``components`` (m, c), times 127 / ``top``; a place with a larger
    number is scaled to 127, so that its direction is kept."""

    mean: Floats
    components: Floats
    top: float

    @classmethod
    def fitted(cls, places: Floats, components: int = COMPONENTS) -> PlaceCoding:
        """The coding of ``places`` (p, c), a sample of a library; p and c may be less than ``components``."""
        mean = places.mean(axis=0, dtype=np.float64)
        scatter = np.zeros((len(mean), len(mean)))
        for start in range(0, len(places), _BLOCK):
            # In blocks, because a double of all of them is large.
            centred = places[start : start + _BLOCK] - mean
            scatter += centred.T @ centred
        values, vectors = np.linalg.eigh(scatter)
        kept = np.argsort(-values, kind="stable")[:components]
        found = vectors[:, kept].T
        # The sign of a component is arbitrary: the largest number is positive.
        found *= np.sign(found[np.arange(len(found)), np.abs(found).argmax(axis=1)])[:, np.newaxis]
        coding = cls(mean.astype(np.float32), found.astype(np.float32), 1.0)
        largest = np.abs(coding.projected(places)).max(axis=-1, initial=0.0)
        top = float(np.quantile(largest, _UP_TO_TOP)) if len(largest) else 1.0
        return cls(coding.mean, coding.components, max(top, 1e-6))

    @property
    def width(self) -> int:
        """Numbers that describe a coded place."""
        return len(self.components)

    def projected(self, places: Floats) -> Floats:
        """(..., m) ``places`` (..., c) less the mean, by the components."""
        return np.asarray((places - self.mean) @ self.components.T, dtype=np.float32)

    def coded(self, places: Floats) -> Codes:
        """(..., m) 8-bit numbers of ``places`` (..., c); a place equal to the mean is 0."""
        projected = self.projected(places)
        largest = np.abs(projected).max(axis=-1, keepdims=True, initial=0.0)
        steps = projected * (np.float32(LARGEST) / np.maximum(largest, np.float32(self.top)))
        codes: Codes = np.rint(steps).astype(np.int8)
        return codes

    def to_settings(self) -> dict[str, Any]:
        """The coding as a part of the settings of a feature set."""

        def text(array: Floats) -> str:
            return base64.b64encode(array.astype("<f4").tobytes()).decode("ascii")

        return {"mean": text(self.mean), "components": text(self.components), "top": self.top}

    @classmethod
    def from_settings(cls, settings: Mapping[str, Any]) -> PlaceCoding:
        """The inverse of :meth:`to_settings`.

        Raises:
            KeyError, TypeError, ValueError: they are damaged.
        """
        mean, components = (
            np.frombuffer(base64.b64decode(settings[name], validate=True), dtype="<f4").astype(np.float32)
            for name in ("mean", "components")
        )
        return cls(mean, components.reshape(-1, len(mean)), float(settings["top"]))


def unit_codes(codes: Codes) -> Floats:
    """(..., m) float32 of length 1 of coded places (..., m); one equal to the mean stays 0."""
    return unit_rows(codes.astype(np.float32))


def unit_rows(rows: Floats) -> Floats:
    """``rows`` (..., m) divided by their lengths; one of zeros stays."""
    found: Floats = rows / np.maximum(np.linalg.norm(rows, axis=-1, keepdims=True), 1e-12)
    return found


@dataclass(frozen=True)
class PlaceGrid:
    """The grid of ``rows`` x ``columns`` places over the rectangle ``box`` of an image (left, top, right, bottom, in
    pixels; it may reach beyond the image)."""

    rows: int
    columns: int
    box: Box

    def __len__(self) -> int:
        return self.rows * self.columns

    def place_box(self, number: int) -> Box:
        """The rectangle of the place ``number``, counted along the rows from the upper left."""
        row, column = divmod(number, self.columns)
        left, top, right, bottom = self.box
        width, height = (right - left) / self.columns, (bottom - top) / self.rows
        x, y = left + column * width, top + row * height
        return x, y, x + width, y + height

    def places_in(self, region: Region, share: float = 0.5) -> npt.NDArray[np.intp]:
        """The numbers of the places of which more than ``share`` lies inside ``region``; the one with the largest part
        inside where there is none."""
        covered = self.covered_by(region)
        found = np.flatnonzero(covered > share)
        if len(found):
            return found
        if covered.any():
            return np.array([int(covered.argmax())], dtype=np.intp)
        # It lies between the points that stand for an area.
        left, top, right, bottom = self.box
        column = int((region.x + region.width / 2 - left) * self.columns / (right - left))
        row = int((region.y + region.height / 2 - top) * self.rows / (bottom - top))
        column, row = min(max(column, 0), self.columns - 1), min(max(row, 0), self.rows - 1)
        return np.array([row * self.columns + column], dtype=np.intp)

    def covered_by(self, region: Region) -> Floats:
        """(rows * columns,) the share of each place that lies inside ``region``, from 0 to 1."""
        left, top, right, bottom = self.box
        # Points of an even grid stand for the area of a place.
        points = 8
        xs = left + (np.arange(self.columns * points) + 0.5) * (right - left) / (self.columns * points)
        ys = top + (np.arange(self.rows * points) + 0.5) * (bottom - top) / (self.rows * points)
        inside_x = (xs >= region.x) & (xs < region.x + region.width)
        inside_y = (ys >= region.y) & (ys < region.y + region.height)
        inside = np.outer(inside_y, inside_x)
        if region.outline is not None and inside.any():
            mask = region.outline.mask(region.height, region.width)
            row = np.clip((ys - region.y).astype(np.intp), 0, region.height - 1)
            column = np.clip((xs - region.x).astype(np.intp), 0, region.width - 1)
            inside &= mask[np.ix_(row, column)]
        cells = inside.reshape(self.rows, points, self.columns, points)
        return np.asarray(cells.mean(axis=(1, 3)).reshape(-1), dtype=np.float32)
