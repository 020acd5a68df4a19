"""Whole DICOM objects as images: spacing, notes, and sizes that are refused before decoding."""

from __future__ import annotations

import io

import numpy as np
import pytest
from pydicom import Dataset

from semblance.core.errors import BadInput
from semblance.core.imaging.dicom.images import DicomImages
from tests.helpers.dicom_files import ct_slice, encoded, first_image, image, sequence_of

GREY = np.arange(64, dtype=np.int16).reshape(8, 8) * 40


def test_spacing_is_reported_with_its_source():
    dataset = image(GREY, ImagerPixelSpacing=[0.2, 0.1])
    assert first_image(dataset).spacing_mm == (0.2, 0.1)
    dataset.EstimatedRadiographicMagnificationFactor = 2
    assert first_image(dataset).spacing_mm == (0.1, 0.05)
    dataset.PixelSpacing = [0.7, 0.6]
    assert first_image(dataset).spacing_mm == (0.7, 0.6)
    ultrasound = image(GREY)
    ultrasound.SequenceOfUltrasoundRegions = sequence_of(
        PhysicalDeltaX=0.02, PhysicalDeltaY=0.03, PhysicalUnitsXDirection=3, PhysicalUnitsYDirection=3
    )
    assert first_image(ultrasound).spacing_mm == pytest.approx((0.3, 0.2))


def test_notes_contain_the_view_and_never_the_patient():
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
    assert first_image(dataset).notes == ("MG", "L MLO", "BREAST", "pixels 3 wide, 4 high")


@pytest.mark.parametrize(
    ("element", "says"),
    [
        ({"Rows": 0}, "has no pixels: 0 rows"),
        ({"Rows": 65535, "Columns": 65535}, "above the limit of 200 megapixels"),
        ({"SamplesPerPixel": 4}, "4 samples a pixel"),
        ({"BitsAllocated": 24}, "in 24 bits"),
        ({"NumberOfFrames": 999_999_999}, "possible number of frames"),
        ({"NumberOfFrames": 3}, "is cut off"),
        ({"PixelData": b"\0\0"}, "is cut off: it has 2 bytes of pixels instead of 128"),
    ],
)
def test_sizes_that_cannot_be_are_refused_before_anything_is_decoded(element, says):
    with pytest.raises(BadInput, match=says):
        first_image(image(GREY, **element))


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
    np.testing.assert_array_equal(first_image(dataset).pixels, GREY)


def test_sequences_nested_without_end_are_refused_or_read():
    data = encoded(ct_slice(GREY))
    nest = b"\x08\x00\x15\x11SQ\0\0\xff\xff\xff\xff\xfe\xff\x00\xe0\xff\xff\xff\xff" * 20_000
    at = data.index(b"\x08\x00\x16\x00UI")
    with pytest.raises(BadInput, match=r"nested without end|damaged|without pixels"):
        DicomImages(io.BytesIO(data[:at] + nest), "nest").image(0)
