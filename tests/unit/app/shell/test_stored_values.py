from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest
from PySide6.QtCore import QSettings, QThread

from semblance.app.shell.settings import StoredValues, shared_values


@pytest.fixture
def store(qapp, tmp_path) -> QSettings:
    return QSettings(str(tmp_path / "settings.ini"), QSettings.Format.IniFormat)


def test_storing_a_value_does_not_wait_for_the_disk(store, monkeypatch):
    held = []

    class Held(QThread):
        def start(self) -> None:
            held.append(self)

    values, file = StoredValues(store), Path(store.fileName())
    with monkeypatch.context() as patched:
        patched.setattr("semblance.app.shell.jobs.QThread", Held)
        for number in range(5):
            values.put("theme", f"look {number}")
            values.put(f"other {number}", number)
        assert (values.get("theme"), values.get("other 3"), len(held)) == ("look 4", 3, 1)
        assert not file.exists()
    QThread.start(held[0])
    values.wait()
    text = file.read_text(encoding="utf-8")
    assert "theme=look 4\n" in text
    assert "other%203=3\n" in text


def test_a_value_set_during_a_write_is_written_next(store, qtbot):
    values, file = StoredValues(store), Path(store.fileName())
    values.put("one", "1")
    values.put("two", "2")
    qtbot.waitUntil(lambda: file.exists() and "two=2" in file.read_text(encoding="utf-8"))
    values.wait()


def test_all_callers_get_the_same_result(store):
    values = shared_values(store)
    values.put("theme", "light")
    assert shared_values(store).get("theme") == "light"
    values.wait()


def test_values_of_another_program_are_read_after_the_next_write(store):
    values, other = StoredValues(store), StoredValues(store)
    other.put("recent", "theirs")
    other.wait()
    assert values.get("recent") is None
    values.put("theme", "light")
    values.wait()
    assert (values.get("recent"), values.get("theme")) == ("theirs", "light")


def test_where_nothing_can_be_written_values_hold_until_the_end(qapp, tmp_path):
    (tmp_path / "settings.ini").mkdir()
    values = StoredValues(QSettings(str(tmp_path / "settings.ini"), QSettings.Format.IniFormat))
    values.put("theme", "light")
    values.wait()
    assert values.get("theme") == "light"


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
