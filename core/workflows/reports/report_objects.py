"""A search as DICOM objects for an image archive.

Objects for a patient's record refer to instances of this patient only, and call other cases "Case 2". De-identified
objects may refer to all cases, by the UIDs that the de-identified files of the library have.
"""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

from semblance.core.errors import BadInput, SemblanceError
from semblance.core.imaging import ImageAddress, ImageReader
from semblance.core.imaging.deidentification.deidentify_dataset import Changes, deidentify
from semblance.core.imaging.deidentification.profile import Profile
from semblance.core.imaging.pseudonyms import Pseudonyms
from semblance.core.imaging.region import Region
from semblance.core.library.records import CaseDetails
from semblance.core.reports.document import ReportDocument
from semblance.core.reports.options import ReportOptions
from semblance.core.reports.redaction import CaseNames
from semblance.core.tasks import SILENT, Reporter
from semblance.core.workflows.reports.build_report_document import report_document
from semblance.core.workflows.searches.loaded_metric import LoadedMetric
from semblance.core.workflows.searches.rank_cases import RankedSearch

if TYPE_CHECKING:
    from pathlib import Path

    from pydicom import Dataset

    from semblance.core.reports.dicom.common import SourceObject


def report_objects(
    loaded: LoadedMetric,
    library: Path,
    ranked_search: RankedSearch,
    options: ReportOptions,
    reporter: Reporter = SILENT,
    *,
    case_names: CaseNames | None = None,
) -> list[bytes]:
    """The files of a search as ``options.dicom`` says, the object itself first, then those it needs: secondary
    captures of images that are in no DICOM file, or key objects of further studies.

    Raises:
        BadInput: an image that cannot be read, or that lacks the region or the pixels that the object needs.
        SemblanceError: highdicom is not installed.
    """
    # Only the header identifies the patient, because the content also names cases of other patients.
    plain = replace(options, identified=False)
    document = report_document(loaded, library, ranked_search, plain, reporter, case_names=case_names)
    return _Objects(loaded, ranked_search, options, document).files()


