"""Numbers of a header that are present but not written as numbers."""

from __future__ import annotations

import ast
from pathlib import Path

import numpy as np
import pytest
from pydicom import Dataset
from pydicom.dataelem import RawDataElement

import semblance.core.imaging.dicom
from semblance.core.imaging.dicom.attributes import Numbers, read_numbers, tag_of
from semblance.core.imaging.dicom.number_remarks import KEYWORDS, number_remarks
from tests.helpers.dicom_files import ct_slice, first_image, sequence_of

_READERS = {"read_numbers", "numbers", "number", "integer"}
#: Read as labels of other objects, not of pixels; without its palette an image is refused.
_OTHERS = {
    "RedPaletteColorLookupTableDescriptor",
    "ReferencedContentItemIdentifier",
    "ReferencedFrameNumber",
    "GraphicData",
    "ROINumber",
    "ContourData",
    "ReferencedROINumber",
    "SegmentNumber",
    "ReferencedSegmentNumber",
    "MaximumFractionalValue",
}


def with_raw(keyword: str, vr: str, value: bytes, dataset: Dataset | None = None) -> Dataset:
    """A data set with an element as it stands in a file."""
    out, tag = Dataset() if dataset is None else dataset, tag_of(keyword)
    dict.__setitem__(out._dict, tag, RawDataElement(tag, vr, len(value), value, 0, False, True))
    return out


@pytest.mark.parametrize(
    ("vr", "written", "found"),
    [
        ("DS", b"0.5\\0.25 ", Numbers((0.5, 0.25))),
        ("UT", b"0.5\\0.25 ", Numbers((0.5, 0.25))),
        ("LO", b"0.5\\0.25", Numbers((0.5, 0.25))),
        ("UN", b"0.5\\0.25", Numbers((0.5, 0.25))),
        ("DS", b"0,5\\0,25", Numbers((0.5, 0.25), r"0,5\0,25")),
        ("DS", b"-1,5E-3", Numbers((-0.0015,), "-1,5E-3")),
        ("DS", b"-1024H", Numbers((), "-1024H")),
        ("DS", b"1.5\\?", Numbers((), r"1.5\?")),
        ("DS", b"1,000,5", Numbers((), "1,000,5")),
        ("DS", b"nan", Numbers((), "nan")),
        ("FD", np.array([np.inf]).tobytes(), Numbers((), "inf")),
        ("FD", np.array([0.5, 2]).tobytes(), Numbers((0.5, 2.0))),
        ("DS", b"", Numbers()),
        ("DS", b"  ", Numbers()),
        ("UT", b"\0", Numbers()),
    ],
)
def test_a_number_is_read_from_any_text_or_is_said_to_be_none(vr, written, found):
    dataset = with_raw("PixelSpacing", vr, written)
    assert read_numbers(dataset, "PixelSpacing") == found
    remarks = number_remarks(dataset)
    assert len(remarks) == bool(found.written)
    assert all("Pixel Spacing" in remark and found.written in remark for remark in map(str, remarks))


@pytest.mark.parametrize(
    ("keyword", "written"),
    [
        ("PixelSpacing", b"0\\0"),
        ("PixelSpacing", b"0.5"),
        ("RescaleSlope", b"0"),
        ("ImagePositionPatient", b"1\\2"),
        ("ImageOrientationPatient", b"1\\0\\0"),
    ],
)
def test_a_number_that_cannot_be_is_said(keyword, written):
    assert "is not possible" in str(number_remarks(with_raw(keyword, "DS", written))[0])


def test_an_absent_number_is_not_an_unreadable_one():
    assert Numbers().is_usable
    assert not Numbers((), "-1024H").is_usable
    assert read_numbers(Dataset(), "RescaleSlope") == Numbers()


@pytest.mark.parametrize("keyword", ["RescaleSlope", "RescaleIntercept"])
def test_no_unit_is_claimed_that_rests_on_a_number_that_cannot_be_read(keyword):
    pixels = np.arange(64, dtype=np.int16).reshape(8, 8)
    plain = first_image(ct_slice(pixels))
    assert (plain.values.unit, plain.remarks) == ("HU", ())
    damaged = first_image(with_raw(keyword, "DS", b"-1024H", ct_slice(pixels)))
    assert (damaged.values.slope, damaged.values.intercept, damaged.values.unit) == (1, 0, "")
    assert len(damaged.remarks) == 1


def test_numbers_in_the_groups_of_a_frame_are_looked_through():
    dataset = Dataset()
    dataset.SharedFunctionalGroupsSequence = sequence_of(PixelMeasuresSequence=sequence_of(Rows=1))
    with_raw(
        "SliceThickness", "DS", b"2 mm", dataset.SharedFunctionalGroupsSequence[0].PixelMeasuresSequence[0]
    )
    assert "Slice Thickness '2 mm'" in str(number_remarks(dataset)[0])


def test_every_number_that_images_are_read_by_is_looked_through():
    """A keyword that a module of pixels or geometry reads and that is missing in the list would be silent."""
    folder = Path(semblance.core.imaging.dicom.__file__).parent
    calls = [
        (path.name, node)
        for path in folder.glob("*.py")
        for node in ast.walk(ast.parse(path.read_text(encoding="utf-8")))
        if isinstance(node, ast.Call) and isinstance(node.func, ast.Name) and node.func.id in _READERS
    ]
    keywords = {
        (name, argument.value)
        for name, node in calls
        for argument in node.args
        if isinstance(argument, ast.Constant) and isinstance(argument.value, str)
    }
    assert len(keywords) > 20
    assert {one for one in keywords if one[1] not in {*KEYWORDS, *_OTHERS}} == set()
