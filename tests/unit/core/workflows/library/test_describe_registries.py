from __future__ import annotations

import json

import pytest

from semblance.core.workflows.library.describe_registries import (
    describe_extractors,
    describe_kinds,
    describe_learners,
    describe_protocols,
)


@pytest.mark.parametrize(
    ("describe", "known"),
    [
        (describe_learners, {"euclidean", "bdm", "bdm_v"}),
        (describe_extractors, {"gabor", "colour_edge_texture", "raw"}),
        (describe_kinds, {"folder", "table", "corel", "medmnist"}),
        (describe_protocols, {"bdm"}),
    ],
)
def test_what_there_is_is_listed_with_a_word_on_each(describe, known):
    document = describe()
    json.dumps(document, allow_nan=False)
    assert known <= {item["name"] for item in document}
    for item in document:
        assert item["title"]
        assert item.get("summary") or item["when_to_use"]
        for parameter in item.get("parameters", []):
            assert parameter["meaning"].endswith(".")
