"""Tables in CSV files: UTF-8, one header row.

The delimiter, the decimal sign and a missing header are recognised. Where they can be meant in two ways, the file is
refused with what was found and the setting that decides it.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from itertools import islice
from typing import BinaryIO

from semblance.core.errors import BadInput
from semblance.core.language import tr_lazy
from semblance.core.library.column_checks import is_index_name
from semblance.core.library.importers.csv_text import (
    CASE_COLUMNS,
    PATIENT_COLUMNS,
    TABLE_FINDING_COLUMNS,
    CsvFile,
    CsvRowBlock,
    FailedRow,
    checked_header,
    delimiter_name,
    is_number,
    shown_line,
)
from semblance.core.library.importers.encodings import option_hint
from semblance.core.library.importers.table_file import ColumnSurvey, RowSample, TableFile, TableFormat
from semblance.core.limits import MAX_TABLE_BYTES

#: A table whose first rows, so many, cannot be used is not read to its end.
_GIVEN_UP = 10_000
#: Names that a first row with numbers in it has only as a header.
_KNOWN_NAMES = frozenset((*TABLE_FINDING_COLUMNS, *CASE_COLUMNS, *PATIENT_COLUMNS))


class CsvTable(TableFile):
    """A table in a CSV file."""

    def __init__(
        self, file: BinaryIO, name: str, form: TableFormat | None = None, *, max_bytes: int = MAX_TABLE_BYTES
    ) -> None:
        """``max_bytes``: those of the largest file.

        Raises:
            BadInput: as :func:`.table.read_table`, but for a table without any row that can be used.
        """
        self.name, self._form = name, form or TableFormat()
        self._csv = CsvFile(file, name, self._form.delimiter, self._form.encoding, max_bytes=max_bytes)
        first = self._csv.first.cells
        if len(first) < 2:
            raise self._refusal_of_one_column()
        self._surveys = [ColumnSurvey() for _ in first]
        self._last_cells: set[str] = set()
        self._sample = RowSample(len(first))
        self.n_rows, self._finding_recurs = 0, False
        self._survey()
        self._has_header = self._decide_header()
        if not self._has_header:
            self.n_rows += 1
            self._add_to_surveys([tuple(cell) for cell in zip(first, strict=True)], [self._csv.first.line])
        self.header = (
            checked_header(first, name) if self._has_header else [f"column{i + 1}" for i in range(len(first))]
        )
        self._check_unnamed()
        self._decimal = self._decide_decimal()
        self._choose_columns()

    def _survey(self) -> None:
        failed: FailedRow | None = None
        n_failed = 0
        for block in self._csv.blocks():
            if block.failed:
                failed, n_failed = failed or block.failed[0], n_failed + len(block.failed)
            if block.numbers:
                self.n_rows += len(block.numbers)
                self._add_to_surveys(block.columns, block.lines)
            elif not self.n_rows and n_failed > _GIVEN_UP:
                break
        if not self.n_rows and self._form.header is not False:
            first = (
                tr_lazy(" (line {line}: {reason})", line=failed.line, reason=failed.reason) if failed else ""
            )
            raise BadInput(
                tr_lazy("'{name}' contains no row that can be used{first}.", name=self.name, first=first),
                "Check that it is the right file.",
            )

    def _add_to_surveys(self, columns: Sequence[Sequence[str]], lines: Sequence[int]) -> None:
        for survey, cells in zip(self._surveys, columns, strict=True):
            survey.add(cells, lines)
        self._sample.add(columns)
        last = columns[self._last_named]
        self._finding_recurs = self._finding_recurs or self._csv.first.cells[self._last_named] in last
        self._add_last_cells(last)

    @property
    def _last_named(self) -> int:
        """The last column: with a header the last one that has a name and names no case or patient."""
        others = ("", *CASE_COLUMNS, *PATIENT_COLUMNS)
        cells = self._csv.first.cells
        if self._form.header is False:
            return len(cells) - 1
        return next(
            i
            for i in reversed(range(len(cells)))
            if not (cells[i].casefold() in others or is_index_name(cells[i])) or i == 0
        )

    def _decide_header(self) -> bool:
        """Whether the first row names the columns.

        Raises:
            BadInput: it contains numbers, and may be either.
        """
        if self._form.header is not None:
            return self._form.header
        cells = self._csv.first.cells
        numbers = [cell for cell in cells if is_number(cell) or cell.lower() == "nan"]
        if not numbers or any(cell.casefold() in _KNOWN_NAMES for cell in cells):
            return True
        finding = cells[self._last_named]
        measured = any(is_number(cell) and not cell.lstrip("+-").isdecimal() for cell in numbers)
        if self._finding_recurs and (measured or not is_number(finding)):
            return False
        raise BadInput(
            tr_lazy(
                "'{name}' may have no header row: its first line {line} contains numbers.",
                name=self.name,
                line=shown_line(self._csv.delimiter.join(cells)),
            ),
            tr_lazy(
                "Add a first line that names the columns, or import it with --set header=no, or with header=yes if "
                "these are names."
            ),
        )

    def _decide_decimal(self) -> str:
        """
        Raises:
            BadInput: both signs occur, or the one that occurs may separate thousands.
        """
        if self._form.decimal is not None:
            return self._form.decimal
        numeric = [survey for survey in self._surveys if survey.filled and survey.is_numeric(None)]
        commas = [survey for survey in numeric if survey.first_comma]
        points = [survey for survey in numeric if survey.first_point]
        if commas and points:
            comma, point = commas[0].first_comma, points[0].first_point
            assert comma is not None
            assert point is not None
            raise BadInput(
                tr_lazy(
                    "'{name}' has decimal commas ('{comma}' in line {line}) and decimal points ('{point}' in line "
                    "{line2}).",
                    name=self.name,
                    comma=comma[1],
                    line=comma[0],
                    point=point[1],
                    line2=point[0],
                ),
                option_hint("decimal", "."),
            )
        # Where every number of a column has the sign, grouped thousands would only be another unit.
        grouped = [s for s in commas if s.commas < s.filled] or [
            # Who separates cells by commas writes decimal points.
            s
            for s in points
            if s.points < s.filled and self._csv.delimiter != ","
        ]
        if grouped and all(s.commas_may_group if commas else s.points_may_group for s in commas or points):
            found = grouped[0].first_comma if commas else grouped[0].first_point
            assert found is not None
            raise BadInput(
                tr_lazy(
                    "'{cell}' in line {line} of '{name}' may have a decimal sign or separate thousands.",
                    cell=found[1],
                    line=found[0],
                    name=self.name,
                ),
                option_hint("decimal", "," if commas else "."),
            )
        return "," if commas else "."

    def _refusal_of_one_column(self) -> BadInput:
        return BadInput(
            tr_lazy(
                "'{name}' would have one column only, separated by '{delimiter}'. Its first line is {line}.",
                name=self.name,
                delimiter=delimiter_name(self._csv.delimiter),
                line=shown_line(self._csv.first.cells[0]),
            ),
            tr_lazy(
                "Separate its columns by commas, semicolons or tabs, and say which with --set delimiter=; if they are "
                "not recognised."
            ),
        )

    @property
    def notes(self) -> list[str]:
        """What was recognised that a person would not expect."""
        found = [self._csv.note] if self._csv.note else []
        if not self._has_header:
            found.append(
                tr_lazy(
                    "'{name}' was read as a table without a header row: its columns are named {first} to {last}.",
                    name=self.name,
                    first=self.header[0],
                    last=self.header[-1],
                )
            )
        return [*found, *super().notes]

    def first_rows(self, n_rows: int) -> tuple[tuple[str, ...], ...]:
        """The cells of the first rows that have as many as there are columns."""
        rows = (row for block in self._blocks() for row in zip(*block.columns, strict=True))
        return tuple(islice(rows, n_rows))

    def _blocks(self) -> Iterator[CsvRowBlock[tuple[str, ...]]]:
        return self._csv.blocks(header=self._has_header)
