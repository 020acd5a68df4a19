"""A search as a DICOM structured report, the regions in it as coordinates, and a reader's assessment of one.

A coordinate is (column, row) in pixels of the stored image, where (0, 0) is the upper left corner of its upper left
pixel and (columns, rows) the lower right corner of the last one (PS3.3 C.18.6.1.1). How the image was shown does not
matter.

DICOM has no codes for a similar case, its rank or the distance of a metric (121206 is a distance in space), so these
are of the scheme 99SEMBLANCE, which each report declares.

The profile AI Result Assessment of IHE Radiology asks for this. We could read descriptions of it, not its text, and the
standard has no codes for an assessment that is accepted or rejected. So they are of the scheme 99SEMBLANCE, in a
report of TID 1500 whose groups have the tracking identifiers of the report that is assessed.
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from hashlib import blake2b
from typing import TYPE_CHECKING, Any

import numpy as np
import numpy.typing as npt

from semblance.core.imaging.outline import Ellipse, Polygon
from semblance.core.reports.dicom.common import (
    SCHEME,
    SourceObject,
    coded,
    complete_header,
    declare_scheme,
    encoded,
    equipment,
    needs_highdicom,
    purpose_item,
)
from semblance.core.reports.measurement_text import Result, results_of

if TYPE_CHECKING:
    from pydicom import Dataset

    from semblance.core.imaging.measurements import Figure, Measured
    from semblance.core.imaging.region import Region
    from semblance.core.reports.document import ReportDocument, ReportedCase
    from semblance.core.searches.similar_cases import Vote


Mask = npt.NDArray[np.bool_]
#: (x, y) of each corner, the last one equal to the first.
Polyline = tuple[tuple[float, float], ...]
#: Corners of a polyline at most: Graphic Data (0070,0022) has a length of two bytes, and a corner takes eight.
MAX_CORNERS = 8_000
#: Numbers of corners that an ellipse is tried with.
_ELLIPSE_CORNERS = (72, 360, 1440)

#: Private attribute with the search, by which its library can open it again.
PRIVATE_GROUP, PRIVATE_CREATOR, PRIVATE_ELEMENT = 0x0099, "SEMBLANCE 1.0", 0x01
_MALIGNANT = re.compile(r"malign|cancer|carcinom|krebs|karzinom", re.IGNORECASE)
_LONGEST_MEANING = 64

#: The concept of each result, and units in UCUM.
_CODES = {
    "length": ("410668003", "SCT", "Length"),
    "angle": ("1483009", "SCT", "Angle"),
    "area": ("42798000", "SCT", "Area"),
    "value": ("value", SCHEME, "Stored value"),
    "mean": ("373098007", "SCT", "Mean"),
    "sd": ("386136009", "SCT", "Standard Deviation"),
    "min": ("255605001", "SCT", "Minimum"),
    "max": ("56851009", "SCT", "Maximum"),
}
_STATISTICS = frozenset(("mean", "sd", "min", "max"))
_UNITS = {
    "mm": ("mm", "UCUM", "millimeter"),
    "mm²": ("mm2", "UCUM", "square millimeter"),
    "px": ("{pixels}", "UCUM", "pixels"),
    "px²": ("{pixels}", "UCUM", "pixels"),
    "°": ("deg", "UCUM", "degree"),
    "HU": ("[hnsf'U]", "UCUM", "Hounsfield unit"),
    "Bq/ml": ("Bq/ml", "UCUM", "Becquerels/milliliter"),
    "Gy": ("Gy", "UCUM", "Gray"),
}

#: What is assessed: a similar case, or the estimate for the query.
CASE, ESTIMATE = ("similar-case", "Similar case"), ("estimate", "Estimate from similar cases")
#: The code of its title.
TITLE = "assessed-search"
_LONGEST_NAME = 64


@dataclass(frozen=True)
class RegionOutline:
    """A closed polyline of a region on the image with ``header``; ``frame``: from 1, ``None`` for a single image."""

    header: Dataset
    polyline: Polyline
    frame: int | None = None


@dataclass(frozen=True)
class ReportedMeasurement:
    """A measured ``figure`` of the query with its results and tracking UID. ``header``, ``frame``: the image on which
    it lies, as of :class:`RegionOutline`; ``None`` for one on no image of its own, such as a plane across slices."""

    figure: Figure
    measured: Measured
    uid: str
    header: Dataset | None = None
    frame: int | None = None


def image_regions(outlines: Sequence[RegionOutline]) -> list[Any]:
    """An SCOORD (111030, DCM, "Image Region") for each of ``outlines``, SELECTED FROM its image."""
    return [_image_region(one) for one in outlines]


def _image_region(outline: RegionOutline) -> Any:
    from highdicom.sr import (
        ContentSequence,
        GraphicTypeValues,
        ImageRegion,
        PixelOriginInterpretationValues,
        RelationshipTypeValues,
        ScoordContentItem,
        SourceImageForRegion,
    )
    from pydicom.sr.codedict import codes

    header, frame = outline.header, outline.frame
    origin = None
    if "TotalPixelMatrixRows" in header:
        # A frame is a tile, and the coordinates are those of the tile.
        origin, frame = PixelOriginInterpretationValues.FRAME, frame or 1
    # ImageRegion itself refuses images of retired and of private classes.
    item = ScoordContentItem(
        codes.DCM.ImageRegion,
        GraphicTypeValues.POLYLINE,
        np.array(outline.polyline, dtype=np.float64),
        origin,
        relationship_type=RelationshipTypeValues.CONTAINS,
    )
    frames = None if frame is None else [frame]
    source = SourceImageForRegion(header.SOPClassUID, header.SOPInstanceUID, frames)
    item.ContentSequence = ContentSequence([source])
    return ImageRegion.from_dataset(item)


def polylines(region: Region, height: int, width: int) -> list[Polyline]:
    """The outlines that together enclose exactly the pixels of ``region`` (of one slice) in an image of ``height`` x
    ``width`` pixels: a drawn shape as it was drawn, any other along the edges of its pixels. A shape with holes is cut
    at them.

    Raises:
        BadInput: nothing of the region lies inside.
    """
    part = region.clipped(height, width)
    left, top, right, bottom = part.box
    if part.outline is None:
        return [((left, top), (right, top), (right, bottom), (left, bottom), (left, top))]
    mask = part.outline.mask(part.height, part.width)
    for corners in _drawn(part):
        in_image = all(0 <= x <= width - left and 0 <= y <= height - top for x, y in corners)
        is_short = len(corners) < MAX_CORNERS
        if in_image and is_short and np.array_equal(Polygon(corners).mask(*mask.shape), mask):
            return [tuple((x + left, y + top) for x, y in (*corners, corners[0]))]
    return [tuple((x + left, y + top) for x, y in ring) for ring in _along_pixels(mask, 0, 0)]


def _drawn(region: Region) -> Iterator[Polyline]:
    """The corners of a drawn shape, from the corner of its rectangle; of an ellipse more and more of them."""
    outline = region.outline
    if isinstance(outline, Polygon):
        yield outline.points
    elif isinstance(outline, Ellipse):
        for n in _ELLIPSE_CORNERS:
            angles = np.arange(n) * (2 * np.pi / n)
            x = outline.centre[0] + outline.radii[0] * np.cos(angles)
            y = outline.centre[1] + outline.radii[1] * np.sin(angles)
            yield tuple(zip(x.tolist(), y.tolist(), strict=True))


def _along_pixels(mask: Mask, left: int, top: int) -> Iterator[Polyline]:
    """Closed outlines along the edges of the true pixels, one for each connected part, from the corner (0, 0) of an
    image in which ``mask`` lies at ``left``, ``top``."""
    from scipy import ndimage

    labels, _ = ndimage.label(mask)
    for number, (rows, columns) in enumerate(ndimage.find_objects(labels), start=1):
        part: Mask = labels[rows, columns] == number
        x, y = left + columns.start, top + rows.start
        hole = ndimage.binary_fill_holes(part) & ~part
        corners = [] if hole.any() else _ring(part)
        if corners and len(corners) <= MAX_CORNERS:
            yield tuple((x + dx, y + dy) for dx, dy in corners)
            continue
        # A hole has columns of the part on both sides.
        across = np.flatnonzero(hole.any(axis=0))
        cut = int(across[len(across) // 2]) if len(across) else part.shape[1] // 2
        yield from _along_pixels(part[:, :cut], x, y)
        yield from _along_pixels(part[:, cut:], x + cut, y)


def _ring(part: Mask) -> list[tuple[int, int]]:
    """The corners of a connected part without holes, clockwise on the screen, the first one again at the end."""
    around = np.pad(part, 1)
    inside = around[1:-1, 1:-1]
    #: Of each edge of a pixel that is a border: where it begins, seen from the pixel, its direction, and the neighbour.
    edges = (
        ((0, 0), (1, 0), around[:-2, 1:-1]),
        ((1, 0), (0, 1), around[1:-1, 2:]),
        ((1, 1), (-1, 0), around[2:, 1:-1]),
        ((0, 1), (0, -1), around[1:-1, :-2]),
    )
    leaving: dict[tuple[int, int], list[tuple[int, int]]] = {}
    for (x, y), direction, neighbour in edges:
        for row, column in np.argwhere(inside & ~neighbour).tolist():
            leaving.setdefault((column + x, row + y), []).append(direction)
    row, column = (int(one) for one in np.argwhere(part)[0])
    start = place = (column, row)
    direction = (1, 0)
    corners = [start]
    while True:
        ahead = place[0] + direction[0], place[1] + direction[1]
        if ahead == start:
            return [*corners, start]
        ways = leaving[ahead]
        # Where two pixels touch at a corner the outline stays at the same pixel: it turns right.
        turned = (-direction[1], direction[0])
        following = turned if turned in ways else ways[0]
        if following != direction:
            corners.append(ahead)
        place, direction = ahead, following


def structured_report(
    document: ReportDocument,
    query: SourceObject,
    cases: Sequence[SourceObject | None],
    uids: Sequence[str],
    montage: SourceObject | None = None,
    regions: Sequence[Sequence[RegionOutline]] = (),
    measurements: Sequence[ReportedMeasurement] = (),
) -> bytes:
    """The report as a file. ``query`` gives patient and study; ``cases`` are the sources of the ranking, ``None``
    where they must not be referred to or have none; ``uids`` are the tracking UIDs of the query and of the cases.
    ``montage`` shows the cases; it is listed in the image library (TID 1600). ``regions``: the outlines of the query's
    region and of those of the cases, on images that may be referred to. ``measurements``: what was measured on the
    query.

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
    groups += [_measured_group(document, number, one) for number, one in enumerate(measurements, 1)]
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
    others += [complete_header(one.header) for one in measurements if one.header is not None]
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
    row: ReportedCase,
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


