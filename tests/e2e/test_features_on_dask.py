"""Features are extracted by the workers of a real Dask scheduler; losing one of them loses no case."""

from __future__ import annotations

import importlib.util
import json

import numpy as np
import pytest

from semblance.core.library.library import Library
from semblance.core.tasks import Reporter
from semblance.core.workflows.features.extract_features import extract_features
from semblance.core.workflows.library.import_source import import_source
from tests.helpers.dask_cluster import cluster
from tests.helpers.images import striped_folder
from tests.helpers.program import run_program

pytestmark = pytest.mark.long

if importlib.util.find_spec("distributed") is None:
    pytest.skip("the extra `dask` is not installed", allow_module_level=True)

CASES = 1200


class KillFirstWorker(Reporter):
    """Kills a worker as soon as some cases have their features."""

    def __init__(self, worker):
        self.worker, self.counted = worker, []

    def partial(self, result):
        self.counted.append(result)
        self.worker.kill()


def test_a_lost_worker_fails_only_its_own_tasks(tmp_path):
    library = tmp_path / "lib"
    import_source(striped_folder(tmp_path / "images", n=CASES, patients=False), library)
    extract_features(library, "pixels", name="here", workers=1)
    with cluster(tmp_path / "cluster") as (address, workers):
        reporter = KillFirstWorker(workers[0])
        result = extract_features(library, "pixels", name="there", cluster=address, reporter=reporter)
        assert workers[0].wait(timeout=60) != 0
        assert 0 < reporter.counted[0] < CASES
        assert (result.extracted, result.cases, result.failed) == (CASES, CASES, [])
        with Library.open(library) as opened:
            values = [opened.features.read(opened.features.get(name)) for name in ("here", "there")]
        np.testing.assert_array_equal(values[0][0], values[1][0])
        np.testing.assert_array_equal(values[0][1], values[1][1])

        again = run_program(
            "features", library, "--extractor", "pixels", "--name", "there", "--cluster", address, "--json"
        )
        assert again[0] == 0, again[2]
        assert json.loads(again[1])["extracted"] == 0


def test_a_worker_that_does_not_see_the_images_is_named(tmp_path, monkeypatch):
    library, images = tmp_path / "lib", striped_folder(tmp_path / "images", n=4, patients=False)
    import_source(images, library)
    images.rename(tmp_path / "elsewhere")
    with cluster(tmp_path / "cluster") as (address, _):
        status, out, err = run_program("features", library, "--extractor", "pixels", "--cluster", address)
    assert (status, out) == (1, "")
    assert f"cannot read '{images}'" in err
    assert "storage that all workers see" in err
