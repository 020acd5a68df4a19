"""The archive and the Debian package of the bundle, and the checksums beside them: made of a small folder."""

from __future__ import annotations

import configparser
import hashlib
import importlib.util
import itertools
import os
import re
import shutil
import subprocess
import tarfile
from pathlib import Path
from types import ModuleType

import pytest
from packaging.version import Version

TOP = Path(__file__).resolve().parents[3]
EPOCH = "1700000000"
#: What dpkg and PyInstaller bring; a computer without them builds no bundle.
TOOLS = ("dpkg-deb", "objdump")

pytestmark = pytest.mark.slow
needs_tools = pytest.mark.skipif(
    any(shutil.which(tool) is None for tool in TOOLS), reason=f"{' or '.join(TOOLS)} is not on this system"
)
needs_minisign = pytest.mark.skipif(shutil.which("minisign") is None, reason="minisign is not installed")


@pytest.fixture(scope="module")
def loaded() -> ModuleType:
    spec = importlib.util.spec_from_file_location("bundle_build", TOP / "packaging" / "bundle" / "build.py")
    assert spec is not None and spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


@pytest.fixture(scope="module")
def icons(loaded, tmp_path_factory) -> Path:
    folder = tmp_path_factory.mktemp("icons")
    loaded.icons.write(folder)
    return folder


@pytest.fixture
def build(loaded, icons, monkeypatch, tmp_path) -> ModuleType:
    monkeypatch.setenv("SOURCE_DATE_EPOCH", EPOCH)
    monkeypatch.setattr(loaded, "DIST", tmp_path)
    monkeypatch.setattr(loaded, "WORK", icons)
    return loaded


def bundle(build: ModuleType, folder: Path, names: list[str], umask: int = 0o022) -> Path:
    """A folder as PyInstaller makes one, with the files for the desktop; ``names`` in the order they are written."""
    before = os.umask(umask)
    try:
        (folder / "_internal/share").mkdir(parents=True)
        shutil.copyfile("/bin/true", folder / "semblance")
        (folder / "semblance").chmod(0o777 & ~umask)
        shutil.copyfile("/bin/true", folder / "_internal/libx.so.1")
        (folder / "_internal/libx.so.1").chmod(0o777 & ~umask)
        for name in names:
            (folder / "_internal" / name).write_text(f"content of {name}", encoding="utf-8")
        (folder / "_internal/link").symlink_to(sorted(names)[0])
        build.share(folder / "share", "1.0")
    finally:
        os.umask(before)
    return folder


def packed(build: ModuleType, folder: Path, target: Path) -> list[Path]:
    """The archive and the Debian package of a folder."""
    target.mkdir()
    build.debian.set_modes(folder)
    build.set_times(folder)
    bill = target / "bill.json"
    bill.write_text("{}", encoding="utf-8")
    return [build.pack(folder, target / "semblance-1.0"), build.debian.build(folder, "1.0", target, [bill])]


@needs_tools
def test_two_builds_with_another_umask_order_and_time_are_equal(build, tmp_path, monkeypatch):
    first = bundle(build, tmp_path / "first", ["a", "b", "c"])
    second = bundle(build, tmp_path / "another/folder", ["c", "b", "a"], umask=0o077)
    os.utime(second / "_internal/a", (1, 1))
    made = packed(build, first, tmp_path / "one")
    monkeypatch.setenv("DPKG_DEB_THREADS_MAX", "3")
    again = packed(build, second, tmp_path / "two")
    digests = [[hashlib.sha256(file.read_bytes()).hexdigest() for file in files] for files in (made, again)]
    assert digests[0] == digests[1]


