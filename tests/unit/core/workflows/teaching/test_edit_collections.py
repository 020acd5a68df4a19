"""Cases and places are put into collections and taken out."""

from __future__ import annotations

import json

import pytest

from semblance.core.errors import BadArguments, BadInput
from semblance.core.imaging.region import Region
from semblance.core.library.collections import CollectionItem
from semblance.core.library.library import Library
from semblance.core.library.schema import cases
from semblance.core.workflows.teaching.edit_collections import (
    add_to_collection,
    list_collections,
    read_collections,
    remove_from_collection,
)
from tests.helpers.libraries import make_library


def test_cases_are_added_and_removed(tmp_path):
    library = make_library(tmp_path / "lib")
    with Library.open(library) as opened:
        ids = sorted(row.case_id for row in opened.catalogue.all_cases())
    made = add_to_collection(library, "new one", ids[:2], notes="n")
    assert [(one["case_id"], one["notes"], one["gone"]) for one in made["items"]] == [
        (ids[0], "n", False),
        (ids[1], "n", False),
    ]
    place = add_to_collection(library, "New  ONE", ids[:1], region=Region(1, 2, 3, 4), slice_number=4)
    assert (place["items"][2]["region"]["width"], place["items"][2]["slice"]) == (3, 5)
    assert remove_from_collection(library, "new one", ids[:1])["removed"] == 2
    with pytest.raises(BadArguments, match="not in the collection"):
        remove_from_collection(library, "new one", ["x"])
    assert remove_from_collection(library, "new one") == {"name": "new one", "removed": 1, "deleted": True}
    assert [one["name"] for one in json.loads(json.dumps(list_collections(library)))] == []
    with pytest.raises(BadInput):
        add_to_collection(library, "new one", ["x"])
    with pytest.raises(BadArguments):
        add_to_collection(library, "new one", ids[:2], region=Region(1, 2, 3, 4))


def test_a_place_is_drawn_only_on_its_slice(tmp_path):
    path = make_library(tmp_path / "lib")
    with Library.open(path, writable=True) as opened:
        case = next(row.case_id for row in opened.catalogue.all_cases())
        with opened.catalogue.transaction() as connection:
            connection.execute(cases.update().values(depth=9, width=10, height=10))
        items = [CollectionItem(case, Region(2, 2, 4, 4), place) for place in (None, 4, 5)]
        opened.collections.make("one", items)
    (listed,) = read_collections(path)
    assert listed.places == ((0.2, 0.2, 0.6, 0.6), (0.2, 0.2, 0.6, 0.6), None)
