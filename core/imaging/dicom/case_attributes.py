"""Attributes of a case from its header: codes and small texts that a library stores."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

from semblance.core.imaging.dicom.attributes import text
from semblance.core.imaging.dicom.defined_terms import is_defined
from semblance.core.imaging.dicom.identity import Identity

if TYPE_CHECKING:
    from pydicom import Dataset

_SEXES = frozenset(("M", "F", "O", "U"))
_AGE = re.compile(r"\d{1,3}[DWMYdwmy]?")


def case_attributes(dataset: Dataset, identity: Identity | None = None) -> dict[str, str]:
    """Attributes of a case from its header, "" if it has none; nothing that identifies the patient.

    A text in which a name or an id of ``identity`` is, by default that of the header's patient, is left out.
    """
    known = identity or Identity.of_patient(dataset)
    sex, age = text(dataset, "PatientSex"), text(dataset, "PatientAge")
    return {
        "modality": code_of(dataset, known, "Modality"),
        "body_part": code_of(dataset, known, "BodyPartExamined"),
        "view": code_of(dataset, known, "ViewPosition"),
        "sex": sex if sex.upper() in _SEXES else "",
        "age": age if _AGE.fullmatch(age) else "",
        "manufacturer": code_of(dataset, known, "Manufacturer"),
        "laterality": code_of(dataset, known, "ImageLaterality") or code_of(dataset, known, "Laterality"),
    }


def code_of(dataset: Dataset, identity: Identity, keyword: str) -> str:
    """The value of ``keyword``, "" where a name or an id is in it. A term that the standard defines is no name, whoever
    is called so."""
    found = text(dataset, keyword)
    return found if is_defined(keyword, found) or not identity.is_word_of(found) else ""
