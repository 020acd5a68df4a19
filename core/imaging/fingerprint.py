"""A picture's fingerprint: what stays the same when it is saved anew, resized, or made a little brighter."""

from __future__ import annotations

import io
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

#: Pixels along each side of the small picture that is compared.
SIDE = 24
#: Pictures are alike whose small forms correlate so much, and whose proportions differ at most so.
LEAST_ALIKE, MOST_STRETCHED = 0.995, 0.02


@dataclass(frozen=True, eq=False)
class Fingerprint:
    """``greys`` (SIDE * SIDE,) of mean 0 and length 1, and width by height."""

    greys: npt.NDArray[np.float64]
    proportion: float


def pairs_alike(prints: Sequence[Fingerprint]) -> npt.NDArray[np.bool_]:
    """(n, n) which of n pictures are of one, as far as small ones tell."""
    greys = np.array([one.greys for one in prints]).reshape(len(prints), SIDE * SIDE)
    proportions = np.log([one.proportion for one in prints])
    same: npt.NDArray[np.bool_] = greys @ greys.T >= LEAST_ALIKE
    same &= np.abs(proportions[:, None] - proportions) <= MOST_STRETCHED
    return same


def fingerprint(encoded: bytes) -> Fingerprint | None:
    """Of an encoded picture (JPEG or PNG); ``None`` for an even one, which is like every other."""
    from PIL import Image

    with Image.open(io.BytesIO(encoded)) as opened:
        grey = opened.convert("L")
        small = np.asarray(grey.resize((SIDE, SIDE), Image.Resampling.BOX), dtype=np.float64).reshape(-1)
    small = small - small.mean()
    length = float(np.sqrt(small @ small))
    if length < SIDE:
        return None
    return Fingerprint(small / length, grey.width / grey.height)
