"""What is asked of a PACS, and the filter of its answers."""

from __future__ import annotations

import pytest
from pydicom import Dataset

from semblance.core.errors import BadArguments
from semblance.core.network.studies import (
    Study,
    StudyQuery,
    check_uid,
    date_range,
    in_order,
    series_from,
    study_from,
)

STUDY = Study("1.2", "Müller^Anna Maria", "P-007", "20240105", ("CT", "SR"), "Thorax Routine", accession="A7")


@pytest.mark.parametrize(
    "query",
    [
        StudyQuery(),
        StudyQuery(name="müller"),
        StudyQuery(name="Müller, Anna"),
        StudyQuery(name="m?ller*maria"),
        StudyQuery(patient_id="P-0*"),
        StudyQuery(dates="20240105"),
        StudyQuery(dates="20240101-20240131"),
        StudyQuery(dates="-20240105"),
        StudyQuery(dates="20240105-"),
        StudyQuery(modality="ct"),
        StudyQuery(description="routine"),
        StudyQuery(accession="A7"),
        StudyQuery(study="1.2"),
    ],
)
def test_an_answer_that_fits(query):
    assert query.matches(STUDY)


@pytest.mark.parametrize(
    "query",
    [
        StudyQuery(name="anna"),
        StudyQuery(name="M.ller"),
        StudyQuery(patient_id="P-0"),
        StudyQuery(dates="20240106-"),
        StudyQuery(dates="-20240104"),
        StudyQuery(dates="20230105"),
        StudyQuery(modality="MR"),
        StudyQuery(description="routine?"),
        StudyQuery(accession="A"),
        StudyQuery(study="1.2.3"),
    ],
)
def test_an_answer_that_does_not_fit(query):
    assert not query.matches(STUDY)


def test_values_that_the_server_does_not_send_count_as_correct():
    assert StudyQuery(name="x", dates="20200101", modality="MR", description="y").matches(Study("1.2"))


@pytest.mark.parametrize(
    ("text", "form"),
    [
        ("2024-01-31", "20240131"),
        ("2024-01-01 - 2024-01-31", "20240101-20240131"),
        ("20240101-", "20240101-"),
        ("-20240131", "-20240131"),
        ("", ""),
    ],
)
def test_dates_as_people_write_them(text, form):
    assert date_range(text) == form


@pytest.mark.parametrize("text", ["31.1.2024", "20241301", "2024", "20240101-20240102-20240103", "today"])
def test_a_date_that_is_none_is_refused(text):
    with pytest.raises(BadArguments, match="not a date"):
        date_range(text)


@pytest.mark.parametrize("uid", ["", "../../etc", "1.2.", "1" * 65, "1.2\n"])
def test_a_uid_that_could_name_another_place_is_refused(uid):
    with pytest.raises(BadArguments, match="not a UID"):
        check_uid(uid)


def test_answers_with_strange_values_are_read_as_far_as_possible():
    answer = Dataset.from_json(
        {
            "0020000D": {"vr": "UI", "Value": ["1.2.3"]},
            "00080061": {"vr": "CS", "Value": ["MR", "CT", "CT"]},
            "00201206": {"vr": "IS"},
            "00100010": {"vr": "PN", "Value": [{"Alphabetic": "A^B"}]},
        }
    )
    study = study_from(answer)
    assert study is not None
    assert (study.modalities, study.series, study.patient_name) == (("CT", "MR"), None, "A^B")
    assert study_from(Dataset()) is None
    assert series_from(Dataset()) is None


def test_each_study_once_and_the_newest_first():
    older = Study("9", date="20230101")
    assert in_order([older, STUDY, older]) == [STUDY, older]
