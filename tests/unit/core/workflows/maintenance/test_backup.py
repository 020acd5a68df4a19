from __future__ import annotations

import json
import os
import shutil
import zipfile
from pathlib import Path

import numpy as np
import pytest

from semblance.core.errors import BadArguments, BadInput, SemblanceError
from semblance.core.library import backup_file
from semblance.core.library.backup_file import MANIFEST
from semblance.core.library.library import Library
from semblance.core.library.records import CATALOGUE
from semblance.core.tasks import Cancelled, Reporter
from semblance.core.workflows.maintenance.backup import back_up, restore
from semblance.core.workflows.maintenance.verify_library import verify_library
from tests.helpers.libraries import case_rows, fill, make_library, numbers_set, raw, tables_of, values_of


@pytest.fixture(scope="module")
def made(tmp_path_factory) -> Path:
    """A folder with a library and its backup, which the tests copy."""
    folder = tmp_path_factory.mktemp("made")
    path = make_library(folder / "lib.semblance", cases=20)
    with Library.open(path) as opened:
        numbers, rows = numbers_set(opened), case_rows(opened)
        opened.features.write_chunk(numbers, rows[:12], values_of(rows[:12]))
        opened.features.write_chunk(numbers, rows[12:], values_of(rows[12:]))
        opened.save_search("mine", {"query": "s/0.png"})
    back_up(path, folder / "backup.zip")
    return folder


@pytest.fixture
def library(made, tmp_path) -> Path:
    return Path(shutil.copytree(made / "lib.semblance", tmp_path / "lib.semblance"))


@pytest.fixture
def file(made, tmp_path) -> Path:
    return Path(shutil.copy(made / "backup.zip", tmp_path / "backup.zip"))


def repacked(file: Path, target: Path, change) -> Path:
    """A copy of a backup whose entries, a mapping from name to bytes, ``change`` was let at."""
    with zipfile.ZipFile(file) as archive:
        entries = {name: archive.read(name) for name in archive.namelist()}
    manifest = json.loads(entries[MANIFEST])
    change(entries, manifest)
    if MANIFEST in entries:
        entries[MANIFEST] = json.dumps(manifest).encode()
    with zipfile.ZipFile(target, "w", zipfile.ZIP_DEFLATED) as archive:
        for name, data in entries.items():
            archive.writestr(name, data)
    return target


def test_a_restored_library_is_the_one_that_was_backed_up(library, file, tmp_path):
    result = restore(file, tmp_path / "again")
    again = tmp_path / "again.semblance"
    assert (result.library, result.cases, result.missing) == (str(again), 20, 20)
    assert tables_of(again) == tables_of(library)
    with Library.open(again) as opened:
        ids, values = opened.features.read(opened.features.get(None))
        assert opened.load_search("mine") == {"query": "s/0.png"}
    np.testing.assert_array_equal(values, values_of(ids))
    assert len(ids) == 20
    assert [f.part for f in verify_library(again).findings] == ["images"]
    assert not list(tmp_path.glob("*.making"))
    assert not list(tmp_path.glob(".*"))


def test_a_library_that_is_written_to_meanwhile_is_backed_up_as_it_was_at_one_moment(
    library, tmp_path, monkeypatch
):
    copy = backup_file.copy_catalogue

    def copy_then_write(source: Path, target: Path) -> None:
        copy(source, target)
        with Library.open(library) as opened:
            fill(opened, range(100, 120), source="later")
            rows = case_rows(opened)[-20:]
            opened.features.write_chunk(opened.features.get(None), rows, values_of(rows))

    with Library.open(library) as opened:
        fill(opened, [50], source="held")
        monkeypatch.setattr(backup_file, "copy_catalogue", copy_then_write)
        back_up(library, tmp_path / "b.zip")
    assert restore(tmp_path / "b.zip", tmp_path / "again").cases == 21
    with Library.open(tmp_path / "again.semblance") as opened:
        assert len(opened.features.read(opened.features.get(None))[0]) == 20


def test_what_is_there_is_never_replaced(library, file, tmp_path):
    with pytest.raises(BadInput, match=r"exists already.*never replaces"):
        restore(file, library)
    (tmp_path / "taken.semblance").write_text("mine")
    with pytest.raises(BadInput, match=r"exists already"):
        restore(file, tmp_path / "taken.semblance")
    assert (tmp_path / "taken.semblance").read_text() == "mine"
    (tmp_path / "empty.semblance").mkdir()
    assert restore(file, tmp_path / "empty.semblance").cases == 20


def test_a_backup_does_not_go_into_the_library_itself(library):
    with pytest.raises(BadArguments, match=r"is inside the library itself"):
        back_up(library, library / "b.zip")


def test_what_is_no_library_or_cannot_be_written(library, tmp_path):
    with pytest.raises(BadInput, match=r"gone does not exist"):
        back_up(tmp_path / "gone", tmp_path / "b.zip")
    with pytest.raises(SemblanceError, match=r"b\.zip cannot be written: No such file") as error:
        back_up(library, tmp_path / "no folder" / "b.zip")
    assert "lib.semblance" not in str(error.value)
    assert sorted(p.name for p in tmp_path.iterdir()) == ["lib.semblance"]


