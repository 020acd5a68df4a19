"""A small PACS in this process, by pynetdicom: answers C-ECHO, C-FIND, C-GET, C-MOVE, C-STORE and N-ACTION."""

from __future__ import annotations

import contextlib
import socket
import threading
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from pydicom import Dataset, dcmread
from pynetdicom import AE, StoragePresentationContexts, evt
from pynetdicom.association import Association
from pynetdicom.sop_class import (
    StorageCommitmentPushModel,
    StorageCommitmentPushModelInstance,
    StudyRootQueryRetrieveInformationModelFind,
    StudyRootQueryRetrieveInformationModelGet,
    StudyRootQueryRetrieveInformationModelMove,
    Verification,
)
from pynetdicom.transport import AssociationSocket

AE_TITLE = "ARCHIVE"


def _close(self: AssociationSocket) -> None:
    """pynetdicom leaves a socket open whose other side was faster."""
    if self.socket is not None:
        with contextlib.suppress(OSError):
            self.socket.shutdown(socket.SHUT_RDWR)
        self.socket.close()


AssociationSocket._shutdown_socket = _close
_COUNTS = {"NumberOfStudyRelatedSeries", "NumberOfStudyRelatedInstances", "NumberOfSeriesRelatedInstances"}
_LEVELS = {"STUDY": "StudyInstanceUID", "SERIES": "SeriesInstanceUID", "IMAGE": "SOPInstanceUID"}


@dataclass
class Archive:
    """What the PACS has and does.

    ``destination``: port of C-MOVE and of reports. ``break_after``: an association is broken after so many sent
    objects. ``refuse``: status of C-STORE. ``uncommitted``: instances that it does not promise to keep. ``answers``:
    the status of each answer to a report of a commitment, ``None`` where the connection ended without one.
    """

    datasets: list[Dataset] = field(default_factory=list)
    port: int = 0
    destination: int = 0
    break_after: int | None = None
    refuse: int = 0
    uncommitted: tuple[str, ...] = ()
    sent: list[str] = field(default_factory=list)
    answers: list[int | None] = field(default_factory=list)
    asked: list[Dataset] = field(default_factory=list)
    threads: list[threading.Thread] = field(default_factory=list)

    @property
    def address(self) -> str:
        return f"{AE_TITLE}@127.0.0.1:{self.port}"

    def take(self, files: Sequence[Path]) -> None:
        self.datasets += [dcmread(file) for file in files]

    def find(self, event: Any) -> Iterator[tuple[int, Dataset | None]]:
        """Answers without any filter but the UIDs, as some servers give."""
        asked = event.identifier
        self.asked.append(asked)
        key = _LEVELS[asked.QueryRetrieveLevel]
        found = {str(one.get(key)): one for one in self._of(asked)}
        for one in found.values():
            answer = Dataset()
            answer.SpecificCharacterSet = "ISO_IR 192"
            for element in asked:
                if element.keyword in one and element.keyword not in _COUNTS:
                    setattr(answer, element.keyword, one.get(element.keyword))
            if asked.QueryRetrieveLevel == "STUDY":
                answer.ModalitiesInStudy = one.get("Modality")
            yield 0xFF00, answer

    def retrieve(self, event: Any) -> Iterator[Any]:
        chosen = self._of(event.identifier)
        if event.request.__class__.__name__ == "C_MOVE":
            yield "127.0.0.1", self.destination
        yield len(chosen)
        for count, dataset in enumerate(chosen):
            if self.break_after is not None and count >= self.break_after:
                self.break_after = None
                event.assoc.abort()
                return
            self.sent.append(str(dataset.SOPInstanceUID))
            yield 0xFF00, dataset

    def store(self, event: Any) -> int:
        if not self.refuse:
            dataset = event.dataset
            dataset.file_meta = event.file_meta
            self.datasets.append(dataset)
        return self.refuse

    def commit(self, event: Any) -> tuple[int, None]:
        """Promise to keep what is there, in an association of its own."""
        asked = event.action_information
        thread = threading.Thread(target=self._report, args=(asked,))
        self.threads.append(thread)
        thread.start()
        return 0, None

    def _report(self, asked: Dataset) -> None:
        have = {str(one.SOPInstanceUID) for one in self.datasets} - set(self.uncommitted)
        kept = [one for one in asked.ReferencedSOPSequence if one.ReferencedSOPInstanceUID in have]
        failed = [one for one in asked.ReferencedSOPSequence if one.ReferencedSOPInstanceUID not in have]
        report = Dataset()
        report.TransactionUID = asked.TransactionUID
        report.ReferencedSOPSequence = kept
        for one in failed:
            one.FailureReason = 0x0112
        if failed:
            report.FailedSOPSequence = failed
        entity = AE(ae_title=AE_TITLE)
        entity.add_requested_context(StorageCommitmentPushModel)
        from pynetdicom import build_role

        role = build_role(StorageCommitmentPushModel, scp_role=True)
        opened = entity.associate("127.0.0.1", self.destination, ae_title="SEMBLANCE", ext_neg=[role])
        assert opened.is_established
        status, _ = opened.send_n_event_report(
            report, 2 if failed else 1, StorageCommitmentPushModel, StorageCommitmentPushModelInstance
        )
        self.answers.append(status.get("Status"))
        opened.release()
        opened.join()

    def _of(self, asked: Dataset) -> list[Dataset]:
        found = []
        for one in self.datasets:
            wanted = [(key, asked.get(key)) for key in _LEVELS.values() if asked.get(key)]
            if all(
                str(one.get(key)) in ([str(uid) for uid in value] if not isinstance(value, str) else [value])
                for key, value in wanted
            ):
                found.append(one)
        return found


