"""A large library opened in the window: from opening to the painted cards, and the memory of the window's process.

The catalogue's cases have no images. The window is warm: only the library is opened, as from the list of recent ones.
"""

from __future__ import annotations

import os
import tempfile
import time
from pathlib import Path
from typing import Any

from tests.benchmarks.harness import row

#: Cases -> seconds until they are painted.
SIZES = {100_000: 1.5, 1_000_000: 3.0}
MEGABYTES = 600.0
SCALE = 1 << 10


def run(data: Path | None) -> list[dict[str, Any]]:
    os.environ.setdefault("QT_QPA_PLATFORM", "offscreen")
    rows: list[dict[str, Any]] = []
    with tempfile.TemporaryDirectory() as folder:
        os.environ["XDG_CONFIG_HOME"] = folder
        for cases, seconds in SIZES.items():
            library = _library(Path(folder) / f"{cases}.semblance", cases)
            rows += _opened(library, cases, seconds)
    return rows


def _library(path: Path, cases: int) -> Path:
    from semblance.core.library.library import Library
    from tests.benchmarks.synthetic_catalogue import catalogue

    library = Library.create(path)
    catalogue(library, cases)
    library.close()
    return path


def _opened(library: Path, cases: int, target: float) -> list[dict[str, Any]]:
    from semblance.app.screenshot import process_events
    from tests.helpers.windows import open_window

    with open_window(None, workspace="read") as window:
        before = time.thread_time()
        begin = time.perf_counter()
        window.open_library(library)
        while len(window.state.columns) < cases:
            process_events()
        window.panels.library.grid.viewport().repaint()
        seconds, computed = time.perf_counter() - begin, time.thread_time() - before
        memory = _megabytes()
    return [
        row(f"{cases:,} cases opened and painted", seconds, "s", most=target),
        row(f"{cases:,} cases: work of the window's thread", computed, "s"),
        row(
            f"{cases:,} cases: memory of the window",
            memory,
            "MB",
            most=MEGABYTES if cases == min(SIZES) else None,
        ),
    ]


def _megabytes() -> float:
    status = Path("/proc/self/status").read_text(encoding="ascii")
    return int(next(line for line in status.splitlines() if line.startswith("VmRSS:")).split()[1]) / SCALE
