"""Where heavy work runs: spawned processes behind ``concurrent.futures``, with news and cancelling."""

from __future__ import annotations

import contextlib
import itertools
import logging
import multiprocessing
import os
import pickle
import signal
import threading
import time
from collections.abc import Callable, Iterator
from concurrent.futures import CancelledError, Future, ProcessPoolExecutor
from concurrent.futures.process import BrokenProcessPool
from dataclasses import dataclass
from multiprocessing import connection
from typing import Any

from core.errors import SemblanceError
from core.tasks import Cancelled, Reporter

#: Two cores are the smallest machine we plan for; more than eight workers starve the disk.
MAX_WORKERS = 8
#: Tasks that can be under way at once; each owns one byte of the shared stop flags.
SLOTS = 256
#: News are sent at most this often, so that a fast loop does not drown its listener.
NEWS_INTERVAL_S = 0.05

_CANCEL, _STOP = 1, 2
_PROGRESS, _PARTIAL, _END = "progress", "partial", "end"
_KEEP_THREADS = ("OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS", "MKL_NUM_THREADS", "BLIS_NUM_THREADS")

Listener = Callable[[str, object], None]


def limit_threads() -> None:
    """One BLAS thread in this process and its children; call before numpy is loaded.

    Small eigenproblems run over a hundred times slower when two threads share a busy two-core machine.
    """
    for name in _KEEP_THREADS:
        os.environ[name] = "1"


def default_workers() -> int:
    """Processes worth starting here."""
    return max(1, min(MAX_WORKERS, os.cpu_count() or 1))


class WorkerEnded(SemblanceError):
    """A worker process was killed or crashed under its task."""

    def __init__(self) -> None:
        super().__init__(
            "A worker process ended unexpectedly (it may have run out of memory).",
            "What was finished is kept; start the job again.",
        )

    def __reduce__(self) -> tuple[type[WorkerEnded], tuple[()]]:
        return WorkerEnded, ()


@dataclass(frozen=True)
class Progress:
    """News of :meth:`core.tasks.Reporter.progress`."""

    done: int
    total: int | None
    what: str


class _WorkerReporter(Reporter):
    """Lives in the worker: news go into the pipe, wishes are read from the shared flags."""

    def __init__(self, token: int, slot: int) -> None:
        self._token, self._slot = token, slot
        self._next = 0.0
        self._last: Progress | None = None

    def progress(self, done: int, total: int | None, what: str) -> None:
        news = Progress(done, total, what)
        finished = total is not None and done >= total
        first = self._last is None or self._last.what != what
        now = time.monotonic()
        if finished or first or now >= self._next:
            self._last, self._next = news, now + NEWS_INTERVAL_S
            _worker.send(self._token, _PROGRESS, news)

    def partial(self, result: object) -> None:
        _worker.send(self._token, _PARTIAL, result)

    def check_cancelled(self) -> None:
        if _worker.flags[self._slot] & _CANCEL:
            raise Cancelled

    @property
    def stop_requested(self) -> bool:
        return bool(_worker.flags[self._slot] & _STOP)


@dataclass
class _Worker:
    """What a worker process was started with."""

    flags: Any = None
    news: Any = None
    lock: Any = None

    def send(self, token: int, kind: str, news: object) -> None:
        data = pickle.dumps((token, kind, news))
        with self.lock:
            self.news.send_bytes(data)


_worker = _Worker()


def _start_worker(flags: Any, news: Any, lock: Any, niceness: int) -> None:
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    limit_threads()
    _worker.flags, _worker.news, _worker.lock = flags, news, lock
    if niceness and hasattr(os, "nice"):
        os.nice(niceness)
    parent = multiprocessing.parent_process()
    if parent is not None:
        threading.Thread(target=_follow_parent, args=(parent.sentinel,), daemon=True).start()


def _follow_parent(sentinel: int) -> None:
    """End this worker when its parent is gone; a killed parent cannot tell its children."""
    connection.wait([sentinel])
    os._exit(1)


def _run(
    function: Callable[..., Any], args: tuple[Any, ...], kwargs: dict[str, Any], token: int, slot: int
) -> Any:
    reporter = _WorkerReporter(token, slot)
    try:
        reporter.check_cancelled()
        return function(*args, reporter=reporter, **kwargs)
    except Exception as error:
        if _crosses(error):
            raise
        raise RuntimeError(f"{type(error).__name__}: {error}") from error
    finally:
        _worker.send(token, _END, None)


