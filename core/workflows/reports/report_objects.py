"""A search as DICOM objects for an image archive.

Objects for a patient's record refer to instances of this patient only. They call other cases "Case 2" and show them
on a montage, a Secondary Capture in the patient's own study. De-identified objects may refer to all cases, by the UIDs
that the de-identified files of the library have.
"""

from __future__ import annotations

import functools
import io
from collections import Counter
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import replace
from typing import TYPE_CHECKING

from semblance.core.errors import BadInput, SemblanceError
from semblance.core.imaging import ImageAddress, ImageReader, open_image
from semblance.core.imaging.deidentification.deidentify_dataset import DeidentificationChanges, deidentify
from semblance.core.imaging.deidentification.profile import Profile
from semblance.core.imaging.hide_text import TextHider
from semblance.core.imaging.pseudonyms import Pseudonyms
from semblance.core.imaging.region import Region, shown_slice
from semblance.core.library.location import LibraryLocation
from semblance.core.library.records import CaseDetails, account
from semblance.core.reports.dicom.common import SourceObject, encoded
from semblance.core.reports.dicom.structured_report import (
    CASE,
    ESTIMATE,
    TITLE,
    Assessment,
    RegionOutline,
    ReportedMeasurement,
    assessment_report,
    polylines,
    structured_report,
)
from semblance.core.reports.document import ReportDocument
from semblance.core.reports.options import ACCEPTED, ASSESSMENT, ReportOptions
from semblance.core.reports.redaction import CaseNames
from semblance.core.searches.feedback.judgements import Judgement, JudgementKind, given_marks, is_mark
from semblance.core.searches.feedback.ledger import LedgerEntry
from semblance.core.searches.query import Query
from semblance.core.searches.similar_cases import MatchedPlace, RankedCase
from semblance.core.tasks import SILENT, Reporter
from semblance.core.workflows.imaging.key_images import key_images_of
from semblance.core.workflows.reports.build_report_document import measured_query, report_document
from semblance.core.workflows.reports.measured_images import figures_by_image, image_of, results_on
from semblance.core.workflows.searches.loaded_metric import LoadedMetric
from semblance.core.workflows.searches.rank_cases import RankedSearch

if TYPE_CHECKING:
    from pathlib import Path

    from pydicom import Dataset

    from semblance.core.workflows.imaging.card_images import WindowLevel

#: What an object is, by its modality.
_KINDS = {"SR": "sr", "KO": "kos", "DOC": "pdf", "SEG": "seg"}


def report_objects(
    loaded: LoadedMetric,
    library: LibraryLocation,
    ranked_search: RankedSearch,
    options: ReportOptions,
    reporter: Reporter = SILENT,
    *,
    case_names: CaseNames | None = None,
    hider: TextHider | None = None,
    window_level: WindowLevel | None = None,
) -> tuple[ReportDocument, list[bytes]]:
    """The document, de-identified, and the files of a search as ``options.dicom`` says, the object itself first, then
    those it needs: secondary captures of images that are in no DICOM file, the montage, or key objects of further
    studies. ``all``: the structured report, key objects, PDF and, where there is a region, segmentations, which share
    what they need.
    ``assessment``: what each reader accepted or rejected, and the structured report.
    ``window_level``: of :func:`report_document`.

    Raises:
        BadInput: an image that cannot be read, or that lacks the region or the pixels that the object needs; or
            nothing is assessed.
        SemblanceError: highdicom is not installed.
    """
    # Only the header identifies the patient, because the content also names cases of other patients.
    plain = replace(options, identified=False)
    names = case_names or CaseNames()
    document = report_document(
        loaded,
        library,
        ranked_search,
        plain,
        reporter,
        case_names=names,
        hider=hider,
        window_level=window_level,
    )
    return document, _Objects(loaded, ranked_search, options, document, names).files()


def marks_in_force(entries: Iterable[LedgerEntry], query: Query) -> list[Judgement]:
    """The marks on ``query`` that are not undone, in the order they were made."""
    return [one.judgement for one in entries if one.undone is None and is_mark(one.judgement, query)]


