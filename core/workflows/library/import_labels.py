"""Set findings and patients of the cases of a library from a CSV file, with a preview of what matches.

A line names its case in ``case_id`` or ``id``, or its image in one of the columns of ``labels.csv``
(:mod:`semblance.core.library.importers.labels_csv`): by its path, or by its name where only one case has it. An empty
cell leaves the label as it is.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from enum import Enum
from pathlib import Path, PurePosixPath
from typing import TYPE_CHECKING, Any, ClassVar

from semblance.core.errors import BadArguments, BadInput
from semblance.core.json_document import JsonDocument
from semblance.core.language import tr_lazy
from semblance.core.library.findings import FindingNames
from semblance.core.library.importers.csv_text import (
    FINDING_COLUMNS,
    IMAGE_COLUMNS,
    PATIENT_COLUMNS,
    CsvText,
    column_named,
    read_list,
)
from semblance.core.library.importers.importer import AUTO, COMMON_PARAMETERS, EXACT
from semblance.core.library.importers.registry import known_importer
from semblance.core.library.importers.source import Source
from semblance.core.library.location import LibraryLocation
from semblance.core.normal_text import composed, is_missing
from semblance.core.parameters import parse_settings
from semblance.core.tasks import SILENT, Reporter
from semblance.core.workflows.library.edit_cases import EditResult, EditTransaction, checked_label
from semblance.core.workflows.library.edit_kinds import EditKind

if TYPE_CHECKING:
    from semblance.core.library.library import Library

_CASE_COLUMNS = ("case_id", "case id", "id", "case")


class LabelLineStatus(Enum):
    """What a line of the file changes in the library."""

    CHANGED = "changed"
    SAME = "same"
    UNMATCHED = "unmatched"
    AMBIGUOUS = "ambiguous"
    CONTRADICTORY = "contradictory"
    UNREADABLE = "unreadable"


@dataclass(frozen=True)
class LabelLine(JsonDocument):
    """A line of the file: the name in it, the case it matches, and that case's labels before and after.

    ``reason``: why it changes nothing, if it matches no case or several, or cannot be read.
    """

    JSON_NULL: ClassVar[tuple[str, ...]] = ("case_id",)

    line: int
    name: str
    state: LabelLineStatus
    case_id: str = ""
    finding: tuple[str | None, str | None] = (None, None)
    patient: tuple[str | None, str | None] = (None, None)
    reason: str = ""


@dataclass(frozen=True)
class LabelImport:
    """The lines of a file of labels, and the edit it is, or would be; ``notes``: what a person should check."""

    lines: tuple[LabelLine, ...]
    edit: EditResult
    notes: tuple[str, ...] = ()

    @property
    def counts(self) -> Mapping[LabelLineStatus, int]:
        """The number of lines in each state."""
        found = Counter(line.state for line in self.lines)
        return {state: found[state] for state in LabelLineStatus}

    def to_json(self) -> dict[str, Any]:
        """The result as ``semblance import-labels --json`` prints it."""
        counts = {state.value: n for state, n in self.counts.items()}
        lines = [line.to_json() for line in self.lines]
        return {**self.edit.to_json(), **counts, "lines": lines, "notes": list(map(str, self.notes))}


def import_labels(
    library: LibraryLocation,
    file: Path,
    *,
    settings: Sequence[str] = (),
    dry_run: bool = False,
    reporter: Reporter = SILENT,
) -> LabelImport:
    """Give the cases named by the lines of ``file`` the findings and patients in these lines.

    ``dry_run`` changes nothing and returns what would change. ``settings`` are ``key=value`` texts of the encoding and
    of exact findings, as for an import. A text that stands for a missing value changes nothing. Patients of
    de-identified DICOM files get the codes of this library.

    Raises:
        BadArguments: unknown settings.
        BadInput: no such file, no table, or one without a column of names and one of labels.
    """
    from semblance.core.library.schema import cases

    form = parse_settings("a file of labels", COMMON_PARAMETERS, list(settings))
    encoding, exact = form.get("encoding", AUTO), form.get("findings") == EXACT
    text, columns, notes = _read(file, None if encoding == AUTO else str(encoding))
    transaction = EditTransaction(library, EditKind.LABELS_FILE, {"file": file.name, "n": 0}, dry_run=dry_run)
    with transaction.edit() as running:
        lines = tuple(_lines(running.library, text, columns, exact))
        changed = {
            line.case_id: {"finding": line.finding[1], "patient": line.patient[1]}
            for line in lines
            if line.state == LabelLineStatus.CHANGED
        }
        running.changed = running.summary["n"] = running.recorder.update(cases, changed)
    return LabelImport(lines, transaction.result, notes)


def preview_labels(library: LibraryLocation, file: Path, *, reporter: Reporter = SILENT) -> LabelImport:
    """What :func:`import_labels` would change; for a job.

    Raises:
        BadInput: as :func:`import_labels`.
    """
    return import_labels(library, file, dry_run=True)


def apply_labels(library: LibraryLocation, file: Path, *, reporter: Reporter = SILENT) -> EditResult:
    """What :func:`import_labels` changed; for a job.

    Raises:
        BadInput: as :func:`import_labels`.
    """
    return import_labels(library, file).edit


@dataclass(frozen=True)
class _Columns:
    name: int
    finding: int | None
    patient: int | None


def _read(file: Path, encoding: str | None) -> tuple[CsvText, _Columns, tuple[str, ...]]:
    with Source.open(file) as source:
        source.encoding = encoding
        if source.kind != "file":
            raise BadInput(
                tr_lazy("{file} is not a table of labels.", file=file.name), "Choose a CSV file with labels."
            )
        text = read_list(source, "")
    name = column_named(text.header, *_CASE_COLUMNS, *IMAGE_COLUMNS)
    finding, patient = (
        column_named(text.header, *FINDING_COLUMNS),
        column_named(text.header, *PATIENT_COLUMNS),
    )
    if name is None:
        raise BadInput(
            tr_lazy("No column of '{file}' names cases or images.", file=file.name),
            tr_lazy("Name it '{case}' or '{image}'.", case=_CASE_COLUMNS[0], image=IMAGE_COLUMNS[1]),
        )
    if finding is None and patient is None:
        raise BadInput(
            tr_lazy("No column of '{file}' holds findings or patients.", file=file.name),
            tr_lazy("Name it '{finding}' or '{patient}'.", finding="finding", patient="patient"),
        )
    return text, _Columns(name, finding, patient), tuple(source.notes)


def _lines(library: Library, text: CsvText, columns: _Columns, exact: bool) -> Iterator[LabelLine]:
    finder = _CaseFinder(library, exact=exact)
    matched: list[LabelLine] = []
    for row, number in zip(text.rows, text.lines, strict=True):
        matched.append(_line(finder, row, number, columns))
    wanted: dict[str, set[tuple[str | None, str | None]]] = {}
    for line in matched:
        wanted.setdefault(line.case_id, set()).add((line.finding[1], line.patient[1]))
    unreadable = [
        LabelLine(failed.line, "", LabelLineStatus.UNREADABLE, reason=failed.reason) for failed in text.failed
    ]
    seen: set[str] = set()
    for line in sorted([*matched, *unreadable], key=lambda one: one.line):
        if line.case_id and len(wanted[line.case_id]) > 1:
            reason = tr_lazy("Other lines give this case other labels.")
            yield replace(line, state=LabelLineStatus.CONTRADICTORY, reason=reason)
        elif line.case_id and line.case_id in seen:
            yield replace(line, state=LabelLineStatus.SAME)
        else:
            yield line
        seen.add(line.case_id)


def _line(finder: _CaseFinder, row: Sequence[str], number: int, columns: _Columns) -> LabelLine:
    name = row[columns.name]
    found = finder.find(name)
    if len(found) != 1:
        reason = (
            tr_lazy("{n} cases have this name: {cases}.", n=len(found), cases=", ".join(found[:3]))
            if found
            else tr_lazy("No case has this name.")
        )
        return LabelLine(
            number, name, LabelLineStatus.AMBIGUOUS if found else LabelLineStatus.UNMATCHED, reason=reason
        )
    case = finder.cases[found[0]]
    finding, patient = case.finding, case.patient
    try:
        written = None if columns.finding is None else finder.findings.name(row[columns.finding])
        if written is not None:
            finding = checked_label(written, tr_lazy("A finding"))
        if columns.patient is not None and not is_missing(row[columns.patient]):
            patient = finder.patient(case, checked_label(row[columns.patient], tr_lazy("A patient")))
    except BadArguments as error:
        return LabelLine(number, name, LabelLineStatus.UNREADABLE, reason=error.message)
    changed = (finding, patient) != (case.finding, case.patient)
    return LabelLine(
        number,
        name,
        LabelLineStatus.CHANGED if changed else LabelLineStatus.SAME,
        case.case_id,
        (case.finding, finding),
        (case.patient, patient),
    )


class _CaseFinder:
    """Finds the cases that a line may mean. An exact match has priority over names without their folder."""

    def __init__(self, library: Library, *, exact: bool = False) -> None:
        import sqlalchemy as sa

        from semblance.core.library.pseudonyms import known_pseudonyms
        from semblance.core.library.schema import cases, files, sources

        query = (
            sa.select(
                cases.c.case_id,
                cases.c.finding,
                cases.c.patient,
                files.c.path,
                sources.c.kind,
                sources.c.identified,
            )
            .join(files, files.c.id == cases.c.file)
            .join(sources, sources.c.id == files.c.source)
        )
        self.cases = {r.case_id: r for r in library.catalogue.read(query)}
        #: A finding that the library has keeps its spelling.
        self.findings = FindingNames(library.catalogue.finding_counts(), exact=exact)
        #: Exists if a de-identified source was imported.
        self._pseudonyms = known_pseudonyms(library.catalogue)
        self._patients = {r.patient for r in self.cases.values()}
        #: Kinds of names, the most certain first: name -> the cases that have it.
        self._levels: list[dict[str, list[str]]] = [{}, {}, {}, {}]
        for case_id, r in self.cases.items():
            path = PurePosixPath(composed(r.path))
            names = PurePosixPath(composed(case_id))
            for level, keys in enumerate(
                (
                    {composed(case_id)},
                    {composed(r.path)},
                    {
                        one.casefold()
                        for one in (
                            composed(case_id),
                            composed(r.path),
                            str(path.with_suffix("")) if path.name else "",
                        )
                    },
                    {one.casefold() for one in (path.name, path.stem, names.name, names.stem)},
                )
            ):
                for key in keys - {""}:
                    self._levels[level].setdefault(key, []).append(case_id)

    def find(self, text: str) -> list[str]:
        """The cases that ``text`` may mean."""
        written = text.replace("\\", "/").removeprefix("./")
        if not written:
            return []
        exact, path, folded, name = self._levels
        return (
            exact.get(text)
            or path.get(written)
            or folded.get(written.casefold())
            or name.get(PurePosixPath(written).name.casefold())
            or []
        )

    def patient(self, case: Any, patient: str) -> str:
        """``patient`` as in the catalogue: in de-identified DICOM sources its code.

        Raises:
            BadInput: the library has no key to make it with.
        """
        importer = known_importer(case.kind)
        if (
            case.identified
            or (importer is not None and not importer.reads_headers)
            or patient in self._patients
        ):
            # It may be the code itself.
            return patient
        if self._pseudonyms is None:
            raise BadInput(
                "The library has no key for patients' pseudonyms.", "Import its images into a new library."
            )
        return self._pseudonyms.patient(patient)
