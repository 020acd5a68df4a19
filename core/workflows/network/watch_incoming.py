"""Take what comes into a folder, or what is sent to this computer, into a library, for as long as it runs."""

from __future__ import annotations

import contextlib
import ssl
import time
from collections.abc import Collection, Iterator
from dataclasses import dataclass, field, replace
from pathlib import Path
from threading import Lock
from typing import Any, Final

from semblance.core.errors import BadArguments, BadInput, SemblanceError
from semblance.core.language import tr_lazy
from semblance.core.library.location import LibraryLocation, lasting_folder
from semblance.core.library.open_library import open_or_create_library
from semblance.core.limits import allow_memory, memory_limit, size_text
from semblance.core.network.connection import watching_tls
from semblance.core.network.listener import Listener, check_listening
from semblance.core.network.received_files import FOLDER, KeptObject, OtherObject, ReceivedFiles
from semblance.core.network.servers import OWN_AE_TITLE
from semblance.core.tasks import SILENT, Cancelled, PartReporter, Reporter
from semblance.core.workflows.network.retrieve_study import import_received

#: Seconds without a new object after which a study counts as complete.
QUIET_S: Final = 30.0
#: Seconds between two looks, and until something that failed is tried again.
_POLL_S, _RETRY_S = 1.0, 60.0


@dataclass
class ReceivedCounts:
    """What was taken: numbers of ``taken`` objects and of ``duplicates``; ``refused`` files or objects and why.

    ``changed``: UIDs of duplicates and how they differ from what was here, though not in pixels and patient.
    ``studies`` counts imports. ``failed``: studies that could not be imported yet, which are tried again.
    """

    library: str
    taken: int = 0
    duplicates: int = 0
    studies: int = 0
    refused: dict[str, str] = field(default_factory=dict)
    failed: dict[str, str] = field(default_factory=dict)
    changed: dict[str, str] = field(default_factory=dict)

    def to_json(self) -> dict[str, Any]:
        """The fields as JSON values."""
        refused = [{"path": path, "reason": reason} for path, reason in self.refused.items()]
        failed = [{"study": study, "reason": reason} for study, reason in self.failed.items()]
        changed = [{"object": uid, "change": change} for uid, change in self.changed.items()]
        return dict(vars(self)) | {"refused": refused, "failed": failed, "changed": changed}


def watch(
    library: LibraryLocation,
    *,
    folder: Path | None = None,
    listen: tuple[str, int] | None = None,
    ae_title: str = OWN_AE_TITLE,
    allowed: Collection[str] = (),
    quiet_seconds: float = QUIET_S,
    once: bool = False,
    identified: bool = False,
    certificate: Path | None = None,
    key: Path | None = None,
    authority: Path | None = None,
    reporter: Reporter = SILENT,
) -> ReceivedCounts:
    """Take DICOM files from ``folder``, or objects sent to the address ``listen``, into ``library``.

    Each object is copied once, whatever sends it, into the library's folder, or for a library on a server into the
    user's data; the files of ``folder`` stay. A study is imported when nothing of it came for ``quiet_seconds``, and
    again when more comes. What an earlier run received and did not import is imported first. It runs until the reporter
    cancels, or with ``once`` until everything that is there is imported or failed. Each change of the numbers is a
    partial result. With a ``certificate`` of this computer and its ``key`` senders must use TLS; with an ``authority``
    they need a certificate that it signed.

    Raises:
        BadArguments: neither or both of ``folder`` and ``listen``; ``once`` with ``listen``; certificates that would
            not be used; an address that other computers reach without a certificate, or without ``allowed`` or
            ``authority``.
        BadInput: ``folder`` is not there.
        SemblanceError: the library, the port or a certificate cannot be opened.
    """
    if (folder is None) == (listen is None):
        raise BadArguments("Name either a folder to watch or an address to listen on.")
    if once and folder is None:
        raise BadArguments("Only a folder can be looked at once.")
    if (key or authority) and certificate is None:
        raise BadArguments("For TLS name the certificate of this computer.")
    if certificate is not None and listen is None:
        raise BadArguments("A certificate is for an address to listen on.")
    if listen is not None:
        check_listening(
            listen[0],
            is_encrypted=certificate is not None,
            has_known_senders=bool(allowed) or authority is not None,
        )
    tls = None if certificate is None else watching_tls(certificate, key, authority)
    if folder is not None and not folder.is_dir():
        raise BadInput(tr_lazy("There is no folder {path}.", path=folder), "Make it, or choose another one.")
    with open_or_create_library(library) as target:
        received = ReceivedFiles(lasting_folder(target.location) / FOLDER)
    run = _Watch(library, received, quiet_seconds, identified, reporter)
    shown = None
    with run.listening(listen, ae_title, allowed, tls), contextlib.suppress(Cancelled):
        while True:
            counted = run.counted()
            if counted != shown:
                reporter.partial(counted)
                shown = counted
            reporter.check_cancelled()
            is_settled = folder is None or run.look(folder)
            run.import_quiet(at_once=once and is_settled)
            if once and is_settled:
                break
            reporter.progress(run.result.taken, None, tr_lazy("Watching"))
            for _ in range(round(10 * _POLL_S)):
                reporter.check_cancelled()
                time.sleep(0.1)
    return run.result


