"""An experiment runs on a real Dask scheduler and two workers on loopback, to the same numbers."""

from __future__ import annotations

import contextlib
import importlib.util
import json
import os
import signal
import subprocess
import sys

import pytest

from tests.helpers.program import TOP, run_program
from tests.helpers.tables import write_table
from tests.helpers.wait import wait_until

if importlib.util.find_spec("distributed") is None:
    pytest.skip("the extra `dask` is not installed", allow_module_level=True)


@contextlib.contextmanager
def dask(kind: str, *arguments: object, folder):
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


def is_json(file) -> bool:
    """Whether it is there and written to its end."""
    try:
        json.loads(file.read_text())
    except (FileNotFoundError, json.JSONDecodeError):
        return False
    return True


@pytest.fixture
def address(tmp_path):
    """A scheduler with two workers, each with one thread, that share no folder with the program."""
    (tmp_path / "cluster").mkdir()
    scheduler_file = tmp_path / "cluster" / "scheduler.json"
    where = {"folder": tmp_path / "cluster"}
    loopback = ("--host", "127.0.0.1")
    with dask(
        "scheduler", *loopback, "--port", 0, "--no-dashboard", "--scheduler-file", scheduler_file, **where
    ):
        wait_until(lambda: is_json(scheduler_file), "the scheduler tells its address")
        found = json.loads(scheduler_file.read_text())["address"]
        one = (found, *loopback, "--nthreads", 1, "--no-nanny", "--no-dashboard")
        with dask("worker", *one, **where), dask("worker", *one, **where):
            yield found


def test_the_numbers_are_the_same_as_here(tmp_path, address):
    table = write_table(tmp_path / "t.csv", n=60)
    options = ("--table", table, "--learner", "euclidean,lda,bdm", "--set", "bdm.rounds=3|6", "--repeats", 3)
    options = (*options, "--protocol", "bdm", "--json")
    status, far, err = run_program(
        "experiment", "run", *options, "--out", tmp_path / "far", "--scheduler", address
    )
    assert status == 0, err
    status, near, _ = run_program(
        "experiment",
        "run",
        *options,
        "--protocol",
        "bdm",
        "--out",
        tmp_path / "near",
        "--workers",
        1,
        "--json",
    )
    assert status == 0
    far, near = json.loads(far), json.loads(near)
    assert far["cells"] == near["cells"] == {
        "total": 9, "done": 9, "failed": 0, "measured_now": 9, "found_finished": 0,
    }  # fmt: skip
    for a, b in zip(far["results"], near["results"], strict=True):
        assert a["scores"] == b["scores"]
        assert a["chosen"] == b["chosen"]
    status, out, _ = run_program("experiment", "resume", tmp_path / "far", "--scheduler", address, "--json")
    assert json.loads(out)["cells"]["measured_now"] == 0


@pytest.mark.parametrize("wrong", ["udp//nothing", "tcp://127.0.0.1:1", "tcp://127.0.0.1", "file:///x"])
def test_an_address_where_nobody_answers(tmp_path, wrong):
    table = write_table(tmp_path / "t.csv", n=20)
    options = ("--table", table, "--learner", "euclidean", "--protocol", "bdm", "--out", tmp_path / "e")
    status, out, err = run_program("experiment", "run", *options, "--scheduler", wrong)
    assert (status, out) == (1, "")
    assert f"No Dask scheduler answers at '{wrong}'." in err
    assert "Traceback" not in err
