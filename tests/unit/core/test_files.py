"""A file that is written is as it was or whole, and nothing else in the program replaces files."""

from __future__ import annotations

import ast
import errno
import os
import re
import stat
import subprocess
import sys
import time
from pathlib import Path

import pytest

from semblance.core.errors import SemblanceError
from semblance.core.files import (
    copy_private,
    create_private,
    excess_permissions,
    make_folder,
    make_private,
    move,
    move_into_place,
    open_private,
    remove_abandoned,
    remove_unfinished,
    replacing,
    unfinished_name,
    write_file,
)

TOP = Path(__file__).parents[3]


@pytest.fixture
def synced(monkeypatch) -> list[str]:
    """What was forced to the disk and what was renamed, in order."""
    calls: list[str] = []
    force, rename = os.fsync, Path.replace

    def fsync(handle: int) -> None:
        calls.append("folder" if stat.S_ISDIR(os.fstat(handle).st_mode) else "file")
        force(handle)

    def replace(path: Path, target: Path) -> Path:
        calls.append("rename")
        return rename(path, target)

    monkeypatch.setattr(os, "fsync", fsync)
    monkeypatch.setattr(Path, "replace", replace)
    return calls


def test_the_bytes_are_on_the_disk_before_the_name_and_the_name_after(tmp_path, synced):
    write_file(tmp_path / "a.txt", b"new")
    assert (tmp_path / "a.txt").read_bytes() == b"new"
    assert synced == ["file", "rename", "folder"]
    assert [path.name for path in tmp_path.iterdir()] == ["a.txt"]


def test_a_file_that_can_be_made_again_is_not_waited_for(tmp_path, synced):
    write_file(tmp_path / "a.txt", b"new", durable=False)
    assert (tmp_path / "a.txt").read_bytes() == b"new"
    assert synced == ["rename"]


@pytest.mark.parametrize("failing", ["fsync", "block"])
def test_a_failure_leaves_what_was_there_and_nothing_beside(tmp_path, monkeypatch, failing):
    target = tmp_path / "a.txt"
    target.write_bytes(b"old")

    def full(_handle):
        raise OSError(errno.ENOSPC, "full")

    if failing == "fsync":
        monkeypatch.setattr(os, "fsync", full)
    with pytest.raises(OSError, match="full"), replacing(target) as temporary:
        temporary.write_bytes(b"half")
        assert target.read_bytes() == b"old"
        if failing == "block":
            full(0)
    assert target.read_bytes() == b"old"
    assert list(tmp_path.iterdir()) == [target]


def test_two_writers_of_one_file_have_names_of_their_own(tmp_path):
    target = tmp_path / ("a" * 250)
    with replacing(target) as one, replacing(target) as two:
        assert one != two
        one.write_bytes(b"one")
        two.write_bytes(b"two")
    assert target.read_bytes() == b"one"


def test_a_folder_takes_its_place_with_all_its_files_on_the_disk(tmp_path, synced):
    made = tmp_path / "made"
    (made / "inside").mkdir(parents=True)
    (made / "inside" / "b").write_bytes(b"b")
    (made / "a").write_bytes(b"a")
    move_into_place(made, tmp_path / "target")
    assert (tmp_path / "target" / "inside" / "b").read_bytes() == b"b"
    assert sorted(synced[:-2]) == ["file", "file", "folder", "folder"]
    assert synced[-2:] == ["rename", "folder"]


def test_what_is_only_moved_is_never_opened(tmp_path):
    pipe = tmp_path / "pipe"
    os.mkfifo(pipe)
    move(pipe, tmp_path / "aside")
    assert (tmp_path / "aside").is_fifo()
    assert not pipe.exists()


