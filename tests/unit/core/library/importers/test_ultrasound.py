"""BUSI's layout: every image is a case, its masks united are its region."""

from __future__ import annotations

import numpy as np

from tests.helpers.bad_images import encoded, pattern, write_zip
from tests.helpers.importer_scan import Scan

IMAGE = encoded(pattern(30, 40))


def mask(*boxes, size=(30, 40), white=255):
    pixels = np.zeros(size, np.uint8)
    for x, y, width, height in boxes:
        pixels[y : y + height, x : x + width] = white
    return encoded(pixels)


def test_masks_are_united_into_one_region(tmp_path):
    files = {
        "set/benign/benign (1).png": IMAGE,
        "set/benign/benign (1)_mask.png": mask((2, 3, 5, 4)),
        "set/benign/benign (1)_mask_1.png": mask((20, 10, 6, 6), white=1),
        "set/malignant/malignant (1).png": IMAGE,
        "set/malignant/malignant (1)_mask.png": mask((0, 0, 4, 30)),
        "set/normal/normal (1).png": IMAGE,
        "set/normal/normal (1)_mask.png": mask(),
    }
    scan = Scan(write_zip(tmp_path / "busi.zip", files))
    assert scan.kind == "ultrasound"
    cases = {case.path: case for case in scan.cases}
    first = cases["set/benign/benign (1).png"]
    assert (first.finding, first.patient, first.key) == ("benign", None, first.path)
    assert (first.region.x, first.region.y, first.region.width, first.region.height) == (2, 3, 24, 13)
    expected = np.zeros((30, 40), bool)
    expected[3:7, 2:7] = expected[10:16, 20:26] = True
    np.testing.assert_array_equal(first.region.mask(30, 40), expected)
    assert cases["set/normal/normal (1).png"].region is None
    assert scan.findings == {"benign": 1, "malignant": 1, "normal": 1}
    masks = [name for name in files if "_mask" in name]
    assert all(not scan.rejected[name].failed for name in masks)
    assert scan.rejected[masks[1]].reason == "The mask of 'set/benign/benign (1).png'."
    scan.assert_each_file_reported_once()


def test_a_mask_that_cannot_be_used_is_reported_and_the_case_stays(tmp_path):
    files = {
        "1.png": IMAGE,
        "1_mask.png": mask((2, 3, 5, 4), size=(20, 20)),
        "1_mask_1.png": mask((4, 4, 3, 3)),
        "2.png": IMAGE,
        "2_mask.png": encoded(pattern(30, 40, seed=3)),
        "3.png": IMAGE,
        "3_mask.png": b"\x89PNG\r\n\x1a\n" + bytes(200),
        "4.png": b"\x89PNG\r\n\x1a\n" + bytes(200),
        "4_mask.png": mask((1, 1, 2, 2)),
    }
    scan = Scan(write_zip(tmp_path / "x.zip", files))
    regions = {case.path: case.region for case in scan.cases}
    assert set(regions) == {"1.png", "2.png", "3.png", "4.png"}
    assert (regions["1.png"].width, regions["1.png"].x) == (3, 4)
    assert regions["2.png"] is regions["3.png"] is regions["4.png"] is None
    failed = {name for name, item in scan.rejected.items() if item.failed}
    assert failed == {"1_mask.png", "2_mask.png", "3_mask.png"}
    assert "20 x 20 pixels, its image 40 x 30" in scan.rejected["1_mask.png"].reason
    scan.assert_each_file_reported_once()


def test_masks_named_by_labels_and_patients(tmp_path):
    files = {
        "a.png": IMAGE,
        "a_mask.png": mask((1, 1, 3, 3)),
        "b.png": IMAGE,
        "truth/other.png": mask((5, 5, 2, 2)),
        "labels.csv": b"image,masks,label,patient\n"
        b"a.png,a_mask.png,benign,p1\nb.png,truth/other.png,malignant,p2\n",
    }
    scan = Scan(write_zip(tmp_path / "x.zip", files), "ultrasound")
    assert [(c.path, c.finding, c.patient, c.region.x) for c in scan.cases] == [
        ("a.png", "benign", "p1", 1),
        ("b.png", "malignant", "p2", 5),
    ]
    scan.assert_each_file_reported_once()


def test_images_without_masks_are_of_another_kind(tmp_path):
    few = {"a/1.png": IMAGE, "a/1_mask.png": mask((1, 1, 2, 2))}
    many = {f"b/{number}.png": IMAGE for number in range(5)}
    assert Scan(write_zip(tmp_path / "x.zip", few | many)).kind == "folder"
    assert Scan(write_zip(tmp_path / "y.zip", {"a_mask.png": IMAGE, "b.png": IMAGE})).kind == "folder"


def test_busi(data):
    scan = Scan(data / "images" / "busi_masks_a.zip")
    assert scan.kind == "ultrasound"
    assert scan.findings == {"benign": 25, "malignant": 25}
    assert all(case.region is not None for case in scan.cases)
    # One of its masks belongs to an image of another size.
    assert [name for name, item in scan.rejected.items() if item.failed] == ["benign/benign_004_mask_1.png"]
    scan.assert_each_file_reported_once()