@needs_tools
def test_everything_in_the_packages_is_roots_and_can_be_read_by_all(build, tmp_path):
    archive, package = packed(build, bundle(build, tmp_path / "x", ["a"], umask=0o077), tmp_path / "out")
    tar = subprocess.run(["dpkg-deb", "--fsys-tarfile", package], capture_output=True, check=True).stdout
    (tmp_path / "files.tar").write_bytes(tar)
    for file in (archive, tmp_path / "files.tar"):
        with tarfile.open(file) as opened:
            for entry in opened:
                assert (entry.uid, entry.gid, entry.mtime) == (0, 0, int(EPOCH)), entry.name
                program = r"(lib/semblance|semblance-[0-9.]+)/(semblance|install\.sh)"
                may_run = entry.isdir() or re.search(f"{program}$", entry.name)
                assert entry.mode == (0o777 if entry.issym() else 0o755 if may_run else 0o644), entry.name


@needs_tools
def test_the_debian_package_has_its_files_where_the_desktop_looks_and_no_script(build, tmp_path):
    _, package = packed(build, bundle(build, tmp_path / "x", ["a"]), tmp_path / "out")
    root = tmp_path / "root"
    subprocess.run(["dpkg-deb", "--raw-extract", package, root], check=True)
    # Nothing that root would run, and no file of configuration: removed and purged are the same.
    assert [file.name for file in sorted((root / "DEBIAN").iterdir())] == ["control"]
    assert {file.name for file in root.iterdir()} == {"DEBIAN", "usr"}
    files = {file.relative_to(root).as_posix() for file in root.rglob("*") if not file.is_dir()}
    expected = {
        "usr/bin/semblance",
        "usr/lib/semblance/semblance",
        "usr/lib/semblance/_internal/a",
        "usr/lib/semblance/_internal/libx.so.1",
        "usr/lib/semblance/_internal/link",
        "usr/share/applications/semblance.desktop",
        "usr/share/mime/packages/semblance.xml",
        "usr/share/icons/hicolor/scalable/apps/semblance.svg",
        "usr/share/man/man1/semblance.1.gz",
        "usr/share/bash-completion/completions/semblance",
        "usr/share/zsh/vendor-completions/_semblance",
        "usr/share/fish/vendor_completions.d/semblance.fish",
        "usr/share/doc/semblance/copyright",
        "usr/share/doc/semblance/bill.json",
    }
    icons = {name for name in files if name.startswith("usr/share/icons/") and name.endswith(".png")}
    assert {name.split("/")[4] for name in icons} == {
        f"{size}x{size}" for size in build.icons.SIZES if size <= build.LARGEST_ICON
    }
    assert files - icons - {"DEBIAN/control"} == expected
    assert (root / "usr/lib/semblance/_internal/share").is_dir()
    assert (root / "usr/bin/semblance").resolve() == (root / "usr/lib/semblance/semblance").resolve()
    entry = configparser.ConfigParser(interpolation=None, delimiters=("=",))
    entry.read(root / "usr/share/applications/semblance.desktop", encoding="utf-8")
    assert (root / "usr/bin" / entry["Desktop Entry"]["Exec"].split()[0]).exists()
    fields = dict(
        line.split(": ", 1) for line in (root / "DEBIAN/control").read_text().splitlines() if line[0] != " "
    )
    content = sum(file.lstat().st_size for file in (root / "usr").rglob("*") if file.is_file()) / 1024
    assert content <= int(fields["Installed-Size"]) <= content + len(list((root / "usr").rglob("*")))
    assert fields["Depends"].startswith("fontconfig-config, libc6 (>= 2.")


@needs_tools
def test_a_library_that_no_package_is_named_for_stops_the_build(build, tmp_path):
    folder = bundle(build, tmp_path / "x", ["a"])
    assert build.debian.depends(folder).startswith("fontconfig-config, libc6 (>= 2.")
    shutil.copy("/bin/ls", folder / "_internal")
    with pytest.raises(SystemExit, match=r"libselinux\.so\.1 \(_internal/ls\)"):
        build.debian.depends(folder)
    (folder / "_internal/libselinux.so.1").write_bytes(b"inside the bundle")
    assert "libselinux" not in build.debian.depends(folder)


