"""Learners are evaluated by the workers of a real Dask scheduler, with the scores that one process gives."""

from __future__ import annotations

import importlib.util
import json
from typing import Any

import pytest

from semblance.core.tasks import Reporter
from semblance.core.workflows.evaluation.evaluate_learners import EvaluateRequest, evaluate
from tests.helpers.dask_cluster import cluster
from tests.helpers.program import run_program

pytestmark = pytest.mark.long

if importlib.util.find_spec("distributed") is None:
    pytest.skip("the extra `dask` is not installed", allow_module_level=True)

#: What depends on the machine.
_OF_MACHINE = ("fit_seconds", "versions")


class KillFirstWorker(Reporter):
    """Kills a worker after the first repeat."""

    def __init__(self, worker):
        self.worker, self.repeats = worker, []

    def partial(self, result):
        self.repeats.append(result.repeats)
        self.worker.kill()


def assert_same(one: Any, other: Any) -> None:
    if isinstance(one, dict):
        assert one.keys() == other.keys()
        for name in one.keys() - set(_OF_MACHINE):
            assert_same(one[name], other[name])
    elif isinstance(one, list):
        assert len(one) == len(other)
        for left, right in zip(one, other, strict=True):
            assert_same(left, right)
    else:
        assert one == (pytest.approx(other, rel=1e-9, abs=1e-12) if isinstance(one, float) else other)


def test_scores_are_those_of_one_process_also_where_a_worker_is_lost(tmp_path):
    request = EvaluateRequest(
        ("euclidean", "rca", "bdm"), "bdm", table="builtin:wine", settings=("bdm.rounds=5",), repeats=4
    )
    here = evaluate(request)
    with cluster(tmp_path / "cluster") as (address, workers):
        reporter = KillFirstWorker(workers[0])
        there = evaluate(EvaluateRequest(**(vars(request) | {"cluster": address})), reporter=reporter)
        assert workers[0].wait(timeout=60) != 0
        assert reporter.repeats == [1, 2, 3, 4]
        assert_same(there, here)
        status, out, err = run_program(
            "evaluate", "--table", "builtin:wine", "--learner", "euclidean,rca", "--protocol", "ccml", "--repeats", "1",
            "--cluster", address, "--json",
        )  # fmt: skip
        assert status == 0, err
        plain = evaluate(EvaluateRequest(("euclidean", "rca"), "ccml", table="builtin:wine", repeats=1))
        assert_same(json.loads(out), json.loads(json.dumps(plain)))
