from __future__ import annotations

import pytest

from semblance.core.errors import BadArguments, BadInput
from semblance.core.workflows.library.edit_lesions import (
    join_lesions,
    list_lesions,
    split_lesions,
    undo_lesions,
)
from tests.helpers.libraries import make_library


def test_groups_are_joined_split_undone_and_listed(tmp_path):
    library = make_library(tmp_path / "lib")
    assert list_lesions(library) == []
    joined = join_lesions(library, ["s/1.png", "s/4.png", "s/5.png"])
    (group,) = list_lesions(library)
    assert group.to_json() == {
        "cases": [
            {"case_id": "s/1.png", "finding": "malignant"},
            {"case_id": "s/4.png", "finding": "benign"},
            {"case_id": "s/5.png", "finding": "malignant"},
        ],
        "by_hand": True,
    }
    again = split_lesions(library, ["s/4.png"])
    assert [case for case, _ in list_lesions(library)[0].cases] == ["s/1.png", "s/5.png"]
    undo_lesions(library, again)
    assert list_lesions(library) == [group]
    undo_lesions(library, joined)
    assert list_lesions(library) == []


def test_one_case_cannot_be_joined_nor_an_unknown_one(tmp_path):
    library = make_library(tmp_path / "lib")
    with pytest.raises(BadArguments, match="At least two cases"):
        join_lesions(library, ["s/1.png", "s/1.png"])
    with pytest.raises(BadInput, match="There is no case"):
        join_lesions(library, ["s/1.png", "s/99.png"])
    assert list_lesions(library) == []
