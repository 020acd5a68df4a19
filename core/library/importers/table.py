"""Tables: each row is a case without an image."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from pathlib import PurePosixPath
from typing import Self

from semblance.core.errors import BadInput
from semblance.core.imaging.formats import has_image_name
from semblance.core.language import tr_lazy, tr_lazy_n
from semblance.core.library.importers.image_files import ignored_files
from semblance.core.library.importers.importer import FoundRows, Importer, Recognition, RejectedFile
from semblance.core.library.importers.parquet_table import PARQUET_SUFFIXES
from semblance.core.library.importers.read_table import open_table
from semblance.core.library.importers.source import Entry, Source
from semblance.core.library.importers.table_file import PARAMETERS, TableFile, TableFormat
from semblance.core.limits import MAX_STREAMED_TABLE_BYTES
from semblance.core.parameters import Value
from semblance.core.tasks import Reporter

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
            yield RejectedFile(
                f"{table.name}:{failed.line}",
                table.describe(failed),
                failed=True,
            )
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
