"""The images of a search as Key Object Selection documents (TID 2010), one for each study."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING

from semblance.core.purpose import PURPOSE
from semblance.core.reports.dicom.common import (
    SourceObject,
    complete_header,
    encoded,
    equipment,
    needs_highdicom,
)

if TYPE_CHECKING:
    from pydicom import Dataset

_DESCRIPTION = f"Images of a search for similar cases. {PURPOSE}"


def key_objects(sources: Sequence[SourceObject], versions: Mapping[str, str]) -> list[bytes]:
    """One document for each study of ``sources``, the first one's first, all with the same content.

    Documents of several studies refer to each other as identical (PS3.3 C.17.6.1).

    Raises:
        SemblanceError: highdicom is not installed.
    """
    with needs_highdicom():
        from highdicom.ko import KeyObjectSelection, KeyObjectSelectionDocument
        from highdicom.sr.utils import collect_evidence
    from pydicom.sr.codedict import codes
    from pydicom.uid import generate_uid

    studies: dict[str, list[Dataset]] = {}
    for source in sources:
        for header in source.instances:
            same = studies.setdefault(str(header.StudyInstanceUID), [])
            if all(header.SOPInstanceUID != other.SOPInstanceUID for other in same):
                same.append(complete_header(header))
    everything = [header for headers in studies.values() for header in headers]
    content = KeyObjectSelection(codes.DCM.OfInterest, everything, description=_DESCRIPTION)
    documents = []
    for study, headers in studies.items():
        document = KeyObjectSelectionDocument(
            evidence=headers,
            content=KeyObjectSelection(codes.DCM.OfInterest, headers, description=_DESCRIPTION),
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
