"""A note is kept with its case, and found by the search box."""

from __future__ import annotations

from semblance.core.workflows.library.case_notes import keep_note, read_note
from semblance.core.workflows.library.find_cases import find_cases, text_hits
from tests.helpers.libraries import make_library


def test_a_note_is_kept_found_and_removed(tmp_path):
    path = make_library(tmp_path / "l")
    assert read_note(path, "s/0.png") is None
    assert keep_note(path, "s/0.png", "Spiculated margin").text == "Spiculated margin"
    assert [case["case_id"] for case in find_cases(path, "spicul margin").cases] == ["s/0.png"]
    hits = text_hits(path, [1, 2], "margin")
    assert {row: (hit.name, hit.text) for row, hit in hits.items()} == {1: ("notes", "Spiculated margin")}
    assert keep_note(path, "s/0.png", " ") is None
    assert find_cases(path, "spicul").cases == []
