"""What `make bundle` wrote, tried in new roots of Debian that have no network: `make bundle-check`.

A root is a minimal Debian with the packages that the .deb depends on and, for one of them, what a desktop has.
Debootstrap takes them from Debian's archive; all that follows runs without a network.
"""

from __future__ import annotations

import os
import re
import shutil
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest
from PySide6.QtGui import QImage

TOP = Path(__file__).resolve().parents[2]
DIST = Path(os.environ.get("SEMBLANCE_DIST") or "/nowhere")
#: Release of Debian -> packages beside those that the .deb depends on.
ROOTS = {"bookworm": (), "trixie": ("desktop-file-utils", "shared-mime-info")}
#: Paths that dpkg, its triggers and the loader of libraries may add to.
STATE = re.compile(r"(var/lib/dpkg/(?!info/semblance)|var/log/|var/cache/ldconfig/|usr/share/mime/|tmp/)")
OLDER = "0.0.9~rc1"
#: Mount what programs need, have the loopback, and run a command in the root given first.
IN_ROOT = """
mount -t proc proc "$1/proc" && mount -t tmpfs tmpfs "$1/dev/shm" && ip link set lo up || exit 99
root=$1; shift
"""

pytestmark = [
    pytest.mark.long,
    pytest.mark.skipif(not DIST.is_dir(), reason="SEMBLANCE_DIST names no folder that `make bundle` wrote"),
]
needs_root = pytest.mark.skipif(
    os.geteuid() != 0 or any(shutil.which(tool) is None for tool in ("debootstrap", "unshare", "ip")),
    reason="needs root, debootstrap, unshare and ip",
)


@pytest.fixture(scope="module")
def package() -> Path:
    (found,) = DIST.glob("semblance_*.deb")
    return found.resolve()


def field(package: Path, name: str) -> str:
    command = ["dpkg-deb", "--field", package, name]
    return subprocess.run(command, capture_output=True, text=True, check=True).stdout.strip()


@pytest.fixture(scope="module", params=ROOTS)
def root(request, package, tmp_path_factory) -> Iterator[Path]:
    """A new root with a user called reader."""
    folder = tmp_path_factory.mktemp("root") / request.param
    depends = [name.split()[0] for name in field(package, "Depends").split(", ")]
    wanted = ",".join([*depends, *ROOTS[request.param]])
    command = ["debootstrap", "--variant=minbase", f"--include={wanted}", request.param, folder]
    done = subprocess.run(command, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True, check=False)
    if "Failed getting release file" in done.stdout:
        pytest.skip("Debian's archive cannot be reached")
    assert done.returncode == 0, done.stdout[-2000:]
    inside(folder, "useradd", "--create-home", "reader")
    yield folder
    shutil.rmtree(folder)


def in_namespace(script: str, root: Path, *arguments: object) -> subprocess.CompletedProcess[str]:
    """Run a script where there is no network and no process of others; what is mounted goes with it."""
    command = [
        "unshare",
        "--net",
        "--mount",
        "--pid",
        "--fork",
        "sh",
        "-c",
        IN_ROOT + script,
        "sh",
        root,
        *arguments,
    ]
    return subprocess.run(list(map(str, command)), capture_output=True, text=True, check=False)


def inside(root: Path, *command: object, user: str = "root", expected: int = 0) -> str:
    """Run a command in the root with a minimal environment; its output."""
    home = "/root" if user == "root" else f"/home/{user}"
    environment = [
        f"HOME={home}",
        "PATH=/usr/sbin:/usr/bin:/sbin:/bin",
        "LANG=C.UTF-8",
        "QT_QPA_PLATFORM=offscreen",
    ]
    script = 'user=$1; shift; exec chroot --userspec="$user" "$root" /usr/bin/env -i -C "$@"'
    done = in_namespace(script, root, user, home, *environment, *command)
    assert done.returncode == expected, f"{command}\n{done.stdout}\n{done.stderr}"
    return done.stdout + done.stderr


def paths(root: Path) -> set[str]:
    """Every path in the root but those of the kernel, of users, and where packages keep their state."""
    found = set()
    for folder, folders, files in os.walk(root):
        relative = Path(folder).relative_to(root)
        if relative == Path():
            folders[:] = [name for name in folders if name not in ("proc", "sys", "dev", "home")]
        found |= {(relative / name).as_posix() for name in (*folders, *files)}
    return {path for path in found if not STATE.match(path)}


def older(package: Path, folder: Path) -> Path:
    """The package as an older version, with a file that the newer one is without."""
    files = folder / "files"
    subprocess.run(["dpkg-deb", "--raw-extract", package, files], check=True)
    control = files / "DEBIAN/control"
    control.write_text(
        control.read_text().replace(f"Version: {field(package, 'Version')}", f"Version: {OLDER}")
    )
    (files / "usr/lib/semblance/_internal/of_the_older_version").write_text("")
    made = folder / "older.deb"
    subprocess.run(["dpkg-deb", "--root-owner-group", "-Znone", "--build", files, made], check=True)
    shutil.rmtree(files)
    return made


