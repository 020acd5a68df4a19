"""Tables of numbers: CSV, UTF-8, one header row, the finding in ``label`` or in the last column.

Decided here: empty cells and ``nan`` are missing values. A column most of whose cells are words is no
feature but an attribute of the cases. In a column of numbers, a word, an infinity or a number beyond
single precision makes its *row* fail, with line and reason. A column without any value is left out.
A last column that is measured rather than named is not taken for the finding: the file is refused with a
hint, since a score against it would look right and mean nothing.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass, field
from pathlib import Path

import numpy as np
import numpy.typing as npt

from semblance.core.errors import BadInput
from semblance.core.imaging.zip_archive import read_file
from semblance.core.language import tr_lazy
from semblance.core.library.importers.csv_text import CsvText, FailedRow, column_named, read_csv

LEAVE_EMPTY = tr_lazy("Leave a cell empty where its value is missing.")

_LARGEST = float(np.finfo(np.float32).max)
_MISSING = frozenset(("", "nan"))
#: A last column of whole numbers is taken for findings up to this many different ones, or a fifth of
#: the rows.
_FINDINGS = 20


@dataclass
class Table:
    """Rows that can be used, in file order.

    ``X``: (n, d) float64, NaN where missing; ``columns``: d names. ``findings``: n names, ``None`` where
    the cell is empty. ``case_ids``: n, unique, from the column ``case_id`` or "row1", "row2", ... as the
    rows lie in the file. ``patient_ids``: n names (``None`` where empty), or ``None`` without the column.
    ``attributes``: columns of words, n cells each. ``failed``: rows left out; ``left_out``: columns left
    out, each with the reason.
    """

    name: str
    X: npt.NDArray[np.float64]
    columns: tuple[str, ...]
    finding_column: str
    findings: list[str | None]
    case_ids: list[str]
    patient_ids: list[str | None] | None = None
    attributes: dict[str, list[str]] = field(default_factory=dict)
    failed: list[FailedRow] = field(default_factory=list)
    left_out: list[tuple[str, str]] = field(default_factory=list)


def read_table(where: Path | str | bytes, name: str = "") -> Table:
    """The table in a file, or in the bytes of one called ``name``.

    Raises:
        BadInput: missing, not UTF-8 CSV, no column of numbers, no finding, or no row that can be used.
    """
    if isinstance(where, bytes):
        return _TableReader(read_csv(where, name), name).table()
    name = name or str(where)
    return _TableReader(read_csv(read_file(Path(where), name), name), name).table()


class _TableReader:
    """One table under way: which columns are what, which rows are lost."""

    def __init__(self, text: CsvText, name: str) -> None:
        self.text, self.name = text, name
        self.header = text.header
        self.failed_rows: dict[int, str] = {}
        if not text.rows:
            first = (
                tr_lazy(" (line {line}: {reason})", line=text.failed[0].line, reason=text.failed[0].reason)
                if text.failed
                else ""
            )
            raise BadInput(
                tr_lazy("'{name}' contains no row that can be used{first}.", name=name, first=first),
                "Check that it is the right file.",
            )
        if all(_number(cell) is not None for cell in self.header):
            raise BadInput(
                tr_lazy("'{name}' has no header row: its first line contains numbers.", name=name),
                "Add a first line that names the columns.",
            )
        cells = list(zip(*text.rows, strict=True))
        self.cells: dict[str, tuple[str, ...]] = dict(zip(self.header, cells, strict=True))

    def table(self) -> Table:
        case_column = self._column("case_id")
        patient_column = self._column("patient_id")
        finding_column = self._finding_column(case_column, patient_column)
        attributes: dict[str, tuple[str, ...]] = {}
        left_out: list[tuple[str, str]] = []
        numbers: dict[str, npt.NDArray[np.float64]] = {}
        for column, cells in self.cells.items():
            if column in (case_column, patient_column, finding_column):
                continue
            values, bad = _numbers(cells)
            filled = sum(cell.lower() not in _MISSING for cell in cells)
            n_texts = sum(_number(cells[row]) is None for row in bad)
            if filled == 0:
                left_out.append((column, tr_lazy("the column contains no value")))
            elif 2 * n_texts > filled:
                attributes[column] = cells
            else:
                numbers[column] = values
                self._fail_rows(column, cells, bad)
        if not numbers:
            raise BadInput(
                tr_lazy(
                    "'{name}' has no column of numbers beside its finding '{finding_column}'.",
                    name=self.name,
                    finding_column=finding_column,
                ),
                "Features of a table are numbers. Text can only be a finding or an attribute.",
            )
        case_ids = self._case_ids(case_column)
        usable = [row for row in range(len(self.text.rows)) if row not in self.failed_rows]
        failed = self._failed()
        if not usable:
            raise BadInput(
                tr_lazy(
                    "No row of '{name}' can be used; line {line}: {reason}.",
                    name=self.name,
                    line=failed[0].line,
                    reason=failed[0].reason,
                ),
                LEAVE_EMPTY,
            )
        findings = self.cells[finding_column]
        if not any(findings[row] for row in usable):
            raise BadInput(
                tr_lazy(
                    "'{name}' has no finding: its column '{finding_column}' is empty.",
                    name=self.name,
                    finding_column=finding_column,
                ),
                "Fill in the finding of each row.",
            )
        patients = self.cells[patient_column] if patient_column else None
        return Table(
            self.name,
            np.stack(list(numbers.values()), axis=1)[usable],
            tuple(numbers),
            finding_column,
            [findings[row] or None for row in usable],
            [case_ids[row] for row in usable],
            None if patients is None else [patients[row] or None for row in usable],
            {column: [cells[row] for row in usable] for column, cells in attributes.items()},
            failed,
            left_out,
        )

    def _column(self, *names: str) -> str | None:
        index = column_named(self.header, *names)
        return None if index is None else self.header[index]

    def _finding_column(self, *others: str | None) -> str:
        named = self._column("label", "finding")
        if named is not None:
            return named
        candidates = [column for column in self.header if column not in others]
        last = candidates[-1] if candidates else ""
        if not last or self._is_measured(self.cells[last]):
            worded = [c for c in candidates[:-1] if not _mostly_numbers(self.cells[c])]
            raise BadInput(
                tr_lazy(
                    "'{name}' has no finding: no column is named 'label', and the last column '{last}' "
                    "contains measurements.",
                    name=self.name,
                    last=last,
                )
                if last
                else tr_lazy(
                    "'{name}' has no finding: it has no column named 'label' and no other column.",
                    name=self.name,
                ),
                tr_lazy("Rename the column '{worded}' to 'label', or move it to the end.", worded=worded[0])
                if worded
                else tr_lazy("Name the column with the finding 'label', or move it to the end."),
            )
        return last

    def _is_measured(self, cells: tuple[str, ...]) -> bool:
        values = {_number(cell) for cell in cells if cell.lower() not in _MISSING}
        numbers = [value for value in values if value is not None]
        if len(numbers) < len(values) or not numbers:
            return False
        return any(value % 1 for value in numbers) or len(numbers) > max(_FINDINGS, len(cells) / 5)

    def _fail_rows(self, column: str, cells: tuple[str, ...], bad: list[int]) -> None:
        for row in bad:
            value = _number(cells[row])
            shown = cells[row] if len(cells[row]) <= 40 else cells[row][:40] + "…"
            if value is None:
                reason = tr_lazy(
                    "'{shown}' in the column '{column}' is not a number", shown=shown, column=column
                )
            elif math.isinf(value):
                reason = tr_lazy("'{shown}' in the column '{column}' is infinite", shown=shown, column=column)
            else:
                reason = tr_lazy("{shown} in the column '{column}' is too large", shown=shown, column=column)
            self.failed_rows.setdefault(row, reason)

    def _case_ids(self, column: str | None) -> list[str]:
        written_ids = self.cells[column] if column else ("",) * len(self.text.rows)
        used_ids: set[str] = set()
        ids: list[str] = []
        for row, (cell, number) in enumerate(zip(written_ids, self.text.numbers, strict=True)):
            case_id = cell or f"row{number}"
            if case_id in used_ids:
                self.failed_rows.setdefault(
                    row, tr_lazy("the case_id '{case_id}' occurs a second time", case_id=case_id)
                )
            used_ids.add(case_id)
            ids.append(case_id)
        return ids

    def _failed(self) -> list[FailedRow]:
        failed_rows = [FailedRow(self.text.lines[row], reason) for row, reason in self.failed_rows.items()]
        return sorted(self.text.failed + failed_rows, key=lambda failed: failed.line)


def _numbers(cells: Sequence[str]) -> tuple[npt.NDArray[np.float64], list[int]]:
    """Values, and the rows that hold no number that can be used."""
    try:
        values = np.array(list(map(float, cells)))
        parsed = not any("_" in cell for cell in cells)
    except ValueError:
        parsed = False
    if not parsed:
        read = [math.nan if cell.lower() in _MISSING else _number(cell) for cell in cells]
        values = np.array([math.inf if value is None else value for value in read])
    return values, np.flatnonzero(np.abs(values) > _LARGEST).tolist()


def _number(cell: str) -> float | None:
    """The number written in ``cell``; Python would also read ``1_000``, which no table means."""
    try:
        return None if "_" in cell else float(cell)
    except ValueError:
        return None


def _mostly_numbers(cells: Sequence[str]) -> bool:
    filled = [cell for cell in cells if cell.lower() not in _MISSING]
    return 2 * sum(_number(cell) is not None for cell in filled) >= len(filled)