def _measured_group(document: ReportDocument, number: int, one: ReportedMeasurement) -> Any:
    """TID 1410 of a region, else TID 1501; each length, angle and value with its coordinates."""
    figure, header = one.figure, one.header
    found = results_of(one.measured)
    results = [_result(result, _coordinates(one)) for result in found]
    outlines: list[RegionOutline] = []
    if figure.region is not None and header is not None:
        rings = polylines(figure.region, int(header.Rows), int(header.Columns))
        outlines = [RegionOutline(header, ring, one.frame) for ring in rings]
    name = f"Measurement {number}"
    source = None if header is None else SourceObject((header,))
    kind = ("measurement", "Measurement by a person")
    return _group(document, name, one.uid, kind, None, results, source, outlines, by_metric=False)


def _result(result: Result, coordinates: list[Any] | None) -> Any:
    """The measurement in UCUM; of Hounsfield units the attenuation coefficient, with what the number is of it."""
    from highdicom.sr import Measurement
    from pydicom.sr.coding import Code

    name, derivation = Code(*_CODES[result.key]), None
    unit = Code(*_UNITS.get(result.unit, ("1", "UCUM", "no units")))
    if result.unit not in _UNITS and result.unit:
        unit = Code("1", "UCUM", f"no units: {result.unit}"[:_LONGEST_MEANING])
    if result.unit == "HU" and result.key in _STATISTICS:
        name, derivation = Code("112031", "DCM", "Attenuation Coefficient"), name
    elif result.unit == "HU":
        name = Code("112031", "DCM", "Attenuation Coefficient")
    return Measurement(
        name=name,
        value=float(f"{result.value:.8g}"),
        unit=unit,
        derivation=derivation,
        referenced_coordinates=coordinates,
    )