class _Objects:
    def __init__(
        self,
        loaded: LoadedMetric,
        ranked_search: RankedSearch,
        options: ReportOptions,
        document: ReportDocument,
        names: CaseNames,
    ) -> None:
        self._loaded, self._options, self._document, self._names = loaded, options, document, names
        self._search, self._result = ranked_search.search, ranked_search.result
        self._query, self._entries = ranked_search.search.query, ranked_search.entries
        library = loaded.library
        # A read-only library may have no key yet; then its codes are valid for this export only.
        self._pseudonyms = library.available_pseudonyms() or Pseudonyms(Pseudonyms.new_key())
        #: Objects that those asked for refer to, and those of similar cases by their rows.
        self._captured: list[bytes] = []
        self._captured_cases: dict[int, SourceObject] = {}
        rows = [case.row for case in self._result.ranked]
        self._details = library.catalogue.details(rows)
        self._case: CaseDetails | None = None
        if self._query.case is not None:
            row = loaded.cases.row_of(self._query.case)
            self._case = library.catalogue.details([row])[row]

    def files(self) -> list[bytes]:
        makers = {
            "pdf": self._pdf,
            "sr": self._structured_report,
            "kos": self._key_objects,
            "seg": self._segmentations,
            ASSESSMENT: self._assessments,
        }
        kind = self._options.dicom
        if kind != "all":
            return [*makers[kind](), *self._captured]
        made = [*self._structured_report(), *(self._key_objects() if self._key_images else []), *self._pdf()]
        if self._marked_regions:
            made += self._segmentations()
        return [*made, *self._captured]

    def _pdf(self) -> list[bytes]:
        from semblance.core.reports.dicom.image_objects import report_dicom

        identified = self._options.identified
        header = self._of_query.header
        return [report_dicom(self._document, self._options.page, header, identified=identified)]

    def _structured_report(self) -> list[bytes]:
        query = self._captured_query or self._of_query
        cases: list[SourceObject | None] = [None] * len(self._result.ranked)
        if not self._options.identified:
            cases = self._sources_of_cases(all_slices=False)
        names = [self._query.key, *(case.case_id for case in self._result.ranked)]
        uids = [self._pseudonyms.uid(f"case {name}") for name in names]
        regions = [self._region_of_query(), *map(self._region_of_case, self._result.ranked)]
        return [
            structured_report(
                self._document, query, cases, uids, self._montage, regions, list(self._measurements())
            )
        ]

    def _measurements(self) -> Iterator[ReportedMeasurement]:
        """What was measured on the query, on its DICOM image where it is one."""
        case = measured_query(self._loaded, self._search)
        if case is None:
            return
        with ImageReader() as reader:
            slices = _slices(reader, case.address)
            for where, figures in figures_by_image(case.figures).items():
                place = shown_slice(len(slices)) if where.slice is None else where.slice
                header, frame = None, None
                if where.plane is None and place < len(slices):
                    header = self._header(reader, slices[place])
                    frame = slices[place].frame
                try:
                    image = image_of(case.address, where)
                except SemblanceError:
                    # As in :meth:`_source_of`.
                    continue
                for number, (figure, measured) in enumerate(results_on(image, figures)):
                    uid = self._pseudonyms.uid(f"measurement {self._query.key} {where} {number}")
                    yield ReportedMeasurement(
                        figure, measured, uid, header, None if frame is None else frame + 1
                    )

    def _assessments(self) -> list[bytes]:
        """The assessment of each reader, and the structured report that they are about.

        They name the readers only in identified objects.
        """
        from pydicom import dcmread

        reader = self._loaded.library.catalogue.author(self._options.reader or account())
        assessed: dict[str, list[Assessment]] = {}
        for author, decisions in self._decisions(reader).items():
            assessed[author] = [
                Assessment(CASE, str(self._names(case)), self._pseudonyms.uid(f"case {case}"), is_accepted)
                for case, is_accepted in decisions.items()
            ]
        if self._options.estimate:
            vote, query = self._document.vote, self._query.key
            if not vote.calibrated:
                raise BadInput(
                    "This search has no estimate that can be accepted or rejected.",
                    self._document.estimate_text(),
                )
            one = Assessment(
                ESTIMATE,
                str(self._document.query.case_id or self._document.query.image),
                self._pseudonyms.uid(f"case {query}"),
                self._options.estimate == ACCEPTED,
            )
            assessed.setdefault(reader, []).append(one)
        if not assessed:
            raise BadInput(
                "Nothing is assessed: no similar case is marked, and nothing is said of the estimate.",
                "Mark cases as more or less like the query, or accept or reject the estimate.",
            )
        report, *_ = self._structured_report()
        read = dcmread(io.BytesIO(report))
        made = [
            assessment_report(
                read,
                name if self._options.identified else f"Reader {n}",
                assessments,
                self._document.versions,
            )
            for n, (name, assessments) in enumerate(assessed.items(), start=1)
        ]
        return [*made, report]

    def _decisions(self, reader: str) -> dict[str, dict[str, bool]]:
        """By reader the cases that were marked on this query, and whether as more like it; marks that came with the
        search are of the present ``reader``."""
        found: dict[str, dict[str, bool]] = {}
        for judgement in (*given_marks(self._search), *marks_in_force(self._entries, self._query)):
            found.setdefault(judgement.author or reader, {})[judgement.case] = (
                judgement.kind == JudgementKind.ALIKE
            )
        return found

    def _region_of_query(self) -> list[RegionOutline]:
        region, address = self._query_region, self._address()
        if region is None or address is None:
            return []
        if self._of_query.is_image:
            return self._outlines(address, region)
        if self._captured_query is None:
            return []
        image = open_image(address, region)
        return _on_captured(self._captured_query.header, region, image.width, image.height)

    def _region_of_case(self, case: RankedCase) -> list[RegionOutline]:
        """The outlines of the place that was found in a similar case, else of its region in the library; none where its
        images must not be referred to, or cannot be read."""
        details, place = self._details[case.row], case.place
        region = details.region if place is None else place.region
        if self._options.identified or region is None or details.address is None:
            return []
        captured = self._captured_cases.get(case.row)
        if captured is not None:
            if place is None or not (place.image_width and place.image_height):
                return []
            return _on_captured(captured.header, region, place.image_width, place.image_height)
        try:
            return self._outlines(details.address, region)
        except SemblanceError:
            # As in :meth:`_source_of`.
            return []

    def _outlines(self, address: ImageAddress, region: Region) -> list[RegionOutline]:
        """The outlines of ``region`` on each DICOM image, or frame of one, that it lies on."""
        found: list[RegionOutline] = []
        headers: dict[tuple[Path, str], Dataset | None] = {}
        with ImageReader() as reader:
            slices = _slices(reader, address)
            shown = shown_slice(len(slices), region)
            places = [shown] if region.z is None else range(region.z, region.z + region.depth)
            for place in places:
                part = region.on_slice(place) if 0 <= place < len(slices) else None
                if part is None:
                    continue
                one = slices[place]
                key = one.container, one.member
                if key not in headers:
                    headers[key] = self._header(reader, one)
                header = headers[key]
                if header is not None:
                    frame = None if one.frame is None else one.frame + 1
                    outlines = polylines(part, int(header.Rows), int(header.Columns))
                    found += [RegionOutline(header, polyline, frame) for polyline in outlines]
        return found

    def _key_objects(self) -> list[bytes]:
        from semblance.core.reports.dicom.image_objects import key_objects

        if not self._key_images:
            raise BadInput(
                "There are no images for key objects in this search.", "Write a report as sr or pdf."
            )
        return key_objects(self._key_images, self._document.versions)

    @functools.cached_property
    def _key_images(self) -> list[SourceObject]:
        query = self._marked_slices() or self._source_of_query(all_slices=True) or self._captured_query
        sources = [query, self._montage]
        if not self._options.identified:
            sources += self._sources_of_cases(all_slices=True)
        return [source for source in sources if source is not None]

    def _segmentations(self) -> list[bytes]:
        from semblance.core.reports.dicom.image_objects import segmentation

        if not self._marked_regions:
            raise BadInput(
                "Neither the query nor a similar case has a region on a DICOM image.", "Search with a region."
            )
        return [
            segmentation(source.header, _on_slice(region), label, self._document.versions)
            for source, region, label in self._marked_regions
        ]

    @functools.cached_property
    def _marked_regions(self) -> list[tuple[SourceObject, Region, str]]:
        marked: list[tuple[SourceObject, Region, str]] = []
        region, address = self._query_region, self._address()
        if region is not None and address is not None:
            source = self._read(address, [region.middle_slice])
            if source is not None:
                marked.append((source, region, "Query"))
        if not self._options.identified:
            for row, case in zip(self._document.ranking, self._result.ranked, strict=True):
                details = self._details[case.row]
                if details.region is not None and (found := self._source_of(details, all_slices=False)):
                    marked.append((found, details.region, str(row.case_id)))
        return marked

    def _address(self) -> ImageAddress | None:
        if self._case is not None:
            return self._case.address
        return ImageAddress(self._query.image) if self._query.image is not None else None

    @property
    def _query_region(self) -> Region | None:
        """The region that was searched with: the one drawn, else that of the case."""
        return self._query.region or (self._case.region if self._case is not None else None)

    def _source_of_query(self, *, all_slices: bool) -> SourceObject | None:
        region, address = self._query_region, self._address()
        place = region.middle_slice if region is not None else None
        return None if address is None else self._read(address, None if all_slices else [place])

    def _marked_slices(self) -> SourceObject | None:
        """The slices of the query that a person marked as key images; ``None`` without any, or for other files."""
        address, case = self._address(), self._case
        if address is None or case is None:
            return None
        marked = key_images_of(self._loaded.library.annotations, case.case_id)
        slices = [one.slice for one in marked if one.slice is not None]
        return self._read(address, slices) if slices else None

    def _sources_of_cases(self, *, all_slices: bool) -> list[SourceObject | None]:
        """Of each similar case its instances, a Secondary Capture of another image, or nothing without an image."""
        found: list[SourceObject | None] = []
        for case, row in zip(self._result.ranked, self._document.ranking, strict=True):
            details, image = self._details[case.row], row.image or row.thumbnail
            source = self._source_of(details, case.place, all_slices=all_slices)
            if source is None and image is not None:
                if case.row not in self._captured_cases:
                    self._captured_cases[case.row] = self._capture(image, str(row.case_id), self._stub(""))
                source = self._captured_cases[case.row]
            found.append(source)
        return found

    def _source_of(
        self, case: CaseDetails, found: MatchedPlace | None = None, *, all_slices: bool
    ) -> SourceObject | None:
        """The DICOM headers of a similar case, of a volume only the slice on which a place was ``found``; ``None`` if
        it has none or its files are missing."""
        if case.address is None:
            return None
        try:
            place = case.region.middle_slice if case.region is not None else None
            if found is not None and found.number is not None:
                place, all_slices = found.number, False
            return self._read(case.address, None if all_slices else [place])
        except SemblanceError:
            # The report still names the case; the list of unreadable files has the missing ones.
            return None

    def _read(self, address: ImageAddress, places: Sequence[int | None] | None) -> SourceObject | None:
        with ImageReader() as reader:
            return referred_object(reader, address, places, self._used_pseudonyms)

    @property
    def _used_pseudonyms(self) -> Pseudonyms | None:
        """``None`` for objects of the patient's record."""
        return None if self._options.identified else self._pseudonyms

    def _header(self, reader: ImageReader, address: ImageAddress) -> Dataset | None:
        return _referred_header(reader, address, self._used_pseudonyms)

    @functools.cached_property
    def _of_query(self) -> SourceObject:
        """The query's instance; where it is in no DICOM file, a patient and study for the objects."""
        source = self._source_of_query(all_slices=False)
        return source or SourceObject((self._stub(self._patient()),), is_image=False)

    @functools.cached_property
    def _captured_query(self) -> SourceObject | None:
        """The image of a query that is in no DICOM file, as a Secondary Capture."""
        image = self._document.query.overview or self._document.query.thumbnail
        if image is None or self._of_query.is_image:
            return None
        return self._capture(image, "Query", self._of_query.header)

    @functools.cached_property
    def _montage(self) -> SourceObject | None:
        """The similar cases in one image of the query's study, where the objects must not refer to theirs."""
        from semblance.core.reports.dicom.image_objects import montage

        if not self._options.identified:
            return None
        ranks = {
            case.rank
            for case in self._result.ranked
            if not self._options.clean_pixels and self._details[case.row].attributes.get("burnt_in_text")
        }
        image = montage(self._document.ranking, without_image=ranks)
        return None if image is None else self._capture(image, "Similar cases", self._of_query.header)

    def _capture(self, image: bytes, description: str, header: Dataset) -> SourceObject:
        """``image`` as a Secondary Capture in the study of ``header``, which goes with the objects."""
        from pydicom.uid import generate_uid

        from semblance.core.reports.dicom.image_objects import secondary_capture

        series = str(generate_uid(prefix=None))
        made = secondary_capture(image, header, series, f"Semblance: {description}")
        self._captured.append(encoded(made))
        return SourceObject((made,))

    def _stub(self, patient: str) -> Dataset:
        """A patient and a study of an image that is in no DICOM file."""
        from pydicom import Dataset
        from pydicom.uid import generate_uid

        from semblance.core.reports.dicom.image_objects import SECONDARY_CAPTURE

        stub = Dataset()
        stub.PatientID, stub.SOPClassUID = patient, SECONDARY_CAPTURE
        for keyword in ("StudyInstanceUID", "SeriesInstanceUID", "SOPInstanceUID"):
            setattr(stub, keyword, generate_uid(prefix=None))
        return stub

    def _patient(self) -> str:
        """The id of the query's patient as the library has it; empty in de-identified objects."""
        known = self._case.patient if self._case is not None and self._options.identified else None
        return (known or "")[:64]


