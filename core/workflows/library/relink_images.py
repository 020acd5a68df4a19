"""Find moved images by their content."""

from __future__ import annotations

import glob
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

from semblance.core.errors import BadInput
from semblance.core.imaging.image_address import divide_zip_entry
from semblance.core.json_document import JsonDocument
from semblance.core.language import tr_lazy
from semblance.core.library.importers.source import Source
from semblance.core.library.location import LibraryLocation
from semblance.core.library.open_library import open_library
from semblance.core.library.records import FileRecord, SourceRecord
from semblance.core.tasks import SILENT, Reporter
from semblance.core.workflows.library.file_reader import check_path_is_text, file_identity

#: Number of files compared before a folder is accepted as the moved source.
PROBES = 8


@dataclass(frozen=True)
class RelinkResult(JsonDocument):
    """Sources found under another path, the number of files found there, and of those still missing."""

    moved: dict[str, str]
    found: int
    still_missing: int


def relink(library: LibraryLocation, folder: Path, *, reporter: Reporter = SILENT) -> RelinkResult:
    """Search ``folder`` for the sources of ``library`` that are no longer at their path.

    A source is found if several of its files have the same content at the same relative path; ``folder`` may be the
    moved source itself, a folder that contains it, or a part of it.

    Raises:
        BadInput: ``folder`` does not exist.
    """
    if not folder.exists():
        raise BadInput(
            tr_lazy("{folder} does not exist.", folder=folder),
            "Choose the folder or zip the images are in now.",
        )
    check_path_is_text(folder)
    moved: dict[str, str] = {}
    found = missing = 0
    with open_library(library, writable=True) as opened:
        for source in opened.catalogue.sources():
            files = [f for f in opened.catalogue.files(source).values() if f.state in ("ok", "missing")]
            lost_files = [f for f in files if f.state == "missing"] if source.path.exists() else files
            if not lost_files:
                continue
            reporter.progress(len(moved), None, tr_lazy("Looking for {source}", source=source.name))
            new_path = _new_path(source, files, folder.absolute(), reporter)
            if new_path is None:
                missing += len(lost_files)
                continue
            with Source.open(new_path) as opened_source:
                existing = {entry.path for entry in opened_source.entries()}
            still_missing_paths = {f.path for f in files} - existing
            opened.catalogue.move_source(source, new_path, still_missing_paths)
            moved[source.name] = str(new_path)
            found += len(files) - len(still_missing_paths)
            missing += len(still_missing_paths)
    return RelinkResult(moved, found, missing)


def _new_path(source: SourceRecord, files: list[FileRecord], folder: Path, reporter: Reporter) -> Path | None:
    """The new path of ``source``, if it is ``folder``, below it or one of its parents."""
    for candidate in dict.fromkeys(_candidates(source, files, folder)):
        reporter.check_cancelled()
        if candidate.exists() and _has_same_files(candidate, files):
            return candidate
    return None


def _candidates(source: SourceRecord, files: list[FileRecord], folder: Path) -> Iterator[Path]:
    """Possible paths: first those with the source's name, then those with a file like one of its own."""
    yield folder
    name = source.path.name
    yield from (parent for parent in folder.parents if parent.name == name)
    if not folder.is_dir():
        return
    yield folder / name
    yield from sorted(folder.rglob(glob.escape(name)))
    one_file = not files or not files[0].path
    if one_file or source.path.suffix.lower() == ".zip":
        yield from sorted(folder.rglob(f"*{glob.escape(source.path.suffix)}"))
        return
    probe = max((divide_zip_entry(file.path)[0] for file in files), key=len)
    for hit in sorted(folder.rglob(glob.escape(probe.rpartition("/")[2]))):
        if hit.as_posix().endswith(f"/{probe}"):
            yield hit.parents[probe.count("/")]


def _has_same_files(new_path: Path, files: list[FileRecord]) -> bool:
    """Whether at least half of a sample of the files have the same content there."""
    step = max(1, len(files) // PROBES)
    probes = files[::step][:PROBES]
    try:
        with Source.open(new_path) as source:
            is_unchanged = sum(_is_same_file(source, file) for file in probes)
    except BadInput:
        return False
    return 0 < len(probes) <= 2 * is_unchanged


def _is_same_file(source: Source, file: FileRecord) -> bool:
    try:
        return file_identity(source, file.path) == file.hash
    except BadInput:
        return False
