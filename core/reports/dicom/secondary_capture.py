"""An image that is in no DICOM file as a Secondary Capture, so that reports can refer to it."""

from __future__ import annotations

import io
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from pydicom import Dataset

#: Secondary Capture Image Storage.
SOP_CLASS = "1.2.840.10008.5.1.4.1.1.7"


def secondary_capture(picture: bytes, patient: str, study: str, series: str, number: int) -> Dataset:
    """The PNG or JPEG ``picture`` as object ``number`` of ``series`` in ``study``; ``patient`` may be empty."""
    import numpy as np
    from PIL import Image
    from pydicom.dataset import FileDataset, FileMetaDataset
    from pydicom.uid import UID, ExplicitVRLittleEndian, generate_uid

    with Image.open(io.BytesIO(picture)) as opened:
        pixels = np.asarray(opened.convert("RGB"))
    meta = FileMetaDataset()
    meta.MediaStorageSOPClassUID, meta.MediaStorageSOPInstanceUID = UID(SOP_CLASS), generate_uid(prefix=None)
    meta.TransferSyntaxUID = ExplicitVRLittleEndian
    file = FileDataset("", {}, file_meta=meta, preamble=b"\0" * 128)
    values: dict[str, Any] = {
        "SpecificCharacterSet": "ISO_IR 192",
        "SOPClassUID": SOP_CLASS,
        "SOPInstanceUID": meta.MediaStorageSOPInstanceUID,
        "StudyInstanceUID": study,
        "SeriesInstanceUID": series,
        "PatientID": patient[:64],
        "PatientName": "",
        "PatientBirthDate": "",
        "PatientSex": "",
        "StudyDate": "",
        "StudyTime": "",
        "StudyID": "",
        "AccessionNumber": "",
        "ReferringPhysicianName": "",
        "Modality": "OT",
        "ConversionType": "WSD",
        "SeriesNumber": 2,
        "InstanceNumber": number,
        "PatientOrientation": "",
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
