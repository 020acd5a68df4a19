"""Annotations, notes and teaching collections of several people on one server."""

from __future__ import annotations

from pathlib import Path

import pytest

from semblance.core.errors import SemblanceError
from semblance.core.imaging.region import Region
from semblance.core.library.annotations import Annotation
from semblance.core.library.collections import CollectionItem
from semblance.core.library.edit_log import recorded_edit, undo_edit
from semblance.core.library.library import Library
from semblance.core.library.location import server_address
from semblance.core.library.records import CaseRecord, FileRecord
from semblance.core.library.server.library import ServerLibrary
from semblance.core.library.text_query import text_terms

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
    key = anna.collections.make(
        "hers", [CollectionItem("s/a", Region(0, 0, 5, 5), 2, "右肺肿瘤 Ödem, ＣＴ １２ mm², كسر ٣, ｶﾞﾝ")]
    )
    assert anton.collections.all() == anna.collections.all()
    for word in ("肿瘤", "odem", "CT 12", "ＣＴ １２", "كسر 3", "كسر ٣", "ガン"):
        assert anton.catalogue.rows_with_word(word).tolist() == [1]
    for change in (
        lambda: anton.collections.set_items(key, []),
        lambda: anton.collections.rename(key, "his"),
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


def test_words_are_found_and_ranked_as_in_a_folder(opened, tmp_path):
    texts = {
        "s/a": "spiculated mass, 右肺肿瘤",
        "s/b": "a mass that is large and spiculated",
        "s/c": "mass Йод οδός 12 mm²\0\ud800 " + "x" * 5000,
    }
    with Library.create(tmp_path / "l") as folder:
        source = folder.catalogue.add_source("folder", "s", Path("/images"))
        names = [case[2:] for case in texts]
        files = [FileRecord(name, 1, 1, name, "ok") for name in names]
        folder.catalogue.put(source, files, [CaseRecord(f"s/{name}", name, content=name) for name in names])
        for library in (folder, opened("carl")):
            for case, text in texts.items():
                library.notes.set(case, text)
        for typed, expected in {
            "spicul": ["s/a", "s/b"],
            '"spiculated mass"': ["s/a"],
            "mass spicul": ["s/a", "s/b"],
            "肺肿": ["s/a"],
            "肿 mass": ["s/a"],
            "large' OR '1'='1": [],
            "mas": ["s/a", "s/c", "s/b"],
            "йод ΟΔΌΣ mm²": ["s/c"],
            "x" * 5000: ["s/c"],
        }.items():
            for library in (folder, opened("anna")):
                rows, ranks = library.catalogue.find_text(text_terms(typed))
                ids = {r.id: r.case_id for r in library.catalogue.all_cases()}
                assert [ids[row] for row in rows.tolist()] == expected, (typed, library.location)
                assert ranks.tolist() == sorted(ranks.tolist())
