"""Images that are in no DICOM file as Secondary Captures, so that reports can refer to them."""

from __future__ import annotations

import io
from typing import TYPE_CHECKING, Any

from semblance.core.purpose import PURPOSE
from semblance.core.reports.dicom.common import MANUFACTURER, PATIENT_AND_STUDY, complete_header

if TYPE_CHECKING:
    from pydicom import Dataset

#: Secondary Capture Image Storage.
SOP_CLASS = "1.2.840.10008.5.1.4.1.1.7"


def secondary_capture(encoded: bytes, header: Dataset, series: str, description: str = "") -> Dataset:
    """The PNG or JPEG ``encoded`` as the one object of ``series`` in the study, and of the patient, of ``header``."""
    import numpy as np
    from PIL import Image
    from pydicom.dataset import FileDataset, FileMetaDataset
    from pydicom.uid import UID, ExplicitVRLittleEndian, generate_uid

    with Image.open(io.BytesIO(encoded)) as opened:
        pixels = np.asarray(opened.convert("RGB"))
    meta = FileMetaDataset()
    meta.MediaStorageSOPClassUID, meta.MediaStorageSOPInstanceUID = UID(SOP_CLASS), generate_uid(prefix=None)
    meta.TransferSyntaxUID = ExplicitVRLittleEndian
    file = FileDataset("", {}, file_meta=meta, preamble=b"\0" * 128)
    complete = complete_header(header)
    values: dict[str, Any] = {
        keyword: complete.get(keyword, "") for keyword in ("StudyInstanceUID", *PATIENT_AND_STUDY)
    }
    values |= {
        "SpecificCharacterSet": "ISO_IR 192",
        "SOPClassUID": SOP_CLASS,
        "SOPInstanceUID": meta.MediaStorageSOPInstanceUID,
        "SeriesInstanceUID": series,
        "Modality": "OT",
        "ConversionType": "WSD",
        "SecondaryCaptureDeviceManufacturer": MANUFACTURER,
        "SeriesDescription": description[:64],
        "SeriesNumber": 2,
        "InstanceNumber": 1,
        "PatientOrientation": "",
        "ImageComments": str(PURPOSE),
        "Laterality": "",
        "SamplesPerPixel": 3,
        "PhotometricInterpretation": "RGB",
        "PlanarConfiguration": 0,
        "Rows": pixels.shape[0],
        "Columns": pixels.shape[1],
        "BitsAllocated": 8,
        "BitsStored": 8,
        "HighBit": 7,
        "PixelRepresentation": 0,
    }
    for keyword, value in values.items():
        setattr(file, keyword, value)
    content = pixels.tobytes()
    file.PixelData = content + b"\0" * (len(content) % 2)
    file["PixelData"].VR = "OW"
    return file
