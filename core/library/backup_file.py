"""Write a library into one backup file, and restore it: the content of a backup is checked, never trusted."""

from __future__ import annotations

import contextlib
import glob
import hashlib
import json
import re
import secrets
import shutil
import sqlite3
import zipfile
import zlib
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import IO, Any

import numpy as np

from semblance.core.errors import BadArguments, BadInput, SemblanceError
from semblance.core.files import (
    create_folder,
    create_private,
    is_taken,
    move_into_place,
    open_private,
    remove_abandoned,
    remove_unfinished,
    unfinished_name,
)
from semblance.core.imaging.zip_archive import open_regular_file
from semblance.core.json_document import JsonDocument
from semblance.core.language import tr_lazy
from semblance.core.library import schema
from semblance.core.library.catalogue_repair import copy_catalogue, integrity_errors
from semblance.core.library.database import (
    connect,
    disk_is_full,
    other_version_error,
    plain_error,
    plain_errors,
    update,
)
from semblance.core.library.feature_chunks import DESCRIPTION, chunk_file
from semblance.core.library.records import CATALOGUE, DERIVED, EXPORTS, EXPORTS_HEAD, METRIC_FILE, SUFFIX, now
from semblance.core.limits import allow_memory, max_text_bytes, max_unpacked, size_text
from semblance.core.tasks import SILENT, Reporter

FORMAT, VERSION, MANIFEST = "semblance-backup", 1, "backup.json"
MAX_FILES = 2_000_000
#: When a metric is replaced while it is being copied, a newer catalogue is copied, this many times at most.
ATTEMPTS = 4
_PIECE = 1 << 20
#: The names a backup may hold, so that no file of one is written outside the library.
_ALLOWED = re.compile(
    rf"{re.escape(CATALOGUE)}|{re.escape(EXPORTS)}|{re.escape(EXPORTS_HEAD)}"
    rf"|features/[0-9]{{1,9}}\.zarr/(zarr\.json|c/[0-9]{{1,9}}/0)|metrics/{METRIC_FILE.pattern}"
)
_DAMAGED = (
    zipfile.BadZipFile, zlib.error, EOFError, KeyError, AttributeError, TypeError, ValueError, RuntimeError,
    NotImplementedError, RecursionError, OverflowError, MemoryError,
)  # fmt: skip


@dataclass(frozen=True)
class BackupResult(JsonDocument):
    """A written backup: its files and bytes, and the files that the library names but does not have."""

    file: str
    files: int
    bytes: int
    missing: tuple[str, ...]


def write_backup(library: Path, file: Path, reporter: Reporter = SILENT) -> BackupResult:
    """Write the library into ``file``, a zip with checksums, and verify it; others may write to the library.

    Thumbnails and other derived files are left out, and so are images, which stay where they are.

    Raises:
        BadInput: the catalogue is damaged.
        BadArguments: ``file`` lies in the library itself.
        SemblanceError: ``file`` cannot be written or does not read back as it was written.
    """
    library, file = library.absolute(), file.absolute()
    if file.is_relative_to(library):
        raise BadArguments(
            tr_lazy("{file} is inside the library itself.", file=file),
            "Choose a folder outside it, if possible on another disk.",
        )
    remove_abandoned(file.parent.glob(f".{glob.escape(file.name)}.*.part"))
    token = secrets.token_hex(4)
    part, copy = (file.with_name(f".{file.name}.{token}.{end}") for end in ("part", "catalogue.part"))
    try:
        # SQLite's error about a missing folder would be reported as an error of the library.
        create_private(copy)
    except OSError as error:
        raise SemblanceError(
            tr_lazy("{file} cannot be written: {reason}.", file=file, reason=error.strerror or error),
            "Choose an existing folder that you may write to, with enough free space.",
        ) from error
    try:
        with plain_errors(file.parent / file.name):
            for attempt in range(ATTEMPTS):
                names = _files_to_back_up(library, copy)
                missing = [name for name in names if name != CATALOGUE and not _has_own_file(library, name)]
                if not any(name.startswith("metrics/") for name in missing) or attempt == ATTEMPTS - 1:
                    break
            present = [name for name in names if name not in missing]
            written = _pack(library, copy, present, part, reporter)
            _verify_backup(part, reporter)
            size = part.stat().st_size
            move_into_place(part, file)
    except sqlite3.Error as error:
        raise plain_error(file.parent if disk_is_full(file.parent) else library, str(error)) from error
    finally:
        for leftover in (part, copy, copy.with_name(copy.name + "-journal")):
            with contextlib.suppress(OSError):
                leftover.unlink(missing_ok=True)
    return BackupResult(str(file), written, size, tuple(missing))


