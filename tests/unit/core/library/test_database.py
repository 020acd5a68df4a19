from __future__ import annotations

import json
import sqlite3
import threading
from contextlib import closing
from pathlib import Path

import numpy as np
import pytest
import sqlalchemy as sa

from semblance.core.errors import BadInput, SemblanceError
from semblance.core.library import database, schema
from semblance.core.library.database import plain_errors, transaction
from semblance.core.library.library import Library
from semblance.core.library.records import CATALOGUE
from semblance.core.workflows.maintenance.backup import back_up, restore
from semblance.core.workflows.maintenance.verify_library import verify_library
from tests.helpers.libraries import case_rows, fill, make_library, numbers_set, raw, tables_of

NOW = schema.VERSION


@pytest.fixture
def path(tmp_path):
    return make_library(tmp_path / "lib")


# Versions


def another_version(path: Path, version: int) -> dict:
    with raw(path) as connection:
        connection.execute(f"UPDATE meta SET value = '{version}' WHERE key = 'schema'")
    return tables_of(path)


@pytest.mark.parametrize("use", ["open", "read", "doctor", "repair"])
@pytest.mark.parametrize("version", [*range(NOW - 1), NOW + 1, NOW + 90])
def test_a_library_of_another_version_is_refused_unchanged_by_all_that_open_one(path, version, use):
    before = another_version(path, version)
    ways = {
        "open": lambda: Library.open(path),
        "read": lambda: Library.open(path, writable=False),
        "doctor": lambda: verify_library(path),
        "repair": lambda: verify_library(path, repair=True),
    }
    says = (
        rf"lib was made by a version of Semblance that is too old \(catalogue {version}; this version reads {NOW}\)\."
        r" Open it once with the version before this one"
        if version < NOW
        else rf"lib was made by a newer version of Semblance \(catalogue {version}.*up to {NOW}\)\. Update Sem"
    )
    with pytest.raises(BadInput, match=says):
        ways[use]()
    assert tables_of(path) == before


@pytest.mark.parametrize(("version", "says"), [(NOW - 2, "too old"), (NOW + 1, "newer version")])
def test_a_backup_of_a_library_of_another_version_is_not_restored(path, tmp_path, version, says):
    another_version(path, version)
    back_up(path, tmp_path / "backup.zip")
    with pytest.raises(BadInput, match=rf"backup\.zip was made by a .*{says}"):
        restore(tmp_path / "backup.zip", tmp_path / "restored")
    assert not (tmp_path / "restored").exists()


@pytest.mark.parametrize(
    ("statement", "says"),
    [
        ("DELETE FROM meta", "not a complete library"),
        ("DROP TABLE meta", "not a complete library"),
        ("UPDATE meta SET value = 'soon'", "damaged: its version is 'soon'"),
    ],
)
def test_a_library_without_a_sensible_version_is_refused(path, statement, says):
    with raw(path) as connection:
        connection.execute(statement)
    with pytest.raises(BadInput, match=says):
        Library.open(path)


# Transactions


def test_a_transaction_is_stored_whole_or_not_at_all(path):
    before = tables_of(path)
    with Library.open(path) as opened:
        with pytest.raises(ZeroDivisionError), opened.catalogue.transaction() as connection:
            connection.execute(schema.meta.insert().values(key="a", value="b"))
            connection.execute(sa.text("CREATE TABLE extra (id INTEGER)"))
            raise ZeroDivisionError
        assert tables_of(path) == before


def test_a_lock_held_too_long_is_reported(path, monkeypatch):
    monkeypatch.setattr(database, "BUSY_S", 0.05)
    with (
        Library.open(path) as opened,
        closing(sqlite3.connect(path / CATALOGUE, isolation_level=None)) as other,
    ):
        other.execute("BEGIN IMMEDIATE")
        assert opened.summary()["cases"] == 6
        with pytest.raises(
            SemblanceError, match=r"lib is busy in another program\. Close the other one, or wait"
        ):
            opened.save_search("mine", {})
        other.execute("ROLLBACK")
        opened.save_search("mine", {})


