"""The grid of 100,000 cases: frames, jumps to places not loaded yet, resize, filter, sort, memory.

The times are the processor time of the thread that draws, so that they say the same on a busy machine.
"""

from __future__ import annotations

import gc
import random
import time
from collections.abc import Callable, Sequence
from concurrent.futures import ProcessPoolExecutor
from dataclasses import dataclass
from multiprocessing import get_context
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt

from tests.benchmarks.harness import row

CASES = 100_000
TEXTS = ("us-1", "us-00", "p1", "malignant", "malignant us-2", "", "us-99999", "9", "u", "no such")
FRAME_MS, STALL_MS, GROWTH_MB = 8.0, 50.0, 120.0


def run(data: Path | None) -> list[dict[str, Any]]:
    from PySide6.QtCore import QTimer
    from PySide6.QtWidgets import QApplication

    from semblance.app.shell.theme import set_theme
    from semblance.app.widgets.cards.case_grid import CaseGrid
    from semblance.app.widgets.cards.case_model import CaseModel
    from semblance.app.widgets.thumbnail_loader import ThumbnailLoader

    app = QApplication.instance() or QApplication([])
    assert isinstance(app, QApplication)
    set_theme(app, "dark")
    start = _megabytes()
    # As in the program, where a worker makes them.
    with ProcessPoolExecutor(1, mp_context=get_context("spawn")) as worker:
        columns = worker.submit(_columns).result()
    images = [np.random.default_rng(seed).integers(0, 255, (160, 160, 3), np.uint8) for seed in range(16)]

    def fetch(rows: list[int], done: Callable[[Sequence[Any]], None]) -> None:
        answer = [_Image(row, images[row % len(images)]) for row in rows]
        QTimer.singleShot(3, lambda: done(answer))

    grid = CaseGrid()
    grid.set_source(ThumbnailLoader(fetch))
    grid.resize(1100, 900)
    everything = columns.ordered_by_id()
    distances = np.linspace(0.1, 2.0, CASES)
    duplicate_counts = np.zeros(CASES, dtype=np.int64)
    shown, _ = _timed(
        lambda: (grid.set_model(CaseModel(columns, everything, distances, duplicate_counts)), grid.show())
    )
    _settle(app)

    bar, view = grid.verticalScrollBar(), grid.viewport()
    chance = random.Random(0)
    scrolls, jumps, arrivals, filters, sorts = [], [], [], [], []
    for _ in range(300):
        scrolls += _frames(app, lambda: (bar.setValue(bar.value() + 60), app.processEvents()))
    for _ in range(300):
        jumps.append(_timed(lambda: (bar.setValue(chance.randrange(bar.maximum())), view.repaint()))[0])
        arrivals += _frames(app, lambda: None)
    resizes = [
        _timed(lambda w=width: (grid.resize(w, 900), view.repaint()))[0] for width in range(700, 1300, 9)
    ]
    grid.resize(1100, 900)
    for text in TEXTS * 5:
        filters.append(_timed(lambda text=text: _filter(grid, columns, text))[0])
        _settle(app)
    for _ in range(20):
        sorts.append(
            _timed(
                lambda: (grid.set_model(CaseModel(columns, columns.ordered_by_id()[::-1])), view.repaint())
            )[0]
        )
        _settle(app)
    growth = _megabytes() - start
    frames = np.array(scrolls + jumps + arrivals)
    grid.close()
    grid.deleteLater()
    app.processEvents()
    return [
        row("grid, 99 % of frames, scrolling and jumping", np.percentile(frames, 99), "ms", most=FRAME_MS),
        row("grid, longest frame", frames.max(), "ms"),
        row("grid, frame of a jump to a place not loaded yet, median", np.median(jumps), "ms", most=FRAME_MS),
        row("grid, first show of 100,000 cases", shown, "ms", most=STALL_MS),
        row("grid, resize, longest", max(resizes), "ms", most=STALL_MS),
        row("grid, filter, longest", max(filters), "ms", most=STALL_MS),
        row("grid, sort, longest", max(sorts), "ms", most=STALL_MS),
        row("grid, memory above start", growth, "MB", most=GROWTH_MB),
    ]


@dataclass(frozen=True)
class _Image:
    row: int
    pixels: npt.NDArray[np.uint8] | None
    problem: str = ""


def _columns() -> Any:
    from semblance.core.library.case_columns import case_columns

    chance = random.Random(1)
    findings = [chance.choice(["malignant", "benign", "normal", None]) for _ in range(CASES)]
    ids = [f"US-{n * 7919 % CASES:05d}" for n in range(CASES)]
    patients = [f"P{n // 3}" for n in range(CASES)]
    return case_columns(range(1, CASES + 1), ids, findings, patients, [0] * CASES)


def _filter(grid: Any, columns: Any, text: str) -> None:
    from semblance.app.widgets.cards.case_model import CaseModel

    grid.set_model(CaseModel(columns, columns.ordered_by_id(columns.filtered({0, 1, -1}, text))))
    grid.viewport().repaint()


def _frames(app: Any, paint: Callable[[], object]) -> list[float]:
    """The processor time of painting and of every round of the event loop in the 12 ms after it."""
    times = [_timed(paint)[0]]
    end = time.perf_counter() + 0.012
    while time.perf_counter() < end:
        times.append(_timed(app.processEvents)[0])
        time.sleep(0.001)
    return [spent for spent in times if spent > 0.1]


def _settle(app: Any) -> None:
    end = time.perf_counter() + 0.1
    while time.perf_counter() < end:
        app.processEvents()
        time.sleep(0.002)


def _timed(work: Callable[[], object]) -> tuple[float, object]:
    start = time.thread_time()
    result = work()
    return (time.thread_time() - start) * 1e3, result


def _megabytes() -> float:
    gc.collect()
    with Path("/proc/self/statm").open() as statm:
        return int(statm.read().split()[1]) * 4096 / 1e6
