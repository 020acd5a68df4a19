"""Build the one-folder program, check that it runs without Python, and pack it: ``make bundle``.

Writes ``dist/semblance/`` (the program), on Linux also ``dist/semblance-VERSION-linux-ARCH.tar.gz`` and a
``.deb``, with a bill of materials and the file ``SHA256SUMS``, which is signed if ``SEMBLANCE_SIGNING_KEY`` names a
secret key of minisign. Two builds of one commit give the same files. Run by the Python of ``.venv-bundle``.
"""

from __future__ import annotations

import argparse
import gzip
import os
import platform
import re
import shutil
import subprocess
import sys
import tarfile
import tempfile
from pathlib import Path

HERE = Path(__file__).resolve().parent
TOP = HERE.parent.parent
sys.path[:0] = [str(TOP), str(HERE), str(HERE.parent)]

import debian  # noqa: E402
import icons  # noqa: E402
import manual  # noqa: E402
import sbom  # noqa: E402

DIST, WORK = TOP / "dist", TOP / "build" / "bundle"
MEGABYTE = 1 << 20
#: The encoder and what runs it take 56 of them, PACS, HTTP interface and servers 40, structured reports 23.
MAX_MEGABYTES = 600
#: The largest size of icon themes.
LARGEST_ICON = 512
#: A case of the demo library.
QUERY = "breast masses/benign/M001-1-L-CC.png"
#: The path of the program in the bundle.
PROGRAMS = {"win32": "semblance.exe", "darwin": "Contents/MacOS/semblance"}


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--no-check", action="store_true", help="do not run what was built")
    parser.add_argument("--no-pack", action="store_true", help="the folder alone: no archive, no .deb")
    options = parser.parse_args()
    version = sbom.VERSION
    os.environ["SOURCE_DATE_EPOCH"] = source_date()
    WORK.mkdir(parents=True, exist_ok=True)
    icons.write(WORK)
    convert_encoder(WORK / "encoder")
    (WORK / "version.txt").write_text(version_resource(version), encoding="utf-8")
    freeze()
    folder = DIST / ("Semblance.app" if sys.platform == "darwin" else "semblance")
    if sys.platform == "linux":
        share(folder / "share", version)
    megabytes = size(folder) / MEGABYTE
    print(f"{folder.relative_to(TOP)}: {megabytes:,.0f} MB (at most {MAX_MEGABYTES})")
    if not options.no_check:
        check(folder)
    stem = DIST / f"semblance-{version}-{sys.platform}-{platform.machine()}"
    made = sbom.write_bundle_bill(folder, folder / PROGRAMS.get(sys.platform, "semblance"), stem)
    if sys.platform == "linux" and not options.no_pack:
        debian.set_modes(folder)
        set_times(folder)
        made += [pack(folder, stem), debian.build(folder, version, DIST, made)]
    made += write_checksums(made)
    print(*(file.relative_to(TOP) for file in made), sep="\n")
    return 0 if megabytes <= MAX_MEGABYTES else 1


def source_date() -> str:
    """``SOURCE_DATE_EPOCH``, by default the time of the last commit."""
    if set_by_user := os.environ.get("SOURCE_DATE_EPOCH"):
        return set_by_user
    command = ["git", "-C", str(TOP), "log", "-1", "--format=%ct"]
    return subprocess.run(command, check=True, capture_output=True, text=True).stdout.strip()


def set_times(folder: Path) -> None:
    """Give every file the time of the source, so that archives of two builds are equal."""
    epoch = int(os.environ["SOURCE_DATE_EPOCH"])
    for path in (folder, *folder.rglob("*")):
        os.utime(path, (epoch, epoch), follow_symlinks=False)


def write_checksums(files: list[Path]) -> list[Path]:
    """Write ``SHA256SUMS``, and its signature if ``SEMBLANCE_SIGNING_KEY`` names a key.

    Raises:
        SystemExit: minisign is missing.
    """
    sums, signature = DIST / "SHA256SUMS", DIST / "SHA256SUMS.minisig"
    signature.unlink(missing_ok=True)
    sums.write_text("".join(f"{sbom.sha256(file)}  {file.name}\n" for file in files), encoding="utf-8")
    key = os.environ.get("SEMBLANCE_SIGNING_KEY")
    if not key:
        print("SHA256SUMS is not signed: SEMBLANCE_SIGNING_KEY names no secret key of minisign.")
        return [sums]
    if shutil.which("minisign") is None:
        raise SystemExit(
            "SHA256SUMS was not signed: minisign is not on this system (Debian's package minisign)."
        )
    subprocess.run(["minisign", "-S", "-s", key, "-m", sums, "-t", f"semblance {sbom.VERSION}"], check=True)
    return [sums, signature]


def convert_encoder(folder: Path) -> None:
    """The encoder as the program runs it: the bundle has neither its weights nor what converts them."""
    from semblance.core.features.encoder.model_file import EIGHT_BIT, RANDOM, TRAINED, convert

    shutil.rmtree(folder, ignore_errors=True)
    for weights in (TRAINED, EIGHT_BIT, RANDOM):
        convert(folder, weights)


