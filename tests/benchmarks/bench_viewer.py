"""The image viewer with 4,664 x 3,064 pixels of 16 bits: opening, window and level, zooming and panning;
frames in processor time of the window's thread."""

from __future__ import annotations

import tempfile
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np

from tests.benchmarks.harness import row

WIDTH, HEIGHT = 3064, 4664
STALL_MS, FRAME_MS = 50.0, 16.0


def run(data: Path | None) -> list[dict[str, Any]]:
    from PySide6.QtWidgets import QApplication

    from semblance.app.search.query.query_panel import QueryPanel
    from semblance.app.shell.jobs import Jobs
    from semblance.app.shell.theme import set_theme
    from tests.helpers.contexts import make_context

    app = QApplication.instance() or QApplication([])
    assert isinstance(app, QApplication)
    set_theme(app, "dark")
    context = make_context(Jobs())
    panel = QueryPanel(context)
    rows = []
    with tempfile.TemporaryDirectory() as folder:
        for number, (name, size) in enumerate({"panel": (336, 640), "full screen": (1920, 1400)}.items()):
            panel.resize(*size)
            panel.show()
            app.processEvents()
            rows += [_opening(app, context, panel, _image(Path(folder) / f"{number}.tif"), name)]
            rows += _frames(panel, name)
    context.jobs.shutdown()
    panel.close()
    panel.deleteLater()
    app.processEvents()
    return rows


def _image(path: Path) -> Path:
    from PIL import Image

    y, x = np.mgrid[:HEIGHT, :WIDTH].astype(np.float32)
    noise = np.random.default_rng(0).normal(0, 120, (HEIGHT, WIDTH)).astype(np.float32)
    pixels = 2000 + 1500 * np.sin(x / 90) * np.cos(y / 70) + noise
    Image.fromarray(pixels.clip(0, 4095).astype(np.uint16)).save(path)
    return path


def _opening(app: Any, context: Any, panel: Any, path: Path, name: str) -> dict[str, Any]:
    """The longest time the window's thread was away from its work while the image came."""
    from PySide6.QtCore import Qt, QTimer

    from semblance.app.shell import search_operations
    from semblance.core.searches.query import Query

    ticks = [time.perf_counter()]
    timer = QTimer()
    timer.setTimerType(Qt.TimerType.PreciseTimer)
    timer.timeout.connect(lambda: ticks.append(time.perf_counter()))
    timer.start(10)
    before = panel.view.image
    search_operations.submit_query(context, Query(image=path))
    while panel.view.image is before:
        app.processEvents()
        time.sleep(0.0005)
    until = time.perf_counter() + 0.2
    while time.perf_counter() < until:
        app.processEvents()
    timer.stop()
    late = 1000 * float(np.diff(ticks).max()) - 10
    return row(f"viewer, {name}: window's thread held while opening", late, "ms", most=STALL_MS)


def _frames(panel: Any, name: str) -> list[dict[str, Any]]:
    from semblance.app.viewer.window_level import Window

    view = panel.view

    def timed(step: Callable[[int], object]) -> list[float]:
        out = []
        for number in range(40):
            # Of the window's own thread: nothing else is waited for in a frame.
            begin = time.thread_time()
            step(number)
            view.repaint()
            out.append(1000 * (time.thread_time() - begin))
        return out

    frame_times: list[float] = []
    moves: list[float] = []
    for zoom in (1.0, 2.0, 5.0, 12.0):
        view.fit()
        view.zoom_by(zoom)
        frame_times += timed(lambda number: view.set_window(Window(10 * number, 3000 + 10 * number)))
        moves += timed(lambda _: view.pan_by(3, 2))
    view.fit()
    moves += timed(lambda number: view.zoom_by(1.1 if number < 25 else 0.8))
    return [
        row(
            f"viewer, {name}: window/level frame, 99 %",
            float(np.percentile(frame_times, 99)),
            "ms",
            most=FRAME_MS,
        ),
        row(
            f"viewer, {name}: zoom and pan frame, 99 %", float(np.percentile(moves, 99)), "ms", most=FRAME_MS
        ),
    ]
