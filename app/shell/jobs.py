"""Jobs in the background, with progress, cancelling and partial results. No other module starts any."""

from __future__ import annotations

import contextlib
import itertools
import logging
import threading
import time
from collections import deque
from collections.abc import Callable, Sequence
from concurrent.futures import CancelledError, Future
from dataclasses import replace
from enum import Enum
from importlib import import_module
from typing import Any

from PySide6.QtCore import QObject, Qt, QThread, Signal
from shiboken6 import isValid

from semblance.app.shell.event_loop import TURN_S, EventLoopMonitor, one_shot
from semblance.app.shell.known_servers import KnownServers
from semblance.core.engine import Engine, Progress, Task
from semblance.core.errors import SemblanceError, ServerUnavailable
from semblance.core.language import as_lazy, tr, translate
from semblance.core.library.location import LibraryLocation, ServerAddress
from semblance.core.log import PublicText, describe_failure, logger, store_description
from semblance.core.tasks import Cancelled
from semblance.core.workflows.library.close_library import close_library

#: A job is shown only when it is still running after this time.
SHOW_AFTER_MS = 600
#: A quiet job is logged as information only if it takes at least this long.
SLOW_QUIET_S = 1.0
#: Seconds that the end of the program waits for a job that was cancelled. Files are written so that killing it then
#: loses nothing that was reported as done.
QUIT_GRACE_S = 0.5
_numbers = itertools.count(1)


class WorkerPool(Enum):
    """The processes a job runs in. What a person waits for never queues behind long work."""

    SEARCH = "search"
    READ = "read"
    SLICE = "slice"
    DRAW = "draw"
    NETWORK = "network"
    WATCH = "watch"
    NOTICES = "notices"
    BACKGROUND = "background"


#: Pools of jobs that a person waits for: they are run again with the copy of a library whose server went away.
_RUN_AGAIN = (WorkerPool.SEARCH, WorkerPool.READ, WorkerPool.SLICE, WorkerPool.DRAW)
#: Processes and niceness of each pool; a pool starts with its first job.
_POOLS = {
    WorkerPool.SEARCH: (1, 0),
    WorkerPool.READ: (1, 0),
    WorkerPool.SLICE: (1, 0),
    WorkerPool.DRAW: (1, 5),
    # A server may be slow. Another can be queried meanwhile.
    WorkerPool.NETWORK: (2, 0),
    # It runs until it is stopped, so that nothing may queue behind it.
    WorkerPool.WATCH: (2, 10),
    # One runs as long as a library on a server is open, the other renews the copy of the library.
    WorkerPool.NOTICES: (2, 10),
    WorkerPool.BACKGROUND: (2, 10),
}


class JobState(Enum):
    WAITING = "waiting"
    RUNNING = "running"
    DONE = "done"
    FAILED = "failed"
    CANCELLED = "cancelled"


def delete_in_thread(target: QObject, ended: Callable[[], object]) -> QThread:
    """Delete ``target`` in a thread of Qt's own, then call ``ended`` in the window's.

    The destructor of QSettings waits for the disk and holds Python's global lock. In a Python thread all others
    would wait for it. The caller keeps the thread until it has ended.
    """
    thread = QThread()
    target.moveToThread(thread)
    target.destroyed.connect(thread.quit, Qt.ConnectionType.DirectConnection)
    target.deleteLater()
    thread.finished.connect(ended)
    thread.start()
    return thread


class ModuleImport(QThread):
    """Imports modules without Qt, so that the window stays responsive, and calls ``then``, which imports others.
    Whoever needs one gets the error of its import again."""

    def __init__(self, names: Sequence[str], then: Callable[[], object], parent: QObject) -> None:
        super().__init__(parent)
        self._names, self._then = names, then

    def run(self) -> None:
        for name in self._names:
            if self.isInterruptionRequested():
                return
            with contextlib.suppress(ImportError):
                import_module(name)
        self._then()