def referred_object(
    reader: ImageReader,
    address: ImageAddress,
    places: Sequence[int | None] | None,
    pseudonyms: Pseudonyms | None,
) -> SourceObject | None:
    """The DICOM instances, and their frames, that have the slices ``places`` (``None`` among them: the middle one), or
    all slices of an image. ``None`` for other files, and where one lacks the UIDs by which it is referred to. The
    headers are de-identified with ``pseudonyms`` if given.

    Raises:
        BadInput: one cannot be read or de-identified.
    """
    slices = _slices(reader, address)
    last = len(slices) - 1
    wanted = (
        range(len(slices))
        if places is None
        else [shown_slice(len(slices)) if place is None else place for place in places]
    )
    frames: dict[ImageAddress, list[int]] = {}
    for place in wanted:
        one = slices[min(max(place, 0), last)]
        meant = frames.setdefault(replace(one, frame=None), [])
        meant += [] if one.frame is None else [one.frame + 1]
    headers = [_referred_header(reader, one, pseudonyms) for one in frames]
    found = tuple(header for header in headers if header is not None)
    return SourceObject(found, tuple(map(tuple, frames.values()))) if len(found) == len(headers) else None


def _referred_header(
    reader: ImageReader, address: ImageAddress, pseudonyms: Pseudonyms | None
) -> Dataset | None:
    """The DICOM header at ``address``, de-identified with ``pseudonyms`` if given; ``None`` for other files, and where
    it lacks the UIDs by which it is referred to.

    Raises:
        BadInput: it cannot be read or de-identified.
    """
    from semblance.core.imaging.dicom.dicom_file import errors_as_bad_input, open_dicom

    with reader.dicom_file(address) as file:
        if file is None:
            return None
        header = open_dicom(file, str(address)).dataset
    if any(keyword not in header for keyword in ("SOPInstanceUID", "SeriesInstanceUID", "StudyInstanceUID")):
        return None
    if pseudonyms is not None:
        with errors_as_bad_input(str(address)):
            deidentify(header, Profile(), pseudonyms, DeidentificationChanges())
    return header