def _has_own_file(library: Path, name: str) -> bool:
    """Whether the library itself holds the file ``name``; links are not followed."""
    file = library / name
    steps = [file, *file.parents[: name.count("/")]]
    if _ALLOWED.fullmatch(name) is None:
        return False
    try:
        return file.is_file() and not any(step.is_symlink() for step in steps)
    except OSError as error:
        raise _read_error(file, error) from error


def _read_error(file: Path, error: OSError) -> SemblanceError:
    return SemblanceError(
        tr_lazy("{file} cannot be read: {reason}.", file=file, reason=error.strerror or error),
        "Check its permissions. `semblance doctor LIB` gives details.",
    )


def _files_to_back_up(library: Path, copy: Path) -> list[str]:
    """Copy the catalogue to ``copy``; the files it refers to, relative to the library."""
    copy.unlink(missing_ok=True)
    copy_catalogue(library / CATALOGUE, copy)
    if wrong := integrity_errors(copy):
        raise BadInput(
            tr_lazy("The catalogue of {library} is damaged: {wrong}.", library=library.name, wrong=wrong[0]),
            "Repair it first: semblance doctor LIB --repair, or File > Verify library….",
        )
    names = [CATALOGUE]
    with contextlib.closing(sqlite3.connect(copy)) as connection:
        sets = [int(r[0]) for r in connection.execute("SELECT id FROM feature_sets ORDER BY id")]
        chunks = connection.execute(
            "SELECT feature_set, chunk, case_rows FROM feature_chunks ORDER BY feature_set, chunk"
        ).fetchall()
        metrics = [str(r[0]) for r in connection.execute("SELECT file FROM metrics ORDER BY id")]
    names += [f"features/{number}.zarr/{DESCRIPTION}" for number in sets]
    names += [
        chunk_file(Path("features") / f"{feature_set}.zarr", chunk).as_posix()
        for feature_set, chunk, rows in chunks
        if (np.frombuffer(rows, dtype=np.int64) >= 0).any()
    ]
    names += [f"metrics/{name}" for name in metrics]
    # The head first: an entry that is added meanwhile follows it.
    names += [name for name in (EXPORTS_HEAD, EXPORTS) if (library / name).is_file()]
    return names


def _pack(library: Path, copy: Path, names: list[str], part: Path, reporter: Reporter) -> int:
    sums: dict[str, dict[str, Any]] = {}
    with open_private(part) as out, zipfile.ZipFile(out, "w", zipfile.ZIP_STORED, allowZip64=True) as archive:
        for done, name in enumerate(names):
            reporter.check_cancelled()
            reporter.progress(done, len(names), tr_lazy("Backing up {library}", library=library.name))
            source = copy if name == CATALOGUE else library / name
            info = zipfile.ZipInfo(name)
            # Feature values are compressed already.
            info.compress_type = zipfile.ZIP_DEFLATED if name == CATALOGUE else zipfile.ZIP_STORED
            try:
                file = source.open("rb")
            except OSError as error:
                raise _read_error(source, error) from error
            with file, archive.open(info, "w", force_zip64=True) as entry:
                sums[name] = _copy_and_hash(file, entry)
        manifest = {"format": FORMAT, "version": VERSION, "library": library.name.removesuffix(SUFFIX)}
        document = {**manifest, "made": now(), "files": sums}
        archive.writestr(MANIFEST, json.dumps(document, ensure_ascii=False), zipfile.ZIP_DEFLATED)
    return len(sums)


