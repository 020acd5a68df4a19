"""What another program on this computer asks of a library: a search, its report, thumbnails.

Libraries are only read, but for their log of exports. Unless a request is identified, answers name cases by references
made with the library's own key and hold no patient ids and no paths.
"""

from __future__ import annotations

import contextlib
import tempfile
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from functools import lru_cache
from pathlib import Path
from typing import Any, Literal

from semblance.core.errors import BadArguments, BadInput, SemblanceError
from semblance.core.files import write_file
from semblance.core.imaging import open_image
from semblance.core.imaging.hide_text import TextHider
from semblance.core.imaging.pseudonyms import Pseudonyms
from semblance.core.imaging.region import Region
from semblance.core.imaging.thumbnail import thumbnail
from semblance.core.language import tr_lazy
from semblance.core.library.export_log import log_export
from semblance.core.library.library import Library
from semblance.core.library.location import LibraryLocation
from semblance.core.library.open_library import open_library, read_only_libraries
from semblance.core.library.records import CaseDetails
from semblance.core.reports.options import ReportOptions
from semblance.core.reports.redaction import Redactor
from semblance.core.searches.query import Query
from semblance.core.searches.search import Search
from semblance.core.tasks import SILENT, Reporter
from semblance.core.workflows.metrics.stored_metric import current_metric
from semblance.core.workflows.reports.write_reports import write_report_files
from semblance.core.workflows.searches.explain_distance import result_with_reasons
from semblance.core.workflows.searches.rank_cases import rank_cases
from semblance.core.workflows.searches.search_result import SearchResult

ReportFormat = Literal["pdf", "html", "csv", "json", "dicom-pdf", "dicom-sr", "dicom-kos", "dicom-seg"]
#: Name of a report's format -> the ending of its file, and which DICOM object it is.
REPORT_FORMATS: Mapping[ReportFormat, tuple[str, str]] = {
    "pdf": (".pdf", "pdf"),
    "html": (".html", "pdf"),
    "csv": (".csv", "pdf"),
    "json": (".json", "pdf"),
    "dicom-pdf": (".dcm", "pdf"),
    "dicom-sr": (".dcm", "sr"),
    "dicom-kos": (".dcm", "kos"),
    "dicom-seg": (".dcm", "seg"),
}


class UnknownCase(BadInput):
    """A case that is not in the library, or not known by this reference."""


@dataclass(frozen=True)
class SearchRequest:
    """What is asked: ``image``, the bytes of a PNG, JPEG or DICOM file, or ``case``; without ``metric`` by the current
    one. ``case``, ``like`` and ``unlike`` are called as answers call them: by their ids if ``identified``, else by
    references. ``match`` and ``text`` as in
    :class:`semblance.core.searches.search.Search`. ``key`` makes the references of a
    library that has no key of its own."""

    key: bytes
    image: bytes | None = None
    case: str | None = None
    region: Region | None = None
    match: str = ""
    metric: str | None = None
    like: tuple[str, ...] = ()
    unlike: tuple[str, ...] = ()
    k: int = 20
    diverse: float = 0.0
    text: str = ""
    identified: bool = False


def describe_served_library(library: LibraryLocation, *, reporter: Reporter = SILENT) -> dict[str, Any]:
    """Number of cases, number of cases by finding, metrics, and the current metric (``None`` without metrics).

    Raises:
        BadInput: not a library, or damaged.
    """
    with read_only_libraries(), open_library(library) as opened:
        summary = opened.summary()
        current = opened.current_metric()
    return {
        "cases": summary["cases"],
        "findings": summary["findings"],
        "metrics": summary["metrics"],
        "metric": None if current is None else current.name,
    }


def answer_search(
    library: LibraryLocation, request: SearchRequest, *, reporter: Reporter = SILENT
) -> dict[str, Any]:
    """The document of ``semblance search --json`` for ``request``.

    Raises:
        UnknownCase: no such case.
        BadArguments: no such metric.
        BadInput: an image that cannot be read.
    """
    with _prepared(library, request) as (search, references):
        result = rank_cases(library, search, k=request.k, reporter=reporter).result
        document = result_with_reasons(library, result, reporter=reporter)
        # The file is gone when the answer arrives.
        document["query"]["image"] = None
        if not request.identified:
            _de_identify(document, result, references)
    log_export(library, "search", "json", identified=request.identified)
    return document


def answer_report(
    library: LibraryLocation,
    request: SearchRequest,
    form: ReportFormat,
    page: str = "A4",
    *,
    clean_pixels: bool = False,
    reporter: Reporter = SILENT,
) -> list[bytes]:
    """The files of the report of ``request``, in a format of :data:`REPORT_FORMATS`: one, or several DICOM objects.

    ``clean_pixels``: text burnt into its images is blacked out.

    Raises:
        UnknownCase, BadArguments, BadInput: as :func:`answer_search`.
        SemblanceError: highdicom or what finds text is not installed.
    """
    suffix, kind = REPORT_FORMATS[form]
    with _prepared(library, request) as (search, _), tempfile.TemporaryDirectory() as folder:
        options = ReportOptions(page, identified=request.identified, dicom=kind, clean_pixels=clean_pixels)
        files = write_report_files(
            library, search, Path(folder) / f"report{suffix}", options, reporter=reporter
        )
        return [file.read_bytes() for file in files]


