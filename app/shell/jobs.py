"""Work in the background: the one place that starts any, with progress, cancelling and partial results."""

from __future__ import annotations

import contextlib
import itertools
import logging
import time
from collections.abc import Callable
from concurrent.futures import CancelledError, Future
from dataclasses import replace
from enum import Enum
from pathlib import Path
from typing import Any

from PySide6.QtCore import QObject, Qt, QThread, Signal
from shiboken6 import isValid

from semblance.app.shell.event_loop_monitor import EventLoopMonitor
from semblance.core.engine import Engine, Progress, Task
from semblance.core.errors import SemblanceError
from semblance.core.language import as_lazy, tr, translate
from semblance.core.log import Plain, describe_failure, keep_description, logger
from semblance.core.tasks import Cancelled
from semblance.core.workflows.library.close_library import close_library

#: A job shows itself only when it is still running after this time.
SHOW_AFTER_MS = 600
#: A quiet job is noted in the log only from this time on.
SLOW_QUIET_S = 1.0
_numbers = itertools.count(1)


class Lane(Enum):
    """Which processes a job runs in: what a person waits for never queues behind long work."""

    SEARCH = "search"
    READ = "read"
    SLICE = "slice"
    DRAW = "draw"
    BACKGROUND = "background"


#: Processes and niceness of each lane; a lane starts with its first job.
_LANES = {
    Lane.SEARCH: (1, 0),
    Lane.READ: (1, 0),
    Lane.SLICE: (1, 0),
    Lane.DRAW: (1, 5),
    Lane.BACKGROUND: (2, 10),
}


class State(Enum):
    WAITING = "waiting"
    RUNNING = "running"
    DONE = "done"
    FAILED = "failed"
    CANCELLED = "cancelled"


def delete_in_thread(target: QObject, ended: Callable[[], object]) -> QThread:
    """Delete ``target`` in a thread of Qt's own, then call ``ended`` in the window's.

    What the destructor does may wait for the disk and hold Python's interpreter, as that of QSettings does:
    in a thread of Python's all others would wait for it. The caller keeps the thread until it has ended.
    """
    thread = QThread()
    target.moveToThread(thread)
    target.destroyed.connect(thread.quit, Qt.ConnectionType.DirectConnection)
    target.deleteLater()
    thread.finished.connect(ended)
    thread.start()
    return thread


class MainThreadBridge(QObject):
    """Carries news of jobs from the engines' threads to the window's.

    It outlives the jobs it carries news of: a signal must not be sent from an object that another thread may
    take away meanwhile, as the window does with a job that is over.
    """

    _sent = Signal(object, object, object)

    def __init__(self) -> None:
        super().__init__()
        self._sent.connect(self._deliver, Qt.ConnectionType.QueuedConnection)

    def send(self, job: QObject, hear: Callable[..., None], *news: object) -> None:
        """Let the window's thread call ``hear(*news)``, of ``job``, unless it is gone by then."""
        self._sent.emit(job, hear, news)

    def _deliver(self, job: QObject, hear: Callable[..., None], news: tuple[object, ...]) -> None:
        if isValid(job):
            hear(*news)


