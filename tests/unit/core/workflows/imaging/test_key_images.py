"""Key images are kept with their case, printed as they were shown, and named by key objects."""

from __future__ import annotations

import numpy as np
import pytest

from semblance.core.imaging.image_address import ImageAddress
from semblance.core.imaging.slab import Slab, SlabMode
from semblance.core.library.annotations import Annotation
from semblance.core.library.open_library import open_library
from semblance.core.workflows.imaging import view_planes
from semblance.core.workflows.imaging.key_images import KeyImage, key_images, mark_key_image, open_key_image
from semblance.core.workflows.imaging.library_cache import close_libraries
from semblance.core.workflows.library.import_source import import_source
from tests.helpers.dicom_files import ct_series


@pytest.fixture
def series(tmp_path):
    """A library with a series of six slices; its location and the row of the series."""
    ct_series(tmp_path / "series")
    import_source(tmp_path / "series", tmp_path / "lib")
    with open_library(tmp_path / "lib") as library:
        (row,) = (one.id for one in library.catalogue.all_cases())
    yield tmp_path / "lib", row
    close_libraries()


def test_a_mark_is_kept_and_taken_away_and_others_stay(series):
    location, row = series
    with open_library(location) as library:
        case = library.catalogue.details([row])[row].case_id
        library.annotations.replace(case, [Annotation("line", {"points": []}, 2)])
    slab = KeyImage(4, (-100.0, 300.0), True, Slab(SlabMode.MINIMUM, 6.0))
    assert mark_key_image(location, row, slab, is_marked=True) == (slab,)
    first = KeyImage(1, (0.0, 80.0))
    assert mark_key_image(location, row, first, is_marked=True) == (first, slab)
    assert key_images(location, row) == (first, slab)
    # The same slice is marked once, as it is shown now.
    again = KeyImage(4)
    assert mark_key_image(location, row, again, is_marked=True) == (first, again)
    assert mark_key_image(location, row, again, is_marked=False) == (first,)
    with open_library(location) as library:
        assert [one.kind for one in library.annotations.of_case(case)] == ["line", "key_image"]


def test_a_key_image_is_opened_as_it_was_marked(tmp_path):
    voxels = np.arange(5 * 3 * 4, dtype=np.int16).reshape(5, 3, 4)
    np.savez(tmp_path / "volume.npz", ct=voxels)
    address = ImageAddress(tmp_path / "volume.npz", "ct")
    image = open_key_image(address, KeyImage(3, (10.0, 50.0), True))
    assert np.array_equal(image.pixels, voxels[3])
    assert (image.values.windows[0].low, image.values.windows[0].high, image.values.inverse) == (10, 50, True)
    slab = KeyImage(2, slab=Slab(SlabMode.MAXIMUM, 3))
    assert np.array_equal(open_key_image(address, slab).pixels, voxels[1:4].max(axis=0))
    assert slab.caption == "Slice 3, MIP 3 mm"
    view_planes.forget_volume()


@pytest.mark.parametrize("data", [{"window": [1]}, {"window": "x", "slab": {}}, {"slab": {"mode": "?"}}])
def test_damaged_entries_leave_the_slice(data):
    assert KeyImage.of(2, data) == KeyImage(2)
