"""From a click to the new ranking: learning, comparing all cases, and the ledger behind it."""

from __future__ import annotations

import time
from pathlib import Path
from statistics import median
from tempfile import TemporaryDirectory
from typing import Any

import numpy as np
from threadpoolctl import threadpool_limits

from semblance.core.library.library import Library
from semblance.core.library.records import CHUNK
from semblance.core.metrics.relevance_feedback.triplet_learning import WeightedTriplets, fit_form
from semblance.core.retrieval.refined_index import RefinedIndex
from semblance.core.searches.feedback.judgements import Judgement, JudgementKind, likeness_judgement
from semblance.core.searches.feedback.ledger import Ledger, contradictions
from semblance.core.searches.feedback.relevance_feedback import learn_form
from semblance.core.searches.query import Query
from semblance.core.searches.search import Search
from semblance.core.workflows.metrics.train_metric import train_metric
from semblance.core.workflows.metrics.train_request import TrainRequest
from semblance.core.workflows.searches.feedback.refine_metric import add_judgements
from semblance.core.workflows.searches.open_metrics import close_loaded_metrics
from semblance.core.workflows.searches.rank_cases import rank_cases
from tests.benchmarks.harness import row
from tests.benchmarks.synthetic_catalogue import catalogue

M, K, CLICKS, TRIALS = 64, 20, 80, 15


def reranked(n: int, target: float) -> list[dict[str, Any]]:
    """The worst of a search: eighty clicks, so that every dimension has changed."""
    rng = np.random.default_rng(0)
    Z = rng.normal(size=(n, M))
    index = RefinedIndex(Z, Z[0])
    cases = rng.integers(1, n, size=(CLICKS, 2))
    triplets = np.column_stack([np.zeros(CLICKS, dtype=np.int64), cases])
    learning, comparing = [], []
    for _ in range(TRIALS):
        start = time.perf_counter()
        form = fit_form(WeightedTriplets.of(Z, triplets))
        learnt = time.perf_counter()
        index.form = form
        index.search(Z[0], K)
        learning.append(learnt - start)
        comparing.append(time.perf_counter() - learnt)
    both = 1e3 * median(a + b for a, b in zip(learning, comparing, strict=True))
    size = f"{n:,} x {M}"
    return [
        row(f"click to new ranking, {size}, {CLICKS} clicks", both, "ms", most=target),
        row(f"  of which learning from {CLICKS} clicks", 1e3 * median(learning), "ms"),
        row(f"  of which comparing {n:,} cases", 1e3 * median(comparing), "ms"),
    ]


def whole_call(n: int, target: float) -> list[dict[str, Any]]:
    """The time of a click in the search process: storing, learning, ranking and describing it."""
    with TemporaryDirectory() as folder:
        library = _library(Path(folder) / "lib", n)
        train_metric(library, TrainRequest("euclidean", "plain", steps="standardise", max_cases=1000))
        request = Search("plain", Query(case="s/0"), "bench")
        start = time.perf_counter()
        ranked = rank_cases(library, request).result.ranked
        laid_out = time.perf_counter() - start
        times, own = [], []
        for click in range(CLICKS):
            made = likeness_judgement(request, ranked[click % len(ranked)].case_id, bool(click % 3))
            start, start_cpu = time.perf_counter(), time.process_time()
            ranked = add_judgements(library, request, [made]).result.ranked
            times.append(time.perf_counter() - start)
            own.append(time.process_time() - start_cpu)
        close_loaded_metrics()
    value, size = 1e3 * median(times), f"{n:,} x {M}"
    return [
        row(f"click, the whole call, {size}", value, "ms", most=target),
        row(f"  of which processor time, {size}", 1e3 * median(own), "ms"),
        row(f"  library of {size} laid out for clicks, once", laid_out, "s"),
    ]


def learnt(judgements: int = 160, m: int = 512) -> list[dict[str, Any]]:
    """Learning alone, of many judgements in many coordinates, about one query and about several."""
    rng, rows = np.random.default_rng(0), []
    near = rng.normal(size=(judgements, m)) / np.sqrt(m / 2)
    for queries in (1, 4, 16):
        points = {f"{n}": point for n, point in enumerate(near)}
        points |= {f"q{n}": -near[n] for n in range(queries)}
        judgements = [
            Judgement(
                JudgementKind.ALIKE if n // queries % 2 else JudgementKind.NOT_ALIKE,
                f"q{n % queries}",
                f"{n}",
            )
            for n in range(judgements)
        ]
        times = []
        for _ in range(3):
            start = time.process_time()
            learn_form(judgements, points.get, m)
            times.append(time.process_time() - start)
        value = min(times)
        what = f"{judgements} judgements of {queries} queries learnt, {m} coordinates, processor time"
        rows.append(row(what, value, "s", most=0.3))
    return rows


def _library(path: Path, n: int) -> Path:
    numbers = np.random.default_rng(0).normal(size=(n, M)).astype(np.float32)
    with Library.create(path) as library:
        rows = catalogue(library, n)
        columns = [(f"f{i}", f"group {i // 8}") for i in range(M)]
        made = library.features.make("made", "gabor", 1, {}, columns, dtype="float32")
        for start in range(0, n, CHUNK):
            library.features.write_chunk(made, rows[start : start + CHUNK], numbers[start : start + CHUNK])
    return path


def undone() -> list[dict[str, Any]]:
    """Undo ten thousand judgements in random order, save them, and find contradictions."""
    made = [Judgement(JudgementKind.ALIKE, f"q{n // 100}", f"c{n}") for n in range(10_000)]
    times, checking = [], []
    with TemporaryDirectory() as folder, Library.create(Path(folder) / "lib") as library:
        ledger = Ledger(library.judgements("l"))
        ids = ledger.add(made)
        for seed in range(5):
            order = np.random.default_rng(seed).permutation(ids).tolist()
            start = time.perf_counter()
            ledger.undo(order)
            times.append(time.perf_counter() - start)
            ledger.redo(order)
            start = time.perf_counter()
            contradictions(ledger.in_force)
            checking.append(time.perf_counter() - start)
    value = 1e3 * median(times)
    return [
        row("10,000 judgements undone and saved", value, "ms", most=300),
        row("contradictions among 10,000 judgements", 1e3 * median(checking), "ms"),
    ]


def run(data: Path | None) -> list[dict[str, Any]]:
    """Rows of this benchmark; it needs no real data."""
    with threadpool_limits(1):
        return [
            *reranked(100_000, 100.0),
            *whole_call(100_000, 100.0),
            *reranked(10_000, 40.0),
            *whole_call(10_000, 40.0),
            *learnt(),
            *undone(),
        ]
