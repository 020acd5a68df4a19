"""Planes across a volume: the right voxels, held as radiologists hold them."""

from __future__ import annotations

import itertools

import numpy as np
import pytest

from semblance.core.imaging.cut_planes import cut_planes
from semblance.core.imaging.image import ValueScale
from semblance.core.imaging.volume import Volume

SHAPE = (3, 4, 5)
VOXELS = np.arange(60, dtype=np.int16).reshape(SHAPE)
#: Every way the three axes can run along the patient's, each way round.
DIRECTIONS = [
    letters for order in itertools.permutations(("LR", "AP", "SI")) for letters in itertools.product(*order)
]
OPPOSITE = dict(zip("LRAPSI", "RLPAIS", strict=True))


@pytest.mark.parametrize("directions", [None, *DIRECTIONS])
def test_every_pixel_of_a_plane_is_the_voxel_it_says(directions):
    for plane in cut_planes(directions):
        for place in range(SHAPE[plane.across]):
            cut = plane.cut(VOXELS, place)
            for y, x in np.ndindex(cut.shape):
                voxel = plane.voxel(x + 0.3, y + 0.6, place, SHAPE)
                assert VOXELS[voxel] == cut[y, x]
                assert plane.point(voxel, SHAPE) == (x + 0.5, y + 0.5)


@pytest.mark.parametrize("directions", DIRECTIONS)
def test_planes_across_the_slices_are_held_as_radiologists_do(directions):
    own, *others = cut_planes(directions)
    assert (own.across, own.down, own.right, own.from_last) == (0, 1, 2, (False, False))
    assert len({plane.name for plane in (own, *others)}) == 3
    for plane in others:
        left, top, right, bottom = plane.edges
        expected = {"Axial": "RALP", "Coronal": "RSLI", "Sagittal": "ASPI"}[plane.name]
        assert left + top + right + bottom == expected


@pytest.mark.parametrize("directions", DIRECTIONS)
def test_letters_say_where_the_axes_run(directions):
    for plane in cut_planes(directions):
        left, top, right, bottom = plane.edges
        for axis, last, less, more in (
            (plane.down, plane.from_last[0], top, bottom),
            (plane.right, plane.from_last[1], left, right),
        ):
            towards = OPPOSITE[directions[axis]] if last else directions[axis]
            assert (less, more) == (OPPOSITE[towards], towards)


def test_without_directions_nothing_is_turned_and_no_side_is_named():
    planes = cut_planes(None)
    assert [plane.name for plane in planes] == ["Slice", "Row", "Column"]
    assert [plane.edges for plane in planes] == [None, None, None]
    assert np.array_equal(planes[1].cut(VOXELS, 2), VOXELS[:, 2, :])
    assert np.array_equal(planes[2].cut(VOXELS, 4), VOXELS[:, :, 4])


def test_an_oblique_volume_with_two_axes_along_one_side_names_no_sides():
    # At 45 degrees slices and rows may both lie nearest to the same axis of the patient.
    planes = cut_planes(("S", "I", "L"))
    assert planes[2].edges is None
    for plane in planes:
        assert plane.cut(VOXELS, 0).size == VOXELS.size // SHAPE[plane.across]


def test_points_outside_are_the_nearest_voxel():
    plane = cut_planes(("S", "P", "L"))[1]
    assert plane.voxel(-3, 99, 2, SHAPE) == (0, 2, 0)
    assert plane.voxel(99, -1, 2, SHAPE) == (2, 2, 4)


def test_a_plane_has_its_own_spacing_and_the_volumes_values():
    volume = Volume(VOXELS, ValueScale(2.0, -10.0, "HU"), (3.0, 0.5, 0.7), "v")
    for plane, spacing in zip(cut_planes(("S", "P", "L")), [(0.5, 0.7), (3.0, 0.7), (3.0, 0.5)], strict=True):
        image = plane.image(volume, 1)
        assert image.spacing_mm == spacing
        assert image.values == volume.values
    assert cut_planes(None)[1].spacing(None) is None
