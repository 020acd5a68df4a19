"""From a mark in the window to the painted new ranking, what the window itself stalls, and large ledgers."""

from __future__ import annotations

import os
import time
from collections.abc import Callable
from functools import partial
from pathlib import Path
from statistics import median
from tempfile import TemporaryDirectory
from typing import Any

import numpy as np

from semblance.core.library.library import Library
from semblance.core.searches.feedback.judgements import Judgement, JudgementKind
from semblance.core.searches.feedback.ledger import Ledger
from semblance.core.workflows.metrics.train_metric import train_metric
from semblance.core.workflows.metrics.train_request import TrainRequest
from tests.benchmarks.bench_refinement_speed import M, _library
from tests.benchmarks.harness import row

CLICKS, JUDGED = 24, 10_000
STALL_MS = 50.0


def run(data: Path | None) -> list[dict[str, Any]]:
    """Rows of this benchmark; it needs no real data."""
    os.environ.setdefault("QT_QPA_PLATFORM", "offscreen")
    with TemporaryDirectory() as folder:
        os.environ["XDG_CONFIG_HOME"] = folder
        return [
            *_clicks(Path(folder) / "largest", 1_000_000, 250.0),
            *_clicks(Path(folder) / "large", 100_000, 100.0),
            *_clicks(Path(folder) / "small", 10_000, 40.0),
            *_large_ledger(Path(folder) / "ledger"),
        ]


def _clicks(path: Path, n: int, target: float) -> list[dict[str, Any]]:
    from semblance.app.shell import search_operations
    from semblance.core.searches.query import Query
    from tests.helpers.windows import open_window

    library = _made(path, n)
    times, stalls, own = [], [], []
    with open_window(library) as window:
        window.parts.layout.show_side("refine")
        search_operations.submit_query(window.context, Query(case="s/0"))
        _wait(lambda: window.state.ranking is not None)
        grid = window.panels.ranking.grid
        for click in range(CLICKS):
            model = grid.model()
            # Saying the same again would take it back.
            unjudged = [
                row_number
                for place in range(60)
                if (row_number := model.case_row(place)) not in model.judgements
            ]
            case_row = unjudged[2 + click % 9]
            marked = partial(_is_marked, window.state, window.state.judgement_count, window.state.ranking)
            begin, start_cpu = time.perf_counter(), time.process_time()
            window.panels.ranking.card_feedback.mark_rows(1 if click % 3 else -1, [case_row])
            longest = _wait(marked)
            start = time.perf_counter()
            grid.viewport().repaint()
            # The first lays the library out for clicks.
            if click:
                times.append(1e3 * (time.perf_counter() - begin))
                own.append(1e3 * (time.process_time() - start_cpu))
                stalls.append(max(longest, 1e3 * (time.perf_counter() - start)))
                stalls.append(_wait(lambda: True, seconds=0.6))
    value, size = median(times), f"{n:,} x {M}"
    return [
        row(f"mark to painted ranking, {size}", value, "ms", most=target),
        row(f"  of which the window's own processor time, {size}", median(own), "ms"),
        row(f"  the slowest of {len(times)}, {size}", max(times), "ms"),
        row(f"  longest the window did not answer, {size}", max(stalls), "ms", most=STALL_MS),
    ]


def _large_ledger(path: Path) -> list[dict[str, Any]]:
    """Undo very many judgements with one press of Reset, and redo them."""
    from semblance.app.search.feedback import mark_cards
    from semblance.app.shell import search_operations
    from semblance.core.searches.query import Query
    from semblance.core.searches.search import Search
    from tests.helpers.windows import open_window

    library = _made(path, 2_000)
    rng = np.random.default_rng(0)
    with Library.open(library) as opened:
        pairs = rng.integers(1, 2_000, size=(JUDGED, 2))
        judgements = [
            Judgement(
                JudgementKind.ALIKE if n % 3 else JudgementKind.NOT_ALIKE,
                f"s/{n % 97}",
                f"s/{100 + int(a) % 1800}",
            )
            for n, (a, _) in enumerate(pairs)
        ]
        Ledger(opened.judgements("bench")).add(judgements)
    with open_window(library) as window:
        window.parts.layout.show_side("refine")
        window.state.restore_search(Search("plain", Query(case="s/0"), "bench"))
        search_operations.rank(window.context)
        _wait(lambda: window.state.ranked_search is not None)
        judgement_count = window.state.judgement_count
        begin = time.perf_counter()
        mark_cards.reset(window.context)
        longest = _wait(lambda: window.state.judgement_count == 0)
        window.panels.ranking.grid.viewport().repaint()
        spent = 1e3 * (time.perf_counter() - begin)
        longest = max(longest, _wait(lambda: True, seconds=0.6))
    return [
        row(f"{judgement_count:,} judgements undone and the ranking painted", spent, "ms", most=300),
        row("  longest the window did not answer", longest, "ms", most=STALL_MS),
    ]


def _is_marked(state: Any, judgements: int, ranking: object) -> bool:
    """Whether there are more judgements, and a ranking after them."""
    return bool(state.judgement_count > judgements and state.ranking is not ranking)


def _made(path: Path, n: int) -> Path:
    library = _library(path, n)
    train_metric(library, TrainRequest("euclidean", "plain", steps="standardise", max_cases=1000))
    return library


def _wait(condition: Callable[[], object], seconds: float = 0.0) -> float:
    """Run the event loop until it holds, at least ``seconds``; the longest round of it in ms."""
    from PySide6.QtCore import QCoreApplication

    longest, end = 0.0, time.perf_counter() + seconds
    while not condition() or time.perf_counter() < end:
        start = time.perf_counter()
        QCoreApplication.processEvents()
        longest = max(longest, 1e3 * (time.perf_counter() - start))
        time.sleep(0.001)
    return longest
