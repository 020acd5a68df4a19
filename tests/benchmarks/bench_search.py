"""Exact search against one pass over the rows and against their product with the query, one BLAS thread each.

Times are processor seconds, because other work on the machine changes the clock time.
"""

from __future__ import annotations

import time
from pathlib import Path
from statistics import median
from typing import Any

import numpy as np
from threadpoolctl import threadpool_limits

from semblance.core.metrics.distances import BitDistance
from semblance.core.retrieval.index import Index
from semblance.core.retrieval.ranking import EmbeddedQuery, rank
from tests.benchmarks.harness import row

N, M, K = 1_000_000, 64, 20
QUERIES = 25


def seconds(function: Any, *arguments: Any, **options: Any) -> float:
    start = time.process_time()
    function(*arguments, **options)
    return time.process_time() - start


def a_million() -> list[dict[str, Any]]:
    rng = np.random.default_rng(0)
    X = rng.standard_normal((N, M), dtype=np.float32)
    queries = rng.standard_normal((QUERIES, M), dtype=np.float32)
    start = time.process_time()
    index = Index(X)
    build = time.process_time() - start
    index.search(queries[0], K)
    passes, product, search = [], [], []
    for query in queries:
        passes.append(seconds(X.sum))
        product.append(seconds(np.dot, X, query))
        search.append(seconds(index.search, query, K))
    hits = index.search(queries[0], K)
    exact = np.concatenate(
        [((part.astype(np.float64) - queries[0]) ** 2).sum(axis=1) for part in np.split(X, 50)]
    )
    wrong = int((np.argsort(exact, kind="stable")[:K] != hits.rows).sum())
    ratio, of_product = (
        median(s / p for s, p in zip(search, others, strict=True)) for others in (passes, product)
    )
    read = index.prepared.whole.nbytes + index.prepared.half.nbytes
    size = f"{N:,} x {M}"
    return [
        row(f"top {K} of {size} / one pass (sum)", ratio, "x", most=1.3),
        row(f"top {K} of {size} / X @ q", of_product, "x"),
        row("  read by a search, mapped where stored", read / 1e6, "MB"),
        row(f"top {K} of {size}", 1e3 * median(search), "ms"),
        row(f"X @ q of {size}", 1e3 * median(product), "ms"),
        row(f"index of {size} made", 1e3 * build, "ms"),
        row(f"rows of the top {K} that differ from float64", wrong, "", 0, wrong == 0),
    ]


def a_library_of_bits() -> list[dict[str, Any]]:
    """A ranking by 200 bits among 100,000 cases, ties by 38 features, patients and duplicates hidden."""
    rng = np.random.default_rng(0)
    n, d, bits = 100_000, 38, 200
    X = rng.normal(size=(n, d))
    distance = BitDistance(rng.normal(size=(d, bits)), rng.normal(size=bits), rng.random(bits) + 0.01)
    embedding = distance.embed(X)
    index = Index(embedding, X)
    patients, keys = np.char.mod("p%d", np.arange(n) // 4), np.arange(n) // 2
    times = []
    for own in rng.integers(0, n, QUERIES).tolist():
        query = EmbeddedQuery(embedding[own], X[own], own, str(patients[own]), int(keys[own]))
        times.append(seconds(rank, index, query, K, patients=patients, keys=keys))
    return [
        row(f"ranking by {bits} bits, {n:,} cases, patients and duplicates hidden", 1e3 * median(times), "ms")
    ]


def run(data: Path | None) -> list[dict[str, Any]]:
    """Rows of this benchmark; it needs no real data."""
    with threadpool_limits(1):
        return [*a_million(), *a_library_of_bits()]
