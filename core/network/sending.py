"""Sending of DICOM files: C-STORE with storage commitment (PS3.4, annexes B and J), STOW-RS with a query afterwards."""

from __future__ import annotations

import threading
from collections import defaultdict
from collections.abc import Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final

from semblance.core.errors import SemblanceError
from semblance.core.language import tr_lazy
from semblance.core.network.association import association, check_status
from semblance.core.network.client import list_instances
from semblance.core.network.connection import listener_tls
from semblance.core.network.dicomweb import DicomWeb
from semblance.core.network.listener import Listener
from semblance.core.network.servers import DICOMWEB, Server
from semblance.core.network.studies import text_of
from semblance.core.tasks import SILENT, Reporter

if TYPE_CHECKING:
    from pydicom import Dataset

#: Seconds to wait for the result of storage commitment, which a PACS may send at any time.
COMMIT_S: Final = 60.0
#: Seconds that the PACS may take to end the association in which it reported.
_REPORT_END_S: Final = 2.0
#: Files and bytes of one request of STOW-RS.
_BATCH, _BATCH_BYTES = 50, 32 << 20
#: Presentation contexts of one association, without that of commitment.
_MAX_CONTEXTS: Final = 127
_IMPLICIT, _EXPLICIT = "1.2.840.10008.1.2", "1.2.840.10008.1.2.1"


@dataclass(frozen=True)
class FileToSend:
    """A file to send, and the ids in its header."""

    path: Path
    sop_class: str
    instance: str
    series: str
    study: str
    syntax: str

    def entry(self, reason: str) -> dict[str, str]:
        """What a result says of this file, with what kind of object it is."""
        from pydicom.uid import UID

        return {"path": str(self.path), "object": UID(self.sop_class).name, "reason": reason}


@dataclass
class SentFiles:
    """The outcome for each file: ``sent``, or ``failed`` with a reason.

    ``confirmed``: those of the sent files that the PACS confirmed as stored; ``None`` if it was not asked.
    ``unconfirmed``: sent files that it did not confirm, with the reason.
    """

    server: str
    sent: list[str] = field(default_factory=list)
    failed: list[dict[str, str]] = field(default_factory=list)
    confirmed: int | None = None
    unconfirmed: list[dict[str, str]] = field(default_factory=list)

    def fail(self, file: FileToSend, reason: str) -> None:
        """Note why a file was not sent."""
        self.failed.append(file.entry(reason))

    def to_json(self) -> dict[str, Any]:
        """The fields as JSON values."""
        return dict(vars(self))


def send_files(
    server: Server,
    files: Sequence[FileToSend],
    *,
    commit: bool = False,
    commit_seconds: float = COMMIT_S,
    reporter: Reporter = SILENT,
) -> SentFiles:
    """Send ``files`` as they are to ``server``.

    ``commit``: ask a DIMSE server to promise that it keeps them. A DICOMweb server is always asked which it has.

    Raises:
        SemblanceError: there is no connection, or it is lost.
        Cancelled: the reporter was cancelled.
    """
    result = SentFiles(server.name)
    if server.kind == DICOMWEB:
        sent = _store_by_web(server, files, result, reporter)
        _check_by_query(server, sent, result)
    else:
        sent = _store_by_dimse(server, files, result, reporter)
        if commit and sent:
            _check_by_commitment(server, sent, result, commit_seconds, reporter)
    result.sent = [str(file.path) for file in sent]
    return result


def _store_by_dimse(
    server: Server, files: Sequence[FileToSend], result: SentFiles, reporter: Reporter
) -> list[FileToSend]:
    from pynetdicom import build_context

    sent: list[FileToSend] = []
    remaining = list(files)
    while remaining:
        pairs: dict[tuple[str, str], None] = {}
        part: list[FileToSend] = []
        while remaining and len(pairs) < _MAX_CONTEXTS - 1:
            file = remaining.pop(0)
            pairs[file.sop_class, file.syntax] = None
            if file.syntax == _EXPLICIT:
                pairs[file.sop_class, _IMPLICIT] = None
            part.append(file)
        contexts = [build_context(sop_class, [syntax]) for sop_class, syntax in pairs]
        with association(server, contexts) as opened:
            for file in part:
                reporter.check_cancelled()
                reason = _store(opened, server, file)
                if reason:
                    result.fail(file, reason)
                else:
                    sent.append(file)
                done = len(sent) + len(result.failed)
                reporter.progress(done, len(files), tr_lazy("Sending"))
    return sent


def _store(opened: Any, server: Server, file: FileToSend) -> str:
    """Send one file; returns why it was refused, or an empty text."""
    from pydicom import dcmread

    try:
        try:
            status = opened.send_c_store(file.path)
        except ValueError:
            # Its transfer syntax was not accepted; an uncompressed object can be written in the other one.
            status = opened.send_c_store(dcmread(file.path))
    except (ValueError, AttributeError):
        return tr_lazy(
            "The PACS does not accept this kind of object ({sop_class}, {syntax}).",
            sop_class=file.sop_class,
            syntax=file.syntax,
        )
    if status and status.Status >> 12 in (0xA, 0xC):
        return tr_lazy("The PACS refused it with the error {code}.", code=f"0x{status.Status:04X}")
    try:
        check_status(status, server, "C-STORE")
    except SemblanceError as error:
        if not status:
            raise
        return str(error)
    return ""


