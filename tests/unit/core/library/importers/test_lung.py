"""Lung regions: slices and outlines as the table says, patients from it or the headers, bad rows by line."""

from __future__ import annotations

import numpy as np
import pytest
from PIL import Image

from semblance.core.imaging.outline import Polygon
from semblance.core.imaging.region import Region
from semblance.core.library.open_library import open_library
from semblance.core.workflows.features.extract_features import extract_features
from semblance.core.workflows.features.suitable_extractors import suitable_extractors
from semblance.core.workflows.library.import_source import import_source
from tests.helpers.dicom_files import ct_series
from tests.helpers.importer_scan import Scan

HEADER = "series,slice,x,y,w,h,finding,patient\n"


@pytest.fixture
def series(tmp_path):
    ct_series(tmp_path / "chest", 6, size=(24, 32))
    return tmp_path


def listed(folder, rows, header=HEADER):
    (folder / "regions.csv").write_text(header + rows, encoding="utf-8")
    scan = Scan(folder)
    assert scan.kind == "lung"
    return scan


def test_rectangles_on_slices_of_a_series(series):
    scan = listed(series, "chest,2,3,4,10,8,emphysema,P7\nchest,5,1,1,6,6,healthy,\n")
    first, second = scan.cases
    assert first.region == Region(3, 4, 10, 8, None, 2)
    assert (first.finding, first.patient, len(first.slices)) == ("emphysema", "P7", 6)
    # Without a patient in the table the header's counts.
    assert second.patient == "P1"
    scan.assert_each_file_reported_once()
    assert not any(item.failed for item in scan.rejected.values())


def test_a_slices_file_says_the_slice(series):
    scan = listed(series, "chest/003.dcm,,3,4,10,8,emphysema,\n")
    (case,) = scan.cases
    assert case.region.z == 3


@pytest.mark.parametrize("text", ["2 3; 12 3; 7 15", '"[[2, 3], [12, 3], [7, 15]]"', '"2,3;12,3;7,15"'])
def test_polygons(series, text):
    scan = listed(series, f"chest,1,{text},fibrosis\n", "scan,slice,polygon,label\n")
    (case,) = scan.cases
    outline = Polygon(((0.0, 0.0), (10.0, 0.0), (5.0, 12.0)))
    assert case.region == Region(2, 3, 10, 12, outline, 1)


@pytest.mark.parametrize(
    ("row", "reason"),
    [
        ("brain,2,3,4,10,8,x,", "names the scan 'brain', which does not exist"),
        ("chest,6,3,4,10,8,x,", "there is no slice 6: the scan has 6"),
        ("chest,1.5,3,4,10,8,x,", "there is no slice 1.5"),
        ("chest,,3,4,10,8,x,", "its slice is missing"),
        ("chest,2,3,four,10,8,x,", "'four' in the column 'y' is not a number"),
        ("chest,2,3,4,0,8,x,", "is empty"),
        ("chest,2,,4,5,8,x,", "is not possible"),
        ("chest,2,3,,5,8,x,", "is not possible"),
        ("chest,2,1e30,4,5,8,x,", "is not possible"),
        ("chest,nan,3,4,5,8,x,", "there is no slice nan"),
        ("chest,2,3,4,,8,x,", "is empty"),
        ("chest,2,99,4,10,8,x,", "lies outside the image"),
    ],
)
def test_a_bad_row_is_reported_with_its_line(series, row, reason):
    scan = listed(series, f"chest,2,3,4,10,8,x,\n{row}\n")
    assert len(scan.cases) == 1
    failed = {name: item.reason for name, item in scan.rejected.items() if item.failed}
    assert list(failed) == ["regions.csv:3"]
    assert reason in failed["regions.csv:3"]


@pytest.mark.parametrize(
    "text", ["1 2; 3 4", "[[1, 2], [3]]", "[[[[", "a b; c d; e f", "1 2; 3 4; 1e9 3", "nan 1; 2 2; 3 3"]
)
def test_invalid_polygons_are_refused(series, text):
    scan = listed(series, f'chest,1,"{text}",x\n', "scan,slice,polygon,label\n")
    assert not scan.cases
    assert "polygon" in scan.rejected["regions.csv:2"].reason


def test_images_of_slices(tmp_path):
    Image.fromarray(np.zeros((30, 40), np.uint8)).save(tmp_path / "ct1.png")
    scan = listed(tmp_path, "ct1.png,3,4,10,8,healthy,A\n", HEADER.replace("slice,", ""))
    (case,) = scan.cases
    assert (case.path, case.region) == ("ct1.png", Region(3, 4, 10, 8))


def test_import_and_texture(series):
    listed(series, "chest,2,3,4,10,8,emphysema,\nchest,4,3,4,10,8,healthy,\n")
    library = series.parent / f"{series.name}.semblance"
    result = import_source(series, library)
    assert (result.kind, result.added, result.failed) == ("lung", 2, [])
    assert result.findings == {"emphysema": 1, "healthy": 1}
    assert suitable_extractors(library)[0] == "lung_texture"
    assert extract_features(library, "lung_texture", workers=1).extracted == 2
    with open_library(library) as opened:
        _, numbers = opened.features.read(opened.features.get("lung_texture"))
    # Slice i holds noise around 100 i - 1024 HU.
    np.testing.assert_allclose(numbers[:, 0], [200 + 24.5 - 1024, 400 + 24.5 - 1024], atol=6)