def _copy_and_hash(source: IO[bytes], target: IO[bytes] | None, limit: int | None = None) -> dict[str, Any]:
    """Copy to the end, or until more than ``limit`` bytes; the size and SHA-256 of what was copied."""
    digest, size = hashlib.sha256(), 0
    while piece := source.read(_PIECE):
        size += len(piece)
        digest.update(piece)
        if limit is not None and size > limit:
            break
        if target is not None:
            target.write(piece)
    return {"size": size, "sha256": digest.hexdigest()}


def _verify_backup(part: Path, reporter: Reporter) -> None:
    try:
        with _open_backup(part) as (archive, files):
            for done, (name, expected) in enumerate(files.items()):
                reporter.check_cancelled()
                reporter.progress(done, len(files), "Verifying the backup")
                with _damage_as_bad_input(part), archive.open(name) as entry:
                    if _copy_and_hash(entry, None, expected["size"]) != expected:
                        raise BadInput(tr_lazy("{name} in it has changed.", name=name))
    except BadInput as error:
        raise SemblanceError(
            tr_lazy("The backup could not be verified: {message}", message=error.message),
            "No backup was saved. Check the disk it was written to, or choose another.",
        ) from error


def read_backup(file: Path, library: Path, reporter: Reporter = SILENT) -> None:
    """Restore a backup as the library ``library``, which must not exist: completely, or not at all.

    Raises:
        BadInput: not a backup, damaged, dangerous, of a newer version; or ``library`` exists already.
        SemblanceError: not enough space, or the folder cannot be written to.
    """
    library = library.absolute()
    if is_taken(library):
        raise BadInput(
            tr_lazy("{library} exists already.", library=library),
            "Choose a new name. A backup never replaces an existing library.",
        )
    unfinished = unfinished_name(library)
    with plain_errors(library / CATALOGUE), _open_backup(file) as (archive, files):
        create_folder(library.parent)
        needed, free = (
            sum(expected["size"] for expected in files.values()),
            shutil.disk_usage(library.parent).free,
        )
        if needed > free:
            raise SemblanceError(
                tr_lazy(
                    "{parent} has {free} left; the library needs {needed}.",
                    parent=library.parent,
                    free=size_text(free),
                    needed=size_text(needed),
                ),
                "Free some space, or choose another disk.",
            )
        remove_unfinished(library)
        create_folder(unfinished)
        try:
            for folder in ("features", "metrics", DERIVED):
                create_folder(unfinished / folder)
            _unpack(archive, files, unfinished, file, reporter)
            _check_catalogue(unfinished / CATALOGUE, file)
            if library.exists():
                library.rmdir()
            move_into_place(unfinished, library)
        finally:
            shutil.rmtree(unfinished, ignore_errors=True)


def _unpack(
    archive: zipfile.ZipFile,
    files: dict[str, dict[str, Any]],
    unfinished: Path,
    file: Path,
    reporter: Reporter,
) -> None:
    for done, (name, expected) in enumerate(files.items()):
        reporter.check_cancelled()
        reporter.progress(
            done, len(files), tr_lazy("Restoring {library}", library=unfinished.name.partition(".")[0])
        )
        target = unfinished / name
        create_folder(target.parent)
        with _damage_as_bad_input(file), archive.open(name) as entry, open_private(target) as out:
            if _copy_and_hash(entry, out, expected["size"]) != expected:
                raise BadInput(
                    tr_lazy("The backup {file} is damaged: {name} in it has changed.", file=file, name=name)
                )


