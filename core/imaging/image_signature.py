"""Signatures of images to find near-duplicates: re-saved, resized or annotated copies."""

from __future__ import annotations

import io
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

#: Pixels along each side of the small image that is compared, and of that of its detail.
SIDE, DETAIL_SIDE = 24, 32
#: Near-duplicates have small versions that correlate at least this much, and proportions that differ at most so.
DUPLICATE_CORRELATION, MAX_LOG_ASPECT_DIFFERENCE = 0.995, 0.02
#: Or small versions that correlate almost as much, and detail that does: the next frame of one ultrasound, or a
#: copy with callipers. Between BUSI frames of one lesion it is .90 to .99; between mammograms of different
#: women (MIAS), which are smooth and of one shape, at most .87.
CANDIDATE_CORRELATION, DETAIL_CORRELATION = 0.97, 0.9
#: Width of what is taken for shading, in pixels of the detail; and the contrast below which it is noise.
_SHADING, _NOISE = 2.0, 2.0


@dataclass(frozen=True, eq=False)
class ImageSignature:
    """``coarse`` (SIDE²,) and ``detail`` (DETAIL_SIDE²,) of mean 0 and length 1, and width by height."""

    coarse: npt.NDArray[np.float32]
    detail: npt.NDArray[np.float32]
    proportion: float


def near_duplicate_pairs(signatures: Sequence[ImageSignature]) -> npt.NDArray[np.bool_]:
    """(n, n) which of n images are near-duplicates of each other, judged by their small versions."""
    coarse = np.array([one.coarse for one in signatures]).reshape(len(signatures), SIDE * SIDE)
    proportions = np.log([one.proportion for one in signatures])
    correlation = coarse @ coarse.T
    same_proportions: npt.NDArray[np.bool_] = correlation >= DUPLICATE_CORRELATION
    # Few pairs are candidates, and detail has many values.
    for one, other in np.argwhere(
        np.triu((correlation >= CANDIDATE_CORRELATION) & ~same_proportions, 1)
    ).tolist():
        similar = float(signatures[one].detail @ signatures[other].detail) >= DETAIL_CORRELATION
        same_proportions[one, other] = same_proportions[other, one] = similar
    same_proportions &= np.abs(proportions[:, None] - proportions) <= MAX_LOG_ASPECT_DIFFERENCE
    return same_proportions


def image_signature(encoded: bytes) -> ImageSignature | None:
    """The signature of an encoded image (JPEG or PNG); ``None`` for a uniform image."""
    from PIL import Image

    with Image.open(io.BytesIO(encoded)) as decoded:
        grey = decoded.convert("L")
        small, fine = (
            np.asarray(grey.resize((side, side), Image.Resampling.BOX), dtype=np.float64)
            for side in (SIDE, DETAIL_SIDE)
        )
    if float(np.linalg.norm(small - small.mean())) < SIDE:
        return None
    return ImageSignature(_unit(small), _unit(_detail(fine)), grey.width / grey.height)


def _detail(fine: npt.NDArray[np.float64]) -> npt.NDArray[np.float64]:
    """The image without its shading, normalised to equal contrast everywhere."""
    from scipy.ndimage import gaussian_filter

    edges = fine - gaussian_filter(fine, _SHADING)
    strength: npt.NDArray[np.float64] = np.sqrt(gaussian_filter(edges * edges, _SHADING))
    return np.asarray(edges / (strength + _NOISE))


def _unit(values: npt.NDArray[np.float64]) -> npt.NDArray[np.float32]:
    flat = values.reshape(-1) - values.mean()
    return np.asarray(flat / max(float(np.linalg.norm(flat)), 1e-9), dtype=np.float32)
