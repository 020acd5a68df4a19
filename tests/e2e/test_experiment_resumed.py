"""An experiment that was killed goes on with the cells it lacks, and ends with the same numbers."""

from __future__ import annotations

import json
import os
import signal
import sys

import pytest

from tests.helpers.program import run_program, start_program
from tests.helpers.tables import write_table
from tests.helpers.wait import wait_until

pytestmark = pytest.mark.skipif(sys.platform == "win32", reason="Windows knows no SIGKILL")


def numbers(text: str) -> dict:
    made = json.loads(text)
    rows = [{key: value for key, value in row.items() if key != "seconds"} for row in made["results"]]
    return {key: made[key] for key in ("comparisons", "worst_queries", "complete")} | {"results": rows}


@pytest.fixture(scope="module")
def whole(tmp_path_factory):
    """The options of an experiment, and its numbers where nothing interrupts it."""
    folder = tmp_path_factory.mktemp("whole")
    options = (
        "--table", write_table(folder / "t.csv", n=120), "--learner", "euclidean,bdm", "--set", "bdm.rounds=30",
        "--protocol", "bdm", "--repeats", 8,
    )  # fmt: skip
    status, out, err = run_program(
        "experiment", "run", *options, "--out", folder / "e", "--workers", 2, "--json"
    )
    assert (status, err) == (0, "")
    return options, numbers(out)


@pytest.mark.parametrize("way", [signal.SIGKILL, signal.SIGINT])
def test_killed_and_resumed(tmp_path, whole, way):
    options, expected = whole
    folder, cells = tmp_path / "e", tmp_path / "e" / "cells"
    with start_program("experiment", "run", *options, "--out", folder, "--workers", 2) as program:
        wait_until(
            lambda: program.poll() is not None or (cells.is_dir() and len(list(cells.glob("*.json"))) >= 3),
            "some cells are finished",
        )
        assert program.poll() is None, "it ended before it was killed"
        os.killpg(program.pid, way) if way == signal.SIGINT else os.kill(program.pid, way)
        program.communicate()
    before = {file.name: file.stat().st_mtime_ns for file in cells.glob("*.json")}
    assert 3 <= len(before) < 16
    status, out, err = run_program("experiment", "show", folder, "--json")
    assert (status, err) == (0, "")
    assert json.loads(out)["cells"]["done"] >= len(before) - 1
    status, out, err = run_program("experiment", "resume", folder, "--workers", 1, "--json")
    assert (status, err) == (0, "")
    counts = json.loads(out)["cells"]
    assert counts["total"] == counts["done"] == 16
    after = {file.name: file.stat().st_mtime_ns for file in cells.glob("*.json")}
    assert {name: after[name] for name in before} == before
    assert counts["found_finished"] + counts["measured_now"] == 16
    assert counts["found_finished"] >= len(before)
    assert numbers(out) == expected
    assert not list(folder.glob(".work-*"))
