"""Colours of DICOM objects as red, green and blue: palettes and YBR, against pydicom."""

from __future__ import annotations

import io

import numpy as np
import pytest
from pydicom import Dataset
from pydicom.pixels import convert_color_space
from pydicom.pixels.processing import apply_color_lut

from semblance.core.errors import BadInput
from semblance.core.imaging import Image
from semblance.core.imaging.dicom.images import DicomImages
from tests.helpers.dicom_files import encoded, image


def first(dataset: Dataset) -> Image:
    return DicomImages(io.BytesIO(encoded(dataset)), "made up").image(0)


@pytest.mark.parametrize(
    "name", ["examples_palette", "OBXXXX1A_rle", "SC_rgb_jpeg_dcmtk", "SC_ybr_full_uncompressed"]
)
def test_real_colours_are_those_of_pydicom(data, name):
    from pydicom import dcmread

    path = data / f"dicom/samples/{name}.dcm"
    reference = dcmread(path)
    if reference.PhotometricInterpretation == "PALETTE COLOR":
        expected = apply_color_lut(reference.pixel_array, reference)
    else:
        raw = __import__("pydicom.pixels", fromlist=["pixel_array"]).pixel_array(path, raw=True)
        expected = convert_color_space(raw, "YBR_FULL", "RGB")
    with path.open("rb") as file:
        found = DicomImages(file, name).image(0)
    difference = np.abs(found.pixels.astype(int) - expected.astype(int))
    assert difference.max() <= (0 if "PALETTE" in reference.PhotometricInterpretation else 1)


def test_palettes_of_bytes_and_words():
    indices = np.arange(4, dtype=np.uint8).reshape(2, 2)
    for bits, table in ((8, bytes([10, 20, 30, 40])), (16, np.arange(4, dtype="<u2").tobytes())):
        dataset = image(indices, PhotometricInterpretation="PALETTE COLOR")
        for colour in ("Red", "Green", "Blue"):
            setattr(dataset, f"{colour}PaletteColorLookupTableDescriptor", [4, 0, bits])
            setattr(dataset, f"{colour}PaletteColorLookupTableData", table)
        expected = [10, 20, 30, 40] if bits == 8 else [0, 1, 2, 3]
        assert first(dataset).pixels[:, :, 0].ravel().tolist() == expected
    del dataset.BluePaletteColorLookupTableData
    with pytest.raises(BadInput, match="has no colour palette"):
        first(dataset)


@pytest.mark.parametrize(("scale", "white"), [(1, 255), (257, 65535)])
def test_entries_of_8_bits_that_are_called_16_are_not_black(scale, white):
    dataset = image(np.arange(4, dtype=np.uint8).reshape(2, 2), PhotometricInterpretation="PALETTE COLOR")
    for colour, last in (("Red", 255), ("Green", 3), ("Blue", 0)):
        entries = np.array([0, last, last // 2, 0]) * scale
        setattr(dataset, f"{colour}PaletteColorLookupTableDescriptor", [4, 0, 16])
        setattr(dataset, f"{colour}PaletteColorLookupTableData", entries.astype("<u2").tobytes())
    found = first(dataset)
    assert found.white == white
    assert found.pixels[0, 1].tolist() == [255 * scale, 3 * scale, 0]
