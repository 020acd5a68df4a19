"""Attributes of a case from its header: codes and small texts that a library stores."""

from __future__ import annotations

import csv
import functools
import re
from typing import TYPE_CHECKING

from semblance import resources
from semblance.core.imaging.dicom.attributes import text
from semblance.core.imaging.dicom.identity import Identity

if TYPE_CHECKING:
    from pydicom import Dataset


_OF_ALL, _DIGITS = "*", "@digits"
#: Numbers of templates and of bits are no longer; those of patients are.
_MOST_DIGITS = 5


def is_defined(keyword: str, value: str) -> bool:
    """Whether every word of a coded string is a word of a term that the standard defines for the attribute."""
    terms = _terms()
    known = terms.get(keyword, frozenset())
    return all(
        word in known
        or word in terms[_OF_ALL]
        or (_DIGITS in known and word.isdigit() and len(word) <= _MOST_DIGITS)
        for word in re.split(r"[ \\]+", value.strip())
        if word
    )


@functools.cache
def _terms() -> dict[str, frozenset[str]]:
    found: dict[str, frozenset[str]] = {}
    with resources.path("deidentification/defined_terms.csv").open(encoding="utf-8", newline="") as file:
        for row in csv.DictReader(file):
            words = row["terms"].split()
            # "@Laterality": the terms of another attribute.
            same_as = words[0].removeprefix("@")
            found[row["keyword"]] = found.get(same_as) or frozenset(words)
    return found


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
