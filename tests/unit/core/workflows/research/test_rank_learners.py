"""One call prepares libraries of image sets, measures on them and writes the yardstick; the next continues."""

from __future__ import annotations

import json

import pytest

from semblance.core.errors import BadInput
from semblance.core.library.open_library import open_library
from semblance.core.workflows.research.rank_learners import RankLearnersRequest, rank_learners
from tests.helpers.images import striped_folder


def test_image_sets_are_measured_once_and_what_cannot_be_used_is_named(tmp_path):
    images = tmp_path / "images"
    striped_folder(images / "one", n=16)
    (images / "empty.zip").write_bytes(b"no zip")
    request = RankLearnersRequest(images, tmp_path / "out", ("euclidean", "lda"), repeats=2)
    found = rank_learners(request, workers=1)
    assert set(found["image_sets"]) == {"one"}
    assert set(found["skipped"]) == {"empty.zip"}
    assert found["cells"]["measured_now"] == 2 * 3 * 2
    assert {row["features"] for row in found["rows"]} == {"gabor", "classical", "encoder"}
    stored = json.loads((tmp_path / "out" / "yardstick.json").read_text())
    assert stored["rows"] == found["rows"]
    assert (tmp_path / "out" / "export" / "repeat.sh").exists()
    assert "| LDA | encoder |" in (tmp_path / "out" / "yardstick.md").read_text()
    with open_library(tmp_path / "out" / "libraries" / "one.semblance") as library:
        assert len([one for one in library.features.all() if not one.part]) == 3
    again = rank_learners(request, add=[tmp_path / "out" / "yardstick.json"], workers=1)
    assert again["cells"]["measured_now"] == 0
    assert again["rows"] == found["rows"]


def test_a_folder_without_image_sets_is_refused(tmp_path):
    with pytest.raises(BadInput, match="No image set"):
        rank_learners(RankLearnersRequest(tmp_path, tmp_path / "out"))
    with pytest.raises(BadInput, match="cannot be read"):
        rank_learners(RankLearnersRequest(tmp_path / "none", tmp_path / "out"))