class Job(QObject):
    """One piece of work: where it stands, and how to end it."""

    changed = Signal()
    partial = Signal(object)
    done = Signal(object)
    failed = Signal(object)
    cancelled = Signal()
    ended = Signal()

    def __init__(
        self, title: str, post: MainThreadBridge, parent: QObject | None = None, *, can_stop: bool = False
    ) -> None:
        super().__init__(parent)
        self.title, self.can_stop, self._post = title, can_stop, post
        #: What the log calls it: its number and the function it runs.
        self.number, self.function, self.quiet = next(_numbers), "", False
        self.state = State.WAITING
        self.progress: Progress | None = None
        self.started = time.monotonic()
        self._rate_start: tuple[float, int] | None = None
        self._rate_what = ""
        self._task: Task | None = None
        self._wanted = True

    @property
    def running(self) -> bool:
        return self.state in (State.WAITING, State.RUNNING)

    @property
    def age_ms(self) -> float:
        """Since it was started."""
        return 1000 * (time.monotonic() - self.started)

    @property
    def fraction(self) -> float | None:
        """0..1, or ``None`` while the amount of work is unknown."""
        if self.progress is None or not self.progress.total:
            return None
        return min(1.0, self.progress.done / self.progress.total)

    @property
    def seconds_left(self) -> float | None:
        """From the rate so far; ``None`` until there is one."""
        if self.progress is None or self._rate_start is None or not self.progress.total:
            return None
        then, before = self._rate_start
        gained, passed = self.progress.done - before, time.monotonic() - then
        if gained <= 0 or passed < 0.5:
            return None
        return (self.progress.total - self.progress.done) * passed / gained

    def cancel(self) -> None:
        """End the work; its result, if one still comes, is dropped."""
        if self.running:
            self._wanted = False
            if self._task is not None:
                self._task.cancel()
            self._end(State.CANCELLED)
            self.cancelled.emit()
            self.ended.emit()

    def stop(self) -> None:
        """End the work and keep the best so far; the result comes as if it were finished."""
        if self._task is not None and self.running:
            self._task.stop()

    def attach(self, task: Task) -> None:
        """Follow ``task``; called once by :class:`Jobs`."""
        self._task = task
        task.future.add_done_callback(self._report)

    def result(self, seconds: float) -> Any:
        """Wait for the work itself; raises what it raised, or ``TimeoutError``."""
        return None if self._task is None else self._task.future.result(seconds)

    def hear(self, kind: str, news: object) -> None:
        """News from the engine's thread."""
        if self._wanted:
            self._post.send(self, self._hear, kind, news)

    def _report(self, future: Future[Any]) -> None:
        """The end of the work, in the engine's thread. Nobody waits for that of a job that was cancelled."""
        if self._wanted:
            self._post.send(self, self._finish, future)

    def _hear(self, kind: str, news: Any) -> None:
        if not self._wanted or not self.running:
            return
        self.state = State.RUNNING
        if kind == "partial":
            self.partial.emit(news)
            return
        self.progress = replace(news, what=translate(as_lazy(news.what)))
        if self._rate_start is None or news.what != self._rate_what or news.done < self._rate_start[1]:
            self._rate_start, self._rate_what = (time.monotonic(), news.done), news.what
        self.changed.emit()

    def _finish(self, future: Future[Any]) -> None:
        if not self._wanted or not self.running:
            return
        try:
            result = future.result()
        except (Cancelled, CancelledError):
            self._end(State.CANCELLED)
            self.cancelled.emit()
        except SemblanceError as error:
            keep_description(error)
            self._fail(error)
        except Exception as error:  # noqa: BLE001 - the last door: a defect of ours is told, never swallowed
            failure = SemblanceError(
                tr(
                    "{title} failed because of a defect in Semblance ({kind}).",
                    title=self.title,
                    kind=type(error).__name__,
                ),
                tr("Your data is unharmed. Please report it with the details."),
            )
            keep_description(failure, of=error)
            self._fail(failure)
        else:
            self._end(State.DONE)
            self.done.emit(result)
        self.ended.emit()

    def _fail(self, error: SemblanceError) -> None:
        logger.error("job %d failed: %s", self.number, Plain(describe_failure(error)))
        error.message, error.hint = translate(error.message), translate(error.hint)
        self._end(State.FAILED)
        self.failed.emit(error)

    def _end(self, state: State) -> None:
        self.state = state
        seconds = time.monotonic() - self.started
        hidden = self.quiet and state != State.FAILED and seconds < SLOW_QUIET_S
        logger.log(
            logging.DEBUG if hidden else logging.INFO,
            "job %d, %s, %s after %.2f s",
            self.number,
            Plain(self.function),
            Plain(state.value),
            seconds,
        )
        self.changed.emit()


