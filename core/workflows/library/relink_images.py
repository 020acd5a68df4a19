"""Find moved images again by their content."""

from __future__ import annotations

import glob
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from semblance.core.errors import BadInput
from semblance.core.language import tr_lazy
from semblance.core.library.importers.source import Source
from semblance.core.library.open_library import open_library
from semblance.core.library.records import FileRecord, SourceRecord
from semblance.core.tasks import SILENT, Reporter
from semblance.core.workflows.library.file_reader import check_path_is_text, file_identity

#: Files compared byte for byte before a folder is taken for the moved source.
PROBES = 8


@dataclass(frozen=True)
class RelinkResult:
    """Sources found under another path, how many files that gave back, and how many are still missing."""

    moved: dict[str, str]
    found: int
    still_missing: int

    def to_json(self) -> dict[str, Any]:
        """The fields as JSON values."""
        return dict(vars(self))


def relink(library: Path, folder: Path, *, reporter: Reporter = SILENT) -> RelinkResult:
    """Look under ``folder`` for the sources of ``library`` that are no longer where they were.

    A source counts as found where several of its files have the same content at the same relative path;
    ``folder`` may be the moved source itself, the folder holding it, or a part of it.

    Raises:
        BadInput: ``folder`` does not exist.
        SemblanceError: the library cannot be written to.
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
            away = [f for f in files if f.state == "missing"] if source.path.exists() else files
            if not away:
                continue
            reporter.progress(len(moved), None, tr_lazy("Looking for {source}", source=source.name))
            place = _place(source, files, folder.absolute(), reporter)
            if place is None:
                missing += len(away)
                continue
            with Source.open(place) as looked_into:
                there = {entry.path for entry in looked_into.entries()}
            lost = {f.path for f in files} - there
            opened.catalogue.move_source(source, place, lost)
            moved[source.name] = str(place)
            found += len(files) - len(lost)
            missing += len(lost)
    return RelinkResult(moved, found, missing)


def _place(source: SourceRecord, files: list[FileRecord], folder: Path, reporter: Reporter) -> Path | None:
    """Where ``source`` lies now, if it is ``folder``, below it or one of its parents."""
    for candidate in dict.fromkeys(_candidates(source, files, folder)):
        reporter.check_cancelled()
        if candidate.exists() and _holds(candidate, files):
            return candidate
    return None


def _candidates(source: SourceRecord, files: list[FileRecord], folder: Path) -> Iterator[Path]:
    """Places worth a look: first those of the source's name, then those that hold a file like its own."""
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
    probe = max(files, key=lambda file: len(file.path)).path
    for hit in sorted(folder.rglob(glob.escape(probe.rpartition("/")[2]))):
        if hit.as_posix().endswith(f"/{probe}"):
            yield hit.parents[probe.count("/")]


def _holds(place: Path, files: list[FileRecord]) -> bool:
    """At least half of some files, spread over the source, have the same content there."""
    step = max(1, len(files) // PROBES)
    probes = files[::step][:PROBES]
    try:
        with Source.open(place) as source:
            same = sum(_is(source, file) for file in probes)
    except BadInput:
        return False
    return 0 < len(probes) <= 2 * same


def _is(source: Source, file: FileRecord) -> bool:
    try:
        return file_identity(source, file.path) == file.hash
    except BadInput:
        return False
