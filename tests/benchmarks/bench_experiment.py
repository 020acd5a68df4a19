"""Twelve learners, ten repeats, on optdigits: how much faster two workers are than one."""

from __future__ import annotations

import tempfile
import time
from pathlib import Path
from typing import Any

from semblance.core.engine import Engine
from semblance.core.research.run_cells import ExperimentState
from semblance.core.research.run_cells import run_cells as measure
from semblance.core.research.spec import ExperimentSpec
from semblance.core.research.store import ExperimentStore
from tests.benchmarks.harness import row

#: scikit-learn's copy of the tested part of optdigits.
TABLE, CASES, REPEATS, TARGET = "builtin:digits", 1797, 10, 1.8
LEARNERS = (
    "euclidean", "l1", "mahalanobis", "pca", "lda", "rca", "ncmc", "mmc", "itml", "bdm", "boostmetric",
    "passive_aggressive",
)  # fmt: skip
#: Rounds of the slower ones, so that a run takes minutes.
PARAMS = {"bdm": {"rounds": 40}, "boostmetric": {"rounds": 10}}


def run(_data: Path | None) -> list[dict[str, Any]]:
    """Seconds by the clock, and how much faster two are, by the clock and by processor time."""
    spec = ExperimentSpec.from_json(
        {
            "cases": [{"table": TABLE, "max_cases": CASES}],
            "learners": [{"learner": name, "params": PARAMS.get(name, {})} for name in LEARNERS],
            "protocols": [{"protocol": "bdm", "repeats": REPEATS}],
        }
    )
    seconds, states = {}, {}
    with tempfile.TemporaryDirectory() as folder:
        for workers in (1, 2):
            store = ExperimentStore.create(Path(folder) / str(workers), spec)
            begin = time.monotonic()
            with Engine(workers) as place:
                states[workers] = measure(store, place)
            seconds[workers] = time.monotonic() - begin
    rows = [
        row(
            f"{len(LEARNERS)} learners x {REPEATS} repeats, {CASES} cases, {workers} worker(s)",
            seconds[workers],
            "s",
        )
        for workers in (1, 2)
    ]
    same = numbers(states[1]) == numbers(states[2])
    clock, processor = seconds[1] / seconds[2], by_processor(states[1], states[2])
    return [
        *rows,
        row("faster on two, by the clock", clock, "times", least=TARGET),
        row("faster on two, by processor time of the cells", processor, "times", least=TARGET),
        row("equal numbers on one and on two", float(same), "", least=1.0),
    ]


def numbers(state: ExperimentState) -> list[Any]:
    """Every score of every cell, in order."""
    return [[split["scores"] for split in state.answers[cell.id]["splits"]] for cell in state.cells]


def by_processor(one: ExperimentState, two: ExperimentState) -> float:
    """Processor time of all cells on one worker over that of the busier of two, dealt in their order."""
    ends = [0.0, 0.0]
    for cell in two.cells:
        ends[ends.index(min(ends))] += two.answers[cell.id]["cpu_seconds"]
    return sum(answer["cpu_seconds"] for answer in one.answers.values()) / max(ends)
