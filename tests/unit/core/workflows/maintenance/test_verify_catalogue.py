from __future__ import annotations

from pathlib import Path

import pytest

from semblance.core.errors import BadInput
from semblance.core.library import schema
from semblance.core.library.library import Library
from semblance.core.library.records import CATALOGUE
from semblance.core.workflows.maintenance.verify_library import verify_library
from tests.helpers.libraries import raw, settled, stored_features, tables_of
from tests.helpers.verification import problem_parts
from tests.unit.core.workflows.maintenance.conftest import CASES


def save_long_search(library: Path) -> bytearray:
    """The catalogue's bytes with a search that fills pages of its own, at the end."""
    with Library.open(library) as opened:
        opened.save_search("long one", {"much": "x" * 400_000})
    return settled(library)


def test_a_damaged_catalogue_is_recovered_and_the_old_one_stays(library):
    data = save_long_search(library)
    file = library / CATALOGUE
    # In the overflow pages of the long search: everything else can be read.
    start = len(data) - 200_000
    data[start : start + 9000] = b"\xa7" * 9000
    file.write_bytes(data)
    assert problem_parts(verify_library(library)) == ["catalogue"]
    repaired = verify_library(library, repair=True)
    assert f"{CASES} cases" in repaired.findings[0].repaired
    assert (Path(repaired.moved_to) / CATALOGUE).read_bytes() == bytes(data)
    assert verify_library(library).findings == []
    assert len(stored_features(library)[0]) == CASES


def test_an_unreadable_catalogue_is_left_unchanged(library):
    file = library / CATALOGUE
    file.write_bytes(b"not a database at all" * 500)
    for repair in (False, True):
        result = verify_library(library, repair=repair)
        assert problem_parts(result) == ["catalogue"]
        assert result.unrepaired_problems
        assert file.read_bytes() == b"not a database at all" * 500
        assert ("--repair" in result.findings[0].remedy) is not repair
        assert result.works == ["Nothing else can be verified while the catalogue is damaged."]


def test_a_truncated_catalogue_is_recovered_up_to_the_damage(library):
    data = save_long_search(library)
    (library / CATALOGUE).write_bytes(data[:-300_000])
    repaired = verify_library(library, repair=True)
    assert f"{CASES} cases" in repaired.findings[0].repaired
    assert verify_library(library).findings == []


def test_rows_whose_text_is_damaged_are_named_and_saved(library):
    with raw(library) as connection:
        connection.execute("UPDATE feature_sets SET columns = CAST(replace(columns, 'e', x'ff') AS TEXT)")
        connection.execute("UPDATE cases SET attributes = '{\"half' WHERE id = 3")
    with pytest.raises(
        BadInput, match=r"catalogue .* is damaged: a text in it cannot be read\. Recover the readable part"
    ):
        stored_features(library)
    found = verify_library(library)
    assert [f.says for f in found.findings] == [
        "Rows of the catalogue cannot be read: 1 of cases, 1 of feature_sets."
    ]
    assert found.unrepaired_problems
    repaired = verify_library(library, repair=True)
    assert repaired.unrepaired_problems == []
    assert repaired.findings[0].repaired.startswith("1 rows can be read again, 1 were removed")
    assert (Path(repaired.moved_to) / CATALOGUE).is_file()
    assert verify_library(library).findings == []
    assert len(stored_features(library)[0]) == CASES - 1


def test_the_keys_of_codes_are_never_repaired(library):
    with raw(library) as connection:
        connection.execute("INSERT INTO meta (key, value) VALUES ('key', CAST(x'ffff' AS TEXT))")
    result = verify_library(library, repair=True)
    assert [bool(f.repaired) for f in result.findings] == [False]
    assert result.works == ["Nothing else can be verified while the catalogue is damaged."]


def test_rows_that_refer_to_missing_rows_are_removed(library):
    with raw(library) as connection:
        connection.execute("UPDATE cases SET file = 99999 WHERE id = 3")
    result = verify_library(library)
    assert problem_parts(result) == ["catalogue rows"]
    repaired = verify_library(library, repair=True)
    assert problem_parts(repaired) == ["catalogue rows", "catalogue rows"]
    assert repaired.unrepaired_problems == []
    assert verify_library(library).findings == []
    assert len(stored_features(library)[0]) == CASES - 1


def test_a_library_of_a_newer_version_is_refused_and_nothing_in_it_repaired(library):
    with raw(library) as connection:
        connection.execute("ALTER TABLE judgements ADD COLUMN newer TEXT")
        connection.execute(f"UPDATE meta SET value = '{schema.VERSION + 1}' WHERE key = 'schema'")
    before = tables_of(library)
    for repair in (False, True):
        with pytest.raises(BadInput, match=r"made by a newer version of Semblance"):
            verify_library(library, repair=repair)
    assert tables_of(library) == before


def test_a_name_with_letters_that_are_none_is_recovered(library):
    data = settled(library)
    at = data.index(b"patient TEXT")
    data[at] |= 0x80
    (library / CATALOGUE).write_bytes(data)
    before = stored_features(library)[1] if verify_library(library, repair=True) else None
    assert before is not None
    with Library.open(library) as opened:
        assert {row.patient for row in opened.catalogue.all_cases()} != {None}
    assert verify_library(library).findings == []
