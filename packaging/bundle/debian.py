"""A Debian package of the bundled program with its dependencies."""

from __future__ import annotations

import platform
import shutil
import subprocess
import tempfile
from pathlib import Path

import bootstrap

ARCHITECTURES = {"x86_64": "amd64", "aarch64": "arm64"}
#: New names of the same library in later releases.
RENAMED = {"libglib2.0-0": "libglib2.0-0t64"}
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
 Works offline; images stay where they are.
"""
AFTER_INSTALL = """#!/bin/sh
set -e
command -v update-desktop-database >/dev/null && update-desktop-database -q || true
command -v update-mime-database >/dev/null && update-mime-database /usr/share/mime || true
command -v gtk-update-icon-cache >/dev/null && gtk-update-icon-cache -q -f /usr/share/icons/hicolor || true
"""


def depends() -> str:
    """The system libraries Qt loads, as dpkg names them."""
    libraries = {**bootstrap.QT_LIBRARIES, **bootstrap.X_LIBRARIES}
    return ", ".join(f"{RENAMED[name]} | {name}" if name in RENAMED else name for name in sorted(libraries))


def build(folder: Path, version: str, target: Path) -> Path:
    """Write ``semblance_VERSION_ARCH.deb`` into ``target``; needs dpkg-deb.

    Raises:
        SystemExit: dpkg-deb is missing.
    """
    if shutil.which("dpkg-deb") is None:
        raise SystemExit("No .deb was made: dpkg-deb is not on this system (Debian's package dpkg has it).")
    architecture = ARCHITECTURES.get(platform.machine(), platform.machine())
    file = target / f"semblance_{version}_{architecture}.deb"
    with tempfile.TemporaryDirectory() as build_folder:
        root = Path(build_folder)
        root.chmod(0o755)
        library = root / "usr/lib/semblance"
        shutil.copytree(folder, library, symlinks=True, ignore=shutil.ignore_patterns("share", "install.sh"))
        shutil.copytree(folder / "share", root / "usr/share")
        page = root / "usr/share/man/man1/semblance.1"
        subprocess.run(["gzip", "-9n", page], check=True)
        (root / "usr/bin").mkdir()
        (root / "usr/bin/semblance").symlink_to("../lib/semblance/semblance")
        licence = root / "usr/share/doc/semblance"
        licence.mkdir(parents=True)
        shutil.copy(Path(bootstrap.TOP) / "LICENSE", licence / "copyright")
        kilobytes = sum(f.lstat().st_size for f in root.rglob("*") if not f.is_dir()) // 1024
        control = root / "DEBIAN"
        control.mkdir()
        (control / "control").write_text(
            CONTROL.format(
                version=version, architecture=architecture, kilobytes=kilobytes, depends=depends()
            ),
            encoding="utf-8",
        )
        for script in ("postinst", "postrm"):
            (control / script).write_text(AFTER_INSTALL, encoding="utf-8")
            (control / script).chmod(0o755)
        # xz packs with one thread otherwise than with several.
        command = ["dpkg-deb", "--root-owner-group", "--threads-max=1", "-Zxz", "-z2", "--build", root, file]
        subprocess.run(command, check=True, stdout=subprocess.DEVNULL)
    return file
