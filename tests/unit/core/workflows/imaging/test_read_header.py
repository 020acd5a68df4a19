"""What a file says of its image."""

from __future__ import annotations

import numpy as np
import pytest
from PIL import Image

from semblance.core.errors import BadInput
from semblance.core.imaging.image_address import ImageAddress
from semblance.core.workflows.imaging import library_cache
from semblance.core.workflows.imaging.read_header import read_header


@pytest.fixture(autouse=True)
def empty_cache():
    yield
    library_cache.stack_cache.forget()


def values(table):
    return {line.name: line.value for line in table.lines}


def test_an_image_file_says_its_format_and_size(tmp_path):
    path = tmp_path / "one.png"
    Image.fromarray(np.arange(600, dtype=np.uint16).reshape(20, 30)).save(path, dpi=(300, 300))
    table = read_header(None, ImageAddress(path))
    header = values(table)
    assert not table.dicom
    assert table.name == "one.png"
    assert header["Format"] == "PNG"
    assert (header["Width"], header["Height"]) == ("30 px", "20 px")
    assert header["Bits per channel"] == "16"
    assert (header["Minimum"], header["Maximum"]) == ("0", "599")
    assert header["Resolution in dpi"].startswith("300")


def test_a_row_of_an_array_and_a_volume_say_what_they_are(tmp_path):
    path = tmp_path / "volumes.npz"
    np.savez(path, ct=np.zeros((2, 7, 8, 9), np.int16), flat=np.zeros((5, 8, 9), np.uint8))
    header = values(read_header(None, ImageAddress(path, "ct", 1)))
    assert (header["Format"], header["Entry"], header["Row"]) == ("NumPy array", "ct", "1")
    assert header["Slices"] == "7"
    header = values(read_header(None, ImageAddress(path, "flat", 2)))
    assert "Slices" not in header
    assert header["Channels"] == "1 (grey)"


def test_a_damaged_image_says_why_it_cannot_be_shown(tmp_path):
    path = tmp_path / "cut.png"
    Image.fromarray(np.random.default_rng(0).integers(0, 255, (90, 90)).astype(np.uint8)).save(path)
    path.write_bytes(path.read_bytes()[:1000])
    header = values(read_header(None, ImageAddress(path)))
    assert header["Format"] == "PNG"
    assert "cut.png" in header["Cannot be displayed"]


def test_a_file_that_is_gone_is_refused(tmp_path):
    with pytest.raises(BadInput, match=r"gone\.png"):
        read_header(None, ImageAddress(tmp_path / "gone.png"))


def test_every_real_header_is_listed(data):
    pydicom = pytest.importorskip("pydicom")
    checked = 0
    for path in sorted((data / "dicom").rglob("*.dcm")):
        try:
            table = read_header(None, ImageAddress(path))
        except BadInput:
            assert "broken" in path.parts
            continue
        if not table.dicom:
            continue
        dataset = pydicom.dcmread(path, force=True, stop_before_pixels=True)
        top = {line.tag for line in table.lines if line.depth == 0 and not line.tag.startswith("0002")} - {""}
        tags = {f"{tag.group:04X},{tag.element:04X}" for tag in list(dataset.keys()) if tag.group != 0x7FE0}
        assert top == tags
        names = {line.identifying for line in table.lines if line.name == "Patient's Name"}
        assert names <= {True}
        checked += 1
    assert checked > 100
