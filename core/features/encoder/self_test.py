"""Whether the encoder gives the numbers it must for three drawn images.

A wrong stride, padding, order of channels or scaling still gives numbers that retrieve plausibly, so only known
outputs show it. Those of the ramp and the disc are independent of this program. The third image has colours; its
numbers are those of the graph that recognises scikit-image's photographs, which the tests repeat.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from semblance.core.errors import BadInput
from semblance.core.features.encoder.efficientnet import SIDE, WIDTH
from semblance.core.language import tr_lazy

Floats = npt.NDArray[np.float32]
Bytes = npt.NDArray[np.uint8]

#: Rounding differs between processors by less than a tenth of this.
_TOLERANCE = 2e-3


@dataclass(frozen=True)
class _Known:
    """An image (SIDE, SIDE, 3) and, of its numbers, the Euclidean norm, the third, and the place of the largest."""

    name: str
    pixels: Callable[[], Bytes]
    norm: float
    third: float
    largest: int


def ramp() -> Bytes:
    """Every pixel is the number of its column, in all channels."""
    row = np.arange(SIDE, dtype=np.uint8)
    return np.broadcast_to(row[np.newaxis, :, np.newaxis], (SIDE, SIDE, 3)).copy()


def disc() -> Bytes:
    """White where less than 60 pixels from row and column 112, else black."""
    y, x = np.mgrid[:SIDE, :SIDE] - 112
    inside = (x * x + y * y < 60 * 60).astype(np.uint8) * np.uint8(255)
    return np.repeat(inside[:, :, np.newaxis], 3, axis=2)


def colours() -> Bytes:
    """Red is the number of the column, green that of the row, blue falls from left to right."""
    y, x = np.mgrid[:SIDE, :SIDE]
    return np.stack([x, y, 255 - x], axis=2).astype(np.uint8)


_KNOWN = (
    _Known("ramp", ramp, 15.967, 3.0996, 29),
    _Known("disc", disc, 14.390, 2.4086, 828),
    _Known("colours", colours, 14.574, 0.4864, 113),
)


def check_encoder(measure: Callable[[list[Bytes]], Floats]) -> None:
    """Check what ``measure`` gives, (n, 1280), for images (224, 224, 3).

    Raises:
        BadInput: other numbers than it must.
    """
    rows = measure([known.pixels() for known in _KNOWN])
    for known, row in zip(_KNOWN, rows, strict=True):
        close = abs(float(np.linalg.norm(row)) - known.norm) < _TOLERANCE
        close = close and abs(float(row[2]) - known.third) < _TOLERANCE
        if len(row) != WIDTH or not close or int(row.argmax()) != known.largest:
            raise BadInput(
                tr_lazy("The encoder gives wrong numbers for the test image '{name}'.", name=known.name),
                "Install Semblance again. If it happens again, this version of onnxruntime cannot be used.",
            )
