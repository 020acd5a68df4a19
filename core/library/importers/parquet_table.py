"""Tables in Parquet files: read a few thousand rows at a time, used as a CSV file with the same cells would be.

Columns of numbers are taken as they are; all other columns are read as text. The file comes from a stranger: it is not
trusted for the sizes it states, and neither one cell nor all texts together may take more memory than a CSV file could.
"""

from __future__ import annotations

import json
import os
from collections.abc import Iterator
from itertools import islice
from pathlib import PurePosixPath
from typing import TYPE_CHECKING, Any, BinaryIO

import numpy as np
import numpy.typing as npt

from semblance.core.errors import BadInput
from semblance.core.language import tr_lazy
from semblance.core.library.importers.csv_text import (
    CASE_COLUMNS,
    LONGEST_CELL,
    PATIENT_COLUMNS,
    Cells,
    CsvRowBlock,
    FailedRow,
    check_number_of_columns,
    checked_header,
)
from semblance.core.library.importers.encodings import check_size
from semblance.core.library.importers.table_file import ColumnSurvey, RowSample, TableFile, TableFormat
from semblance.core.limits import MAX_TABLE_BYTES, MEMORY_VARIABLE, expansion_limit, max_unpacked, size_text
from semblance.core.normal_text import composed

if TYPE_CHECKING:
    import pyarrow as pa

PARQUET_SUFFIXES = frozenset((".parquet", ".pq"))
#: Rows that are held at a time.
_ROWS = 2000
_MAGIC = b"PAR1"
_SAVE_AS_CSV = tr_lazy("Write it again, or save the table as CSV in UTF-8.")
#: Bytes of a column that are read from the disk at once.
BUFFER = 1 << 18
#: Bytes of a name or statistic in the description of a file, and entries of a list there.
READ_LIMITS = {"thrift_string_size_limit": 16 << 20, "thrift_container_size_limit": 1 << 20}


def is_parquet(file: BinaryIO, name: str) -> bool:
    """Whether an open file is a Parquet file, by its first bytes, or is called one."""
    file.seek(0)
    head = file.read(len(_MAGIC))
    file.seek(0)
    return head == _MAGIC or PurePosixPath(name).suffix.lower() in PARQUET_SUFFIXES


def check_values(described: Any, n_values: int, n_bytes: int, name: str) -> None:
    """Check what the description of a file of ``n_bytes`` states, ``n_values`` among it.

    Raises:
        ValueError: its sizes contradict each other.
        BadInput: it states more values than a file of its size may have.
    """
    groups = [described.row_group(number) for number in range(described.num_row_groups)]
    unpacked = max((group.total_byte_size for group in groups), default=0)
    if min(n_values, unpacked) < 0 or sum(group.num_rows for group in groups) != described.num_rows:
        raise ValueError("its sizes contradict each other")
    if 8 * n_values > expansion_limit(n_bytes) or unpacked > max_unpacked(n_bytes):
        raise _too_large(name, n_bytes)


def _too_large(name: str, n_bytes: int) -> BadInput:
    return BadInput(
        tr_lazy("'{name}' has {size} and would unpack to far more.", name=name, size=size_text(n_bytes)),
        tr_lazy(
            "Check that it is the right file. If it is, allow more memory with the environment variable "
            "{variable}.",
            variable=MEMORY_VARIABLE,
        ),
    )


def damage_error(name: str, error: Exception, remedy: str) -> BadInput:
    """The error about the file ``name``, of which PyArrow says ``error``."""
    reason = " ".join(str(error).split())[:200] or type(error).__name__
    return BadInput(
        tr_lazy("The Parquet file '{name}' cannot be read: {reason}.", name=name, reason=reason), remedy
    )


