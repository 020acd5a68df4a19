"""Training and scoring of large libraries of continuous features: time, growth and peak memory.

Each training runs in a process of its own, like the command. Times are processor seconds of one thread, because
other work on the machine changes the clock time. ``python -m tests.benchmarks.bench_size [PART ...]`` prints the
table of this benchmark alone.
"""

from __future__ import annotations

import json
import subprocess
import sys
import time
from collections.abc import Sequence
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

import numpy as np
import numpy.typing as npt

from semblance.core.constraints import finding_codes
from semblance.core.engine import limit_threads
from semblance.core.library.feature_sets import CHUNK
from semblance.core.library.importers.table import read_table
from semblance.core.library.library import Library
from semblance.core.metrics import make_learner
from semblance.core.metrics.metric import Metric
from tests.benchmarks.harness import Row, row, table
from tests.benchmarks.synthetic_catalogue import catalogue
from tests.helpers import data as real_data

Matrix = npt.NDArray[np.float64]

SECONDS, MEGABYTES, GROWTH = 60.0, 1_000.0, 1.3
#: Cases and features of a training of 30,000, and what its growth is measured between.
SIZES = ((30_000, 36), (30_000, 64))
FEWER, MORE, FEATURES = 7_500, 120_000, 36
WIDE, WIDE_FEATURES = 30_000, 2_560
SCORED, SCORED_FEATURES, SCORING_SECONDS = 200_000, 32, 20.0
#: Letters held out to compare samples on, and what a sample may lose of the precision of the largest.
HELD_OUT, NEAREST, LOSS = 2_000, 10, 0.01
SAMPLES = (500, 1_000, 2_000, 4_000, 8_000)
#: Trains and prints seconds, those of them that scored, and the peak in MB.
PROGRAM = """
import json, re, sys, time
from pathlib import Path
from semblance.core.engine import limit_threads
limit_threads()
from semblance.core.workflows.metrics import train_metric as module
from semblance.core.workflows.metrics.train_request import TrainRequest
library, learner, steps, settings = Path(sys.argv[1]), sys.argv[2], sys.argv[3], json.loads(sys.argv[4])
scoring, inner = [], module.held_out_scores
def timed(*arguments, **options):
    begin = time.process_time()
    scores = inner(*arguments, **options)
    scoring.append(time.process_time() - begin)
    return scores
module.held_out_scores = timed
begin = time.process_time()
result = module.train_metric(library, TrainRequest(learner, "m", steps=steps, settings=settings))
seconds = time.process_time() - begin
peak = re.search(r"VmHWM:\\s+(\\d+) kB", Path("/proc/self/status").read_text())
print(json.dumps([seconds, sum(scoring), int(peak[1]) / 1024, result.card["notes"], result.card["scores"]]))
"""


def correlated(n: int, d: int, findings: int, seed: int = 0) -> tuple[npt.NDArray[np.float32], Any]:
    """(n, d) numbers like principal components of an encoder: a mixture a finding, variances falling as 1/k."""
    rng = np.random.default_rng(seed)
    scale = 1.0 / np.sqrt(np.arange(1, d + 1))
    # So far apart that findings overlap in any number of dimensions.
    centres = 2.0 / np.sqrt(d) * rng.normal(size=(findings, 3, d)) * scale
    y = np.arange(n) % findings
    X = np.empty((n, d), dtype=np.float32)
    for start in range(0, n, 4096):
        part = y[start : start + 4096]
        chosen = centres[part, rng.integers(3, size=len(part))]
        X[start : start + 4096] = chosen + 0.9 * rng.normal(size=chosen.shape) * scale
    return X, y


def make_library(path: Path, X: npt.NDArray[np.float32], extractor: str = "colour_edge_texture") -> None:
    """A library of two findings, two cases a patient, whose feature set holds ``X`` (n, d)."""
    n, d = X.shape
    with Library.create(path) as library:
        rows = catalogue(library, n)
        columns = [(f"f{i}", f"group {i // 8}") for i in range(d)]
        made = library.features.make("made", extractor, 1, {}, columns, dtype="float32")
        for start in range(0, n, CHUNK):
            library.features.write_chunk(made, rows[start : start + CHUNK], X[start : start + CHUNK])


def trained(path: Path, learner: str, steps: str, **settings: Any) -> tuple[float, float, float, list[str]]:
    """Seconds of a training, those of its scoring, its peak in MB and the notes on its card."""
    command = [sys.executable, "-c", PROGRAM, str(path), learner, steps, json.dumps(settings)]
    done = subprocess.run(command, capture_output=True, text=True, check=True)
    seconds, scoring, peak, notes, _ = json.loads(done.stdout.splitlines()[-1])
    return seconds, scoring, peak, notes


def growth(folder: Path) -> list[dict[str, Any]]:
    """BDM of 30,000 cases, and what 16 times the cases cost."""
    rows, seconds = [], {}
    for n, d in (*SIZES, (FEWER, FEATURES), (MORE, FEATURES)):
        path = folder / f"{n}x{d}"
        make_library(path, correlated(n, d, 2)[0])
        took, _, peak, _ = trained(path, "bdm", "standardise")
        seconds[n, d] = took
        target = SECONDS if (n, d) in SIZES else None
        rows.append(row(f"train bdm, {n:,} x {d}", took, "s", target, target and took < target))
        rows.append(row(f"  its peak memory, {n:,} x {d}", peak, "MB", most=MEGABYTES))
    ratio = seconds[MORE, FEATURES] / seconds[FEWER, FEATURES] / (MORE / FEWER)
    what = f"time from {FEWER:,} to {MORE:,} cases to that of a linear growth"
    return [*rows, row(what, ratio, "x", most=GROWTH)]


