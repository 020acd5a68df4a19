"""Slabs against a plain loop over the voxels of each ray."""

from __future__ import annotations

import numpy as np
import pytest

from semblance.core.imaging.cut_planes import cut_planes
from semblance.core.imaging.image import ValueScale
from semblance.core.imaging.slab import Slab, SlabMode, slab_image
from semblance.core.imaging.slice_grid import SliceGrid
from semblance.core.imaging.volume import Volume

SPACING = (2.5, 0.7, 1.3)
#: As stored, from the feet upwards, and with rows and columns the other way round.
DIRECTIONS = [None, ("I", "P", "L"), ("S", "P", "L"), ("L", "I", "P"), ("P", "R", "S")]
OF_RAY = {SlabMode.MAXIMUM: max, SlabMode.MINIMUM: min, SlabMode.AVERAGE: lambda ray: sum(ray) / len(ray)}


def reference(volume, plane, place, mode, planes):
    """Values, voxel by voxel: :meth:`CutPlane.voxel` says which voxel lies at a pixel."""
    shape = volume.voxels.shape
    first = place - (planes - 1) // 2
    out = np.empty((shape[plane.down], shape[plane.right]))
    for y, x in np.ndindex(*out.shape):
        voxel = list(plane.voxel(x + 0.5, y + 0.5, place, shape))
        ray = []
        for at in range(max(0, first), min(shape[plane.across], first + planes)):
            voxel[plane.across] = at
            ray.append(float(volume.voxels[tuple(voxel)]) * volume.values.slope + volume.values.intercept)
        out[y, x] = OF_RAY[mode](ray)
    return out


@pytest.mark.parametrize("mode", SlabMode)
@pytest.mark.parametrize("directions", DIRECTIONS)
def test_a_slab_has_the_values_of_a_plain_loop(mode, directions):
    rng = np.random.default_rng(3)
    volume = Volume(rng.integers(-1000, 3000, (9, 7, 11)).astype(np.int16), ValueScale(0.5, -12), SPACING)
    if directions == DIRECTIONS[-1]:
        volume = Volume(rng.normal(size=(5, 6, 7)).astype(np.float32), ValueScale(-2.0, 3.0), SPACING)
    for plane in cut_planes(directions):
        count, step = volume.voxels.shape[plane.across], SPACING[plane.across]
        for place, planes in ((count // 2, 3), (0, 4), (count - 1, 2), (1, 100), (2, 1)):
            image, thickness = slab_image(volume, plane, place, Slab(mode, planes * step))
            values = image.pixels.astype(np.float64) * volume.values.slope + volume.values.intercept
            expected = reference(volume, plane, place, mode, planes)
            assert np.allclose(values, expected, rtol=2e-7, atol=2e-4 if mode is SlabMode.AVERAGE else 0)
            first, behind = Slab(mode, planes * step).extent(place, count, step)
            assert thickness == pytest.approx((behind - first) * step)
            assert image.spacing_mm == plane.spacing(SPACING)


def test_slices_of_a_tilted_gantry_are_projected_where_they_lie():
    voxels = np.random.default_rng(0).integers(0, 900, (6, 12, 8)).astype(np.int16)
    positions = np.column_stack([np.arange(6) * 2.0, np.arange(6) * 1.0, np.zeros(6)])
    grid = SliceGrid.of(positions)
    straight = grid.volume(Volume(voxels, spacing_mm=(2.0, 1.0, 1.0)))
    image, _ = slab_image(straight, cut_planes(None)[0], 3, Slab(SlabMode.MAXIMUM, 6.0))
    # Slice z lies z - 3 pixels lower than the middle one.
    moved = [np.roll(voxels[z], z - 3, axis=0)[1:-1] for z in (2, 3, 4)]
    assert np.array_equal(image.pixels[1:-1], np.max(moved, axis=0))


@pytest.mark.parametrize("mode", SlabMode)
def test_padding_counts_only_where_nothing_else_is(mode):
    voxels = np.array([[[-2000, 5]], [[7, -2000]], [[-2000, -2000]]], np.int16)[..., [0, 1]]
    voxels = np.concatenate([voxels, np.full((3, 1, 1), -2000, np.int16)], axis=2)
    volume = Volume(voxels, ValueScale(padding=(-2000, -2000)))
    image, thickness = slab_image(volume, cut_planes(None)[0], 1, Slab(mode, 3))
    assert image.pixels.tolist() == [[7, 5, -2000]]
    assert thickness == 3
