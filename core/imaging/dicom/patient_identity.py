"""The identity of the patient: the only module that reads a patient's id and dates."""

from __future__ import annotations

import datetime
import re
from dataclasses import dataclass
from typing import TYPE_CHECKING

from semblance.core.imaging.dicom.attributes import text

if TYPE_CHECKING:
    from pydicom import Dataset

    from semblance.core.imaging.pseudonyms import Pseudonyms

#: The tags :func:`patient_keys`, :func:`patient_of` and :func:`date_of` read.
TAGS = ("PatientID", "IssuerOfPatientID", "StudyInstanceUID", "AccessionNumber", "StudyDate", "SeriesDate")


@dataclass(frozen=True)
class PatientKeys:
    """The values by which a file's patient is recognised; empty where the header lacks them.

    An ``issuer`` assigns patient ids, so equal ids of two issuers may be two patients. A ``study`` (its UID)
    and an ``accession`` number are of one patient.
    """

    patient: str = ""
    issuer: str = ""
    study: str = ""
    accession: str = ""

    def replaced(self, pseudonyms: Pseudonyms) -> PatientKeys:
        """The keys as a library with ``pseudonyms`` stores them; empty ones stay empty."""
        return PatientKeys(
            self.patient and pseudonyms.patient(self.patient),
            self.issuer and pseudonyms.issuer(self.issuer),
            self.study and pseudonyms.uid(self.study),
            self.accession and pseudonyms.accession(self.accession),
        )


def patient_keys(dataset: Dataset) -> PatientKeys:
    """The patient keys of a header."""
    return PatientKeys(
        text(dataset, "PatientID"),
        text(dataset, "IssuerOfPatientID"),
        text(dataset, "StudyInstanceUID"),
        text(dataset, "AccessionNumber"),
    )


def patient_of(dataset: Dataset) -> str | None:
    """The patient's id, else the study, never the name; ``None`` where the file has neither."""
    return text(dataset, "PatientID") or text(dataset, "StudyInstanceUID") or None


def owner_of(dataset: Dataset) -> tuple[str, str]:
    """What keeps two patients apart, as the file has it: the id and its issuer, the name where there is no id."""
    patient = text(dataset, "PatientID")
    return (
        (patient, text(dataset, "IssuerOfPatientID")) if patient else (f"^{text(dataset, 'PatientName')}", "")
    )


def date_of(dataset: Dataset) -> datetime.date | None:
    """The date of the study, else of the series; ``None`` where the file has no valid date."""
    for keyword in ("StudyDate", "SeriesDate"):
        digits = re.sub(r"[.:-]", "", text(dataset, keyword))
        try:
            return datetime.datetime.strptime(digits, "%Y%m%d").date()
        except ValueError:
            continue
    return None
