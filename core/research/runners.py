"""Runners of cells: processes of this computer, or a cluster."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any, Self

from semblance.core.engine import Engine, Task
from semblance.core.engine.cluster import Cluster


class LocalRunner:
    """Spawned processes of this computer. Each reads the cases from a file and caches them between cells."""

    def __init__(self, workers: int | None = None) -> None:
        self._engine = Engine(workers)
        self.workers = self._engine.workers

    def submit(self, function: Callable[..., Any], *args: Any) -> Task:
        """Run ``function(*args)`` in a process."""
        return self._engine.submit(function, *args)

    def share_file(self, file: Path) -> Path:
        """``file`` itself, because the processes can read it."""
        return file

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self._engine.shutdown()


def make_runner(workers: int | None, scheduler: str) -> LocalRunner | Cluster:
    """``workers`` processes of this computer, or the cluster of a ``scheduler``.

    Raises:
        SemblanceError: the scheduler cannot be used.
    """
    return Cluster(scheduler, can_run_cells) if scheduler else LocalRunner(workers)


def can_run_cells() -> bool:
    """Runs on a worker of a cluster, to check that this program is installed there."""
    return True
