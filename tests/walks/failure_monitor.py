"""Notices what must not happen while somebody uses the window: exceptions, Qt warnings, stalls."""

from __future__ import annotations

import ctypes
import logging
import os
import sys
import threading
import time
import traceback
import warnings
from collections.abc import Callable
from dataclasses import dataclass, field
from pathlib import Path
from types import TracebackType
from typing import Any, NamedTuple, Self, TypeVar

from PySide6.QtCore import QObject, Qt, QTimer

Found = TypeVar("Found")
PERIOD_MS = 5
#: A loop that came round so lately is not late.
CALM_MS = 20
#: The watcher looks at the other threads so often: it must not hold anybody up itself.
AFRESH_S = 0.25
#: A thread that worked and waited less than this during a stall is not reported.
WORTH_MS = 5
_C = ctypes.CDLL(None) if sys.platform == "linux" else None
#: Qt's messages that say nothing about Semblance, as in pyproject.toml.
HARMLESS = ("This plugin does not support", "Detected locale")


@dataclass(frozen=True)
class Stall:
    """The event loop did not come round for so long, without the time others had the processor: programs of
    this machine, or, where it is a virtual one, its host.

    ``wall_ms`` with that time, of which the host had ``stolen_ms``, and ``stolen_most_ms`` the processor it
    had most, on which another thread may have held the interpreter; ``busy_ms`` is what the window's thread
    itself computed meanwhile. Far less of it than ``ms`` tells of waiting: for a disk, a lock, or the
    interpreter, which a thread may have that waits for a processor itself. ``others_ms`` is what all other
    threads of the program so waited, since a quarter of a second before at most, and ``threads`` tells of
    each that worked or waited meanwhile, with where it was when the stall was noticed. ``fetched`` pages of
    memory the window's thread had to wait for until they were read from the disk.
    """

    ms: float
    doing: str
    stack: str
    wall_ms: float = 0.0
    busy_ms: float = 0.0
    others_ms: float = 0.0
    threads: str = ""
    stolen_ms: float = 0.0
    stolen_most_ms: float = 0.0
    fetched: int = 0


class _Logged(logging.Handler):
    def __init__(self, watch: Watch) -> None:
        super().__init__(logging.WARNING)
        self._watch = watch

    def emit(self, record: logging.LogRecord) -> None:
        text = record.getMessage()
        if not any(part in text for part in HARMLESS):
            self._watch.problems.append(f"{self._watch.doing}: {text}")


@dataclass
class Watch:
    """Use it around the walk; ``problems`` are exceptions and warnings, ``stalls`` what took too long."""

    limit_ms: float
    doing: str = "starting"
    problems: list[str] = field(default_factory=list)
    stalls: list[Stall] = field(default_factory=list)
    longest_ms: float = 0.0
    longest_busy_ms: float = 0.0

    def __enter__(self) -> Self:
        self._task = threading.get_native_id()
        self._qt = logging.getLogger("semblance.qt")
        self._handler = _Logged(self)
        self._qt.addHandler(self._handler)
        self._hooks = (sys.excepthook, sys.unraisablehook, warnings.showwarning)
        sys.excepthook = self._raised
        sys.unraisablehook = self._unraisable
        warnings.showwarning = self._warned
        self._owner = QObject()
        self._timer = QTimer(self._owner)
        self._timer.setTimerType(Qt.TimerType.PreciseTimer)
        self._timer.timeout.connect(self._beat)
        self._last, self._waited, self._busy = time.perf_counter(), self._run_delay(), time.thread_time()
        self._stolen, self._fetched = _stolen(), _fetched()
        self._stack = self._was_doing = ""
        self._stacks: dict[int, str] = {}
        self._calm, self._calm_at = _times(), self._last
        self._over = threading.Event()
        self._watcher = threading.Thread(target=self._look, name="watcher", daemon=True)
        self._watcher.start()
        self._timer.start(PERIOD_MS)
        return self

    def __exit__(self, *_: object) -> None:
        self._timer.stop()
        self._over.set()
        self._watcher.join()
        self._qt.removeHandler(self._handler)
        sys.excepthook, sys.unraisablehook, warnings.showwarning = self._hooks

    def apart(self, look: Callable[[], Found]) -> Found:
        """What ``look`` finds; its time counts for no stall."""
        begin, busy = time.perf_counter(), time.thread_time()
        try:
            return look()
        finally:
            self._last += time.perf_counter() - begin
            self._busy += time.thread_time() - busy

    def _raised(self, kind: type[BaseException], error: BaseException, trace: TracebackType | None) -> None:
        self.problems.append(f"{self.doing}: " + "".join(traceback.format_exception(kind, error, trace)))

    def _unraisable(self, args: Any) -> None:
        self.problems.append(f"{self.doing}: {args.err_msg} {args.exc_type.__name__}: {args.exc_value}")

    def _warned(self, message: Warning | str, category: type[Warning], file: str, line: int, *_: Any) -> None:
        self.problems.append(f"{self.doing}: {category.__name__}: {message} ({file}:{line})")

    def _beat(self) -> None:
        now, waited, busy = time.perf_counter(), self._run_delay(), time.thread_time()
        wall, stolen, fetched = 1000 * (now - self._last) - PERIOD_MS, _stolen(), _fetched()
        taken, most = _taken(self._stolen, stolen)
        # While a thread waits for a processor the host may have that one too: the longer of both counts.
        lost = max(taken, waited - self._waited)
        late, computed = wall - lost, 1000 * (busy - self._busy)
        if late > self.longest_ms:
            self.longest_ms, self.longest_busy_ms = late, computed
        if self.limit_ms and late > self.limit_ms:
            spent = {
                task: (time.worked - before.worked, time.waited - before.waited)
                for task, time in _times().items()
                for before in (self._calm.get(task, NONE),)
                if task != self._task
            }
            others = sum(delay for _, delay in spent.values())
            text = "\n".join(
                f"{_name_of(task)}: {worked:.0f} ms computing, waited {delay:.0f} ms for a processor\n"
                f"{self._stacks.get(task, '')}"
                for task, (worked, delay) in sorted(spent.items(), key=lambda one: -sum(one[1]))
                if worked + delay >= WORTH_MS
            )
            self.stalls.append(
                Stall(
                    late,
                    self._was_doing or self.doing,
                    self._stack,
                    wall,
                    computed,
                    others,
                    text,
                    taken,
                    most,
                    fetched - self._fetched,
                )
            )
        self._last, self._waited, self._busy = now, waited, busy
        self._stolen, self._fetched = stolen, fetched
        self._stack, self._was_doing, self._stacks = "", "", {}

    def _run_delay(self) -> float:
        """Milliseconds the window's thread was ready to run and others had the processor; 0 where nobody
        tells."""
        return _time_of(self._task).waited

    def _look(self) -> None:
        """Note what the event loop is at when it is late, and what the other threads are at."""
        while not self._over.wait(0.02):
            late = 1000 * (time.perf_counter() - self._last)
            if late < CALM_MS and time.perf_counter() - self._calm_at > AFRESH_S:
                self._calm, self._calm_at = _times(), time.perf_counter()
            if self.limit_ms and late > 0.6 * self.limit_ms and not self._stack:
                self._was_doing = self.doing
                self._stacks = _stacks(self._task)
                self._stack = self._stacks.get(self._task, "")


