"""Write reports of searches: one, or of many queries at once; de-identified by default."""

from __future__ import annotations

import io
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any

from semblance.core.csv_cells import csv_text
from semblance.core.errors import BadArguments, SemblanceError
from semblance.core.files import create_folder, write_file
from semblance.core.imaging.hide_text import TextHider
from semblance.core.language import current_language, tr_lazy
from semblance.core.library.export_log import log_export
from semblance.core.library.location import LibraryLocation
from semblance.core.reports.document import ReportDocument
from semblance.core.reports.options import ASSESSMENT, DICOM_OBJECTS, PAGES, ReportOptions
from semblance.core.reports.redaction import CaseNames
from semblance.core.reports.write_report import check_suffix, report_bytes, report_endings
from semblance.core.searches.query import Query
from semblance.core.searches.search import Search
from semblance.core.tasks import SILENT, Reporter
from semblance.core.workflows.reports.build_report_document import report_document
from semblance.core.workflows.reports.report_objects import file_names, marks_in_force, report_objects
from semblance.core.workflows.searches.open_metrics import open_search_metric
from semblance.core.workflows.searches.rank_cases import RankedSearch, rank_cases

if TYPE_CHECKING:
    from semblance.core.workflows.imaging.card_images import WindowLevel

#: Ranked cases on a report.
LISTED = 20
#: Ranks down to which a case can be chosen for a report.
MOST_RANKED = 200
#: The file name of the list of a batch.
INDEX = "reports.csv"
#: Endings of DICOM files and of pages for a browser, and how a PDF begins.
DICOM, HTML, _PDF = ".dcm", (".html", ".htm"), b"%PDF"
#: Pages, and bytes of a text, that a preview shows.
SHOWN_PAGES, SHOWN_BYTES = 6, 20_000


def write_search_report(
    library: LibraryLocation,
    search: Search,
    out: Path,
    options: ReportOptions | None = None,
    *,
    reporter: Reporter = SILENT,
) -> Path:
    """:func:`write_report_files`; returns ``out``."""
    return write_report_files(library, search, out, options, reporter=reporter)[0]


def write_report_files(
    library: LibraryLocation,
    search: Search,
    out: Path,
    options: ReportOptions | None = None,
    *,
    window_level: WindowLevel | None = None,
    reporter: Reporter = SILENT,
) -> list[Path]:
    """Run ``search`` and write its report to ``out`` (.pdf, .html, .csv, .json or .dcm); returns the files written:
    ``out``, and further DICOM objects beside it. ``window_level``: how the query is displayed.

    Raises:
        BadArguments: no such metric, a suffix no report has, or a DICOM object in another file than .dcm.
        BadInput: no such case, or an image that cannot be read.
        SemblanceError: ``out`` cannot be written, or what finds burnt-in text is not installed.
    """
    check_suffix(out)
    chosen = options or ReportOptions()
    contents = _contents(library, search, out.suffix, chosen, window_level, reporter, out.name, _document)
    files = _write_contents(out, contents)
    log_export(library, "report", out.suffix, identified=chosen.identified, files=len(files))
    return files


def _contents(
    library: LibraryLocation,
    search: Search,
    suffix: str,
    chosen: ReportOptions,
    window_level: WindowLevel | None,
    reporter: Reporter,
    name: str,
    make_document: Callable[..., ReportDocument],
) -> list[bytes]:
    """What the files of the report of ``search`` hold: of all but DICOM objects one."""
    _check_object(suffix, chosen)
    ranked_search = _ranked(library, search, chosen, reporter)
    reporter.progress(0, None, tr_lazy("Writing {out}", out=name))
    if suffix.lower() == DICOM:
        loaded = open_search_metric(library, search, reporter)
        return report_objects(loaded, library, ranked_search, chosen, reporter, window_level=window_level)[1]
    document = make_document(library, ranked_search, chosen, window_level, reporter)
    return [report_bytes(document, suffix, chosen.page)]


def _document(
    library: LibraryLocation,
    ranked_search: RankedSearch,
    chosen: ReportOptions,
    window_level: WindowLevel | None,
    reporter: Reporter,
) -> ReportDocument:
    loaded = open_search_metric(library, ranked_search.search, reporter)
    return report_document(loaded, library, ranked_search, chosen, reporter, window_level=window_level)


