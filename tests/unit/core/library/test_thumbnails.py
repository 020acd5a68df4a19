from __future__ import annotations

import sqlite3

import pytest

from semblance.core.library.thumbnails import ThumbnailStore


@pytest.fixture
def file(tmp_path):
    return tmp_path / "thumbnails.sqlite"


def test_thumbnails_are_stored_and_replaced(file):
    store = ThumbnailStore(file, writable=True)
    store.put([("a", b"one"), ("b", b"two")])
    store.put([("a", b"three")])
    store.put([])
    assert store.get(["b", "a", "z"]) == {"a": b"three", "b": b"two"}
    assert store.get([]) == {}
    store.close()
    store.close()
    again = ThumbnailStore(file, writable=True)
    many = [(str(n), bytes([n % 251])) for n in range(1300)]
    again.put(many)
    assert again.get([key for key, _ in many]) == dict(many)
    again.close()


def test_a_read_only_library_shows_what_there_is(file):
    absent = ThumbnailStore(file, writable=False)
    absent.put([("a", b"one")])
    assert absent.get(["a"]) == {}
    assert not file.exists()
    absent.close()
    store = ThumbnailStore(file, writable=True)
    store.put([("a", b"one")])
    store.close()
    reading = ThumbnailStore(file, writable=False)
    reading.put([("a", b"two")])
    assert reading.get(["a"]) == {"a": b"one"}
    reading.close()


def test_a_damaged_file_is_replaced(file):
    file.write_bytes(b"no database at all" * 100)
    store = ThumbnailStore(file, writable=True)
    store.put([("a", b"one")])
    assert store.get(["a"]) == {"a": b"one"}
    store.close()


@pytest.mark.parametrize("writable", [True, False])
def test_damage_met_later_costs_the_thumbnails_only(file, writable):
    store = ThumbnailStore(file, writable=True)
    store.put([(str(n), bytes(2000)) for n in range(200)])
    store.close()
    data = bytearray(file.read_bytes())
    data[4096:-4096] = b"\xff" * (len(data) - 8192)
    file.write_bytes(data)
    store = ThumbnailStore(file, writable=writable)
    assert store.get([str(n) for n in range(200)]) == {}
    store.put([("a", b"one")])
    assert store.get(["a"]) == ({"a": b"one"} if writable else {})
    store.close()


def test_a_damaged_file_in_a_read_only_library_is_no_hindrance(file):
    file.write_bytes(b"no database at all" * 100)
    store = ThumbnailStore(file, writable=False)
    assert store.get(["a"]) == {}
    store.close()


def test_with_a_full_disk_only_thumbnails_are_not_saved(file):
    store = ThumbnailStore(file, writable=True)
    store.put([("a", b"one")])
    store._connection.execute("PRAGMA max_page_count=1")
    store.put([("b", bytes(1_000_000))])
    assert store.get(["a", "b"]) == {"a": b"one"}
    store.close()


def test_with_a_locked_file_only_thumbnails_are_not_saved(file, monkeypatch):
    monkeypatch.setattr("semblance.core.library.thumbnails.BUSY_S", 0.05)
    store = ThumbnailStore(file, writable=True)
    other = sqlite3.connect(file, isolation_level=None)
    other.execute("BEGIN IMMEDIATE")
    store.put([("a", b"one")])
    later = ThumbnailStore(file, writable=True)
    assert later.get(["a"]) == {}
    other.close()
    store.put([("a", b"one")])
    assert store.get(["a"]) == {"a": b"one"}
    later.close()
    store.close()