class ParquetTable(TableFile):
    """A table in a Parquet file. Its rows are numbered from 1."""

    def __init__(
        self,
        file: BinaryIO,
        name: str,
        form: TableFormat | None = None,
        *,
        max_bytes: int = MAX_TABLE_BYTES,
        surveyed_rows: int | None = None,
    ) -> None:
        """``max_bytes``: those of the largest file. ``surveyed_rows``: find out what the columns hold by the first rows
        only, for a preview.

        Raises:
            BadInput: damaged, of values that would fill the memory, no column of numbers, no finding, or PyArrow is
                not installed.
        """
        self.name, self._form = name, form or TableFormat()
        parquet = import_parquet()
        self._bytes = file.seek(0, os.SEEK_END)
        check_size(self._bytes, name, max_bytes)
        file.seek(0)
        try:
            described = parquet.ParquetFile(file, **READ_LIMITS).metadata
            check_values(described, described.num_rows * max(1, described.num_columns), self._bytes, name)
            schema = described.schema.to_arrow_schema()
            file.seek(0)
            self._file = parquet.ParquetFile(
                file,
                buffer_size=BUFFER,
                pre_buffer=False,
                # A text that many rows share is then in memory once.
                read_dictionary=[field.name for field in schema if _is_text(field.type)],
                **READ_LIMITS,
            )
        except BadInput:
            raise
        except Exception as error:
            raise damage_error(self.name, error, _SAVE_AS_CSV) from error
        self.header = checked_header([composed(one.strip()) for one in schema.names], name)
        self._index_columns = _named_index(schema)
        check_number_of_columns(len(self.header), name)
        self._types = [field.type for field in schema]
        self._surveys = [ColumnSurvey() for _ in self.header]
        self._last_cells, self._n_characters = set(), 0
        self._sample = RowSample(len(self.header))
        self._survey(surveyed_rows)
        self._check_unnamed()
        self._choose_columns()
        nested = {
            column for column, kind in zip(self.header, self._types, strict=True) if not is_usable(kind)
        }
        self.left_out = [
            (column, tr_lazy("the column contains neither numbers nor text") if column in nested else reason)
            for column, reason in self.left_out
        ]

    def first_rows(self, n_rows: int) -> tuple[tuple[str, ...], ...]:
        """The cells of the first rows."""
        batches = ([self._texts(column) for column in batch.columns] for batch in self._batches(n_rows))
        return tuple(islice((row for columns in batches for row in zip(*columns, strict=True)), n_rows))

    def describe(self, failed: FailedRow) -> str:
        """Which row cannot be used, and why."""
        return tr_lazy("Row {row}: {reason}.", row=failed.line, reason=failed.reason)

    def _batches(self, n_rows: int = _ROWS) -> Iterator[pa.RecordBatch]:
        """All rows, at most ``n_rows`` at a time.

        Raises:
            BadInput: they are damaged.
        """
        try:
            yield from self._file.iter_batches(batch_size=n_rows, use_threads=False)
        except BadInput:
            raise
        except Exception as error:
            # Its decoders raise what they like.
            raise damage_error(self.name, error, _SAVE_AS_CSV) from error

    def _survey(self, most: int | None) -> None:
        self.n_rows, last = 0, self._last_named()
        for batch in self._batches():
            first = self.n_rows + 1
            lines = range(first, first + batch.num_rows)
            sampled: list[Cells] = []
            for place, (survey, column) in enumerate(zip(self._surveys, batch.columns, strict=True)):
                kind = self._types[place]
                if not is_usable(kind):
                    sampled.append([""] * batch.num_rows)
                    continue
                if is_numeric(kind):
                    n_filled = int(np.isfinite(values := _values(column)).sum() + np.isinf(values).sum())
                    survey.filled, survey.numbers = survey.filled + n_filled, survey.numbers + n_filled
                    survey.whole.add(values)
                    sampled.append(values)
                    if place == last:
                        self._add_last_cells(self._texts(column))
                    continue
                cells = self._texts(column)
                sampled.append(cells)
                self._n_characters += sum(map(len, cells))
                if self._n_characters > expansion_limit(self._bytes):
                    raise _too_large(self.name, self._bytes)
                survey.add(cells, lines)
                if place == last:
                    self._add_last_cells(cells)
            self._sample.add(sampled)
            self.n_rows += batch.num_rows
            if most is not None and self.n_rows >= most:
                break
        if not self.n_rows:
            raise BadInput(
                tr_lazy("'{name}' contains no row that can be used{first}.", name=self.name, first=""),
                "Check that it is the right file.",
            )

    def _last_named(self) -> int:
        """The last column that has a name and names no case or patient."""
        others = ("", *CASE_COLUMNS, *PATIENT_COLUMNS)
        return next(
            i
            for i in reversed(range(len(self.header)))
            if not (self.header[i].casefold() in others or self._is_index(self.header[i])) or not i
        )

    def _blocks(self) -> Iterator[CsvRowBlock[Cells]]:
        numeric, n_rows = set(self._features), 0
        for batch in self._batches():
            columns: list[Cells] = [
                _values(column)
                if place in numeric and is_numeric(kind)
                else self._texts(column)
                if is_usable(kind)
                else ()
                for place, (column, kind) in enumerate(zip(batch.columns, self._types, strict=True))
            ]
            numbers = range(n_rows + 1, n_rows + batch.num_rows + 1)
            n_rows += batch.num_rows
            yield CsvRowBlock(columns, numbers, numbers)

    def _texts(self, column: Any) -> list[str]:
        """(n,) cells as text without blanks around them, "" for a missing value.

        Raises:
            BadInput: one is longer than a cell may be, or is not text.
        """
        import pyarrow as pa

        try:
            if not pa.types.is_dictionary(column.type):
                return ["" if value is None else _text(value) for value in column.to_pylist()]
            indices = column.indices.to_numpy(zero_copy_only=False)
            known = np.flatnonzero(column.is_valid().to_numpy(zero_copy_only=False))
            used, places = np.unique(indices[known].astype(np.int64), return_inverse=True)
            entries = [_text(value) for value in column.dictionary.take(pa.array(used)).to_pylist()]
        except (UnicodeDecodeError, OverflowError, ValueError, pa.ArrowException) as error:
            raise damage_error(self.name, error, _SAVE_AS_CSV) from error
        if any(len(entry) > LONGEST_CELL for entry in entries):
            raise BadInput(
                tr_lazy("'{name}' has a cell of more than {n:,} characters.", name=self.name, n=LONGEST_CELL),
                "Leave out the column.",
            )
        cells = [""] * len(column)
        for row, place in zip(known.tolist(), places.tolist(), strict=True):
            cells[row] = entries[place]
        return cells


