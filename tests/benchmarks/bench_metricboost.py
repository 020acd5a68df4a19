"""MetricBoost on as many cases as the paper on lung texture has, with its memory; BoostMetric on all of letter.

Time is the processor's. Each fit at scale runs in a process of its own, for its memory. ``make bench-learners``
measures whole fits on smaller tables, and their scores.
"""

from __future__ import annotations

import json
import re
import subprocess
import sys
import time
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt
from threadpoolctl import threadpool_limits

from semblance.core.engine import limit_threads
from semblance.core.library.importers.table import read_table
from semblance.core.metrics import make_learner
from semblance.core.metrics.metric import Metric
from tests.benchmarks.harness import row

Matrix = npt.NDArray[np.float64]

REPEATS = 5
LUNG_CASES, LUNG_FEATURES, HELD_OUT, ROUNDS, ANCHORS = 15_155, 43, 600, 8, 1000
WEAK = ("binary", "normalised", "real")


def all_of_letter(data: Path) -> dict[str, Any]:
    """A fit of BoostMetric with three passes, the best of several runs in seconds of the processor."""
    read = read_table(data / "tables" / "letter.csv")
    X, y = np.asarray(read.X, dtype=np.float64), np.array(read.findings)
    X = (X - X.mean(axis=0)) / X.std(axis=0)
    seconds = []
    for _ in range(REPEATS):
        begin = time.process_time()
        make_learner("boostmetric", passes=3).fit(X, y)
        seconds.append(time.process_time() - begin)
    return row(
        f"BoostMetric, passes=3, all of letter ({len(X):,} x {X.shape[1]})", min(seconds), "s", most=3.0
    )


def lung() -> tuple[Matrix, Any, Matrix, Any]:
    """Three overlapping findings, as many cases and features as the lung set has; and held-out ones."""
    rng = np.random.default_rng(0)
    n, d = LUNG_CASES + HELD_OUT, LUNG_FEATURES
    y = rng.choice(3, n, p=[0.5, 0.3, 0.2])
    centres, mixing = 0.45 * rng.normal(size=(3, d)), rng.normal(size=(d, d)) / np.sqrt(d)
    X = centres[y] + rng.normal(size=(n, d)) @ (0.7 * mixing + 0.5 * np.eye(d))
    train = slice(0, LUNG_CASES)
    X = (X - X[train].mean(axis=0)) / X[train].std(axis=0)
    return X[train], y[train], X[LUNG_CASES:], y[LUNG_CASES:]


def triplet_accuracy(metric: Metric, X: Matrix, y: Any) -> float:
    """The share in % of triplets of the rows in the right order; ties are wrong (Bi et al. 2011, Eq. 1)."""
    d = metric.distances(X, X)
    right = total = 0
    for i, own in enumerate(y[:, np.newaxis] == y):
        near, far = np.sort(d[i, own & (np.arange(len(y)) != i)]), d[i, ~own]
        right += int(np.searchsorted(near, far).sum())
        total += len(near) * len(far)
    return 100.0 * right / total


def one_at_scale(weak: str, anchors: int, rounds: int) -> None:
    """Print seconds a round, peak memory in GB and held-out accuracy as JSON."""
    X, y, held, codes = lung()
    begin = time.process_time()
    learner = make_learner("metricboost", weak=weak, anchors=anchors, rounds=rounds).fit(X, y)
    seconds = (time.process_time() - begin) / learner.metric().card.rounds
    # That of Linux: getrusage's begins with the memory of the process that started this one.
    peak = re.search(r"VmHWM:\s+(\d+) kB", Path("/proc/self/status").read_text())
    assert peak is not None
    print(json.dumps([seconds, int(peak[1]) / 1e6, triplet_accuracy(learner.metric(), held, codes)]))


def at_scale() -> list[dict[str, Any]]:
    rows = []
    for weak in WEAK:
        accuracies = []
        for anchors, most in ((0, 2.0), (ANCHORS, 0.2)):
            command = [sys.executable, "-m", "tests.benchmarks.bench_metricboost", weak, str(anchors)]
            folder = Path(__file__).resolve().parent.parent.parent
            done = subprocess.run(command, capture_output=True, check=True, cwd=folder, text=True)
            seconds, memory, accuracy = json.loads(done.stdout)
            what = f"{weak}, {LUNG_CASES:,} x {LUNG_FEATURES}" + (f", anchors={anchors}" if anchors else "")
            rows.append(row(f"a round, {what}", seconds, "s", most=most))
            rows.append(row(f"peak memory, {what}", memory, "GB", most=None if anchors else 1.5))
            accuracies.append(accuracy)
        what = f"triplet accuracy lost by anchors={ANCHORS}, {weak}, {ROUNDS} rounds"
        rows.append(row(what, accuracies[0] - accuracies[1], "points", most=1.0))
    return rows


def run(data: Path | None) -> list[dict[str, Any]]:
    """Rows of this benchmark; that of letter needs the real data."""
    with threadpool_limits(limits=1, user_api="blas"):
        return at_scale() + ([] if data is None else [all_of_letter(data)])


if __name__ == "__main__":
    limit_threads()
    one_at_scale(sys.argv[1], int(sys.argv[2]), ROUNDS)
