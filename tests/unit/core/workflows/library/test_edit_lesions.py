"""Joining and splitting same-lesion groups are edits: undone, redone, and seen in the scores that depend on them."""

from __future__ import annotations

import numpy as np
import pytest

from semblance.core.errors import BadArguments, BadInput
from semblance.core.library.lesion_groups import add_detected
from semblance.core.library.library import Library
from semblance.core.library.metric_scores import CHANGED_LESIONS, is_changed_since
from semblance.core.workflows.library.edit_lesions import join_lesions, list_lesions, split_lesions
from semblance.core.workflows.library.undo_edits import redo, undo
from tests.helpers.libraries import make_library, numbers_set


def test_groups_are_joined_split_undone_and_listed(tmp_path):
    library = make_library(tmp_path / "lib")
    assert list_lesions(library) == []
    result = join_lesions(library, ["s/1.png", "s/4.png", "s/5.png"])
    assert (result.changed, str(result.text)) == (3, "Mark 3 cases as one lesion")
    (group,) = list_lesions(library)
    assert group.to_json() == {
        "cases": [
            {"case_id": "s/1.png", "finding": "malignant"},
            {"case_id": "s/4.png", "finding": "benign"},
            {"case_id": "s/5.png", "finding": "malignant"},
        ],
        "by_hand": True,
    }
    split_lesions(library, ["s/4.png"])
    assert [case for case, _ in list_lesions(library)[0].cases] == ["s/1.png", "s/5.png"]
    undo(library)
    assert list_lesions(library) == [group]
    undo(library)
    assert list_lesions(library) == []
    redo(library)
    assert list_lesions(library) == [group]


def test_one_case_cannot_be_joined_nor_an_unknown_one(tmp_path):
    library = make_library(tmp_path / "lib")
    with pytest.raises(BadArguments, match="At least two cases"):
        join_lesions(library, ["s/1.png", "s/1.png"])
    with pytest.raises(BadInput, match="There is no case"):
        join_lesions(library, ["s/1.png", "s/99.png"])
    assert list_lesions(library) == []


@pytest.fixture
def scored(tmp_path):
    """A library with detected groups and a metric that was scored with them."""
    path = make_library(tmp_path / "lib.semblance")
    with Library.open(path) as library:
        add_detected(library.catalogue, [(1, 2), (2, 3)])
        file = library.new_metric_file()
        file.write_bytes(b"a metric")
        rows = np.array([1], dtype=np.int64)
        library.add_metric("m", "euclidean", numbers_set(library).id, file, {}, rows, {"auc": 0.8})
    return path


def scores(path):
    with Library.open(path) as library:
        return library.metric("m").scores


def test_scores_are_stale_after_a_join_or_split_until_it_is_undone(scored):
    for edit, cases in ((join_lesions, ["s/3.png", "s/4.png"]), (split_lesions, ["s/1.png"])):
        assert edit(scored, cases).outdated == ("m",)
        assert is_changed_since(scores(scored))
        undo(scored)
        assert not is_changed_since(scores(scored))
    # Of a group that is confirmed by hand, nothing that was measured depends on it.
    join_lesions(scored, ["s/0.png", "s/1.png"])
    assert not is_changed_since(scores(scored))


def test_a_dry_run_changes_nothing(scored):
    result = split_lesions(scored, ["s/1.png"], dry_run=True)
    assert result.changed
    assert result.dry_run
    assert not is_changed_since(scores(scored))


def test_scores_are_stale_after_a_later_detection(scored):
    with Library.open(scored) as library:
        assert add_detected(library.catalogue, [(1, 2)]) == 0
        assert CHANGED_LESIONS not in library.metric("m").scores
        add_detected(library.catalogue, [(4, 5)])
    assert is_changed_since(scores(scored))