def import_parquet() -> Any:
    """The module ``pyarrow.parquet``.

    Raises:
        BadInput: it is not installed.
    """
    try:
        from pyarrow import parquet
    except ImportError:
        raise BadInput(
            tr_lazy("Parquet files need PyArrow, which is not installed."),
            'Install it with: pip install "semblance-retrieval[parquet]".',
        ) from None
    return parquet


def _named_index(schema: Any) -> frozenset[str]:
    """The columns that pandas wrote as the index of its frame, by what it notes in the file."""
    try:
        noted = json.loads((schema.metadata or {}).get(b"pandas", b"{}"))
        return frozenset(composed(one.strip()) for one in noted["index_columns"] if isinstance(one, str))
    except (ValueError, LookupError, TypeError, RecursionError):
        return frozenset()


def _text(value: Any) -> str:
    return composed(str(value).strip())


def _values(column: Any) -> npt.NDArray[np.float64]:
    """(n,) float64, NaN where there is no value."""
    values: npt.NDArray[np.float64] = column.cast("float64", safe=False).to_numpy(zero_copy_only=False)
    return values


def is_numeric(kind: Any) -> bool:
    """Whether values of this type are numbers."""
    from pyarrow import types

    return bool(types.is_integer(kind) or types.is_floating(kind) or types.is_decimal(kind))


def _is_text(kind: Any) -> bool:
    from pyarrow import types

    return bool(types.is_string(kind) or types.is_large_string(kind))


def is_usable(kind: Any) -> bool:
    """Whether values of this type are numbers or can be written as text."""
    from pyarrow import types

    if types.is_dictionary(kind):
        return _is_text(kind.value_type)
    return bool(is_numeric(kind) or _is_text(kind) or types.is_boolean(kind) or types.is_temporal(kind))
