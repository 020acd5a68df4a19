"""Libraries of every version there ever was open whole, and are then as if made by this one."""

from __future__ import annotations

import sys
from pathlib import Path

import numpy as np
import pytest

from semblance.core.errors import SemblanceError
from semblance.core.imaging.image_address import ImageAddress
from semblance.core.library import schema
from semblance.core.library.concepts import ConceptTable
from semblance.core.library.library import Library
from semblance.core.library.records import CATALOGUE, CaseRecord, FileRecord
from semblance.core.workflows.maintenance.verify_library import verify_library
from tests.helpers.libraries import make_library, raw
from tests.helpers.older_libraries import VERSIONS, described, older_library


def test_each_version_has_its_text():
    """Whoever raises the version adds ``tests/helpers/schemas/version_N.sql``."""
    assert tuple(range(1, schema.VERSION + 1)) == VERSIONS


def holds_all(opened: Library, version: int) -> None:
    """Everything of :func:`older_library` can be read."""
    cases = {r.case_id: r.finding for r in opened.catalogue.all_cases()}
    assert cases.pop("s/v", "benign") == "benign"
    assert cases == {
        "s/0.png": "benign",
        "s/1.png": "malignant",
        "s/2.png": "benign",
        "s/3.png": "malignant",
    }
    details = opened.catalogue.details([1, 2])
    assert (details[1].depth, details[1].slice_hashes) == (None, ())
    assert details[2].address == ImageAddress(Path("/pictures/s/1.png"))
    ids, values = opened.features.read(opened.features.get(None))
    assert ids.tolist() == [1, 2, 3, 4]
    np.testing.assert_array_equal(values, np.arange(8, dtype=np.float32).reshape(4, 2))
    assert opened.load_search("mine") == {"query": "s/0.png"}
    assert opened.metric("plain").training.tolist() == [1, 2]
    judged = opened.judgements("mine").read()
    assert [record.case for _, record, _ in judged] == (["s/1.png"] if version >= 4 else [])
    assert [source.identified for source in opened.catalogue.sources()] == [True]


@pytest.mark.parametrize("version", VERSIONS)
def test_it_opens_with_all_it_holds(tmp_path, version):
    path = older_library(tmp_path / "old", version)
    with Library.open(path) as opened:
        holds_all(opened, version)
    with raw(path) as connection:
        assert connection.execute("SELECT value FROM meta WHERE key='schema'").fetchone() == (
            str(schema.VERSION),
        )
        assert connection.execute("PRAGMA integrity_check").fetchall() == [("ok",)]
        assert connection.execute("PRAGMA foreign_key_check").fetchall() == []


@pytest.mark.parametrize("version", VERSIONS)
def test_a_migrated_library_equals_a_new_one(tmp_path, version):
    path = older_library(tmp_path / "old", version)
    Library.open(path).close()
    assert described(path) == described(make_library(tmp_path / "new"))


@pytest.mark.parametrize("version", VERSIONS)
def test_a_migrated_library_stores_volumes_and_concepts(tmp_path, version):
    with Library.open(older_library(tmp_path / "old", version)) as opened:
        source = opened.catalogue.sources()[0]
        parts = tuple((f"w/{n}.png", None) for n in range(3))
        files = [FileRecord(path, 1, 1, f"h{path}", "ok") for path, _ in parts]
        opened.catalogue.put(
            source, files, [CaseRecord("s/w", "w/0.png", content="w", depth=3, slices=parts)]
        )
        (details,) = opened.catalogue.details([opened.catalogue.row_of("s/w")]).values()
        assert details.depth == 3
        assert details.address is not None
        assert [str(part) for part in details.address.slices] == [f"/pictures/s/w/{n}.png" for n in range(3)]
        assert details.slice_hashes == ("hw/0.png", "hw/1.png", "hw/2.png")
        table = ConceptTable(opened.catalogue)
        table.mark(table.add("round"), [("s/0.png", True)])
        assert [(one.name, one.marks[0].case) for one in table.all()] == [("round", "s/0.png")]


@pytest.mark.parametrize("version", VERSIONS)
def test_where_it_cannot_be_written_to_it_opens_as_it_is_or_says_why_not(tmp_path, version):
    path = older_library(tmp_path / "old", version)
    before = described(path)
    if version < schema.READABLE_FROM:
        with pytest.raises(SemblanceError, match="made by an older version of Semblance"):
            Library.open(path, writable=False)
    else:
        with Library.open(path, writable=False) as opened:
            holds_all(opened, version)
    assert described(path) == before
    assert {file.name for file in path.iterdir()} == {"features", "metrics", CATALOGUE}


@pytest.mark.parametrize("version", VERSIONS)
def test_the_check_lists_what_is_missing_and_numbers_without_checksums(tmp_path, version):
    result = verify_library(older_library(tmp_path / "old", version))
    assert [(f.part, f.harm) for f in result.findings] == [
        ("images", True),
        ("features", False),
        ("metric", True),
        # It was made with the permissions of the umask, which say nothing about others on Windows.
        *([] if sys.platform == "win32" else [("access", False)]),
    ]
