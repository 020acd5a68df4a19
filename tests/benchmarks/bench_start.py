"""First paint: seconds from the start of the process to the first painted window, and what Qt costs alone.

Python keeps its bytecode, as it does where the program is installed; the time without it is a separate row.
"""

from __future__ import annotations

import os
import statistics
import subprocess
import sys
import tempfile
from pathlib import Path
from typing import Any

from tests.benchmarks.harness import row

RUNS = 5
NO_BYTECODE = {"PYTHONDONTWRITEBYTECODE": "1", "PYTHONPYCACHEPREFIX": "/nowhere"}
CLOCK = """
import os, time

def since_birth():
    ticks = open(f"/proc/{os.getpid()}/stat").read().rsplit(")", 1)[1].split()[19]
    return time.clock_gettime(time.CLOCK_BOOTTIME) - float(ticks) / os.sysconf("SC_CLK_TCK")

"""
WINDOW = """
from semblance.app.application import make_application
application = make_application()
from semblance.app.window.main_window import MainWindow
window = MainWindow()
window.show()
application.processEvents()
print(since_birth())
window.close()
"""
BARE = """
from PySide6.QtWidgets import QApplication, QWidget
application = QApplication([])
widget = QWidget()
widget.show()
application.processEvents()
print(since_birth())
"""


def run(data: Path | None) -> list[dict[str, Any]]:
    """Interleaved runs of the window, also without bytecode, and of an empty window; medians."""
    programs = {"window": (WINDOW, {}), "no bytecode": (WINDOW, NO_BYTECODE), "bare": (BARE, {})}
    times: dict[str, list[float]] = {name: [] for name in programs}
    with tempfile.TemporaryDirectory() as bytecode:
        common = {name: value for name, value in os.environ.items() if name not in NO_BYTECODE}
        common |= {"QT_QPA_PLATFORM": "offscreen", "PYTHONPYCACHEPREFIX": bytecode}
        for turn in range(1 + RUNS):
            for name, (program, special) in programs.items():
                done = subprocess.run(
                    [sys.executable, "-c", CLOCK + program],
                    capture_output=True,
                    text=True,
                    check=True,
                    env=common | special,
                )
                # The first turn writes the bytecode.
                times[name] += [float(done.stdout)] if turn else []
    window, source, bare = (statistics.median(seconds) for seconds in times.values())
    return [
        row("first paint", window, "s", most=0.8),
        row("first paint without bytecode", source, "s"),
        row("an empty window, PySide6 alone", bare, "s"),
        row("first paint against the empty window", window / bare, "times"),
    ]
