"""A folder, a zip and a single file are listed in the same way; no path leads out of them, and no file vanishes."""

from __future__ import annotations

import os
import sys
from pathlib import Path

import numpy as np
import pytest

from semblance.core.errors import BadInput
from semblance.core.imaging import ImageAddress, open_image
from semblance.core.library.importers.source import FolderSource, Source
from tests.helpers.bad_images import AWKWARD_NAMES, encoded, pattern, write_zip

PNG = encoded(pattern())
TREE = {"b/10.png": PNG, "b/9.png": PNG, "a.png": PNG, "c/d/e.txt": b"text"}

posix_only = pytest.mark.skipif(sys.platform == "win32", reason="names and links of POSIX systems")


def tree(root: Path, files: dict[str, bytes]) -> Path:
    for name, data in files.items():
        path = root / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_bytes(data)
    return root


@pytest.mark.parametrize("kind", ["folder", "zip"])
def test_folder_and_zip_give_the_same_cases(tmp_path, kind):
    make = {"folder": lambda: tree(tmp_path / "x", TREE), "zip": lambda: write_zip(tmp_path / "x.zip", TREE)}
    with Source.open(make[kind]()) as source:
        assert source.kind == kind
        assert [entry.path for entry in source.entries()] == ["a.png", "b/9.png", "b/10.png", "c/d/e.txt"]
        assert all(entry.size == len(TREE[entry.path]) for entry in source.entries())
        assert all((entry.crc is None) == (kind == "folder") for entry in source.entries())
        assert source.read("b/9.png") == PNG
        assert source.head("c/d/e.txt") == b"text"
        address = source.address("b/9.png")
        assert address.container.is_absolute()
        np.testing.assert_array_equal(open_image(address).pixels, pattern())
        assert source.refused == source.ignored == []


def test_a_single_file(tmp_path):
    path = tree(tmp_path, {"t.csv": b"a,label\n"}) / "t.csv"
    with Source.open(path) as source:
        assert source.kind == "file"
        [entry] = source.entries()
        assert (entry.path, entry.size, entry.mtime_ns) == ("", 8, path.stat().st_mtime_ns)
        assert source.label("") == "t.csv"
        assert source.read("") == b"a,label\n"
        assert source.address("", "images", 3) == ImageAddress(path, "images", 3)


def test_an_array_file_within_a_zip_has_an_address(tmp_path):
    with Source.open(write_zip(tmp_path / "x.zip", {"a.npz": b"x"})) as source:
        assert source.address("a.npz", "images", 3) == ImageAddress(source.path, "a.npz!images", 3)


def test_a_zip_of_another_name_is_one(tmp_path):
    with Source.open(write_zip(tmp_path / "x.data", TREE)) as source:
        assert source.kind == "zip"


def test_relative_paths_become_absolute(tmp_path, monkeypatch):
    monkeypatch.chdir(tree(tmp_path, TREE))
    with Source.open(Path("b")) as source:
        assert source.path == tmp_path / "b"


@pytest.mark.parametrize("kind", ["folder", "zip"])
def test_files_with_unusual_names_are_found(tmp_path, kind):
    files = {f"sub folder/{name}": PNG for name in AWKWARD_NAMES}
    path = tree(tmp_path / "x", files) if kind == "folder" else write_zip(tmp_path / "x.zip", files)
    with Source.open(path) as source:
        assert {entry.path for entry in source.entries()} == set(files)
        for entry in source.entries():
            np.testing.assert_array_equal(open_image(source.address(entry.path)).pixels, pattern())


@pytest.mark.parametrize("kind", ["folder", "zip"])
def test_files_of_file_managers_are_ignored_with_a_reason(tmp_path, kind):
    left = [".hidden.png", "a/.DS_Store", "a/Thumbs.db", "__MACOSX/a/._1.png", ".git/config", "a/desktop.ini"]
    files = {"a/1.png": PNG} | dict.fromkeys(left, b"x")
    path = tree(tmp_path / "x", files) if kind == "folder" else write_zip(tmp_path / "x.zip", files)
    with Source.open(path) as source:
        assert [entry.path for entry in source.entries()] == ["a/1.png"]
        assert {name for name, _ in source.ignored} == set(left)
        assert all(reason for _, reason in source.ignored)


def test_unsafe_entries_are_refused(tmp_path):
    files = {"../up.png": PNG, "/abs.png": PNG, "a\\b.png": PNG, "good.png": PNG}
    with Source.open(write_zip(tmp_path / "x.zip", files)) as source:
        assert [entry.path for entry in source.entries()] == ["good.png"]
        assert {name for name, _ in source.refused} == set(files) - {"good.png"}


