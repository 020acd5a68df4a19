"""Progress of long work in terminals and notebooks."""

from __future__ import annotations

import contextlib
import signal
import sys
import threading
import time
from collections.abc import Callable
from types import FrameType
from typing import Any, Self

from semblance.core.language import visible
from semblance.core.log import PhaseLog
from semblance.core.tasks import Cancelled, Reporter

#: Shorter work shows nothing, and longer work is shown so often (seconds).
WAIT_S, INTERVAL_S = 0.6, 0.1
#: Characters of the bar and of what stands before it.
_BAR, _TITLE = 24, 40


#: Held while a workflow runs: what they keep loaded is not made for several threads.
one_at_a_time = threading.RLock()


def run(function: Callable[..., Any], *args: Any, shown: bool = True, **options: Any) -> Any:
    """``function(*args, reporter=..., **options)`` of the workflows, with a :class:`ProgressBar` if ``shown``.

    As in the window and on the command line numerical libraries use one thread, so that the same call gives the same
    digits everywhere; what the caller's program had is restored at the end.
    """
    # Only libraries that are loaded can be limited.
    import scipy.linalg  # noqa: F401

    from semblance.core.threads import one_thread

    with one_at_a_time, ProgressBar(shown=shown) as reporter, one_thread():
        return function(*args, reporter=reporter, **options)


class ProgressBar(Reporter):
    """One line on stderr with what is being done, how much of it, and the time left, in a terminal or a notebook.

    It appears after :data:`WAIT_S` and is removed at the end. Where stderr is a file or a pipe nothing is written.
    Ctrl-C, and the stop button of a notebook, end the work as soon as it is safe: what is finished is kept.
    """

    def __init__(self, *, shown: bool = True) -> None:
        self._shown = shown and _shows_lines()
        self._lock = threading.Lock()
        self._begin = self._next = time.monotonic()
        self._next += WAIT_S
        self._what, self._what_began = "", self._begin
        self._written = 0
        self._cancelled = threading.Event()
        self._before: Any = None
        self._phases = PhaseLog()

    def __enter__(self) -> Self:
        with contextlib.suppress(ValueError):  # only the main thread may take signals
            self._before = signal.signal(signal.SIGINT, self._interrupted)
        return self

    def __exit__(self, kind: type[BaseException] | None, *_: object) -> None:
        if self._before is not None:
            signal.signal(signal.SIGINT, self._before)
        self._phases.end()
        self._write("")
        if kind is not None and issubclass(kind, Cancelled) and self._cancelled.is_set():
            # What an interrupted program raises; a program may catch it as of any other work.
            raise KeyboardInterrupt from None

    def progress(self, done: int, total: int | None, what: str) -> None:
        """Show it, at most every :data:`INTERVAL_S`."""
        self._phases.enter(what)
        now = time.monotonic()
        with self._lock:
            if what != self._what:
                self._what, self._what_began = what, now
            if not self._shown or now < self._next:
                return
            self._next = now + INTERVAL_S
            self._write(_line(done, total, str(what), now - self._what_began))

    def check_cancelled(self) -> None:
        """Raises Cancelled after Ctrl-C."""
        if self._cancelled.is_set():
            raise Cancelled

    def _write(self, line: str) -> None:
        if self._written or line:
            with contextlib.suppress(OSError, ValueError):
                sys.stderr.write("\r" + line.ljust(self._written) + ("" if line else "\r"))
                sys.stderr.flush()
        self._written = len(line)

    def _interrupted(self, _signal: int, _frame: FrameType | None) -> None:
        if self._cancelled.is_set():
            raise KeyboardInterrupt
        self._cancelled.set()


def _shows_lines() -> bool:
    """Whether stderr rewrites a line: a terminal, or the output of a notebook."""
    stream = sys.stderr
    if stream is None:
        return False
    return stream.isatty() or type(stream).__module__.startswith("ipykernel")


def _line(done: int, total: int | None, what: str, seconds: float) -> str:
    title = visible(what)
    title = title if len(title) <= _TITLE else title[: _TITLE - 1] + "…"
    if not total:
        return f"{title}: {_time(seconds)}"
    share = min(1.0, done / total)
    bar = ("█" * round(share * _BAR)).ljust(_BAR, "░")
    left = f", {_time(seconds * (total - done) / done)} left" if 0 < done < total and seconds > 1 else ""
    return f"{title}: {share:4.0%} {bar} {done:,}/{total:,} [{_time(seconds)}{left}]"


def _time(seconds: float) -> str:
    minutes, rest = divmod(round(seconds), 60)
    hours, minutes = divmod(minutes, 60)
    return f"{hours}:{minutes:02}:{rest:02}" if hours else f"{minutes}:{rest:02}"
