"""First paint: seconds from the start of the process to the first painted window, and what Qt costs alone."""

from __future__ import annotations

import os
import statistics
import subprocess
import sys
from pathlib import Path
from typing import Any

RUNS = 7
CLOCK = """
import os, time

def since_birth():
    ticks = open(f"/proc/{os.getpid()}/stat").read().rsplit(")", 1)[1].split()[19]
    return time.clock_gettime(time.CLOCK_BOOTTIME) - float(ticks) / os.sysconf("SC_CLK_TCK")

"""
WINDOW = """
from app.program import make_application
application = make_application()
from app.windows.main import MainWindow
window = MainWindow()
window.show()
application.processEvents()
print(since_birth())
window.close()
"""
BARE = """
from PySide6.QtWidgets import QApplication, QWidget
import pyqtgraph
application = QApplication([])
widget = QWidget()
widget.show()
application.processEvents()
print(since_birth())
"""


def run(data: Path | None) -> list[dict[str, Any]]:
    """Interleaved runs of the window and of an empty window with the same libraries; medians."""
    environment = {**os.environ, "QT_QPA_PLATFORM": "offscreen"}
    times: dict[str, list[float]] = {WINDOW: [], BARE: []}
    for _ in range(RUNS):
        for program, seconds in times.items():
            done = subprocess.run(
                [sys.executable, "-c", CLOCK + program],
                capture_output=True,
                text=True,
                check=True,
                env=environment,
            )
            seconds.append(float(done.stdout))
    window, bare = (statistics.median(seconds) for seconds in times.values())
    return [
        {"what": "first paint", "value": window, "unit": "s", "target": 0.8, "reached": window < 0.8},
        {"what": "an empty window, PySide6 and pyqtgraph", "value": bare, "unit": "s"},
        {"what": "first paint against the empty window", "value": window / bare, "unit": "times"},
    ]


if __name__ == "__main__":
    for row in run(None):
        print(row)
