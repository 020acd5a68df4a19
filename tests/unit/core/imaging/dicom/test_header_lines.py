"""Headers as lines to read: every element, no pixels, bounded, and marked where someone could be found."""

from __future__ import annotations

import io

import pydicom
import pytest
from pydicom.dataset import Dataset, FileMetaDataset
from pydicom.sequence import Sequence
from pydicom.uid import ExplicitVRLittleEndian

from semblance.core.imaging.dicom import header_lines as header_lines_module
from semblance.core.imaging.dicom.header_lines import header_lines


@pytest.fixture
def dataset():
    made = Dataset()
    made.file_meta = FileMetaDataset()
    made.file_meta.TransferSyntaxUID = ExplicitVRLittleEndian
    made.PatientName = "Doe^Jane"
    made.PatientID = "4711"
    made.StudyDate = "20200102"
    made.Modality = "CT"
    made.StudyInstanceUID = "1.2.3"
    made.SOPClassUID = "1.2.840.10008.5.1.4.1.1.2"
    made.InstitutionName = "Some hospital"
    made.Rows, made.Columns = 4, 4
    return made


def found(dataset, name):
    lines, _ = header_lines(dataset)
    (line,) = [line for line in lines if line.name == name]
    return line


def test_every_element_is_a_line_in_order(dataset):
    lines, left = header_lines(dataset)
    assert left == 0
    assert lines[0].tag.startswith("0002,")
    tags = [line.tag for line in lines if not line.tag.startswith("0002")]
    assert tags == sorted(tags)
    line = found(dataset, "Modality")
    assert (line.tag, line.vr, line.value, line.depth) == ("0008,0060", "CS", "CT", 0)


@pytest.mark.parametrize(
    ("name", "identifying"),
    [
        ("Patient's Name", True),
        ("Patient ID", True),
        ("Study Date", True),
        ("Study Instance UID", True),
        ("Institution Name", True),
        ("Modality", False),
        ("SOP Class UID", False),
        ("Rows", False),
    ],
)
def test_identifying_elements_are_marked(dataset, name, identifying):
    assert found(dataset, name).identifying is identifying


def test_sequences_are_indented_and_items_of_an_identifying_one_are_identifying(dataset):
    inner = Dataset()
    inner.CodeValue = "T-1"
    inner.ReferencedSOPInstanceUID = "1.2.3.4"
    dataset.ConceptNameCodeSequence = Sequence([inner])
    patient = Dataset()
    patient.CodeValue = "X"
    dataset.OtherPatientIDsSequence = Sequence([patient, Dataset()])
    lines, _ = header_lines(dataset)
    texts = [(line.depth, line.name, line.value, line.identifying) for line in lines]
    at = texts.index((0, "Concept Name Code Sequence", "1 item", False))
    assert texts[at + 1] == (1, "Code Value", "T-1", False)
    assert texts[at + 2] == (1, "Referenced SOP Instance UID", "1.2.3.4", True)
    at = texts.index((0, "Other Patient IDs Sequence", "2 items", True))
    assert texts[at + 1 : at + 4] == [
        (1, "Item 1", "", False),
        (1, "Code Value", "X", True),
        (1, "Item 2", "", False),
    ]


def test_values_are_one_short_line_and_binary_is_its_length(dataset):
    dataset.ImageComments = "a\r\nb\0c " + "x" * 1000
    dataset.add_new(0x00091001, "OB", b"\0" * 5000)
    dataset.add_new(0x00091002, "UN", b"plain text  ")
    dataset.add_new(0x00091003, "UN", bytes(range(10)))
    dataset.WindowCenter = [str(number) for number in range(100)]
    dataset.FrameTime = None
    lines, _ = header_lines(dataset)
    values = {line.tag: line.value for line in lines}
    assert values["0020,4000"].startswith("a b c xxx")
    assert len(values["0020,4000"]) == header_lines_module.MAX_VALUE
    assert values["0020,4000"].endswith("…")
    assert values["0009,1001"] == "5,000 bytes"
    assert values["0009,1002"] == "plain text"
    assert values["0009,1003"] == "10 bytes"
    assert values["0028,1050"].startswith("0\\1\\2")
    assert values["0028,1050"].endswith("(100 values)")
    assert values["0018,1063"] == ""


def test_pixels_are_left_out(dataset):
    dataset.PixelData = b"\0" * 32
    assert not [line for line in header_lines(dataset)[0] if line.tag.startswith("7FE0")]


def test_ten_thousand_private_elements_are_listed_and_all_may_tell(dataset):
    for number in range(10_000):
        dataset.add_new(0x00110000 + 0x1000 + number, "LO", f"v{number}")
    lines, left = header_lines(dataset)
    private = [line for line in lines if line.tag.startswith("0011,")]
    assert left == 0
    assert len(private) == 10_000
    assert all(line.identifying for line in private)


def test_more_lines_than_can_be_read_are_counted(dataset, monkeypatch):
    monkeypatch.setattr(header_lines_module, "MAX_LINES", 5)
    every = len(header_lines(dataset)[0]) + header_lines(dataset)[1]
    lines, left = header_lines(dataset)
    assert (len(lines), left) == (5, every - 5)


def test_deep_sequences_end_where_they_are_not_followed(dataset):
    inner = Dataset()
    inner.CodeValue = "bottom"
    for _ in range(60):
        outer = Dataset()
        outer.ConceptNameCodeSequence = Sequence([inner])
        inner = outer
    dataset.ContentSequence = Sequence([inner])
    lines, _ = header_lines(dataset)
    assert max(line.depth for line in lines) == 32
    assert lines[-1].name != "Code Value"
    assert any("not shown" in line.name for line in lines)


def test_a_damaged_value_says_so_and_the_others_are_there(dataset):
    buffer = io.BytesIO()
    dataset.NumberOfFrames = 1
    pydicom.dcmwrite(buffer, dataset, enforce_file_format=False, little_endian=True, implicit_vr=False)
    data = buffer.getvalue().replace(b"IS\x02\x001 ", b"IS\x02\x00xy")
    read = pydicom.dcmread(io.BytesIO(data), force=True)
    line = next(line for line in header_lines(read)[0] if line.tag == "0028,0008")
    assert "cannot be read" in line.value or line.value == "xy"
    assert found(read, "Modality").value == "CT"
