"""Build the one-folder program, look that it runs without Python, and pack it: ``make bundle``.

Writes ``dist/semblance/`` (the program), on Linux also ``dist/semblance-VERSION-linux-ARCH.tar.gz`` and a
``.deb``. Run by the Python of ``.venv-bundle``.
"""

from __future__ import annotations

import argparse
import os
import platform
import re
import shutil
import subprocess
import sys
import tarfile
import tempfile
import tomllib
from pathlib import Path

HERE = Path(__file__).resolve().parent
TOP = HERE.parent.parent
sys.path[:0] = [str(TOP), str(HERE), str(HERE.parent)]

import debian  # noqa: E402
import icons  # noqa: E402
import manual  # noqa: E402

DIST, WORK = TOP / "dist", TOP / "build" / "bundle"
MEGABYTE = 1 << 20
MOST_MEGABYTES = 500
#: The largest size icon themes know.
LARGEST_ICON = 512
#: Where the program lies in what was built.
PROGRAMS = {"win32": "semblance.exe", "darwin": "Contents/MacOS/semblance"}


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--no-check", action="store_true", help="do not run what was built")
    parser.add_argument("--no-pack", action="store_true", help="the folder alone: no archive, no .deb")
    chosen = parser.parse_args()
    version = tomllib.loads((TOP / "pyproject.toml").read_text(encoding="utf-8"))["project"]["version"]
    WORK.mkdir(parents=True, exist_ok=True)
    icons.write(WORK)
    convert_encoder(WORK / "encoder")
    (WORK / "version.txt").write_text(version_resource(version), encoding="utf-8")
    freeze()
    folder = DIST / ("Semblance.app" if sys.platform == "darwin" else "semblance")
    if sys.platform == "linux":
        share(folder / "share", version)
    megabytes = size(folder) / MEGABYTE
    print(f"{folder.relative_to(TOP)}: {megabytes:,.0f} MB (at most {MOST_MEGABYTES})")
    if not chosen.no_check:
        check(folder)
    if sys.platform == "linux" and not chosen.no_pack:
        print(pack(folder, version).relative_to(TOP))
        print(debian.build(folder, version, DIST).relative_to(TOP))
    return 0 if megabytes <= MOST_MEGABYTES else 1


def convert_encoder(folder: Path) -> None:
    """The encoder as the program runs it: the bundle has neither its weights nor what converts them."""
    from semblance.core.features.encoder.model_file import convert

    shutil.rmtree(folder, ignore_errors=True)
    convert(folder)


def freeze() -> None:
    """Run PyInstaller; everything of an earlier build is replaced."""
    command = [sys.executable, "-m", "PyInstaller", "--noconfirm", "--clean", "--log-level", "WARN"]
    places = ["--distpath", str(DIST), "--workpath", str(WORK / "pyinstaller")]
    subprocess.run([*command, *places, str(HERE / "semblance.spec")], check=True, cwd=TOP)


def version_resource(version: str) -> str:
    """What Windows shows of the program under Properties > Details, as PyInstaller reads it."""
    numbers = tuple(int(part) for part in re.findall(r"[0-9]+", version)[:4])
    numbers += (0,) * (4 - len(numbers))
    told = {
        "CompanyName": "Semblance", "FileDescription": "Semblance", "FileVersion": version,
        "InternalName": "semblance", "OriginalFilename": "semblance.exe", "ProductName": "Semblance",
        "ProductVersion": version,
    }  # fmt: skip
    strings = ", ".join(f"StringStruct({name!r}, {text!r})" for name, text in told.items())
    return (
        f"VSVersionInfo(ffi=FixedFileInfo(filevers={numbers}, prodvers={numbers}), kids=["
        f"StringFileInfo([StringTable('040904B0', [{strings}])]), "
        "VarFileInfo([VarStruct('Translation', [1033, 1200])])])\n"
    )


def share(target: Path, version: str) -> None:
    """What a desktop wants to know: entry, icons, kind of file, manual, completions."""
    shutil.rmtree(target, ignore_errors=True)
    manual.write(target, version)
    desktop = HERE.parent / "desktop"
    for source, place in (
        (desktop / "semblance.desktop", "applications"),
        (desktop / "semblance.xml", "mime/packages"),
        (TOP / "resources" / "semblance.svg", "icons/hicolor/scalable/apps"),
    ):
        (target / place).mkdir(parents=True)
        shutil.copy(source, target / place)
    for side in (side for side in icons.SIDES if side <= LARGEST_ICON):
        place = target / f"icons/hicolor/{side}x{side}/apps"
        place.mkdir(parents=True)
        shutil.copy(WORK / f"semblance-{side}.png", place / "semblance.png")
    shutil.copy(desktop / "install.sh", target.parent)


def size(folder: Path) -> int:
    """Bytes of the files below ``folder``."""
    return sum(file.lstat().st_size for file in folder.rglob("*") if not file.is_dir())


def check(folder: Path) -> None:
    """The program makes, searches, reports, encodes and verifies the demo where there is no Python and no environment.

    Raises:
        subprocess.CalledProcessError: it did not.
    """
    program = folder / PROGRAMS.get(sys.platform, "semblance")
    with tempfile.TemporaryDirectory() as home:
        bare = bare_environment(home)
        for arguments in (
            ["--version"],
            ["learners"],
            ["demo", "--headless", "--library", str(Path(home) / "demo.semblance")],
            ["features", str(Path(home) / "demo.semblance"), "--extractor", "encoder"],
            ["doctor", str(Path(home) / "demo.semblance")],
        ):
            print("$ semblance", *arguments[:2], flush=True)
            subprocess.run([program, *arguments], check=True, cwd=home, env=bare, stdout=subprocess.DEVNULL)
        made = {file.name for file in (Path(home) / "demo.semblance").iterdir()}
        missing = {"report.html", "report.pdf", "window.png"} - made
        if missing:
            raise SystemExit(f"The bundled program did not write {', '.join(sorted(missing))}.")


def bare_environment(home: str) -> dict[str, str]:
    """As little as a person's session has, with a home of its own: no Python, no virtual environment."""
    bare = {"QT_QPA_PLATFORM": "offscreen"}
    if sys.platform == "win32":
        root = os.environ["SYSTEMROOT"]
        bare |= {"SYSTEMROOT": root, "PATH": rf"{root}\System32", "TEMP": home, "TMP": home}
        return bare | {"USERPROFILE": home, "APPDATA": home, "LOCALAPPDATA": home}
    return bare | {"HOME": home, "PATH": "/usr/bin:/bin", "LANG": "C.UTF-8"}


def pack(folder: Path, version: str) -> Path:
    """The folder as one archive, with a script that puts its entry into the user's menu."""
    file = DIST / f"semblance-{version}-linux-{platform.machine()}.tar.gz"
    with tarfile.open(file, "w:gz", compresslevel=6) as archive:
        archive.add(folder, f"semblance-{version}", filter=_anonymous)
    return file


def _anonymous(entry: tarfile.TarInfo) -> tarfile.TarInfo:
    entry.uid = entry.gid = 0
    entry.uname = entry.gname = "root"
    return entry


if __name__ == "__main__":
    sys.exit(main())
