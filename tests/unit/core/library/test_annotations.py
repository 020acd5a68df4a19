"""Measurements, marks, key images and notes are kept with their case."""

from __future__ import annotations

import pytest

from semblance.core.errors import BadArguments, BadInput
from semblance.core.library.annotations import Annotation
from semblance.core.library.edit_log import recorded_edit, undo_edit
from semblance.core.library.library import Library
from tests.helpers.libraries import make_library

LINE = Annotation("line", {"points": [[1.5, 2.0], [3.0, 4.0]]}, slice=7)


def test_annotations_are_replaced_by_id(tmp_path):
    with Library.open(make_library(tmp_path / "l")) as library:
        table = library.annotations
        line, key = table.replace("s/0.png", [LINE, Annotation("key_image")])
        assert (line.kind, line.data, line.slice) == (LINE.kind, LINE.data, 7)
        assert line.author and line.time and table.of_case("s/1.png") == ()
        moved = Annotation("line", {"points": [[0, 0], [1, 1]]}, 7, line.id)
        assert [one.id for one in table.replace("s/0.png", [moved, key])] == [line.id, key.id]
        assert table.of_case("s/0.png")[0].data == {"points": [[0, 0], [1, 1]]}
        assert table.replace("s/0.png", [key]) == (key,)
        assert table.of_case("s/0.png") == (key,)
        with pytest.raises(BadArguments, match="'circle'"):
            table.replace("s/0.png", [Annotation("circle")])
        with pytest.raises(BadInput):
            table.replace("s/none", [])


def test_a_removed_case_comes_back_with_its_annotations_and_note(tmp_path):
    with Library.open(make_library(tmp_path / "l")) as library:
        before = library.annotations.replace("s/0.png", [LINE])
        library.notes.set("s/0.png", " spiculated\n")
        with recorded_edit(library, "remove", {}) as recorder:
            recorder.delete_cases([library.catalogue.row_of("s/0.png")])
        # Its number is used again meanwhile.
        library.annotations.replace("s/1.png", [LINE])
        assert library.notes.of_cases(["s/0.png"]) == {} and library.annotations.of_case("s/0.png") == ()
        assert library.catalogue.rows_with_word("spicul").tolist() == []
        undo_edit(library)
        (back,) = library.annotations.of_case("s/0.png")
        assert (back.data, back.author, back.time) == (before[0].data, before[0].author, before[0].time)
        assert library.notes.of_cases(["s/0.png"])["s/0.png"].text == "spiculated"
        assert library.catalogue.rows_with_word("spicul").tolist() == [library.catalogue.row_of("s/0.png")]
        assert len(library.annotations.of_case("s/1.png")) == 1
        library.notes.set("s/0.png", "")
        assert library.notes.of_cases(["s/0.png"]) == {}
