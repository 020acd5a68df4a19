"""`semblance show`: what the program sees in an image file."""

from __future__ import annotations

import numpy as np
import pytest
from PIL import Image as PILImage

from tests.helpers.dicom_files import ct_slice, save


@pytest.fixture
def file(tmp_path):
    return save(
        ct_slice(np.arange(64, dtype=np.int16).reshape(8, 8) * 30, WindowCenter=40, WindowWidth=400),
        tmp_path / "a.dcm",
    )


def test_the_document_and_the_lines_say_the_same(document, run_command, file, tmp_path):
    found = document(
        "show", file, "--at", "3,4", "--at", "0,0", "--window", "-24,1000", "--out", tmp_path / "a.png"
    )
    assert list(found) == [
        "path", "rows", "columns", "frames", "slices", "unit", "pixel_spacing_mm", "slice_spacing_mm", "windows",
        "photometric", "values", "notes",
    ]  # fmt: skip
    assert found["values"] == [
        {"x": 3, "y": 4, "value": 26.0, "shown": 140},
        {"x": 0, "y": 0, "value": -1024.0, "shown": 0},
    ]
    assert PILImage.open(tmp_path / "a.png").getpixel((3, 4)) == 140
    status, lines, _ = run_command("show", file, "--at", "3,4")
    assert status == 0
    for part in (
        "8 x 8 pixels, MONOCHROME2",
        "HU",
        "rows 0.5 mm",
        "center 40, width 400",
        "value 26.0, shown 119",
    ):
        assert part in lines


@pytest.mark.parametrize(
    ("options", "status", "said"),
    [
        (("--frame", "2"), 1, "has no frame 2: it has 1"),
        (("--slice", "2"), 1, "has only 1 slice"),
        (("--at", "8,0"), 2, "8,0 lies outside the 8 x 8"),
        (("--at", "8"), 2, "--at takes two numbers"),
        (("--window", "40,0.5"), 2, "too small"),
        (("--frame", "1", "--slice", "1"), 2, "exclude each other"),
        (("--out", "a.jpg"), 2, "no PNG"),
    ],
)
def test_what_cannot_be_shown_is_one_sentence(run_command, file, options, status, said):
    found, _, error = run_command("show", file, *options)
    assert found == status
    assert said in error
    assert error.count("\n") == 1


def test_a_file_that_cannot_be_read_is_named(run_command, tmp_path):
    (tmp_path / "a.dcm").write_bytes(b"no image")
    for name in ("a.dcm", "missing.dcm"):
        status, _, error = run_command("show", tmp_path / name)
        assert status == 1
        assert name in error
