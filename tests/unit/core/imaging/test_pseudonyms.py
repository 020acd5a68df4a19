from __future__ import annotations

import datetime
import re

import pytest

from semblance.core.imaging.pseudonyms import KEY_BYTES, Pseudonyms, is_identifying

ONE, OTHER = Pseudonyms(b"1" * KEY_BYTES), Pseudonyms(b"2" * KEY_BYTES)
DAY = datetime.date(2019, 3, 8)


def test_one_key_gives_the_same_codes_and_another_others():
    again = Pseudonyms(b"1" * KEY_BYTES)
    assert ONE.patient("4711") == again.patient("4711") != OTHER.patient("4711")
    assert ONE.uid("1.2.3") == again.uid("1.2.3") != OTHER.uid("1.2.3")
    assert ONE.case("a/b.dcm") == again.case("a/b.dcm") != OTHER.case("a/b.dcm")
    assert ONE.date(DAY, "4711") == again.date(DAY, "4711") != OTHER.date(DAY, "4711")
    assert Pseudonyms.new_key() != Pseudonyms.new_key()
    assert len(Pseudonyms.new_key()) == KEY_BYTES


def test_codes_tell_patients_apart_and_look_like_codes():
    codes = {ONE.patient(str(number)) for number in range(2000)}
    assert len(codes) == 2000
    assert all(re.fullmatch(r"P-[0-9a-f]{16}", code) for code in codes)
    assert ONE.patient("\udcff胸") != ONE.patient("胸")


def test_the_same_text_as_patient_case_and_uid_gives_unrelated_codes():
    patient, case, uid = ONE.patient("1.2"), ONE.case("1.2"), ONE.uid("1.2")
    assert patient[2:] != case
    assert f"{int(uid.removeprefix('2.25.')):032x}"[:16] not in (patient[2:], case)


def test_uids_have_the_form_of_the_standard():
    for number in range(300):
        uid = ONE.uid(f"1.2.{number}")
        assert re.fullmatch(r"2\.25\.(0|[1-9][0-9]*)", uid)
        assert len(uid) <= 64


def test_dates_move_back_and_keep_the_intervals_of_a_patient():
    later = DAY + datetime.timedelta(days=41)
    assert ONE.date(later, "4711") - ONE.date(DAY, "4711") == datetime.timedelta(days=41)
    moved = {(DAY - ONE.date(DAY, str(number))).days for number in range(500)}
    assert min(moved) >= 1
    assert max(moved) <= 3650
    assert len(moved) > 400
    assert ONE.date(datetime.date.min, "4711") == datetime.date.min


@pytest.mark.parametrize(
    "column",
    ["Name", "patient_name", "PatientName", "first name", "Surname", "birth_date", "Geburtsname/birthname",
     "DOB", "Address", "phone", "e-mail", "Email", "Accession Number", "MRN", "medical_record_no",
     "Referring physician"],
)  # fmt: skip
def test_columns_of_identities(column):
    assert is_identifying(column)


@pytest.mark.parametrize(
    "column",
    ["filename", "age", "view", "laterality", "density", "lesion name", "patient_id", "study", "series",
     "callback", "burnt_in_text", "ssn_score", "name_of_lesion", "category"],
)  # fmt: skip
def test_other_columns(column):
    assert not is_identifying(column)