#: In the order of Python, and of dpkg.
VERSIONS = [
    "0.9.dev2", "0.9a1.dev1", "0.9a1", "0.9b2", "0.9rc1.dev3", "0.9rc1", "0.9", "0.9.post1.dev1", "0.9.post1", "0.9.1",
    "0.10.0rc2", "0.10.0", "1.0",
]  # fmt: skip


def test_versions_of_debian_are_ordered_as_those_of_python(build):
    assert sorted(VERSIONS, key=Version) == VERSIONS
    names = [build.debian.debian_version(version) for version in VERSIONS]
    assert build.debian.debian_version("0.9+local") == "0.9"
    if shutil.which("dpkg") is None:
        pytest.skip("dpkg is not on this system")
    for older, newer in itertools.pairwise(names):
        subprocess.run(["dpkg", "--validate-version", older], check=True)
        subprocess.run(["dpkg", "--compare-versions", older, "lt", newer], check=True)


def test_the_manual_has_the_day_of_the_source(build, tmp_path):
    build.manual.write(tmp_path, "1.0")
    assert '"2023-11-14"' in (tmp_path / "man/man1/semblance.1").read_text(encoding="utf-8").splitlines()[0]


# --- checksums and signature ------------------------------------------------------------------------------


@pytest.fixture
def release(build, tmp_path) -> list[Path]:
    files = [tmp_path / "semblance-1.0.tar.gz", tmp_path / "semblance_1.0_amd64.deb"]
    for file in files:
        file.write_bytes(file.name.encode())
    return files


def checked(folder: Path) -> int:
    """The exit status of the command that SECURITY.md names."""
    command = ["sha256sum", "--check", "--ignore-missing", "--quiet", "SHA256SUMS"]
    return subprocess.run(command, cwd=folder, capture_output=True, check=False).returncode


@pytest.mark.skipif(shutil.which("sha256sum") is None, reason="sha256sum is not on this system")
def test_a_changed_file_is_found_by_its_checksum(build, release, tmp_path, monkeypatch, capsys):
    monkeypatch.delenv("SEMBLANCE_SIGNING_KEY", raising=False)
    assert build.write_checksums(release) == [tmp_path / "SHA256SUMS"]
    assert "not signed" in capsys.readouterr().out
    assert checked(tmp_path) == 0
    release[1].write_bytes(release[1].read_bytes() + b" ")
    assert checked(tmp_path) != 0


@needs_minisign
def test_a_changed_list_of_checksums_is_found_by_its_signature(build, release, tmp_path, monkeypatch):
    secret, public = tmp_path / "test.key", tmp_path / "semblance.pub"
    subprocess.run(["minisign", "-G", "-W", "-p", public, "-s", secret], check=True, capture_output=True)
    monkeypatch.setenv("SEMBLANCE_SIGNING_KEY", str(secret))
    sums, signature = build.write_checksums(release)

    def verified() -> int:
        command = ["minisign", "-Vm", sums, "-p", public]
        return subprocess.run(command, capture_output=True, check=False).returncode

    assert signature == tmp_path / "SHA256SUMS.minisig"
    assert verified() == 0
    text = sums.read_text()
    sums.write_text(text.replace(text[0], "f" if text[0] != "f" else "0", 1))
    assert verified() != 0


def test_a_signature_of_an_earlier_build_does_not_stay(build, release, tmp_path, monkeypatch):
    monkeypatch.delenv("SEMBLANCE_SIGNING_KEY", raising=False)
    (tmp_path / "SHA256SUMS.minisig").write_text("of another list")
    build.write_checksums(release)
    assert not (tmp_path / "SHA256SUMS.minisig").exists()


def test_without_minisign_a_signed_build_stops(build, release, tmp_path, monkeypatch):
    monkeypatch.setenv("SEMBLANCE_SIGNING_KEY", str(tmp_path / "test.key"))
    monkeypatch.setattr(build.shutil, "which", lambda name: None)
    with pytest.raises(SystemExit, match="minisign is not on this system"):
        build.write_checksums(release)
