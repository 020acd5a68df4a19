"""A library that the version before this one wrote opens as one of this; the sample is never changed."""

from __future__ import annotations

import contextlib
import sqlite3
from pathlib import Path

import numpy as np
import pytest

from semblance.core.imaging.image_address import ImageAddress
from semblance.core.library import schema
from semblance.core.library.backup_file import read_backup, write_backup
from semblance.core.library.catalogue_repair import missing_columns
from semblance.core.library.feature_chunks import create_store
from semblance.core.library.library import Library
from semblance.core.library.records import CATALOGUE, CHUNK
from tests.helpers.libraries import make_library

SAMPLE = Path(__file__).parents[3] / "helpers" / "catalogue_10.sql"


@pytest.fixture
def path(tmp_path):
    """Four cases and a volume, values without checksums, a search, a metric without its file and a judgement."""
    import zarr

    folder = tmp_path / "before"
    for subfolder in ("features", "metrics"):
        (folder / subfolder).mkdir(parents=True)
    with contextlib.closing(sqlite3.connect(folder / CATALOGUE)) as connection, connection:
        connection.executescript(SAMPLE.read_text(encoding="utf-8"))
    create_store(folder / "features" / "1.zarr", CHUNK, 2, "float32")
    values = np.arange(8, dtype=np.float32).reshape(4, 2)
    zarr.open_array(folder / "features" / "1.zarr", mode="r+")[:4] = values
    return folder


def described(path: Path) -> dict[str, tuple]:
    """Columns, references and indices of every table, and the text of every trigger."""
    with contextlib.closing(sqlite3.connect(path / CATALOGUE)) as connection:
        names = [r[0] for r in connection.execute("SELECT name FROM sqlite_master WHERE type='table'")]
        tables = {
            name: (
                list(connection.execute(f"PRAGMA table_info({name})")),
                sorted(r[2:5] for r in connection.execute(f"PRAGMA foreign_key_list({name})")),
                sorted(r[1] for r in connection.execute(f"PRAGMA index_list({name})")),
            )
            for name in sorted(names)
        }
        triggers = connection.execute(
            "SELECT name, sql FROM sqlite_master WHERE type='trigger' ORDER BY name"
        )
        return tables | {"triggers": tuple(triggers)}


def test_opened_for_writing_its_tables_are_those_of_a_new_library(path, tmp_path):
    before = described(path)
    with contextlib.closing(sqlite3.connect(path / CATALOGUE)) as connection:
        connection.execute("CREATE TRIGGER strange AFTER INSERT ON meta BEGIN DELETE FROM cases; END")
    Library.open(path, writable=False).close()
    assert described(path).keys() == before.keys()
    new = described(make_library(tmp_path / "new"))
    for _ in range(2):
        Library.open(path, writable=True).close()
        assert described(path) == new
    assert int(SAMPLE.stem.removeprefix("catalogue_")) == schema.VERSION - 1


def test_a_backup_of_it_is_restored_as_one_of_this_version(path, tmp_path, monkeypatch):
    # As the version before wrote it.
    monkeypatch.setattr(schema, "VERSION", schema.VERSION - 1)
    write_backup(path, tmp_path / "b.zip")
    monkeypatch.undo()
    read_backup(tmp_path / "b.zip", tmp_path / "restored")
    assert described(tmp_path / "restored") == described(make_library(tmp_path / "new"))
    with Library.open(tmp_path / "restored") as opened:
        assert len(opened.catalogue.all_cases()) == 5


@pytest.mark.parametrize("writable", [True, False])
def test_it_opens_with_all_it_holds(path, writable):
    with Library.open(path, writable=writable) as opened:
        cases = {r.case_id: r.finding for r in opened.catalogue.all_cases()}
        assert cases == {
            "s/0.png": "benign",
            "s/1.png": "malignant",
            "s/2.png": "benign",
            "s/3.png": "malignant",
            "s/v": "benign",
        }
        details = opened.catalogue.details([1, 2, 9])
        assert (details[1].depth, details[1].slice_hashes) == (None, ())
        assert (details[9].depth, details[9].slice_hashes) == (2, ("hv0", "hv1"))
        assert details[2].address == ImageAddress(Path("/pictures/s/1.png"))
        ids, values = opened.features.read(opened.features.get(None))
        assert ids.tolist() == [1, 2, 3, 4]
        np.testing.assert_array_equal(values, np.arange(8, dtype=np.float32).reshape(4, 2))
        assert opened.load_search("mine") == {"query": "s/0.png"}
        assert opened.metric("plain").training.tolist() == [1, 2]
        assert [record.case for _, record, _ in opened.judgements("mine").read()] == ["s/1.png"]
        assert [source.identified for source in opened.catalogue.sources()] == [True]
        assert opened.annotations.of_case("s/0.png") == () == opened.collections.all()
        assert opened.notes.of_cases(["s/0.png"]) == {}
        # Headers are found; the index of the version before has no findings and no notes.
        assert opened.catalogue.rows_with_word("malig").tolist() == ([2, 4] if writable else [])


def test_texts_are_found_after_another_program_brought_it_up_to_date(path):
    with Library.open(path, writable=False) as reading:
        assert reading.catalogue.rows_with_word("malig").tolist() == []
        with Library.open(path, writable=True) as other:
            other.notes.set("s/0.png", "spiculated")
        assert reading.catalogue.rows_with_word("malig").tolist() == [2, 4]
        assert reading.catalogue.rows_with_word("spicul").tolist() == [1]
        assert reading.catalogue.text_hits([1], "spiculated")[1].name == "notes"


def test_a_catalogue_without_its_index_of_texts_is_damaged(path, tmp_path):
    for library in (path, make_library(tmp_path / "new")):
        file = library / CATALOGUE
        assert missing_columns(file) == []
        with contextlib.closing(sqlite3.connect(file)) as connection, connection:
            index = schema.HEADER_TEXTS if library is path else schema.CASE_TEXTS
            connection.execute(f"DROP TABLE {index}")
        assert any(index in str(one) for one in missing_columns(file))
