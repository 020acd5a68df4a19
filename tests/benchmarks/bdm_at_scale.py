"""BDM by cells against BDM pair by pair, on many cases; rows of ``bench_bdm``."""

from __future__ import annotations

import statistics
import subprocess
import sys
import time
from typing import Any

import numpy as np
import numpy.typing as npt

from semblance.core.constraints import from_findings
from semblance.core.metrics.estimators.bdm import best_split, smoothed_log_ratio
from semblance.core.metrics.estimators.bdm_pairs import DensePairs
from tests.benchmarks.harness import row

Matrix = npt.NDArray[np.float64]

#: The size of the lung set (bdm.txt's kind of data), generated.
CASES, FEATURES, FINDINGS, ROUNDS = 15_155, 43, 3, 20
TIMES_DENSE, MEGABYTES = 60.0, 400.0
MANY, MANY_SECONDS = 200_000, 60.0
COSTS = (2_000, 5_000, 10_000, 20_000, 50_000, 100_000, MANY)
#: A fit alone in a process: seconds, peak memory in MB, objective. The peak is that of Linux: getrusage's
#: begins with the memory of the process that started this one.
PROGRAM = """
import re, sys, time
from pathlib import Path
from threadpoolctl import threadpool_limits
from semblance.core.metrics import make_learner
from tests.benchmarks.bdm_at_scale import overlapping
name, n, d, findings, rounds = sys.argv[1], *map(int, sys.argv[2:])
X, y = overlapping(n, d, findings)
make_learner(name, rounds=2, training_cases=0).fit(X[:500], y[:500])
with threadpool_limits(1):
    begin = time.perf_counter()
    learner = make_learner(name, rounds=rounds, training_cases=0).fit(X, y)
    seconds = time.perf_counter() - begin
peak = re.search(r"VmHWM:\\s+(\\d+) kB", Path("/proc/self/status").read_text())
print(seconds, int(peak[1]) / 1024, learner.objectives_[-1])
"""


def overlapping(n: int, d: int, findings: int) -> tuple[Matrix, npt.NDArray[np.int64]]:
    """Standardised rows of overlapping findings."""
    rng = np.random.default_rng(0)
    y = np.arange(n) % findings
    X = rng.normal(size=(n, d)) + 0.4 * rng.normal(size=(findings, d))[y]
    return (X - X.mean(axis=0)) / X.std(axis=0), y


def alone(name: str, n: int, repeats: int) -> tuple[float, float, float]:
    """Median seconds, largest peak in MB, and objective of fits, each in a process of its own."""
    command = [sys.executable, "-c", PROGRAM, name, *map(str, (n, FEATURES, FINDINGS, ROUNDS))]
    runs = []
    for _ in range(repeats):
        done = subprocess.run(command, capture_output=True, text=True, check=True)
        runs.append(tuple(map(float, done.stdout.split())))
    seconds, peaks, objectives = zip(*runs, strict=True)
    return statistics.median(seconds), max(peaks), objectives[0]


def dense_seconds(n: int) -> tuple[float, float]:
    """Seconds and objective of the same rounds pair by pair."""
    X, y = overlapping(n, FEATURES, FINDINGS)
    begin = time.perf_counter()
    weights = DensePairs(from_findings(y), X)
    for _ in range(ROUNDS):
        cut = best_split(weights, X)
        assert cut is not None
        weights.add_bit(cut.bits, smoothed_log_ratio(cut.dissimilar, cut.similar) / 16.0)
    return time.perf_counter() - begin, weights.objective


def against_dense() -> list[dict[str, Any]]:
    cells, peak, objective = alone("bdm", CASES, 5)
    visual, visual_peak, _ = alone("bdm_v", CASES, 1)
    dense, expected = dense_seconds(CASES)
    size, times = f"{CASES:,} x {FEATURES}, {ROUNDS} rounds", dense / cells
    off = abs(objective / expected - 1.0)
    return [
        row(f"BDM by cells, {size}", cells, "s"),
        row(f"BDM pair by pair, {size}", dense, "s"),
        row("times as fast by cells", times, "x", least=TIMES_DENSE),
        row("peak memory of the process by cells", peak, "MB", most=MEGABYTES),
        row("objective by cells, off by", off * 1e6, "1e-6", 1.0, off <= 1e-6),
        row(f"BDM+V by cells, {size}, neighbours included", visual, "s"),
        row("peak memory of the process, BDM+V", visual_peak, "MB"),
    ]


def costs() -> list[dict[str, Any]]:
    seconds, rows = [], []
    for n in COSTS:
        took, peak, _ = alone("bdm", n, 3 if n < MANY else 1)
        seconds.append(took)
        target = MANY_SECONDS if n == MANY else None
        rows.append(
            row(f"BDM, {n:,} x {FEATURES}, {ROUNDS} rounds, peak {peak:.0f} MB", took, "s", most=target)
        )
    exponent = float(np.polyfit(np.log(COSTS), np.log(seconds), 1)[0])
    return [*rows, row(f"exponent of n from {COSTS[0]:,} to {COSTS[-1]:,}", exponent, "")]
