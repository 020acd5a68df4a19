"""Retrieve a study from a PACS into a library, or into a folder."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

from semblance.core.library.open_library import open_library, open_or_create_library
from semblance.core.network.received_files import FOLDER, ReceivedFiles
from semblance.core.network.retrieval import Retrieval, retrieve_study
from semblance.core.network.servers import Server
from semblance.core.network.studies import check_uid
from semblance.core.tasks import SILENT, Reporter
from semblance.core.workflows.library.import_source import ImportResult, import_source


@dataclass
class RetrievedFiles:
    """What a retrieval into a folder gave, and the ``files`` of the study in it, in the order of their names."""

    retrieval: Retrieval
    files: list[Path]

    def to_json(self) -> dict[str, Any]:
        """The fields as JSON values."""
        return asdict(self.retrieval) | {"files": [str(file) for file in self.files]}

    @property
    def middle(self) -> Path:
        """The file in the middle, which shows most of a series."""
        return self.files[len(self.files) // 2]


def retrieve_into_library(
    server: Server,
    study: str,
    library: Path,
    *,
    series: Sequence[str] = (),
    identified: bool = False,
    must_exist: bool = False,
    reporter: Reporter = SILENT,
) -> ImportResult:
    """Retrieve a study, or some ``series`` of it, and import it into ``library``, which is created where there is none.

    The files are kept in the library's folder, one for each object. Repeating it retrieves and imports what is
    missing. Objects that the PACS lists but did not send are among the ``failed``.

    Raises:
        BadArguments: not a UID; ``identified``, and the study is in the library without ids.
        SemblanceError: the PACS cannot be reached or sent nothing.
        Cancelled: the reporter was cancelled; what was retrieved stays.
    """
    for uid in (study, *series):
        check_uid(uid)
    with open_library(library, writable=True) if must_exist else open_or_create_library(library) as target:
        received = ReceivedFiles(target.path / FOLDER)
    retrieval = retrieve_study(server, study, series, received, reporter=reporter)
    result = import_received(received, study, library, identified=identified, reporter=reporter)
    result.failed += [{"path": uid, "reason": retrieval.reasons[0]} for uid in retrieval.missing]
    return result


def retrieve_several_into_library(
    server: Server,
    wanted: Sequence[tuple[str, Sequence[str]]],
    library: Path,
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
    library: Path,
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
