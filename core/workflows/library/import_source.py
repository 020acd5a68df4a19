"""Bring a source into a library: catalogue its cases, read every image once, list what was not usable."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from concurrent.futures import ThreadPoolExecutor
from contextlib import closing
from dataclasses import dataclass, field, replace
from itertools import groupby
from pathlib import Path
from typing import TYPE_CHECKING, Any

from semblance.core.errors import BadArguments
from semblance.core.imaging.image_reader import ImageReader
from semblance.core.language import tr_lazy
from semblance.core.library.importers.importer import FoundCase, Importer, Recognition, RejectedFile
from semblance.core.library.importers.registry import get_importer, recognise
from semblance.core.library.importers.source import Source
from semblance.core.library.open_library import open_library, open_or_create_library
from semblance.core.library.records import NOT_THERE, CaseLabels, CaseRecord, FileRecord, SourceRecord
from semblance.core.tasks import SILENT, Reporter
from semblance.core.workflows.library.file_reader import FileReader, ReadResult, check_path_is_text
from semblance.core.workflows.library.import_privacy import ImportPrivacy

if TYPE_CHECKING:
    from semblance.core.library.library import Library

#: Cases, and bytes of their files, written in one transaction; a killed import keeps all batches before.
BATCH, BATCH_BYTES = 200, 32 << 20
#: Images decoded at once; decoding leaves the interpreter free.
DECODERS = 2


@dataclass
class ImportResult:
    """What became of every file of a source (shape of CONTRACT.md, "import").

    ``updated`` cases, whose image changed, are among ``added``. ``missing`` are known files that are not
    there; ``removed`` the ids of cases that their file, which is there, no longer holds. ``notes`` say in
    sentences what was done about who the patients are, and what is left to look at.
    """

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
    removed: list[str] = field(default_factory=list)
    cases: int = 0
    patients: int | None = None
    findings: Mapping[str, int] = field(default_factory=dict)
    notes: list[str] = field(default_factory=list)

    def to_json(self) -> dict[str, Any]:
        """The fields as JSON values."""
        return dict(vars(self))


def recognise_source(path: Path, *, reporter: Reporter = SILENT) -> list[tuple[str, str, Recognition]]:
    """(kind, title, recognition) of every kind the source could be, likeliest first.

    Raises:
        BadInput: nothing there, unreadable, or of no known kind.
    """
    reporter.progress(0, None, tr_lazy("Reading {path}", path=path.name))
    with Source.open(path) as source:
        return [(importer.kind, importer.title, found) for importer, found in recognise(source)]


def import_source(
    source: Path,
    library: Path,
    *,
    kind: str = "auto",
    identified: bool = False,
    there: bool = False,
    reporter: Reporter = SILENT,
) -> ImportResult:
    """Import ``source`` (folder, zip or file) into ``library``, made when it is not there.

    ``there``: it is expected to be, as for a window that shows it. In the place of one that was removed, or
    on a disk that is gone, no empty one is made.

    The reporter's partial results are the numbers of cases that are in the library, after every batch.

    Importing again adds only what is new; a changed image replaces its case and its numbers. Cancelling
    keeps every finished batch.

    What DICOM headers tell of the patient is replaced by pseudonyms made with the library's own key, case ids
    do not show folders, which are called after patients, and columns of names and addresses are left out of
    what tables tell. ``identified`` keeps ids, dates, folders and columns; never names out of headers. A
    source once imported either way stays so.

    Raises:
        BadInput: the source cannot be read or is of no known kind; ``there``, and there is no library.
        BadArguments: unknown ``kind``; ``identified``, and the source is in the library without ids.
        Cancelled: asked for by the reporter.
    """
    check_path_is_text(source)
    with Source.open(source) as opened:
        importer = recognise(opened)[0][0] if kind == "auto" else get_importer(kind)
        with open_library(library, writable=True) if there else open_or_create_library(library) as into:
            return _Import(opened, importer, into, identified, reporter).run()


class _Import:
    """One import under way."""

    def __init__(
        self, source: Source, importer: Importer, library: Library, identified: bool, reporter: Reporter
    ) -> None:
        self.source, self.importer, self.library, self.reporter = source, importer, library, reporter
        self.result = ImportResult(str(library.path), importer.kind)
        self.record = self._source_record(identified)
        self.privacy = ImportPrivacy(self.record.identified, asked=identified)
        if not self.record.identified:
            source.pseudonyms = library.pseudonyms()
        self.known = library.catalogue.files(self.record)
        self.labels = library.catalogue.labels(self.record)
        #: Content -> the case that shows it.
        self.contents: dict[str, str] = {r.content: r.case_id for r in library.catalogue.all_cases()}
        self.images = ImageReader()
        self.reader = FileReader(source, self.record.name, self.images)
        self.seen: set[str] = set()
        self.met: set[str] = set()
        self.failed: set[str] = set()
        self.rejected: list[FileRecord] = []
        self.total = len(source.entries())

    def _source_record(self, identified: bool) -> SourceRecord:
        """The source as catalogued before, or a new one."""
        path = self.source.path.absolute()
        name = path.name if path.is_dir() else path.stem
        if self.importer.paths_name_patients and not identified:
            name = self.importer.kind
        record = self.library.catalogue.add_source(
            self.importer.kind, name or "pictures", path, identified=identified
        )
        if identified and not record.identified:
            raise BadArguments(
                tr_lazy(
                    "{path} was imported into {library} without patient ids.",
                    path=path,
                    library=self.library.path.name,
                ),
                "Import it with its ids into a new library.",
            )
        return record

    def run(self) -> ImportResult:
        self.source.entries()
        for path, reason in self.source.refused:
            self._reject(RejectedFile(path, reason, failed=True))
        self._progress()
        with ThreadPoolExecutor(DECODERS) as decoders, self.images:
            for batch, unfinished in self._batches():
                self.reporter.check_cancelled()
                self._import(batch, unfinished, decoders)
                self._progress()
                self.reporter.partial(len(self.met))
        self._write_rejected()
        self._tidy()
        summary = self.library.summary()
        self.result.cases, self.result.patients = summary["cases"], summary["patients"]
        self.result.findings = summary["findings"]
        self.result.notes = self.privacy.notes()
        return self.result

    def _progress(self) -> None:
        """Tell what is written; of a source that is one file nobody knows how many cases it has."""
        if self.source.kind == "file":
            self.reporter.progress(len(self.met), None, "Importing")
        else:
            self.reporter.progress(min(len(self.seen), self.total), self.total, "Importing")

    def _batches(self) -> Iterator[tuple[list[FoundCase], str | None]]:
        """Cases in groups of about BATCH; only the rows of an array or a table are divided.

        With each group comes the file that has more cases than the group holds.
        """
        batch: list[FoundCase] = []
        size = 0
        scanned = self.importer.scan(self.source, self.reporter)
        for path, found in groupby(scanned, key=lambda item: item.path):
            for item in map(self.privacy.kept, found):
                if isinstance(item, RejectedFile):
                    self._reject(item)
                    continue
                if len(batch) >= BATCH and (item.frame is not None or item.values is not None):
                    yield batch, path
                    batch = []
                batch.append(item)
                size += sum(self.reader.size(part) for part in item.paths if part not in self.seen)
                self.seen.update(item.paths)
            self.seen.add(path)
            if len(batch) >= BATCH or size >= BATCH_BYTES:
                yield batch, None
                batch, size = [], 0
        if batch:
            yield batch, None

    def _import(self, batch: list[FoundCase], unfinished: str | None, decoders: ThreadPoolExecutor) -> None:
        fresh: list[tuple[str, list[FoundCase]]] = []
        relabelled: list[FoundCase] = []
        returned: list[str] = []
        for path, found in groupby(batch, key=lambda case: case.path):
            cases = list(found)
            self.met.update(self.reader.case_id(case) for case in cases)
            known = self.known.get(path)
            parts = {part for case in cases for part in case.paths}
            if known is None or not all(self._is_as_known(part) for part in parts):
                fresh.append((path, cases))
                continue
            unread = [case for case in cases if not self._is_catalogued(case)]
            if unread:
                fresh.append((path, unread))
            returned += sorted(part for part in parts if self.known[part].state != "ok")
            self.result.unchanged += len(cases) - len(unread)
            relabelled += [case for case in cases if case not in unread and self._says_other(case)]
        self._write_rejected()
        self._relabel(relabelled)
        if returned:
            self.library.catalogue.set_state(self.record, returned, "ok")
        if fresh:
            self._read(fresh, unfinished, decoders)

    def _is_as_known(self, path: str) -> bool:
        known = self.known.get(path)
        return known is not None and known.state != "failed" and self.reader.same(known)

    def _is_catalogued(self, case: FoundCase) -> bool:
        before = self.labels.get(self.reader.case_id(case))
        return before is not None and (before.path, before.region, before.slices) == (
            case.path,
            case.region,
            case.slices,
        )

    def _says_other(self, case: FoundCase) -> bool:
        """Whether the source says something else of a known case than it did."""
        before = self.labels.get(self.reader.case_id(case))
        said = (case.finding, case.patient, dict(case.attributes))
        return before is not None and (before.finding, before.patient, dict(before.attributes)) != said

    def _relabel(self, cases: list[FoundCase]) -> None:
        self.library.catalogue.relabel(
            (self.reader.case_id(case), case.finding, case.patient, case.attributes) for case in cases
        )
        self.result.relabelled += len(cases)

    def _read(
        self, fresh: list[tuple[str, list[FoundCase]]], unfinished: str | None, decoders: ThreadPoolExecutor
    ) -> None:
        """Read new and changed cases and write them in one transaction, thumbnails first."""
        files: list[FileRecord] = []
        records: list[CaseRecord] = []
        images: dict[str, bytes] = {}

        def read(group: tuple[str, list[FoundCase]]) -> ReadResult:
            path, cases = group
            known = self.known.get(path)
            whole = path != unfinished or (known is not None and self.reader.same(known))
            return self.reader.read(path, cases, whole=whole)

        # Closed at once when cancelled, or leaving the executor would wait for all that was not read yet.
        with closing(decoders.map(read, fresh)) as outcomes:  # type: ignore[type-var]
            for outcome in outcomes:
                self.reporter.check_cancelled()
                files += [outcome.file, *outcome.slices]
                records += outcome.cases
                images.update(outcome.images)
                for path, reason in outcome.failed:
                    self._fail(path, reason)
                    if path != outcome.file.path:
                        files.append(FileRecord(path, 0, 0, "", "failed", reason))
        self.library.thumbnails.put(images.items())
        columns = next((case.columns for _, cases in fresh for case in cases if case.columns), ())
        if columns and columns != self.record.columns:
            self.library.catalogue.set_columns(self.record, columns)
            self.record = replace(self.record, columns=columns)
        changed = dict(self.library.catalogue.put(self.record, files, records))
        self._count({case.key: case for _, cases in fresh for case in cases}, records, changed)

    def _count(
        self, found: Mapping[str, FoundCase], records: list[CaseRecord], changed: Mapping[str, str]
    ) -> None:
        """Sort what was written into added, updated (which are added too), unchanged and duplicates."""
        for case_id, before in changed.items():
            if self.contents.get(before) == case_id:
                del self.contents[before]
        says_other = {self.reader.case_id(case) for case in found.values() if self._says_other(case)}
        for record in records:
            if record.case_id in self.labels and record.case_id not in changed:
                self.result.unchanged += 1
                self.result.relabelled += record.case_id in says_other
            else:
                self.result.added += 1
                self.result.updated += record.case_id in changed
            first = self.contents.setdefault(record.content, record.case_id)
            if first != record.case_id and record.numbers is None:
                self.result.duplicates.append({"path": self.source.label(record.path), "of": first})

    def _fail(self, path: str, reason: str) -> None:
        self.seen.add(path)
        if path not in self.failed:
            self.failed.add(path)
            self.result.failed.append({"path": self.source.label(path), "reason": reason})

    def _reject(self, item: RejectedFile) -> None:
        if item.failed:
            self._fail(item.path, item.reason)
        else:
            self.seen.add(item.path)
            self.result.ignored.append({"path": self.source.label(item.path), "reason": item.reason})
        state = "failed" if item.failed else "ignored"
        known = self.known.get(item.path)
        if known is None or (known.state, known.reason) != (state, item.reason):
            size, stamp = self.reader.size(item.path), self.reader.stamp(item.path)
            self.rejected.append(FileRecord(item.path, size, stamp, "", state, item.reason))

    def _write_rejected(self) -> None:
        if self.rejected:
            self.library.catalogue.put(self.record, self.rejected, [])
            self.rejected = []

    def _tidy(self) -> None:
        """Mark files that are gone, and take out what the source no longer holds."""
        catalogue = self.library.catalogue
        vanished = [
            case_id
            for case_id, before in self.labels.items()
            if case_id not in self.met and before.path in self.seen and before.path not in self.failed
        ]
        kept = {
            case_id: label
            for case_id, label in catalogue.labels(self.record).items()
            if case_id not in vanished
        }
        with_cases = {path for label in kept.values() for path in (label.path, *_parts(label))}
        gone = [path for path in self.known if path not in self.seen]
        lost = [path for path in gone if path in with_cases]
        emptied = [path for path in gone if path not in with_cases]
        if vanished or emptied:
            catalogue.remove(self.record, emptied, vanished)
        if lost:
            catalogue.set_state(self.record, lost, "missing", NOT_THERE)
        self.result.removed = sorted(vanished)
        # A volume goes on without a slice that is gone; it was there, so that is told.
        sliced = {part for label in self.labels.values() for part in _parts(label)}
        missing = {*lost, *(path for path in emptied if path in sliced)}
        self.result.missing = sorted(self.source.label(path) for path in missing)


def _parts(label: CaseLabels) -> Iterator[str]:
    """The files of the slices of a case."""
    return (path for path, _ in label.slices)
