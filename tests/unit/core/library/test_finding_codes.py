"""Codes of findings beside their text."""

from __future__ import annotations

import pytest

from semblance.core.library.finding_codes import (
    CODES,
    FindingCode,
    codes_in_cell,
    finding_code,
    scheme_of_column,
    stored_codes,
    without_codes,
)
from semblance.core.reports.case_attributes import shown_attributes


@pytest.mark.parametrize(
    ("text", "name", "codes"),
    [
        ("Pneumonia (SNOMED 233604007)", "Pneumonia", ["SCT 233604007"]),
        ("Pneumonia [SCTID: 233604007]", "Pneumonia", ["SCT 233604007"]),
        ("Pleural effusion (RID34539)", "Pleural effusion", ["RADLEX RID34539"]),
        ("Mass RadLex RID3874", "Mass", ["RADLEX RID3874"]),
        ("Mass (RID3874, SNOMED-CT 4147007)", "Mass", ["RADLEX RID3874", "SCT 4147007"]),
        ("Pneumonia (ICD-10 J18.9)", "Pneumonia", ["I10 J18.9"]),
        ("RID3874", "RID3874", ["RADLEX RID3874"]),
        ("grade 3 (of 4)", "grade 3 (of 4)", []),
        ("BI-RADS 4a", "BI-RADS 4a", []),
        ("Mass", "Mass", []),
    ],
)
def test_codes_behind_the_name_of_a_finding(text, name, codes):
    found, given = without_codes(text)
    assert (found, [f"{one.scheme} {one.value}" for one in given]) == (name, codes)


def test_codes_in_columns_of_their_own():
    assert [scheme_of_column(name) for name in ("radlex id", "sctid", "labelcuis", "area")] == [
        "RADLEX", "SCT", "UMLS", "",
    ]  # fmt: skip
    assert codes_in_cell("4147007.0|27925004", "SCT") == ["4147007", "27925004"]
    assert codes_in_cell("http://radlex.org/RID/RID3874, 5350", "RADLEX")[-1] == "RID5350"
    assert codes_in_cell("n/a", "SCT") == []


def test_the_code_of_the_present_finding_of_a_case():
    attributes = stored_codes(
        [FindingCode("SCT", "4147007", "Mass"), FindingCode("RADLEX", "RID1", "Nodule (x)")]
    )
    assert finding_code(attributes, "nodule (X)") == FindingCode("RADLEX", "RID1", "nodule (X)")
    assert finding_code(attributes, "Cyst") is None
    assert finding_code({}, None) is None
    assert stored_codes([]) == {}


def test_a_report_shows_codes_without_other_text():
    attributes = stored_codes([FindingCode("SCT", "4147007", "Mass of Mrs Miller")])
    assert shown_attributes(attributes, identified=False, free_text=False) == {CODES: "SCT 4147007"}
    assert shown_attributes({CODES: "Mrs Miller"}, identified=False, free_text=False) == {}


def test_a_structured_report_writes_the_code_of_a_finding_or_one_of_its_own():
    pytest.importorskip("highdicom")
    from types import SimpleNamespace

    from semblance.core.reports.dicom.structured_report import _finding_code

    document = SimpleNamespace(finding_codes={"Mass": FindingCode("SCT", "4147007", "Mass")})
    known, other = _finding_code("Mass", document), _finding_code("Cyst", document)
    assert (known.value, known.scheme_designator, known.meaning) == ("4147007", "SCT", "Mass")
    assert (other.scheme_designator, other.meaning) == ("99SEMBLANCE", "Cyst")