def _slices(reader: ImageReader, address: ImageAddress) -> tuple[ImageAddress, ...]:
    """The slices of a volume, or of an object with several frames in the order of space; else only ``address``."""
    from semblance.core.imaging.dicom.images import DicomImages

    if address.slices:
        return address.slices
    if address.frame is not None:
        return (address,)
    with reader.dicom_file(address) as file:
        if file is None:
            return (address,)
        images = DicomImages(file, str(address))
        order = images.order if len(images) > 1 else ()
    return tuple(replace(address, frame=frame) for frame in order) or (address,)


def _on_captured(header: Dataset, region: Region, width: int, height: int) -> list[RegionOutline]:
    """The outlines of ``region`` of an image of ``width`` x ``height`` pixels on its Secondary Capture, which shows the
    whole image, but smaller."""
    x, y = header.Columns / width, header.Rows / height
    part = region.on_slice(region.middle_slice or 0) or region
    return [
        RegionOutline(header, tuple((x * column, y * row) for column, row in polyline))
        for polyline in polylines(part, height, width)
    ]


def _on_slice(region: Region) -> Region:
    """The part of ``region`` on the slice that is shown."""
    place = region.middle_slice
    found = None if place is None else region.on_slice(place)
    return replace(found or region, z=None, depth=1)


def file_names(out: Path, objects: Sequence[bytes]) -> list[Path]:
    """A file for each of ``objects``: ``out``, and beside it ``out-kos``, ``out-kos-2``, ``out-pdf`` ..., named by what
    they are as :data:`semblance.core.reports.options.DICOM_OBJECTS`, images as ``out-image``."""
    from pydicom import dcmread

    counted: Counter[str] = Counter()
    files: list[Path] = []
    for content in objects:
        tags = ["Modality", "ConceptNameCodeSequence"]
        read = dcmread(io.BytesIO(content), specific_tags=tags, stop_before_pixels=True)
        title = read.get("ConceptNameCodeSequence") or [read]
        kind = ASSESSMENT if title[0].get("CodeValue") == TITLE else _KINDS.get(read.Modality, "image")
        counted[kind] += 1
        number = f"-{counted[kind]}" if counted[kind] > 1 else ""
        files.append(out.with_name(f"{out.stem}-{kind}{number}{out.suffix}") if files else out)
    return files