class MainThreadBridge(QObject):
    """Calls methods of jobs in the main thread, on request of the engines' threads.

    What takes long gets a turn of the event loop of its own, after which keys and the painting have theirs.

    It outlives the jobs. A signal must not be sent from an object that another thread may delete meanwhile, as
    the window does with a job that is over.
    """

    _sent = Signal(object, object, object)

    def __init__(self) -> None:
        super().__init__()
        self._waiting: deque[tuple[QObject, Callable[..., None], tuple[object, ...]]] = deque()
        self._turn = one_shot(self, self._deliver)
        self._sent.connect(self._receive, Qt.ConnectionType.QueuedConnection)

    @property
    def is_waiting(self) -> bool:
        """Whether a method is still to be called."""
        return bool(self._waiting)

    def send(self, job: QObject, receive: Callable[..., None], *values: object) -> None:
        """Let the main thread call ``receive(*values)``, unless ``job`` was deleted before."""
        self._sent.emit(job, receive, values)

    def _receive(self, job: QObject, receive: Callable[..., None], values: tuple[object, ...]) -> None:
        self._waiting.append((job, receive, values))
        if not self._turn.isActive():
            self._turn.start()

    def _deliver(self) -> None:
        end = time.thread_time() + TURN_S
        while self._waiting and time.thread_time() < end:
            job, receive, values = self._waiting.popleft()
            if self._waiting:
                # Now, since who receives may open a dialog.
                self._turn.start()
            if isValid(job):
                receive(*values)


class Job(QObject):
    """One job: its state and progress, and how to end it."""

    changed = Signal()
    partial = Signal(object)
    done = Signal(object)
    failed = Signal(object)
    cancelled = Signal()
    ended = Signal()

    def __init__(
        self, title: str, bridge: MainThreadBridge, parent: QObject | None = None, *, can_stop: bool = False
    ) -> None:
        super().__init__(parent)
        self.title, self.can_stop, self._bridge = title, can_stop, bridge
        #: Number and function, as the log names the job.
        self.number, self.function, self.quiet = next(_numbers), "", False
        self.state = JobState.WAITING
        self.progress: Progress | None = None
        self.started = time.monotonic()
        self._rate_start: tuple[float, int] | None = None
        self._task: Task | None = None
        self._accepts_result = True
        #: Runs the work again after this error, if that is of use; whether it does.
        self.run_again: Callable[[ServerUnavailable], bool] = lambda _error: False

    @property
    def running(self) -> bool:
        return self.state in (JobState.WAITING, JobState.RUNNING)

    @property
    def age_ms(self) -> float:
        """Milliseconds since the job was made."""
        return 1000 * (time.monotonic() - self.started)

    @property
    def fraction(self) -> float | None:
        """0..1, or ``None`` while the amount of work is unknown."""
        if self.progress is None or not self.progress.total:
            return None
        return min(1.0, self.progress.done / self.progress.total)

    @property
    def seconds_left(self) -> float | None:
        """Estimated from the rate so far; ``None`` until there is one."""
        if self.progress is None or self._rate_start is None or not self.progress.total:
            return None
        then, before = self._rate_start
        gained, passed = self.progress.done - before, time.monotonic() - then
        if gained <= 0 or passed < 0.5:
            return None
        return (self.progress.total - self.progress.done) * passed / gained

    def cancel(self) -> None:
        """End the work. A result that still arrives is ignored."""
        if self.running:
            self._accepts_result = False
            if self._task is not None:
                self._task.cancel()
            self._end(JobState.CANCELLED)
            self.cancelled.emit()
            self.ended.emit()

    def stop(self) -> None:
        """End the work early. The best result so far arrives as if the work were finished."""
        if self._task is not None and self.running:
            self._task.stop()

    def attach(self, task: Task) -> None:
        """Report the progress and result of ``task``; called once by :class:`Jobs`."""
        self._task = task
        task.future.add_done_callback(self._report)

    def result(self, seconds: float) -> Any:
        """Wait for the work itself; raises what it raised, or ``TimeoutError``."""
        return None if self._task is None else self._task.future.result(seconds)

    def receive(self, kind: str, value: object) -> None:
        """A report of the work, in the engine's thread."""
        if self._accepts_result:
            self._bridge.send(self, self._apply_report, kind, value)

    def _report(self, future: Future[Any]) -> None:
        """The end of the work, in the engine's thread. That of a cancelled job is ignored."""
        if self._accepts_result:
            self._bridge.send(self, self._finish, future)

    def _apply_report(self, kind: str, value: Any) -> None:
        if not self._accepts_result or not self.running:
            return
        self.state = JobState.RUNNING
        if kind == "partial":
            self.partial.emit(value)
            return
        before, self.progress = self.progress, replace(value, what=translate(as_lazy(value.what)))
        if (
            before is None
            or self._rate_start is None
            or value.total != before.total
            or value.done < before.done
        ):
            # Something else is counted from now on.
            self._rate_start = time.monotonic(), value.done
        self.changed.emit()

    def _finish(self, future: Future[Any]) -> None:
        if not self._accepts_result or not self.running:
            return
        try:
            result = future.result()
        except (Cancelled, CancelledError):
            self._end(JobState.CANCELLED)
            self.cancelled.emit()
        except SemblanceError as error:
            if isinstance(error, ServerUnavailable) and self.run_again(error):
                return
            store_description(error)
            self._fail(error)
        except Exception as error:  # noqa: BLE001 - any other exception is a defect of ours, which is shown
            failure = SemblanceError(
                tr(
                    "{title} failed because of a defect in Semblance ({kind}).",
                    title=self.title,
                    kind=type(error).__name__,
                ),
                tr("Your data is unharmed. Please report it with the details."),
            )
            store_description(failure, of=error)
            self._fail(failure)
        else:
            self._end(JobState.DONE)
            self.done.emit(result)
        self.ended.emit()

    def _fail(self, error: SemblanceError) -> None:
        logger.error("job %d failed: %s", self.number, PublicText(describe_failure(error)))
        error.message, error.hint = translate(error.message), translate(error.hint)
        self._end(JobState.FAILED)
        self.failed.emit(error)

    def _end(self, state: JobState) -> None:
        self.state = state
        seconds = time.monotonic() - self.started
        is_hidden = self.quiet and state != JobState.FAILED and seconds < SLOW_QUIET_S
        logger.log(
            logging.DEBUG if is_hidden else logging.INFO,
            "job %d, %s, %s after %.2f s",
            self.number,
            PublicText(self.function),
            PublicText(state.value),
            seconds,
        )
        self.changed.emit()