def table_library(root: Path) -> str:
    """Make a library of a small table in the home of the user; its path in the root."""
    rows = "".join(f"{n}.5,{n * n}.25,{'even' if n % 2 == 0 else 'odd'}\n" for n in range(10))
    (root / "tmp/table.csv").write_text(f"a,b,label\n{rows}")
    library = "/home/reader/table.semblance"
    shutil.rmtree(root / library[1:], ignore_errors=True)
    inside(root, "semblance", "import", "/tmp/table.csv", "--library", library, user="reader")
    return library


@needs_root
def test_the_package_is_installed_started_upgraded_removed_and_purged(root, package, tmp_path):
    before = paths(root)
    shutil.move(older(package, tmp_path), root / "tmp/older.deb")
    shutil.copy(package, root / "tmp/newer.deb")

    inside(root, "dpkg", "--install", "/tmp/older.deb")
    assert inside(root, "dpkg-query", "--show", "--showformat=${Version} ${Status}", "semblance") == (
        f"{OLDER} install ok installed"
    )
    assert (root / "usr/lib/semblance/_internal/of_the_older_version").exists()
    assert inside(root, "dpkg", "--audit") == ""
    # Every library that any file of the bundle needs is there: Depends is complete. The program sets the path.
    loaded = (
        "export LD_LIBRARY_PATH=/usr/lib/semblance/_internal; find /usr/lib/semblance -type f"
        " -exec sh -c 'head -c 4 $0 | grep -q ELF && ldd $0' {} ';' 2>&1"
    )
    assert [line for line in inside(root, "sh", "-c", loaded).splitlines() if "not found" in line] == []
    assert not [
        path for path in paths(root) - before if path.startswith(("etc/", "lib/systemd", "usr/lib/systemd"))
    ]

    assert inside(root, "semblance", "--version", user="reader").startswith("semblance ")
    library = table_library(root)
    inside(root, "semblance", "doctor", library, user="reader")

    inside(root, "dpkg", "--install", "/tmp/newer.deb")
    assert not (root / "usr/lib/semblance/_internal/of_the_older_version").exists()
    assert inside(root, "dpkg", "--verify", "semblance") == ""
    inside(root, "semblance", "doctor", library, user="reader")
    if (root / "usr/bin/update-mime-database").exists():
        assert (root / "usr/share/mime/application/x-semblance-library.xml").exists()
        assert "x-semblance-library" in (root / "usr/share/applications/mimeinfo.cache").read_text()

    kept = {path.relative_to(root) for path in (root / "home").rglob("*")}
    inside(root, "dpkg", "--remove", "semblance")
    assert paths(root) - before <= {"usr/share/applications/mimeinfo.cache"}
    inside(root, "dpkg", "--purge", "semblance")
    assert paths(root) - before <= {"usr/share/applications/mimeinfo.cache"}
    assert [path for path in paths(root) if "semblance" in path.lower()] == []
    assert not (root / "usr/share/mime/application/x-semblance-library.xml").exists()
    # What users made stays.
    assert {path.relative_to(root) for path in (root / "home").rglob("*")} == kept


@needs_root
def test_what_a_hospital_needs_is_inside(root, package):
    """PACS, a library on a server and the HTTP interface with its page, without anything to be installed."""
    shutil.copy(package, root / "tmp/newer.deb")
    inside(root, "dpkg", "--install", "/tmp/newer.deb")
    refused = inside(
        root, "semblance", "pacs", "echo", "--server", "A@127.0.0.1:9", user="reader", expected=1
    )
    assert "refused the connection" in refused
    refused = inside(root, "semblance", "info", "postgresql://127.0.0.1:9/library", user="reader", expected=1)
    assert "No PostgreSQL server answers" in refused
    library = table_library(root)
    (root / "tmp/ask.py").write_text(
        "import re, time, urllib.error, urllib.request\n"
        "def ask(path):\n"
        "    with urllib.request.urlopen('http://127.0.0.1:8350' + path) as answer:\n"
        "        return answer.read().decode(errors='replace')\n"
        "for attempt in range(600):\n"
        "    try:\n"
        "        page = ask('/docs')\n"
        "        break\n"
        "    except urllib.error.URLError:\n"
        "        time.sleep(0.5)\n"
        "files = re.findall('/static-offline-docs/[a-z.-]+', page)\n"
        "print(*[(name, len(ask(name))) for name in files])\n"
    )
    script = (
        'python=$1; chroot --userspec=reader "$root" /usr/bin/env -i HOME=/home/reader LANG=C.UTF-8'
        ' /usr/bin/semblance serve "$2" & exec "$python" "$root/tmp/ask.py"'
    )
    asked = in_namespace(script, root, sys.executable, library)
    assert asked.returncode == 0, asked.stderr
    assert "swagger" in asked.stdout
    inside(root, "dpkg", "--purge", "semblance")