def _crosses(error: Exception) -> bool:
    """Whether the error can be sent to another process; one that cannot would end the whole pool there."""
    try:
        pickle.loads(pickle.dumps(error))
    except Exception:  # noqa: BLE001 - what rebuilding an error runs may raise anything
        return False
    return True


@contextlib.contextmanager
def _interrupts_kept_off() -> Iterator[None]:
    """Processes started within never see Ctrl-C: a terminal sends it to all, only the parent answers it."""
    if not hasattr(signal, "pthread_sigmask"):
        yield
        return
    before = signal.pthread_sigmask(signal.SIG_BLOCK, {signal.SIGINT})
    try:
        yield
    finally:
        signal.pthread_sigmask(signal.SIG_SETMASK, before)


class _Executor(ProcessPoolExecutor):
    """Python's own, but for one race.

    Its manager is woken *before* a new process starts and may then watch all processes but that one; when
    it was killed nobody noticed, and its task never ended.
    """

    def submit(self, function: Callable[..., Any], /, *args: Any, **kwargs: Any) -> Future[Any]:
        future = super().submit(function, *args, **kwargs)
        with self._shutdown_lock:
            if self._executor_manager_thread_wakeup is not None:
                self._executor_manager_thread_wakeup.wakeup()
        return future


class _Outcome(Future[Any]):
    """The future callers hold: done once the work is over *and* all its news were heard."""

    def __init__(self, inner: Future[Any]) -> None:
        super().__init__()
        self._inner = inner

    def cancel(self) -> bool:
        return self._inner.cancel() or self.cancelled()

    def settle(self) -> None:
        """Take over what became of the executor's future, which is done."""
        if self._inner.cancelled():
            super().cancel()
            self.set_running_or_notify_cancel()
            return
        error = self._inner.exception()
        if isinstance(error, BrokenProcessPool):
            self.set_exception(WorkerEnded())
        elif error is not None:
            self.set_exception(error)
        else:
            self.set_result(self._inner.result())


class Task:
    """Work under way on an engine."""

    def __init__(self, future: Future[Any], flags: Any, slot: int, lock: threading.Lock) -> None:
        self.future = future
        self._flags, self._slot, self._lock = flags, slot, lock

    def cancel(self) -> None:
        """Ask the work to end; its future then raises ``Cancelled`` (or is cancelled if not started)."""
        if not self.future.cancel():
            self._wish(_CANCEL)

    def stop(self) -> None:
        """Ask the work to end and to keep the best result so far."""
        self._wish(_STOP)

    def result(self) -> Any:
        """Wait and return; raises what the work raised, ``Cancelled`` included, or :class:`WorkerEnded`."""
        try:
            return self.future.result()
        except CancelledError:
            raise Cancelled from None

    def _wish(self, flag: int) -> None:
        # Under the lock the slot cannot pass to another task in between.
        with self._lock:
            if not self.future.done():
                self._flags[self._slot] |= flag


@dataclass(frozen=True)
class _Ending:
    """A task the executor is done with, its news perhaps still under way."""

    outcome: _Outcome
    token: int
    slot: int


