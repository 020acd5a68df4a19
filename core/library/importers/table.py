"""Tables: each row is a case without an image."""

from __future__ import annotations

import io
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path, PurePosixPath
from typing import BinaryIO, Self

import numpy as np

from semblance.core.errors import BadInput
from semblance.core.imaging.formats import has_image_name
from semblance.core.imaging.zip_archive import open_regular_file
from semblance.core.language import tr_lazy, tr_lazy_n
from semblance.core.library.findings import FindingNames
from semblance.core.library.importers.csv_table import CsvTable
from semblance.core.library.importers.csv_text import DELIMITERS, CsvFile
from semblance.core.library.importers.encodings import whole_lines
from semblance.core.library.importers.image_files import ignored_files
from semblance.core.library.importers.importer import FoundRows, Importer, Recognition, RejectedFile
from semblance.core.library.importers.parquet_table import PARQUET_SUFFIXES, ParquetTable, is_parquet
from semblance.core.library.importers.source import Entry, Source
from semblance.core.library.importers.table_file import PARAMETERS, Table, TableFile, TableFormat
from semblance.core.limits import MAX_STREAMED_TABLE_BYTES, MAX_TABLE_BYTES
from semblance.core.parameters import Value
from semblance.core.tasks import Reporter

#: Bytes at the start of a table that are read for a preview.
_PREVIEW_BYTES = 1 << 20


def open_table(
    file: BinaryIO, name: str, form: TableFormat | None = None, *, max_bytes: int = MAX_TABLE_BYTES
) -> TableFile:
    """The table in an open CSV or Parquet file called ``name``, whose rows are read when they are asked for.

    ``max_bytes``: those of the largest file that is read.

    Raises:
        BadInput: as :func:`read_table`, but for a table without any row that can be used.
        SemblanceError: a Parquet file, and PyArrow is not installed.
    """
    table = ParquetTable if is_parquet(file, name) else CsvTable
    return table(file, name, form, max_bytes=max_bytes)


def read_table(where: Path | str | bytes, name: str = "", form: TableFormat | None = None) -> Table:
    """The table in a file, or in the bytes of one called ``name``.

    Raises:
        BadInput: missing, not UTF-8 CSV, written in a way that can be meant in two ways, no column of numbers, no
            finding, or no row that can be used.
    """
    if isinstance(where, bytes):
        return _whole_table(open_table(io.BytesIO(where), name, form), form)
    name = name or str(where)
    with open_regular_file(Path(where), name) as file:
        return _whole_table(open_table(file, name, form), form)


def _whole_table(file: TableFile, form: TableFormat | None) -> Table:
    X = np.empty((file.n_rows, len(file.columns)))
    table = Table(file.name, X, file.columns, file.finding_column, [], [], None, {}, [], file.left_out)
    start = 0
    for rows in file.rows():
        X[start : start + len(rows.X)] = rows.X
        start += len(rows.X)
        table.findings += rows.findings
        table.case_ids += rows.case_ids
        table.failed += rows.failed
        if rows.patient_ids is not None:
            table.patient_ids = table.patient_ids or []
            table.patient_ids += rows.patient_ids
        for column, cells in rows.attributes.items():
            table.attributes.setdefault(column, []).extend(cells)
    table.X = X[:start]
    names = FindingNames(exact=(form or TableFormat()).exact)
    table.findings = [names.name(one) for one in table.findings]
    table.notes = [*file.notes, *names.notes]
    return table


@dataclass(frozen=True)
class TablePreview:
    """The first rows of a table as they would be imported: its columns, what each is used as ("finding", "patient",
    "case", "number", "text" or "" for none; of a list of images as :mod:`.list_columns` names it), and the cells.
    ``problem``: why it would be refused instead; the first row is then among ``rows``, and ``uses`` is empty.
    ``note``: which table of several it is."""

    columns: tuple[str, ...]
    uses: tuple[str, ...]
    rows: tuple[tuple[str, ...], ...]
    problem: str = ""
    note: str = ""


