"""A PDF report as a DICOM object for an image archive."""

from __future__ import annotations

import io
from datetime import UTC, datetime
from typing import TYPE_CHECKING

from semblance.core.reports.dicom.common import PATIENT_AND_STUDY
from semblance.core.reports.document import ReportDocument
from semblance.core.reports.pdf import report_pdf

if TYPE_CHECKING:
    from pydicom import Dataset

#: Encapsulated PDF Storage (PS3.4 B.5) and Explicit VR Little Endian.
SOP_CLASS, TRANSFER_SYNTAX = "1.2.840.10008.5.1.4.1.1.104.1", "1.2.840.10008.1.2.1"
_MAX_LENGTH = 64


def report_dicom(
    document: ReportDocument, page: str = "A4", header: Dataset | None = None, *, identified: bool = False
) -> bytes:
    """The report as an Encapsulated PDF object (PS3.3 A.45.1) of the patient and study of ``header``; without one in a
    study of its own that names no patient. ``identified``: whether the header does.
    """
    from pydicom.dataset import FileDataset, FileMetaDataset
    from pydicom.uid import UID, generate_uid

    meta = FileMetaDataset()
    meta.MediaStorageSOPClassUID = UID(SOP_CLASS)
    meta.MediaStorageSOPInstanceUID = generate_uid(prefix=None)
    meta.TransferSyntaxUID = UID(TRANSFER_SYNTAX)
    file = FileDataset("", {}, file_meta=meta, preamble=b"\0" * 128)
    file.SpecificCharacterSet = "ISO_IR 192"
    file.SOPClassUID, file.SOPInstanceUID = meta.MediaStorageSOPClassUID, meta.MediaStorageSOPInstanceUID
    for keyword in PATIENT_AND_STUDY:
        setattr(file, keyword, "" if header is None else header.get(keyword, ""))
    file.PatientIdentityRemoved = "NO" if identified else "YES"
    if not identified:
        file.DeidentificationMethod = " ".join(document.removed)[:_MAX_LENGTH]
    file.StudyInstanceUID = generate_uid(prefix=None) if header is None else header.StudyInstanceUID
    file.SeriesInstanceUID = generate_uid(prefix=None)
    file.Modality, file.ConversionType = "DOC", "WSD"
    file.SeriesNumber, file.InstanceNumber, file.SeriesDescription = 1, 1, "Semblance: Report"
    file.Manufacturer, file.ManufacturerModelName = "Semblance", "Semblance"
    file.SoftwareVersions = document.versions.get("semblance", "")[:_MAX_LENGTH]
    file.InstitutionName = document.clinic[:_MAX_LENGTH]
    made = _created_at(document.created)
    file.ContentDate, file.ContentTime = f"{made:%Y%m%d}", f"{made:%H%M%S}"
    file.AcquisitionDateTime = ""
    # Images that were not searched may show a name.
    may_show_text = document.has_images() and document.blacked_out is None
    file.BurnedInAnnotation = "YES" if identified or may_show_text else "NO"
    file.ConceptNameCodeSequence = []
    file.DocumentTitle = document.title[:1024]
    file.MIMETypeOfEncapsulatedDocument = "application/pdf"
    pdf = report_pdf(document, page)
    file.EncapsulatedDocument = pdf + b"\0" * (len(pdf) % 2)
    file.EncapsulatedDocumentLength = len(pdf)
    out = io.BytesIO()
    file.save_as(out, enforce_file_format=True)
    return out.getvalue()


def _created_at(created: str) -> datetime:
    try:
        return datetime.fromisoformat(created)
    except ValueError:
        return datetime.now(UTC)
