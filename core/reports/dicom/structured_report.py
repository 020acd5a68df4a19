"""A search as an Enhanced Structured Report: TID 1500 with a group for the query and for each similar case: TID 1501,
or with a region TID 1410 or 1411.

DICOM has no codes for a similar case, its rank or the distance of a metric (121206 is a distance in space), so these
are of the scheme 99SEMBLANCE, which each report declares.
"""

from __future__ import annotations

import json
import re
from collections.abc import Sequence
from hashlib import blake2b
from typing import TYPE_CHECKING, Any

from semblance.core.reports.dicom.common import (
    SourceObject,
    coded,
    complete_header,
    declare_scheme,
    encoded,
    equipment,
    needs_highdicom,
    purpose_item,
)
from semblance.core.reports.dicom.coordinates import RegionOutline, image_regions

if TYPE_CHECKING:
    from semblance.core.reports.document import RankedRow, ReportDocument, VoteFacts

#: Private attribute with the search, by which its library can open it again.
PRIVATE_GROUP, PRIVATE_CREATOR, PRIVATE_ELEMENT = 0x0099, "SEMBLANCE 1.0", 0x01
_MALIGNANT = re.compile(r"malign|cancer|carcinom|krebs|karzinom", re.IGNORECASE)
_LONGEST_MEANING = 64


def structured_report(
    document: ReportDocument,
    query: SourceObject,
    cases: Sequence[SourceObject | None],
    uids: Sequence[str],
    montage: SourceObject | None = None,
    regions: Sequence[Sequence[RegionOutline]] = (),
) -> bytes:
    """The report as a file. ``query`` gives patient and study; ``cases`` are the sources of the ranking, ``None``
    where they must not be referred to or have none; ``uids`` are the tracking UIDs of the query and of the cases.
    ``montage`` shows the cases; it is listed in the image library (TID 1600). ``regions``: the outlines of the query's
    region and of those of the cases, on images that may be referred to.

    Raises:
        SemblanceError: highdicom is not installed.
    """
    with needs_highdicom():
        from highdicom.sr import EnhancedSR, MeasurementReport, ObservationContext, ObserverContext
        from highdicom.sr.templates import DeviceObserverIdentifyingAttributes
    from pydicom.sr.codedict import codes
    from pydicom.sr.coding import Code
    from pydicom.uid import generate_uid

    device = ObserverContext(
        codes.DCM.Device,
        DeviceObserverIdentifyingAttributes(
            uid=generate_uid(prefix=None),
            manufacturer_name="Semblance",
            model_name="Semblance",
            name="Semblance",
        ),
    )
    query_region, *case_regions = regions or [()] * len(uids)
    groups = [_query_group(document, query, uids[0], query_region)]
    groups += [
        _case_group(document, row, source, uid, region)
        for row, source, uid, region in zip(document.ranking, cases, uids[1:], case_regions, strict=True)
    ]
    content = MeasurementReport(
        observation_context=ObservationContext(observer_device_context=device),
        procedure_reported=Code("363679005", "SCT", "Imaging procedure"),
        imaging_measurements=groups,
        title=codes.DCM.ImagingMeasurementReport,
        referenced_images=None if montage is None else [montage.header],
    )
    content[0].ContentSequence.append(purpose_item())
    others = [source.header for source in (*cases, montage) if source is not None]
    others += [complete_header(one.header) for region in regions for one in region]
    evidence = [complete_header(query.header), *others]
    report = EnhancedSR(
        evidence=evidence,
        content=content[0],
        series_instance_uid=generate_uid(prefix=None),
        series_description="Semblance: Structured report",
        series_number=1,
        sop_instance_uid=generate_uid(prefix=None),
        instance_number=1,
        is_complete=True,
        record_evidence=query.is_image,
        **equipment(document.versions),
    )
    declare_scheme(report, document.versions.get("semblance", ""))
    if document.embedded_search:
        block = report.private_block(PRIVATE_GROUP, PRIVATE_CREATOR, create=True)
        block.add_new(PRIVATE_ELEMENT, "UT", json.dumps(document.embedded_search))
    return encoded(report)


def _query_group(
    document: ReportDocument, query: SourceObject, uid: str, region: Sequence[RegionOutline]
) -> Any:
    vote = document.vote
    measurements = []
    if vote.calibrated and vote.probability is not None and vote.finding is not None:
        measurements = [_estimate(vote, vote.probability, vote.finding)]
    name = str(document.query.case_id or document.query.image or "Query")
    return _group(
        document, name, uid, ("query", "Query"), document.query.finding, measurements, query, region
    )


