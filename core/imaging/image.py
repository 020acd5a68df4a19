"""The decoded image every extractor and viewer works on."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from typing import Any

import numpy as np
import numpy.typing as npt

from semblance.core.imaging.region import Region

#: ITU-R BT.709 luma, the weights scikit-image's ``rgb2gray`` uses.
LUMA = np.array([0.2125, 0.7154, 0.0721], dtype=np.float32)

#: Rows that are converted at a time.
_ROWS = 256


@dataclass(frozen=True)
class ValueWindow:
    """A window on values: ``low`` is shown black, ``high`` white; ``name`` as the file calls it."""

    low: float
    high: float
    name: str = ""


@dataclass(frozen=True)
class ValueScale:
    """The meaning and intended display of stored values; the same for all slices of a volume.

    A stored number ``s`` is the value ``s * slope + intercept`` in ``unit`` ("HU", or nothing).
    ``inverse``: high numbers are dark (DICOM's MONOCHROME1).
    ``padding``: stored numbers from the first to the second are no image (outside a round field of view).
    ``windows``: those the file offers, on values, the first the one to begin with.
    """

    slope: float = 1.0
    intercept: float = 0.0
    unit: str = ""
    inverse: bool = False
    padding: tuple[float, float] | None = None
    windows: tuple[ValueWindow, ...] = ()


@dataclass(frozen=True, eq=False)
class Image:
    """Pixels of one image, top row first.

    ``pixels``: (h, w) grey as uint8, uint16, int16 or float32, or (h, w, 3) red-green-blue uint8 or uint16.
    ``white``, ``black``: the stored numbers that :meth:`grey` maps to 1 and 0 (255, 65535, 1.0 and 0 for plain
    images; a fixed range of Hounsfield units for CT, so that the same tissue always has the same grey). ``name``:
    what to call it in messages. ``spacing_mm``: row and column spacing in mm where the file says so. ``values``: what
    the numbers mean. ``notes``: short facts for the viewer's corner (modality, view, laterality); never who the
    patient is. ``body_part``: as DICOM's BodyPartExamined; empty where the file does not say it. ``attributes``:
    facts in the file besides the pixels (age, sex, ...), as catalogued; never the identity of the patient.
    ``hidden_marks``: how many burnt-in marks were filled in; ``None`` where the pixels are those of the file.
    """

    pixels: npt.NDArray[Any]
    white: float
    name: str = ""
    spacing_mm: tuple[float, float] | None = None
    black: float = 0.0
    values: ValueScale = field(default_factory=ValueScale)
    notes: tuple[str, ...] = ()
    body_part: str = ""
    attributes: Mapping[str, str] = field(default_factory=dict)
    hidden_marks: int | None = None

    @property
    def height(self) -> int:
        """Rows of pixels."""
        return int(self.pixels.shape[0])

    @property
    def width(self) -> int:
        """Columns of pixels."""
        return int(self.pixels.shape[1])

    @property
    def is_colour(self) -> bool:
        """Whether there are three channels, red, green and blue."""
        return self.pixels.ndim == 3

    def grey(self) -> npt.NDArray[np.float32]:
        """(h, w) float32 in 0..1, colour weighted by BT.709 luma; padding is 0."""
        if not self.is_colour:
            return self._unit(self.pixels)
        # All channels as floats would take three times the memory of the result.
        out = np.empty(self.pixels.shape[:2], np.float32)
        for top in range(0, self.height, _ROWS):
            out[top : top + _ROWS] = np.dot(self._unit(self.pixels[top : top + _ROWS]), LUMA)
        return out

    def rgb(self) -> npt.NDArray[np.float32]:
        """(h, w, 3) float32 in 0..1; grey images repeat their channel."""
        scaled = self._unit(self.pixels)
        return scaled if self.is_colour else np.repeat(scaled[:, :, None], 3, axis=2)

    def physical_values(self) -> npt.NDArray[np.float32]:
        """(h, w) or (h, w, 3) float32: the physical values of the stored ones, in ``values.unit``."""
        out: npt.NDArray[np.float32] = self.pixels.astype(np.float32)
        out *= np.float32(self.values.slope)
        out += np.float32(self.values.intercept)
        return out

    def padding_mask(self) -> npt.NDArray[np.bool_] | None:
        """(h, w) true where pixels are padding; ``None`` where there is none."""
        if self.values.padding is None or self.is_colour:
            return None
        low, high = self.values.padding
        found: npt.NDArray[np.bool_] = (self.pixels >= low) & (self.pixels <= high)
        return found if found.any() else None

    def cropped(self, region: Region | None) -> Image:
        """The part inside the rectangle of ``region`` (the whole image for ``None``).

        Raises:
            BadInput: the region lies outside the image.
        """
        if region is None:
            return self
        part = region.clipped(self.height, self.width)
        return replace(self, pixels=self.pixels[part.y : part.y + part.height, part.x : part.x + part.width])

    def _unit(self, pixels: npt.NDArray[Any]) -> npt.NDArray[np.float32]:
        """``pixels``, all of a grey image or some rows of a colour one, in 0..1."""
        scaled = pixels.astype(np.float32)
        if self.black:
            scaled -= np.float32(self.black)
        scaled *= np.float32(1.0 / (self.white - self.black))
        full = self.pixels.dtype.kind == "u" and self.white >= np.iinfo(self.pixels.dtype).max
        plain = full and self.black == 0.0 and self.values.padding is None and not self.values.inverse
        if not plain:
            # Infinity must be refused by extractors; clipped it would look like white.
            endless = np.isinf(scaled) if self.pixels.dtype.kind == "f" else None
            np.clip(scaled, 0.0, 1.0, out=scaled)
            if endless is not None:
                scaled[endless] = np.inf
            if self.values.inverse:
                np.subtract(np.float32(1.0), scaled, out=scaled)
            outside = self.padding_mask()
            if outside is not None:
                scaled[outside] = 0.0
        return scaled