class _Time(NamedTuple):
    """Milliseconds a thread had a processor, and was ready to run while others had it."""

    worked: float
    waited: float


NONE = _Time(0.0, 0.0)


def _stacks(main: int) -> dict[int, str]:
    """Where each thread is, ``main`` the window's. A stored frame would hold what it paints with."""
    tasks = {thread.ident: thread.native_id for thread in threading.enumerate()}
    # In a copy of a process it has the number of the one that was copied.
    tasks[threading.main_thread().ident] = main
    return {
        tasks[ident] or 0: "".join(traceback.format_stack(frame)[-8:])
        for ident, frame in sys._current_frames().items()
        if ident in tasks and ident != threading.get_ident()
    }


def _times() -> dict[int, _Time]:
    """How long each thread of the program worked and waited; nothing where the system does not report it."""
    try:
        tasks = os.listdir("/proc/self/task")  # noqa: PTH208 - as quick as can be
    except OSError:
        return {}
    return {int(task): _time_of(int(task)) for task in tasks}


def _time_of(task: int) -> _Time:
    """Of a thread, out of ``schedstat``; 0 where there is none.

    Read without a file object: whoever watches has the interpreter meanwhile.
    """
    try:
        file = os.open(f"/proc/self/task/{task}/schedstat", os.O_RDONLY)
        try:
            worked, waited, _ = os.read(file, 200).split()
        finally:
            os.close(file)
    except (OSError, ValueError):
        return NONE
    return _Time(int(worked) / 1e6, int(waited) / 1e6)


def _stolen() -> tuple[float, ...]:
    """Milliseconds the host had each processor of a virtual machine while something was ready to run on it;
    nothing where the system does not report it."""
    try:
        file = os.open("/proc/stat", os.O_RDONLY)
        try:
            lines = os.read(file, 200 * (1 + (os.cpu_count() or 1))).splitlines()
        finally:
            os.close(file)
    except OSError:
        return ()
    tick = 1000 / os.sysconf("SC_CLK_TCK")
    fields = [line.split() for line in lines if line.startswith(b"cpu") and line[3:4].isdigit()]
    return tuple(int(of[8]) * tick for of in fields if len(of) > 8)


def _fetched() -> int:
    """Pages of memory the calling thread waited for that were read from the disk; 0 where it is not known."""
    if sys.platform != "linux":
        return 0
    import resource

    return resource.getrusage(resource.RUSAGE_THREAD).ru_majflt


def _taken(before: tuple[float, ...], after: tuple[float, ...]) -> tuple[float, float]:
    """What the host had meanwhile of the processor the calling thread is on, and of the one it had most."""
    taken = [now - then for then, now in zip(before, after, strict=False)]
    if not taken or _C is None:
        return 0.0, 0.0
    here = _C.sched_getcpu()
    return taken[here] if 0 <= here < len(taken) else 0.0, max(taken)


def _name_of(task: int) -> str:
    """What the system, and Python where it knows it, call a thread."""
    own = next((thread.name for thread in threading.enumerate() if thread.native_id == task), "")
    try:
        return f"{own} ({Path(f'/proc/self/task/{task}/comm').read_text().strip()})".strip()
    except OSError:
        return own or "a thread that ended"
