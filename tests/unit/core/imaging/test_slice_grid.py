from __future__ import annotations

import numpy as np
import pytest

from semblance.core.imaging import ImageAddress, ImageReader
from semblance.core.imaging.slice_grid import SliceGrid
from tests.helpers.dicom_files import ct_slice, save

COSINE, SINE = np.cos(np.radians(20)), np.sin(np.radians(20))


def stack_of(folder, places, orientation):
    """Slices at mm ``places`` along the table, each with a rod along the normal through one point of the patient."""
    cosines = np.array(orientation)
    normal = np.cross(cosines[:3], cosines[3:])
    through = np.array([8.0, 10.0, 0.0])
    addresses = []
    for number, z in enumerate(places):
        pixels = np.full((64, 48), -1000, np.int16)
        position = np.array([0.0, 0.0, z])
        hit = through + normal * (normal @ (position - through))
        right, down = (round(float((hit - position) @ axis / 0.5)) for axis in (cosines[:3], cosines[3:]))
        pixels[down, right] = 100 + number
        dataset = ct_slice(pixels, number)
        dataset.ImagePositionPatient = position.tolist()
        dataset.ImageOrientationPatient = cosines.tolist()
        save(dataset, folder / f"{number}.dcm")
        addresses.append(ImageAddress(folder / f"{number}.dcm"))
    return ImageAddress(folder, slices=tuple(addresses))


@pytest.mark.parametrize(
    "orientation", [(1, 0, 0, 0, COSINE, -SINE), (1, 0, 0, 0, COSINE, SINE), (1, 0, 0, 0, 1, 0)]
)
@pytest.mark.parametrize(
    "places", [np.arange(0, 24, 3.0), np.array([0.0, 3, 6, 15, 18, 21]), np.arange(24, 0, -3.0)]
)
def test_a_rod_along_the_normal_is_straight_on_the_grid(tmp_path, orientation, places):
    with ImageReader() as reader, reader.stack(stack_of(tmp_path, places, orientation)) as stack:
        volume, positions = stack.volume(), stack.positions()
    grid = SliceGrid.of(positions)
    is_regular = orientation[4] == 1 and len(places) == 8
    assert (grid is None) == is_regular
    if grid is None:
        return
    straight = grid.volume(volume)
    rods = [np.argwhere(one > 0) for one in straight.voxels]
    # Whole pixels are moved.
    assert np.ptp(np.concatenate(rods), axis=0).max() <= 1
    # A missing slice stays a gap, in which the nearest is shown.
    assert len(straight.voxels) == 8
    assert straight.spacing_mm[0] == pytest.approx(3 * orientation[4])
    for place in range(8):
        (z, y, x), at = grid.original((place, 30, 20), volume.voxels.shape), (place, 30, 20)
        assert grid.straight((z, y, x), volume.voxels.shape)[1:] == at[1:]
        assert straight.voxels[place].max() == 100 + z


def test_slices_in_one_place_have_no_grid():
    assert SliceGrid.of(np.zeros((4, 3))) is None
    assert SliceGrid.of(np.zeros((1, 3))) is None
