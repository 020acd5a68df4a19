"""Speed of measuring polyp candidates in blocks of 48 x 48 x 48 voxels."""

from __future__ import annotations

from pathlib import Path
from time import perf_counter
from typing import Any

import numpy as np

from semblance.core.engine import Engine
from semblance.core.features.polyp.extractor import Polyp
from tests.benchmarks.harness import row
from tests.helpers.volumes import ball_on_wall, ct_of, stack_of

TARGET = 25.0
SIDE, CANDIDATES, WORKERS = 48, 40, 2


def run(data: Path | None) -> list[dict[str, Any]]:
    """Candidates a second, in one process and in two at a time."""
    alone = measure(CANDIDATES)
    with Engine(WORKERS) as engine:
        for task in [engine.submit(measure_in_worker, 2) for _ in range(WORKERS)]:
            task.result()
        tasks = [engine.submit(measure_in_worker, CANDIDATES) for _ in range(WORKERS)]
        together = sum(task.result() for task in tasks)
    return [
        row(f"polyp features of {SIDE}x{SIDE}x{SIDE}, one process", alone, "candidates/s"),
        row(f"polyp features of {SIDE}x{SIDE}x{SIDE}, two processes", together, "candidates/s", least=TARGET),
    ]


def measure(count: int) -> float:
    """Candidates a second."""
    extractor = Polyp()
    sizes = np.random.default_rng(0).uniform(3.0, 8.0, 8)
    size = (SIDE, SIDE, SIDE)
    blocks = [stack_of(ct_of(ball_on_wall(float(radius)), size, noise=30.0)) for radius in sizes]
    extractor.prepare_stack(blocks[0])
    begin = perf_counter()
    for number in range(count):
        extractor.prepare_stack(blocks[number % len(blocks)])
    return count / (perf_counter() - begin)


def measure_in_worker(count: int, *, reporter: object) -> float:
    """:func:`measure`, as the engine calls it."""
    return measure(count)
