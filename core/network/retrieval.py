"""Retrieval of a study: only what is not there yet, over several connections, tried again where they break."""

from __future__ import annotations

import contextlib
import threading
from collections import Counter, defaultdict
from collections.abc import Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor, wait
from dataclasses import dataclass, field
from typing import Final

from semblance.core.errors import BadInput, SemblanceError
from semblance.core.language import tr_lazy
from semblance.core.network import dimse
from semblance.core.network.client import list_instances, list_series
from semblance.core.network.connection import listener_tls
from semblance.core.network.dicomweb import DicomWeb
from semblance.core.network.listener import Listener
from semblance.core.network.received_files import OtherObject, ReceivedFiles
from semblance.core.network.servers import DICOMWEB, Server
from semblance.core.network.studies import Instance
from semblance.core.tasks import SILENT, Reporter

#: Connections at the same time.
CONNECTIONS: Final = 2
#: Number of objects in one request.
BATCH: Final = 100
#: Objects that are taken for each one that is listed, in all tries together.
_MOST_SENT: Final = 5
#: Seconds before each new try.
WAITS_S: Final = (1.0, 3.0)


@dataclass
class RetrievedObjects:
    """What a retrieval gave: numbers of objects that are ``new`` and that were there ``already``.

    ``missing``: UIDs of objects that the PACS lists but did not send; ``reasons``: why, as far as is known.
    ``refused``: UIDs of those that are here with other content, and why; ``changed``: how objects that were here in
    another way differ.
    """

    study: str
    new: int = 0
    already: int = 0
    missing: list[str] = field(default_factory=list)
    reasons: list[str] = field(default_factory=list)
    refused: dict[str, str] = field(default_factory=dict)
    changed: dict[str, str] = field(default_factory=dict)


def retrieve_study(
    server: Server,
    study: str,
    series: Sequence[str],
    received: ReceivedFiles,
    *,
    waits: Sequence[float] = WAITS_S,
    reporter: Reporter = SILENT,
) -> RetrievedObjects:
    """Retrieve some ``series`` of a study, or all of it where none is named, into ``received``.

    Cancelling, a broken connection or the end of the program keep what came; the next call gets the rest.

    Raises:
        SemblanceError: the PACS cannot be reached, has no such study, or sent nothing of it.
        Cancelled: the reporter was cancelled.
    """
    reporter.progress(0, None, tr_lazy("Asking the PACS"))
    wanted = list(series) or [one.series_instance_uid for one in list_series(server, study)]
    listed = list_instances(server, study, wanted)
    if not listed:
        raise BadInput(
            tr_lazy("The PACS '{name}' has no images of this study.", name=server.name),
            "Look for it again with `semblance pacs find`.",
        )
    known = received.instances(study)
    result = RetrievedObjects(study, already=sum(one.sop_instance_uid in known for one in listed))
    run = _Run(server, study, received, listed, reporter)
    remaining = [one for one in listed if one.sop_instance_uid not in known]
    problem: SemblanceError | None = None
    for seconds in (*waits, None):
        if not remaining:
            break
        problem = run.transfer(remaining)
        known = received.instances(study)
        remaining = [one for one in remaining if one.sop_instance_uid not in known]
        if remaining and seconds is not None:
            run.sleep(seconds)
    result.new = len(listed) - result.already - len(remaining)
    result.missing = [one.sop_instance_uid for one in remaining]
    result.refused, result.changed = run.refused, run.changed
    if remaining:
        problem = problem or SemblanceError(
            tr_lazy("The PACS '{name}' did not send what it lists.", name=server.name),
            "Try the other way of retrieval, or ask who looks after the PACS.",
        )
        result.reasons = [str(problem)]
        if not result.new and not result.already:
            raise problem
    return result


