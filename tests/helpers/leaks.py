"""Finds threads, child processes and windows that a test did not end or close."""

from __future__ import annotations

import gc
import multiprocessing
import sys
import threading
import time
from dataclasses import dataclass
from pathlib import Path

#: Threads of libraries that run as long as the process.
KNOWN_THREADS = ("zarr_io", "zarr_pool_", "asyncio_", "Dask-Callback-Thread_")
#: Windows that Qt reuses.
KNOWN_WIDGETS = ("QTipLabel",)
#: Time limit for threads and processes to end.
PATIENCE_S = 5.0


@dataclass(frozen=True)
class Snapshot:
    """The threads, child processes and windows at one moment."""

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
        """A line for each thread, process or window that is new since the snapshot."""
        leaks = [f"thread {t.name!r}" for t in _threads() if t not in self.threads]
        leaks += [
            f"child process {child.name!r}"
            for child in multiprocessing.active_children()
            if (child.pid or 0) not in self.children
        ]
        leaks += [f"window {name}" for key, name in _widgets().items() if key not in self.widgets]
        return leaks


def find_leaks(snapshot: Snapshot, patience_s: float = PATIENCE_S) -> list[str]:
    """What is new since ``snapshot`` and does not end within ``patience_s``, a line each."""
    deadline = time.monotonic() + patience_s
    while True:
        _settle_qt()
        leaks = snapshot.new_since()
        if not leaks or time.monotonic() > deadline:
            return leaks
        gc.collect()
        time.sleep(0.02)


def _threads() -> list[threading.Thread]:
    return [t for t in threading.enumerate() if not t.name.startswith(KNOWN_THREADS) and _is_running(t)]


def _is_running(thread: threading.Thread) -> bool:
    if not isinstance(thread, threading._DummyThread):
        return thread.is_alive()
    # Python still lists foreign threads (a QThread, for example) after they ended; the system does not.
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
    """Delete the Qt objects that wait for their deletion."""
    if "PySide6.QtWidgets" not in sys.modules:
        return
    from PySide6.QtCore import QCoreApplication, QEvent

    if QCoreApplication.instance() is not None:
        QCoreApplication.processEvents()
        QCoreApplication.sendPostedEvents(None, QEvent.Type.DeferredDelete.value)
