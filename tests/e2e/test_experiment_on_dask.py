"""An experiment runs on a real Dask scheduler and two workers on loopback, to the same numbers."""

from __future__ import annotations

import importlib.util
import json

import pytest

from tests.helpers.dask_cluster import cluster
from tests.helpers.program import run_program
from tests.helpers.tables import write_table

pytestmark = pytest.mark.long

if importlib.util.find_spec("distributed") is None:
    pytest.skip("the extra `dask` is not installed", allow_module_level=True)


@pytest.fixture
def address(tmp_path):
    """A scheduler with two workers that share no folder with the program."""
    with cluster(tmp_path / "cluster") as (found, _):
        yield found


def test_the_numbers_are_the_same_as_here(tmp_path, address):
    table = write_table(tmp_path / "t.csv", n=60)
    options = ("--table", table, "--learner", "euclidean,lda,bdm", "--set", "bdm.rounds=3|6", "--repeats", 3)
    options = (*options, "--protocol", "bdm", "--json")
    status, far, err = run_program(
        "experiment", "run", *options, "--out", tmp_path / "far", "--cluster", address
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
    status, out, _ = run_program("experiment", "resume", tmp_path / "far", "--cluster", address, "--json")
    assert json.loads(out)["cells"]["measured_now"] == 0
