"""Work on a cluster: any Dask scheduler by its address; a socket is opened only to the one named."""

from __future__ import annotations

import socket
from collections.abc import Callable
from concurrent.futures import CancelledError
from pathlib import Path
from typing import Any, Self

from semblance.core.engine.pool import WorkerEnded
from semblance.core.errors import SemblanceError
from semblance.core.language import tr_lazy
from semblance.core.tasks import Cancelled

#: How long a scheduler and its workers may take to answer.
TIMEOUT_S = 20
_SCHEMES = ("tcp", "tls", "ws", "wss", "ucx", "ucxx")


class ClusterTask:
    """A submitted task of a cluster, like :class:`semblance.core.engine.Task`.

    A running task is not interrupted; after cancelling, its result is dropped.
    """

    def __init__(self, future: Any, address: str) -> None:
        self.future, self._address = future, address
        self._cancelled = False

    def cancel(self) -> None:
        """Cancel the task; :meth:`result` then raises Cancelled."""
        self._cancelled = True
        self.future.cancel()

    def result(self) -> Any:
        """Wait and return; raises what the work raised, ``Cancelled``, or :class:`WorkerEnded`.

        Raises:
            SemblanceError: the connection to the scheduler was lost.
        """
        from distributed import KilledWorker

        try:
            return self.future.result()
        except KilledWorker:
            raise WorkerEnded from None
        except CancelledError as problem:
            if self._cancelled:
                raise Cancelled from None
            raise SemblanceError(
                tr_lazy("The Dask scheduler at {address} was lost.", address=self._address),
                "Finished work is saved. Start it again and resume.",
            ) from problem


class Cluster:
    """The workers of a Dask scheduler at ``address``, such as ``tcp://host:8786``.

    ``submit`` runs ``function(*args)`` there. What crosses over is pickled, as Dask does between its own
    processes: name only schedulers you trust. Workers need this version of Semblance, and no shared folder.

    Raises:
        SemblanceError: the extra is not installed, nothing answers, or no worker has Semblance.
    """

    def __init__(self, address: str, ready: Callable[[], Any]) -> None:
        """``ready`` is run by a worker first, to see that it can load what it will be given."""
        try:
            from distributed import Client
        except ImportError as problem:
            raise SemblanceError(
                "A Dask scheduler is named, but Dask is not installed.",
                "Install the extra: pip install 'semblance[dask]', or leave the scheduler out.",
            ) from problem
        self.address = address
        _check_address(address)
        try:
            self._client = Client(address, timeout=TIMEOUT_S, set_as_default=False)
        except (OSError, ValueError, TypeError) as problem:
            raise _no_answer_error(address) from problem
        try:
            self._check(ready)
        except BaseException:
            self._client.close()
            raise

    def _check(self, ready: Callable[[], Any]) -> None:
        try:
            self._client.wait_for_workers(1, timeout=TIMEOUT_S)
        except TimeoutError as problem:
            raise SemblanceError(
                tr_lazy("The Dask scheduler at '{address}' has no worker.", address=self.address),
                "Start one with: dask worker ADDRESS",
            ) from problem
        try:
            self._client.submit(ready, pure=False).result(timeout=TIMEOUT_S)
        except Exception as problem:
            raise SemblanceError(
                tr_lazy(
                    "The Dask workers at '{address}' cannot run Semblance ({problem}).",
                    address=self.address,
                    problem=problem,
                ),
                "Install the same version of Semblance where they run.",
            ) from problem

    @property
    def workers(self) -> int:
        """Pieces of work that run at once now; workers may come and go."""
        return max(1, int(sum(self._client.nthreads().values())))

    def submit(self, function: Callable[..., Any], *args: Any) -> ClusterTask:
        """Run ``function(*args)`` on any worker of the cluster; both must be picklable."""
        return ClusterTask(self._client.submit(function, *args, pure=False), self.address)

    def share_file(self, file: Path) -> Any:
        """The content of ``file``, sent to the cluster once."""
        return self._client.scatter(file.read_bytes())

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self._client.close()


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


def _no_answer_error(address: str) -> SemblanceError:
    return SemblanceError(
        tr_lazy("No Dask scheduler answers at '{address}'.", address=address),
        "Write its address like tcp://host:8786, and start it with: dask scheduler",
    )
