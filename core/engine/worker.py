"""The code of a worker process: it runs a function, sends its progress, and reads the caller's stop flags."""

from __future__ import annotations

import ctypes
import gc
import multiprocessing
import os
import pickle
import signal
import sys
import threading
import time
from collections.abc import Callable
from dataclasses import dataclass
from multiprocessing import connection
from typing import Any

from semblance.core.log import PhaseLog, send_records, store_description
from semblance.core.tasks import Cancelled, Reporter

#: Progress is sent at most this often (in seconds), so that a fast loop does not overload its listener.
REPORT_INTERVAL_S = 0.05
#: Bits of a task's byte in the shared flags.
CANCEL, STOP = 1, 2
#: After work that took longer (in seconds), free memory is returned to the system.
_LONG_S = 0.5
PROGRESS, PARTIAL, END = "progress", "partial", "end"
#: A record of the log; it belongs to no task.
RECORD, NO_TASK = "record", 0

#: Zarr's setting: its pool would grow by a thread a reading, to more than there are processors.
_ZARR_THREADS = "ZARR_THREADING__MAX_WORKERS"
_ONE_THREAD = ("OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS", "MKL_NUM_THREADS", "BLIS_NUM_THREADS")


def limit_threads() -> None:
    """One BLAS thread in this process and its children, and few of zarr's; call before zarr is loaded.

    Small eigenproblems run over a hundred times slower when two threads share a busy two-core machine.
    """
    for name in _ONE_THREAD:
        os.environ[name] = "1"
    os.environ[_ZARR_THREADS] = "2"
    if "numpy" in sys.modules:
        from threadpoolctl import threadpool_limits

        # What is loaded already has read the environment.
        threadpool_limits(1)


@dataclass(frozen=True)
class Progress:
    """A call of :meth:`semblance.core.tasks.Reporter.progress`."""

    done: int
    total: int | None
    what: str


class _WorkerReporter(Reporter):
    """The reporter in a worker: it writes to the pipe and reads the shared flags."""

    def __init__(self, token: int, slot: int) -> None:
        self._token, self._slot = token, slot
        self._next = 0.0
        self._last: Progress | None = None
        self.phases = PhaseLog()

    def progress(self, done: int, total: int | None, what: str) -> None:
        self.phases.enter(what)
        message = Progress(done, total, what)
        finished = total is not None and done >= total
        first = self._last is None or self._last.what != what
        now = time.monotonic()
        if finished or first or now >= self._next:
            self._last, self._next = message, now + REPORT_INTERVAL_S
            _worker.send(self._token, PROGRESS, message)

    def partial(self, result: object) -> None:
        _worker.send(self._token, PARTIAL, result)

    def check_cancelled(self) -> None:
        if _worker.flags[self._slot] & CANCEL:
            raise Cancelled

    @property
    def stop_requested(self) -> bool:
        return bool(_worker.flags[self._slot] & STOP)


@dataclass
class _Worker:
    """The arguments a worker process was started with."""

    flags: Any = None
    pipe: Any = None
    lock: Any = None
    after: Callable[[], object] | None = None

    def send(self, token: int, kind: str, message: object) -> None:
        data = pickle.dumps((token, kind, message))
        with self.lock:
            self.pipe.send_bytes(data)


_worker = _Worker()


def start_worker(
    flags: Any, pipe: Any, lock: Any, niceness: int, after: Callable[[], object] | None = None
) -> None:
    """Prepare a new worker process: no interrupts, one thread per library, ``niceness``, end with its parent."""
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    limit_threads()
    _worker.flags, _worker.pipe, _worker.lock, _worker.after = flags, pipe, lock, after
    if niceness and hasattr(os, "nice"):
        os.nice(niceness)
    send_records(lambda level, text: _worker.send(NO_TASK, RECORD, (level, text)))
    parent = multiprocessing.parent_process()
    if parent is not None:
        threading.Thread(target=_follow_parent, args=(parent.sentinel,), daemon=True).start()


def _follow_parent(sentinel: int) -> None:
    """End this worker when its parent has ended, which may have been killed."""
    connection.wait([sentinel])
    os._exit(1)


def run_task(
    function: Callable[..., Any], args: tuple[Any, ...], kwargs: dict[str, Any], token: int, slot: int
) -> Any:
    """Call ``function`` in a worker with a reporter of its own; unpicklable errors become RuntimeError."""
    reporter = _WorkerReporter(token, slot)
    started = time.monotonic()
    try:
        reporter.check_cancelled()
        return function(*args, reporter=reporter, **kwargs)
    except Exception as error:
        # The traceback is not sent to the caller.
        store_description(error)
        if _can_be_sent(error):
            raise
        replacement = RuntimeError(f"{type(error).__name__}: {error}")
        store_description(replacement, of=error)
        raise replacement from error
    finally:
        reporter.phases.end()
        _worker.send(token, END, None)
        if _worker.after is not None:
            # In the background some milliseconds do not matter.
            _worker.after()
            gc.collect()
        if _worker.after is not None or time.monotonic() - started > _LONG_S:
            return_free_memory()


def return_free_memory() -> None:
    """Return freed memory to the system: glibc keeps it otherwise, and a worker may live for days."""
    malloc_trim = getattr(ctypes.CDLL(None), "malloc_trim", None) if sys.platform == "linux" else None
    if malloc_trim is not None:
        malloc_trim(0)


def _can_be_sent(error: Exception) -> bool:
    """Whether the error can be pickled and unpickled; otherwise it would end the whole pool."""
    try:
        pickle.loads(pickle.dumps(error))
    except Exception:  # noqa: BLE001 - what rebuilding an error runs may raise anything
        return False
    return True
