"""Zips from strangers: nothing leads out of them, nothing unpacks without end."""

from __future__ import annotations

import io
import stat
import struct
import zipfile

import numpy as np
import pytest

from semblance.core.errors import BadInput, SemblanceError
from semblance.core.imaging.zip_archive import ZipArchive, modified_ns, unsafe_name
from semblance.core.limits import MAX_FILE_BYTES
from tests.helpers.bad_images import AWKWARD_NAMES, lying_zip, write_zip, zip_bomb

METHODS = [zipfile.ZIP_STORED, zipfile.ZIP_DEFLATED, zipfile.ZIP_BZIP2, zipfile.ZIP_LZMA]


@pytest.mark.parametrize("method", METHODS)
def test_every_compression(tmp_path, method):
    content = {"a/b.bin": bytes(range(256)) * 50, "empty": b""}
    package = ZipArchive(write_zip(tmp_path / "x.zip", content, method), "x.zip")
    assert {name: package.read(name) for name in package.entries} == content
    assert package.head("a/b.bin", 10) == bytes(range(10))
    stored = package.read_stored("a/b.bin", 256, 4)
    assert stored == (bytes(range(4)) if method == zipfile.ZIP_STORED else None)
    package.close()


@pytest.mark.parametrize("name", AWKWARD_NAMES)
def test_entries_with_unusual_names_are_read(tmp_path, name):
    package = ZipArchive(write_zip(tmp_path / "x.zip", {name: b"here"}), "x.zip")
    assert package.read(name) == b"here"
    package.close()


@pytest.mark.parametrize(
    ("name", "reason"),
    [
        ("../up.png", "'..'"),
        ("a/../../up.png", "'..'"),
        ("a\\..\\up.png", "'..'"),
        ("/etc/passwd", "absolute"),
        ("\\\\server\\share.png", "absolute"),
        ("C:/x.png", "absolute"),
        ("c:x.png", "absolute"),
        ("a\\b.png", "backslash"),
    ],
)
def test_unsafe_names_are_refused_and_the_rest_is_read(tmp_path, name, reason):
    package = ZipArchive(write_zip(tmp_path / "x.zip", {name: b"bad", "good.png": b"good"}), "x.zip")
    assert list(package.entries) == ["good.png"]
    [(refused, why)] = package.refused
    assert refused == name
    assert reason in why
    with pytest.raises(BadInput, match="is refused"):
        package.read(name)
    assert package.read("good.png") == b"good"
    package.close()


def test_names_that_only_look_unsafe_are_read():
    assert unsafe_name("a..b/..c/d...png") is None
    assert unsafe_name("") is not None
    assert unsafe_name("a\0.png") is not None


def test_links_passwords_and_doubles_are_refused(tmp_path):
    path = tmp_path / "x.zip"
    link = zipfile.ZipInfo("link.png")
    link.external_attr = (stat.S_IFLNK | 0o777) << 16
    with zipfile.ZipFile(path, "w") as archive:
        archive.writestr(link, "/etc/passwd")
        archive.writestr("locked.png", b"x")
        archive.writestr("twice.png", b"first")
        with pytest.warns(UserWarning, match="Duplicate"):
            archive.writestr("twice.png", b"second")
    data = bytearray(path.read_bytes())
    at = data.index(b"locked.png", data.index(b"PK\x01\x02"))
    data[at - 46 + 8] |= 1
    path.write_bytes(bytes(data))
    package = ZipArchive(path, "x.zip")
    reasons = dict(package.refused)
    assert "link" in reasons["link.png"]
    assert "password" in reasons["locked.png"]
    assert "second entry" in reasons["twice.png"]
    assert package.read("twice.png") == b"first"
    package.close()


def test_unknown_compression_is_refused(tmp_path):
    path = write_zip(tmp_path / "x.zip", {"a.png": b"x"})
    data = bytearray(path.read_bytes())
    at = data.index(b"PK\x01\x02") + 10
    data[at : at + 2] = struct.pack("<H", 93)
    path.write_bytes(bytes(data))
    package = ZipArchive(path, "x.zip")
    assert "method 93" in package.refused[0][1]
    package.close()


@pytest.mark.slow
@pytest.mark.parametrize("method", [zipfile.ZIP_DEFLATED, zipfile.ZIP_BZIP2])
def test_bombs_are_refused_unread(tmp_path, method):
    package = ZipArchive(zip_bomb(tmp_path / "bomb.zip", 201, method), "bomb.zip")
    assert package.entries == {}
    assert "fill the memory" in package.refused[0][1]
    package.close()


def test_entries_above_the_limit_are_refused(tmp_path):
    path = write_zip(tmp_path / "x.zip", {"a.png": b"x"})
    data = bytearray(path.read_bytes())
    at = data.index(b"PK\x01\x02") + 24
    data[at : at + 4] = struct.pack("<I", MAX_FILE_BYTES + 1)
    path.write_bytes(bytes(data))
    package = ZipArchive(path, "x.zip")
    assert "above the limit" in package.refused[0][1]
    package.close()


@pytest.mark.parametrize("method", METHODS)
@pytest.mark.parametrize("declared", [1000, 5_000_000])
def test_entries_that_lie_about_their_size_are_damaged(tmp_path, method, declared):
    package = ZipArchive(lying_zip(tmp_path / "x.zip", bytes(2_000_000), declared, method), "x.zip")
    with pytest.raises(BadInput, match=r"'lie\.png' of 'x\.zip' is damaged"):
        package.read("lie.png")
    package.close()


@pytest.mark.parametrize("data", [b"", b"PK", b"no zip at all", b"PK\x03\x04" + bytes(100)])
def test_not_a_zip(tmp_path, data):
    path = tmp_path / "x.zip"
    path.write_bytes(data)
    with pytest.raises(BadInput, match=r"'x\.zip' is not a zip archive"):
        ZipArchive(path, "x.zip")


@pytest.mark.parametrize("method", METHODS)
def test_mutated_zips_raise_only_errors_for_users(tmp_path, method):
    whole = write_zip(
        tmp_path / "x.zip", {"a.png": bytes(range(200)), "b/c.png": b"c" * 300}, method
    ).read_bytes()
    rng = np.random.default_rng(method)
    for _ in range(150):
        data = bytearray(whole)
        for spot in rng.integers(0, len(data), rng.integers(1, 5)):
            data[spot] = rng.integers(0, 256)
        try:
            package = ZipArchive(io.BytesIO(bytes(data)), "x.zip")
            for name in package.entries:
                package.head(name, 20)
                package.read(name)
        except SemblanceError as error:
            assert "x.zip" in error.message


def test_missing_entry_and_missing_file(tmp_path):
    package = ZipArchive(write_zip(tmp_path / "x.zip", {"a.png": b"x"}), "x.zip")
    with pytest.raises(BadInput, match=r"'x\.zip' has no entry 'b\.png'"):
        package.read("b.png")
    package.close()
    with pytest.raises(BadInput, match="does not exist"):
        ZipArchive(tmp_path / "none.zip", "none.zip")


def test_modification_time_is_read_and_invalid_dates_give_zero():
    info = zipfile.ZipInfo("a", (2020, 1, 2, 3, 4, 6))
    assert modified_ns(info) == 1_577_934_246 * 10**9
    info.date_time = (1980, 0, 0, 0, 0, 0)
    assert modified_ns(info) == 0
