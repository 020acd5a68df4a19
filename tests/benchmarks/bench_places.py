"""Search by place among 10,000 and 100,000 images against a plain scan of all places, in one run.

Images are composed of 600 kinds of tissue in 64 numbers, each image of a few, with noise on every place: what is near
to a region is decided by kinds first and by noise last. A region has 20 places. Times are processor seconds of one
thread, because other work on the machine changes the clock time; the ratio is to a plain scan, which compares each
place of the query with all places of all images.
"""

from __future__ import annotations

import time
from pathlib import Path
from statistics import median
from typing import Any

import numpy as np
from threadpoolctl import threadpool_limits

from semblance.core.features.places import Codes, unit_codes
from semblance.core.retrieval.candidate_index import RECALL_AT
from semblance.core.retrieval.index import Rows
from semblance.core.retrieval.place_index import CodedPlaces, PlaceIndex, PlaceQuery
from semblance.core.workflows.features.library_places import RECALL, measure_recall
from tests.benchmarks.harness import row

SIDE, M, QUERIES = 14, 64, 8
KINDS, PARTS = 600, 6
#: Images, and the milliseconds that a search may take.
SIZES = ((10_000, 150.0), (100_000, 500.0))


def composed(n: int) -> Codes:
    """(n, 196, 64) places of images that are divided into parts around random points."""
    rng = np.random.default_rng(0)
    kinds = rng.normal(size=(KINDS, M)) * (0.95 ** np.arange(M))
    kinds = (kinds * 70.0 / np.abs(kinds).max(axis=1, keepdims=True)).astype(np.float32)
    points = np.stack(np.meshgrid(np.arange(SIDE), np.arange(SIDE)), axis=-1).reshape(-1, 2)
    codes = np.empty((n, SIDE * SIDE, M), dtype=np.int8)
    for image in codes:
        centres, own = rng.uniform(0, SIDE, (PARTS, 2)), rng.integers(0, KINDS, PARTS)
        own = own[np.square(points[:, None] - centres).sum(axis=2).argmin(axis=1)]
        noise = rng.standard_normal((len(points), M), dtype=np.float32)
        image[:] = np.clip(kinds[own] + 9.0 * noise, -127, 127)
    return codes


def plain_scan(codes: Codes, query: PlaceQuery) -> Rows:
    """The nearest images by the definition, in blocks that fit into memory."""
    found = [
        (unit_codes(codes[start : start + 256]) @ query.places.T).max(axis=1).mean(axis=1)
        for start in range(0, len(codes), 256)
    ]
    return np.argsort(-np.concatenate(found), kind="stable")[:RECALL_AT]


def milliseconds(function: Any, *arguments: Any) -> tuple[float, Any]:
    start = time.process_time()
    found = function(*arguments)
    return 1e3 * (time.process_time() - start), found


def among(n: int, most: float) -> list[dict[str, Any]]:
    codes = composed(n)
    coding, coded = milliseconds(CodedPlaces.made, codes)
    index = PlaceIndex(codes, coded=coded, candidates=1)
    number, recall, queries = measure_recall(index, (SIDE, SIDE), RECALL)
    index = index.with_candidates(number)
    exact = index.with_candidates(0)
    rng = np.random.default_rng(2)
    times: dict[str, list[float]] = {"plain": [], "exact": [], "candidates": []}
    wrong = 0
    for image in rng.choice(n, QUERIES if n < 50_000 else 3, replace=False).tolist():
        top, left = rng.integers(SIDE - 3), rng.integers(SIDE - 4)
        numbers = np.add.outer(np.arange(top, top + 4) * SIDE, np.arange(left, left + 5)).reshape(-1)
        query = PlaceQuery.of(codes[image, numbers])
        taken, expected = milliseconds(plain_scan, codes, query)
        times["plain"].append(taken)
        for kind, one in (("exact", exact), ("candidates", index)):
            taken, found = milliseconds(one.search, query, RECALL_AT)
            times[kind].append(taken)
            if kind == "exact":
                wrong += len(np.setdiff1d(found.rows, expected))
    took = {kind: median(values) for kind, values in times.items()}
    what = f"{n:,} images"
    return [
        row(f"{what}: 20 places, candidates / plain scan", took["candidates"] / took["plain"], "x"),
        row(f"{what}: 20 places, all compared / plain scan", took["exact"] / took["plain"], "x"),
        row(f"{what}: 20 places, candidates", took["candidates"], "ms", most=most),
        row(f"{what}: 20 places, all compared", took["exact"], "ms"),
        row(f"{what}: candidates", number, ""),
        row(f"{what}: recall@{RECALL_AT}, {queries} regions", recall, "", least=RECALL),
        row(f"{what}: rows of the exact search that differ from the plain scan", wrong, "", 0, wrong == 0),
        row(f"{what}: places coded", coding / 1e3, "s"),
        row(f"{what}: codes", codes.nbytes / 1e6, "MB"),
        row(f"{what}: lists of the coded places", coded.images.nbytes / 1e6, "MB"),
    ]


def run(data: Path | None) -> list[dict[str, Any]]:
    """Rows of this benchmark; it needs no real data."""
    with threadpool_limits(1):
        return [one for n, most in SIZES for one in among(n, most)]
