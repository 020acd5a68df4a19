from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest
from PySide6.QtCore import QByteArray, QSettings, QThread

from semblance.app.shell import settings as settings_module
from semblance.app.shell.settings import MAX_RECENT, Settings, StoredValues, shared_values


@pytest.fixture
def file(tmp_path):
    return tmp_path / "settings.ini"


def settings(file) -> Settings:
    """What a program started now reads."""
    settings_module._open.pop(str(file), None)
    return Settings(QSettings(str(file), QSettings.Format.IniFormat))


def library(folder, name):
    made = folder / f"{name}.semblance"
    made.mkdir()
    return made


def test_every_setting_has_a_default(file):
    fresh = settings(file)
    assert (fresh.theme, fresh.text_scale, fresh.recent, fresh.last_library) == ("dark", 1.0, [], None)
    assert fresh.bytes("geometry") is None
    assert fresh.text("library_view", "list") == "list"
    assert fresh.flag("shown", default=True)
    assert not fresh.flag("shown", default=False)


def test_everything_is_there_at_the_next_start(file, tmp_path):
    before = settings(file)
    before.theme, before.text_scale = "light", 1.3
    before.last_library = tmp_path / "Änderung, neu.semblance"
    before.set_bytes("geometry", QByteArray(b"\0\xff layout"))
    before.set_text("library_view", "grid")
    before.set_flag("shown", False)
    before.save()
    after = settings(file)
    assert (after.theme, after.text_scale) == ("light", 1.3)
    assert after.last_library == tmp_path / "Änderung, neu.semblance"
    assert after.bytes("geometry") == QByteArray(b"\0\xff layout")
    assert after.text("library_view") == "grid"
    assert not after.flag("shown", default=True)
    after.last_library = None
    after.save()
    assert settings(file).last_library is None


@pytest.mark.parametrize(("stored", "read"), [("huge", 1.0), ("9", 2.0), ("0.1", 0.8), ("", 1.0)])
def test_an_impossible_text_size_is_corrected(file, stored, read):
    file.write_text(f"[General]\ntext_scale={stored}\ntheme=purple\n")
    assert settings(file).text_scale == read
    assert settings(file).theme == "dark"


@pytest.mark.parametrize("n", [1, 2, MAX_RECENT + 2])
def test_recent_libraries_come_last_opened_first(file, tmp_path, n):
    paths = [library(tmp_path, f"L, {number}") for number in range(n)]
    before = settings(file)
    for path in paths:
        before.add_recent(path)
    before.save()
    assert settings(file).recent == paths[::-1][:MAX_RECENT]


def test_a_library_is_listed_once_and_only_while_it_is_there(file, tmp_path):
    one, two = library(tmp_path, "one"), library(tmp_path, "two")
    stored = settings(file)
    for path in (one, two, one):
        stored.add_recent(path)
    assert stored.recent == [one, two]
    two.rmdir()
    assert stored.recent == [one]
    stored.save()


def test_damaged_settings_are_as_none(file):
    file.write_bytes(b"\x00\xff[[[\n@Invalid(\nrecent=@Variant(\\0)\ngeometry=plain text\n")
    damaged = settings(file)
    assert (damaged.theme, damaged.recent, damaged.bytes("geometry")) == ("dark", [], None)


def test_a_damaged_number_is_none(file):
    made = settings(file)
    for text in ("", "x", "nan", "inf"):
        made.set_text("workers", text)
        assert made.number("workers") is None
    made.set_text("no_match_rate", "7")
    assert made.search_options["no_match_rate"] == 1.0


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
