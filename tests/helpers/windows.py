"""Driving the real window in tests: open it, wait until it rests, close it."""

from __future__ import annotations

import contextlib
from collections.abc import Iterator
from pathlib import Path

from PySide6.QtCore import QCoreApplication, QEvent

from app.program import make_application
from app.screenshot import settle
from app.windows.main import MainWindow


def flush() -> None:
    """Let everything that was deleted later be gone."""
    for _ in range(3):
        QCoreApplication.sendPostedEvents(None, QEvent.Type.DeferredDelete.value)
        QCoreApplication.processEvents()


@contextlib.contextmanager
def open_window(library: Path | None = None) -> Iterator[MainWindow]:
    """The window as a person starts it, at rest; closed at the end as a person closes it."""
    make_application()
    window = MainWindow()
    window.show()
    window.start(library)
    try:
        settle(window)
        yield window
    finally:
        window.close()
        window.deleteLater()
        flush()
