"""The event loop of the window: delayed calls, steps for idle time, and log entries when it is blocked."""

from __future__ import annotations

import time
from collections import deque
from collections.abc import Callable, Iterable

from PySide6.QtCore import QObject, Qt, QThread, QTimer

from semblance.core.log import logger

#: Interval at which it is checked whether a thread has finished.
_POLL_MS = 5

#: The processor time after which a turn of the event loop leaves what else there is to do to the next.
TURN_S = 0.002
#: A longer turn of the event loop is logged.
LIMIT_S = 0.05
#: Interval of the measurements. A turn may be this much longer than logged.
INTERVAL_MS = 20


def one_shot(owner: QObject, then: Callable[[], object], milliseconds: int = 0) -> QTimer:
    """A timer of ``owner`` that calls ``then`` once, ``milliseconds`` after the last ``start``."""
    timer = QTimer(owner)
    timer.setSingleShot(True)
    timer.setInterval(milliseconds)
    timer.timeout.connect(then)
    return timer


class IdleQueue(QObject):
    """Runs short steps, each in its own turn of the event loop, so that keys and clicks go first.

    After a step that returns a thread the next ones wait until it has finished.
    """

    def __init__(self, parent: QObject) -> None:
        super().__init__(parent)
        self._steps: deque[Callable[[], object]] = deque()
        self._thread: QThread | None = None
        self._timer = QTimer(self)
        self._timer.setInterval(0)
        self._timer.timeout.connect(self._run_next)

    @property
    def done(self) -> bool:
        """Whether the queue is empty."""
        return not self._steps

    def add(self, steps: Iterable[Callable[[], object]]) -> None:
        """Append ``steps``."""
        self._steps.extend(steps)
        self._timer.start()

    def stop(self) -> None:
        """Remove the steps that have not run."""
        self._steps.clear()
        self._timer.stop()

    def _run_next(self) -> None:
        if self._thread is not None and not self._thread.isFinished():
            return
        step = self._steps.popleft()() if self._steps else None
        self._thread = step if isinstance(step, QThread) else None
        self._timer.setInterval(_POLL_MS if self._thread is not None else 0)
        if not self._steps:
            self._timer.stop()


class EventLoopMonitor(QObject):
    """Measures the event loop of its thread between :meth:`start` and :meth:`stop`."""

    def __init__(self, parent: QObject | None = None) -> None:
        super().__init__(parent)
        self._last = 0.0
        self._timer = QTimer(self)
        self._timer.setTimerType(Qt.TimerType.PreciseTimer)
        self._timer.setInterval(INTERVAL_MS)
        self._timer.timeout.connect(self._measure)

    def start(self) -> None:
        """Start to measure."""
        if not self._timer.isActive():
            self._last = time.monotonic()
            self._timer.start()

    def stop(self) -> None:
        """Stop measuring."""
        self._timer.stop()

    def _measure(self) -> None:
        now = time.monotonic()
        delay = now - self._last - INTERVAL_MS / 1000
        self._last = now
        if delay > LIMIT_S:
            logger.warning("the window was busy for %d ms", round(1000 * delay))