@pytest.mark.parametrize(("number", "refused"), [(errno.EINVAL, False), (errno.EIO, True)])
def test_a_file_system_that_cannot_sync_folders_is_put_up_with_and_a_failing_disk_is_not(
    tmp_path, monkeypatch, number, refused
):
    def fsync(handle):
        if stat.S_ISDIR(os.fstat(handle).st_mode):
            raise OSError(number, "folder")

    monkeypatch.setattr(os, "fsync", fsync)
    if refused:
        with pytest.raises(SemblanceError, match=r"a was not written: folder\."):
            write_file(tmp_path / "a", b"a")
    else:
        write_file(tmp_path / "a", b"a")
        assert (tmp_path / "a").read_bytes() == b"a"


def test_only_what_is_a_day_old_is_abandoned(tmp_path):
    old_file, old_folder, young = tmp_path / "a.part", tmp_path / "b.making", tmp_path / "c.part"
    old_folder.mkdir()
    for path in (old_file, old_folder / "in", young):
        path.write_bytes(b"x")
    yesterday = time.time() - 25 * 3600
    for path in (old_file, old_folder):
        os.utime(path, (yesterday, yesterday))
    remove_abandoned([old_file, old_folder, young, tmp_path / "gone"])
    assert list(tmp_path.iterdir()) == [young]


def replacements(tree: ast.AST) -> list[int]:
    """Lines that rename a file; ``str.replace`` takes two values, ``dataclasses.replace`` names them."""
    found = []
    for node in ast.walk(tree):
        if not (isinstance(node, ast.Call) and isinstance(node.func, ast.Attribute)):
            continue
        owner, name = ast.unparse(node.func.value), node.func.attr
        renames = name in ("replace", "rename") and len(node.args) == 1 and not node.keywords
        if renames or (owner, name) in (("os", "replace"), ("os", "rename"), ("shutil", "move")):
            found.append(node.lineno)
    return found


@pytest.mark.slow
def test_nothing_else_replaces_a_file():
    found = {
        file.relative_to(TOP).as_posix(): lines
        for folder in ("app", "core")
        for file in (TOP / folder).rglob("*.py")
        if (lines := replacements(ast.parse(file.read_text(encoding="utf-8"))))
    }
    assert list(found) == ["core/files.py"]


#: What is written within a block of ``replacing``, and entries of archives.
_NO_FILES = ("temporary", "archive", "zipfile")


def creations(tree: ast.AST) -> list[str]:
    """Calls that create a file or a folder with the permissions of the umask."""
    found = []
    for node in ast.walk(tree):
        if not (isinstance(node, ast.Call) and isinstance(node.func, (ast.Attribute, ast.Name))):
            continue
        owner = ast.unparse(node.func.value) if isinstance(node.func, ast.Attribute) else ""
        name = node.func.attr if isinstance(node.func, ast.Attribute) else node.func.id
        texts = [
            one.value
            for one in (*node.args, *(k.value for k in node.keywords))
            if isinstance(one, ast.Constant)
        ]
        writes = any(
            isinstance(one, str) and re.fullmatch("[rwxabt+]{1,3}", one) and set(one) & set("wxa")
            for one in texts
        )
        creates = name in ("mkdir", "makedirs", "mkfifo", "write_text", "write_bytes", "touch") or (
            name in ("memmap", "open_memmap") and "r" not in texts
        )
        copies = owner == "shutil" and name.startswith("copy") and name != "copyfileobj"
        if (creates or copies or (name == "open" and writes)) and owner not in _NO_FILES:
            found.append(ast.unparse(node))
    return found


@pytest.mark.slow
def test_nothing_else_creates_a_file():
    """Others on the computer could read it. SQLite creates files too: each of these calls is on one that exists."""
    found, connected = {}, set()
    for folder in ("app", "core"):
        for file in (TOP / folder).rglob("*.py"):
            text, name = file.read_text(encoding="utf-8"), file.relative_to(TOP).as_posix()
            if name != "core/files.py" and (calls := creations(ast.parse(text))):
                found[name] = calls
            if "sqlite3.connect(" in text:
                connected.add(file.stem)
    assert found == {}
    assert connected == {"backup_file", "catalogue_repair", "database", "thumbnails"}