def _check_by_commitment(
    server: Server, sent: Sequence[FileToSend], result: SentFiles, seconds: float, reporter: Reporter
) -> None:
    """Ask the PACS to commit to what was sent, and wait for its report to our listener."""
    from pydicom import Dataset
    from pydicom.uid import generate_uid
    from pynetdicom import build_context
    from pynetdicom.sop_class import StorageCommitmentPushModel, StorageCommitmentPushModelInstance

    asked = Dataset()
    asked.TransactionUID = generate_uid()
    asked.ReferencedSOPSequence = [_reference(file) for file in sent]
    reports: list[Dataset] = []
    came = threading.Event()

    def take(report: Dataset) -> None:
        if text_of(report, "TransactionUID") == asked.TransactionUID:
            reports.append(report)
            came.set()

    def refuse(_encoded: bytes) -> None:
        raise SemblanceError("Nothing is stored here during storage commitment.")

    reporter.progress(0, None, tr_lazy("Waiting for the storage commitment"))
    with Listener(
        server.listen_host,
        server.listen_port,
        server.own_ae_title,
        refuse,
        allowed=[server.ae_title],
        report=take,
        tls=listener_tls(server),
    ) as listener:
        with association(server, [build_context(StorageCommitmentPushModel)]) as opened:
            status, _ = opened.send_n_action(
                asked, 1, StorageCommitmentPushModel, StorageCommitmentPushModelInstance
            )
            check_status(status, server, "N-ACTION")
        for _ in range(max(1, round(10 * seconds))):
            reporter.check_cancelled()
            if came.wait(0.1):
                listener.wait_for_ends(_REPORT_END_S)
                break
    _note_commitment(sent, reports, result)


def _note_commitment(sent: Sequence[FileToSend], reports: Sequence[Dataset], result: SentFiles) -> None:
    kept: set[str] = set()
    reasons: dict[str, str] = {}
    for report in reports:
        kept |= {
            text_of(one, "ReferencedSOPInstanceUID") for one in report.get("ReferencedSOPSequence") or ()
        }
        for one in report.get("FailedSOPSequence") or ():
            reasons[text_of(one, "ReferencedSOPInstanceUID")] = tr_lazy(
                "The PACS does not promise to keep it (reason {code}).", code=text_of(one, "FailureReason")
            )
    silent = tr_lazy("The PACS sent no result of the storage commitment in time.")
    unsure = tr_lazy("The PACS does not name it in the result of the storage commitment.")
    result.confirmed = sum(file.instance in kept for file in sent)
    result.unconfirmed = [
        file.entry(reasons.get(file.instance, unsure if reports else silent))
        for file in sent
        if file.instance not in kept
    ]


def _store_by_web(
    server: Server, files: Sequence[FileToSend], result: SentFiles, reporter: Reporter
) -> list[FileToSend]:
    sent: list[FileToSend] = []
    with DicomWeb(server) as web:
        for batch in _batches(files):
            reporter.check_cancelled()
            answer = web.store([file.path.read_bytes() for file in batch])
            stored = {
                text_of(one, "ReferencedSOPInstanceUID") for one in answer.get("ReferencedSOPSequence") or ()
            }
            reasons = {
                text_of(one, "ReferencedSOPInstanceUID"): text_of(one, "FailureReason")
                for one in answer.get("FailedSOPSequence") or ()
            }
            for file in batch:
                if file.instance in stored:
                    sent.append(file)
                elif file.instance in reasons:
                    code = reasons[file.instance]
                    result.fail(
                        file,
                        tr_lazy(
                            "The PACS refused it with the error {code}.",
                            code=f"0x{int(code):04X}" if code.isdecimal() else code or "?",
                        ),
                    )
                else:
                    result.fail(file, tr_lazy("The answer of the PACS does not name it."))
            reporter.progress(len(sent) + len(result.failed), len(files), tr_lazy("Sending"))
    return sent


def _check_by_query(server: Server, sent: Sequence[FileToSend], result: SentFiles) -> None:
    """Ask which of ``sent`` the server has."""
    series: dict[str, set[str]] = defaultdict(set)
    for file in sent:
        series[file.study].add(file.series)
    found = {
        one.sop_instance_uid
        for study, uids in series.items()
        for one in list_instances(server, study, sorted(uids))
    }
    result.confirmed = sum(file.instance in found for file in sent)
    result.unconfirmed = [
        file.entry(tr_lazy("The PACS does not list it.")) for file in sent if file.instance not in found
    ]


def _batches(files: Sequence[FileToSend]) -> list[list[FileToSend]]:
    batches: list[list[FileToSend]] = []
    free_bytes = 0
    for file in files:
        size = file.path.stat().st_size
        if not batches or len(batches[-1]) >= _BATCH or size > free_bytes:
            batches.append([])
            free_bytes = _BATCH_BYTES
        batches[-1].append(file)
        free_bytes -= size
    return batches


def _reference(file: FileToSend) -> Dataset:
    from pydicom import Dataset

    item = Dataset()
    item.ReferencedSOPClassUID, item.ReferencedSOPInstanceUID = file.sop_class, file.instance
    return item
