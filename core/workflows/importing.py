"""Bring a source into a library: catalogue its cases, read every picture once, list what was not usable."""

from __future__ import annotations

import hashlib
from collections.abc import Iterator, Mapping
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, field
from itertools import groupby
from pathlib import Path
from typing import TYPE_CHECKING, Any

from core.errors import SemblanceError
from core.imaging.container import PictureReader
from core.imaging.thumbnail import inspect, thumbnail
from core.library import open_or_create_library
from core.library.importers.importer import FoundCase, Importer, Recognition, Rejected
from core.library.importers.registry import get_importer, recognise
from core.library.importers.source import Source
from core.library.records import CaseRecord, FileRecord, SourceRecord
from core.tasks import SILENT, Cancelled, Reporter

if TYPE_CHECKING:
    from core.library.library import Library

#: Cases written in one transaction; a killed import keeps all batches before.
BATCH = 200
#: Pictures decoded at once; decoding leaves the interpreter free.
DECODERS = 2


@dataclass
class ImportResult:
    """What became of every file of a source (shape of CONTRACT.md, "import")."""

    library: str
    kind: str
    added: int = 0
    unchanged: int = 0
    updated: int = 0
    relabelled: int = 0
    failed: list[dict[str, str]] = field(default_factory=list)
    ignored: list[dict[str, str]] = field(default_factory=list)
    duplicates: list[dict[str, str]] = field(default_factory=list)
    missing: list[str] = field(default_factory=list)
    cases: int = 0
    patients: int | None = None
    findings: Mapping[str, int] = field(default_factory=dict)

    def to_json(self) -> dict[str, Any]:
        return dict(vars(self))


def recognise_source(path: Path, *, reporter: Reporter = SILENT) -> list[tuple[str, str, Recognition]]:
    """(kind, title, recognition) of every kind the source could be, likeliest first.

    Raises:
        BadInput: nothing there, unreadable, or of no known kind.
    """
    reporter.progress(0, None, f"Looking into {path.name}")
    with Source.open(path) as source:
        return [(importer.kind, importer.title, found) for importer, found in recognise(source)]


def import_source(
    source: Path, library: Path, *, kind: str = "auto", reporter: Reporter = SILENT
) -> ImportResult:
    """Import ``source`` (folder, zip or file) into ``library``, made when it is not there.

    Importing again adds only what is new; a changed picture replaces its case and its numbers. Cancelling
    keeps every finished batch.

    Raises:
        BadInput: the source cannot be read or is of no known kind.
        BadArguments: unknown ``kind``.
        Cancelled: asked for by the reporter.
    """
    with Source.open(source) as opened:
        importer = recognise(opened)[0][0] if kind == "auto" else get_importer(kind)
        with open_or_create_library(library) as into:
            return _Import(opened, importer, into, reporter).run()


