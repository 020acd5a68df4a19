"""Small files that would fill the memory: they are refused with the limit, and the limit can be raised."""

from __future__ import annotations

import io
import zipfile

import numpy as np
import pytest
from pydicom.encaps import encapsulate
from pydicom.uid import DeflatedExplicitVRLittleEndian, RLELossless

from semblance.core.errors import BadArguments, BadInput
from semblance.core.imaging.dicom.images import DicomImages
from semblance.core.imaging.raster import decode
from semblance.core.imaging.zip_archive import ZipArchive
from semblance.core.limits import MEMORY_VARIABLE, memory_limit
from tests.helpers.bad_images import encoded, pattern, png_claiming
from tests.helpers.dicom_files import encoded as dicom_bytes
from tests.helpers.dicom_files import image


@pytest.mark.parametrize(("bits", "colour"), [(8, 0), (8, 2), (8, 6), (16, 0), (16, 2), (16, 6)])
def test_a_small_file_of_14000_squared_pixels_is_refused_and_the_limit_can_be_raised(
    monkeypatch, bits, colour
):
    data = png_claiming(14_000, 14_000, bits, colour)
    with pytest.raises(BadInput, match=r"need 3\.14 GB of memory\. The limit is 1 GB") as error:
        decode(data, "x.png")
    assert f"{MEMORY_VARIABLE}=3136" in error.value.hint
    monkeypatch.setenv(MEMORY_VARIABLE, "3136")
    monkeypatch.setattr("PIL.PngImagePlugin.PngImageFile.load", lambda self: (_ for _ in ()).throw(EOFError))
    with pytest.raises(BadInput, match="cut off"):
        decode(data, "x.png")


def test_a_large_file_may_have_as_many_pixels_as_its_size_explains(monkeypatch):
    monkeypatch.setenv(MEMORY_VARIABLE, "1")
    pixels = np.random.default_rng(0).integers(0, 255, (300, 300)).astype(np.uint8)
    assert decode(encoded(pixels), "x.png").pixels.shape == (300, 300)
    with pytest.raises(BadInput, match=r"need 1\.44 MB"):
        decode(encoded(np.zeros_like(pixels)), "x.png")


def test_a_deflated_dicom_object_is_not_unpacked_beyond_the_limit(monkeypatch):
    data = dicom_bytes(image(np.zeros((1200, 1200), np.uint8)), DeflatedExplicitVRLittleEndian)
    assert len(DicomImages(io.BytesIO(data), "x.dcm")) == 1
    monkeypatch.setenv(MEMORY_VARIABLE, "5")
    with pytest.raises(BadInput, match="unpacks to more than 1 MB, the limit") as error:
        DicomImages(io.BytesIO(data), "x.dcm")
    assert MEMORY_VARIABLE in error.value.hint


def test_a_compressed_dicom_object_is_refused_by_the_size_in_its_header():
    dataset = image(np.zeros((4, 4), np.uint8))
    dataset.Rows = dataset.Columns = 14_000
    dataset.PixelData = encapsulate([bytes(64)])
    dataset["PixelData"].is_undefined_length = True
    with pytest.raises(BadInput, match=r"need 3\.14 GB of memory"):
        DicomImages(io.BytesIO(dicom_bytes(dataset, RLELossless)), "x.dcm")


def test_a_zip_entry_may_unpack_to_what_its_size_explains(tmp_path, monkeypatch):
    monkeypatch.setenv(MEMORY_VARIABLE, "5")
    noise = encoded(pattern(400, 400), "BMP")
    with zipfile.ZipFile(tmp_path / "a.zip", "w", zipfile.ZIP_DEFLATED) as archive:
        archive.writestr("zeros.bmp", bytes(2_000_000))
        archive.writestr("noise.bmp", noise)
        archive.writestr("large.bin", np.random.default_rng(0).bytes(2_000_000))
    opened = ZipArchive(tmp_path / "a.zip", "a.zip")
    assert set(opened.entries) == {"noise.bmp", "large.bin"}
    assert f"{MEMORY_VARIABLE}=10" in opened.refused[0][1]
    opened.close()


def test_a_limit_that_is_no_number_is_an_error_about_the_variable(monkeypatch):
    monkeypatch.setenv(MEMORY_VARIABLE, "2 GB")
    with pytest.raises(BadArguments, match="SEMBLANCE_MEMORY_MB cannot be '2 GB'"):
        memory_limit()
