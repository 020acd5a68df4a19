from __future__ import annotations

import pytest

from semblance.core.reports.case_attributes import shown_attributes

CASE = {
    "modality": "CT",
    "view": "Zebrovich",
    "laterality": "L",
    "age": "047Y",
    "sex": "female",
    "comment": "seen by Larkspur",
    "body_part": "HAND",
    "patient_name": "Zebrovich",
    "study": "1.2.3",
    "date": "2019-03-08",
    "masks": "larkspur/1_mask.png",
}


def test_only_terms_and_numbers_of_the_list_are_shown_unasked():
    assert shown_attributes(CASE, identified=False, free_text=False) == {
        "age": "40–49",
        "laterality": "L",
        "modality": "CT",
        "sex": "F",
    }


def test_free_text_and_identities_are_ticked_apart():
    free = shown_attributes(CASE, identified=False, free_text=True)
    assert set(CASE) - set(free) == {"patient_name", "study", "date", "masks"}
    identified = shown_attributes(CASE, identified=True, free_text=False)
    assert set(CASE) - set(identified) == {"comment", "body_part", "view"}
    assert identified["age"] == "047Y"
    assert shown_attributes(CASE, identified=True, free_text=True) == dict(sorted(CASE.items()))


@pytest.mark.parametrize(
    ("name", "value", "shown"),
    [
        ("age", "7", "0–9"),
        ("age", "100", "90+"),
        ("age", "18 M", "0–9"),
        ("age", "19530417", None),
        ("age", "47, Quentin", None),
        ("diameter_mm", "12.5", "12.5"),
        ("diameter_mm", "778812", None),
        ("density", "3", "3"),
        ("assessment", "4a", "4a"),
        ("BIRADS", "see Q.", None),
        ("sex", "Quentin", None),
        ("size", "12", None),
    ],
)
def test_a_value_of_another_kind_is_free_text(name, value, shown):
    found = shown_attributes({name: value}, identified=False, free_text=False)
    assert found == ({} if shown is None else {name: shown})
