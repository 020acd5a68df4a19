"""Send the DICOM objects of a search, and the images of cases, to a PACS."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from tempfile import TemporaryDirectory

from semblance.core.errors import BadArguments, BadInput, SemblanceError
from semblance.core.files import write_file
from semblance.core.imaging import ImageAddress, ImageReader
from semblance.core.imaging.dicom.dicom_file import open_dicom
from semblance.core.library.export_log import log_export
from semblance.core.library.location import LibraryLocation
from semblance.core.library.open_library import open_library
from semblance.core.library.records import CaseDetails
from semblance.core.network.sending import SentFiles
from semblance.core.network.servers import Server
from semblance.core.reports.options import ReportOptions
from semblance.core.searches.query import Query
from semblance.core.searches.search import Search
from semblance.core.tasks import SILENT, Reporter
from semblance.core.workflows.network.send_files import send, send_paths
from semblance.core.workflows.reports.write_reports import write_report_files


def send_report(
    server: Server,
    library: LibraryLocation,
    search: Search,
    options: ReportOptions,
    *,
    commit: bool = False,
    reporter: Reporter = SILENT,
) -> SentFiles:
    """Write the report of ``search`` as DICOM objects, as ``options.dicom`` says, and send them into the record of the
    query's patient. Nothing is kept here. ``commit`` as :func:`semblance.core.workflows.network.send_files.send`.

    Raises:
        BadArguments: ``options`` are de-identified, so that the objects would belong to nobody.
        BadInput: no such case, an image that cannot be read, or one of no DICOM study.
        SemblanceError: there is no connection, or it is lost.
        Cancelled: the reporter was cancelled.
    """
    if not options.identified:
        raise BadArguments(
            "A report for a PACS needs the patient and study of its query.",
            "Write it with patient identifiers.",
        )
    _check_study(library, search.query)
    with TemporaryDirectory(prefix="semblance-report-") as folder:
        write_report_files(library, search, Path(folder) / "report.dcm", options, reporter=reporter)
        return send(server, Path(folder), commit=commit, reporter=reporter)


def _check_study(library: LibraryLocation, query: Query) -> None:
    """Refuse a query of no study: its report would begin a study of its own, which no patient's record has."""
    address = None if query.image is None else ImageAddress(query.image)
    if query.case is not None:
        with open_library(library) as opened:
            row = opened.catalogue.row_of(query.case)
            address = opened.catalogue.details([row])[row].address
    if address is not None:
        with ImageReader() as reader, reader.dicom_file((address.slices or (address,))[0]) as file:
            if file is not None and "StudyInstanceUID" in open_dicom(file, str(address)).dataset:
                return
    raise BadInput(
        "The query is in no DICOM study, so its report belongs to no record in a PACS.",
        "Save the report as a file, or search with an image of a study.",
    )


def send_cases(
    server: Server,
    library: LibraryLocation,
    rows: Sequence[int],
    *,
    commit: bool = False,
    reporter: Reporter = SILENT,
) -> SentFiles:
    """Send the DICOM files of the cases with these catalogue ``rows`` as they are, with the patients' names in them.

    Cases of other images, and rows of tables, are among the failed. ``commit`` as
    :func:`semblance.core.workflows.network.send_files.send`.

    Raises:
        BadInput: none of them is in a DICOM file.
        SemblanceError: there is no connection, or it is lost.
        Cancelled: the reporter was cancelled.
    """
    with open_library(library) as opened:
        details = opened.catalogue.details(list(rows))
    with TemporaryDirectory(prefix="semblance-send-") as folder, ImageReader() as reader:
        found: dict[tuple[Path, str], Path] = {}
        refused: list[dict[str, str]] = []
        for case in details.values():
            reporter.check_cancelled()
            try:
                found |= _files_of(case, reader, Path(folder), found)
            except SemblanceError as error:
                refused.append({"path": case.case_id, "reason": str(error)})
        if not found:
            raise BadInput(
                "There is no DICOM file that can be sent.",
                refused[0]["reason"] if refused else "Choose cases.",
            )
        result = send_paths(server, list(found.values()), commit=commit, reporter=reporter)
    result.failed = refused + result.failed
    log_export(library, "images to a PACS", "dcm", identified=True, files=len(result.sent))
    return result


def _files_of(
    case: CaseDetails, reader: ImageReader, folder: Path, known: Mapping[tuple[Path, str], Path]
) -> dict[tuple[Path, str], Path]:
    """The DICOM files of a case but the ``known``, by container and member; members are written into ``folder``."""
    if case.address is None:
        raise BadInput("It is in no DICOM file.", "Send it within a report.")
    found: dict[tuple[Path, str], Path] = {}
    for address in case.address.slices or (case.address,):
        key = address.container, address.member
        if key in known or key in found:
            continue
        with reader.dicom_file(replace(address, slices=())) as file:
            if file is None:
                raise BadInput("It is in no DICOM file.", "Send it within a report.")
            found[key] = address.container
            if address.member:
                found[key] = folder / f"{len(known) + len(found)}.dcm"
                file.seek(0)
                write_file(found[key], file.read(), durable=False)
    return found
