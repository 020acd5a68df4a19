"""Ctrl-C in the terminal ends the window, also while nothing happens in it."""

from __future__ import annotations

import signal
import subprocess
import sys

import pytest

IDLE = """
import sys
from PySide6.QtWidgets import QApplication, QWidget
from semblance.app.application import INTERRUPTED, Interrupt
application, window = QApplication([]), QWidget()
window.show()
interrupt = Interrupt(window.close)
print("shown", flush=True)
application.exec()
sys.exit(INTERRUPTED if interrupt.received else 0)
"""


@pytest.mark.skipif(
    sys.platform == "win32", reason="Windows has no such signal for a process of another console"
)
def test_an_idle_window_is_closed():
    with subprocess.Popen([sys.executable, "-c", IDLE], stdout=subprocess.PIPE, text=True) as program:
        assert program.stdout.readline() == "shown\n"
        program.send_signal(signal.SIGINT)
        try:
            assert program.wait(60) == 130
        finally:
            program.kill()
