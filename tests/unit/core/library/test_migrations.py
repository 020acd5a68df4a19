"""Libraries as older versions of the program made them."""

from __future__ import annotations

from pathlib import Path

import pytest

from semblance.core.imaging.image_address import ImageAddress
from semblance.core.library import schema
from semblance.core.library.concepts import ConceptTable
from semblance.core.library.library import Library
from semblance.core.library.records import CaseRecord, FileRecord
from tests.helpers.libraries import make_library, raw
from tests.helpers.older_libraries import described, older_library


@pytest.fixture
def first(tmp_path) -> Path:
    """A library of version 1."""
    return older_library(tmp_path / "lib", 1)


def test_a_library_of_version_1_opens_with_all_its_cases(first):
    with Library.open(first) as opened:
        assert opened.summary()["cases"] == 4
        details = opened.catalogue.details([1, 2])
        assert details[1].case_id == "s/0.png"
        assert (details[1].depth, details[1].slice_hashes) == (None, ())
        assert details[2].address == ImageAddress(Path("/images/s/1.png"))
        assert [source.identified for source in opened.catalogue.sources()] == [True]
    with raw(first) as connection:
        assert connection.execute("SELECT value FROM meta").fetchone() == (str(schema.VERSION),)


def test_brought_up_to_date_it_has_the_tables_of_a_new_one(first, tmp_path):
    Library.open(first).close()
    migrated, new = described(first), described(make_library(tmp_path / "new"))
    assert migrated.keys() == new.keys()
    for name in new:
        assert migrated[name] == new[name], name


def test_brought_up_to_date_it_takes_volumes(first):
    with Library.open(first) as opened:
        source = opened.catalogue.sources()[0]
        parts = tuple((f"v/{n}.png", None) for n in range(3))
        files = [FileRecord(path, 1, 1, f"h{path}", "ok") for path, _ in parts]
        case = CaseRecord("s/v", "v/0.png", content="v", depth=3, slices=parts)
        opened.catalogue.put(source, files, [case])
        found = opened.catalogue.details([opened.catalogue.row_of("s/v")])
        details = next(iter(found.values()))
        assert details.depth == 3
        assert [str(part) for part in details.address.slices] == [f"/images/s/v/{n}.png" for n in range(3)]
        assert details.slice_hashes == ("hv/0.png", "hv/1.png", "hv/2.png")


def test_brought_up_to_date_it_takes_concepts(first):
    with Library.open(first) as opened:
        table = ConceptTable(opened.catalogue)
        table.mark(table.add("round"), [("s/0.png", True)])
        assert [(one.name, one.marks[0].case) for one in table.all()] == [("round", "s/0.png")]