def preview_table(file: BinaryIO, name: str, form: TableFormat, n_rows: int) -> TablePreview:
    """The first ``n_rows`` of an open table, by the start of the file only.

    Raises:
        BadInput: it cannot be divided into cells.
    """
    if is_parquet(file, name):
        whole = ParquetTable(file, name, form, max_bytes=MAX_STREAMED_TABLE_BYTES, surveyed_rows=n_rows)
        return TablePreview(tuple(whole.header), whole.uses(), whole.first_rows(n_rows))
    data = file.read(_PREVIEW_BYTES)
    if len(data) == _PREVIEW_BYTES:
        data = whole_lines(data) or data
    sample = io.BytesIO(data)
    try:
        table = CsvTable(sample, name, form)
    except BadInput as error:
        cells = CsvFile(sample, name, form.delimiter or DELIMITERS[0], form.encoding)
        rows = cells.first_rows(n_rows)
        return TablePreview(
            tuple(f"column{i + 1}" for i in range(max(map(len, rows)))), (), rows, error.message
        )
    return TablePreview(tuple(table.header), table.uses(), table.first_rows(n_rows))


_SUFFIXES = frozenset((".csv", ".tsv")) | PARQUET_SUFFIXES


class TableImporter(Importer):
    """A CSV or Parquet file, or a folder or zip of such files with the same columns of numbers."""

    kind = "table"
    title = "Table of numbers"
    summary = (
        "CSV or Parquet files: one row a case, columns of numbers, the finding in 'label' or the last column."
    )
    finds_rows = True
    parameters = PARAMETERS

    def __init__(self, form: TableFormat | None = None) -> None:
        self._form = form

    def with_settings(self, values: Mapping[str, Value]) -> Self:
        """An importer of tables that are written like this."""
        made = super().with_settings(values)
        made._form = TableFormat.of(values)
        return made

    def recognise(self, source: Source) -> Recognition | None:
        """Where at least half of the files are tables and none is an image."""
        entries = source.entries()
        tables = [entry for entry in entries if is_table(source, entry)]
        if 2 * len(tables) < len(entries) or not tables:
            return None
        if any(has_image_name(source.label(entry.path)) for entry in entries):
            return None
        what = tr_lazy_n("{n} table", "{n} tables", len(tables))
        return Recognition(
            0.9 if source.kind == "file" else 0.7, tr_lazy("{what}, one row a case.", what=what)
        )

    def scan(self, source: Source, reporter: Reporter) -> Iterator[FoundRows | RejectedFile]:
        """One case for each row of each table; damaged rows are rejected with their line."""
        yield from ignored_files(source)
        first: TableFile | None = None
        for entry in source.entries():
            reporter.check_cancelled()
            name = source.label(entry.path)
            if not is_table(source, entry):
                yield RejectedFile(
                    name,
                    tr_lazy("Its name does not end in .csv, .tsv or .parquet, as that of a table does."),
                    failed=False,
                )
                continue
            try:
                with source.stream(entry.path) as file:
                    table = open_table(file, name, self._form, max_bytes=MAX_STREAMED_TABLE_BYTES)
                    if first is not None and table.columns != first.columns:
                        reason = tr_lazy(
                            "Its columns differ from those of '{first}'. Import it separately.",
                            first=first.name,
                        )
                        yield RejectedFile(name, reason, failed=True)
                        continue
                    first = first or table
                    source.notes += [*table.notes, *table.telling_notes()]
                    yield from _cases_of_table(table, entry.path)
            except BadInput as error:
                if source.kind == "file":
                    raise
                yield RejectedFile(name, str(error), failed=True)


def is_table(source: Source, entry: Entry) -> bool:
    """Whether a file is named like a table."""
    return PurePosixPath(source.label(entry.path)).suffix.lower() in _SUFFIXES


def _cases_of_table(table: TableFile, path: str) -> Iterator[FoundRows | RejectedFile]:
    for column, reason in table.left_out:
        yield RejectedFile(
            f"{table.name}:{column}", tr_lazy("Left out: {reason}.", reason=reason), failed=False
        )
    for rows in table.rows():
        for failed in rows.failed:
            yield RejectedFile(f"{table.name}:{failed.line}", table.describe(failed), failed=True)
        n = len(rows.case_ids)
        if n:
            yield FoundRows(
                path,
                [f"{path}/{case_id}" for case_id in rows.case_ids] if path else rows.case_ids,
                rows.findings,
                [None] * n if rows.patient_ids is None else rows.patient_ids,
                rows.attributes,
                rows.X,
                table.columns,
            )
