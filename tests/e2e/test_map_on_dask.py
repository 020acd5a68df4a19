"""What all tasks of a cluster share is sent once more after a loss, not once for each task that lost it."""

from __future__ import annotations

import importlib.util
import os
import time
from concurrent.futures import ThreadPoolExecutor
from contextlib import ExitStack
from dataclasses import dataclass
from pathlib import Path

import pytest

from semblance.core.engine.cluster import Cluster
from tests.helpers.dask_cluster import cluster, dask
from tests.helpers.wait import wait_until

pytestmark = [
    pytest.mark.long,
    pytest.mark.skipif(
        importlib.util.find_spec("distributed") is None, reason="the extra `dask` is not installed"
    ),
]


@dataclass(frozen=True)
class _Square:
    """Notes that it was called, then waits until the folder has the file ``go``."""

    folder: Path

    def __call__(self, number: int) -> int:
        (self.folder / f"{number}.{os.getpid()}").touch()
        while not (self.folder / "go").exists():
            time.sleep(0.01)
        return number * number


def test_data_lost_with_all_workers_is_sent_once_more(tmp_path, monkeypatch):
    calls = tmp_path / "calls"
    calls.mkdir()
    with (
        cluster(tmp_path / "cluster") as (address, workers),
        Cluster(address) as engine,
        ThreadPoolExecutor(1) as other,
        ExitStack() as late,
    ):
        shared = []
        share = engine.share
        monkeypatch.setattr(engine, "share", lambda *given: shared.append(given) or share(*given))

        def replace_workers() -> None:
            wait_until(lambda: len(list(calls.iterdir())) == len(workers), "both workers have a task")
            for worker in workers:
                worker.kill()
                worker.wait()
            (calls / "go").touch()
            options = ("--host", "127.0.0.1", "--nthreads", 1, "--no-nanny", "--no-dashboard")
            late.enter_context(dask("worker", address, *options, folder=tmp_path))

        replaced = other.submit(replace_workers)
        assert engine.map(_Square(calls), range(30)) == [n * n for n in range(30)]
        replaced.result()
        assert len(shared) == 2
