"""The decoded picture every extractor and viewer works on."""

from __future__ import annotations

from dataclasses import dataclass, replace

import numpy as np
import numpy.typing as npt

from core.imaging.region import Region

#: ITU-R BT.709 luma, the weights scikit-image's ``rgb2gray`` uses.
LUMA = np.array([0.2125, 0.7154, 0.0721], dtype=np.float32)


@dataclass(frozen=True, eq=False)
class Picture:
    """Pixels of one picture, top row first.

    ``pixels``: (h, w) grey or (h, w, 3) red-green-blue, uint8, uint16 or float32.
    ``white``: the value shown as white (255, 65535, 1.0).
    ``name``: what to call it in messages.
    ``spacing_mm``: row and column spacing in mm where the file says so.
    """

    pixels: npt.NDArray[np.uint8] | npt.NDArray[np.uint16] | npt.NDArray[np.float32]
    white: float
    name: str = ""
    spacing_mm: tuple[float, float] | None = None

    @property
    def height(self) -> int:
        return int(self.pixels.shape[0])

    @property
    def width(self) -> int:
        return int(self.pixels.shape[1])

    @property
    def is_colour(self) -> bool:
        return self.pixels.ndim == 3

    def grey(self) -> npt.NDArray[np.float32]:
        """(h, w) float32 in 0..1, colour weighted by BT.709 luma."""
        scaled = np.asarray(self.pixels, dtype=np.float32) * np.float32(1.0 / self.white)
        return np.dot(scaled, LUMA).astype(np.float32, copy=False) if self.is_colour else scaled

    def rgb(self) -> npt.NDArray[np.float32]:
        """(h, w, 3) float32 in 0..1; grey pictures repeat their channel."""
        scaled = np.asarray(self.pixels, dtype=np.float32) * np.float32(1.0 / self.white)
        return scaled if self.is_colour else np.repeat(scaled[:, :, None], 3, axis=2)

    def cropped(self, region: Region | None) -> Picture:
        """The part inside ``region`` (the whole picture for ``None``).

        Raises:
            BadInput: the region lies outside the picture.
        """
        if region is None:
            return self
        part = region.clipped(self.height, self.width)
        return replace(self, pixels=self.pixels[part.y : part.y + part.height, part.x : part.x + part.width])
