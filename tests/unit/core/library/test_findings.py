"""Findings that differ only in spelling are one, and a note says so."""

from __future__ import annotations

import unicodedata

from hypothesis import given
from hypothesis import strategies as st

from semblance.core.library.findings import FindingNames, finding_key
from semblance.core.normal_text import is_missing, is_missing_finding


def test_spellings_of_one_finding():
    for spellings in [
        ["Malignant", "MALIGNANT", "malignant ", "mali\u200bgnant", "\ufeffMalignant"],
        ["1", "1.0", "1,0", "1.00", " 1", "01", "001.0"],
        ["Läsion", unicodedata.normalize("NFD", "Läsion"), "LÄSION", "L\u00e4sion\u00a0"],
        ["benign  mass", "Benign mass", "benign\tmass", "benign\u00a0mass"],
        ["True", "TRUE", "true"],
        [" Benign", "benign.", "BENIGN"],
    ]:
        names = FindingNames()
        assert len({names.name(one) for one in spellings}) == 1, spellings
        (note,) = names.notes
        assert "findings=exact" in note, spellings
        assert " ".join(spellings[0].replace("\ufeff", "").split()) in note, spellings
        exact = FindingNames(exact=True)
        assert (
            len({exact.name(one) for one in ("Malignant", "MALIGNANT", "malignant", "1", "1.0", "nan")}) == 6
        ), spellings
        assert exact.notes == [], spellings


def test_different_findings():
    for findings in [
        ["a", "A"],
        ["polyp a", "polyp A"],
        ["1", "10", "1.5", "1.10", "1.000", "-1", "0"],
        ["b", "b.", "T1", "T1.5"],
        ["+", "-"],
        ["B", "b"],
    ]:
        names = FindingNames()
        assert [names.name(one) for one in findings] == findings, findings
        assert names.notes == [], findings


def test_a_finding_that_the_library_has_keeps_its_name():
    names = FindingNames({"Malignant": 3, "MALIGNANT": 1})
    assert [names.name(one) for one in ("malignant", "MALIGNANT", "Malignant")] == [
        "Malignant",
        "MALIGNANT",
        "Malignant",
    ]


def test_texts_that_stand_for_no_finding():
    for text in ["nan", "NaN", "NA", "n/a", "?", "#N/A", "null", "<NA>", " ", "unknown", ".", "None"]:
        names = FindingNames()
        assert names.name(text) is None, text
        assert names.name("normal") == "normal", text
        assert [f"'{text}'" in note for note in names.notes] == ([True] if text.strip() else []), text
        assert is_missing(text), text


def test_what_is_missing_as_a_number_may_be_a_finding():
    assert is_missing("-")
    assert not is_missing_finding("-")
    assert not any(map(is_missing, ("none", "0", "N", "normal", "Nan Hai", "..")))


@given(st.text(max_size=20))
def test_a_key_is_the_same_in_any_form_of_a_name(name):
    assert finding_key(finding_key(name)) == finding_key(name)
    for form in ("NFC", "NFD"):
        assert finding_key(unicodedata.normalize(form, name)) == finding_key(name)