def answer_thumbnail(
    library: LibraryLocation,
    case: str,
    key: bytes,
    *,
    identified: bool = False,
    clean_pixels: bool = False,
    reporter: Reporter = SILENT,
) -> bytes:
    """The thumbnail of ``case`` as the bytes of a PNG or JPEG file.

    ``clean_pixels``: made from the image, with text burnt into it blacked out.

    Raises:
        UnknownCase: no such case, or one without an image.
        BadInput: its image cannot be read.
        SemblanceError: what finds text is not installed.
    """
    with read_only_libraries(), open_library(library) as opened:
        references = _References(opened, key, identified=identified)
        details = _details(opened, references.case_of(case))
        stored = {} if clean_pixels else opened.thumbnails.get([details.content])
        if details.content in stored:
            return stored[details.content]
        if details.address is None:
            raise UnknownCase(
                tr_lazy("This case has no image."), tr_lazy("Ask for the thumbnail of another one.")
            )
        with _errors_without_names([details], identified=identified):
            image = open_image(details.address, details.region)
            return TextHider(reporter).thumbnail(image) if clean_pixels else thumbnail(image)


class _References:
    """What the cases of a library are called."""

    def __init__(self, library: Library, key: bytes, *, identified: bool) -> None:
        catalogue = library.catalogue
        self._path, self._stamp = library.location, catalogue.cases_stamp(catalogue.stamp())
        self._pseudonyms = library.available_pseudonyms() or Pseudonyms(key)
        self._key, self._identified = key, identified

    def of_case(self, case_id: str | None) -> str | None:
        if case_id is None or self._identified:
            return case_id
        return self._pseudonyms.reference(case_id)

    def case_of(self, reference: str) -> str:
        """Raises UnknownCase."""
        known = _cases_by_reference(self._path, self._stamp, self._key)
        found = known.get(self._pseudonyms.reference(reference) if self._identified else reference)
        if found is None:
            raise UnknownCase(
                tr_lazy("There is no case '{case}'.", case=reference),
                tr_lazy("Use the case_id of an earlier answer."),
            )
        return found


@lru_cache(maxsize=2)
def _cases_by_reference(library: LibraryLocation, stamp: tuple[Any, ...], key: bytes) -> Mapping[str, str]:
    with open_library(library) as opened:
        pseudonyms = opened.available_pseudonyms() or Pseudonyms(key)
        return {pseudonyms.reference(row.case_id): row.case_id for row in opened.catalogue.all_cases()}


@contextlib.contextmanager
def _prepared(library: LibraryLocation, request: SearchRequest) -> Iterator[tuple[Search, _References]]:
    """The requested search, as long as its image exists; errors contain no patient data unless ``identified``."""
    with contextlib.ExitStack() as stack:
        stack.enter_context(read_only_libraries())
        opened = stack.enter_context(open_library(library))
        references = _References(opened, request.key, identified=request.identified)
        case = None if request.case is None else references.case_of(request.case)
        like, unlike = (
            tuple(references.case_of(one) for one in dict.fromkeys(marked))
            for marked in (request.like, request.unlike)
        )
        named = [_details(opened, one) for one in (case, *like, *unlike) if one]
        image = None
        if request.image is not None:
            image = Path(stack.enter_context(tempfile.TemporaryDirectory())) / "image"
            write_file(image, request.image, durable=False)
        stack.enter_context(_errors_without_names(named, identified=request.identified))
        search = Search(
            request.metric or current_metric(library),
            Query(case, image, request.region),
            like=like,
            unlike=unlike,
            diverse=request.diverse,
            match=request.match,
            text=request.text,
        )
        yield search, references


def _details(library: Library, case_id: str) -> CaseDetails:
    row = library.catalogue.row_of(case_id)
    return library.catalogue.details([row])[row]


def _de_identify(document: dict[str, Any], result: SearchResult, references: _References) -> None:
    """Replace ids by references, and remove paths and patients."""
    document["query"]["case_id"] = references.of_case(result.query.case)
    document["feedback"] = {
        kind: [references.of_case(case) for case in cases] for kind, cases in document["feedback"].items()
    }
    for line in (*document["results"], *document["other_finding"]):
        line["path"] = ""
        if "text_hit" in line:
            # Notes and headers are free texts.
            line["text_hit"] = None
        for name in ("case_id", "near_liked", "near_disliked"):
            if name in line:
                line[name] = references.of_case(line[name])
    cases = (*result.ranked, *result.others)
    redactor = Redactor(
        False, {case.patient for case in cases if case.patient}, {case.path: case.case_id for case in cases}
    )
    for line in document["results"]:
        line["reason"] = redactor.redact(line["reason"])
    document["warnings"] = [redactor.redact(text) for text in document["warnings"]]


@contextlib.contextmanager
def _errors_without_names(cases: list[CaseDetails], *, identified: bool) -> Iterator[None]:
    """An error that names patients, ids or files of ``cases``, or any folder, names none of them unless
    ``identified``."""
    try:
        yield
    except SemblanceError as error:
        if identified:
            raise
        files = {case.case_id: case.case_id for case in cases}
        files |= {str(case.address): case.case_id for case in cases if case.address is not None}
        redactor = Redactor(False, {case.patient for case in cases if case.patient}, files)
        kinds = (UnknownCase, BadArguments, BadInput, SemblanceError)
        kind = next(kind for kind in kinds if isinstance(error, kind))
        raise kind(redactor.redact(error.message), redactor.redact(error.hint)) from None
