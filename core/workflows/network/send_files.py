"""Send DICOM files to a PACS."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

from semblance.core.errors import BadInput, SemblanceError
from semblance.core.imaging.dicom.dicom_file import open_dicom
from semblance.core.language import tr_lazy
from semblance.core.network.sending import COMMIT_S, FileToSend, SentFiles, send_files
from semblance.core.network.servers import Server
from semblance.core.network.studies import is_uid, text_of
from semblance.core.tasks import SILENT, Reporter

_UIDS = ("SOPClassUID", "SOPInstanceUID", "SeriesInstanceUID", "StudyInstanceUID")


def send(
    server: Server,
    source: Path,
    *,
    commit: bool = False,
    commit_seconds: float = COMMIT_S,
    reporter: Reporter = SILENT,
) -> SentFiles:
    """Send the DICOM files of ``source``, a file or a folder, as they are, with the patients' names in them.

    Each file is among the sent or, with a reason, the failed ones. ``commit``: ask a DIMSE server for storage
    commitment.

    Raises:
        BadInput: there is no file.
        SemblanceError: there is no connection, or it is lost.
        Cancelled: the reporter was cancelled.
    """
    if source.is_dir():
        paths = sorted(path for path in source.rglob("*") if path.is_file())
    elif source.is_file():
        paths = [source]
    else:
        raise BadInput(tr_lazy("There is no file or folder {path}.", path=source), "Check the path.")
    return send_paths(server, paths, commit=commit, commit_seconds=commit_seconds, reporter=reporter)


def send_paths(
    server: Server,
    paths: Sequence[Path],
    *,
    commit: bool = False,
    commit_seconds: float = COMMIT_S,
    reporter: Reporter = SILENT,
) -> SentFiles:
    """:func:`send` for the files at ``paths``.

    Raises:
        BadInput: none of them can be sent.
        SemblanceError, Cancelled: as there.
    """
    outgoing: list[FileToSend] = []
    refused: list[dict[str, str]] = []
    for path in paths:
        reporter.check_cancelled()
        try:
            outgoing.append(_outgoing(path))
        except SemblanceError as error:
            refused.append({"path": str(path), "reason": str(error)})
    if not outgoing:
        raise BadInput(
            "There is no DICOM file that can be sent.",
            refused[0]["reason"] if refused else "Choose other files.",
        )
    result = send_files(server, outgoing, commit=commit, commit_seconds=commit_seconds, reporter=reporter)
    result.failed = refused + result.failed
    return result


def _outgoing(path: Path) -> FileToSend:
    try:
        with path.open("rb") as file:
            opened = open_dicom(file, path.name, _UIDS)
            file.seek(128)
            has_preamble = file.read(4) == b"DICM"
    except OSError as error:
        raise BadInput(
            tr_lazy("'{name}' cannot be read: {strerror}.", name=path.name, strerror=error.strerror or error),
            "Check its disk.",
        ) from error
    sop_class, instance, series, study = (text_of(opened.dataset, keyword) for keyword in _UIDS)
    if not has_preamble or not all(is_uid(uid) for uid in (sop_class, instance, series, study)):
        raise BadInput(
            tr_lazy("'{name}' has no valid UIDs or no file header, so no PACS can keep it.", name=path.name),
            "Export it again.",
        )
    return FileToSend(path, sop_class, instance, series, study, opened.syntax)
