"""CT blocks of known shapes: tissue of 40 HU bulging into air of -1000 HU."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
import numpy.typing as npt

from semblance.core.imaging.volume import ArrayStack, Spacing, Volume

Numbers = npt.NDArray[np.float64]
#: Signed distance in mm to the surface, below 0 within tissue, of points (z, y, x) in mm.
Shape = Callable[[Numbers, Numbers, Numbers], Numbers]

AIR, TISSUE = -1000.0, 40.0


def ball_on_wall(radius: float, rise: float = 0.0, wall: float = 0.0) -> Shape:
    """A ball with its middle ``rise`` mm above a plane at z = ``wall``; the lumen is above."""
    return lambda z, y, x: np.minimum(z - wall, np.sqrt((z - wall - rise) ** 2 + y * y + x * x) - radius)


def rod_on_wall(radius: float) -> Shape:
    """Half a cylinder along x on the plane z = 0."""
    return lambda z, y, x: np.minimum(z, np.sqrt(z * z + y * y) - radius) + 0 * x


def plane(z: Numbers, y: Numbers, x: Numbers) -> Numbers:
    return z + 0 * y + 0 * x


def ct_of(
    shape: Shape,
    size: tuple[int, int, int] = (57, 57, 57),
    spacing: Spacing = (1.0, 1.0, 1.0),
    *,
    centre: tuple[float, float, float] | None = None,
    noise: float = 0.0,
) -> npt.NDArray[np.int16]:
    """Hounsfield units of a scan whose voxel ``centre`` (default: the middle) is the origin of ``shape``.

    Voxels cut by the surface hold the share of tissue in them.
    """
    middle = centre or tuple((side - 1) / 2 for side in size)
    axes = [(np.arange(n) - c) * mm for n, c, mm in zip(size, middle, spacing, strict=True)]
    z, y, x = np.meshgrid(*axes, indexing="ij", sparse=True)
    share = np.clip(0.5 - shape(z, y, x) / float(np.mean(spacing)), 0.0, 1.0)
    hu = AIR + (TISSUE - AIR) * share
    if noise:
        hu = hu + np.random.default_rng(0).normal(0.0, noise, size)
    return np.rint(hu).astype(np.int16)


def stack_of(hu: npt.NDArray[np.int16], spacing: Spacing | None = (1.0, 1.0, 1.0)) -> ArrayStack:
    return ArrayStack(Volume(hu, spacing_mm=spacing, name="scan"))