def _ranked(
    library: LibraryLocation, search: Search, chosen: ReportOptions, reporter: Reporter
) -> RankedSearch:
    """The cases that a report lists."""
    wanted = {*search.in_report, *(case for case, _ in search.notes)}
    is_assessed = chosen.dicom == ASSESSMENT
    search = _as_assessed(search, chosen)
    ranked_search = rank_cases(
        library, search, k=MOST_RANKED if wanted or is_assessed else LISTED, reporter=reporter
    )
    if is_assessed:
        marked = marks_in_force(ranked_search.entries, search.query)
        wanted |= {*(one.case for one in marked), *search.like, *search.unlike}
    ranked = ranked_search.result.ranked
    listed = tuple(case for case in ranked if case.rank <= LISTED or case.case_id in wanted)
    return replace(ranked_search, result=replace(ranked_search.result, ranked=listed))


@dataclass(frozen=True)
class ReportPreview:
    """The first ``pages`` of ``count`` pages as PNG, or the beginning of the ``text`` of a file without pages."""

    pages: tuple[bytes, ...] = ()
    count: int = 0
    text: str = ""


def preview_report(
    library: LibraryLocation,
    search: Search,
    suffix: str,
    options: ReportOptions,
    width: int,
    *,
    case: str | None = None,
    window_level: WindowLevel | None = None,
    dialog: str = "",
    reporter: Reporter = SILENT,
) -> ReportPreview:
    """What :func:`write_report_files` would write, as it looks on pages ``width`` pixels wide; ``case``: with this case
    as the query. An HTML file has the contents of the pages on one page. Previews of the same ``dialog``, during which
    nothing else changes, use images and plots again where only the comment, the page or the letterhead is another one.

    Raises:
        BadInput: no such case, or an image that cannot be read.
        SemblanceError: what finds burnt-in text is not installed.
    """
    if case is not None:
        search = _of_case(search, case)
    shown = ".pdf" if suffix in HTML else suffix
    make_document = partial(_kept_document, dialog)
    content = _contents(library, search, shown, options, window_level, reporter, "", make_document)[0]
    reporter.check_cancelled()
    if suffix == DICOM:
        content = _pdf_or_text_of_dicom(content)
    if content.startswith(_PDF):
        return ReportPreview(*rendered_pages(content, width, SHOWN_PAGES))
    try:
        text = content[:SHOWN_BYTES].decode(errors="ignore" if len(content) > SHOWN_BYTES else "strict")
    except UnicodeDecodeError:
        text = ""
    return ReportPreview(text=text)


#: The dialog, what its last preview was made of, and its document.
_last_preview: dict[str, tuple[object, ReportDocument]] = {}


def _kept_document(
    dialog: str,
    library: LibraryLocation,
    ranked_search: RankedSearch,
    chosen: ReportOptions,
    window_level: WindowLevel | None,
    reporter: Reporter,
) -> ReportDocument:
    """:func:`_document`, of which the parts that take time are made again only where they would be other ones."""
    contents = replace(chosen, page=PAGES[0], clinic="", logo=None, comment="")
    made_of = library, ranked_search.search, ranked_search.entries, contents, window_level, current_language()
    before, document = _last_preview.get(dialog, (None, None))
    if document is None or not dialog or before != made_of:
        document = _document(library, ranked_search, chosen, window_level, reporter)
        _last_preview.clear()
        _last_preview[dialog] = made_of, document
    return replace(document, clinic=chosen.clinic, logo=chosen.logo, comment=chosen.comment)


def rendered_pages(pdf: bytes, width: int, most: int) -> tuple[tuple[bytes, ...], int]:
    """The first ``most`` pages of ``pdf`` as PNG images ``width`` pixels wide, and the number of all pages."""
    import pypdfium2

    document = pypdfium2.PdfDocument(pdf)
    try:
        images = []
        for page in list(document)[:most]:
            image = page.render(scale=width / page.get_width()).to_pil()
            out = io.BytesIO()
            image.save(out, "PNG", compress_level=1)
            images.append(out.getvalue())
        return tuple(images), len(document)
    finally:
        document.close()


def _pdf_or_text_of_dicom(content: bytes) -> bytes:
    """The PDF in a DICOM object, else its elements as text, without pixels."""
    from pydicom import dcmread

    dataset = dcmread(io.BytesIO(content), stop_before_pixels=True)
    encapsulated = dataset.get("EncapsulatedDocument")
    return encapsulated if isinstance(encapsulated, bytes) else str(dataset).encode()


@dataclass(frozen=True)
class BatchResult:
    """The result of a batch: ``files`` in ``folder``, and ``failed`` (case, reason)."""

    folder: Path
    files: tuple[Path, ...]
    failed: tuple[tuple[str, str], ...]

    def to_json(self) -> dict[str, Any]:
        """As plain values for ``--json``."""
        return {
            "folder": str(self.folder),
            "files": [file.name for file in self.files],
            "failed": [{"case_id": case, "reason": reason} for case, reason in self.failed],
        }


