"""Work on a cluster: any Dask scheduler by its address; a socket is opened only to the one named."""

from __future__ import annotations

import contextlib
import os
import socket
from collections.abc import Callable, Iterable, Sequence
from concurrent.futures import CancelledError, Future, wait
from pathlib import Path
from typing import Any, Self

from semblance.core.engine import Engine, Listener, WorkerEnded
from semblance.core.errors import SemblanceError
from semblance.core.language import tr_lazy
from semblance.core.tasks import SILENT, Cancelled, Reporter
from semblance.core.threads import one_thread

#: How long a scheduler and its workers may take to answer.
TIMEOUT_S = 20
#: Seconds between two looks at the reporter while a task runs.
_POLL_S = 0.1
_SCHEMES = ("tcp", "tls", "ws", "wss", "ucx", "ucxx")
#: What Dask says of a task that it dropped because data it needs was lost with a worker; it names no reason where the
#: result was asked for at the moment at which its worker was lost.
_DATA_LOST = ("already forgotten", "lost dependencies", "unknown")


class SharedDataLost(WorkerEnded):
    """A worker ended with the only copy of what the task needs."""


class ClusterTask:
    """A submitted task of a cluster, like :class:`semblance.core.engine.Task`.

    A running task is not interrupted; after cancelling, its result is dropped.
    """

    def __init__(self, remote: Any, address: str) -> None:
        self._remote, self._address = remote, address
        self._cancelled = False
        #: Done when the work has ended in any way, as for the tasks of processes.
        self.future: Future[None] = Future()
        remote.add_done_callback(lambda _: self.future.set_result(None))

    def cancel(self) -> None:
        """Cancel the task; :meth:`result` then raises Cancelled."""
        self._cancelled = True
        self._remote.cancel()

    @property
    def has_lost_data(self) -> bool:
        """Whether it ended, or will end, because a worker was lost with the only copy of what it needs."""
        return self._remote.status in ("cancelled", "lost") and not self._cancelled

    def result(self) -> Any:
        """Wait and return; raises what the work raised, ``Cancelled``, or :class:`WorkerEnded`.

        Raises:
            SemblanceError: the connection to the scheduler was lost.
        """
        from distributed import KilledWorker

        try:
            return self._remote.result()
        except KilledWorker:
            raise WorkerEnded from None
        except CancelledError as problem:
            if self._cancelled:
                raise Cancelled from None
            if getattr(problem, "reason", "") in _DATA_LOST:
                raise SharedDataLost from problem
            raise _lost_error(self._address) from problem


class Cluster:
    """The workers of a Dask scheduler at ``address``, such as ``tcp://host:8786``, used like an
    :class:`semblance.core.engine.Engine`.

    ``submit`` runs ``function(*args, reporter=...)`` there; what it reports is not sent back. What crosses over is
    pickled, as Dask does between its own processes: name only schedulers you trust. Workers need this version of
    Semblance. A task whose worker is lost runs on another one.
    """

    def __init__(self, address: str, paths: Sequence[Path] = ()) -> None:
        """``paths``: the files and folders that every worker must be able to read.

        Raises:
            SemblanceError: the extra is not installed, nothing answers, there is no worker, or one has no Semblance or
                does not see ``paths``.
        """
        try:
            from distributed import Client
        except ImportError as problem:
            raise SemblanceError(
                "A Dask scheduler is named, but Dask is not installed.",
                "Install the extra: pip install 'semblance-retrieval[dask]', or leave the scheduler out.",
            ) from problem
        self.address = address
        _check_address(address)
        try:
            self._client = Client(address, timeout=TIMEOUT_S, set_as_default=False)
        except (OSError, ValueError, TypeError) as problem:
            raise _no_answer_error(address) from problem
        try:
            self._check(paths)
        except BaseException:
            self._client.close()
            raise

    def _check(self, paths: Sequence[Path]) -> None:
        try:
            self._client.wait_for_workers(1, timeout=TIMEOUT_S)
        except TimeoutError as problem:
            raise SemblanceError(
                tr_lazy("The Dask scheduler at '{address}' has no worker.", address=self.address),
                "Start one with: dask worker ADDRESS",
            ) from problem
        try:
            missing = self._client.run(missing_paths, [str(path) for path in paths])
        except Exception as problem:
            raise SemblanceError(
                tr_lazy(
                    "The Dask workers at '{address}' cannot run Semblance ({problem}).",
                    address=self.address,
                    problem=problem,
                ),
                "Install the same version of Semblance where they run.",
            ) from problem
        for worker, unseen in missing.items():
            if unseen:
                raise SemblanceError(
                    tr_lazy("The Dask worker {worker} cannot read '{path}'.", worker=worker, path=unseen[0]),
                    "Put the images on storage that all workers see under the same path.",
                )

    @property
    def workers(self) -> int:
        """Pieces of work that run at once now; workers may come and go."""
        return max(1, int(sum(self._client.nthreads().values())))

    def submit(
        self, function: Callable[..., Any], *args: Any, listener: Listener | None = None, **kwargs: Any
    ) -> ClusterTask:
        """Run ``function(*args, reporter=..., **kwargs)`` on any worker; all must be picklable.

        ``listener`` gets nothing: the reports of a task stay on its worker.
        """
        return ClusterTask(
            self._client.submit(run_on_cluster, function, kwargs, *args, pure=False), self.address
        )

    def submit_sharing(
        self, function: Callable[..., Any], value: object, arguments: Sequence[tuple[Any, ...]]
    ) -> SharingTasks:
        """Run ``function(value, *arguments[i], reporter=...)`` for each i; ``value`` is sent to each worker once."""
        return SharingTasks(self, function, value, arguments)

    def map(
        self, function: Callable[[Any], Any], items: Iterable[Any], *, reporter: Reporter = SILENT
    ) -> list[Any]:
        """``function`` of each of ``items``, in their order; it is sent to each worker once, with all it refers to.

        Raises:
            Cancelled: the reporter was cancelled; it is asked after each result.
            SemblanceError: as :meth:`ClusterTask.result`, and what the function raises.
        """
        with self.submit_sharing(call, function, [(item,) for item in items]) as tasks:
            return [tasks.result(at, reporter) for at in range(len(tasks))]

    def share_file(self, file: Path) -> Any:
        """The content of ``file``, sent to the cluster once."""
        return self.share(file.read_bytes())

    def share(self, value: object, reporter: Reporter = SILENT) -> Any:
        """The argument for tasks in place of ``value``, sent to each worker once: what one alone has would be lost with
        it. While there is no worker it waits for one, as tasks do.

        Raises:
            Cancelled: the reporter was cancelled; it is asked while there is no worker.
            SemblanceError: the connection to the scheduler was lost.
        """
        while self._client.status in ("running", "connecting"):
            reporter.check_cancelled()
            with contextlib.suppress(TimeoutError):
                return self._client.scatter(value, broadcast=True, hash=False)
        raise _lost_error(self.address)

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self._client.close()