def test_a_damaged_catalogue_is_not_backed_up(library, tmp_path):
    data = bytearray((library / CATALOGUE).read_bytes())
    data[len(data) // 2 :] = b"\xa7" * (len(data) - len(data) // 2)
    (library / CATALOGUE).write_bytes(data)
    with pytest.raises(SemblanceError, match=r"damaged|could not be copied"):
        back_up(library, tmp_path / "b.zip")
    assert sorted(p.name for p in tmp_path.iterdir()) == ["lib.semblance"]


def test_lost_files_are_reported_and_the_rest_stay(library, tmp_path):
    (library / "features" / "1.zarr" / "c" / "1" / "0").unlink()
    document = back_up(library, tmp_path / "b.zip")
    assert document["missing"] == ["features/1.zarr/c/1/0"]
    restore(tmp_path / "b.zip", tmp_path / "again")
    found = verify_library(tmp_path / "again.semblance").findings
    assert [f.part for f in found] == ["images", "features"]


@pytest.mark.parametrize(
    "name",
    [
        "../outside",
        "/tmp/outside",
        "features/../../outside",
        "features/1.zarr/c/0/0/../../../../../x",
        "C:\\outside",
        "..\\outside",
        "metrics/x.pkl",
        "metrics/../a.metric",
        "features/1.zarr/c/0/0\n",
        "catalogue.sqlite-wal",
        "window.lock",
    ],
)
def test_restore_refuses_paths_outside_the_library_and_unknown_files(file, tmp_path, name):
    def add(entries, manifest):
        entries[name] = b"x"
        manifest["files"][name] = {"size": 1, "sha256": "0"}

    bad = repacked(file, tmp_path / "bad.zip", add)
    before = sorted(tmp_path.iterdir())
    with pytest.raises(BadInput, match=r"which no library has"):
        restore(bad, tmp_path / "again")
    assert sorted(tmp_path.iterdir()) == before


def test_what_the_list_does_not_name_is_left_out(file, tmp_path):
    def add(entries, manifest):
        entries["../outside"] = b"x"

    restore(repacked(file, tmp_path / "bad.zip", add), tmp_path / "again")
    assert not (tmp_path / "outside").exists()


def wrong_sum(entries, manifest):
    manifest["files"]["features/1.zarr/c/0/0"]["sha256"] = "0" * 64


def other_bytes(entries, manifest):
    data = entries["features/1.zarr/c/0/0"]
    entries["features/1.zarr/c/0/0"] = bytes([data[0] ^ 1]) + data[1:]


def other_size(entries, manifest):
    manifest["files"]["features/1.zarr/c/0/0"]["size"] += 1


def no_catalogue(entries, manifest):
    del manifest["files"][CATALOGUE]


def no_list(entries, manifest):
    del entries[MANIFEST]


def no_table(entries, manifest):
    manifest["files"] = "all"


def newer(entries, manifest):
    manifest["version"] = 2


def bomb(entries, manifest):
    entries["features/1.zarr/c/7/0"] = b"\0" * (200 << 20)
    manifest["files"]["features/1.zarr/c/7/0"] = {"size": 200 << 20, "sha256": "0"}


def other_format(entries, manifest):
    manifest["format"] = "something else"


@pytest.mark.parametrize(
    ("change", "says"),
    [
        (wrong_sum, "has changed"),
        (other_bytes, "has changed"),
        (other_size, "not have the stated size"),
        (no_catalogue, "contains no catalogue"),
        (no_list, "is not a backup of a library"),
        (no_table, "is not a backup, or it is damaged"),
        (newer, "made by a newer version of Semblance"),
        (bomb, "not have the stated size"),
        (other_format, "is not a backup of a library"),
    ],
)
def test_a_changed_backup_is_refused_and_leaves_nothing(file, tmp_path, change, says):
    bad = repacked(file, tmp_path / "bad.zip", change)
    before = sorted(tmp_path.iterdir())
    with pytest.raises(BadInput, match=says):
        restore(bad, tmp_path / "again")
    assert sorted(tmp_path.iterdir()) == before


@pytest.mark.parametrize("share", [0.0, 0.3, 0.9])
def test_a_cut_backup_is_refused(file, tmp_path, share):
    data = file.read_bytes()
    file.write_bytes(data[: int(len(data) * share)])
    with pytest.raises(BadInput, match=r"is not a backup, or it is damaged"):
        restore(file, tmp_path / "again")
    with pytest.raises(BadInput, match=r"gone\.zip' does not exist"):
        restore(tmp_path / "gone.zip", tmp_path / "again")
    assert not list(tmp_path.glob("again*"))


def test_a_pipe_is_not_waited_for(tmp_path):
    os.mkfifo(tmp_path / "pipe.zip")
    with pytest.raises(BadInput, match=r"pipe\.zip' is not a plain file"):
        restore(tmp_path / "pipe.zip", tmp_path / "again")


def test_a_catalogue_with_triggers_is_refused(library, tmp_path):
    with raw(library) as connection:
        connection.execute("CREATE TRIGGER t AFTER INSERT ON cases BEGIN DELETE FROM searches; END")
    back_up(library, tmp_path / "b.zip")
    with pytest.raises(BadInput, match=r"contains 't', which no library has"):
        restore(tmp_path / "b.zip", tmp_path / "again")


def test_a_library_of_a_newer_program_is_refused_and_leaves_nothing(library, tmp_path):
    with raw(library) as connection:
        connection.execute("UPDATE meta SET value = '99' WHERE key = 'schema'")
    back_up(library, tmp_path / "b.zip")
    with pytest.raises(BadInput, match=r"b\.zip was made by a newer version of Semblance"):
        restore(tmp_path / "b.zip", tmp_path / "again")
    assert not list(tmp_path.glob("again*"))


def test_a_file_outside_the_library_named_in_the_catalogue_is_not_backed_up(library, tmp_path):
    (tmp_path / "secret").write_text("mine")
    with raw(library) as connection:
        connection.execute(
            "INSERT INTO metrics (name, learner, feature_set, file, card, training, created) "
            "VALUES ('m', 'l', 1, '../../secret', '{}', x'', '')"
        )
    assert back_up(library, tmp_path / "b.zip")["missing"] == ["metrics/../../secret"]
    with zipfile.ZipFile(tmp_path / "b.zip") as archive:
        assert not [name for name in archive.namelist() if "secret" in name]


def test_a_file_that_may_not_be_read_is_named_and_no_backup_is_made(library, tmp_path, monkeypatch):
    closed = library / "features" / "1.zarr" / "c" / "0" / "0"
    opened = Path.open

    def refuse(path, *args, **named):
        if path == closed:
            raise PermissionError(13, "Permission denied")
        return opened(path, *args, **named)

    monkeypatch.setattr(Path, "open", refuse)
    with pytest.raises(
        SemblanceError, match=rf"{closed} cannot be read: Permission denied\. Check its permissions"
    ):
        back_up(library, tmp_path / "b.zip")
    assert sorted(p.name for p in tmp_path.iterdir()) == ["lib.semblance"]


def test_too_little_disk_space_is_reported_before_anything_is_written(file, tmp_path, monkeypatch):
    monkeypatch.setattr(backup_file.shutil, "disk_usage", lambda _path: shutil._ntuple_diskusage(10, 9, 1))
    with pytest.raises(SemblanceError, match=r"has 1 bytes left; the library needs .* kB\. Free some space"):
        restore(file, tmp_path / "again")
    assert not list(tmp_path.glob("again*"))


class _Ending(Reporter):
    def __init__(self, calls: int) -> None:
        self._left = calls

    def check_cancelled(self) -> None:
        self._left -= 1
        if self._left < 0:
            raise Cancelled


@pytest.mark.parametrize("calls", [0, 2, 5])
def test_cancelled_it_leaves_nothing(library, file, tmp_path, calls):
    before = sorted(tmp_path.iterdir())
    with pytest.raises(Cancelled):
        back_up(library, tmp_path / "b.zip", reporter=_Ending(calls))
    if calls < 4:
        with pytest.raises(Cancelled):
            restore(file, tmp_path / "again", reporter=_Ending(calls))
    assert sorted(tmp_path.iterdir()) == before


def test_a_disk_that_does_not_keep_what_is_written_is_noticed(library, tmp_path, monkeypatch):
    pack = backup_file._pack

    def pack_badly(*args):
        written = pack(*args)
        part = args[3]
        data = bytearray(part.read_bytes())
        data[len(data) // 3] ^= 1
        part.write_bytes(data)
        return written

    monkeypatch.setattr(backup_file, "_pack", pack_badly)
    with pytest.raises(SemblanceError, match=r"could not be verified|damaged"):
        back_up(library, tmp_path / "b.zip")
    assert sorted(p.name for p in tmp_path.iterdir()) == ["lib.semblance"]


def test_a_list_of_files_that_would_fill_the_memory_is_refused_unread(file, tmp_path, monkeypatch):
    """Values of JSON take many times the memory of their text, and a list of zeros packs a thousand to one."""
    hostile = repacked(file, tmp_path / "x.zip", lambda _, manifest: manifest.update(zeros=[0] * 100_000))
    monkeypatch.setenv("SEMBLANCE_MEMORY_MB", "10")
    with pytest.raises(BadInput, match=r"x\.zip has 301 kB, above the limit of 200 kB") as error:
        restore(hostile, tmp_path / "again")
    assert "SEMBLANCE_MEMORY_MB=" in error.value.hint
    monkeypatch.setenv("SEMBLANCE_MEMORY_MB", "16")
    assert restore(hostile, tmp_path / "again").cases == 20
