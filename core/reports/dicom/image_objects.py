"""A search as DICOM objects other than structured reports: secondary captures, segmentations, key objects, PDF."""

from __future__ import annotations

import io
from collections.abc import Collection, Mapping, Sequence
from datetime import UTC, datetime
from typing import TYPE_CHECKING, Any

from semblance.core.errors import BadInput
from semblance.core.language import tr_lazy
from semblance.core.purpose import NOT_FOR_PATIENTS, PURPOSE, USES
from semblance.core.reports.dicom.common import (
    MANUFACTURER,
    PATIENT_AND_STUDY,
    SourceObject,
    complete_header,
    encoded,
    equipment,
    needs_highdicom,
)
from semblance.core.reports.document import ReportDocument
from semblance.core.reports.pdf import report_pdf

if TYPE_CHECKING:
    from pydicom import Dataset

    from semblance.core.imaging.region import Region
    from semblance.core.reports.document import ReportedCase


#: Cells of a row, and pixels of a cell's image, of its text and between cells.
_ACROSS, _SIDE, _TEXT, _GAP = 5, 256, 44, 12
_HEAD = 80
_TITLE = ("Similar cases of other patients, de-identified.", *map(str, (USES, NOT_FOR_PATIENTS)))
_BLACK, _WHITE, _GREY = (0, 0, 0), (255, 255, 255), (150, 150, 150)

#: Secondary Capture Image Storage.
SECONDARY_CAPTURE = "1.2.840.10008.5.1.4.1.1.7"

_OF_SEARCH, _OF_COLLECTION = "Images of a search for similar cases.", "Images of a teaching collection."

#: Encapsulated PDF Storage (PS3.4 B.5) and Explicit VR Little Endian.
ENCAPSULATED_PDF, TRANSFER_SYNTAX = "1.2.840.10008.5.1.4.1.1.104.1", "1.2.840.10008.1.2.1"
_MAX_LENGTH = 64


