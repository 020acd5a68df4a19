"""Log entries when the event loop of the main thread is blocked while jobs run."""

from __future__ import annotations

import time

from PySide6.QtCore import QObject, Qt, QTimer

from semblance.core.log import logger

#: A longer turn of the event loop is logged.
LIMIT_S = 0.05
#: Interval of the measurements. A turn may be this much longer than logged.
INTERVAL_MS = 20


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