class SharingTasks:
    """Tasks of a ``cluster`` that call ``function(value, *arguments[i], reporter=...)``.

    ``value`` is sent to each worker once, and again where a worker is lost with the only copy. On exit what has not
    ended is cancelled.
    """

    def __init__(
        self,
        cluster: Cluster,
        function: Callable[..., Any],
        value: object,
        arguments: Sequence[tuple[Any, ...]],
    ) -> None:
        self._cluster, self._function, self._value, self._arguments = cluster, function, value, arguments
        shared = cluster.share(value)
        self._tasks = [cluster.submit(function, shared, *several) for several in arguments]

    def __len__(self) -> int:
        return len(self._tasks)

    def has_ended(self, at: int) -> bool:
        """Whether a task has ended in any way."""
        return self._tasks[at].future.done()

    def result(self, at: int, reporter: Reporter = SILENT) -> Any:
        """Wait for a task and return its result. Results are asked for in the order of the arguments.

        Raises:
            SemblanceError: as :meth:`ClusterTask.result`, and what the function raises.
        """
        while True:
            reporter.check_cancelled()
            if wait([self._tasks[at].future], _POLL_S).not_done:
                continue
            try:
                return self._tasks[at].result()
            except SharedDataLost:
                # All that lost it get the one new copy.
                shared = self._cluster.share(self._value, reporter)
                for place in range(at, len(self._tasks)):
                    if self._tasks[place].has_lost_data:
                        self._tasks[place] = self._cluster.submit(
                            self._function, shared, *self._arguments[place]
                        )

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        for task in self._tasks:
            if not task.future.done():
                task.cancel()


def open_engine(workers: int | None, scheduler: str = "", paths: Sequence[Path] = ()) -> Engine | Cluster:
    """``workers`` processes of this computer, or the cluster of a ``scheduler`` whose workers can read ``paths``.

    Raises:
        SemblanceError: the scheduler cannot be used.
    """
    return Cluster(scheduler, paths) if scheduler else Engine(workers)


def run_on_cluster(function: Callable[..., Any], kwargs: dict[str, Any], *args: Any) -> Any:
    """Call ``function`` on a worker of a cluster, with one BLAS thread: Dask runs as many tasks as it has threads."""
    with one_thread():
        return function(*args, reporter=SILENT, **kwargs)


def call(function: Callable[[Any], Any], item: Any, *, reporter: Reporter) -> Any:
    """``function`` of ``item``, as a task."""
    reporter.check_cancelled()
    return function(item)


def missing_paths(paths: Sequence[str]) -> list[str]:
    """Those of ``paths`` that the process which runs this cannot read."""
    return [path for path in paths if not os.access(path, os.R_OK)]


def _check_address(address: str) -> None:
    """Dask's client goes on trying in threads of its own when it was given a wrong address: ask first."""
    scheme, separator, rest = address.partition("://")
    if not separator or scheme not in _SCHEMES:
        raise _no_answer_error(address)
    if scheme in ("tcp", "tls"):
        host, colon, port = rest.rpartition(":")
        if not colon or not port.isdigit():
            raise _no_answer_error(address)
        try:
            socket.create_connection((host.strip("[]"), int(port)), timeout=TIMEOUT_S).close()
        except (OSError, OverflowError) as problem:
            raise _no_answer_error(address) from problem


def _lost_error(address: str) -> SemblanceError:
    return SemblanceError(
        tr_lazy("The Dask scheduler at {address} was lost.", address=address),
        "Finished work is saved. Start it again and resume.",
    )


def _no_answer_error(address: str) -> SemblanceError:
    return SemblanceError(
        tr_lazy("No Dask scheduler answers at '{address}'.", address=address),
        "Write its address like tcp://host:8786, and start it with: dask scheduler",
    )
