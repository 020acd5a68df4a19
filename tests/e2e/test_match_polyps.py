"""Polyps found again from prone to supine: a study of phantoms imported, measured and matched."""

from __future__ import annotations

import json

import pytest

from tests.helpers.colon_phantoms import write_study
from tests.helpers.program import run_program

pytestmark = pytest.mark.long


def run_json(*arguments):
    status, out, err = run_program(*arguments, "--json")
    assert status == 0, err
    return json.loads(out)


@pytest.fixture(scope="module")
def library(tmp_path_factory):
    folder = tmp_path_factory.mktemp("colon")
    study = write_study(folder / "study", patients=6, seed=3)
    return folder / "lib", run_json("import", study, "--library", folder / "lib")


def test_polyps_are_matched_from_view_to_view(library):
    path, imported = library
    assert imported["kind"] == "polyps"
    assert imported["failed"] == []
    assert imported["patients"] == 6
    assert imported["findings"]["false positive"] > 40
    features = run_json("features", path, "--extractor", "polyp")
    assert features["extracted"] + len(features["failed"]) == imported["cases"]
    assert features["extracted"] > 0.95 * imported["cases"]
    names = ["metricboost", "euclidean", "geodesic"]
    learners = ",".join(names)
    options = ["--protocol", "matching", "--learner", learners, "--steps", "standardise,mrmr:20"]
    document = run_json("evaluate", path, *options)
    assert document["failed"] == []
    assert [one["learner"] for one in document["results"]] == names
    for one in document["results"]:
        rates = [one["scores"][f"hit_rate@{k}"]["mean"] for k in range(1, 11)]
        assert rates == sorted(rates)
        # About nine candidates lie in the other view: chance is one in nine.
        assert rates[0] > 0.25
        assert one["scores"]["hit_rate@1"]["ci95"][0] <= rates[0] <= one["scores"]["hit_rate@1"]["ci95"][1]