@contextlib.contextmanager
def running_archive(
    files: Sequence[Path] = (), *, change: Callable[[AE], object] = lambda _: None, tls: Any = None
) -> Iterator[Archive]:
    archive = Archive()
    archive.take(files)
    entity = AE(ae_title=AE_TITLE)
    entity.require_called_aet = True
    # Those who only tested the port count until they are given up.
    entity.maximum_associations = 1000
    for model in (
        Verification,
        StudyRootQueryRetrieveInformationModelFind,
        StudyRootQueryRetrieveInformationModelGet,
        StudyRootQueryRetrieveInformationModelMove,
        StorageCommitmentPushModel,
    ):
        entity.add_supported_context(model)
    for context in StoragePresentationContexts:
        entity.add_supported_context(context.abstract_syntax, scu_role=True, scp_role=True)
        # C-MOVE sends by an association of the server.
        if len(entity.requested_contexts) < 128 and context.abstract_syntax in _classes(archive):
            entity.add_requested_context(context.abstract_syntax)
    change(entity)

    sockets = []

    def opened(event: Any) -> None:
        archive.threads.append(event.assoc)
        sockets.append(event.assoc.dul.socket.socket)

    server = entity.start_server(
        ("127.0.0.1", 0),
        block=False,
        ssl_context=tls,
        evt_handlers=[
            (evt.EVT_CONN_OPEN, opened),
            (evt.EVT_C_FIND, archive.find),
            (evt.EVT_C_GET, archive.retrieve),
            (evt.EVT_C_MOVE, archive.retrieve),
            (evt.EVT_C_STORE, archive.store),
            (evt.EVT_N_ACTION, archive.commit),
        ],
    )
    archive.port = server.server_address[1]
    try:
        yield archive
    finally:
        for thread in archive.threads:
            if isinstance(thread, Association) and not thread.is_established:
                # One who only tested the port asked for nothing, which would be waited for, and cannot be aborted.
                thread.dul.to_user_queue.put(None)
                thread.kill()
        entity.shutdown()
        for thread in archive.threads:
            thread.join(30)
        for one in sockets:
            one.close()


def _classes(archive: Archive) -> set[str]:
    return {str(one.SOPClassUID) for one in archive.datasets}
