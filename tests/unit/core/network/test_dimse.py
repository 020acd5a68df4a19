"""Answers of a PACS whose character set is missing or wrong."""

from __future__ import annotations

import io
import warnings

import pytest

from semblance.core.network.dimse import DimseAnswer
from semblance.core.network.studies import StudyQuery, study_from

pytest.importorskip("pynetdicom")

#: Name, what is asked for, and the encoding of the answer.
NAMES = (
    ("Müller^Hans", "Müller*", "latin-1"),
    ("Müller^Hans", "müll*", "utf-8"),
    ("Dvořák^Jan", "dvořák", "iso8859-2"),
    ("Иванов^Пётр", "Иванов", "iso8859-5"),
    ("Иванов^Пётр", "иван*", "windows-1251"),
    ("Παπαδόπουλος^Νίκος", "Παπαδόπουλος", "iso8859-7"),
    ("山田^太郎", "山田*", "shift_jis"),
    ("王^小东", "王*", "gb18030"),
    ("김^희중", "김*", "euc-kr"),
)


def answer(name: bytes, character_set: str, query: StudyQuery) -> DimseAnswer:
    """An answer as it comes over the network, with these bytes as the name."""
    from pydicom.dataset import Dataset
    from pynetdicom.dsutils import decode, encode

    dataset = Dataset()
    dataset.StudyInstanceUID, dataset.StudyDescription = "1.2.3", "Thorax"
    dataset.PatientName = name.decode("latin-1")
    if character_set:
        dataset.SpecificCharacterSet = "ISO_IR 100"
        # The bytes are given, whatever is stated.
        dataset.PatientName = "X" * len(name)
    data = encode(dataset, is_implicit_vr=True, is_little_endian=True)
    assert data is not None
    data = data.replace(b"X" * len(name), name).replace(b"ISO_IR 100", character_set.ljust(10).encode())
    with warnings.catch_warnings():
        # pydicom warns of a character set that there is not.
        warnings.simplefilter("ignore", UserWarning)
        return DimseAnswer(decode(io.BytesIO(data), True, True), query)


@pytest.mark.parametrize("character_set", ["", "ISO_IR 6", "ISO_IR 999", "ISO_IR 192"])
@pytest.mark.parametrize(("name", "asked", "codec"), NAMES)
def test_an_answer_that_the_server_matched_is_kept_and_read(name, asked, codec, character_set):
    query = StudyQuery(name=asked)
    found = answer(name.encode(codec), character_set, query)
    study = study_from(found)
    assert study is not None
    assert query.matches(study, is_certain=found.is_certain)
    assert study.patient_name == name
    assert study.description == "Thorax"


def test_a_name_of_which_nothing_is_certain_is_kept_and_one_that_surely_differs_is_not():
    query = StudyQuery(name="Müller")
    unreadable = answer(b"\xff\xfe\x81^X", "", query)
    study = study_from(unreadable)
    assert study is not None
    assert query.matches(study, is_certain=unreadable.is_certain)
    for name, character_set in ((b"Meier^X", ""), ("Möller^X".encode(), "ISO_IR 192")):
        other = answer(name, character_set, query)
        study = study_from(other)
        assert study is not None
        assert not query.matches(study, is_certain=other.is_certain)
