"""Volumes read slice by slice: from several files, or from an array in a file."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import numpy.typing as npt

from semblance.core.errors import BadInput
from semblance.core.imaging.dicom.value_scale import HU_RANGE, LARGEST
from semblance.core.imaging.image import Image, ValueScale
from semblance.core.imaging.image_address import ImageAddress
from semblance.core.imaging.raster import unit_range
from semblance.core.imaging.volume import ArrayStack, Spacing, Stack, Volume, checked_slice
from semblance.core.language import tr_lazy

#: The array in the file of a volume with the mm along slices, rows and columns.
SPACING = "spacing"

_COLOURS = (1, 3)


class FileStack(Stack):
    """Slices in separate files, in the order of their addresses.

    The geometry is that of the first slice; the slice distance is known for DICOM only.
    """

    def __init__(self, address: ImageAddress, opened: Callable[[ImageAddress], Image]) -> None:
        """``opened`` decodes one slice. ``find_positions``: as :meth:`positions`, once it is set.

        Raises:
            BadInput: the first slice cannot be read.
        """
        self.name = str(address)
        self._slices, self._opened = address.slices, opened
        self.find_positions: Callable[[], npt.NDArray[np.float64] | None] = lambda: None
        first = opened(self._slices[0])
        self.shape = (len(self._slices), first.height, first.width)

    def image(self, index: int) -> Image:
        """
        Raises:
            BadInput: no such slice, its file is missing or damaged, or of another size than the first.
        """
        found = self._opened(self._slices[checked_slice(self, index)])
        if (found.height, found.width) != self.shape[1:]:
            raise BadInput(
                tr_lazy(
                    "'{found}' is {width} x {height} pixels, the volume's first slice {shape} x {shape2}.",
                    found=found.name,
                    width=found.width,
                    height=found.height,
                    shape=self.shape[2],
                    shape2=self.shape[1],
                ),
                "Import the series again.",
            )
        return found

    def positions(self) -> npt.NDArray[np.float64] | None:
        """As the headers of the slices have them."""
        return self.find_positions()


def is_volume_shape(shape: tuple[int, ...]) -> bool:
    """Whether an array of ``shape`` is a volume: (depth, h, w), also with one channel at the end; (h, w, 1) and
    (h, w, 3) are images."""
    if len(shape) == 4:
        return shape[3] == 1
    return len(shape) == 3 and shape[2] not in _COLOURS


def stored_spacing(spacing: npt.NDArray[Any], row: int | None) -> Spacing | None:
    """The spacing in mm from the array ``SPACING`` of the same file, for all volumes or for one ``row``.

    ``spacing``: (3,) of all or (n, 3) of each. ``None`` where its values are not possible.
    """
    if spacing.dtype.kind not in "iuf":
        return None
    own = spacing[row] if spacing.ndim == 2 and row is not None and row < len(spacing) else spacing
    if own.shape != (3,) or not np.isfinite(own).all() or not (own > 0).all():
        return None
    z, y, x = own.tolist()
    return float(z), float(y), float(x)


def array_stack(
    values: npt.NDArray[Any], name: str, spacing_mm: Spacing | None = None, scale: ValueScale | None = None
) -> ArrayStack:
    """An array as a volume: (depth, h, w) or (depth, h, w, 1) of any numbers, or (depth, h, w, 3) colours of 8 bits.

    ``scale``: what the numbers mean. CT is shown from -1,024 to 1,024 HU.

    Bytes, 16-bit numbers and 32-bit floats stay as they are; other whole numbers become 16 bits where they
    fit, or floats. Bytes are shown on their full scale; of other numbers the least is black and the
    greatest white, so that all slices share one scale.

    Raises:
        BadInput: another shape, no voxels, or no number in any of them.
    """
    voxels = values[..., 0] if values.ndim == 4 and values.shape[3] == 1 else values
    meaning = ValueScale() if scale is None else scale
    if voxels.ndim == 4 and voxels.shape[3] == 3 and voxels.dtype == np.uint8 and voxels.size:
        return ArrayStack(Volume(np.ascontiguousarray(voxels), spacing_mm=spacing_mm, name=name))
    if voxels.ndim != 3 or voxels.size == 0:
        shape = " x ".join(str(side) for side in values.shape) or "no"
        raise BadInput(
            tr_lazy("'{name}' is an array of {shape} numbers, not a volume.", name=name, shape=shape),
            "A volume is slices x rows x columns.",
        )
    if voxels.dtype.kind not in "biuf":
        raise BadInput(
            tr_lazy("'{name}' contains text, not voxels.", name=name), "Save the voxels as numbers."
        )
    if voxels.dtype.kind == "b":
        voxels = voxels.astype(np.uint8) * np.uint8(255)
    if voxels.dtype == np.uint8:
        return ArrayStack(Volume(np.ascontiguousarray(voxels), meaning, spacing_mm, name))
    if voxels.dtype.kind == "f" and not np.isfinite(voxels).all():
        # Refuses an array without finite numbers; otherwise NaN becomes the lowest value.
        unit_range(voxels.ravel(), name)
        voxels = np.where(np.isfinite(voxels), voxels, voxels[np.isfinite(voxels)].min())
    if voxels.dtype == np.float64:
        voxels = np.clip(voxels, -LARGEST, LARGEST)
    low, high = float(voxels.min()), float(voxels.max())
    voxels = np.ascontiguousarray(voxels, dtype=_voxel_type(voxels.dtype, low, high))
    white = high if high > low else low + max(1.0, abs(low) * 1e-6)
    if meaning.unit == "HU":
        low, white = ((edge - meaning.intercept) / meaning.slope for edge in HU_RANGE)
    return ArrayStack(Volume(voxels, meaning, spacing_mm, name, black=low, white=white))


def _voxel_type(dtype: np.dtype[Any], low: float, high: float) -> Any:
    if dtype.kind == "f":
        return np.float32
    if low >= 0 and high <= 65535:
        return np.uint16
    return np.int16 if low >= -32768 and high <= 32767 else np.float32
