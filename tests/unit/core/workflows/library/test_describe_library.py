from __future__ import annotations

import json

import pytest

from semblance.core.errors import BadInput
from semblance.core.library.library import Library
from semblance.core.workflows.library import describe_library as module
from semblance.core.workflows.library.describe_library import (
    describe_extractors,
    describe_kinds,
    describe_learners,
    describe_library,
    describe_protocols,
)
from semblance.core.workflows.metrics.train_request import TrainRequest
from tests.helpers.tables import table_library


def test_a_library_is_described_in_the_shape_scripts_rely_on(tmp_path, monkeypatch):
    library = table_library(tmp_path, metrics=(TrainRequest("euclidean", "mine"),))
    with Library.open(library) as opened:
        opened.save_search("a search", {})
    document = describe_library(library)
    json.dumps(document, allow_nan=False)
    case_ids = document.pop("case_ids")
    assert case_ids == [f"t/c{n}" for n in range(60)]
    assert document == {
        "library": str(library),
        "kinds": ["table"],
        "cases": 60,
        "patients": 30,
        "findings": {"kind 0": 30, "kind 1": 30},
        "feature_sets": ["raw"],
        "descriptions": {"raw": []},
        "metrics": ["mine"],
        "searches": ["a search"],
    }
    monkeypatch.setattr(module, "LISTED", 7)
    assert len(describe_library(library)["case_ids"]) == 7
    with pytest.raises(BadInput, match="does not exist"):
        describe_library(tmp_path / "gone")


def test_what_there_is_is_listed_with_a_word_on_each():
    for describe, known in [
        (describe_learners, {"euclidean", "bdm", "bdm_v"}),
        (describe_extractors, {"gabor", "colour_edge_texture", "raw"}),
        (describe_kinds, {"folder", "table", "corel", "medmnist"}),
        (describe_protocols, {"bdm"}),
    ]:
        document = describe()
        json.dumps(document, allow_nan=False)
        assert known <= {item["name"] for item in document}, describe
        for item in document:
            assert item["title"], describe
            assert item.get("summary") or item["when_to_use"], describe
            for parameter in item.get("parameters", []):
                assert parameter["meaning"].endswith("."), describe
