"""Worker processes that run functions and send progress, partial results and results."""

from __future__ import annotations

import contextlib
import itertools
import os
import pickle
import signal
import threading
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import FIRST_EXCEPTION, CancelledError, Future, ProcessPoolExecutor, wait
from concurrent.futures.process import BrokenProcessPool
from dataclasses import dataclass
from multiprocessing import spawn
from multiprocessing.context import SpawnContext, SpawnProcess
from multiprocessing.process import BaseProcess
from pathlib import Path
from typing import Any, TypeVar

from semblance.core.engine import worker
from semblance.core.errors import BadArguments, SemblanceError
from semblance.core.language import tr_lazy
from semblance.core.log import logger, receive_record
from semblance.core.tasks import Cancelled, Reporter

#: Tasks that can run or wait at the same time; each has one byte of the shared stop flags.
SLOTS = 256
#: Seconds after which workers that do not end are killed.
GRACE_S = 10.0

Listener = Callable[[str, object], None]

#: How the names of worker processes begin.
_WORKER = "semblance-worker"
_facts_of_spawn = spawn.get_preparation_data


def _facts_for_process(name: str) -> dict[str, Any]:
    """What a new process is told of this one. A worker isn't told of the main module: it would run a script without
    ``if __name__ == "__main__"`` from its beginning, which starts workers again."""
    told = _facts_of_spawn(name)
    if name.startswith(_WORKER):
        told = {key: value for key, value in told.items() if not key.startswith("init_main_from")}
    return told


spawn.get_preparation_data = _facts_for_process


class _WorkerProcess(SpawnProcess):
    """A process that does not run the main module of this one."""

    def __init__(self, *args: Any, **kwargs: Any) -> None:
        super().__init__(*args, **kwargs)
        self.name = self.name.replace(type(self).__name__, _WORKER)


class _WorkerContext(SpawnContext):
    Process = _WorkerProcess


class WorkerEnded(SemblanceError):
    """A worker process was killed or crashed during its task."""

    def __init__(self) -> None:
        super().__init__(
            tr_lazy("A worker process ended unexpectedly (it may have run out of memory)."),
            tr_lazy("Finished work is saved. Start the job again."),
        )

    def __reduce__(self) -> tuple[type[WorkerEnded], tuple[()]]:
        return WorkerEnded, ()


def _kill(workers: Sequence[BaseProcess]) -> None:
    for process in workers:
        # The executor may have closed the process already.
        with contextlib.suppress(ValueError, OSError):
            process.kill()


@contextlib.contextmanager
def _interrupts_ignored() -> Iterator[None]:
    """Processes started within ignore Ctrl-C: a terminal sends it to all processes, and the parent handles it."""
    if not hasattr(signal, "pthread_sigmask"):
        yield
        return
    before = signal.pthread_sigmask(signal.SIG_BLOCK, {signal.SIGINT})
    try:
        yield
    finally:
        signal.pthread_sigmask(signal.SIG_SETMASK, before)


class _Executor(ProcessPoolExecutor):
    """Python's executor without one race.

    Its manager is woken *before* a new process starts and may then watch all processes but that one. If that
    process is killed, its task never ends.
    """

    def submit(self, function: Callable[..., Any], /, *args: Any, **kwargs: Any) -> Future[Any]:
        future = super().submit(function, *args, **kwargs)
        with self._shutdown_lock:
            if self._executor_manager_thread_wakeup is not None:
                self._executor_manager_thread_wakeup.wakeup()
        return future


class _Outcome(Future[Any]):
    """The future of the caller: done when the work has ended *and* all its messages were delivered."""

    def __init__(self, inner: Future[Any]) -> None:
        super().__init__()
        self._inner = inner

    def cancel(self) -> bool:
        return self._inner.cancel() or self.cancelled()

    def copy_result(self) -> None:
        """Copy the result or the error of the executor's future, which is done."""
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
    """A submitted task of an engine."""

    def __init__(self, future: Future[Any], flags: Any, slot: int, lock: threading.Lock) -> None:
        self.future = future
        self._flags, self._slot, self._lock = flags, slot, lock

    def cancel(self) -> None:
        """Request the end of the work; its future then raises ``Cancelled`` (or is cancelled if not started)."""
        if not self.future.cancel():
            self._set_flag(worker.CANCEL)

    def stop(self) -> None:
        """Request the end of the work with the best result so far."""
        self._set_flag(worker.STOP)

    def result(self) -> Any:
        """Wait and return; raises what the work raised, ``Cancelled`` included, or :class:`WorkerEnded`."""
        try:
            return self.future.result()
        except CancelledError:
            raise Cancelled from None

    def _set_flag(self, flag: int) -> None:
        # Under the lock the slot cannot pass to another task in between.
        with self._lock:
            if not self.future.done():
                self._flags[self._slot] |= flag


