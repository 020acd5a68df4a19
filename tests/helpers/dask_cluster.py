"""A Dask scheduler with two workers of one thread each, on loopback."""

from __future__ import annotations

import contextlib
import json
import os
import signal
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from tests.helpers.program import TOP
from tests.helpers.wait import PATIENCE_S, wait_until


@contextlib.contextmanager
def dask(kind: str, *arguments: object, folder: Path) -> Iterator[subprocess.Popen[bytes]]:
    log = (folder / f"{kind}.log").open("ab")
    process = subprocess.Popen(
        [sys.executable, "-m", f"distributed.cli.dask_{kind}", *map(str, arguments)],
        env=os.environ | {"PYTHONPATH": str(TOP)},
        cwd=folder,
        stdout=log,
        stderr=log,
    )
    log.close()
    try:
        yield process
    finally:
        process.send_signal(signal.SIGTERM)
        try:
            process.wait(timeout=30)
        except subprocess.TimeoutExpired:
            process.kill()
            process.wait()


def is_json(file: Path) -> bool:
    """Whether it is there and written to its end."""
    try:
        json.loads(file.read_text())
    except (FileNotFoundError, json.JSONDecodeError):
        return False
    return True


@contextlib.contextmanager
def cluster(folder: Path) -> Iterator[tuple[str, list[subprocess.Popen[bytes]]]]:
    """The address of the scheduler, and its workers, which have joined it; all run in ``folder``, which is made."""
    from distributed import Client

    folder.mkdir()
    scheduler_file = folder / "scheduler.json"
    loopback: tuple[Any, ...] = ("--host", "127.0.0.1")
    options = ("--port", 0, "--no-dashboard", "--scheduler-file", scheduler_file)
    with dask("scheduler", *loopback, *options, folder=folder):
        wait_until(lambda: is_json(scheduler_file), "the scheduler tells its address")
        address = json.loads(scheduler_file.read_text())["address"]
        one = (address, *loopback, "--nthreads", 1, "--no-nanny", "--no-dashboard")
        with dask("worker", *one, folder=folder) as first, dask("worker", *one, folder=folder) as second:
            with Client(address, timeout=PATIENCE_S, set_as_default=False) as client:
                # The program gives workers some seconds to join, which on a busy machine are over before they started.
                client.wait_for_workers(2, timeout=PATIENCE_S)
            yield address, [first, second]
