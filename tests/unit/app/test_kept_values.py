from __future__ import annotations

import threading
from pathlib import Path

import pytest
from PySide6.QtCore import QSettings

from app import kept_values as module
from app.kept_values import KeptValues, kept_values


@pytest.fixture
def store(tmp_path) -> QSettings:
    return QSettings(str(tmp_path / "settings.ini"), QSettings.Format.IniFormat)


def test_nobody_waits_for_the_disk(store, monkeypatch):
    disk = threading.Event()
    threads = []

    class Slow(QSettings):
        def sync(self) -> None:
            threads.append(threading.current_thread())
            disk.wait()
            super().sync()

    monkeypatch.setattr(module, "QSettings", Slow)
    kept = KeptValues(store)
    try:
        for number in range(5):
            kept.put("theme", f"look {number}")
            kept.put(f"other {number}", number)
        assert kept.get("theme") == "look 4"
        assert not Path(store.fileName()).exists()
    finally:
        disk.set()
        kept.wait()
    assert threading.main_thread() not in threads
    assert "theme=look 4\n" in Path(store.fileName()).read_text(encoding="utf-8")


def test_all_who_ask_have_the_same(store):
    kept = kept_values(store)
    kept.put("theme", "light")
    assert kept_values(store).get("theme") == "light"
    kept.wait()


def test_what_another_program_wrote_is_seen_after_the_next_writing(store):
    kept = KeptValues(store)
    other = KeptValues(store)
    other.put("recent", "theirs")
    other.wait()
    assert kept.get("recent") is None
    kept.put("theme", "light")
    kept.wait()
    assert kept.get("recent") == "theirs"
    assert kept.get("theme") == "light"


def test_where_nothing_can_be_written_values_hold_until_the_end(tmp_path):
    (tmp_path / "settings.ini").mkdir()
    kept = KeptValues(QSettings(str(tmp_path / "settings.ini"), QSettings.Format.IniFormat))
    kept.put("theme", "light")
    kept.wait()
    assert kept.get("theme") == "light"