def test_a_call_that_creates_a_file_is_found():
    for line in [
        "a.mkdir()",
        "open(a, 'wb')",
        "a.open('xb')",
        "a.open(mode='a')",
        "shutil.copy2(a, b)",
        "a.write_text('')",
        "np.memmap(a, float, 'w+')",
    ]:
        assert len(creations(ast.parse(line))) == 1, line


@pytest.fixture(params=[0o000, 0o022, 0o077], ids=["000", "022", "077"])
def umask(request):
    before = os.umask(request.param)
    yield request.param
    os.umask(before)


def mode(path):
    return stat.S_IMODE(path.stat().st_mode)


@pytest.mark.skipif(os.name == "nt", reason="a mode says nothing about others there")
def test_what_is_created_is_private_for_any_umask_and_what_is_exported_follows_it(tmp_path, umask):
    make_folder(tmp_path / "a" / "b")
    write_file(tmp_path / "a" / "file", b"")
    create_private(tmp_path / "a" / "empty")
    copy_private(tmp_path / "a" / "file", tmp_path / "a" / "copy")
    with open_private(tmp_path / "a" / "opened", "ab"):
        pass
    assert {mode(path) for path in (tmp_path / "a", tmp_path / "a" / "b")} == {0o700}
    assert {mode(path) for path in (tmp_path / "a").iterdir() if path.is_file()} == {0o600}
    make_folder(tmp_path / "c", private=False)
    write_file(tmp_path / "c" / "file", b"", private=False)
    assert (mode(tmp_path / "c"), mode(tmp_path / "c" / "file")) == (0o777 & ~umask, 0o666 & ~umask)


@pytest.mark.skipif(os.name == "nt", reason="a mode says nothing about others there")
def test_a_file_is_private_while_it_is_written(tmp_path, umask):
    with replacing(tmp_path / "a") as temporary:
        temporary.write_bytes(b"a")
        assert mode(temporary) == 0o600


@pytest.mark.skipif(os.name == "nt", reason="a mode says nothing about others there")
@pytest.mark.parametrize(("shared", "folder", "file"), [(0o2770, 0o770, 0o660), (0o2750, 0o750, 0o640)])
def test_the_group_of_a_setgid_folder_keeps_its_rights_and_nobody_else_gets_any(
    tmp_path, shared, folder, file
):
    before = os.umask(0)
    try:
        tmp_path.chmod(shared)
        make_folder(tmp_path / "a")
        write_file(tmp_path / "a" / "file", b"")
    finally:
        os.umask(before)
    assert (mode(tmp_path / "a") & 0o777, mode(tmp_path / "a" / "file")) == (folder, file)
    (tmp_path / "a" / "file").chmod(0o664)
    assert excess_permissions(tmp_path / "a" / "file") == 0o004
    assert make_private(tmp_path / "a" / "file")
    assert mode(tmp_path / "a" / "file") == 0o660


def test_a_call_that_replaces_a_file_is_found():
    for line in ["part.replace(file)", "os.replace(a, b)", "shutil.move(a, b)", "a.rename(b)"]:
        assert replacements(ast.parse(line)) == [1], line


def test_folders_of_a_process_that_is_gone_are_removed_and_those_of_one_that_runs_stay(tmp_path):
    ended = subprocess.run(
        [sys.executable, "-c", "import os; print(os.getpid())"], capture_output=True, check=True
    )
    mine = unfinished_name(tmp_path / "lib")
    dead = tmp_path / mine.name.replace(f"-{os.getpid()}-", f"-{int(ended.stdout)}-")
    elsewhere = tmp_path / f"lib.00000000-{int(ended.stdout)}-abcd.making"
    for folder in (mine, dead, elsewhere):
        (folder / "features").mkdir(parents=True)
    remove_unfinished(tmp_path / "lib")
    assert sorted(tmp_path.iterdir()) == sorted([mine, elsewhere])
