"""Annotations, notes and teaching collections of several people on one server."""

from __future__ import annotations

import pytest

from semblance.core.errors import SemblanceError
from semblance.core.imaging.region import Region
from semblance.core.library.annotations import Annotation
from semblance.core.library.collections import CollectionItem
from semblance.core.library.edit_log import recorded_edit, undo_edit
from semblance.core.library.location import server_address
from semblance.core.library.server.library import ServerLibrary

LINE = Annotation("line", {"points": [[1.5, 2.0], [3.0, 4.0]]}, slice=7)


@pytest.fixture
def opened(library_of_people, postgres):
    """Opens the library with an account."""
    libraries = {
        name: ServerLibrary.open(server_address(postgres.address("library", name, "pw")))
        for name in ("anna", "anton", "carl")
    }
    yield libraries.__getitem__
    for library in libraries.values():
        library.close()


def test_annotators_change_their_own_and_curators_all(opened):
    anna, anton, carl = map(opened, ("anna", "anton", "carl"))
    (mine,) = anna.annotations.replace("s/a", [LINE])
    anna.notes.set("s/a", "by Anna")
    assert mine.author == "anna"
    assert [one.author for one in anton.annotations.replace("s/a", [mine, LINE])] == ["anna", "anton"]
    with pytest.raises(SemblanceError, match="anna wrote this"):
        anton.annotations.replace("s/a", [])
    with pytest.raises(SemblanceError, match="anna wrote this"):
        anton.notes.set("s/a", "mine")
    assert len(carl.annotations.of_case("s/a")) == 2
    with recorded_edit(carl, "remove", {}) as recorder:
        recorder.delete_cases([carl.catalogue.row_of("s/a")])
    undo_edit(carl)
    # Whose they are is kept.
    assert {one.author for one in anna.annotations.of_case("s/a")} == {"anna", "anton"}
    assert anna.notes.of_cases(["s/a"])["s/a"].author == "anna"


def test_others_read_and_duplicate(opened):
    anna, anton = opened("anna"), opened("anton")
    key = anna.collections.make("hers", [CollectionItem("s/a", Region(0, 0, 5, 5), 2, "右肺肿瘤 Ödem")])
    assert anton.collections.all() == anna.collections.all()
    for word in ("肿瘤", "odem"):
        assert anton.catalogue.rows_with_word(word).tolist() == [1]
    for change in (
        lambda: anton.collections.set_items(key, []),
        lambda: anton.collections.change(key, name="his"),
        lambda: anton.collections.delete(key),
    ):
        with pytest.raises(SemblanceError, match="anna wrote this"):
            change()
    copy = anton.collections.duplicate(key)
    anton.collections.set_items(copy, [])
    assert [(one.name, one.author, len(one.items)) for one in anna.collections.all()] == [
        ("hers", "anna", 1),
        ("hers 2", "anton", 0),
    ]
