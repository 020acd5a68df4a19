"""Outlines of regions enclose exactly their pixels."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from hypothesis.extra.numpy import arrays
from pydicom import Dataset
from skimage.draw import polygon2mask

from semblance.core.errors import BadInput
from semblance.core.imaging.outline import Ellipse, MaskOutline, Polygon
from semblance.core.imaging.region import Region, region_of_mask
from semblance.core.reports.dicom import structured_report
from semblance.core.reports.dicom.structured_report import (
    MAX_CORNERS,
    RegionOutline,
    image_regions,
    polylines,
)
from tests.helpers.dicom_files import CT, ROOT


def enclosed(outlines, height: int, width: int) -> np.ndarray:
    """How many of ``outlines`` enclose the middle of each pixel, by an implementation that is not ours."""
    count = np.zeros((height, width), dtype=int)
    for outline in outlines:
        # The middle of the first pixel is (0.5, 0.5) in these coordinates, and (0, 0) in those of scikit-image.
        count += polygon2mask((height, width), np.array(outline)[:, ::-1] - 0.5 + 1e-7)
    return count


def test_a_rectangle_begins_at_the_corner_of_its_first_pixel():
    assert polylines(Region(4, 6, 10, 8), 48, 48) == [((4, 6), (14, 6), (14, 14), (4, 14), (4, 6))]
    # The whole image: from the corner of the first pixel to that of the last.
    assert polylines(Region(0, 0, 48, 32), 32, 48)[0][2] == (48, 32)


def test_a_region_that_reaches_beyond_the_image_is_cut():
    assert polylines(Region(-3, 40, 10, 20), 48, 48) == [((0, 40), (7, 40), (7, 48), (0, 48), (0, 40))]
    with pytest.raises(BadInput, match="outside"):
        polylines(Region(60, 0, 5, 5), 48, 48)


def test_a_drawn_outline_keeps_its_corners():
    points = ((1.25, 0.5), (9.0, 3.0), (2.0, 7.5))
    (outline,) = polylines(Region(10, 20, 9, 8, Polygon(points)), 48, 48)
    assert outline == tuple((x + 10, y + 20) for x, y in (*points, points[0]))


@pytest.mark.parametrize("size", [(1, 1), (2, 3), (11, 11), (40, 17), (200, 300)])
def test_an_ellipse_encloses_its_pixels(size):
    width, height = size
    region = Region(3, 5, width, height, Ellipse.filling(width, height))
    found = enclosed(polylines(region, 320, 320), 320, 320)
    assert np.array_equal(found, region.mask(320, 320).astype(int))


@settings(max_examples=200, deadline=None)
@given(arrays(np.bool_, st.tuples(st.integers(1, 9), st.integers(1, 9)), elements=st.booleans()))
def test_any_pixels_are_enclosed_once(mask):
    if not mask.any():
        return
    image = np.zeros((12, 12), dtype=bool)
    image[1 : 1 + mask.shape[0], 2 : 2 + mask.shape[1]] = mask
    outlines = polylines(region_of_mask(image), 12, 12)
    assert np.array_equal(enclosed(outlines, 12, 12), image.astype(int))
    assert all(outline[0] == outline[-1] and len(outline) > 4 for outline in outlines)


def test_a_part_with_more_corners_than_dicom_can_hold_is_cut(monkeypatch):
    assert 8 * MAX_CORNERS < 2**16
    monkeypatch.setattr(structured_report, "MAX_CORNERS", 20)
    mask = np.zeros((20, 40), dtype=bool)
    mask[10:] = True
    mask[5:10, ::2] = True
    outlines = polylines(region_of_mask(mask), 20, 40)
    assert len(outlines) > 1 and max(map(len, outlines)) <= 20
    assert np.array_equal(enclosed(outlines, 20, 40), mask.astype(int))


def test_of_a_volume_each_slice_has_its_own_outline():
    voxels = np.zeros((3, 10, 10), dtype=bool)
    voxels[0, 2:4, 2:4] = voxels[2, 5:8, 1:9] = True
    region = region_of_mask(voxels, z=4)
    assert isinstance(region.outline, MaskOutline)
    assert region.on_slice(5) is None
    for place, slice_mask in ((4, voxels[0]), (6, voxels[2])):
        found = enclosed(polylines(region.on_slice(place), 10, 10), 10, 10)
        assert np.array_equal(found, slice_mask.astype(int))


@pytest.mark.parametrize("frame", [None, 2])
@pytest.mark.parametrize("uid", [CT, "1.2.840.10008.5.1.4.1.1.3", "1.2.840.10008.5.1.4.1.1.6", f"{ROOT}.99"])
def test_images_of_retired_and_private_classes_are_referred_to(uid, frame):
    header = Dataset()
    header.SOPClassUID, header.SOPInstanceUID = uid, f"{ROOT}.1"
    (region,) = image_regions([RegionOutline(header, ((0, 0), (4, 0), (4, 2), (0, 0)), frame)])
    instance = region.ContentSequence[0].ReferencedSOPSequence[0]
    assert (instance.ReferencedSOPClassUID, instance.get("ReferencedFrameNumber")) == (uid, frame)
    assert region.GraphicData == [0, 0, 4, 0, 4, 2, 0, 0]
    assert "PixelOriginInterpretation" not in region


def test_on_a_tile_the_coordinates_are_those_of_the_tile():
    header = Dataset()
    header.SOPClassUID, header.SOPInstanceUID = "1.2.840.10008.5.1.4.1.1.77.1.6", f"{ROOT}.1"
    header.TotalPixelMatrixRows = 4000
    for frame in (None, 3):
        (region,) = image_regions([RegionOutline(header, ((0, 0), (4, 0), (4, 2), (0, 0)), frame)])
        assert region.PixelOriginInterpretation == "FRAME"
        assert region.ContentSequence[0].ReferencedSOPSequence[0].ReferencedFrameNumber == (frame or 1)
