"""Results come from the file, of slices, of planes across them and of slabs, with their own spacing."""

from __future__ import annotations

import numpy as np
import pytest

from semblance.core.imaging import ImageAddress
from semblance.core.imaging.measurements import Figure
from semblance.core.imaging.region import Region
from semblance.core.imaging.slab import Slab, SlabMode
from semblance.core.workflows.imaging.measure_figures import measure_figures
from tests.helpers.dicom_files import ct_series

REGION = Figure.of_region(Region(1, 1, 2, 2))


@pytest.fixture
def volume(tmp_path):
    """A series whose slices have the HU 0, 10, 20 ..., with its spacing."""
    files = ct_series(tmp_path)
    parts = tuple(ImageAddress(path) for path in files)
    return ImageAddress(tmp_path, slices=parts)


def test_slices_planes_and_slabs(volume):
    from semblance.core.workflows.imaging.library_cache import stack_cache

    stack = stack_cache.get(volume)
    voxels = np.stack([stack.image(place).physical_values() for place in range(len(stack))])
    depth, row, column = stack.spacing_mm
    line = Figure("line", ((0, 0), (0, 2)))
    slab = Slab(SlabMode.MAXIMUM, 2 * depth)
    figures = [
        REGION.placed(2),
        line.placed(2),
        REGION.placed(None, (0, 1), slab),
        line.placed(None, (1, 3)),
        Figure.of_region(Region(500, 500, 4, 4)).placed(0),
    ]
    found = measure_figures(None, volume, figures)
    inside = voxels[2, 1:3, 1:3]
    assert found[0].statistics.mean == pytest.approx(inside.mean())
    assert found[0].area == pytest.approx(4 * row * column)
    assert found[0].unit == "HU"
    assert found[1].length == pytest.approx(2 * row)
    first, behind = slab.extent(1, len(stack), depth)
    assert found[2].statistics.mean == pytest.approx(voxels[first:behind, 1:3, 1:3].max(axis=0).mean())
    assert found[3].length == pytest.approx(2 * depth)
    assert found[4].statistics is None
