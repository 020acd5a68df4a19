"""Why a case is near, and ranking without a group of features: 10,000 cases of 2,560 Gabor numbers."""

from __future__ import annotations

import time
from pathlib import Path
from statistics import median
from tempfile import TemporaryDirectory
from typing import Any

import numpy as np

from semblance.core.features.registry import make_extractor
from semblance.core.library.library import Library
from semblance.core.library.records import CHUNK
from semblance.core.searches.query import Query
from semblance.core.searches.search import Search
from semblance.core.workflows.metrics.train_metric import train_metric
from semblance.core.workflows.metrics.train_request import TrainRequest
from semblance.core.workflows.searches.explain_distance import explain_distance
from semblance.core.workflows.searches.open_metrics import close_loaded_metrics, open_metric
from semblance.core.workflows.searches.rank_cases import rank_cases
from tests.benchmarks.harness import row
from tests.benchmarks.synthetic_catalogue import catalogue

N, K = 10_000, 200
#: Milliseconds: explaining one case; ranking again after a group was unticked.
WHY, TOGGLE = 100.0, 200.0
LEARNERS = {"euclidean": {}, "bdm": {"rounds": 200}, "bdm_kernel": {"rounds": 60}}


def run(data: Path | None) -> list[dict[str, Any]]:
    """Rows of both figures for a linear metric, for bits and for bits over kernel values."""
    rows: list[dict[str, Any]] = []
    with TemporaryDirectory() as folder:
        library = _library(Path(folder) / "lib")
        for learner, settings in LEARNERS.items():
            train_metric(library, TrainRequest(learner, learner, settings=settings, max_cases=1000))
            rows += _of(library, learner)
            close_loaded_metrics()
    return rows


def _of(library: Path, metric: str) -> list[dict[str, Any]]:
    search = Search(metric, Query("s/0"))
    ranked = rank_cases(library, search, k=K).result.ranked
    milliseconds = []
    for line in ranked[:12]:
        start = time.perf_counter()
        explain_distance(library, search, line.case_id, shown=line.distance)
        milliseconds.append(1e3 * (time.perf_counter() - start))
    first, *others = milliseconds
    start = time.perf_counter()
    open_metric(library, metric).transformed.prepare()
    prepared = time.perf_counter() - start
    groups = sorted({name.group for name in make_extractor("gabor").feature_names})
    toggled = []
    for out in [groups[:1], groups[1:2], groups[:2], groups[1:4], groups[2:3]]:
        start = time.perf_counter()
        rank_cases(library, Search(metric, Query("s/0"), without=tuple(out)), k=K)
        toggled.append(1e3 * (time.perf_counter() - start))
    slowest, usual = max(toggled), median(others)
    return [
        row(f"why one case, {metric}, 2,560 features by pca:200", usual, "ms", most=WHY),
        row("  the first, with what is usual", first, "ms", most=WHY),
        row(f"untick to a new ranking, {metric}, {N:,} cases", slowest, "ms", most=TOGGLE),
        row("  made ready for that, once in the background", prepared, "s"),
    ]


def _library(path: Path) -> Path:
    rng = np.random.default_rng(0)
    names = make_extractor("gabor").feature_names
    mixed = rng.gamma(0.3, 1.0, (40, len(names)))
    with Library.create(path) as library:
        ids = catalogue(library, N)
        columns = [(name.name, name.group) for name in names]
        made = library.features.make("gabor", "gabor", 1, {}, columns, dtype="float32")
        for start in range(0, N, CHUNK):
            part = ids[start : start + CHUNK]
            numbers = rng.gamma(2.0, 1.0, (len(part), 40)) @ mixed + rng.gamma(
                2.0, 0.5, (len(part), len(names))
            )
            numbers[start % 2 :: 2, :100] *= 1.1
            library.features.write_chunk(made, part, numbers.astype(np.float32))
    return path
