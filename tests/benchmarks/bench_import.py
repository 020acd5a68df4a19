"""Import: 1,800 JPEGs catalogued, in a process of its own; seconds and peak memory."""

from __future__ import annotations

import statistics
import subprocess
import sys
import tempfile
from pathlib import Path
from typing import Any

from tests.benchmarks.harness import require_data, row

RUNS = 5
PROGRAM = """
import sys, time, resource
from pathlib import Path
start = time.perf_counter()
from semblance.core.workflows.library.import_source import import_source
result = import_source(Path(sys.argv[1]), Path(sys.argv[2]))
assert result.added == 1800, result
print(time.perf_counter() - start, resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024)
"""


def run(data: Path | None) -> list[dict[str, Any]]:
    source = require_data(data) / "images" / "medical_mnist_a.zip"
    seconds, megabytes = [], []
    for _ in range(RUNS):
        with tempfile.TemporaryDirectory() as folder:
            done = subprocess.run(
                [sys.executable, "-c", PROGRAM, str(source), f"{folder}/library"],
                capture_output=True,
                text=True,
                check=True,
            )
        took, memory = done.stdout.split()
        seconds.append(float(took))
        megabytes.append(float(memory))
    took, memory = statistics.median(seconds), max(megabytes)
    return [
        row("1,800 JPEGs catalogued", took, "s", most=5),
        row("peak memory", memory, "MB", most=300),
    ]
