"""A Debian package of the bundled program with its dependencies."""

from __future__ import annotations

import gzip
import platform
import re
import shutil
import subprocess
import tempfile
from pathlib import Path

import bootstrap
from packaging.version import Version

ARCHITECTURES = {"x86_64": "amd64", "aarch64": "arm64"}
#: Library of the system that the bundle needs and is without -> its package, of the same name in Debian 12 and 13 and
#: in Ubuntu 24.04 and later. The bundle has all others.
PACKAGES = {
    "ld-linux-x86-64.so.2": "libc6",
    "ld-linux-aarch64.so.1": "libc6",
    "libc.so.6": "libc6",
    "libdl.so.2": "libc6",
    "libm.so.6": "libc6",
    "libpthread.so.0": "libc6",
    "libresolv.so.2": "libc6",
    "librt.so.1": "libc6",
    "libEGL.so.1": "libegl1",
    "libGL.so.1": "libgl1",
    "libwayland-client.so.0": "libwayland-client0",
    "libwayland-cursor.so.0": "libwayland-cursor0",
    "libwayland-egl.so.1": "libwayland-egl1",
    "libxcb.so.1": "libxcb1",
}
#: What libraries of the bundle read: the configuration of fonts, which brings one, and the keyboards of X.
FILES = ("fontconfig-config", "xkb-data")
CONTROL = """Package: semblance
Version: {version}
Architecture: {architecture}
Section: science
Priority: optional
Maintainer: Semblance <semblance@localhost>
Installed-Size: {kilobytes}
Depends: {depends}
Recommends: fonts-dejavu-core
Description: interactive medical image retrieval
 Finds the cases of a library that look similar and have the same meaning,
 learns what similar means from findings and clicks, and tests it on patients
 not used for training.
 .
 Works offline; images stay where they are. Libraries, settings and logs are in
 the folders of the users, and stay when the package is removed or purged.
 .
 For research, teaching and quality work on one's own or de-identified
 collections. Not for decisions about a patient.
"""


def debian_version(version: str) -> str:
    """The version of Debian that is ordered as Python orders ``version``: 1.0rc1 is older than 1.0.

    Local labels (``1.0+hospital``) are left out, because no release has one.
    """
    parsed = Version(version)
    text = parsed.base_version
    # `~` sorts before everything, also before the end, and `+` after the end.
    if parsed.pre is not None:
        text += f"~{parsed.pre[0]}{parsed.pre[1]}"
    if parsed.post is not None:
        text += f"+post{parsed.post}"
    return text if parsed.dev is None else f"{text}~~dev{parsed.dev}"


def depends(folder: Path) -> str:
    """The packages whose libraries the files of ``folder`` need, as dpkg names them.

    Raises:
        SystemExit: A file needs a library that is neither in the folder nor in :data:`PACKAGES`.
    """
    inside = {path.name for path in folder.rglob("*") if not path.is_dir()}
    needed: dict[str, Path] = {}
    versions = set()
    for file in sorted(folder.rglob("*")):
        if file.is_symlink() or not file.is_file():
            continue
        with file.open("rb") as content:
            if content.read(4) != b"\x7fELF":
                continue
        headers = subprocess.run(["objdump", "-p", file], capture_output=True, text=True, check=True).stdout
        needed |= dict.fromkeys(re.findall(r"^ +NEEDED +(\S+)", headers, re.MULTILINE), file)
        versions |= {tuple(map(int, one.split("."))) for one in re.findall(r"\bGLIBC_([0-9.]+)", headers)}
    lacking = {name: file.relative_to(folder) for name, file in needed.items() if name not in inside}
    unknown = {name: file for name, file in lacking.items() if name not in PACKAGES}
    if unknown:
        listed = ", ".join(f"{name} ({file})" for name, file in sorted(unknown.items()))
        raise SystemExit(f"No .deb was made: libraries are neither in the bundle nor in PACKAGES: {listed}")
    packages = {PACKAGES[name] for name in lacking}.union(FILES)
    oldest = {"libc6": f" (>= {'.'.join(map(str, max(versions, default=())))})"}
    return ", ".join(name + oldest.get(name, "") for name in sorted(packages))


def build(folder: Path, version: str, target: Path, documents: list[Path]) -> Path:
    """Write ``semblance_VERSION_ARCH.deb`` into ``target``, with ``documents`` beside the licence; needs dpkg-deb.

    It has no script that root would run: triggers of the desktop's packages read the menu entry, icons and file type.

    Raises:
        SystemExit: dpkg-deb is missing, or as :func:`depends`.
    """
    if shutil.which("dpkg-deb") is None:
        raise SystemExit("No .deb was made: dpkg-deb is not on this system (Debian's package dpkg has it).")
    architecture = ARCHITECTURES.get(platform.machine(), platform.machine())
    version = debian_version(version)
    file = target / f"semblance_{version}_{architecture}.deb"
    with tempfile.TemporaryDirectory() as build_folder:
        root = Path(build_folder)
        library = root / "usr/lib/semblance"
        shutil.copytree(folder, library, symlinks=True)
        (library / "install.sh").unlink()
        (library / "share").rename(root / "usr/share")
        page = root / "usr/share/man/man1/semblance.1"
        page.with_name("semblance.1.gz").write_bytes(gzip.compress(page.read_bytes(), mtime=0))
        page.unlink()
        (root / "usr/bin").mkdir()
        (root / "usr/bin/semblance").symlink_to("../lib/semblance/semblance")
        about = root / "usr/share/doc/semblance"
        about.mkdir(parents=True)
        shutil.copy(bootstrap.TOP / "LICENSE", about / "copyright")
        for document in documents:
            shutil.copy(document, about)
        kilobytes = sum(-(-f.lstat().st_size // 1024) if f.is_file() else 1 for f in root.rglob("*"))
        control = root / "DEBIAN"
        control.mkdir()
        (control / "control").write_text(
            CONTROL.format(
                version=version, architecture=architecture, kilobytes=kilobytes, depends=depends(folder)
            ),
            encoding="utf-8",
        )
        set_modes(root)
        # xz packs with one thread otherwise than with several. dpkg-deb takes the time from SOURCE_DATE_EPOCH.
        command = ["dpkg-deb", "--root-owner-group", "--threads-max=1", "-Zxz", "-z2", "--build", root, file]
        subprocess.run(command, check=True, stdout=subprocess.DEVNULL)
    return file


def set_modes(folder: Path) -> None:
    """Let everybody read and the owner alone change, whatever umask the build had. A library is no program."""
    for path in (folder, *folder.rglob("*")):
        if path.is_symlink():
            continue
        is_program = path.stat().st_mode & 0o100 and not re.search(r"\.so(\.|$)", path.name)
        path.chmod(0o755 if path.is_dir() or is_program else 0o644)