def _coordinates(one: ReportedMeasurement) -> list[Any] | None:
    """The lines or the point of a figure that is no region."""
    from highdicom.sr import CoordinatesForMeasurement, GraphicTypeValues, SourceImageForRegion

    points, header = one.figure.points, one.header
    if header is None or not points:
        return None
    lines = [points[:2], points[2:]] if len(points) == 4 else [points]
    frames = None if one.frame is None else [one.frame]
    return [
        CoordinatesForMeasurement(
            GraphicTypeValues.POINT if len(line) == 1 else GraphicTypeValues.POLYLINE,
            np.array(line, dtype=np.float64),
            SourceImageForRegion(header.SOPClassUID, header.SOPInstanceUID, frames),
        )
        for line in lines
    ]


def _group(
    document: ReportDocument,
    name: str,
    uid: str,
    kind: tuple[str, str],
    finding: str | None,
    measurements: list[Any],
    source: SourceObject | None,
    region: Sequence[RegionOutline],
    *,
    by_metric: bool = True,
) -> Any:
    """A TID 1501 group, of what the metric or a person found; with a ``region`` of one outline TID 1410, of several, as
    in a volume, TID 1411."""
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
        []
        if finding is None
        else [QualitativeEvaluation(codes.DCM.Finding, _finding_code(finding, document))]
    )
    content = {
        "tracking_identifier": TrackingIdentifier(uid, name),
        "finding_category": coded(*kind),
        "algorithm_id": _algorithm(document) if by_metric else None,
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


def _estimate(vote: Vote, probability: float, finding: str) -> Any:
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


def _finding_code(finding: str, document: ReportDocument) -> Any:
    """The code of a finding where its library has one, else one of our scheme for its name."""
    from highdicom.sr import CodedConcept

    if known := document.finding_codes.get(finding):
        return CodedConcept(known.value, known.scheme, finding[:_LONGEST_MEANING])
    digest = blake2b(finding.encode(), digest_size=4).hexdigest()
    return coded(f"f-{digest}", finding[:_LONGEST_MEANING])


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
