"""Which attributes of a case a report shows: those that can only hold a term or a number, unless more is ticked.

Free text (a comment, BodyPartExamined, a column of ``labels.csv``) may contain patient data that no list knows.
So an attribute is shown only if both its name and its value are among those below.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping

from semblance.core.imaging.pseudonyms import is_identifying
from semblance.core.language import tr_lazy

#: Attributes with which an archive finds a case: shown only in identified reports.
_ARCHIVE_ATTRIBUTES = frozenset(
    ("date", "study", "series", "instance", "issuer", "order", "of", "station", "institution")
)
#: Names of files, which may name the patient.
FILE_ATTRIBUTES = frozenset(("file", "filename", "path", "mask", "masks"))
_IDENTIFIED_ONLY = _ARCHIVE_ATTRIBUTES | FILE_ATTRIBUTES
#: All ages from this one on are one group, because few people are as old (PS3.15, HIPAA's limit of 89 years).
_OLDEST = 90


def _terms(text: str) -> frozenset[str]:
    return frozenset(text.split())


_MODALITIES = _terms(
    "AR AU BDUS BI BMD CR CT DMS DG DX ECG EEG ES GM HD IO IVOCT IVUS KER LEN LS MG MR NM OAM OCT OP OPM OPT "
    "OPTBSV OPTENF OPV OT PT PX RF RG SC SM SMR SRF TG US VA XA XC"
)
_SIDES = frozenset(("l", "r", "b", "u", "left", "right", "both", "bilateral", "unpaired"))
_VIEWS = _terms(
    "AP PA LL RL RLD LLD RLO LLO AX SAX LATERAL LAT FRONTAL OBLIQUE AXIAL SAGITTAL CORONAL CC MLO ML LM LMO "
    "XCC XCCL XCCM SIO ISO FB CV AT SUPINE PRONE"
)
_SEXES = {"f": "F", "female": "F", "m": "M", "male": "M", "o": "O", "other": "O"}
#: A code as :mod:`semblance.core.library.finding_codes` stores it.
_CODE = re.compile(r"(RADLEX|SCT|UMLS|I10|SRT|DCM) ([A-Z]{0,3}[0-9][0-9A-Z.-]{1,17}) \(.*\)")
_TISSUES = frozenset(("fatty", "fatty-glandular", "glandular", "dense", "dense-glandular"))

_ABNORMALITIES = frozenset(
    (
        "mass",
        "calcification",
        "circumscribed mass",
        "spiculated mass",
        "ill-defined mass",
        "architectural distortion",
        "asymmetry",
        "normal",
    )
)


def _one_of(terms: frozenset[str], fold: Callable[[str], str]) -> Callable[[str], str | None]:
    return lambda text: text if fold(text) in terms else None


def _number(text: str) -> str | None:
    """A small number, as of millimetres or of a scale: longer numbers may identify somebody."""
    return text if re.fullmatch(r"\d{1,3}(?:\.\d{1,3})?", text) else None


def _category(text: str) -> str | None:
    """A category of BI-RADS or ACR: ``4``, ``4a``, ``B``."""
    return text if re.fullmatch(r"[0-6][abcABC]?|[A-D]", text) else None


def _age_group(text: str) -> str | None:
    """``40–49`` of ``47``, ``47.5`` and DICOM's ``047Y``."""
    found = re.fullmatch(r"0*(\d{1,3})(?:\.\d+)?\s*(?:Y|years?)?", text)
    months = re.fullmatch(r"\d{1,4}\s*[MWD]", text)
    if months:
        return "0–9" if int(text.rstrip("MWD ")) <= {"M": 119, "W": 519, "D": 3649}[text[-1]] else None
    if found is None or int(found[1]) > 130:
        return None
    first = int(found[1]) // 10 * 10
    return f"{_OLDEST}+" if first >= _OLDEST else f"{first}–{first + 9}"


def _codes(text: str) -> str | None:
    """The codes of findings without the names that a list gave them."""
    codes = [_CODE.fullmatch(part) for part in text.split("|")]
    return ", ".join(f"{code[1]} {code[2]}" for code in codes if code) if all(codes) else None


#: Name of an attribute -> function giving the value that may be shown, ``None`` where it may not be shown.
_ALLOWED: dict[str, Callable[[str], str | None]] = {
    "modality": _one_of(_MODALITIES, str.upper),
    "laterality": _one_of(_SIDES, str.lower),
    "breast": _one_of(_SIDES, str.lower),
    "view": _one_of(_VIEWS, str.upper),
    "sex": lambda text: _SEXES.get(text.lower()),
    "age": _age_group,
    "burnt_in_text": _one_of(frozenset(("yes", "no", "possible")), str.lower),
    "burnt_in_marks": _number,
    "tissue": _one_of(_TISSUES, str.lower),
    "abnormality": _one_of(_ABNORMALITIES, str.lower),
    "callback": _one_of(frozenset(("yes", "no")), str.lower),
    "part": _one_of(frozenset(("train", "training", "val", "validation", "test")), str.lower),
    "split": _one_of(frozenset(("train", "training", "val", "validation", "test")), str.lower),
    "density": _category,
    "birads": _category,
    "bi-rads": _category,
    "assessment": _category,
    "subtlety": _category,
    "diameter_mm": _number,
    "codes": _codes,
}
#: Name of an attribute -> its title.
_TITLES = {
    "laterality": tr_lazy("Laterality"),
    "view": tr_lazy("View"),
    "note": tr_lazy("Note"),
    "modality": tr_lazy("Modality"),
    "geometry": tr_lazy("Geometry"),
    "burnt_in_text": tr_lazy("Burnt-in text"),
    "burnt_in_marks": tr_lazy("Burnt-in annotations"),
    "body_part": tr_lazy("Body part"),
    "series_description": tr_lazy("Series description"),
    "study_description": tr_lazy("Study description"),
    "series_number": tr_lazy("Series number"),
    "slice_thickness": tr_lazy("Slice thickness, mm"),
    "kernel": tr_lazy("Kernel"),
    "protocol": tr_lazy("Protocol"),
    "date": tr_lazy("Date"),
    "station": tr_lazy("Station"),
    "institution": tr_lazy("Institution"),
    "manufacturer": tr_lazy("Manufacturer"),
    "age": tr_lazy("Age"),
    "sex": tr_lazy("Sex"),
    "part": tr_lazy("Official part"),
    "findings": tr_lazy("Findings in the list"),
    "findings_uncertain": tr_lazy("Uncertain findings in the list"),
    "codes": tr_lazy("Codes"),
    "boxes": tr_lazy("Boxes in the list"),
}


def attribute_title(name: str) -> str:
    """The title of the attribute ``name`` in a list of facts, to be translated."""
    return _TITLES.get(name, name.replace("_", " ").capitalize())


def shown_attributes(attributes: Mapping[str, str], *, identified: bool, free_text: bool) -> dict[str, str]:
    """The attributes a report shows, sorted by name.

    Terms and numbers of the allow-list always, ages by decade unless ``identified``; attributes that identify the
    patient or the study, and names of files, only if ``identified``; everything else only with ``free_text``.
    """
    shown = {}
    for name, value in sorted(attributes.items()):
        allow = _ALLOWED.get(name.strip().lower())
        allowed = None if allow is None else allow(value.strip())
        if name in _IDENTIFIED_ONLY or is_identifying(name):
            shown_value = value if identified else None
        elif allowed is not None:
            shown_value = value if identified else allowed
        else:
            shown_value = value if free_text else None
        if shown_value is not None:
            shown[name] = shown_value
    return shown
