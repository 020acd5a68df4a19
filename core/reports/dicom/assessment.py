"""A reader's assessment of the result of a search: which similar cases and whether its estimate were accepted.

The profile AI Result Assessment of IHE Radiology asks for this. We could read descriptions of it, not its text, and the
standard has no codes for an assessment that is accepted or rejected. So they are of the scheme 99SEMBLANCE, in a
report of TID 1500 whose groups have the tracking identifiers of the report that is assessed.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

from semblance.core.reports.dicom.common import (
    coded,
    declare_scheme,
    encoded,
    equipment,
    needs_highdicom,
    purpose_item,
)

if TYPE_CHECKING:
    from pydicom import Dataset

#: What is assessed: a similar case, or the estimate for the query.
CASE, ESTIMATE = ("similar-case", "Similar case"), ("estimate", "Estimate from similar cases")
#: The code of its title.
TITLE = "assessed-search"
_LONGEST_NAME = 64


@dataclass(frozen=True)
class Assessment:
    """A decision of a reader on one part of a result: its ``kind``, and its name and tracking UID in the report."""

    kind: tuple[str, str]
    name: str
    uid: str
    is_accepted: bool


def assessment_report(
    report: Dataset, reader: str, assessments: Sequence[Assessment], versions: Mapping[str, str]
) -> bytes:
    """The ``assessments`` of one ``reader`` as a file of the patient and study of the structured ``report``, to which
    it refers.

    Raises:
        SemblanceError: highdicom is not installed.
    """
    with needs_highdicom():
        from highdicom.sr import (
            CompositeContentItem,
            EnhancedSR,
            MeasurementReport,
            MeasurementsAndQualitativeEvaluations,
            ObservationContext,
            ObserverContext,
            QualitativeEvaluation,
            RelationshipTypeValues,
            TrackingIdentifier,
        )
        from highdicom.sr.templates import PersonObserverIdentifyingAttributes
    from pydicom.sr.codedict import codes
    from pydicom.sr.coding import Code
    from pydicom.uid import generate_uid

    person = ObserverContext(codes.DCM.Person, PersonObserverIdentifyingAttributes(person_name(reader)))
    groups = [
        MeasurementsAndQualitativeEvaluations(
            tracking_identifier=TrackingIdentifier(one.uid, one.name),
            finding_category=coded(*one.kind),
            qualitative_evaluations=[
                QualitativeEvaluation(
                    coded("assessment", "Reader's assessment"),
                    coded("accepted", "Accepted") if one.is_accepted else coded("rejected", "Rejected"),
                )
            ],
        )
        for one in assessments
    ]
    content = MeasurementReport(
        # The person observes, not the program, which is the equipment.
        observation_context=ObservationContext(observer_person_context=person),
        procedure_reported=Code("363679005", "SCT", "Imaging procedure"),
        imaging_measurements=groups,
        title=coded(TITLE, "Reader's assessment of a search result"),
    )
    content[0].ContentSequence += [
        CompositeContentItem(
            coded("assessed-result", "Assessed result"),
            report.SOPClassUID,
            report.SOPInstanceUID,
            RelationshipTypeValues.CONTAINS,
        ),
        purpose_item(),
    ]
    made = EnhancedSR(
        evidence=[report],
        content=content[0],
        series_instance_uid=generate_uid(prefix=None),
        series_description="Semblance: Reader's assessment",
        series_number=2,
        sop_instance_uid=generate_uid(prefix=None),
        instance_number=1,
        is_complete=True,
        **equipment(versions),
    )
    declare_scheme(made, versions.get("semblance", ""))
    return encoded(made)


def person_name(reader: str) -> str:
    """``reader`` as one component of a name (PS3.5 6.2.1): an account may have characters that are delimiters there."""
    plain = "".join(" " if one in "^=\\" or not one.isprintable() else one for one in reader)
    return f"{' '.join(plain.split())[: _LONGEST_NAME - 1] or 'Reader'}^"
