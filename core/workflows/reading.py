"""Reading the files an importer named: every picture decoded once, its failure kept as a reason."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from pathlib import Path, PurePosixPath

from core.errors import BadInput, SemblanceError
from core.imaging.container import PictureReader
from core.imaging.package import Package
from core.imaging.thumbnail import inspect, thumbnail
from core.library.content import content_hash, content_of_file, content_of_numbers, content_of_pixels
from core.library.importers.importer import FoundCase
from core.library.importers.source import Source, printable
from core.library.records import CaseRecord, FileRecord

#: Stamp of a file whose cases are not all written yet; no file has it, so it is read again.
BEING_READ = -1


@dataclass
class ReadFile:
    """What reading one file, or a part of an array's rows, gave; ``failed``: (path or row, reason)."""

    file: FileRecord
    cases: list[CaseRecord] = field(default_factory=list)
    images: dict[str, bytes] = field(default_factory=dict)
    failed: list[tuple[str, str]] = field(default_factory=list)


class FileReader:
    """Reads files of one source. May be used from several threads, one file in one at a time."""

    def __init__(self, source: Source, prefix: str, pictures: PictureReader) -> None:
        """``prefix`` goes before the key of a case and makes its id."""
        self._source, self._prefix, self._pictures = source, prefix, pictures
        self._entries = {entry.path: entry for entry in source.entries()}
        self._identities: dict[str, str] = {}

    def case_id(self, case: FoundCase) -> str:
        return f"{self._prefix}/{case.key}"

    def size(self, path: str) -> int:
        entry = self._entries.get(path)
        return entry.size if entry else 0

    def stamp(self, path: str) -> int:
        """Changes when the file does: mtime in ns, or the CRC of a zip entry; 0 for what is no file."""
        entry = self._entries.get(path)
        if entry is None:
            return 0
        return entry.mtime_ns if entry.crc is None else entry.crc

    def same(self, known: FileRecord) -> bool:
        """Whether the file seems to be as it was when catalogued."""
        return known.path in self._entries and (self.size(known.path), self.stamp(known.path)) == (
            known.size,
            known.stamp,
        )

    def read(self, path: str, cases: Sequence[FoundCase], *, whole: bool) -> ReadFile:
        """The cases of one file; ``whole``: these are all, or the last, of the file."""
        stamp = self.stamp(path) if whole else BEING_READ
        try:
            if cases[0].values is not None:
                return self._rows(path, cases, stamp)
            if cases[0].frame is not None:
                return self._frames(path, cases, stamp)
            return self._picture(path, cases, stamp)
        except SemblanceError as error:
            return ReadFile(
                FileRecord(path, self.size(path), stamp, "", "failed", str(error)),
                failed=[(path, str(error))],
            )

    def _picture(self, path: str, cases: Sequence[FoundCase], stamp: int) -> ReadFile:
        data = self._source.read(path)
        facts = inspect(data, self._source.label(path))
        out = ReadFile(FileRecord(path, len(data), stamp, content_hash(data), "ok"))
        for case in cases:
            content = content_of_file(data, case.region)
            out.images[content] = facts.thumbnail
            out.cases.append(self._record(case, facts.width, facts.height, content))
        return out

    def _frames(self, path: str, cases: Sequence[FoundCase], stamp: int) -> ReadFile:
        out = ReadFile(FileRecord(path, self.size(path), stamp, self._identity(path), "ok"))
        for case in cases:
            address = self._source.address(path, case.member, case.frame)
            try:
                picture = self._pictures.open(address)
            except SemblanceError as error:
                out.failed.append((f"{self._source.label(path)}!{case.member}[{case.frame}]", str(error)))
                continue
            content = content_of_pixels(picture)
            out.images[content] = thumbnail(picture)
            out.cases.append(self._record(case, picture.width, picture.height, content))
        if not out.cases:
            # Not one picture but the file is at fault.
            raise BadInput(out.failed[0][1])
        return out

    def _rows(self, path: str, cases: Sequence[FoundCase], stamp: int) -> ReadFile:
        out = ReadFile(FileRecord(path, self.size(path), stamp, self._identity(path), "ok"))
        for case in cases:
            assert case.values is not None
            out.cases.append(self._record(case, None, None, content_of_numbers(case.values)))
        return out

    def _identity(self, path: str) -> str:
        if path not in self._identities:
            self._identities[path] = file_identity(self._source, path)
        return self._identities[path]

    def _record(self, case: FoundCase, width: int | None, height: int | None, content: str) -> CaseRecord:
        return CaseRecord(
            self.case_id(case),
            case.path,
            case.member,
            case.frame,
            case.finding,
            case.patient,
            case.region,
            case.attributes,
            width,
            height,
            content,
            case.values,
        )


def check_is_text(path: Path) -> None:
    """
    Raises:
        BadInput: the path has bytes that are no text, which the catalogue could not keep.
    """
    shown = printable(str(path.absolute()))
    if shown != str(path.absolute()):
        raise BadInput(f"The name of '{shown}' is not valid text.", "Rename it first.")


def file_identity(source: Source, path: str) -> str:
    """The hash of a file's bytes; of an array file, which may be huge, that of its own check sums.

    Raises:
        BadInput: it cannot be read.
    """
    address = source.address(path)
    if address.member or PurePosixPath(source.label(path)).suffix.lower() != ".npz":
        return content_hash(source.read(path))
    package = Package(address.container, str(address.container))
    try:
        sums = sorted((name, info.file_size, info.CRC) for name, info in package.entries.items())
    finally:
        package.close()
    return content_hash(repr(sums).encode())