@dataclass(frozen=True)
class _FinishedTask:
    """A task that the executor has finished; some of its messages may not be delivered yet."""

    outcome: _Outcome
    token: int
    slot: int


class Pool:
    """One executor with the flags and the pipe of its workers; it is replaced when a worker dies."""

    def __init__(self, workers: int, niceness: int, after: Callable[[], object] | None = None) -> None:
        context = _WorkerContext()
        self._lock = threading.Lock()
        self._flags: Any = context.RawArray("B", SLOTS)
        self._free = list(range(SLOTS))
        self._tokens = itertools.count(1)
        self._listeners: dict[int, Listener] = {}
        self._ended_tokens: set[int] = set()
        self._finished_tasks: dict[int, _FinishedTask] = {}
        self._reading = True
        self._reader, self._writer = context.Pipe(duplex=False)
        self._executor = _Executor(
            workers,
            context,
            worker.start_worker,
            (self._flags, self._writer, context.Lock(), niceness, after),
        )
        self._thread = threading.Thread(target=self._read_messages, name="engine-news", daemon=True)
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
            BrokenProcessPool: a worker died; this pool cannot be used any more.
            SemblanceError: all slots are taken.
            ValueError: a function of the main module, which workers do not have.
        """
        if getattr(function, "__module__", "") == "__main__":
            raise ValueError(
                f"Worker processes do not have {function}: define it in a module that is imported."
            )
        with self._lock:
            if not self._free:
                raise SemblanceError("Too many jobs are waiting.", "Let some of them finish first.")
            slot, token = self._free.pop(), next(self._tokens)
            self._flags[slot] = 0
            if listener is not None:
                self._listeners[token] = listener
        try:
            with _interrupts_ignored():
                inner = self._executor.submit(worker.run_task, function, args, kwargs, token, slot)
        except BaseException:
            self._release(token, slot)
            raise
        outcome = _Outcome(inner)
        finished = _FinishedTask(outcome, token, slot)
        inner.add_done_callback(lambda done: self._task_done(done, finished))
        return Task(outcome, self._flags, slot, self._lock)

    def close(self, *, wait: bool, grace_s: float = GRACE_S) -> None:
        """Cancel what runs and end the workers; ``wait``: return when they are gone.

        A worker that does not check for cancelling is killed after ``grace_s`` seconds. Files are written so that this
        loses nothing.
        """
        for slot in range(SLOTS):
            self._flags[slot] |= worker.CANCEL
        workers = list((self._executor._processes or {}).values())
        kill_timer = threading.Timer(grace_s, _kill, [workers])
        if wait:
            kill_timer.start()
        self._executor.shutdown(wait=wait, cancel_futures=True)
        if wait:
            kill_timer.cancel()
            kill_timer.join()
        # The reader ends when the last writer, here or in a worker, is closed.
        self._writer.close()
        if wait:
            self._thread.join()

    def _task_done(self, inner: Future[Any], finished: _FinishedTask) -> None:
        is_lost = inner.cancelled() or isinstance(inner.exception(), BrokenProcessPool)
        with self._lock:
            if not is_lost and self._reading and finished.token not in self._ended_tokens:
                self._finished_tasks[finished.token] = finished
                return
        self._finish(finished)

    def _finish(self, finished: _FinishedTask) -> None:
        with self._lock:
            self._listeners.pop(finished.token, None)
        finished.outcome.copy_result()
        self._release(finished.token, finished.slot)

    def _release(self, token: int, slot: int) -> None:
        with self._lock:
            self._listeners.pop(token, None)
            self._ended_tokens.discard(token)
            self._free.append(slot)

    def _read_messages(self) -> None:
        with self._reader:
            while True:
                try:
                    data = self._reader.recv_bytes()
                except (EOFError, OSError):
                    break
                self._handle_message(data)
        with self._lock:
            self._reading = False
            remaining = list(self._finished_tasks.values())
            self._finished_tasks.clear()
        for finished in remaining:
            self._finish(finished)

    def _handle_message(self, data: bytes) -> None:
        try:
            token, kind, message = pickle.loads(data)
            if kind == worker.RECORD:
                receive_record(*message)
                return
            if kind != worker.END:
                listener = self._listeners.get(token)
                if listener is not None:
                    listener(kind, message)
                return
        except Exception:  # noqa: BLE001 - a listener may raise anything
            # A defect of one listener must not stop the others.
            logger.exception("a message of a task was lost")
            return
        with self._lock:
            finished = self._finished_tasks.pop(token, None)
            if finished is None:
                self._ended_tokens.add(token)
        if finished is not None:
            self._finish(finished)


#: Two cores are the smallest machine we plan for; more than eight workers starve the disk.
MAX_WORKERS = 8


#: Number of worker processes, where the user wants another one than that of the processors.
WORKERS_VARIABLE = "SEMBLANCE_WORKERS"


def default_workers() -> int:
    """The number of worker processes: that of the environment variable, or of this computer's processors.

    Raises:
        BadArguments: the environment variable is not a number from 1 to :data:`MAX_WORKERS`.
    """
    text = os.environ.get(WORKERS_VARIABLE, "").strip()
    if not text:
        return max(1, min(MAX_WORKERS, os.cpu_count() or 1))
    if not (text.isascii() and text.isdecimal() and 1 <= int(text) <= MAX_WORKERS):
        raise BadArguments(
            tr_lazy("{variable} cannot be '{text}'.", variable=WORKERS_VARIABLE, text=text),
            tr_lazy("Set it to a number from 1 to {most}.", most=MAX_WORKERS),
        )
    return int(text)


class Engine:
    """A pool of spawned, niced processes with one BLAS thread each.

    ``submit`` runs ``function(*args, reporter=..., **kwargs)`` in a worker; arguments and results are pickled
    between our own processes. A pool whose worker died is replaced at the next submit.
    ``after``: called without arguments in a worker after each of its tasks.
    """

    def __init__(
        self, workers: int | None = None, *, niceness: int = 10, after: Callable[[], object] | None = None
    ) -> None:
        self.workers = workers or default_workers()
        self._niceness, self._after = niceness, after
        self._lock = threading.Lock()
        self._pool: Pool | None = None

    def submit(
        self, function: Callable[..., Any], *args: Any, listener: Listener | None = None, **kwargs: Any
    ) -> Task:
        """Queue the work. ``listener(kind, message)`` gets "progress" (:class:`.worker.Progress`) and "partial" results
        in a thread of the engine; all of them before the future is done, none after.

        Raises:
            SemblanceError: too many tasks are running or waiting, or workers end as soon as they start.
        """
        for _ in range(2):
            pool = self._running_pool()
            try:
                return pool.submit(function, args, kwargs, listener)
            except BrokenProcessPool:
                self._discard(pool)
        raise WorkerEnded

    def share_file(self, file: Path) -> Path:
        """The argument for workers in place of ``file``: itself, because they can read it."""
        return file

    def shutdown(self, grace_s: float = GRACE_S) -> None:
        """Cancel running tasks, end the workers, and return when they have ended.

        A task that does not check for cancelling within ``grace_s`` seconds is killed.
        """
        with self._lock:
            pool, self._pool = self._pool, None
        if pool is not None:
            pool.close(wait=True, grace_s=grace_s)

    def __enter__(self) -> Engine:
        return self

    def __exit__(self, *_: object) -> None:
        self.shutdown()

    def _running_pool(self) -> Pool:
        with self._lock:
            if self._pool is None:
                self._pool = Pool(self.workers, self._niceness, self._after)
            return self._pool

    def _discard(self, pool: Pool) -> None:
        """Close a pool whose worker died."""
        with self._lock:
            if self._pool is pool:
                self._pool = None
        pool.close(wait=False)


Part = TypeVar("Part")
Result = TypeVar("Result")


def run_parts(
    function: Callable[..., Result], parts: Sequence[Part], *, title: str, reporter: Reporter
) -> list[Result]:
    """``function(part, reporter=...)`` of each of ``parts``, in their order; ``title`` stands beside the progress.

    Raises:
        Exception: the first that ``function`` raised; the other parts are cancelled.
    """
    if not parts:
        return []
    with Engine(min(default_workers(), len(parts))) as engine:
        tasks = [engine.submit(function, part) for part in parts]
        waiting = {task.future for task in tasks}
        try:
            while waiting:
                reporter.progress(len(tasks) - len(waiting), len(tasks), title)
                reporter.check_cancelled()
                _, waiting = wait(waiting, timeout=0.1, return_when=FIRST_EXCEPTION)
            return [task.result() for task in tasks]
        except BaseException:
            for task in tasks:
                task.cancel()
            raise