@needs_root
def test_the_window_is_drawn_and_reports_are_written(root, package):
    shutil.copy(package, root / "tmp/newer.deb")
    inside(root, "dpkg", "--install", "/tmp/newer.deb")
    inside(root, "semblance", "demo", "--headless", "--library", "/home/reader/demo.semblance", user="reader")
    made = root / "home/reader/demo.semblance"
    assert {"window.png", "report.pdf", "report.html"} <= {file.name for file in made.iterdir()}
    window = QImage(str(made / "window.png"))
    colours = {window.pixel(x, y) for x in range(0, window.width(), 5) for y in range(0, window.height(), 5)}
    # Text and images: without a font or an image reader it would be a few areas.
    assert len(colours) > 100
    inside(root, "dpkg", "--purge", "semblance")


@needs_root
def test_the_archive_is_installed_upgraded_and_removed_by_a_user_without_rights(root):
    (archive,) = DIST.glob("semblance-*.tar.gz")
    home = root / "home/reader"
    shutil.copy(archive, root / "tmp/semblance.tar.gz")
    before, local = paths(root), home / ".local"
    shutil.rmtree(local, ignore_errors=True)
    for version in ("older", "newer"):
        unpack = f"mkdir {version} && tar -C {version} --strip-components=1 -xzf /tmp/semblance.tar.gz"
        inside(root, "sh", "-c", unpack, user="reader")
        inside(root, "sh", f"{version}/install.sh", user="reader")
        assert inside(root, ".local/bin/semblance", "--version", user="reader").startswith("semblance ")
        entry = (local / "share/applications/semblance.desktop").read_text(encoding="utf-8")
        assert f'Exec="/home/reader/{version}/semblance" %f' in entry
    inside(root, "rm", "-r", "older", user="reader")
    inside(root, ".local/bin/semblance", "learners", user="reader")
    inside(root, "sh", "newer/install.sh", "--remove", user="reader")
    inside(root, "rm", "-r", "newer", user="reader")
    left = [path for name in ("bin", "share") for path in (local / name).rglob("*") if not path.is_dir()]
    assert [path for path in left if "semblance" in path.name] == []
    assert paths(root) - before == set()


@pytest.mark.skipif(shutil.which("git") is None, reason="git is not on this system")
def test_a_build_in_another_folder_at_another_time_gives_the_same_files(tmp_path):
    changed = subprocess.run(
        ["git", "-C", TOP, "status", "--porcelain"], capture_output=True, text=True, check=True
    ).stdout
    assert changed == "", "commit first: the other build is of the last commit"
    clone = tmp_path / "another folder"
    subprocess.run(["git", "clone", "--quiet", TOP, clone], check=True)
    sums = (DIST / "SHA256SUMS").read_text()
    steps = "umask 027; sh packaging/setup.sh bundle && .venv-bundle/bin/python packaging/bundle/build.py --no-check"
    environment = {name: text for name, text in os.environ.items() if name != "SEMBLANCE_SIGNING_KEY"}
    done = subprocess.run(
        ["sh", "-c", steps], cwd=clone, env=environment, capture_output=True, text=True, check=False
    )
    assert done.returncode == 0, done.stderr[-2000:]
    assert (clone / "dist/SHA256SUMS").read_text() == sums


UV = TOP / ".venv-bundle" / "bin" / "uv"


@pytest.mark.skipif(not UV.exists(), reason="`make setup-bundle` installs uv")
@pytest.mark.parametrize("python", ["3.11", "3.12", "3.13"])
def test_the_lock_file_installs_the_program_with_every_python(python, tmp_path):
    folder = tmp_path / "environment"
    made = subprocess.run(
        [UV, "venv", "--quiet", "--no-python-downloads", "--python", python, folder],
        capture_output=True,
        text=True,
        check=False,
    )
    if made.returncode != 0:
        pytest.skip(f"no Python {python} on this system")
    source = tmp_path / "source"
    subprocess.run(["git", "clone", "--quiet", TOP, source], check=True)
    for what in (
        ["--require-hashes", "--requirements", TOP / "packaging/requirements.lock"],
        ["--no-deps", "--no-build-isolation", source],
    ):
        install = [UV, "pip", "install", "--quiet", "--python", folder / "bin/python", *what]
        subprocess.run(install, check=True, capture_output=True)
    subprocess.run([UV, "pip", "check", "--python", folder / "bin/python"], check=True, capture_output=True)
    shown = subprocess.run(
        [folder / "bin/semblance", "--version"], capture_output=True, text=True, check=True
    )
    assert shown.stdout.startswith("semblance ")
