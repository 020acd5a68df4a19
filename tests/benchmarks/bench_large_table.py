"""A table of a million rows: import, features, a search by the command line, and learners.

Each runs in a process of its own. Times are processor seconds, because other work on the machine changes the clock
time. ``SEMBLANCE_LEARNERS=rca,bdm`` measures these learners alone, and an empty value none.
"""

from __future__ import annotations

import json
import os
import subprocess
import sys
import tempfile
from pathlib import Path
from typing import Any

import numpy as np

from tests.benchmarks.harness import row

ROWS, FEATURES = 1_000_000, 32
#: Seconds and megabytes of each step.
TARGETS = {"import": (60.0, 700.0), "features": (30.0, 700.0), "search": (2.0, 700.0)}
#: How much longer the first search of a new metric may take than the second.
FIRST_TO_SECOND = 1.5
#: The features of the rows that learners are fitted on, in single precision.
WIDE = 64
LEARNERS = ("bdm", "bdm_v", "passive_aggressive", "ccml", "rca")
#: Seconds and megabytes of a learner.
FIT_TARGETS = (300.0, 4096.0)
#: Runs one step and prints its processor seconds, with those of its start, and its peak in MB.
PROGRAM = """
import json, re, sys, time
from pathlib import Path
from semblance.core.engine import limit_threads
limit_threads()
step, source, library = sys.argv[1], Path(sys.argv[2]), Path(sys.argv[3])
if step == "import":
    from semblance.core.workflows.library.import_source import import_source
    import_source(source, library)
elif step == "features":
    from semblance.core.workflows.features.extract_features import extract_features
    extract_features(library, "raw")
elif step.startswith("fit "):
    import numpy as np
    from semblance.core.metrics import make_learner
    learner = make_learner(step.removeprefix("fit "), random_state=0).fit(np.load(source), np.load(library))
    assert learner.metric().n_features == 64
elif step == "train":
    from semblance.core.workflows.metrics.train_metric import train_metric
    from semblance.core.workflows.metrics.train_request import TrainRequest
    from semblance.core.workflows.searches.open_metrics import prepare_searches
    train_metric(library, TrainRequest("euclidean", "m"))
    # As the command does.
    prepare_searches(library, "m")
else:
    from semblance.core.searches.query import Query
    from semblance.core.workflows.searches.rank_cases import nearest_cases
    assert len(nearest_cases(library, "m", Query(case=f"{source.stem}/c7"), k=20).ranked) == 20
peak = re.search(r"VmHWM:\\s+(\\d+) kB", Path("/proc/self/status").read_text())
print(json.dumps([time.process_time(), int(peak[1]) / 1024]))
"""


def write(file: Path) -> None:
    """A table of :data:`ROWS` with four findings, two rows a patient."""
    rng = np.random.default_rng(0)
    centres = 2 * rng.normal(size=(4, FEATURES))
    with file.open("w", encoding="utf-8") as out:
        out.write("case_id,patient_id," + ",".join(f"f{i}" for i in range(FEATURES)) + ",label\n")
        for start in range(0, ROWS, 10_000):
            numbers = np.arange(start, min(ROWS, start + 10_000))
            X = centres[numbers % 4] + rng.normal(size=(len(numbers), FEATURES))
            for number, row in zip(numbers.tolist(), X, strict=True):
                cells = ",".join(f"{value:.3f}" for value in row)
                out.write(f"c{number},p{number // 2},{cells},{'abcd'[number % 4]}\n")


def write_wide(folder: Path) -> tuple[Path, Path]:
    """Rows with eight overlapping findings, and the findings."""
    rng = np.random.default_rng(1)
    centres = rng.normal(size=(8, WIDE))
    # Directions of noise alone, so that a metric has something to learn.
    scale = np.geomspace(0.5, 8.0, WIDE)
    y = rng.integers(0, len(centres), ROWS)
    array = np.lib.format.open_memmap(folder / "rows.npy", "w+", np.float32, (ROWS, WIDE))
    for start in range(0, ROWS, 50_000):
        part = slice(start, min(ROWS, start + 50_000))
        array[part] = centres[y[part]] + scale * rng.normal(size=(len(y[part]), WIDE))
    np.save(folder / "findings.npy", y)
    return folder / "rows.npy", folder / "findings.npy"


def measured(step: str, source: Path, library: Path) -> tuple[float, float]:
    """Processor seconds and megabytes of a step."""
    command = [sys.executable, "-c", PROGRAM, step, str(source), str(library)]
    done = subprocess.run(command, capture_output=True, text=True, check=True)
    seconds, peak = json.loads(done.stdout.splitlines()[-1])
    return seconds, peak


def run(_data: Path | None) -> list[dict[str, Any]]:
    rows = []
    with tempfile.TemporaryDirectory() as folder:
        source, library = Path(folder) / "t.csv", Path(folder) / "lib"
        write(source)
        searches = []
        for step in ("import", "features", "train", "search", "search"):
            seconds, peak = measured(step, source, library)
            again = step == "search" and any(row["what"].startswith("first search") for row in rows)
            name = step if step != "search" or again else "first search"
            limits = TARGETS.get(name)
            searches += [seconds] if step == "search" else []
            for what, value, unit, target in (
                (f"{name}, {ROWS:,} x {FEATURES}", seconds, "s", limits and limits[0]),
                ("  its peak memory", peak, "MB", limits and limits[1]),
            ):
                reached = None if target is None else value < target
                rows.append(row(what, value, unit, target, reached))
        ratio = searches[0] / searches[1]
        rows.append(
            row(
                "first search of a new metric to the second",
                ratio,
                "",
                FIRST_TO_SECOND,
                ratio < FIRST_TO_SECOND,
            )
        )
        learners = [
            name for name in os.environ.get("SEMBLANCE_LEARNERS", ",".join(LEARNERS)).split(",") if name
        ]
        wide, findings = write_wide(Path(folder)) if learners else (source, source)
        for name in learners:
            for what, value, unit, target in zip(
                (f"{name}, {ROWS:,} x {WIDE}", "  its peak memory"),
                measured(f"fit {name}", wide, findings),
                ("s", "MB"),
                FIT_TARGETS,
                strict=True,
            ):
                rows.append(row(what, value, unit, target, value < target))
    return rows
