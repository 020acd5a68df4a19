"""Notes in the log when the window's thread was busy for longer than it may, while work goes on."""

from __future__ import annotations

import time

from PySide6.QtCore import QObject, Qt, QTimer

from semblance.core.log import logger

#: No turn of the window's thread takes longer.
LIMIT_S = 0.05
#: How often the thread is asked; a turn may be this much longer than noted.
INTERVAL_MS = 20


class EventLoopMonitor(QObject):
    """Watches the thread it lives in between :meth:`start` and :meth:`stop`; it costs nothing otherwise."""

    def __init__(self, parent: QObject | None = None) -> None:
        super().__init__(parent)
        self._last = 0.0
        self._timer = QTimer(self)
        self._timer.setTimerType(Qt.TimerType.PreciseTimer)
        self._timer.setInterval(INTERVAL_MS)
        self._timer.timeout.connect(self._measure)

    def start(self) -> None:
        """Watch from now on."""
        if not self._timer.isActive():
            self._last = time.monotonic()
            self._timer.start()

    def stop(self) -> None:
        """Watch no longer."""
        self._timer.stop()

    def _measure(self) -> None:
        now = time.monotonic()
        late = now - self._last - INTERVAL_MS / 1000
        self._last = now
        if late > LIMIT_S:
            logger.warning("the window was busy for %d ms", round(1000 * late))
