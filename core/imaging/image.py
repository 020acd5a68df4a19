"""The decoded image every extractor and viewer works on, and the windows on its values."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from typing import Any

import numpy as np
import numpy.typing as npt

from semblance.core.imaging.region import Box, Region
from semblance.core.imaging.slice_plane import SlicePlane

#: ITU-R BT.709 luma, the weights scikit-image's ``rgb2gray`` uses.
LUMA = np.array([0.2125, 0.7154, 0.0721], dtype=np.float32)

#: From black to white of a window of width 1, which is a step, as a share of its centre.
_STEP = 1e-9
#: Windows are at least so wide: of damaged floats the ends can be nearer than single precision divides.
LEAST_WIDTH = 1e-30

#: Rows that are converted at a time.
_ROWS = 256


@dataclass(frozen=True)
class Curve:
    """The greys of a window that is not a straight line (PS3.3 C.11.2.1.1 and C.11.2.1.3.1).

    ``levels``: float32 from 0 to 1 as bytes, the grey of every entry of a table, the first at the low end of the
    window, the last at its high end. Without any it is SIGMOID.
    """

    levels: bytes = b""

    def grey(self, shares: npt.NDArray[np.float32]) -> npt.NDArray[np.float32]:
        """The greys, 0 to 1, of ``shares`` of the way from the low end (0) to the high end (1)."""
        if not self.levels:
            steps: npt.NDArray[np.float32] = np.exp(np.clip(2 - 4 * shares, -80, 80), dtype=np.float32)
            greys: npt.NDArray[np.float32] = np.reciprocal(1 + steps)
            return greys
        table: npt.NDArray[np.float32] = np.frombuffer(self.levels, np.float32)
        entries: npt.NDArray[np.int32] = np.rint(np.clip(shares, 0, 1) * (len(table) - 1)).astype(np.int32)
        return table[entries]


@dataclass(frozen=True)
class ValueWindow:
    """A window on values: from ``low`` to ``high`` a straight line from black to white, or ``curve``.

    ``name`` as the file calls it. ``stated``: the centre and the width as the file states them.
    """

    low: float
    high: float
    name: str = ""
    curve: Curve | None = None
    stated: tuple[float, float] | None = field(default=None, compare=False)


def linear_window(centre: float, width: float, name: str = "") -> ValueWindow | None:
    """The window of a centre and a width by the function LINEAR (PS3.3 C.11.2.1.2.1); ``None`` below a width of 1."""
    if width < 1:
        return None
    low = centre - 0.5 - (width - 1) / 2
    return ValueWindow(
        low, max(low + width - 1, low + _STEP * max(1.0, abs(low))), name, stated=(centre, width)
    )


def window_greys(
    numbers: npt.NDArray[Any], low: float, high: float, curve: Curve | None = None
) -> npt.NDArray[np.float32]:
    """The greys, 0 to 1, of ``numbers`` in a window: the one place where numbers become greys."""
    shares = numbers.astype(np.float32)
    shares -= np.float32(low)
    shares *= np.float32(1.0 / max(high - low, LEAST_WIDTH))
    return np.clip(shares, 0.0, 1.0, out=shares) if curve is None else curve.grey(shares)


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


@dataclass(frozen=True)
class SliceFacts:
    """What a file says about a slice: its ``instance`` number, where it lies in mm along the ``axis`` of the patient
    ("x", "y" or "z") nearest to its normal, its thickness in mm and its plane; each ``None`` or "" where it does not.
    """

    instance: int | None = None
    axis: str = ""
    position_mm: float = 0.0
    thickness_mm: float | None = None
    plane: SlicePlane | None = None


#: Where the size of a pixel is known from: the patient; the detector, where things are larger than in the patient; the
#: detector, brought to the patient by the magnification the file estimates; a scanned film; a part of an ultrasound
#: image; or only its height in widths is known.
IN_PATIENT, AT_DETECTOR, MAGNIFIED, ON_FILM = "patient", "detector", "magnification", "film"
IN_ULTRASOUND, ASPECT = "ultrasound", "aspect"


@dataclass(frozen=True)
class Calibration:
    """A pixel is ``row`` mm high and ``column`` mm wide, in the rectangle ``box`` (left, top, right, bottom), without
    one everywhere; 0 x 0 where a part has no such size. ``source``: one of :data:`IN_PATIENT` and the others; with
    :data:`ASPECT` not in mm."""

    row: float
    column: float
    source: str = IN_PATIENT
    box: Box | None = None

    @property
    def spacing(self) -> tuple[float, float]:
        """From row to row and from column to column."""
        return self.row, self.column

    @property
    def is_mm(self) -> bool:
        """Whether lengths are known, not only their ratio."""
        return self.source != ASPECT


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
    ``curve``: the greys between ``black`` and ``white`` where they are not a straight line. ``remarks``: sentences
    about parts of the file that contradict each other or cannot be read. ``photometric``: DICOM's Photometric
    Interpretation, empty for other files. ``slice_facts``: where it lies in the patient, of a slice.
    ``hidden_marks``: how many burnt-in marks were filled in; ``None`` where the pixels are those of the file.
    ``calibrations``: what its pixels measure, where the file says more of it than ``spacing_mm``.
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
    curve: Curve | None = None
    remarks: tuple[str, ...] = ()
    photometric: str = ""
    slice_facts: SliceFacts = field(default_factory=SliceFacts)
    hidden_marks: int | None = None
    calibrations: tuple[Calibration, ...] = ()

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
        linear = self.curve is None and not self.values.inverse
        plain = full and self.black == 0.0 and self.values.padding is None and linear
        if not plain:
            # Infinity must be refused by extractors; clipped it would look like white.
            endless = np.isinf(scaled) if self.pixels.dtype.kind == "f" else None
            if self.curve is not None:
                scaled = self.curve.grey(scaled)
            np.clip(scaled, 0.0, 1.0, out=scaled)
            if endless is not None:
                scaled[endless] = np.inf
            if self.values.inverse:
                np.subtract(np.float32(1.0), scaled, out=scaled)
            outside = self.padding_mask()
            if outside is not None:
                scaled[outside] = 0.0
        return scaled
