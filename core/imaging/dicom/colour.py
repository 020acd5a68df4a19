"""Colours of DICOM as red, green and blue."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np
import numpy.typing as npt

from semblance.core.errors import BadInput
from semblance.core.imaging.dicom.dicom_file import COPY_AGAIN
from semblance.core.imaging.dicom.lookup_tables import palette_of
from semblance.core.language import tr_lazy

if TYPE_CHECKING:
    from pydicom import Dataset

#: PS3.3 C.7.6.3.1.2, full range: R = Y + 1.402 Cr and so on, from (Y, Cb, Cr).
_FULL = np.array([[1, 0, 1.402], [1, -0.344136, -0.714136], [1, 1.772, 0]], dtype=np.float32)
#: The same for YBR_PARTIAL_420 and 422, whose Y runs from 16 to 235.
_PARTIAL = np.array([[1.1644, 0, 1.5960], [1.1644, -0.3917, -0.8130], [1.1644, 2.0173, 0]], dtype=np.float32)
_BLOCK_ROWS = 256


def to_rgb(values: npt.NDArray[Any], photometric: str, name: str) -> npt.NDArray[Any]:
    """(h, w, 3) uint8 or uint16 RGB from three samples a pixel.

    Raises:
        BadInput: samples of more than 16 bits that are no plain RGB, or no known colours.
    """
    if photometric in ("RGB", "YBR_RCT", "YBR_ICT"):
        return _to_16_bits(values)
    if values.dtype != np.uint8 or not photometric.startswith("YBR_"):
        raise BadInput(
            tr_lazy(
                "'{name}' has colours of a kind that cannot be read ({photometric}).",
                name=name,
                photometric=photometric,
            ),
            COPY_AGAIN,
        )
    matrix, lowest = (_PARTIAL, 16.0) if "PARTIAL" in photometric else (_FULL, 0.0)
    out = np.empty(values.shape, np.uint8)
    for start in range(0, len(values), _BLOCK_ROWS):
        rows = values[start : start + _BLOCK_ROWS].astype(np.float32)
        rows -= np.array([lowest, 128.0, 128.0], dtype=np.float32)
        mixed = rows @ matrix.T
        out[start : start + _BLOCK_ROWS] = np.clip(np.rint(mixed), 0, 255)
    return out


def from_palette(
    values: npt.NDArray[Any], dataset: Dataset, name: str, *, little: bool = True
) -> npt.NDArray[Any]:
    """(h, w, 3) uint8 or uint16 RGB of indices into the palette (PS3.3 C.7.6.3.1.5 and .6).

    Raises:
        BadInput: the palette is missing or too short.
    """
    lowest = -1.0 if values.dtype.kind == "i" else 0.0
    tables = palette_of(dataset, lowest, little=little)
    if tables is None:
        raise BadInput(tr_lazy("'{name}' has no colour palette.", name=name), COPY_AGAIN)
    kind = np.uint8 if max(table.bits for table in tables) <= 8 else np.uint16
    return np.stack([table.mapped(values).astype(kind) for table in tables], axis=2)


def _to_16_bits(values: npt.NDArray[Any]) -> npt.NDArray[Any]:
    if values.dtype.itemsize > 2:
        return (values.view(np.uint32) >> np.uint32(16)).astype(np.uint16)
    return values.view(np.uint8 if values.dtype.itemsize == 1 else np.uint16)
