"""Codes of findings in RadLex, SNOMED CT, UMLS and ICD-10, which cases keep beside the text.

The attribute :data:`CODES` of a case holds "SCHEME VALUE (FINDING)" for each code, separated by ``|``. The schemes are
named as DICOM PS3.16 (table 8-1) names them.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping
from dataclasses import dataclass

#: Attribute of a case: its codes.
CODES = "codes"
RADLEX, SNOMED, UMLS, ICD10 = "RADLEX", "SCT", "UMLS", "I10"
#: Names of columns without capitals and signs -> the scheme of what they hold.
_COLUMNS = {
    **dict.fromkeys(("radlex", "radlex id", "radlex code", "rid", "radlexid"), RADLEX),
    **dict.fromkeys(
        ("snomed", "snomed ct", "snomed code", "snomed id", "snomed ct code", "sctid", "sct", "snomedct"),
        SNOMED,
    ),
    **dict.fromkeys(("umls", "cui", "umls cui", "labelcuis"), UMLS),
    **dict.fromkeys(("icd10", "icd 10", "icd 10 code", "icd10 code"), ICD10),
}
#: How people write a scheme before a code.
_WRITTEN = {
    "radlex": RADLEX,
    "rid": RADLEX,
    "snomed": SNOMED,
    "snomedct": SNOMED,
    "snomed ct": SNOMED,
    "sct": SNOMED,
    "sctid": SNOMED,
    "srt": "SRT",
    "umls": UMLS,
    "cui": UMLS,
    "icd10": ICD10,
    "icd-10": ICD10,
}
#: "Pneumonia (SNOMED 233604007)", "Pneumonia [RID5350]", "Pneumonia RID5350".
_IN_TEXT = re.compile(
    r"\s*[(\[]?\s*\b(?:(?P<scheme>radlex|snomed[ -]?ct|snomed|sctid|sct|umls|cui|icd-?10)\s*[:#=]?\s*"
    r"(?P<value>[A-Z]?[0-9][0-9A-Z.]{2,17})|(?:radlex\s*[:#=]?\s*)?(?P<rid>RID\d{1,8}))\b\s*[)\]]?",
    re.IGNORECASE,
)
_RID = re.compile(r"RID\d{1,8}", re.IGNORECASE)
_STORED = re.compile(r"(\S+) (\S+) \((.*)\)")
_VALUE = re.compile(r"[0-9A-Za-z.:_-]{1,24}")


@dataclass(frozen=True)
class FindingCode:
    """A code: its coding ``scheme``, its ``value``, and the ``finding`` that it is of."""

    scheme: str
    value: str
    finding: str = ""

    def __str__(self) -> str:
        return f"{self.scheme} {self.value} ({self.finding})"


def plain_column(name: str) -> str:
    """The name of a column without capitals and signs: "Bbox [x" is "bbox x"."""
    return re.sub(r"[^0-9a-z]+", " ", name.casefold()).strip()


def scheme_of_column(plain_name: str) -> str:
    """The coding scheme of a column, by its name without capitals and signs; "" for other columns."""
    return _COLUMNS.get(plain_name, "")


def codes_in_cell(cell: str, scheme: str) -> list[str]:
    """The values of the codes in a cell of a column of ``scheme``: one, or several between commas, ``|`` or quotes."""
    parts = [part.rpartition(":")[2] for part in re.split(r"[\s,;|'\"\[\]()]+", cell)]
    found = [part for part in parts if _VALUE.fullmatch(part) and any(one.isdigit() for one in part)]
    if scheme == RADLEX:
        # Written without its letters.
        return [part.upper() if _RID.fullmatch(part) else f"RID{part}" for part in found]
    # A spreadsheet writes a long number with ".0".
    return [part.removesuffix(".0") if scheme == SNOMED else part for part in found]


def without_codes(text: str) -> tuple[str, list[FindingCode]]:
    """The name of a finding without the codes written behind it, and these."""
    if not any(one.isdigit() for one in text):
        return text, []
    codes: list[FindingCode] = []
    for found in _IN_TEXT.finditer(text):
        if found["rid"]:
            codes.append(FindingCode(RADLEX, found["rid"].upper()))
        else:
            written = found["scheme"].casefold().replace("-", " ").replace("icd 10", "icd10")
            scheme, value = _WRITTEN[written], found["value"].upper()
            codes.append(FindingCode(scheme, f"RID{value}" if scheme == RADLEX else value))
    name = " ".join(_IN_TEXT.sub(" ", text).split()).strip(" ,;-")
    # A text of codes alone is the name of its finding.
    return (name, codes) if codes and name else (text, codes)


def standard_code(scheme: str, value: str, finding: str) -> FindingCode | None:
    """A code of a DICOM object; ``None`` where its scheme is none of a standard, because people write other things
    there."""
    is_standard = (
        scheme in (RADLEX, SNOMED, UMLS, ICD10, "SRT", "DCM") and _VALUE.fullmatch(value) is not None
    )
    return FindingCode(scheme, value, finding) if is_standard and any(map(str.isdigit, value)) else None


def stored_codes(codes: Iterable[FindingCode]) -> dict[str, str]:
    """The attribute that keeps ``codes``; empty without any."""
    texts = dict.fromkeys(str(code) for code in codes)
    return {CODES: "|".join(texts)} if texts else {}


def finding_code(attributes: Mapping[str, str], finding: str | None) -> FindingCode | None:
    """The code of the ``finding`` of a case with these ``attributes``: the first that its list gave for it; ``None``
    where there is none. A finding that was changed since has none."""
    if finding is None:
        return None
    for part in attributes.get(CODES, "").split("|"):
        stored = _STORED.fullmatch(part)
        if stored and stored[3].casefold() == finding.casefold():
            return FindingCode(stored[1], stored[2], finding)
    return None
