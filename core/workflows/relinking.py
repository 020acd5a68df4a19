"""Find moved pictures again by their content."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import Any

from core.errors import BadInput
from core.library import open_library
from core.library.importers.source import Source
from core.library.records import FileRecord, SourceRecord
from core.tasks import SILENT, Reporter
from core.workflows.importing import content_hash

#: Files compared byte for byte before a folder is taken for the moved source.
PROBES = 8


@dataclass(frozen=True)
class RelinkResult:
    """Sources found under another path, how many files that gave back, and how many are still missing."""

    moved: dict[str, str]
    found: int
    still_missing: int

    def to_json(self) -> dict[str, Any]:
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
        raise BadInput(f"{folder} does not exist.", "Choose the folder or zip the pictures are in now.")
    moved: dict[str, str] = {}
    found = missing = 0
    with open_library(library, writable=True) as opened:
        for source in opened.catalogue.sources():
            files = [f for f in opened.catalogue.files(source).values() if f.state in ("ok", "missing")]
            if source.path.exists() and all(f.state == "ok" for f in files):
                continue
            reporter.check_cancelled()
            reporter.progress(len(moved), None, f"Looking for {source.name}")
            place = _place(source, files, folder.absolute())
            if place is None:
                missing += len(files)
                continue
            opened.catalogue.move_source(source, place)
            moved[source.name] = str(place)
            found += len(files)
    return RelinkResult(moved, found, missing)


def _place(source: SourceRecord, files: list[FileRecord], folder: Path) -> Path | None:
    """Where ``source`` lies now, if it is ``folder``, below it or beside its parents."""
    name = source.path.name
    candidates = [folder, folder / name, *sorted(folder.rglob(name))] if folder.is_dir() else [folder]
    candidates += [candidate for candidate in folder.parents if candidate.name == name]
    for candidate in dict.fromkeys(candidates):
        if candidate.exists() and _holds(candidate, files):
            return candidate
    probe = next((f for f in files if "/" in f.path or f.path), None)
    if probe is None or not folder.is_dir():
        return None
    depth = probe.path.count("/") + 1
    for hit in sorted(folder.rglob(probe.path.rsplit("/", 1)[-1])):
        if len(hit.parents) >= depth and _holds(hit.parents[depth - 1], files):
            return hit.parents[depth - 1]
    return None


def _holds(place: Path, files: list[FileRecord]) -> bool:
    """Several files, spread over the source, have the same content there."""
    step = max(1, len(files) // PROBES)
    probes = files[::step][:PROBES]
    if not probes:
        return False
    try:
        with Source.open(place) as source:
            entries = {entry.path: entry for entry in source.entries()}
            for file in probes:
                entry = entries.get(file.path)
                if entry is None or entry.size != file.size:
                    return False
                if not file.hash.startswith("stamp:") and content_hash(source.read(file.path)) != file.hash:
                    return False
    except BadInput:
        return False
    return True