def _function_name(function: Callable[..., Any]) -> str:
    name = f"{getattr(function, '__module__', '?')}.{getattr(function, '__qualname__', '?')}"
    return name.removeprefix("semblance.core.")


class Jobs(QObject):
    """Starts jobs in the engines of the pools. ``active``: all jobs that run or wait; ``listed``: without the
    quiet ones. ``servers``: what is known of those that jobs connect to."""

    added = Signal(object)
    removed = Signal(object)
    #: The address of a server that did not answer a job, and why. The job runs again with the copy of the library.
    server_lost = Signal(object, str)

    def __init__(self, parent: QObject | None = None) -> None:
        super().__init__(parent)
        self.servers = KnownServers()
        self._bridge = MainThreadBridge()
        self._engines: dict[WorkerPool, Engine] = {}
        self._loop_monitor = EventLoopMonitor(self)
        self._import: ModuleImport | None = None
        self._latest: dict[str, Job] = {}
        self.active: list[Job] = []
        self.listed: list[Job] = []
        self._endless: list[Job] = []

    def run(
        self,
        title: str,
        function: Callable[..., Any],
        *args: Any,
        pool: WorkerPool = WorkerPool.BACKGROUND,
        channel: str | None = None,
        quiet: bool = False,
        can_stop: bool = False,
        endless: bool = False,
        **kwargs: Any,
    ) -> Job:
        """Run ``function(*args, reporter=..., **kwargs)`` of ``core`` in a process.

        A new job on a ``channel`` cancels the one before it there. ``quiet`` jobs (thumbnails, searches) are not
        listed. An ``endless`` one, which runs until it is cancelled, is not among the active ones either. Connect to
        the job's signals right after the call.
        """
        job = Job(title, self._bridge, self, can_stop=can_stop)
        job.quiet = quiet
        job.function = _function_name(function)
        logger.log(
            logging.DEBUG if quiet else logging.INFO,
            "job %d, %s, started in pool %s",
            job.number,
            PublicText(job.function),
            PublicText(pool.value),
        )
        if channel is not None:
            before = self._latest.get(channel)
            if before is not None:
                before.cancel()
            self._latest[channel] = job
        if endless:
            self._endless.append(job)
        else:
            self.active.append(job)
            self._loop_monitor.start()
        job.ended.connect(lambda: self._ended(job, channel, quiet))
        if not quiet:
            self.listed.append(job)
            self.added.emit(job)

        def start() -> None:
            known = map(self.servers.completed, args)
            named = {name: self.servers.completed(value) for name, value in kwargs.items()}
            job.attach(self._engine(pool).submit(function, *known, listener=job.receive, **named))

        def run_again(error: ServerUnavailable) -> bool:
            address = next((one for one in args if isinstance(one, ServerAddress)), None)
            if pool not in _RUN_AGAIN or address is None or address in lost:
                return False
            lost.append(address)
            self.servers.set_unreachable(address, unreachable=True)
            self.server_lost.emit(address, translate(error.message))
            start()
            return True

        lost: list[ServerAddress] = []
        job.run_again = run_again
        start()
        return job

    def is_running(self, channel: str) -> bool:
        """Whether a job on ``channel`` runs or waits."""
        job = self._latest.get(channel)
        return job is not None and job.running

    def cancel_channel(self, channel: str) -> None:
        """Cancel the job on ``channel``, if there is one."""
        before = self._latest.get(channel)
        if before is not None:
            before.cancel()

    def wait(self, job: Job, seconds: float = 10.0) -> None:
        """Block until ``job`` is over, at most ``seconds``. Only for what must be saved before the program ends."""
        with contextlib.suppress(TimeoutError, Cancelled, CancelledError, SemblanceError):
            job.result(seconds)

    def preload(self, pool: WorkerPool, function: Callable[..., Any]) -> None:
        """Start a pool's process before it is needed; ``function`` imports what its jobs will use."""
        self.run("", function, pool=pool, quiet=True)

    def import_in_thread(
        self, names: Sequence[str], then: Callable[[], object], ended: Callable[[], object]
    ) -> None:
        """Start to import modules without Qt that the window will need, then call ``then`` in the same thread, and
        ``ended`` in the window's."""
        self._import = ModuleImport(names, then, self)
        self._import.finished.connect(ended)
        self._import.start()

    def close_library(self, library: LibraryLocation) -> None:
        """Let every process close ``library`` after the jobs it already has."""
        for pool in self._engines:
            if _POOLS[pool][0] == 1:
                self.run("", close_library, library, pool=pool, quiet=True)

    def shutdown(self) -> None:
        """Cancel all jobs and wait until every process has ended, at most about :data:`QUIT_GRACE_S`."""
        if self._import is not None:
            self._import.requestInterruption()
            self._import.wait()
        for job in [*self.active, *self._endless]:
            # Who follows it would show a message and start further jobs, whose processes would outlive the window.
            job.blockSignals(True)
            job.cancel()
        self.active.clear()
        self._endless.clear()
        closing = [
            threading.Thread(target=engine.shutdown, args=(QUIT_GRACE_S,))
            for engine in self._engines.values()
        ]
        for thread in closing:
            thread.start()
        for thread in closing:
            thread.join()
        self._engines.clear()

    def _engine(self, pool: WorkerPool) -> Engine:
        if pool not in self._engines:
            workers, niceness = _POOLS[pool]
            # A job cannot be sent to a certain one of several processes, so these close the library after each.
            self._engines[pool] = Engine(
                workers, niceness=niceness, after=close_library if workers > 1 else None
            )
        return self._engines[pool]

    def _ended(self, job: Job, channel: str | None, quiet: bool) -> None:
        (self._endless if job in self._endless else self.active).remove(job)
        if not self.active:
            self._loop_monitor.stop()
        if channel is not None and self._latest.get(channel) is job:
            del self._latest[channel]
        if not quiet:
            self.listed.remove(job)
            self.removed.emit(job)
        job.deleteLater()
