from __future__ import annotations

import io

import numpy as np
import pytest
from pydicom import Dataset
from pydicom.pixels import apply_modality_lut, convert_color_space
from pydicom.pixels.processing import apply_color_lut

from semblance.core.errors import BadInput
from semblance.core.imaging import Image
from semblance.core.imaging.dicom.images import DicomImages
from semblance.core.imaging.image import ValueWindow
from tests.helpers.dicom_files import ct_slice, encoded, image

GREY = np.arange(64, dtype=np.int16).reshape(8, 8) * 40


def first(dataset: Dataset) -> Image:
    return DicomImages(io.BytesIO(encoded(dataset)), "made up").image(0)


def sequence(**elements) -> list[Dataset]:
    one = Dataset()
    for keyword, value in elements.items():
        setattr(one, keyword, value)
    return [one]


def test_ct_is_as_grey_wherever_it_was_made():
    plain = first(ct_slice(GREY))
    other = ct_slice((GREY * 2).astype(np.int16))
    other.RescaleSlope = 0.5
    np.testing.assert_allclose(first(other).grey(), plain.grey(), atol=1e-6)
    np.testing.assert_array_equal(plain.measured(), GREY.astype(np.float32) - 1024)
    np.testing.assert_allclose(plain.grey(), np.clip(GREY / 2048, 0, 1), atol=1e-6)


def test_windows_come_with_their_names_and_edges():
    dataset = image(GREY, Modality="MR", WindowCenter=[100, 50], WindowWidth=[200, 11])
    dataset.WindowCenterWidthExplanation = ["WIDE", "NARROW"]
    found = first(dataset)
    assert found.values.windows == (ValueWindow(0.0, 199.0, "WIDE"), ValueWindow(44.5, 54.5, "NARROW"))
    assert (found.black, found.white) == (0.0, 199.0)
    dataset.VOILUTFunction = "LINEAR_EXACT"
    assert first(dataset).values.windows[0] == ValueWindow(0.0, 200.0, "WIDE")


def test_a_window_without_width_is_left_out():
    assert first(image(GREY, WindowCenter=[1, 2], WindowWidth=[0, -5])).values.windows == ()


def test_without_a_window_grey_runs_over_what_is_no_padding():
    found = first(image(GREY, PixelPaddingValue=0, PixelPaddingRangeLimit=80))
    assert found.values.padding == (0.0, 80.0)
    assert (found.black, found.white) == (120.0, 2520.0)
    assert found.grey()[0, 0] == 0
    assert found.padded()[0, :4].tolist() == [True, True, True, False]


def test_monochrome1_is_dark_where_numbers_are_high():
    up, down = image(GREY), image(GREY, PhotometricInterpretation="MONOCHROME1")
    np.testing.assert_allclose(first(down).grey(), 1 - first(up).grey(), atol=1e-6)
    assert first(down).values.inverse


def test_a_modality_table_gives_the_numbers(data):
    from pydicom import dcmread

    path = data / "dicom/samples/mlut_18.dcm"
    reference = dcmread(path)
    with path.open("rb") as file:
        found = DicomImages(file, "mlut").image(0)
    np.testing.assert_array_equal(found.pixels, apply_modality_lut(reference.pixel_array, reference))


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
    with pytest.raises(BadInput, match="lacks its palette"):
        first(dataset)


def test_spacing_is_told_from_where_it_is_known():
    dataset = image(GREY, ImagerPixelSpacing=[0.2, 0.1])
    assert first(dataset).spacing_mm == (0.2, 0.1)
    dataset.EstimatedRadiographicMagnificationFactor = 2
    assert first(dataset).spacing_mm == (0.1, 0.05)
    dataset.PixelSpacing = [0.7, 0.6]
    assert first(dataset).spacing_mm == (0.7, 0.6)
    ultrasound = image(GREY)
    ultrasound.SequenceOfUltrasoundRegions = sequence(
        PhysicalDeltaX=0.02, PhysicalDeltaY=0.03, PhysicalUnitsXDirection=3, PhysicalUnitsYDirection=3
    )
    assert first(ultrasound).spacing_mm == pytest.approx((0.3, 0.2))


def test_notes_tell_the_view_and_never_the_patient():
    dataset = image(
        GREY,
        Modality="MG",
        ImageLaterality="L",
        ViewPosition="MLO",
        BodyPartExamined="BREAST",
        PatientName="Nobody^Nowhere",
        PatientID="P1",
        PixelAspectRatio=[4, 3],
    )
    assert first(dataset).notes == ("MG", "L MLO", "BREAST", "pixels 3 wide, 4 high")


@pytest.mark.parametrize(
    ("element", "says"),
    [
        ({"Rows": 0}, "has no pixels: 0 rows"),
        ({"Rows": 65535, "Columns": 65535}, "above the limit of 200 megapixels"),
        ({"SamplesPerPixel": 4}, "4 samples a pixel"),
        ({"BitsAllocated": 24}, "in 24 bits"),
        ({"NumberOfFrames": 999_999_999}, "how many frames"),
        ({"NumberOfFrames": 3}, "is cut off"),
        ({"PixelData": b"\0\0"}, "is cut off: 2 bytes of pixels where 128 belong"),
    ],
)
def test_sizes_that_cannot_be_are_refused_before_anything_is_decoded(element, says):
    with pytest.raises(BadInput, match=says):
        first(image(GREY, **element))


def test_ten_thousand_private_elements_and_deep_sequences_do_no_harm():
    dataset = ct_slice(GREY)
    block = dataset.private_block(0x0099, "NOBODY", create=True)
    for number in range(255):
        block.add_new(number, "LO", "x" * 20)
    for group in range(0x1001, 0x1001 + 2 * 10_000, 2):
        dataset.add_new((group, 0x0010), "LO", "MANY")
    inner = Dataset()
    for _ in range(60):
        outer = Dataset()
        outer.ReferencedSeriesSequence = [inner]
        inner = outer
    dataset.ReferencedSeriesSequence = [inner]
    np.testing.assert_array_equal(first(dataset).pixels, GREY)


def test_sequences_nested_without_end_are_refused_or_read():
    data = encoded(ct_slice(GREY))
    nest = b"\x08\x00\x15\x11SQ\0\0\xff\xff\xff\xff\xfe\xff\x00\xe0\xff\xff\xff\xff" * 20_000
    at = data.index(b"\x08\x00\x16\x00UI")
    with pytest.raises(BadInput, match=r"nested without end|damaged|without pixels"):
        DicomImages(io.BytesIO(data[:at] + nest), "nest").image(0)
