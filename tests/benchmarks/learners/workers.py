"""The processes that fit: one in the environment of the project, one in that of the peers."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

HERE = Path(__file__).resolve().parent
TOP = HERE.parents[2]
ONE_THREAD = dict.fromkeys(
    ("OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS", "MKL_NUM_THREADS", "BLIS_NUM_THREADS"), "1"
)


class Worker:
    """A process of :mod:`tests.benchmarks.learners.worker`, with one BLAS thread."""

    def __init__(self, python: Path) -> None:
        environment = {**os.environ, **ONE_THREAD, "PYTHONPATH": str(TOP)}
        self._process = subprocess.Popen(
            [str(python), str(HERE / "worker.py")],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            text=True,
            env=environment,
            cwd=TOP,
        )

    def send(self, **request: Any) -> dict[str, Any]:
        """Send a request and return the response.

        Raises:
            RuntimeError: The process has ended.
        """
        assert self._process.stdin is not None
        assert self._process.stdout is not None
        self._process.stdin.write(json.dumps(request) + "\n")
        self._process.stdin.flush()
        line = self._process.stdout.readline()
        if not line:
            raise RuntimeError(f"The worker ended with status {self._process.wait()}.")
        response: dict[str, Any] = json.loads(line)
        return response

    def close(self) -> None:
        assert self._process.stdin is not None
        assert self._process.stdout is not None
        self._process.stdin.close()
        self._process.wait()
        self._process.stdout.close()


@contextmanager
def workers(peers: Path | None) -> Iterator[dict[str, Worker]]:
    """By library: the project's Python for "semblance" and "scikit-learn", ``peers`` for "metric-learn"."""
    own = Worker(Path(sys.executable))
    open_workers = [own]
    by_library = {"semblance": own, "scikit-learn": own}
    try:
        if peers is not None:
            open_workers.append(Worker(peers))
            by_library["metric-learn"] = open_workers[-1]
        yield by_library
    finally:
        for worker in open_workers:
            worker.close()
