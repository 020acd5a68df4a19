"""Finds what a test left running or open: threads, child processes, windows."""

from __future__ import annotations

import gc
import multiprocessing
import sys
import threading
import time
from dataclasses import dataclass
from pathlib import Path

#: Threads that libraries keep for the life of the process.
KNOWN_THREADS = ("zarr_io", "zarr_pool_", "asyncio_")
#: Windows that Qt itself keeps and reuses.
KNOWN_WIDGETS = ("QTipLabel",)
#: What was told to end gets this long before it counts as left over.
PATIENCE_S = 5.0


@dataclass(frozen=True)
class Snapshot:
    """What is alive at one moment."""

    threads: frozenset[threading.Thread]
    children: frozenset[int]
    widgets: frozenset[int]

    @classmethod
    def take(cls) -> Snapshot:
        return cls(
            frozenset(_threads()),
            frozenset(child.pid or 0 for child in multiprocessing.active_children()),
            frozenset(_widgets()),
        )

    def new_since(self) -> list[str]:
        """One line for each thing that is alive now and was not then."""
        found = [f"thread {t.name!r}" for t in _threads() if t not in self.threads]
        found += [
            f"child process {child.name!r}"
            for child in multiprocessing.active_children()
            if (child.pid or 0) not in self.children
        ]
        found += [f"window {name}" for key, name in _widgets().items() if key not in self.widgets]
        return found


def left_over(before: Snapshot, patience_s: float = PATIENCE_S) -> list[str]:
    """What came after ``before`` and is still there when patience runs out, one line each."""
    deadline = time.monotonic() + patience_s
    while True:
        _settle_qt()
        found = before.new_since()
        if not found or time.monotonic() > deadline:
            return found
        gc.collect()
        time.sleep(0.02)


def _threads() -> list[threading.Thread]:
    return [t for t in threading.enumerate() if not t.name.startswith(KNOWN_THREADS) and _runs(t)]


def _runs(thread: threading.Thread) -> bool:
    if not isinstance(thread, threading._DummyThread):
        return thread.is_alive()
    # Python's note of a foreign thread (a QThread, say) outlives the thread; the system knows better.
    tasks = Path("/proc/self/task")
    return tasks.is_dir() and (tasks / str(thread.native_id)).is_dir()


def _widgets() -> dict[int, str]:
    """Top-level widgets by their address."""
    if "PySide6.QtWidgets" not in sys.modules:
        return {}
    import shiboken6
    from PySide6.QtWidgets import QApplication

    return {
        shiboken6.getCppPointer(widget)[0]: f"{type(widget).__name__} {widget.objectName()!r}"
        for widget in QApplication.topLevelWidgets()
        if widget.metaObject().className() not in KNOWN_WIDGETS
    }


def _settle_qt() -> None:
    """Let Qt delete what was told to go."""
    if "PySide6.QtWidgets" not in sys.modules:
        return
    from PySide6.QtCore import QCoreApplication, QEvent

    if QCoreApplication.instance() is not None:
        QCoreApplication.processEvents()
        QCoreApplication.sendPostedEvents(None, QEvent.Type.DeferredDelete.value)
