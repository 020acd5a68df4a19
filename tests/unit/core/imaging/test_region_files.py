"""Regions written and read again, in pixels and millimetres, and corrected with a brush."""

from __future__ import annotations

import json

import numpy as np
import pytest

from semblance.core.errors import BadInput, SemblanceError
from semblance.core.imaging.image import Image
from semblance.core.imaging.outline import Ellipse, Polygon
from semblance.core.imaging.region import Region, region_of_mask
from semblance.core.imaging.region_files import (
    read_mask,
    read_regions,
    regions_json,
    write_mask,
    write_regions,
)

IMAGE = Image(np.zeros((40, 60), np.uint8), 255.0, spacing_mm=(0.5, 0.25))

REGIONS = [
    Region(3, 4, 20, 10),
    Region(3, 4, 20, 10, Ellipse.filling(20, 10)),
    Region(1, 2, 9, 9, Polygon(((0, 0), (9, 0.5), (4, 8.25)))),
    region_of_mask(np.random.default_rng(0).random((40, 60)) < 0.3),
    Region(5, 6, 7, 8, z=3, depth=2),
]


def test_regions_come_back(tmp_path):
    write_regions(tmp_path / "r.json", IMAGE, REGIONS)
    assert read_regions(tmp_path / "r.json", size=(40, 60)) == REGIONS
    assert [path.name for path in tmp_path.iterdir()] == ["r.json"]


def test_millimetres():
    document = regions_json(IMAGE, REGIONS[:3])
    assert document["picture"] == {"width": 60, "height": 40, "spacing_mm": [0.5, 0.25]}
    box, ellipse, polygon = (item["mm"] for item in document["regions"])
    assert box == {"x": 0.75, "y": 2.0, "width": 5.0, "height": 5.0, "area": 25.0}
    assert (ellipse["centre"], ellipse["radii"]) == ([3.25, 4.5], [2.5, 2.5])
    assert polygon["points"][2] == [1.25, 5.125]
    unknown = Image(IMAGE.pixels, 255.0)
    assert regions_json(unknown, REGIONS[:1])["regions"][0]["mm"] is None


@pytest.mark.parametrize(
    ("text", "why"),
    [
        ("", "not JSON"),
        ("[" * 100_000, "not JSON"),
        ("[]", "contains no regions"),
        ('{"format": "semblance-regions", "version": 9}', "newer version"),
        ('{"format": "semblance-regions", "version": 1, "regions": {}}', "damaged"),
        ('{"format": "semblance-regions", "version": 1, "regions": [{}]}', "without pixels"),
        (
            '{"format": "semblance-regions", "version": 1, "regions": [{"pixels": {"x": 1, "y": 2}}]}',
            "damaged",
        ),
        (
            '{"format": "semblance-regions", "version": 1, "regions": '
            '[{"pixels": {"x": 1, "y": 2, "width": 0, "height": 3}}]}',
            "empty",
        ),
    ],
)
def test_files_that_are_no_regions(tmp_path, text, why):
    (tmp_path / "r.json").write_text(text)
    with pytest.raises(BadInput, match=why):
        read_regions(tmp_path / "r.json")


def test_regions_of_another_image_are_refused(tmp_path):
    write_regions(tmp_path / "r.json", IMAGE, REGIONS)
    with pytest.raises(BadInput, match=r"60 x 40 pixels.*has 10 x 20"):
        read_regions(tmp_path / "r.json", size=(20, 10))
    with pytest.raises(BadInput):
        read_regions(tmp_path / "none.json")
    with pytest.raises(SemblanceError, match="was not written: there is no folder"):
        write_regions(tmp_path / "none" / "r.json", IMAGE, REGIONS)


@pytest.mark.parametrize("region", REGIONS[:4])
def test_masks_come_back(tmp_path, region):
    write_mask(tmp_path / "m.png", region, 40, 60)
    again = read_mask(tmp_path / "m.png", size=(40, 60))
    np.testing.assert_array_equal(again.mask(40, 60), region.mask(40, 60))
    with pytest.raises(BadInput, match="60 x 40"):
        read_mask(tmp_path / "m.png", size=(40, 61))


def test_a_black_mask_is_no_region(tmp_path):
    from PIL import Image as PILImage

    PILImage.fromarray(np.zeros((5, 5), np.uint8)).save(tmp_path / "m.png")
    with pytest.raises(BadInput, match="empty"):
        read_mask(tmp_path / "m.png")


def test_documents_are_plain_json():
    assert json.loads(json.dumps(regions_json(IMAGE, REGIONS)))["format"] == "semblance-regions"
