"""Read a whole table, or its first rows."""

from __future__ import annotations

import io
from dataclasses import dataclass
from pathlib import Path
from typing import BinaryIO

import numpy as np

from semblance.core.errors import BadInput
from semblance.core.imaging.zip_archive import open_regular_file
from semblance.core.library.findings import FindingNames
from semblance.core.library.importers.csv_table import CsvTable
from semblance.core.library.importers.csv_text import DELIMITERS, CsvFile
from semblance.core.library.importers.encodings import whole_lines
from semblance.core.library.importers.parquet_table import ParquetTable, is_parquet
from semblance.core.library.importers.table_file import Table, TableFile, TableFormat
from semblance.core.limits import MAX_STREAMED_TABLE_BYTES, MAX_TABLE_BYTES

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
    "case", "number", "text" or "" for none), and the cells. ``problem``: why it would be refused instead; the first row
    is then among ``rows``, and ``uses`` is empty."""

    columns: tuple[str, ...]
    uses: tuple[str, ...]
    rows: tuple[tuple[str, ...], ...]
    problem: str = ""


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
            tuple(f"column{i + 1}" for i in range(max(map(len, rows)))),
            (),
            rows,
            error.message,
        )
    return TablePreview(tuple(table.header), table.uses(), table.first_rows(n_rows))
