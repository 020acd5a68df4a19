"""Who the patient is: the one place where a patient's id enters the program."""

from __future__ import annotations

from typing import TYPE_CHECKING

from core.imaging.dicom.fields import text

if TYPE_CHECKING:
    from pydicom import Dataset

#: The tags :func:`patient_of` reads.
TAGS = ("PatientID", "StudyInstanceUID")


def patient_of(dataset: Dataset) -> str | None:
    """What cases of one patient have in common: the patient's id, else the study; never the name.

    ``None`` where the file tells neither.
    """
    return text(dataset, "PatientID") or text(dataset, "StudyInstanceUID") or None
