"""Radiographs with IRMA codes, in the layouts the ImageCLEF tasks used."""

from __future__ import annotations

import pytest

from tests.helpers.bad_images import encoded, pattern, write_zip
from tests.helpers.importer_scan import Scan

PNG = encoded(pattern())
CODE, OTHER = "1121-127-700-500", "1123-211-520-3a0"


def zipped(tmp_path, table: str, *images: str, name: str = "codes.csv"):
    files = dict.fromkeys(images, PNG) | {name: table.encode()}
    return write_zip(tmp_path / "x.zip", files)


@pytest.mark.parametrize(
    ("table", "name"),
    [
        (f"image_id;irma_code\n1880;{CODE}\n22;{OTHER}\n", "train_codes.csv"),
        (f"1880;{CODE}\n22;{OTHER}\n", "codes.csv"),
        (f"1880 {CODE}\n22 {OTHER}\n", "codes.txt"),
        (f"image,IRMA\ntrain/1880.png,{CODE}\ntrain/22.png,{OTHER}\n", "x.csv"),
    ],
)
def test_the_code_is_the_finding_and_its_axes_are_attributes(tmp_path, table, name):
    scan = Scan(zipped(tmp_path, table, "train/1880.png", "train/22.png", "train/7.png", name=name))
    assert scan.kind == "imageclef"
    cases = {case.path: case for case in scan.cases}
    assert {path: case.finding for path, case in cases.items()} == {
        "train/7.png": None,
        "train/22.png": OTHER,
        "train/1880.png": CODE,
    }
    assert cases["train/22.png"].attributes == {
        "irma_code": OTHER,
        "technique": "1123",
        "direction": "211",
        "anatomy": "520",
        "system": "3a0",
    }
    assert not scan.rejected[name].failed
    scan.assert_each_file_reported_once()


def test_a_category_takes_precedence_over_the_code(tmp_path):
    table = f"image,irma_code,category,patient_id,age\na.png,{CODE},12,p1,40\nb.png,{OTHER},,p2,\n"
    scan = Scan(zipped(tmp_path, table, "a.png", "b.png"))
    assert [(case.finding, case.patient) for case in scan.cases] == [("12", "p1"), (OTHER, "p2")]
    assert scan.cases[0].attributes["age"] == "40"


def test_damaged_lines_are_reported_by_number(tmp_path):
    table = f"a;{CODE}\nb;{CODE};x\ngone;{CODE}\nc;11-2\na;{OTHER}\n"
    scan = Scan(zipped(tmp_path, table, "a.png", "b.png", "c.png"))
    assert [(case.path, case.finding) for case in scan.cases] == [
        ("a.png", CODE),
        ("b.png", None),
        ("c.png", None),
    ]
    failed = {name: item.reason for name, item in scan.rejected.items() if item.failed}
    assert set(failed) == {"codes.csv:2", "codes.csv:3", "codes.csv:4", "codes.csv:5"}
    assert "'gone', which does not exist" in failed["codes.csv:3"]
    assert "not an IRMA code" in failed["codes.csv:4"]
    assert "second time" in failed["codes.csv:5"]


def test_codes_without_images_named_are_reported(tmp_path):
    scan = Scan(zipped(tmp_path, f"irma_code\n{CODE}\n", "a.png"))
    assert scan.rejected["codes.csv"].failed
    assert scan.findings == {None: 1}


def test_other_tables_are_no_codes(tmp_path):
    assert (
        Scan(zipped(tmp_path, "image,label\na.png,b\n", "a.png", "b.png", "c.png", "d.png")).kind == "folder"
    )
