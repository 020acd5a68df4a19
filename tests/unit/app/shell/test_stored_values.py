from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest
from PySide6.QtCore import QSettings, QThread

from semblance.app.shell.stored_values import StoredValues, shared_values


@pytest.fixture
def store(qapp, tmp_path) -> QSettings:
    return QSettings(str(tmp_path / "settings.ini"), QSettings.Format.IniFormat)


def test_nobody_waits_for_the_disk(store, monkeypatch):
    held = []

    class Held(QThread):
        def start(self) -> None:
            held.append(self)

    kept, file = StoredValues(store), Path(store.fileName())
    with monkeypatch.context() as patched:
        patched.setattr("semblance.app.shell.jobs.QThread", Held)
        for number in range(5):
            kept.put("theme", f"look {number}")
            kept.put(f"other {number}", number)
        assert (kept.get("theme"), kept.get("other 3"), len(held)) == ("look 4", 3, 1)
        assert not file.exists()
    QThread.start(held[0])
    kept.wait()
    text = file.read_text(encoding="utf-8")
    assert "theme=look 4\n" in text
    assert "other%203=3\n" in text


def test_a_value_set_during_a_write_is_written_next(store, qtbot):
    kept, file = StoredValues(store), Path(store.fileName())
    kept.put("one", "1")
    kept.put("two", "2")
    qtbot.waitUntil(lambda: file.exists() and "two=2" in file.read_text(encoding="utf-8"))
    kept.wait()


def test_all_who_ask_have_the_same(store):
    kept = shared_values(store)
    kept.put("theme", "light")
    assert shared_values(store).get("theme") == "light"
    kept.wait()


def test_values_of_another_program_are_read_after_the_next_write(store):
    kept, other = StoredValues(store), StoredValues(store)
    other.put("recent", "theirs")
    other.wait()
    assert kept.get("recent") is None
    kept.put("theme", "light")
    kept.wait()
    assert (kept.get("recent"), kept.get("theme")) == ("theirs", "light")


def test_where_nothing_can_be_written_values_hold_until_the_end(qapp, tmp_path):
    (tmp_path / "settings.ini").mkdir()
    kept = StoredValues(QSettings(str(tmp_path / "settings.ini"), QSettings.Format.IniFormat))
    kept.put("theme", "light")
    kept.wait()
    assert kept.get("theme") == "light"


def test_a_program_that_ends_at_once_has_written(tmp_path):
    program = (
        "import sys\n"
        "from PySide6.QtCore import QCoreApplication, QSettings\n"
        "from semblance.app.shell.settings import Settings\n"
        "app = QCoreApplication([])\n"
        "Settings(QSettings(sys.argv[1], QSettings.Format.IniFormat)).theme = 'light'\n"
    )
    file = tmp_path / "settings.ini"
    ended = subprocess.run(
        [sys.executable, "-c", program, str(file)], capture_output=True, text=True, check=False
    )
    assert (ended.returncode, ended.stderr) == (0, "")
    assert "theme=light" in file.read_text(encoding="utf-8")
