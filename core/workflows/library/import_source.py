"""Import a source into a library: catalogue its cases, read every image once, and list unusable files."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import closing
from dataclasses import dataclass, replace
from itertools import groupby
from pathlib import Path
from typing import TYPE_CHECKING, Any

from semblance.core.errors import BadArguments, BadInput, SemblanceError
from semblance.core.imaging.burnt_in_marks import MARKS_ATTRIBUTE
from semblance.core.imaging.image_reader import ImageReader
from semblance.core.json_document import JsonDocument
from semblance.core.language import tr_lazy, tr_lazy_n
from semblance.core.library.case_details import slices_of_source
from semblance.core.library.content_hashes import bytes_of_rows, contents_of_rows
from semblance.core.library.edit_log import given_labels, removed_case_ids
from semblance.core.library.findings import RULES_KEY, FindingNames
from semblance.core.library.importers.importer import (
    FoundCase,
    FoundRows,
    Importer,
    Recognition,
    RejectedFile,
)
from semblance.core.library.importers.registry import get_importer, known_importer, recognise, with_settings
from semblance.core.library.importers.source import Source
from semblance.core.library.lesion_groups import lesion_codes, read_groups
from semblance.core.library.location import LibraryLocation
from semblance.core.library.open_library import open_library, open_or_create_library
from semblance.core.library.records import NOT_THERE, CaseRecord, FileRecord, SourceRecord
from semblance.core.library.same_patient import shared_uids
from semblance.core.library.stored_values import store_value
from semblance.core.library.table_rows import TableRowRecords, put_rows
from semblance.core.normal_text import composed, is_missing
from semblance.core.plugins import missing_hint
from semblance.core.tasks import SILENT, Reporter
from semblance.core.workflows.features.clinical_features import forget_changed_columns
from semblance.core.workflows.features.detect_same_lesions import count_lesions, detect_same_lesions
from semblance.core.workflows.library.file_reader import FileReader, ReadResult, check_path_is_text
from semblance.core.workflows.library.import_privacy import ImportPrivacy

if TYPE_CHECKING:
    from semblance.core.library.library import Library

#: Cases, and bytes of their files, written in one transaction; a killed import keeps all earlier batches.
BATCH, BATCH_BYTES = 200, 32 << 20
#: Cases in the first transaction; each later one has twice as many, so that the first can be shown soon.
FIRST_BATCH = 25
#: Images decoded at the same time; decoding releases the interpreter lock.
DECODERS = 2


#: Cases that a note names.
_NAMED = 3


@dataclass(frozen=True)
class ImportResult(JsonDocument):
    """The result for every file of a source.

    ``updated`` cases, whose image changed, are among ``added``. ``missing`` are known files that no longer exist;
    ``removed`` the ids of cases that their existing file no longer contains. ``label_conflicts``: the cases of each
    lesion, equal images among them, that have different findings. ``lesions`` counts the same-lesion groups and their
    cases. ``notes`` are sentences about removed patient data and about what the user should check. ``lists``: how lists
    of images were read (:class:`semblance.core.library.importers.finding_rules.ListReport`), ``None`` without any.
    """

    library: str
    kind: str
    added: int
    unchanged: int
    updated: int
    relabelled: int
    failed: Sequence[Mapping[str, str]]
    ignored: Sequence[Mapping[str, str]]
    duplicates: Sequence[Mapping[str, str]]
    label_conflicts: Sequence[Mapping[str, list[str]]]
    missing: Sequence[str]
    removed: Sequence[str]
    cases: int
    patients: int | None
    findings: Mapping[str, int]
    notes: Sequence[str]
    lesions: Mapping[str, int]
    lists: Mapping[str, Any] | None = None

    JSON_KEYS = (
        "library",
        "kind",
        "added",
        "unchanged",
        "updated",
        "relabelled",
        "failed",
        "ignored",
        "duplicates",
        "label_conflicts",
        "missing",
        "removed",
        "cases",
        "patients",
        "findings",
        "notes",
        "lesions",
        "lists",
    )


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
    library: LibraryLocation,
    *,
    kind: str = "auto",
    settings: Sequence[str] = (),
    identified: bool = False,
    must_exist: bool = False,
    reporter: Reporter = SILENT,
) -> ImportResult:
    """Import ``source`` (folder, zip or file) into ``library``, which is created when it does not exist.

    ``settings`` are ``key=value`` texts for the kind, such as how a table is written.

    ``must_exist``: raise an error if it does not exist, as for a library that a window shows.

    The reporter's partial results are the numbers of cases that are in the library, after every batch.

    Importing again adds only new files; a changed image replaces its case and removes its features. Cancelling
    keeps every finished batch.

    Patient data in DICOM headers are replaced by pseudonyms made with the library's own key, case ids do not show
    folders, which often contain patients' names, and columns of names and addresses in tables are left out.
    ``identified`` keeps ids, dates, folders and columns, but never names in headers. A source imported in one way
    can only be imported again in the same way.

    Raises:
        BadInput: the source cannot be read or is of no known kind; ``must_exist``, and there is no library.
        BadArguments: unknown ``kind`` or setting; ``identified``, and the source is in the library without ids.
        SemblanceError: the library or the source was removed meanwhile.
    """
    check_path_is_text(source)
    with Source.open(source) as opened:
        importer = recognise(opened)[0][0] if kind == "auto" else get_importer(kind)
        importer = with_settings(importer, settings)
        opened.encoding = importer.encoding
        with (
            open_library(library, writable=True) if must_exist else open_or_create_library(library) as target
        ):
            if kind == "auto":
                _check_kind_is_known(target, opened)
            return _ImportRun(opened, importer, target, identified, reporter).run()


def _check_kind_is_known(library: Library, source: Source) -> None:
    """Refuse to import again as another kind what a plug-in imported: its cases would be there twice.

    Raises:
        BadInput: the library has the source, of a kind that this program does not have.
    """
    path = source.path.absolute()
    for known in library.catalogue.sources():
        if known.path == path and known_importer(known.kind) is None:
            raise BadInput(
                tr_lazy(
                    "'{path}' was imported as the kind '{kind}', which this program does not have.",
                    path=path,
                    kind=known.kind,
                ),
                missing_hint("importer", known.kind)
                or tr_lazy(
                    "Install the package that has it. Or name another kind with --kind, for further cases."
                ),
            )


class _ImportRun:
    """The state of a running import."""

    def __init__(
        self, source: Source, importer: Importer, library: Library, identified: bool, reporter: Reporter
    ) -> None:
        self.source, self.importer, self.library, self.reporter = source, importer, library, reporter
        self.added = self.unchanged = self.updated = self.relabelled = 0
        self.failures: list[dict[str, str]] = []
        self.ignored: list[dict[str, str]] = []
        self.duplicates: list[dict[str, str]] = []
        self.notes: list[str] = []
        self.record = self._source_record(identified)
        self.privacy = ImportPrivacy(self.record.identified, requested=identified)
        if not self.record.identified:
            source.pseudonyms = library.pseudonyms()
        source.earlier_rule = library.finding_rules.get(self.record.name, {})
        self.known = library.catalogue.files(self.record)
        #: The labels of the cases that the source had before; those of rows are compared as they are written.
        self.labels = library.catalogue.labels(self.record) if self.known and not importer.finds_rows else {}
        source.known_slices = self._slices_of
        self.finding_names = FindingNames(library.catalogue.finding_counts(), exact=importer.exact_findings)
        self.given_labels = given_labels(library)
        self.removed_case_ids = removed_case_ids(library)
        #: Content -> the case that shows it.
        self.contents = library.catalogue.image_contents()
        self.images = ImageReader()
        self.reader = FileReader(source, self.record.name, self.images, self.labels)
        self.visited_paths: set[str] = set()
        #: The cases that the source has; rows of tables only where it was imported before.
        self.case_ids: set[str] = set()
        self.n_cases = 0
        #: Cases that a person removed from the library.
        self.left_out: set[str] = set()
        #: Case -> what is unusual about its slices.
        self.geometry: dict[str, str] = {}
        #: Sentences about how files are written, and the files.
        self.remarks: dict[str, set[str]] = {}
        self.failed: set[str] = set()
        self.rejected: list[FileRecord] = []
        self.total = len(source.entries())

    def _slices_of(self, key: str) -> list[tuple[str, int | None]]:
        """The slices of the case that the library has under ``key``, or its file."""
        known = self.labels.get(self.reader.case_id(key))
        return [] if known is None else list(known.slices) or [(known.path, None)]

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
                    library=self.library.location.name,
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
                if isinstance(batch, FoundRows):
                    self._import_rows(batch, unfinished)
                else:
                    self._import(batch, unfinished, decoders)
                self._progress()
                self.reporter.partial(self.n_cases)
        self._check_in_place()
        self._write_rejected()
        self._store_rule()
        missing, removed = self._remove_vanished()
        forget_changed_columns(self.library, self.reporter)
        # Also if nothing is new, because an earlier import may have ended before or during the detection.
        detect_same_lesions(self.library, reporter=self.reporter)
        lesions = count_lesions(self.library.catalogue)
        self.notes = [*self.privacy.notes(), *self.source.notes, *self.finding_names.notes]
        if self.added and lesions["groups"]:
            self.notes.append(
                tr_lazy_n(
                    "{n} same-lesion group ({cases} cases) counts as one case.",
                    "{n} same-lesion groups ({cases} cases) count as one case each.",
                    lesions["groups"],
                    cases=lesions["cases"],
                )
            )
        if self.left_out:
            self.notes.append(
                tr_lazy_n(
                    "{n} case was left out because it was removed from the library by hand.",
                    "{n} cases were left out because they were removed from the library by hand.",
                    len(self.left_out),
                )
            )
        self._note_geometry()
        self.notes += [
            tr_lazy_n(
                "{path}: {remark}",
                "{n} files, such as {path}: {remark}",
                len(paths),
                path=self.source.label(min(paths)),
                remark=remark,
            )
            for remark, paths in self.remarks.items()
        ]
        label_conflicts = self._label_conflicts()
        summary = self.library.summary()
        return ImportResult(
            library=str(self.library.location),
            kind=self.importer.kind,
            added=self.added,
            unchanged=self.unchanged,
            updated=self.updated,
            relabelled=self.relabelled,
            failed=self.failures,
            ignored=self.ignored,
            duplicates=self.duplicates,
            label_conflicts=label_conflicts,
            missing=missing,
            removed=removed,
            cases=summary["cases"],
            patients=summary["patients"],
            findings=summary["findings"],
            notes=self.notes,
            lesions=lesions,
            lists=None if self.source.list_report is None else self.source.list_report.to_json(),
        )

    def _store_rule(self) -> None:
        """Remember by which rule findings were chosen, so that the next import and a change of the rule know it."""
        report = self.source.list_report
        rules = self.library.finding_rules
        if report is not None and rules.get(self.record.name) != report.rule:
            store_value(self.library.catalogue, RULES_KEY, {**rules, self.record.name: report.rule})

    def _note_geometry(self) -> None:
        """Say what is unusual about series, and which UIDs several patients have."""
        for case_id, problems in list(self.geometry.items())[:_NAMED]:
            self.notes.append(tr_lazy("{case}: {problems}.", case=case_id, problems=problems))
        if len(self.geometry) > _NAMED:
            self.notes.append(
                tr_lazy_n(
                    "The slices of {n} more case are unusual. The field Geometry of the case says in what.",
                    "The slices of {n} more cases are unusual. The field Geometry of each says in what.",
                    len(self.geometry) - _NAMED,
                )
            )
        if self.added and self.privacy.has_headers:
            for uid, cases in shared_uids(self.library.catalogue).items():
                # What came together is said above.
                if self.case_ids.intersection(cases) and not self.case_ids.issuperset(cases):
                    text = tr_lazy(
                        "{cases}: different patients have the same {uid} UID. Each patient has cases of its own.",
                        cases=", ".join(cases[:_NAMED]) + (", ..." if len(cases) > _NAMED else ""),
                        uid=uid[0],
                    )
                    self.notes.append(text)

    def _check_in_place(self) -> None:
        """
        Raises:
            SemblanceError: the library, the source or its disk was removed. Otherwise rows would be written into a
                deleted file, and all remaining files would count as unreadable.
        """
        if not self.library.is_still_at(self.library.location):
            raise SemblanceError(
                tr_lazy(
                    "The library {library} was removed or replaced during the import.",
                    library=self.library.location,
                ),
                "Connect its disk, or restore a backup. Then import again.",
            )
        if not self.source.path.exists():
            raise SemblanceError(
                tr_lazy(
                    "{source} was removed during the import. {n} cases were imported before.",
                    source=self.source.path,
                    n=self.added + self.unchanged,
                ),
                "Connect its disk and import again. Only what is missing is read.",
            )

    def _label_conflicts(self) -> list[dict[str, list[str]]]:
        """Cases of one lesion with different findings if this source has one of them.

        Equal rows of a table of coarse numbers form no group; the data check lists them.
        """
        groups = read_groups(self.library.catalogue)
        cases = [r for r in self.library.catalogue.cases_of_lesions() if r.finding]
        codes = lesion_codes(groups, cases)
        lesions: dict[int, dict[str, str]] = {}
        own = set[str]()
        for r in cases:
            if r.source == self.record.id:
                own.add(r.case_id)
            lesions.setdefault(codes[r.id], {})[r.case_id] = r.finding
        conflicts = [
            {"cases": list(findings), "findings": sorted(set(findings.values()))}
            for findings in lesions.values()
            if len(set(findings.values())) > 1 and not own.isdisjoint(findings)
        ]
        if conflicts:
            first = conflicts[0]
            self.notes.append(
                tr_lazy_n(
                    "{n} case is there several times with different findings: {cases} ({findings}). Research > Data "
                    "check… and `semblance check-data` list it.",
                    "{n} cases are there several times with different findings, the first as {cases} ({findings}). "
                    "Research > Data check… and `semblance check-data` list them.",
                    len(conflicts),
                    cases=", ".join(first["cases"][:_NAMED]),
                    findings=", ".join(first["findings"]),
                )
            )
        return conflicts

    def _progress(self) -> None:
        """Report the progress; the number of cases in a source that is one file is not known."""
        if self.source.kind == "file":
            self.reporter.progress(self.n_cases, None, "Importing")
        else:
            self.reporter.progress(min(len(self.visited_paths), self.total), self.total, "Importing")

    def _batches(self) -> Iterator[tuple[list[FoundCase] | FoundRows, str | None]]:
        """Cases in groups of about BATCH, rows of a table as they are found; only the rows of an array or a table are
        divided.

        With each group comes the file that has more cases than the group holds.
        """
        batch: list[FoundCase] = []
        rows: FoundRows | None = None
        size, most = 0, min(FIRST_BATCH, BATCH)
        scanned = self.importer.scan(self.source, self.reporter)
        for path, found in groupby(scanned, key=lambda item: item.path):
            for item in map(self.privacy.check, found):
                if isinstance(item, RejectedFile):
                    self._reject(item)
                    continue
                item = self._with_normal_texts(item)
                if isinstance(item, FoundRows):
                    if rows is not None:
                        yield rows, rows.path if rows.path == path else None
                    rows = item
                    continue
                if len(batch) >= most and (item.frame is not None or item.values is not None):
                    yield batch, path
                    batch, most = [], min(BATCH, 2 * most)
                batch.append(item)
                if "geometry" in item.attributes:
                    self.geometry[self.reader.case_id(item.key)] = item.attributes["geometry"]
                size += sum(self.reader.size(part) for part in item.paths if part not in self.visited_paths)
                self.visited_paths.update(item.paths)
            self.visited_paths.add(path)
            if len(batch) >= most or size >= BATCH_BYTES:
                yield batch, None
                batch, size, most = [], 0, min(BATCH, 2 * most)
        if batch:
            yield batch, None
        if rows is not None:
            yield rows, None

    def _with_normal_texts(self, item: FoundCase | FoundRows) -> FoundCase | FoundRows:
        """With one name for each finding, and texts in one form, so that they are found and equal however they are
        written."""
        if isinstance(item, FoundRows):
            return replace(item, findings=[self.finding_names.name(one) for one in item.findings])
        patient = None if item.patient is None or is_missing(item.patient) else composed(item.patient)
        attributes = {composed(name): composed(text) for name, text in item.attributes.items()}
        finding = self.finding_names.name(item.finding)
        return replace(item, finding=finding, patient=patient, attributes=attributes)

    def _import_rows(self, rows: FoundRows, unfinished: str | None) -> None:
        """Write rows of a table, of which more may follow, in one transaction."""
        case_ids = [self.reader.case_id(key) for key in rows.keys]
        if self.removed_case_ids:
            removed = {place for place, one in enumerate(case_ids) if one in self.removed_case_ids}
            self.left_out.update(case_ids[place] for place in removed)
            rows = rows.without(removed)
            case_ids = [one for place, one in enumerate(case_ids) if place not in removed]
        if not case_ids:
            self._ignore_removed(rows.path)
            return
        findings, patients = rows.findings, rows.patients
        if self.given_labels:
            given = [self.given_labels.get(one, {}) for one in case_ids]
            findings = [one.get("finding", found) for one, found in zip(given, findings, strict=True)]
            patients = [one.get("patient", found) for one, found in zip(given, patients, strict=True)]
        self.n_cases += len(case_ids)
        if self.known:
            self.case_ids.update(case_ids)
        self._write_rejected()
        self._check_in_place()
        if rows.columns != self.record.columns:
            self.library.catalogue.set_columns(self.record, rows.columns)
            self.record = replace(self.record, columns=rows.columns)
        known = self.known.get(rows.path)
        whole = unfinished is None or (known is not None and self.reader.is_unchanged(known))
        n = len(case_ids)
        written = put_rows(
            self.library.catalogue,
            self.record,
            self.reader.file_record(rows.path, whole=whole),
            TableRowRecords(
                case_ids,
                findings,
                patients,
                [rows.attributes_of(place) for place in range(n)] if rows.attributes else [{}] * n,
                contents_of_rows(rows.values),
                bytes_of_rows(rows.values),
            ),
            may_be_known=bool(self.known),
        )
        self.added += written.added + len(written.changed)
        self.updated += len(written.changed)
        self.unchanged += written.unchanged
        self.relabelled += written.relabelled

    def _import(self, batch: list[FoundCase], unfinished: str | None, decoders: ThreadPoolExecutor) -> None:
        unread_files: list[tuple[str, list[FoundCase]]] = []
        relabelled: list[FoundCase] = []
        returned: list[str] = []
        for path, found in groupby(batch, key=lambda case: case.path):
            cases = [self._with_given_labels(case) for case in found if not self._is_removed(case)]
            if not cases:
                self._ignore_removed(path)
                continue
            self.case_ids.update(self.reader.case_id(case.key) for case in cases)
            self.n_cases = len(self.case_ids)
            known = self.known.get(path)
            parts = {part for case in cases for part in case.paths}
            if known is None or not all(self._is_unchanged(part) for part in parts):
                unread_files.append((path, cases))
                continue
            unread = [case for case in cases if not self._is_catalogued(case)]
            if unread:
                unread_files.append((path, unread))
            returned += sorted(part for part in parts if self.known[part].state != "ok")
            self.unchanged += len(cases) - len(unread)
            relabelled += [case for case in cases if case not in unread and self._has_new_labels(case)]
        self._write_rejected()
        self._relabel(relabelled)
        if returned:
            self.library.catalogue.set_state(self.record, returned, "ok")
        if unread_files:
            self._read(unread_files, unfinished, decoders)

    def _with_given_labels(self, case: FoundCase) -> FoundCase:
        """With the finding and the patient that a person assigned to the case, which are not in the source."""
        given = self.given_labels.get(self.reader.case_id(case.key))
        return replace(case, **given) if given else case  # type: ignore[arg-type]

    def _is_removed(self, case: FoundCase) -> bool:
        """Whether a person removed the case from the library."""
        case_id = self.reader.case_id(case.key)
        if case_id not in self.removed_case_ids:
            return False
        self.left_out.add(case_id)
        return True

    def _ignore_removed(self, path: str) -> None:
        reason = tr_lazy("It was removed from the library. Edit > Undo brings it back.")
        self.ignored.append({"path": self.source.label(path), "reason": reason})

    def _is_unchanged(self, path: str) -> bool:
        known = self.known.get(path)
        return known is not None and known.state != "failed" and self.reader.is_unchanged(known)

    def _is_catalogued(self, case: FoundCase) -> bool:
        before = self.labels.get(self.reader.case_id(case.key))
        return before is not None and (before.path, before.region, before.slices) == (
            case.path,
            case.region,
            case.slices,
        )

    def _has_new_labels(self, case: FoundCase) -> bool:
        """Whether the source has other labels for a known case than before."""
        before = self.labels.get(self.reader.case_id(case.key))
        labels = (case.finding, case.patient, self._attributes(case))
        return before is not None and (before.finding, before.patient, dict(before.attributes)) != labels

    def _attributes(self, case: FoundCase) -> dict[str, str]:
        """The attributes in the source, and what is known from the image itself."""
        before = self.labels.get(self.reader.case_id(case.key))
        measured = {} if before is None else before.attributes
        return {**case.attributes, **{k: v for k, v in measured.items() if k == MARKS_ATTRIBUTE}}

    def _relabel(self, cases: list[FoundCase]) -> None:
        self.library.catalogue.relabel(
            (self.reader.case_id(case.key), case.finding, case.patient, self._attributes(case))
            for case in cases
        )
        self.relabelled += len(cases)

    def _read(
        self,
        unread_files: list[tuple[str, list[FoundCase]]],
        unfinished: str | None,
        decoders: ThreadPoolExecutor,
    ) -> None:
        """Read new and changed cases and write them in one transaction, thumbnails first."""
        files: list[FileRecord] = []
        records: list[CaseRecord] = []
        images: dict[str, bytes] = {}

        def read(group: tuple[str, list[FoundCase]]) -> ReadResult:
            path, cases = group
            known = self.known.get(path)
            whole = path != unfinished or (known is not None and self.reader.is_unchanged(known))
            return self.reader.read(path, cases, whole=whole)

        # Closed when cancelled, because otherwise leaving the executor would wait for all unread files.
        with closing(decoders.map(read, unread_files)) as outcomes:  # type: ignore[type-var]
            for outcome in outcomes:
                self.reporter.check_cancelled()
                files += [outcome.file, *outcome.slices]
                for remark, path in outcome.remarks:
                    self.remarks.setdefault(remark, set()).add(path)
                records += outcome.cases
                images.update(outcome.images)
                for path, reason in outcome.failed:
                    self._fail(path, reason)
                    if path != outcome.file.path:
                        files.append(FileRecord(path, 0, 0, "", "failed", reason))
        self._check_in_place()
        self.library.thumbnails.put(images.items())
        columns = next((case.columns for _, cases in unread_files for case in cases if case.columns), ())
        if columns and columns != self.record.columns:
            self.library.catalogue.set_columns(self.record, columns)
            self.record = replace(self.record, columns=columns)
        changed = dict(self.library.catalogue.put(self.record, files, records))
        self._count({case.key: case for _, cases in unread_files for case in cases}, records, changed)

    def _count(
        self, found: Mapping[str, FoundCase], records: list[CaseRecord], changed: Mapping[str, str]
    ) -> None:
        """Count written cases as added, updated (which are added too), unchanged and duplicates."""
        for case_id, before in changed.items():
            if self.contents.get(before) == case_id:
                del self.contents[before]
        with_new_labels = {
            self.reader.case_id(case.key) for case in found.values() if self._has_new_labels(case)
        }
        for record in records:
            if record.case_id in self.labels and record.case_id not in changed:
                self.unchanged += 1
                self.relabelled += record.case_id in with_new_labels
            else:
                self.added += 1
                self.updated += record.case_id in changed
            first = self.contents.setdefault(record.content, record.case_id)
            if first != record.case_id and record.numbers is None:
                self.duplicates.append({"path": self.source.label(record.path), "of": first})

    def _fail(self, path: str, reason: str) -> None:
        self.visited_paths.add(path)
        if path not in self.failed:
            self.failed.add(path)
            self.failures.append({"path": self.source.label(path), "reason": reason})

    def _reject(self, item: RejectedFile) -> None:
        if item.failed:
            self._fail(item.path, item.reason)
        else:
            self.visited_paths.add(item.path)
            self.ignored.append({"path": self.source.label(item.path), "reason": item.reason})
        state = "failed" if item.failed else "ignored"
        known = self.known.get(item.path)
        if known is None or (known.state, known.reason) != (state, item.reason):
            size, stamp = self.reader.size(item.path), self.reader.stamp(item.path)
            self.rejected.append(FileRecord(item.path, size, stamp, "", state, item.reason))

    def _write_rejected(self) -> None:
        if self.rejected:
            self.library.catalogue.put(self.record, self.rejected, [])
            self.rejected = []

    def _remove_vanished(self) -> tuple[list[str], list[str]]:
        """Mark missing files, and remove cases that the source no longer contains; returns the names of the files and
        the ids of the cases."""
        if not self.known:
            return [], []
        catalogue = self.library.catalogue
        slices_of = slices_of_source(catalogue.read, self.record.id)
        vanished, with_cases = [], set[str]()
        for case_id, path in catalogue.case_files(self.record):
            if case_id in self.case_ids or path not in self.visited_paths or path in self.failed:
                with_cases.update((path, *(part for part, _ in slices_of.get(case_id, ()))))
            else:
                vanished.append(case_id)
        not_visited = [path for path in self.known if path not in self.visited_paths]
        missing_files = [path for path in not_visited if path in with_cases]
        without_cases = [path for path in not_visited if path not in with_cases]
        if vanished or without_cases:
            catalogue.remove(self.record, without_cases, vanished)
        if missing_files:
            catalogue.set_state(self.record, missing_files, "missing", NOT_THERE)
        # A volume remains without a missing slice; the slice was known, so it is reported.
        slice_paths = {part for label in self.labels.values() for part, _ in label.slices}
        missing = {*missing_files, *(path for path in without_cases if path in slice_paths)}
        return sorted(self.source.label(path) for path in missing), sorted(vanished)