class _Watch:
    """The state of a running watch."""

    def __init__(
        self,
        library: LibraryLocation,
        received: ReceivedFiles,
        quiet: float,
        identified: bool,
        reporter: Reporter,
    ) -> None:
        self.library, self.received, self.quiet = library, received, quiet
        self.identified, self.reporter = identified, reporter
        self.result = ReceivedCounts(str(library))
        self._lock = Lock()
        #: File -> size and time at the last look, and those that were dealt with.
        self._seen: dict[Path, tuple[int, int]] = {}
        self._done: dict[Path, tuple[int, int]] = {}
        self._retry: dict[object, float] = {}

    def counted(self) -> ReceivedCounts:
        """A copy of the numbers so far."""
        with self._lock:
            own = self.result
            return replace(own, refused=dict(own.refused), failed=dict(own.failed), changed=dict(own.changed))

    @contextlib.contextmanager
    def listening(
        self,
        listen: tuple[str, int] | None,
        ae_title: str,
        allowed: Collection[str],
        tls: ssl.SSLContext | None,
    ) -> Iterator[None]:
        if listen is None:
            yield
            return
        with Listener(*listen, ae_title, self.keep, allowed=allowed, tls=tls, refused=self.refuse):
            yield

    def refuse(self, reason: str) -> None:
        """Note that a connection was refused."""
        with self._lock:
            self.result.refused[tr_lazy("a connection")] = tr_lazy("TLS failed: {reason}", reason=reason)

    def keep(self, encoded: bytes) -> None:
        """Store one object; the sender gets success only after it is on the disk."""
        try:
            kept = self.received.put(encoded)
        except BadInput as error:
            what = error.instance if isinstance(error, OtherObject) else tr_lazy("a sent object")
            with self._lock:
                self.result.refused[what] = str(error)
            raise
        self._count(kept)

    def _count(self, kept: KeptObject) -> None:
        with self._lock:
            self.result.taken += kept.is_new
            self.result.duplicates += not kept.is_new
            if kept.change:
                self.result.changed[kept.ids.instance] = kept.change

    def look(self, folder: Path) -> bool:
        """Take the files that did not change since the last look; returns whether none is left to look at again."""
        settled = True
        for path in sorted(folder.rglob("*")):
            self.reporter.check_cancelled()
            try:
                if not path.is_file() or path.is_relative_to(self.received.folder):
                    continue
                status = path.stat()
                state = (status.st_size, status.st_mtime_ns)
                if self._done.get(path) == state or self._waits(path):
                    continue
                if self._seen.get(path) != state:
                    self._seen[path] = state
                    settled = False
                    continue
                self._take(path)
                self._done[path] = state
            except OSError:
                # Moved away meanwhile, or still being written; it is read again later.
                self._later(path)
        return settled

    def _take(self, path: Path) -> None:
        try:
            self._count(self.received.put(_read(path)))
            self.result.refused.pop(str(path), None)
        except BadInput as error:
            # It is taken if it changes, as one does that was copied in part.
            self.result.refused[str(path)] = str(error)
        except SemblanceError as error:
            self.result.refused[str(path)] = str(error)
            self._later(path)
            raise OSError from error

    def import_quiet(self, *, at_once: bool) -> None:
        """Import the studies of which nothing came for a while."""
        for study in self.received.waiting():
            self.reporter.check_cancelled()
            files = self.received.instances(study).values()
            newest = max((path.stat().st_mtime for path in files), default=0.0)
            if (not at_once and time.time() - newest < self.quiet) or self._waits(study):
                continue
            if not files:
                self.received.imported(study, ())
                continue
            try:
                import_received(
                    self.received,
                    study,
                    self.library,
                    identified=self.identified,
                    # Its partial results are not those of a watch.
                    reporter=PartReporter(self.reporter),
                )
            except SemblanceError as error:
                self.result.failed[study] = str(error)
                self._later(study)
            else:
                self.result.failed.pop(study, None)
                self.result.studies += 1

    def _later(self, what: object) -> None:
        self._retry[what] = time.monotonic() + _RETRY_S

    def _waits(self, what: object) -> bool:
        return self._retry.get(what, 0.0) > time.monotonic()


def _read(path: Path) -> bytes:
    """
    Raises:
        BadInput: it is larger than what may be in memory.
    """
    longest = memory_limit()
    with path.open("rb") as file:
        content = file.read(longest + 1)
    if len(content) > longest:
        size = path.stat().st_size
        raise BadInput(
            tr_lazy(
                "'{name}' is {size} in size; the limit is {max_object_bytes}.",
                name=path.name,
                size=size_text(size),
                max_object_bytes=size_text(longest),
            ),
            tr_lazy("Save it smaller, or {allow}.", allow=allow_memory(size)),
        )
    return content
