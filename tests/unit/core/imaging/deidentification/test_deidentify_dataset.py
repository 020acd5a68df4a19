"""What the Basic Profile and its options leave of an object with identifiers planted everywhere."""

from __future__ import annotations

import io
from datetime import datetime

import pytest
from pydicom import Dataset, Sequence, dcmread

from semblance.core.errors import BadInput
from semblance.core.imaging.deidentification.deidentify_dataset import DeidentificationChanges, deidentify
from semblance.core.imaging.deidentification.profile import Option, Profile
from semblance.core.imaging.pseudonyms import Pseudonyms
from tests.helpers.dicom_files import encoded
from tests.helpers.planted_identifiers import Planted, planted_object

KEY = Pseudonyms(b"k" * 32)


def cleaned(
    planted: Planted, *options: Option, key: Pseudonyms = KEY
) -> tuple[Dataset, bytes, DeidentificationChanges]:
    dataset, changes = dcmread(io.BytesIO(encoded(planted.dataset))), DeidentificationChanges()
    deidentify(dataset, Profile(frozenset(options)), key, changes)
    return dataset, encoded(dataset), changes


def report_item(kind: str, code: str, **values: object) -> Dataset:
    item, name = Dataset(), Dataset()
    name.CodeValue, name.CodingSchemeDesignator, name.CodeMeaning = code, "DCM", "A concept"
    item.ValueType, item.ConceptNameCodeSequence = kind, [name]
    for keyword, value in values.items():
        setattr(item, keyword, value)
    return item


def test_nothing_that_was_planted_is_left():
    planted = planted_object(3)
    assert len(planted.left_in(encoded(planted.dataset))) == len(planted.texts | planted.uids | planted.dates)
    _, content, changes = cleaned(planted)
    assert planted.left_in(content) == []
    assert planted.left_in(str(changes.to_json()).encode()) == []


def test_the_object_says_what_was_done():
    dataset, _, _ = cleaned(planted_object(1), Option.MODIFIED_DATES, Option.DEVICE)
    assert dataset.PatientIdentityRemoved == "YES"
    assert [item.CodeValue for item in dataset.DeidentificationMethodCodeSequence] == [
        "113100",
        "113107",
        "113109",
    ]
    assert dataset.LongitudinalTemporalInformationModified == "MODIFIED"


def test_patients_uids_and_intervals_stay_the_same_within_a_project():
    first, second = planted_object(1, instance=0).dataset, planted_object(1, instance=1).dataset
    first.StudyDate, second.StudyDate = "20200110", "20200215"
    second.RequestAttributesSequence = [Dataset()]
    second.RequestAttributesSequence[0].StudyInstanceUID = first.StudyInstanceUID
    a, _, _ = cleaned(Planted(first), Option.MODIFIED_DATES)
    b, _, _ = cleaned(Planted(second), Option.MODIFIED_DATES)
    other, _, _ = cleaned(Planted(first), key=Pseudonyms(b"o" * 32))
    assert a.PatientID == b.PatientID != other.PatientID
    assert a.StudyInstanceUID == b.StudyInstanceUID != other.StudyInstanceUID
    days = [datetime.strptime(one.StudyDate, "%Y%m%d") for one in (a, b)]
    assert (days[1] - days[0]).days == 36
    assert days[0] < datetime(2020, 1, 10)


@pytest.mark.parametrize(
    ("option", "keyword", "kept"),
    [
        (Option.DEVICE, "StationName", "US-7"),
        (Option.INSTITUTION, "InstitutionName", "General"),
        (Option.PATIENT, "PatientSex", "F"),
        (Option.UIDS, "StudyInstanceUID", "1.2.3.4"),
        (Option.FULL_DATES, "StudyDate", "20200110"),
        (Option.DESCRIPTORS, "SeriesDescription", "chest lateral"),
    ],
)
def test_an_option_retains_what_it_names(option, keyword, kept):
    dataset = planted_object(1).dataset
    setattr(dataset, keyword, kept)
    assert cleaned(Planted(dataset), option)[0].get(keyword) == kept
    assert cleaned(Planted(dataset))[0].get(keyword) != kept


def test_great_age_is_not_retained():
    dataset = planted_object(1).dataset
    dataset.PatientAge = "097Y"
    assert cleaned(Planted(dataset), Option.PATIENT)[0].PatientAge == "090Y"


def test_only_listed_private_attributes_are_retained():
    dataset = planted_object(1).dataset
    dataset.private_block(0x0019, "SIEMENS MR HEADER", create=True).add_new(0x0C, "IS", "800")
    kept, _, _ = cleaned(Planted(dataset), Option.SAFE_PRIVATE)
    assert str(kept.private_block(0x0019, "SIEMENS MR HEADER")[0x0C].value) == "800"
    assert [tag for tag in kept.keys() if tag.is_private and tag.group != 0x0019] == []  # noqa: SIM118
    assert not any(tag.is_private for tag in cleaned(Planted(dataset))[0].keys())  # noqa: SIM118


def test_texts_and_names_of_a_structured_report_are_removed_or_cleaned():
    dataset = planted_object(2).dataset
    dataset.ContentSequence = Sequence(
        [
            report_item("TEXT", "121071", TextValue="Seen with Mrs Quixley002 in the chest"),
            report_item("PNAME", "121008", PersonName="Reader^Rita"),
            report_item("TEXT", "121022", TextValue="ACC-1"),
            report_item("NUM", "121206", TextValue="4"),
        ]
    )
    plain, content, _ = cleaned(Planted(dataset))
    assert [item.get("TextValue") for item in plain.ContentSequence] == [
        "REMOVED",
        None,
        "REMOVED",
        "REMOVED",
    ]
    assert b"Rita" not in content
    kept, content, _ = cleaned(Planted(dataset), Option.STRUCTURED, Option.DESCRIPTORS)
    # 121022, the accession number, is an item that the table removes.
    assert [item.ValueType for item in kept.ContentSequence] == ["TEXT", "PNAME", "NUM"]
    assert kept.ContentSequence[0].TextValue == "with chest"
    assert b"Quixley" not in content and b"Rita" not in content


def test_drawn_annotations_keep_their_shapes_only():
    dataset = planted_object(1).dataset
    note, words, shape = Dataset(), Dataset(), Dataset()
    words.UnformattedTextValue, shape.GraphicType = "Quixley001", "POLYLINE"
    note.TextObjectSequence, note.GraphicObjectSequence = [words], [shape]
    dataset.GraphicAnnotationSequence = [note]
    kept = cleaned(Planted(dataset), Option.GRAPHICS)[0].GraphicAnnotationSequence[0]
    assert "TextObjectSequence" not in kept and kept.GraphicObjectSequence[0].GraphicType == "POLYLINE"


def test_a_document_is_refused():
    dataset = planted_object(1).dataset
    dataset.EncapsulatedDocument = b"%PDF"
    with pytest.raises(BadInput, match="document"):
        cleaned(Planted(dataset))