class _Objects:
    def __init__(
        self,
        loaded: LoadedMetric,
        ranked_search: RankedSearch,
        options: ReportOptions,
        document: ReportDocument,
    ) -> None:
        self._loaded, self._options, self._document = loaded, options, document
        self._query, self._result = ranked_search.search.query, ranked_search.result
        library = loaded.library
        # A read-only library may have no key yet; then its codes are valid for this export only.
        self._pseudonyms = library.available_pseudonyms() or Pseudonyms(Pseudonyms.new_key())
        self._captured: list[bytes] = []
        rows = [case.row for case in self._result.ranked]
        self._details = library.catalogue.details(rows)
        self._case: CaseDetails | None = None
        if self._query.case is not None:
            row = loaded.cases.row_of(self._query.case)
            self._case = library.catalogue.details([row])[row]

    def files(self) -> list[bytes]:
        kind = self._options.dicom
        if kind == "pdf":
            return self._pdf()
        if kind == "sr":
            return self._structured_report()
        return self._key_objects() if kind == "kos" else self._segmentations()

    def _pdf(self) -> list[bytes]:
        from semblance.core.reports.encapsulated_pdf import report_dicom

        source = self._source_of_query(all_slices=False)
        header = self._stub() if source is None else source.header
        return [report_dicom(self._document, self._options.page, header, identified=self._options.identified)]

    def _structured_report(self) -> list[bytes]:
        from semblance.core.reports.dicom.common import SourceObject
        from semblance.core.reports.dicom.structured_report import structured_report

        query = self._source_of_query(all_slices=False) or self._captured_query()
        query = query or SourceObject((self._stub(),), is_image=False)
        cases: list[SourceObject | None] = [None] * len(self._result.ranked)
        if not self._options.identified:
            cases = [
                self._source_of(self._details[case.row], all_slices=False) for case in self._result.ranked
            ]
        names = [self._query.case or str(self._query.image), *(case.case_id for case in self._result.ranked)]
        uids = [self._pseudonyms.uid(f"case {name}") for name in names]
        return [structured_report(self._document, query, cases, uids), *self._captured]

    def _key_objects(self) -> list[bytes]:
        from semblance.core.reports.dicom.key_objects import key_objects

        query = self._source_of_query(all_slices=True) or self._captured_query()
        sources = [] if query is None else [query]
        if not self._options.identified:
            found = [
                self._source_of(self._details[case.row], all_slices=True) for case in self._result.ranked
            ]
            sources += [source for source in found if source is not None]
        if not sources:
            raise BadInput(
                "There are no images for key objects in this search.", "Write a report as sr or pdf."
            )
        return [*key_objects(sources, self._document.versions), *self._captured]

    def _segmentations(self) -> list[bytes]:
        from semblance.core.reports.dicom.region_objects import segmentation

        marked: list[tuple[SourceObject, Region, str]] = []
        region = self._query.region or (self._case.region if self._case is not None else None)
        address = self._address()
        if region is not None and address is not None:
            source = self._read(address, region.middle_slice, all_slices=False)
            if source is not None:
                marked.append((source, region, "Query"))
        if not self._options.identified:
            for row, case in zip(self._document.ranking, self._result.ranked, strict=True):
                details = self._details[case.row]
                if details.region is not None and (found := self._source_of(details, all_slices=False)):
                    marked.append((found, details.region, str(row.case_id)))
        if not marked:
            raise BadInput(
                "Neither the query nor a similar case has a region on a DICOM image.", "Search with a region."
            )
        return [
            segmentation(source.header, _on_slice(region), label, self._document.versions)
            for source, region, label in marked
        ]

    def _address(self) -> ImageAddress | None:
        if self._case is not None:
            return self._case.address
        return ImageAddress(self._query.image) if self._query.image is not None else None

    def _source_of_query(self, *, all_slices: bool) -> SourceObject | None:
        region = self._query.region or (self._case.region if self._case is not None else None)
        address = self._address()
        place = region.middle_slice if region is not None else None
        return None if address is None else self._read(address, place, all_slices=all_slices)

    def _source_of(self, case: CaseDetails, *, all_slices: bool) -> SourceObject | None:
        """The DICOM headers of a similar case, ``None`` if it has none or its files are missing."""
        if case.address is None:
            return None
        try:
            place = case.region.middle_slice if case.region is not None else None
            return self._read(case.address, place, all_slices=all_slices)
        except SemblanceError:
            # The report still names the case; the list of unreadable files has the missing ones.
            return None

    def _read(self, address: ImageAddress, place: int | None, *, all_slices: bool) -> SourceObject | None:
        from semblance.core.reports.dicom.common import SourceObject

        slices = address.slices or (address,)
        shown = min(max(len(slices) // 2 if place is None else place, 0), len(slices) - 1)
        wanted = slices if all_slices else slices[shown : shown + 1]
        with ImageReader() as reader:
            headers = [self._header(reader, one) for one in wanted]
        if any(header is None for header in headers):
            return None
        found = tuple(header for header in headers if header is not None)
        return SourceObject(found, shown if all_slices else 0)

    def _header(self, reader: ImageReader, address: ImageAddress) -> Dataset | None:
        """The header, de-identified unless the object is for the patient's record; ``None`` for other files."""
        from semblance.core.imaging.dicom.dicom_file import errors_as_bad_input, open_dicom

        with reader.dicom_file(address) as file:
            if file is None:
                return None
            header = open_dicom(file, str(address)).dataset
        if any(
            keyword not in header for keyword in ("SOPInstanceUID", "SeriesInstanceUID", "StudyInstanceUID")
        ):
            return None
        if not self._options.identified:
            with errors_as_bad_input(str(address)):
                deidentify(header, Profile(), self._pseudonyms, Changes())
        return header

    def _captured_query(self) -> SourceObject | None:
        """The query's image as a Secondary Capture, written beside the object; ``None`` without an image."""
        from pydicom.uid import generate_uid

        from semblance.core.reports.dicom.common import SourceObject, encoded
        from semblance.core.reports.dicom.secondary_capture import secondary_capture

        image = self._document.query.overview or self._document.query.thumbnail
        if image is None:
            return None
        study, series = (str(generate_uid(prefix=None)) for _ in range(2))
        made = secondary_capture(image, self._patient(), study, series, 1)
        self._captured.append(encoded(made))
        return SourceObject((made,))

    def _stub(self) -> Dataset:
        """Patient and study of an object that refers to no image."""
        from pydicom import Dataset
        from pydicom.uid import generate_uid

        from semblance.core.reports.dicom.secondary_capture import SOP_CLASS as SECONDARY_CAPTURE

        stub = Dataset()
        stub.PatientID, stub.SOPClassUID = self._patient(), SECONDARY_CAPTURE
        for keyword in ("StudyInstanceUID", "SeriesInstanceUID", "SOPInstanceUID"):
            setattr(stub, keyword, generate_uid(prefix=None))
        return stub

    def _patient(self) -> str:
        """The id of the query's patient as the library has it; empty in de-identified objects."""
        known = self._case.patient if self._case is not None and self._options.identified else None
        return (known or "")[:64]


def _on_slice(region: Region) -> Region:
    """The part of ``region`` on the slice that is shown."""
    place = region.middle_slice
    found = None if place is None else region.on_slice(place)
    return replace(found or region, z=None, depth=1)


def file_names(out: Path, count: int) -> list[Path]:
    """``out``, and beside it ``out-2``, ``out-3`` ... for further objects."""
    return [out, *(out.with_name(f"{out.stem}-{number}{out.suffix}") for number in range(2, count + 1))]
