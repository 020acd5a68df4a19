"""The exported script repeats an experiment from the command line to the same bytes."""

from __future__ import annotations

import os
import shutil
import subprocess
import sys

import pytest

from tests.helpers.program import TOP, run_program
from tests.helpers.tables import table_library, write_table

pytestmark = [
    pytest.mark.long,
    pytest.mark.skipif(sys.platform == "win32", reason="the script is for a shell"),
]


def repeat(exported, data, out):
    program = out.with_name("the program")
    program.write_text(f'#!/bin/sh\nexec "{sys.executable}" -m semblance.app "$@"\n')
    program.chmod(0o755)
    environment = os.environ | {
        "PYTHONPATH": str(TOP),
        "SEMBLANCE": str(program),
        "WORKERS": "2",
        "DATA": str(data),
    }
    command = ["sh", str(exported / "repeat.sh"), str(out)]
    return subprocess.run(command, env=environment, capture_output=True, text=True, check=False)


def test_repeated_elsewhere(tmp_path):
    data = tmp_path / "data"
    table_library(data / "library", n=60)
    table = write_table(data / "t.csv", n=60, seed=4, missing=True)
    status, _, err = run_program(
        "experiment", "run", "--table", table, "--table", "builtin:iris",
        "--library", f"{data / 'library' / 'lib.semblance'}:raw",
        "--learner", "euclidean,bdm", "--set", "bdm.rounds=2|5", "--set", "protocol.train_on=one",
        "--protocol", "metricboost", "--repeats", 2, "--max-cases", 50, "--seed", 7,
        "--out", tmp_path / "e", "--workers", 1,
    )  # fmt: skip
    assert (status, err) == (0, "")
    status, out, _ = run_program("experiment", "export", tmp_path / "e", "--to", tmp_path / "x")
    assert status == 0
    assert str(tmp_path / "x" / "repeat.sh") in out.splitlines()
    elsewhere = tmp_path / "else where"
    shutil.copytree(data, elsewhere)
    done = repeat(tmp_path / "x", elsewhere, tmp_path / "again")
    assert (done.returncode, done.stderr) == (0, "")
    assert done.stdout.endswith("The numbers are the same.\n")
    for name in (
        "scores.csv",
        "values.csv",
        "comparisons.csv",
        "ranks.csv",
        "pairs.csv",
        "worst_queries.csv",
        "table.tex",
    ):
        again = tmp_path / "again" / "export" / name
        assert again.read_bytes() == (tmp_path / "x" / name).read_bytes(), name
    write_table(elsewhere / "t.csv", n=60, seed=5)
    changed = repeat(tmp_path / "x", elsewhere, tmp_path / "third")
    assert changed.returncode != 0
    assert "'t' does not hold the cases that were measured before." in changed.stderr
