"""Ctrl-C in the terminal that started the window."""

from __future__ import annotations

import os
import signal
import sys
from collections.abc import Callable

from PySide6.QtCore import QObject, QSocketNotifier

#: Exit status of a program that was ended by Ctrl-C.
INTERRUPTED = 130


class Interrupt(QObject):
    """Closes the window at Ctrl-C in the terminal, also while nothing happens in it: Python calls a signal's handler
    only when it runs next, and an idle window runs no Python."""

    def __init__(self, close: Callable[[], object]) -> None:
        super().__init__()
        self.received, self._close = False, close
        if sys.platform == "win32":
            # Wake-up works with sockets only there, and Ctrl-C in a console closes the program anyway.
            return
        self._reader, writer = os.pipe()
        os.set_blocking(writer, False)
        self._notifier = QSocketNotifier(self._reader, QSocketNotifier.Type.Read, self)
        self._notifier.activated.connect(self._wake)
        signal.signal(signal.SIGINT, self._interrupted)
        signal.set_wakeup_fd(writer, warn_on_full_buffer=False)

    def _interrupted(self, *_: object) -> None:
        self.received = True

    def _wake(self) -> None:
        os.read(self._reader, 64)
        if self.received:
            self._close()
