"""Teaching collections keep their items in order."""

from __future__ import annotations

import pytest

from semblance.core.errors import BadArguments, BadInput
from semblance.core.imaging.region import Region
from semblance.core.library.collections import CollectionItem
from semblance.core.library.library import Library
from tests.helpers.libraries import make_library


@pytest.fixture
def library(tmp_path):
    with Library.open(make_library(tmp_path / "l")) as opened:
        yield opened


def cases_of(library, name):
    return [item.case for item in library.collections.get(name).items]


def test_cases_places_and_notes_are_listed_in_order(library):
    table = library.collections
    place = CollectionItem("s/1.png", Region(1, 2, 3, 4), None, "spiculated")
    key = table.make(
        "  Masses  of today ", [CollectionItem("s/0.png"), CollectionItem("s/1.png")], "for Monday"
    )
    assert table.add(key, [place, CollectionItem("s/1.png")]) == 1
    made = table.get("Masses of today")
    assert made.notes == "for Monday"
    assert cases_of(library, made.name) == ["s/0.png", "s/1.png", "s/1.png"]
    assert (made.items[2].region, made.items[2].notes) == (place.region, "spiculated")
    table.set_items(key, [made.items[2], made.items[0]])
    assert [item.id for item in table.get(made.name).items] == [made.items[2].id, made.items[0].id]
    # Notes of items are found with their case; punctuation and quotes are no operators.
    row = library.catalogue.row_of("s/1.png")
    assert library.catalogue.rows_with_word("Spiculat").tolist() == [row]
    for text in ('"', "' OR 1=1 --", "NEAR(", "a* OR b", "finding:x", "-", "()"):
        library.catalogue.rows_with_word(text)
    table.set_items(key, [])
    assert library.catalogue.rows_with_word("spiculat").tolist() == []


def test_collections_are_renamed_duplicated_deleted_and_restored(library):
    table = library.collections
    key = table.make("one", [CollectionItem("s/0.png"), CollectionItem("s/gone", notes="n")])
    table.rename(table.duplicate(key), "mine")
    assert [(one.name, len(one.items)) for one in table.all()] == [("mine", 2), ("one", 2)]
    deleted = table.delete(key)
    assert [one.name for one in table.all()] == ["mine"]
    table.restore(deleted)
    assert cases_of(library, "one") == ["s/0.png", "s/gone"]
    for name in ("", "ONE", "x" * 81):
        with pytest.raises(BadInput):
            table.make(name)
    with pytest.raises(BadArguments, match="There are: mine, one"):
        table.get("none")
    with pytest.raises(BadArguments, match="no longer"):
        table.add(99, [])