def everything(folder: Path) -> list[dict[str, Any]]:
    """BDM on all of 30,000 cases, with ``training_cases=0``."""
    path = folder / "all"
    make_library(path, correlated(*SIZES[0], 2)[0])
    took, _, peak, _ = trained(path, "bdm", "standardise", training_cases=0)
    n, d = SIZES[0]
    return [
        row(f"train bdm on all, {n:,} x {d}", took, "s"),
        row(f"  its peak memory, {n:,} x {d}", peak, "MB", most=MEGABYTES),
    ]


def wide(folder: Path) -> list[dict[str, Any]]:
    """Gabor's 2,560 features and their 200 components."""
    path = folder / "wide"
    make_library(path, correlated(WIDE, WIDE_FEATURES, 2)[0], "gabor")
    took, _, peak, _ = trained(path, "bdm", "standardise,pca:200")
    size = f"{WIDE:,} x {WIDE_FEATURES:,}, pca:200"
    return [
        row(f"train bdm, {size}", took, "s"),
        row(f"  its peak memory, {size}", peak, "MB", most=MEGABYTES),
    ]


def scoring(folder: Path) -> list[dict[str, Any]]:
    """Scores and calibration of 200,000 cases."""
    path = folder / "scored"
    make_library(path, correlated(SCORED, SCORED_FEATURES, 2)[0])
    took, scored, _, _ = trained(path, "bdm", "standardise")
    size = f"{SCORED:,} x {SCORED_FEATURES}"
    return [
        row(f"train bdm, {size}", took, "s"),
        row(f"  of it scoring, {size}", scored, "s", most=SCORING_SECONDS),
    ]


def samples(data: Path | None) -> list[dict[str, Any]]:
    """Precision @ 10 of held-out letters with jitter, by how many cases BDM was trained on."""
    if data is None:
        return []
    read = read_table(data / "tables" / "letter.csv")
    rng = np.random.default_rng(0)
    order = rng.permutation(len(read.X))
    X, y = np.asarray(read.X, dtype=np.float64)[order], finding_codes(np.array(read.findings))[0][order]
    X += 0.5 * rng.normal(size=X.shape)
    X = (X - X[HELD_OUT:].mean(axis=0)) / X[HELD_OUT:].std(axis=0)

    def precision(metric: Metric) -> float:
        return precision_at(metric, X[:HELD_OUT], y[:HELD_OUT], X[HELD_OUT:], y[HELD_OUT:])

    gallery, found = f"{len(X) - HELD_OUT:,} letters", {}
    plain = precision(make_learner("euclidean").fit(X[HELD_OUT:]).metric())
    rows = [row(f"precision @ {NEAREST}, {gallery}, Euclidean", plain, "")]
    for most in SAMPLES:
        begin = time.process_time()
        metric = make_learner("bdm", training_cases=most).fit(X[HELD_OUT:], y[HELD_OUT:]).metric()
        seconds = time.process_time() - begin
        found[most] = precision(metric)
        rows.append(row(f"  BDM trained on {most:,} ({seconds:.1f} s)", found[most], ""))
    loss = found[SAMPLES[-1]] - found[4_000]
    return [*rows, row("  lost by 4,000 cases against 8,000", loss, "", most=LOSS)]


def precision_at(metric: Metric, Q: Matrix, of_queries: Any, X: Matrix, of_gallery: Any) -> float:
    """Share of the :data:`NEAREST` cases (n, d) that have a query's finding, ties by the Euclidean distance."""
    first, second = metric.embed(Q), metric.embed(X)
    shares = []
    for start in range(0, len(Q), 200):
        part = slice(start, start + 200)
        near = squared(first[part], second) + 1e-9 * squared(Q[part], X)
        places = np.argpartition(near, NEAREST, axis=1)[:, :NEAREST]
        shares.append((of_gallery[places] == of_queries[part, np.newaxis]).mean(axis=1))
    return float(np.concatenate(shares).mean())


def squared(Q: Matrix, X: Matrix) -> Matrix:
    distances: Matrix = np.square(Q).sum(axis=1)[:, np.newaxis] + np.square(X).sum(axis=1) - 2.0 * Q @ X.T
    return distances


def run(data: Path | None, only: Sequence[str] = ()) -> list[dict[str, Any]]:
    """Rows of this benchmark; only the comparison of samples needs the real data."""
    rows: list[dict[str, Any]] = []
    for part in (growth, everything, wide, scoring):
        if not only or part.__name__ in only:
            with TemporaryDirectory() as folder:
                rows += part(Path(folder))
    return rows if only and "samples" not in only else [*rows, *samples(data)]


if __name__ == "__main__":
    limit_threads()
    measured = run(real_data.folder(), [name for name in sys.argv[1:] if not name.startswith("-")])
    print(table([Row("size", **line) for line in measured]))