def _case_group(
    document: ReportDocument,
    row: RankedRow,
    source: SourceObject | None,
    uid: str,
    region: Sequence[RegionOutline],
) -> Any:
    measurements = [
        _measurement(("rank", "Rank"), row.rank),
        _measurement(("distance", "Distance of the metric"), float(f"{row.distance:.6g}")),
    ]
    kind = ("similar-case", "Similar case")
    return _group(document, str(row.case_id), uid, kind, row.finding, measurements, source, region)


def _group(
    document: ReportDocument,
    name: str,
    uid: str,
    kind: tuple[str, str],
    finding: str | None,
    measurements: list[Any],
    source: SourceObject | None,
    region: Sequence[RegionOutline],
) -> Any:
    """A TID 1501 group; with a ``region`` of one outline TID 1410, of several, as in a volume, TID 1411."""
    from highdicom.sr import (
        MeasurementsAndQualitativeEvaluations,
        PlanarROIMeasurementsAndQualitativeEvaluations,
        QualitativeEvaluation,
        SourceImageForMeasurementGroup,
        TrackingIdentifier,
        VolumetricROIMeasurementsAndQualitativeEvaluations,
    )
    from pydicom.sr.codedict import codes

    evaluations = (
        [] if finding is None else [QualitativeEvaluation(codes.DCM.Finding, _finding_code(finding))]
    )
    content = {
        "tracking_identifier": TrackingIdentifier(uid, name),
        "finding_category": coded(*kind),
        "algorithm_id": _algorithm(document),
        "measurements": measurements or None,
        "qualitative_evaluations": evaluations or None,
    }
    if region:
        outlines = image_regions(region)
        if len(outlines) == 1:
            return PlanarROIMeasurementsAndQualitativeEvaluations(**content, referenced_region=outlines[0])
        return VolumetricROIMeasurementsAndQualitativeEvaluations(**content, referenced_regions=outlines)
    images = None
    if source is not None and source.is_image:
        header = source.header
        images = [SourceImageForMeasurementGroup(header.SOPClassUID, header.SOPInstanceUID)]
    return MeasurementsAndQualitativeEvaluations(**content, source_images=images)


def _estimate(vote: VoteFacts, probability: float, finding: str) -> Any:
    """The estimate in per cent; for malignancy by the code of the standard, else by our own (TID 310: its interval)."""
    from highdicom.sr import MeasurementProperties
    from pydicom.sr.coding import Code

    properties = None
    if vote.interval is not None:
        low, high = vote.interval
        properties = MeasurementProperties(
            upper_measurement_uncertainty=round(100 * max(0.0, high - probability), 2),
            lower_measurement_uncertainty=round(100 * max(0.0, probability - low), 2),
        )
    code = coded("estimate", f"Estimate for {finding}"[:_LONGEST_MEANING])
    if _MALIGNANT.search(finding):
        code = Code("111047", "DCM", "Probability of cancer")
    return _measurement(code, round(100 * probability, 2), Code("%", "UCUM", "percent"), properties)


def _measurement(code: Any, value: float, unit: Any = None, properties: Any = None) -> Any:
    from highdicom.sr import Measurement
    from pydicom.sr.coding import Code

    return Measurement(
        name=coded(*code) if type(code) is tuple else code,
        value=value,
        unit=unit or Code("1", "UCUM", "no units"),
        properties=properties,
    )


def _algorithm(document: ReportDocument) -> Any:
    """TID 4019: the metric, the version of the program, and the hash of its card."""
    from highdicom.sr import AlgorithmIdentification

    card = "\n".join(f"{fact.label}: {fact.value}" for fact in document.card)
    digest = blake2b(card.encode(), digest_size=16).hexdigest()
    return AlgorithmIdentification(
        name=str(document.metric)[:_LONGEST_MEANING] or "Semblance",
        version=document.versions.get("semblance", "") or "unknown",
        parameters=[f"card {digest}"],
    )


def _finding_code(finding: str) -> Any:
    """A code of our scheme for the name of a finding in a library."""
    digest = blake2b(finding.encode(), digest_size=4).hexdigest()
    return coded(f"f-{digest}", finding[:_LONGEST_MEANING])