class _Run:
    """The state of one retrieval."""

    def __init__(
        self,
        server: Server,
        study: str,
        received: ReceivedFiles,
        listed: Sequence[Instance],
        reporter: Reporter,
    ) -> None:
        self.server, self.study, self.received, self.reporter = server, study, received, reporter
        self.total, self.came, self.stopped = len(listed), 0, threading.Event()
        self.sizes = Counter(one.series_instance_uid for one in listed)
        self.refused: dict[str, str] = {}
        self.changed: dict[str, str] = {}

    def keep(self, encoded: bytes) -> None:
        # Some that came meanwhile and some that are sent again are no fault, but it must end.
        self.came += 1
        if self.came > _MOST_SENT * self.total + BATCH:
            self.stopped.set()
            raise self._flood()
        try:
            kept = self.received.put(encoded, study=self.study)
        except OtherObject as error:
            self.refused[error.instance] = str(error)
            raise
        if kept.change:
            self.changed[kept.ids.instance] = kept.change

    def _flood(self) -> SemblanceError:
        return SemblanceError(
            tr_lazy("The PACS '{name}' sends more than it lists.", name=self.server.name),
            "Ask who looks after the PACS.",
        )

    def sleep(self, seconds: float) -> None:
        pause = threading.Event()
        for _ in range(max(1, round(10 * seconds))):
            self.reporter.check_cancelled()
            pause.wait(0.1)

    def transfer(self, instances: Sequence[Instance]) -> SemblanceError | None:
        """Let the PACS send ``instances``, as far as it does; returns the first thing that went wrong."""
        batches = self._whole_series(instances) if self.server.kind == DICOMWEB else _batches(instances)
        problems: list[SemblanceError] = []

        def work() -> None:
            while batches and not self.stopped.is_set():
                try:
                    batch = batches.pop(0)
                except IndexError:
                    return
                try:
                    self._get(batch)
                except SemblanceError as error:
                    problems.append(error)

        moves = self.server.kind != DICOMWEB and self.server.retrieval == "move"
        with self._listening(moves), ThreadPoolExecutor(CONNECTIONS) as pool:
            running = {pool.submit(work) for _ in range(1 if moves else CONNECTIONS)}
            try:
                while running:
                    ended, running = wait(running, timeout=0.2)
                    for one in ended:
                        one.result()
                    count = len(self.received.instances(self.study))
                    self.reporter.progress(min(count, self.total), self.total, tr_lazy("Retrieving images"))
                    self.reporter.check_cancelled()
            except BaseException:
                self.stopped.set()
                raise
        if self.stopped.is_set():
            raise self._flood()
        return problems[0] if problems else None

    def _get(self, batch: Sequence[Instance]) -> None:
        by_series: dict[str, list[str]] = defaultdict(list)
        for one in batch:
            by_series[one.series_instance_uid].append(one.sop_instance_uid)
        if self.server.kind == DICOMWEB:
            with DicomWeb(self.server) as web:
                for series, instances in by_series.items():
                    is_whole = len(instances) == self.sizes[series]
                    for instance in [""] if is_whole else instances:
                        web.get_instances(self.study, series, instance, self.keep, self.stopped.is_set)
        elif self.server.retrieval == "move":
            dimse.move_instances(self.server, self.study, list(by_series.items()), self.stopped.is_set)
        else:
            classes = [one.sop_class_uid for one in batch if one.sop_class_uid]
            dimse.get_instances(
                self.server, self.study, list(by_series.items()), classes, self.keep, self.stopped.is_set
            )

    def _whole_series(self, instances: Sequence[Instance]) -> list[Sequence[Instance]]:
        """Parts of ``instances``: a series of which nothing is there is asked for as a whole, which is faster."""
        by_series: dict[str, list[Instance]] = defaultdict(list)
        for one in instances:
            by_series[one.series_instance_uid].append(one)
        batches: list[Sequence[Instance]] = []
        for series, members in by_series.items():
            batches += [members] if len(members) == self.sizes[series] else _batches(members)
        return batches

    @contextlib.contextmanager
    def _listening(self, needed: bool) -> Iterator[None]:
        """Our own listener while the PACS moves objects, which only the PACS may use."""
        if not needed:
            yield
            return
        server = self.server
        with Listener(
            server.listen_host,
            server.listen_port,
            server.own_ae_title,
            self.keep,
            allowed=[server.ae_title],
            tls=listener_tls(server),
        ):
            yield


def _batches(instances: Sequence[Instance]) -> list[Sequence[Instance]]:
    """Parts of ``instances``, series by series, enough of them for all connections."""
    size = max(1, min(BATCH, -(-len(instances) // CONNECTIONS)))
    return [instances[start : start + size] for start in range(0, len(instances), size)]
