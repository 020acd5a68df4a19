"""Candidates of an index on a PostgreSQL server against the exact search of all cases, in 200,000 x 64.

``mixture``: 40 groups in 24 dimensions, as embeddings of metrics have them, and a little noise. ``noise``: independent
numbers, where no case has near ones, the worst there is; the program then compares all cases.
``python -m tests.benchmarks --only candidates`` prints the table of this benchmark alone.
"""

from __future__ import annotations

import time
from collections.abc import Iterator
from pathlib import Path
from statistics import median
from typing import Any

import numpy as np
import numpy.typing as npt

from semblance.core.library.location import server_address
from semblance.core.library.server.embeddings import StoredRows, building
from semblance.core.library.server.library import ServerLibrary
from semblance.core.retrieval.candidate_index import RECALL_AT, CandidateIndex
from semblance.core.retrieval.index import Index
from semblance.core.workflows.searches.index_candidates import NUMBERS, QUERIES, RECALL, measure_recall
from tests.benchmarks.harness import row
from tests.helpers.postgres_server import running_server

N, M = 200_000, 64


def mixture() -> npt.NDArray[np.float64]:
    rng = np.random.default_rng(0)
    base = rng.normal(size=(24, M)) * (0.9 ** np.arange(24))[:, None]
    points = rng.normal(size=(40, 24))[rng.integers(0, 40, N)] * 2 + rng.normal(size=(N, 24))
    return points @ base + 0.05 * rng.normal(size=(N, M))


def noise() -> npt.NDArray[np.float64]:
    return np.random.default_rng(0).normal(size=(N, M))


def rows_of(
    library: ServerLibrary, name: str, values: npt.NDArray[np.float64], judged: bool
) -> Iterator[dict[str, Any]]:
    exact, cases = Index(values), np.arange(1, N + 1)
    what = f"{name} of {N:,} x {M}"
    start = time.perf_counter()
    with building(library.catalogue) as build:
        source = build.store(name, StoredRows(cases, np.zeros(N, dtype=np.int64), values))
        yield row(f"{what}: copied and index built", time.perf_counter() - start, "s")
        found, recall, queries = measure_recall(source, cases, exact, values, RECALL)
        build.finish(source, name, "", N, found, recall, queries)
    number = NUMBERS[-1] if found is None else found
    reached = recall >= RECALL if judged else None
    yield row(
        f"{what}: recall@{RECALL_AT} of {number} candidates", recall, "", RECALL if judged else None, reached
    )
    stored = next(one for one in library.embedding_indexes() if one.metric == name)
    index = CandidateIndex(library.embedding(stored), cases, M, number, lambda: exact)
    times: dict[str, list[float]] = {"candidates": [], "exact": []}
    for place in np.random.default_rng(1).choice(N, QUERIES, replace=False).tolist():
        among = np.ones(N, dtype=np.bool_)
        among[place] = False
        for kind, one in (("candidates", index), ("exact", exact)):
            start = time.perf_counter()
            one.search(values[place], RECALL_AT, among)
            times[kind].append(1e3 * (time.perf_counter() - start))
    yield row(f"{what}: top {RECALL_AT} of {number} candidates, median", median(times["candidates"]), "ms")
    yield row(
        f"{what}: top {RECALL_AT} of {number} candidates, 99 %",
        float(np.quantile(times["candidates"], 0.99)),
        "ms",
    )
    yield row(f"{what}: top {RECALL_AT} of all, in memory, median", median(times["exact"]), "ms")


def run(data: Path | None) -> list[dict[str, Any]]:
    """Rows of this benchmark; it needs no real data."""
    with (
        running_server() as server,
        ServerLibrary.create(server_address(server.new_database("library"))) as library,
    ):
        return [
            *rows_of(library, "mixture", mixture(), judged=True),
            *rows_of(library, "noise", noise(), judged=False),
        ]