def montage(ranking: Sequence[ReportedCase], without_image: Collection[int] = ()) -> bytes | None:
    """A PNG with a cell for each case of a de-identified ``ranking``; ``None`` where none has an image.

    Cases whose ranks are in ``without_image`` are named only.
    """
    from matplotlib import get_data_path
    from PIL import Image, ImageDraw, ImageFont

    images = {row.rank: row.image or row.thumbnail for row in ranking if row.rank not in without_image}
    if not any(images.values()):
        return None
    font = ImageFont.truetype(f"{get_data_path()}/fonts/ttf/DejaVuSans.ttf", 16)
    across = min(_ACROSS, max(3, len(ranking)))
    down = -(-len(ranking) // across)
    size = (across * (_SIDE + _GAP) + _GAP, _HEAD + down * (_SIDE + _TEXT + _GAP))
    sheet = Image.new("RGB", size, _BLACK)
    draw = ImageDraw.Draw(sheet)
    for line, text in enumerate(_TITLE):
        draw.text((_GAP, _GAP + 20 * line), _shortened(text, font, size[0] - 2 * _GAP), _WHITE, font)
    for place, row in enumerate(ranking):
        x, y = _GAP + place % across * (_SIDE + _GAP), _HEAD + place // across * (_SIDE + _TEXT + _GAP)
        image = images.get(row.rank)
        if image is None:
            draw.rectangle((x, y, x + _SIDE - 1, y + _SIDE - 1), outline=_GREY)
            draw.text((x + _SIDE // 2, y + _SIDE // 2), "not shown", _GREY, font, anchor="mm")
        else:
            with Image.open(io.BytesIO(image)) as opened:
                shown = opened.convert("RGB")
            scale = _SIDE / max(shown.size)
            shown = shown.resize((max(1, round(shown.width * scale)), max(1, round(shown.height * scale))))
            sheet.paste(shown, (x + (_SIDE - shown.width) // 2, y + (_SIDE - shown.height) // 2))
        for line, text in enumerate((f"{row.rank}  {row.case_id}", row.finding or "")):
            draw.text((x, y + _SIDE + 2 + 20 * line), _shortened(text, font), _WHITE, font)
    out = io.BytesIO()
    sheet.save(out, "PNG")
    return out.getvalue()


def _shortened(text: str, font: Any, width: int = _SIDE) -> str:
    shown = text
    while shown and font.getlength(shown) > width:
        shown = shown[:-2].rstrip("…") + "…"
    return shown


def secondary_capture(encoded: bytes, header: Dataset, series: str, description: str = "") -> Dataset:
    """The PNG or JPEG ``encoded`` as the one object of ``series`` in the study, and of the patient, of ``header``."""
    import numpy as np
    from PIL import Image
    from pydicom.dataset import FileDataset, FileMetaDataset
    from pydicom.uid import UID, ExplicitVRLittleEndian, generate_uid

    with Image.open(io.BytesIO(encoded)) as opened:
        pixels = np.asarray(opened.convert("RGB"))
    meta = FileMetaDataset()
    meta.MediaStorageSOPClassUID, meta.MediaStorageSOPInstanceUID = (
        UID(SECONDARY_CAPTURE),
        generate_uid(prefix=None),
    )
    meta.TransferSyntaxUID = ExplicitVRLittleEndian
    file = FileDataset("", {}, file_meta=meta, preamble=b"\0" * 128)
    complete = complete_header(header)
    values: dict[str, Any] = {
        keyword: complete.get(keyword, "") for keyword in ("StudyInstanceUID", *PATIENT_AND_STUDY)
    }
    values |= {
        "SpecificCharacterSet": "ISO_IR 192",
        "SOPClassUID": SECONDARY_CAPTURE,
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


def segmentation(header: Dataset, region: Region, label: str, versions: Mapping[str, str]) -> bytes:
    """``region`` as one binary segment ``label`` of the image with ``header``.

    Raises:
        BadInput: an image with several frames, or of a kind that cannot carry segments.
        SemblanceError: highdicom is not installed.
    """
    with needs_highdicom():
        from highdicom.seg import (
            SegmentAlgorithmTypeValues,
            Segmentation,
            SegmentationTypeValues,
            SegmentDescription,
        )
    from pydicom.sr.coding import Code
    from pydicom.uid import generate_uid

    mask = region.mask(int(header.Rows), int(header.Columns))
    segment = SegmentDescription(
        segment_number=1,
        segment_label=label[:64],
        segmented_property_category=Code("49755003", "SCT", "Morphologically Abnormal Structure"),
        segmented_property_type=Code("52988006", "SCT", "Lesion"),
        algorithm_type=SegmentAlgorithmTypeValues.MANUAL,
    )
    try:
        made = Segmentation(
            source_images=[complete_header(header)],
            pixel_array=mask[None],
            segmentation_type=SegmentationTypeValues.BINARY,
            segment_descriptions=[segment],
            series_instance_uid=generate_uid(prefix=None),
            series_number=1,
            sop_instance_uid=generate_uid(prefix=None),
            instance_number=1,
            device_serial_number="1",
            series_description="Semblance",
            content_label="REGION",
            content_description=NOT_FOR_PATIENTS,
            **equipment(versions),
        )
    except (ValueError, AttributeError, KeyError, TypeError, NotImplementedError) as error:
        raise BadInput(
            tr_lazy(
                "A region of this kind of image cannot be written as a segmentation: {reason}", reason=error
            ),
            "Save the region as a mask instead.",
        ) from error
    if "FrameOfReferenceUID" not in header:
        made.PatientOrientation = header.get("PatientOrientation", "")
    return encoded(made)


def key_objects(
    sources: Sequence[SourceObject], versions: Mapping[str, str], *, for_teaching: bool = False
) -> list[bytes]:
    """One document for each study of ``sources``, the first one's first, all with the same content. ``for_teaching``:
    they are of a collection, not of a search (PS3.16 CID 7010).

    Documents of several studies refer to each other as identical (PS3.3 C.17.6.1). An instance of which only some
    frames are meant is referred to with their numbers (PS3.3 table 10-3).

    Raises:
        SemblanceError: highdicom is not installed.
    """
    with needs_highdicom():
        from highdicom.ko import KeyObjectSelection, KeyObjectSelectionDocument
        from highdicom.sr.utils import collect_evidence
    from pydicom.sr.codedict import codes
    from pydicom.uid import generate_uid

    studies: dict[str, list[Dataset]] = {}
    frames: dict[str, list[tuple[int, ...]]] = {}
    for source in sources:
        for header, meant in zip(
            source.instances, source.frames or ((),) * len(source.instances), strict=True
        ):
            same = frames.setdefault(str(header.SOPInstanceUID), [])
            if not same:
                studies.setdefault(str(header.StudyInstanceUID), []).append(complete_header(header))
            same.append(meant)
    everything = [header for headers in studies.values() for header in headers]
    title = codes.DCM.ForTeaching if for_teaching else codes.DCM.OfInterest
    description = f"{_OF_COLLECTION if for_teaching else _OF_SEARCH} {PURPOSE}"
    content = KeyObjectSelection(title, everything, description=description)
    for header, item in zip(everything, content[0].ContentSequence[-len(everything) :], strict=True):
        parts = frames[str(header.SOPInstanceUID)]
        numbers = sorted({number for part in parts for number in part})
        if all(parts) and len(numbers) < int(header.get("NumberOfFrames", 1)):
            item.ReferencedSOPSequence[0].ReferencedFrameNumber = numbers
    documents = []
    for study, headers in studies.items():
        document = KeyObjectSelectionDocument(
            evidence=headers,
            content=KeyObjectSelection(title, headers, description=description),
            series_instance_uid=generate_uid(prefix=None),
            series_description="Semblance: Key objects",
            series_number=1,
            sop_instance_uid=generate_uid(prefix=None),
            instance_number=1,
            **equipment(versions),
        )
        # highdicom writes documents on one study only.
        for element in content[0]:
            document[element.tag] = element
        own, others = collect_evidence(everything, content[0], study_instance_uid=study)
        document.CurrentRequestedProcedureEvidenceSequence = [*own, *others]
        documents.append(document)
    if len(documents) > 1:
        for document in documents:
            document.IdenticalDocumentsSequence = [
                _reference(one) for one in documents if one is not document
            ]
    return [encoded(document) for document in documents]


def _reference(document: Dataset) -> Dataset:
    from pydicom import Dataset

    instance, series, study = Dataset(), Dataset(), Dataset()
    instance.ReferencedSOPClassUID, instance.ReferencedSOPInstanceUID = (
        document.SOPClassUID,
        document.SOPInstanceUID,
    )
    series.SeriesInstanceUID, series.ReferencedSOPSequence = document.SeriesInstanceUID, [instance]
    study.StudyInstanceUID, study.ReferencedSeriesSequence = document.StudyInstanceUID, [series]
    return study


def report_dicom(
    document: ReportDocument, page: str = "A4", header: Dataset | None = None, *, identified: bool = False
) -> bytes:
    """The report as an Encapsulated PDF object (PS3.3 A.45.1) of the patient and study of ``header``; without one in a
    study of its own that names no patient. ``identified``: whether the header does.
    """
    from pydicom.dataset import FileDataset, FileMetaDataset
    from pydicom.uid import UID, generate_uid

    meta = FileMetaDataset()
    meta.MediaStorageSOPClassUID = UID(ENCAPSULATED_PDF)
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
