"""The scripted use: what a person does with libraries all day, over and over."""

from __future__ import annotations

import itertools
from collections.abc import Callable, Iterator
from pathlib import Path

from PySide6.QtCore import QCoreApplication, QElapsedTimer, QEventLoop, Qt
from PySide6.QtTest import QTest

from app.operations import library as libraries
from app.operations import reporting, searching, training
from app.screenshot import settle
from app.windows.main import MainWindow
from core.searches.query import Query
from core.workflows.metrics.training import TrainRequest
from tests.helpers.windows import flush


def cycles(window: MainWindow, made: Path, out: Path) -> Iterator[int]:
    """Endless rounds through two libraries; yields the number of rounds done after each."""
    places = [made / "Walk.semblance", made / "Other.semblance"]
    for number in itertools.count(1):
        _round(window, places[number % 2], made, out, number)
        # The program's own event loop does this; one that is turned by hand does not.
        flush()
        yield number


def _round(window: MainWindow, library: Path, made: Path, out: Path, number: int) -> None:
    context = window.context
    window.open_library(library)
    _until(window, lambda: window.state.path == library)
    settle(window)
    ids = window.state.columns.ids
    for case in range(4):
        searching.ask(context, Query(case=ids[(number + 7 * case) % len(ids)]))
        settle(window)
    window.ranking.grid.setFocus()
    for key in (Qt.Key.Key_Right, Qt.Key.Key_Plus, Qt.Key.Key_Right, Qt.Key.Key_Minus):
        QTest.keyClick(window.ranking.grid, key)
    settle(window)
    for command in ("view_large", "compare"):
        if window.actions_[command].isEnabled():
            window.actions_[command].trigger()
            settle(window)
            QTest.keyClick(window, Qt.Key.Key_Escape)
            settle(window)
    window.leave_compare()
    window.leave_large()
    searching.ask(context, Query(image=made / "files" / "picture.png"))
    settle(window)
    request = TrainRequest("bdm_v", "soaked", settings={"rounds": 10}, seed=number % 5)
    training.train(context, request, "soaked", 10)
    settle(window)
    libraries.import_source(context, made / "pictures", library, "auto")
    settle(window)
    searching.ask(context, Query(case=ids[0]))
    settle(window)
    reporting.write_report(context, out / "report.pdf")
    settle(window)
    window.actions_["theme"].trigger()
    window.resize(1100 + 50 * (number % 5), 800)
    settle(window)
    _until_closed(window)


def _until_closed(window: MainWindow) -> None:
    window.actions_["close_library"].trigger()
    _until(window, lambda: window.state.library is None)
    settle(window)


def _until(window: MainWindow, there: Callable[[], bool], patience_ms: int = 120_000) -> None:
    clock = QElapsedTimer()
    clock.start()
    while not there():
        QCoreApplication.processEvents(QEventLoop.ProcessEventsFlag.AllEvents, 20)
        if clock.elapsed() > patience_ms:
            raise TimeoutError(f"{window.windowTitle()}: it did not happen")
