"""Opens the real window, waits until it is idle, and closes it."""

from __future__ import annotations

import contextlib
from collections.abc import Callable, Iterator
from pathlib import Path

from PySide6.QtCore import QCoreApplication, QElapsedTimer, QEvent

from semblance.app.application import make_application
from semblance.app.screenshot import process_events, wait_until_idle
from semblance.app.shell import search_operations
from semblance.app.window.main_window import MainWindow
from semblance.app.window.workspaces import RESEARCH
from semblance.core.searches.query import Query
from tests.helpers.patient_qtbot import PATIENCE_MS


def flush() -> None:
    """Delete all objects that wait for their deletion."""
    for _ in range(3):
        QCoreApplication.sendPostedEvents(None, QEvent.Type.DeferredDelete.value)
        QCoreApplication.processEvents()


def search_first_case(window: MainWindow) -> None:
    """Search with the first case and wait for the ranking."""
    search_operations.submit_query(window.context, Query(case=window.state.columns.ids[0]))
    wait_for(window, lambda: window.state.ranking is not None)


def wait_for(window: MainWindow, condition: Callable[[], object]) -> None:
    """Run the event loop until ``condition`` holds and the window is idle. An error message fails the test."""
    clock = QElapsedTimer()
    clock.start()
    while not condition():
        process_events()
        errors = [m for m in window.context.messages.history if m.level == "error"]
        assert not errors, f"{errors[0].what} {errors[0].hint} {errors[0].details}"
        assert clock.elapsed() < PATIENCE_MS, "it did not happen"
    wait_until_idle(window)


@contextlib.contextmanager
def open_window(library: Path | None = None, *, workspace: str = RESEARCH.name) -> Iterator[MainWindow]:
    """Open the window as a user does and wait until it is idle. It is closed at the end. ``workspace``: at its start;
    empty for the one last used."""
    make_application()
    window = MainWindow()
    if workspace:
        window.workspaces.choose(workspace)
    window.show()
    window.start(library)
    try:
        wait_until_idle(window)
        yield window
    finally:
        window.close()
        window.deleteLater()
        flush()
