"""A queue of steps for idle time."""

from __future__ import annotations

from collections import deque
from collections.abc import Callable, Iterable

from PySide6.QtCore import QObject, QThread, QTimer

#: Interval at which it is checked whether a thread has finished.
_POLL_MS = 5


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