def _name_of(function: Callable[..., Any]) -> str:
    name = f"{getattr(function, '__module__', '?')}.{getattr(function, '__qualname__', '?')}"
    return name.removeprefix("semblance.core.")


class Jobs(QObject):
    """Starts jobs on the lanes' engines and keeps those under way."""

    added = Signal(object)
    removed = Signal(object)

    def __init__(self, parent: QObject | None = None) -> None:
        super().__init__(parent)
        self._post = MainThreadBridge()
        self._engines: dict[Lane, Engine] = {}
        self._loop_monitor = EventLoopMonitor(self)
        self._latest: dict[str, Job] = {}
        self.active: list[Job] = []
        self.listed: list[Job] = []

    def run(
        self,
        title: str,
        function: Callable[..., Any],
        *args: Any,
        lane: Lane = Lane.BACKGROUND,
        channel: str | None = None,
        quiet: bool = False,
        can_stop: bool = False,
        **kwargs: Any,
    ) -> Job:
        """Run ``function(*args, reporter=..., **kwargs)`` of ``core`` in a process.

        A new job on a ``channel`` cancels the one before, whose late result never arrives. ``quiet`` jobs
        (thumbnails, searches) are not listed. Connect to the job's signals right after the call.
        """
        job = Job(title, self._post, self, can_stop=can_stop)
        job.quiet = quiet
        job.function = _name_of(function)
        logger.log(
            logging.DEBUG if quiet else logging.INFO,
            "job %d, %s, started in lane %s",
            job.number,
            Plain(job.function),
            Plain(lane.value),
        )
        if channel is not None:
            before = self._latest.get(channel)
            if before is not None:
                before.cancel()
            self._latest[channel] = job
        self.active.append(job)
        self._loop_monitor.start()
        job.ended.connect(lambda: self._ended(job, channel, quiet))
        if not quiet:
            self.listed.append(job)
            self.added.emit(job)
        job.attach(self._engine(lane).submit(function, *args, listener=job.hear, **kwargs))
        return job

    def cancel_channel(self, channel: str) -> None:
        """Cancel what goes on under ``channel``, if anything does."""
        before = self._latest.get(channel)
        if before is not None:
            before.cancel()

    def wait(self, job: Job, seconds: float = 10.0) -> None:
        """Block until ``job`` is over, at most ``seconds``; only for what must be kept before the end."""
        with contextlib.suppress(TimeoutError, Cancelled, CancelledError, SemblanceError):
            job.result(seconds)

    def preload(self, lane: Lane, function: Callable[..., Any]) -> None:
        """Start a lane's process before it is needed; ``function`` imports what its jobs will use."""
        self.run("", function, lane=lane, quiet=True)

    def close_library(self, library: Path) -> None:
        """Let every process forget ``library``, which was closed, after what was asked of it before."""
        for lane in self._engines:
            if _LANES[lane][0] == 1:
                self.run("", close_library, library, lane=lane, quiet=True)

    def shutdown(self) -> None:
        """Cancel everything and wait until every process is gone."""
        for job in list(self.active):
            job.cancel()
        for engine in self._engines.values():
            engine.shutdown()
        self._engines.clear()

    def _engine(self, lane: Lane) -> Engine:
        if lane not in self._engines:
            workers, niceness = _LANES[lane]
            # One of several processes cannot be told apart to let a library go later.
            self._engines[lane] = Engine(
                workers, niceness=niceness, after=close_library if workers > 1 else None
            )
        return self._engines[lane]

    def _ended(self, job: Job, channel: str | None, quiet: bool) -> None:
        self.active.remove(job)
        if not self.active:
            self._loop_monitor.stop()
        if channel is not None and self._latest.get(channel) is job:
            del self._latest[channel]
        if not quiet:
            self.listed.remove(job)
            self.removed.emit(job)
        job.deleteLater()