def test_writers_wait_for_each_other(path):
    """Threads with connections of their own, as programs have."""
    before = tables_of(path)["cases"]

    def write(name: str) -> None:
        with Library.open(path) as opened:
            for number in range(15):
                fill(opened, [number], source=name)

    threads = [threading.Thread(target=write, args=(f"from {n}",)) for n in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert len(tables_of(path)["cases"]) == len(before) + 4 * 15


# A full disk


@pytest.fixture
def full(path):
    """A library whose catalogue cannot grow."""
    opened = Library.open(path)

    @sa.event.listens_for(opened.catalogue.engine, "connect")
    def limit(connection: sqlite3.Connection, _record: object) -> None:
        pages = connection.execute("PRAGMA page_count").fetchone()[0]
        connection.execute(f"PRAGMA max_page_count={pages}")

    opened.catalogue.engine.dispose()
    yield opened
    opened.close()


def test_a_full_disk_is_reported_and_earlier_writes_stay(full):
    path = full.location
    before = tables_of(path)
    with pytest.raises(SemblanceError, match=r"The disk holding .*lib is full\. Free some space and start"):
        fill(full, range(1000, 3000))
    with pytest.raises(SemblanceError, match=r"is full"):
        full.save_search("large", {"much": "x" * 1_000_000})
    after = tables_of(path)
    assert len(after.pop("sources")) >= len(before.pop("sources"))
    assert after == before
    with raw(path) as connection:
        assert connection.execute("PRAGMA integrity_check").fetchone() == ("ok",)
    with Library.open(path) as again:
        fill(again, range(1000, 3000))
        assert again.summary()["cases"] == 2006


def test_a_disk_that_fills_while_numbers_are_written(path, monkeypatch):
    import zarr.storage._local as local

    with Library.open(path) as opened:
        made, rows = numbers_set(opened), case_rows(opened)
        opened.features.write_chunk(made, rows[:2], np.ones((2, 3), np.float32))
        before = tables_of(path)

        def fail(*args: object, **more: object) -> None:
            raise OSError(28, "No space left on device")

        with monkeypatch.context() as patched:
            patched.setattr(local, "_put", fail)
            with pytest.raises(SemblanceError, match=r"The disk holding .* is full"):
                opened.features.write_chunk(made, rows[2:], np.ones((4, 3), np.float32))
        assert tables_of(path) == before
        assert opened.features.cases_of(made).tolist() == rows[:2].tolist()
        opened.features.write_chunk(made, rows[2:], np.full((4, 3), 2, np.float32))
        assert opened.features.read(made)[1][:, 0].tolist() == [1, 1, 2, 2, 2, 2]


# Errors in words


def test_errors_of_the_system_are_described_in_words():
    for raised, says in [
        (OSError(28, "No space left on device"), "disk holding .* is full"),
        (OSError(30, "Read-only file system"), "cannot be written to.*Copy it"),
        (PermissionError(13, "Permission denied"), "cannot be written to.*Copy it"),
        (OSError(5, "Input/output error"), "could not be used: Input/output error.*Check the disk"),
    ]:
        with pytest.raises(SemblanceError, match=says), plain_errors(Path("/some/lib/catalogue.sqlite")):
            raise raised


def test_same_name_given_by_two_programs_is_not_reported_as_damage(path):
    with Library.open(path) as opened:
        opened.save_search("mine", {})
        with (
            pytest.raises(SemblanceError, match=r"Another program changed lib at the same time"),
            transaction(opened.catalogue.engine, path / CATALOGUE) as connection,
        ):
            connection.execute(schema.searches.insert().values(name="mine", state={}, saved="now"))


def test_a_text_nested_without_end_is_damage_that_names_file_and_remedy(path):
    with pytest.raises(BadInput, match="is damaged") as error, plain_errors(path):
        json.loads("[" * 100_000 + "]" * 100_000)
    assert str(path) in error.value.message
    assert "semblance doctor LIB --repair" in error.value.hint