def _check_catalogue(catalogue: Path, file: Path) -> None:
    """Refuse a catalogue that is damaged, or that has other triggers or views than ours: they would run when it is
    written to. Bring one of the version before up to date."""
    wrong = integrity_errors(catalogue)
    if not wrong:
        with contextlib.closing(sqlite3.connect(catalogue)) as connection:
            row = connection.execute("SELECT value FROM meta WHERE key = 'schema'").fetchone()
        version = str(row[0]) if row else ""
        if version.isdecimal() and int(version) not in (schema.VERSION, schema.VERSION - 1):
            raise other_version_error(file, int(version))
        engine = connect(catalogue, writable=True)
        try:
            if version.isdecimal():
                update(engine, catalogue)
        finally:
            engine.dispose()
        with contextlib.closing(sqlite3.connect(catalogue)) as connection:
            query = "SELECT name, sql FROM sqlite_master WHERE type IN ('trigger', 'view')"
            wrong = [
                tr_lazy("it contains '{r}', which no library has", r=name)
                for name, sql in connection.execute(query)
                if sql not in schema.TEXT_INDEX
            ]
        if not wrong and not version.isdecimal():
            wrong = [tr_lazy("it states no version")]
    if wrong:
        raise BadInput(
            tr_lazy("The catalogue in the backup {file} cannot be used: {wrong}.", file=file, wrong=wrong[0]),
            "Use another backup.",
        )


@contextlib.contextmanager
def _damage_as_bad_input(file: Path) -> Iterator[None]:
    try:
        yield
    except _DAMAGED as error:
        raise BadInput(
            tr_lazy("{file} is not a backup, or it is damaged.", file=file), "Use another backup."
        ) from error


@contextlib.contextmanager
def _open_backup(file: Path) -> Iterator[tuple[zipfile.ZipFile, dict[str, dict[str, Any]]]]:
    """A backup, and the size and checksum of each file in it, by its name."""
    with open_regular_file(file, str(file)) as plain:
        try:
            with _damage_as_bad_input(file):
                archive = zipfile.ZipFile(plain)
        except OSError as error:
            raise BadInput(
                tr_lazy("{file} cannot be read: {reason}.", file=file, reason=error.strerror or error),
                "Choose another file.",
            ) from error
        with archive:
            with _damage_as_bad_input(file):
                files = _read_manifest(archive, file)
            yield archive, files


def _read_manifest(archive: zipfile.ZipFile, file: Path) -> dict[str, dict[str, Any]]:
    entries = {info.filename: info for info in archive.infolist()}
    if len(entries) != len(archive.infolist()) or len(entries) > MAX_FILES or MANIFEST not in entries:
        raise BadInput(
            tr_lazy("{file} is not a backup of a library.", file=file),
            "Choose a file made by `semblance backup`.",
        )
    if entries[MANIFEST].file_size > max_text_bytes():
        raise BadInput(
            tr_lazy(
                "The list of files in {file} has {size}, above the limit of {limit}.",
                file=file,
                size=size_text(entries[MANIFEST].file_size),
                limit=size_text(max_text_bytes()),
            ),
            tr_lazy("Use another backup, or {allow}.", allow=allow_memory(50 * entries[MANIFEST].file_size)),
        )
    with archive.open(MANIFEST) as entry:
        document = json.loads(entry.read(max_text_bytes() + 1))
    if not isinstance(document, dict) or document.get("format") != FORMAT:
        raise BadInput(
            tr_lazy("{file} is not a backup of a library.", file=file),
            "Choose a file made by `semblance backup`.",
        )
    if not isinstance(document.get("version"), int) or document["version"] > VERSION:
        raise BadInput(
            tr_lazy("{file} was made by a newer version of Semblance.", file=file),
            "Update Semblance to restore it.",
        )
    files: dict[str, dict[str, Any]] = {}
    for name, expected in document["files"].items():
        info = entries.get(name)
        if not _ALLOWED.fullmatch(name) or info is None:
            raise BadInput(
                tr_lazy(
                    "{file} contains or names '{name}', which no library has.", file=file, name=name[:80]
                ),
                "Use another backup.",
            )
        size = int(expected["size"])
        bomb = size > max_unpacked(info.compress_size)
        if size != info.file_size or size < 0 or bomb:
            raise BadInput(
                tr_lazy(
                    "{file} is damaged: {name} in it does not have the stated size.", file=file, name=name
                )
            )
        files[name] = {"size": size, "sha256": str(expected["sha256"])}
    if CATALOGUE not in files:
        raise BadInput(tr_lazy("{file} contains no catalogue.", file=file), "Use another backup.")
    return files