def freeze() -> None:
    """Run PyInstaller. An earlier build is replaced. Sets have the same order in every build."""
    command = [sys.executable, "-m", "PyInstaller", "--noconfirm", "--clean", "--log-level", "WARN"]
    folders = ["--distpath", str(DIST), "--workpath", str(WORK / "pyinstaller")]
    environment = os.environ | {"PYTHONHASHSEED": "0"}
    subprocess.run([*command, *folders, str(HERE / "semblance.spec")], check=True, cwd=TOP, env=environment)


def version_resource(version: str) -> str:
    """The version resource for PyInstaller, which Windows shows under Properties > Details."""
    numbers = tuple(int(part) for part in re.findall(r"[0-9]+", version)[:4])
    numbers += (0,) * (4 - len(numbers))
    fields = {
        "CompanyName": "Semblance", "FileDescription": "Semblance", "FileVersion": version,
        "InternalName": "semblance", "OriginalFilename": "semblance.exe", "ProductName": "Semblance",
        "ProductVersion": version,
    }  # fmt: skip
    strings = ", ".join(f"StringStruct({name!r}, {text!r})" for name, text in fields.items())
    return (
        f"VSVersionInfo(ffi=FixedFileInfo(filevers={numbers}, prodvers={numbers}), kids=["
        f"StringFileInfo([StringTable('040904B0', [{strings}])]), "
        "VarFileInfo([VarStruct('Translation', [1033, 1200])])])\n"
    )


def share(target: Path, version: str) -> None:
    """Write the files for the desktop: entry, icons, file type, manual and completions."""
    shutil.rmtree(target, ignore_errors=True)
    manual.write(target, version)
    desktop = HERE.parent / "desktop"
    for source, folder_name in (
        (desktop / "semblance.desktop", "applications"),
        (desktop / "semblance.xml", "mime/packages"),
        (TOP / "resources" / "semblance.svg", "icons/hicolor/scalable/apps"),
    ):
        (target / folder_name).mkdir(parents=True)
        shutil.copy(source, target / folder_name)
    for size_px in (size_px for size_px in icons.SIZES if size_px <= LARGEST_ICON):
        folder_name = target / f"icons/hicolor/{size_px}x{size_px}/apps"
        folder_name.mkdir(parents=True)
        shutil.copy(WORK / f"semblance-{size_px}.png", folder_name / "semblance.png")
    shutil.copy(desktop / "install.sh", target.parent)


def size(folder: Path) -> int:
    """Bytes of the files below ``folder``."""
    return sum(file.lstat().st_size for file in folder.rglob("*") if not file.is_dir())


def check(folder: Path) -> None:
    """Run the program on the demo without Python and with a minimal environment.

    Raises:
        subprocess.CalledProcessError: A command failed.
    """
    program = folder / PROGRAMS.get(sys.platform, "semblance")
    with tempfile.TemporaryDirectory() as home:
        environment = minimal_environment(home)
        library = str(Path(home) / "demo.semblance")
        report = ["report", library, "--case", QUERY, "--out"]
        for arguments in (
            ["--version"],
            ["learners"],
            ["demo", "--headless", "--library", library],
            ["features", library, "--extractor", "encoder"],
            ["doctor", library],
            # Structured reports, key objects and segmentations need what highdicom reads.
            [*report, str(Path(home) / "all.dcm"), "--as", "all"],
            [*report, str(Path(home) / "assessment.dcm"), "--as", "assessment", "--estimate", "rejected"],
        ):
            print("$ semblance", *arguments[:2], flush=True)
            subprocess.run(
                [program, *arguments], check=True, cwd=home, env=environment, stdout=subprocess.DEVNULL
            )
        files = {file.name for file in (Path(home) / "demo.semblance").iterdir()}
        missing = {"report.html", "report.pdf", "window.png"} - files
        if missing:
            raise SystemExit(f"The bundled program did not write {', '.join(sorted(missing))}.")


def minimal_environment(home: str) -> dict[str, str]:
    """A minimal environment with its own home folder, without Python and virtual environment."""
    environment = {"QT_QPA_PLATFORM": "offscreen"}
    if sys.platform == "win32":
        root = os.environ["SYSTEMROOT"]
        environment |= {"SYSTEMROOT": root, "PATH": rf"{root}\System32", "TEMP": home, "TMP": home}
        return environment | {"USERPROFILE": home, "APPDATA": home, "LOCALAPPDATA": home}
    return environment | {"HOME": home, "PATH": "/usr/bin:/bin", "LANG": "C.UTF-8"}


def pack(folder: Path, stem: Path) -> Path:
    """Pack the folder into one archive with a script that installs the menu entry."""
    file = stem.with_name(f"{stem.name}.tar.gz")
    epoch = int(os.environ["SOURCE_DATE_EPOCH"])
    with (
        file.open("wb") as raw,
        gzip.GzipFile("", "wb", compresslevel=6, fileobj=raw, mtime=epoch) as packed,
        tarfile.open(mode="w", fileobj=packed) as archive,
    ):
        # tarfile adds the files of a folder in the order of their names
        archive.add(folder, f"semblance-{sbom.VERSION}", filter=_without_owner)
    return file


def _without_owner(entry: tarfile.TarInfo) -> tarfile.TarInfo:
    entry.uid = entry.gid = 0
    entry.uname = entry.gname = "root"
    return entry


if __name__ == "__main__":
    sys.exit(main())
