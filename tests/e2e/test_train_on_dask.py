"""A metric that is trained with the workers of a real Dask scheduler is the one that this computer learns alone."""

from __future__ import annotations

import importlib.util
import json

import numpy as np
import pytest

from semblance.core.engine import cluster as cluster_module
from semblance.core.library.library import Library
from semblance.core.workflows.features.extract_features import extract_features
from semblance.core.workflows.library.import_source import import_source
from semblance.core.workflows.metrics.stored_metric import stored_metric
from semblance.core.workflows.metrics.train_metric import train_metric
from semblance.core.workflows.metrics.train_request import TrainRequest
from tests.helpers.dask_cluster import cluster
from tests.helpers.program import run_program

pytestmark = pytest.mark.long

if importlib.util.find_spec("distributed") is None:
    pytest.skip("the extra `dask` is not installed", allow_module_level=True)

LEARNERS = ("rca", "passive_aggressive", "ccml")


@pytest.fixture
def library(tmp_path):
    rng = np.random.default_rng(3)
    findings = np.arange(300) % 3
    X = rng.normal(size=(300, 6)) * [5, 1, 1, 1, 1, 1] + findings[:, np.newaxis] * [0, 1, 1, 0, 0, 0]
    rows = (f"c{i},p{i // 2},{','.join(map(str, row))},{'abc'[i % 3]}" for i, row in enumerate(X))
    table = tmp_path / "t.csv"
    table.write_text("\n".join(["case_id,patient_id,f0,f1,f2,f3,f4,f5,label", *rows]) + "\n")
    import_source(table, tmp_path / "lib")
    extract_features(tmp_path / "lib", "raw")
    return tmp_path / "lib"


def test_the_metric_is_that_of_one_computer_also_where_a_worker_is_lost(library, tmp_path, monkeypatch):
    for learner in LEARNERS:
        train_metric(library, TrainRequest(learner, f"{learner}-here"))
    with cluster(tmp_path / "cluster") as (address, workers):
        submitted = []
        submit = cluster_module.Cluster.submit

        def kill_first_worker(self, *args, **kwargs):
            submitted.append(args)
            if len(submitted) == 3:
                workers[0].kill()
            return submit(self, *args, **kwargs)

        monkeypatch.setattr(cluster_module.Cluster, "submit", kill_first_worker)
        for learner in LEARNERS:
            before = len(submitted)
            train_metric(library, TrainRequest(learner, f"{learner}-there"), cluster=address)
            assert len(submitted) > before
        assert workers[0].wait(timeout=60) != 0
        status, out, err = run_program(
            "train", library, "--learner", "rca", "--name", "command", "--cluster", address, "--json"
        )
        assert status == 0, err
        assert json.loads(out)["metric"] == "command"
        status, _, err = run_program(
            "train", library, "--learner", "bdm", "--name", "none", "--cluster", address
        )
        assert (status, "has no parts" in err) == (2, True), err
    with Library.open(library) as opened:
        X = np.random.default_rng(0).normal(size=(20, 6))
        for learner in LEARNERS:
            here, there = (opened.metric(f"{learner}-{where}") for where in ("here", "there"))
            distances = [stored_metric(one).distances(X[:5], X) for one in (here, there)]
            np.testing.assert_allclose(distances[1], distances[0], rtol=1e-9, atol=1e-12)
            assert here.card["notes"] == there.card["notes"]