def write_reports(
    library: LibraryLocation,
    search: Search,
    cases: Sequence[str],
    folder: Path,
    kind: str = "pdf",
    options: ReportOptions | None = None,
    *,
    reporter: Reporter = SILENT,
) -> BatchResult:
    """A report of ``search`` for each of ``cases`` as its query, into ``folder``, with the list reports.csv.

    File names are numbers, because case ids often identify the patient. A case that cannot be a query is listed with
    the reason, and the others are written.

    Raises:
        BadArguments: a kind no report has, no cases, no such metric, or something said of an estimate.
        SemblanceError: ``folder`` cannot be written to, or what finds burnt-in text is not installed.
        Cancelled: the reporter was cancelled; finished reports stay, listed and logged.
    """
    suffix = f".{kind.lstrip('.').lower()}"
    if suffix not in report_endings():
        raise BadArguments(
            tr_lazy("There is no report of the kind '{kind}'.", kind=kind),
            tr_lazy("Kinds: {value}.", value=", ".join(_kinds())),
        )
    if not cases:
        raise BadArguments("No case was named to report on.", "Name some, or choose them in the library.")
    chosen = options or ReportOptions()
    _check_object(suffix, chosen)
    if chosen.estimate:
        raise BadArguments(
            "The estimate of one query can be accepted or rejected, not those of several.",
            "Leave that out, or choose one query.",
        )
    hider = TextHider(reporter) if chosen.clean_pixels else None
    open_search_metric(library, replace(search, without_patient=False), reporter)
    try:
        create_folder(folder, private=False)
    except OSError as error:
        raise SemblanceError(
            tr_lazy(
                "The folder {folder} cannot be made: {reason}.", folder=folder, reason=error.strerror or error
            ),
            "Choose another one.",
        ) from error
    width = max(4, len(str(len(cases))))
    files: list[Path] = []
    failed: list[tuple[str, str]] = []
    lines: list[tuple[Any, ...]] = []
    names = CaseNames()
    for case in cases:
        # Case 7 is the query of the seventh report and has this name in all reports.
        names(case)
    try:
        for number, case in enumerate(cases, start=1):
            reporter.check_cancelled()
            reporter.progress(
                number - 1, len(cases), tr_lazy("Writing reports into {folder}", folder=folder.name)
            )
            one = _as_assessed(_of_case(search, case), chosen)
            try:
                ranked_search = rank_cases(library, one, k=LISTED, reporter=SILENT)
                loaded = open_search_metric(library, one)
                given = loaded, library, ranked_search, chosen
                if suffix == DICOM:
                    document, contents = report_objects(*given, case_names=names, hider=hider)
                else:
                    document = report_document(*given, case_names=names, hider=hider)
                    contents = [report_bytes(document, suffix, chosen.page)]
            except SemblanceError as error:
                failed.append((case, str(error)))
                continue
            out = folder / f"report-{number:0{width}d}{suffix}"
            files += _write_contents(out, contents)
            shown = case if chosen.identified else document.query.case_id
            lines.append((out.name, shown, document.query.finding, document.vote_text()))
    finally:
        # Also of cancelled reports: what is there is listed and logged.
        log_export(library, "reports", suffix, identified=chosen.identified, files=len(files))
        index = csv_text(("file", "case_id", "finding", "nearest"), lines)
        write_file(folder / INDEX, index.encode(), private=False)
    return BatchResult(folder, tuple(files), tuple(failed))


def _as_assessed(search: Search, options: ReportOptions) -> Search:
    """The search whose result a reader assesses: in the order before marks, which put a rejected case last."""
    return replace(search, strength=0.0) if options.dicom == ASSESSMENT else search


def _write_contents(out: Path, contents: Sequence[bytes]) -> list[Path]:
    files = file_names(out, contents) if out.suffix.lower() == DICOM else [out]
    for file, content in zip(files, contents, strict=True):
        write_file(file, content, private=False)
    return files


def _check_object(suffix: str, options: ReportOptions) -> None:
    if options.dicom != DICOM_OBJECTS[0] and suffix.lower() != DICOM:
        raise BadArguments(
            tr_lazy("A report as {kind} is a DICOM file.", kind=options.dicom),
            "Use a name that ends in .dcm.",
        )


def _of_case(search: Search, case: str) -> Search:
    return replace(search, query=Query(case=case), like=(), unlike=())


def _kinds() -> list[str]:
    return [suffix.lstrip(".") for suffix in report_endings() if suffix != ".htm"]