class _Import:
    """One import under way."""

    def __init__(self, source: Source, importer: Importer, library: Library, reporter: Reporter) -> None:
        self.source, self.importer, self.library, self.reporter = source, importer, library, reporter
        self.result = ImportResult(str(library.path), importer.kind)
        self.record = self._source_record()
        self.known = library.catalogue.files(self.record)
        self.labels = library.catalogue.labels(self.record)
        cases = library.catalogue.all_cases()
        self.contents: dict[str, str] = {r.content: r.case_id for r in cases}
        self.rows = {r.case_id: int(r.id) for r in cases}
        self.entries = {entry.path: entry for entry in source.entries()}
        self.seen: set[str] = set()
        self.done = 0

    def _source_record(self) -> SourceRecord:
        """The source as catalogued before, or a new one."""
        path = self.source.path.absolute()
        for record in self.library.catalogue.sources():
            if record.path == path and record.kind == self.importer.kind:
                return record
        name = path.name if path.is_dir() else path.stem
        return self.library.catalogue.add_source(self.importer.kind, name or "pictures", path)

    def run(self) -> ImportResult:
        for path, reason in self.source.refused:
            self._reject(Rejected(path, reason, failed=True))
        self.reporter.progress(0, len(self.entries), "Importing")
        with ThreadPoolExecutor(DECODERS) as decoders, PictureReader() as reader:
            for batch in self._batches():
                self.reporter.check_cancelled()
                self._import(batch, decoders, reader)
                self.reporter.progress(min(self.done, len(self.entries)), len(self.entries), "Importing")
        self._mark_missing()
        summary = self.library.summary()
        self.result.cases, self.result.patients = summary["cases"], summary["patients"]
        self.result.findings = summary["findings"]
        return self.result

    def _batches(self) -> Iterator[list[FoundCase]]:
        """Cases in groups of about BATCH, never dividing the cases of one file but an array's rows."""
        batch: list[FoundCase] = []
        scanned = self.importer.scan(self.source, self.reporter)
        for path, found in groupby(scanned, key=lambda item: item.path):
            for item in found:
                if isinstance(item, Rejected):
                    self._reject(item)
                    continue
                batch.append(item)
                if len(batch) >= BATCH and (item.frame is not None or item.values is not None):
                    yield batch
                    batch = []
            self.seen.add(path)
            if len(batch) >= BATCH:
                yield batch
                batch = []
        if batch:
            yield batch

    def _import(self, batch: list[FoundCase], decoders: ThreadPoolExecutor, reader: PictureReader) -> None:
        fresh: list[FoundCase] = []
        relabelled: list[tuple[str, str | None, str | None]] = []
        returned: list[str] = []
        for case in batch:
            known = self.known.get(case.path)
            case_id = self._case_id(case)
            new_in_file = known is not None and known.state != "failed" and case_id not in self.labels
            if known is None or new_in_file or not self._same(known):
                fresh.append(case)
            elif known.state == "failed":
                self.result.failed.append({"path": self._shown(case.path), "reason": known.reason})
            else:
                self.result.unchanged += 1
                if known.state == "missing":
                    returned.append(case.path)
                if self.labels[case_id][:2] != (case.finding, case.patient):
                    relabelled.append((case_id, case.finding, case.patient))
        catalogue = self.library.catalogue
        if relabelled:
            catalogue.relabel(relabelled)
            self.result.relabelled += len(relabelled)
        if returned:
            catalogue.set_state(self.record, returned, "ok")
        if fresh:
            self._read(fresh, decoders, reader)
        self.done += len({case.path for case in batch})

    def _read(self, fresh: list[FoundCase], decoders: ThreadPoolExecutor, reader: PictureReader) -> None:
        """Read new and changed cases and write them in one transaction, thumbnails first."""
        files: list[FileRecord] = []
        records: list[CaseRecord] = []
        images: dict[str, bytes] = {}
        groups = [(path, list(cases)) for path, cases in groupby(fresh, key=lambda case: case.path)]
        for outcome in decoders.map(lambda group: self._read_file(group[0], group[1], reader), groups):
            files.append(outcome.file)
            records += outcome.cases
            images.update(outcome.images)
            if outcome.file.state == "failed":
                self.result.failed.append(
                    {"path": self._shown(outcome.file.path), "reason": outcome.file.reason}
                )
        self.library.thumbnails.put(images.items())
        columns = next((case.columns for case in fresh if case.columns), ())
        if columns and columns != self.record.columns:
            self.library.catalogue.set_columns(self.record, columns)
        self.library.catalogue.put(self.record, files, records)
        changed = [self.rows[record.case_id] for record in records if record.case_id in self.labels]
        self.library.features.forget(changed)
        self.result.added += len(records)
        self.result.updated += len(changed)
        for record in records:
            first = self.contents.setdefault(record.content, record.case_id)
            if first != record.case_id and record.numbers is None:
                self.result.duplicates.append({"path": self._shown(record.path), "of": first})

    def _read_file(self, path: str, cases: list[FoundCase], reader: PictureReader) -> _Read:
        entry = self.entries.get(path)
        size = entry.size if entry else 0
        try:
            if cases[0].values is not None:
                outcome = self._read_rows(path, cases)
            elif cases[0].frame is not None:
                outcome = self._read_frames(path, cases, reader)
            else:
                outcome = self._read_picture(path, cases)
        except Cancelled:
            raise
        except SemblanceError as error:
            file = FileRecord(path, size, self._stamp(path), "", "failed", str(error))
            return _Read(file)
        return outcome

    def _read_picture(self, path: str, cases: list[FoundCase]) -> _Read:
        data = self.source.read(path)
        facts = inspect(data, self.source.label(path))
        digest = content_hash(data)
        file = FileRecord(path, len(data), self._stamp(path), digest, "ok")
        out = _Read(file, images={digest: facts.thumbnail})
        for case in cases:
            out.cases.append(self._record(case, facts.width, facts.height, _of_region(digest, case)))
            out.images[out.cases[-1].content] = facts.thumbnail
        return out

    def _read_frames(self, path: str, cases: list[FoundCase], reader: PictureReader) -> _Read:
        entry = self.entries[path]
        out = _Read(FileRecord(path, entry.size, self._stamp(path), f"stamp:{self._stamp(path)}", "ok"))
        for case in cases:
            picture = reader.open(self.source.address(path, case.member, case.frame))
            digest = content_hash(picture.pixels.tobytes())
            out.images[digest] = thumbnail(picture)
            out.cases.append(self._record(case, picture.width, picture.height, digest))
        return out

    def _read_rows(self, path: str, cases: list[FoundCase]) -> _Read:
        entry = self.entries[path]
        out = _Read(FileRecord(path, entry.size, self._stamp(path), f"stamp:{self._stamp(path)}", "ok"))
        for case in cases:
            digest = content_hash(repr(case.values).encode())
            out.cases.append(self._record(case, None, None, digest))
        return out

    def _record(self, case: FoundCase, width: int | None, height: int | None, content: str) -> CaseRecord:
        return CaseRecord(
            self._case_id(case),
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

    def _case_id(self, case: FoundCase) -> str:
        return f"{self.record.name}/{case.key}"

    def _shown(self, path: str) -> str:
        """What to call a file of the source: a source that is one file has its own name."""
        return path or self.source.path.name

    def _stamp(self, path: str) -> int:
        entry = self.entries.get(path)
        if entry is None:
            return 0
        return entry.mtime_ns if entry.crc is None else entry.crc

    def _same(self, known: FileRecord) -> bool:
        entry = self.entries.get(known.path)
        return entry is not None and (entry.size, self._stamp(known.path)) == (known.size, known.stamp)

    def _reject(self, item: Rejected) -> None:
        self.seen.add(item.path)
        told = self.result.failed if item.failed else self.result.ignored
        told.append({"path": item.path, "reason": item.reason})
        state = "failed" if item.failed else "ignored"
        known = self.known.get(item.path)
        if known is not None and known.state == "ok":
            return
        entry = self.entries.get(item.path)
        size = entry.size if entry else 0
        record = FileRecord(item.path, size, self._stamp(item.path), "", state, item.reason)
        self.library.catalogue.put(self.record, [record], [])

    def _mark_missing(self) -> None:
        gone = [path for path, known in self.known.items() if path not in self.seen and known.state == "ok"]
        if gone:
            self.library.catalogue.set_state(self.record, gone, "missing", "The file is no longer there.")
            self.result.missing = sorted(gone)


@dataclass
class _Read:
    """What reading one file gave."""

    file: FileRecord
    cases: list[CaseRecord] = field(default_factory=list)
    images: dict[str, bytes] = field(default_factory=dict)


def content_hash(data: bytes) -> str:
    """The name of some content: equal bytes, equal text."""
    return hashlib.blake2b(data, digest_size=16).hexdigest()


def _of_region(digest: str, case: FoundCase) -> str:
    """What a case shows: its picture, or that picture's region."""
    if case.region is None:
        return digest
    return content_hash(f"{digest} {case.region.to_json()}".encode())