class _Pool:
    """One executor with the flags and the pipe of its workers; a new one follows when a worker died."""

    def __init__(self, workers: int, niceness: int) -> None:
        context = multiprocessing.get_context("spawn")
        self._lock = threading.Lock()
        self._flags: Any = context.RawArray("B", SLOTS)
        self._free = list(range(SLOTS))
        self._tokens = itertools.count(1)
        self._listeners: dict[int, Listener] = {}
        self._silent: set[int] = set()
        self._waiting: dict[int, _Ending] = {}
        self._reading = True
        self._reader, self._writer = context.Pipe(duplex=False)
        self._executor = _Executor(
            workers, context, _start_worker, (self._flags, self._writer, context.Lock(), niceness)
        )
        self._thread = threading.Thread(target=self._listen, name="engine-news", daemon=True)
        self._thread.start()

    def submit(
        self,
        function: Callable[..., Any],
        args: tuple[Any, ...],
        kwargs: dict[str, Any],
        listener: Listener | None,
    ) -> Task:
        """
        Raises:
            BrokenProcessPool: a worker died; this pool is of no use any more.
            SemblanceError: all slots are taken.
        """
        with self._lock:
            if not self._free:
                raise SemblanceError("Too many jobs are waiting.", "Let some of them finish first.")
            slot, token = self._free.pop(), next(self._tokens)
            self._flags[slot] = 0
            if listener is not None:
                self._listeners[token] = listener
        try:
            with _interrupts_kept_off():
                inner = self._executor.submit(_run, function, args, kwargs, token, slot)
        except BaseException:
            self._give_back(token, slot)
            raise
        outcome = _Outcome(inner)
        ending = _Ending(outcome, token, slot)
        inner.add_done_callback(lambda done: self._over(done, ending))
        return Task(outcome, self._flags, slot, self._lock)

    def close(self, *, wait: bool) -> None:
        """Cancel what runs and end the workers; ``wait``: return when they are gone."""
        for slot in range(SLOTS):
            self._flags[slot] |= _CANCEL
        self._executor.shutdown(wait=wait, cancel_futures=True)
        # The reader ends when the last writer, here or in a worker, is closed.
        self._writer.close()
        if wait:
            self._thread.join()

    def _over(self, inner: Future[Any], ending: _Ending) -> None:
        lost = inner.cancelled() or isinstance(inner.exception(), BrokenProcessPool)
        with self._lock:
            if not lost and self._reading and ending.token not in self._silent:
                self._waiting[ending.token] = ending
                return
        self._settle(ending)

    def _settle(self, ending: _Ending) -> None:
        with self._lock:
            self._listeners.pop(ending.token, None)
        ending.outcome.settle()
        self._give_back(ending.token, ending.slot)

    def _give_back(self, token: int, slot: int) -> None:
        with self._lock:
            self._listeners.pop(token, None)
            self._silent.discard(token)
            self._free.append(slot)

    def _listen(self) -> None:
        with self._reader:
            while True:
                try:
                    data = self._reader.recv_bytes()
                except (EOFError, OSError):
                    break
                self._hear(data)
        with self._lock:
            self._reading = False
            left = list(self._waiting.values())
            self._waiting.clear()
        for ending in left:
            self._settle(ending)

    def _hear(self, data: bytes) -> None:
        try:
            token, kind, news = pickle.loads(data)
            if kind != _END:
                listener = self._listeners.get(token)
                if listener is not None:
                    listener(kind, news)
                return
        except Exception:
            # One listener's defect must not silence all the others.
            logging.getLogger(__name__).exception("news of a task were lost")
            return
        with self._lock:
            ending = self._waiting.pop(token, None)
            if ending is None:
                self._silent.add(token)
        if ending is not None:
            self._settle(ending)


class Engine:
    """A pool of spawned, niced processes with one BLAS thread each.

    ``submit`` runs ``function(*args, reporter=..., **kwargs)`` in a worker; everything crossing over is
    pickled between our own processes. A pool whose worker died is replaced at the next submit.
    """

    def __init__(self, workers: int | None = None, *, niceness: int = 10) -> None:
        self.workers = workers or default_workers()
        self._niceness = niceness
        self._lock = threading.Lock()
        self._pool: _Pool | None = None

    def submit(
        self, function: Callable[..., Any], *args: Any, listener: Listener | None = None, **kwargs: Any
    ) -> Task:
        """Queue the work. ``listener(kind, news)`` hears "progress" (:class:`Progress`) and "partial"
        results, in a thread of the engine; all of them before the future is done, none after.

        Raises:
            SemblanceError: too many tasks are under way, or workers end as soon as they start.
        """
        for _ in range(2):
            pool = self._started()
            try:
                return pool.submit(function, args, kwargs, listener)
            except BrokenProcessPool:
                self._discard(pool)
        raise WorkerEnded

    def shutdown(self) -> None:
        """Cancel what runs, end the workers, and return when they are gone."""
        with self._lock:
            pool, self._pool = self._pool, None
        if pool is not None:
            pool.close(wait=True)

    def __enter__(self) -> Engine:
        return self

    def __exit__(self, *_: object) -> None:
        self.shutdown()

    def _started(self) -> _Pool:
        with self._lock:
            if self._pool is None:
                limit_threads()
                self._pool = _Pool(self.workers, self._niceness)
            return self._pool

    def _discard(self, pool: _Pool) -> None:
        """Forget a pool whose worker died."""
        with self._lock:
            if self._pool is pool:
                self._pool = None
        pool.close(wait=False)