@posix_only
def test_links_are_never_followed(tmp_path):
    secret = tree(tmp_path / "outside", {"secret.png": PNG})
    root = tree(tmp_path / "x", {"1.png": PNG, "sub/2.png": PNG})
    (root / "file.png").symlink_to(secret / "secret.png")
    (root / "folder").symlink_to(secret)
    (root / "again.png").symlink_to(root / "1.png")
    (root / "round").symlink_to(root)
    (root / "broken.png").symlink_to(root / "nowhere")
    with Source.open(root) as source:
        assert [entry.path for entry in source.entries()] == ["1.png", "sub/2.png"]
        reasons = dict(source.refused)
        assert set(reasons) == {"file.png", "folder", "again.png", "round", "broken.png"}
        assert "out of the folder" in reasons["file.png"]
        assert "out of the folder" in reasons["folder"]
        assert "within the folder" in reasons["again.png"]


@posix_only
def test_names_that_are_no_text_and_pipes_are_refused(tmp_path):
    root = tree(tmp_path / "x", {"1.png": PNG})
    os.mkfifo(root / "pipe.png")
    try:
        (root / os.fsdecode(b"caf\xe9.png")).write_bytes(PNG)
    except OSError:
        pytest.skip("this file system takes only UTF-8 names")
    with Source.open(root) as source:
        assert [entry.path for entry in source.entries()] == ["1.png"]
        reasons = dict(source.refused)
        assert "not a plain file" in reasons["pipe.png"]
        assert "not valid text" in reasons["caf�.png"]


@posix_only
@pytest.mark.skipif(hasattr(os, "geteuid") and os.geteuid() == 0, reason="root may open everything")
def test_closed_folders_are_reported(tmp_path):
    root = tree(tmp_path / "x", {"1.png": PNG, "closed/2.png": PNG})
    (root / "closed").chmod(0)
    try:
        with Source.open(root) as source:
            assert [entry.path for entry in source.entries()] == ["1.png"]
            assert "cannot be opened" in dict(source.refused)["closed/"]
    finally:
        (root / "closed").chmod(0o700)


def test_a_folder_that_vanishes_is_reported(tmp_path, monkeypatch):
    root = tree(tmp_path / "x", {"1.png": PNG, "closed/2.png": PNG})
    scandir = os.scandir

    def guarded(path):
        if str(path).endswith("closed"):
            raise PermissionError(13, "Permission denied")
        return scandir(path)

    monkeypatch.setattr(os, "scandir", guarded)
    with Source.open(root) as source:
        assert [entry.path for entry in source.entries()] == ["1.png"]
        assert source.refused == [("closed/", "the folder cannot be opened: Permission denied")]


@pytest.mark.parametrize("path", ["../outside.png", "/etc/passwd", "a/../../outside.png", ""])
def test_reading_stays_within_the_folder(tmp_path, path):
    source = FolderSource(tree(tmp_path / "x", TREE))
    tree(tmp_path, {"outside.png": PNG})
    with pytest.raises(BadInput, match="is not a file of"):
        source.read(path)
    with pytest.raises(BadInput, match="is not a file of"):
        source.address(path)


def test_a_library_within_the_folder_is_left_alone(tmp_path):
    root = tree(tmp_path / "x", {"1.png": PNG, "my.semblance/thumbs/2.png": PNG})
    with Source.open(root) as source:
        assert [entry.path for entry in source.entries()] == ["1.png"]
        assert source.ignored == [("my.semblance/", "a Semblance library")]
    with pytest.raises(BadInput, match="Open it instead"):
        Source.open(root / "my.semblance")


@pytest.mark.parametrize(
    ("name", "data", "message"),
    [
        ("gone", None, "does not exist"),
        ("cut.zip", b"PK\x03\x04 and no more", "not a zip archive"),
        ("text.zip", b"hello", "not a zip archive"),
        ("empty.zip", b"", "not a zip archive"),
        ("n" * 300, None, "cannot be read"),
    ],
)
def test_what_cannot_be_opened(tmp_path, name, data, message):
    if data is not None:
        (tmp_path / name).write_bytes(data)
    with pytest.raises(BadInput, match=message) as error:
        Source.open(tmp_path / name)
    assert name in error.value.message
    assert error.value.hint


def test_files_are_listed_in_natural_order_and_equal_ones_by_their_path(tmp_path):
    names = ["b10", "B9", "b9", "b", "a1b2", "a1b10", "a01", "a1", "9" * 200]
    for name in names:
        (tmp_path / f"{name}.png").touch()
    with Source.open(tmp_path) as source:
        listed = [entry.path.removesuffix(".png") for entry in source.entries()]
    assert listed == ["9" * 200, "a01", "a1", "a1b2", "a1b10", "b", "B9", "b9", "b10"]
