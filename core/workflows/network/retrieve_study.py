"""Retrieve a study from a PACS into a library, or into a folder."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import asdict, dataclass, replace
from pathlib import Path
from typing import Any

from semblance.core.errors import BadInput
from semblance.core.imaging.dicom.dicom_file import open_dicom
from semblance.core.language import tr_lazy
from semblance.core.library.location import LibraryLocation, lasting_folder
from semblance.core.library.open_library import open_library, open_or_create_library
from semblance.core.network.received_files import FOLDER, ReceivedFiles
from semblance.core.network.retrieval import RetrievedObjects, retrieve_study
from semblance.core.network.servers import Server
from semblance.core.network.studies import check_uid, text_of
from semblance.core.reports.dicom.common import MANUFACTURER
from semblance.core.searches.query import Query
from semblance.core.searches.search import Search
from semblance.core.tasks import SILENT, Reporter
from semblance.core.workflows.library.import_source import ImportResult, import_source
from semblance.core.workflows.reports.embedded_search import is_structured_report, reopen_report

#: Attributes that distinguish images from other objects, and give the position in the series.
_IMAGE_TAGS = ("SeriesInstanceUID", "InstanceNumber", "Modality", "SecondaryCaptureDeviceManufacturer")


@dataclass
class RetrievedFiles:
    """What a retrieval into a folder gave, and the ``files`` of the study in it, in the order of their names."""

    retrieval: RetrievedObjects
    files: list[Path]

    def to_json(self) -> dict[str, Any]:
        """The fields as JSON values."""
        return asdict(self.retrieval) | {"files": [str(file) for file in self.files]}


def retrieve_into_library(
    server: Server,
    study: str,
    library: LibraryLocation,
    *,
    series: Sequence[str] = (),
    identified: bool = False,
    must_exist: bool = False,
    reporter: Reporter = SILENT,
) -> ImportResult:
    """Retrieve a study, or some ``series`` of it, and import it into ``library``, which is created where there is none.

    The files are kept in the library's folder, one for each object; those of a library on a server in the user's data.
    Repeating it retrieves and imports what is missing. Objects that the PACS lists but did not send are among the
    ``failed``.

    Raises:
        BadArguments: not a UID; ``identified``, and the study is in the library without ids.
        SemblanceError: the PACS cannot be reached or sent nothing.
        Cancelled: the reporter was cancelled; what was retrieved stays.
    """
    for uid in (study, *series):
        check_uid(uid)
    with open_library(library, writable=True) if must_exist else open_or_create_library(library) as target:
        received = ReceivedFiles(lasting_folder(target.location) / FOLDER)
    retrieval = retrieve_study(server, study, series, received, reporter=reporter)
    result = import_received(received, study, library, identified=identified, reporter=reporter)
    reasons = dict.fromkeys(retrieval.missing, "".join(retrieval.reasons[:1])) | retrieval.refused
    failed = [{"path": uid, "reason": reason} for uid, reason in reasons.items()]
    notes = [
        tr_lazy("{uid} was here already: {change}.", uid=uid, change=change)
        for uid, change in retrieval.changed.items()
    ]
    return replace(result, failed=[*result.failed, *failed], notes=[*result.notes, *notes])


def retrieve_several_into_library(
    server: Server,
    wanted: Sequence[tuple[str, Sequence[str]]],
    library: LibraryLocation,
    *,
    identified: bool = False,
    must_exist: bool = False,
    reporter: Reporter = SILENT,
) -> list[ImportResult]:
    """:func:`retrieve_into_library` for each study of ``wanted`` and its series (none: all of them), in turn.

    Raises:
        BadArguments, SemblanceError, Cancelled: as there; the studies before are in the library.
    """
    return [
        retrieve_into_library(
            server,
            study,
            library,
            series=series,
            identified=identified,
            must_exist=must_exist,
            reporter=reporter,
        )
        for study, series in wanted
    ]


def import_received(
    received: ReceivedFiles,
    study: str,
    library: LibraryLocation,
    *,
    identified: bool = False,
    reporter: Reporter = SILENT,
) -> ImportResult:
    """Import what was received of a study.

    Raises:
        BadArguments, SemblanceError: as :func:`semblance.core.workflows.library.import_source.import_source`.
    """
    instances = list(received.instances(study))
    result = import_source(
        received.study_folder(study), library, kind="dicom", identified=identified, reporter=reporter
    )
    received.imported(study, instances)
    return result


def retrieve_into_folder(
    server: Server, study: str, folder: Path, *, series: Sequence[str] = (), reporter: Reporter = SILENT
) -> RetrievedFiles:
    """Retrieve a study, or some ``series`` of it, as files into ``folder``, and keep nothing elsewhere.

    Raises:
        BadArguments: not a UID.
        SemblanceError: the PACS cannot be reached or sent nothing.
        Cancelled: the reporter was cancelled; what was retrieved stays.
    """
    for uid in (study, *series):
        check_uid(uid)
    received = ReceivedFiles(folder)
    retrieval = retrieve_study(server, study, series, received, reporter=reporter)
    files = received.instances(study)
    received.imported(study, list(files))
    return RetrievedFiles(retrieval, list(files.values()))


def retrieve_query(
    server: Server,
    study: str,
    folder: Path,
    library: LibraryLocation,
    *,
    series: Sequence[str] = (),
    reporter: Reporter = SILENT,
) -> Query | Search:
    """Retrieve a study, or some ``series`` of it, into ``folder`` to search ``library`` with it.

    The query is the image in the middle of the largest series. Structured reports of this program alone give the search
    of the first of them, for which the rest of the study is retrieved too.

    Raises:
        BadInput: there is neither an image nor such a report, or it was not made from ``library``.
        SemblanceError, Cancelled: as :func:`retrieve_into_folder`.
    """
    files = retrieve_into_folder(server, study, folder, series=series, reporter=reporter).files
    if series:
        files = [file for file in files if file.parent.name in series]
    image = _middle_image(files)
    if image is not None:
        return Query(image=image)
    report = next((file for file in files if is_structured_report(file)), None)
    if report is None:
        raise BadInput("There is no image in what was selected.", "Select a series with images.")
    if series:
        retrieve_into_folder(server, study, folder, reporter=reporter)
    return reopen_report(library, report, reporter=reporter)


def _middle_image(files: Sequence[Path]) -> Path | None:
    """The image that shows most of ``files``; none of reports, segmentations and what this program made."""
    found: dict[str, list[tuple[int, Path]]] = {}
    for path in files:
        with path.open("rb") as file:
            opened = open_dicom(file, path.name, _IMAGE_TAGS)
        header = opened.dataset
        made_here = text_of(header, "SecondaryCaptureDeviceManufacturer") == MANUFACTURER
        if not opened.pixels or made_here or text_of(header, "Modality") == "SEG":
            continue
        number = text_of(header, "InstanceNumber")
        place = int(number) if number.isdecimal() else 0
        found.setdefault(text_of(header, "SeriesInstanceUID"), []).append((place, path))
    if not found:
        return None
    largest = max(found.values(), key=len)
    return sorted(largest)[len(largest) // 2][1]
