"""Tables of numbers: CSV, UTF-8, one header row, the finding in ``label`` or in the last column.

The delimiter, the decimal sign and a missing header are recognised. Where they can be meant in two ways, the file is
refused with what was found and the setting that decides it. Empty cells and ``nan`` are missing values.
A column most of whose cells are words is no feature but an attribute of the cases. In a column of numbers, a word, an
infinity or a number beyond single precision makes its *row* fail, with line and reason. A column without any value is
left out. A last column that is measured rather than named is not taken for the finding: the file is refused with a
hint, since a score against it would look right and mean nothing.

A table is read twice and row by row, so that its size in memory does not depend on its length: first to find out what
each column holds, then for the values.
"""

from __future__ import annotations

import io
import math
import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from itertools import islice
from pathlib import Path
from typing import BinaryIO

import numpy as np
import numpy.typing as npt

from semblance.core.errors import BadInput
from semblance.core.imaging.zip_archive import open_regular_file
from semblance.core.language import tr_lazy
from semblance.core.library.importers.csv_text import (
    DELIMITERS,
    ENCODINGS,
    CsvFile,
    CsvRow,
    FailedRow,
    FailedRows,
    checked_header,
    column_named,
    delimiter_name,
    is_number,
    option_hint,
    shown_line,
    unnamed_column,
    whole_lines,
)
from semblance.core.parameters import Parameter, Value

LEAVE_EMPTY = tr_lazy("Leave a cell empty where its value is missing.")

_AUTO = "auto"
#: How a table is written, as settings of the command line.
PARAMETERS = (
    Parameter(
        "delimiter",
        _AUTO,
        "What separates the cells of a table.",
        choices=(_AUTO, *map(delimiter_name, DELIMITERS)),
    ),
    Parameter("decimal", _AUTO, "The decimal sign of a table.", choices=(_AUTO, ".", ",")),
    Parameter(
        "header", _AUTO, "Whether the first row of a table names its columns.", choices=(_AUTO, "yes", "no")
    ),
    Parameter("encoding", _AUTO, "How the letters of a table are encoded.", choices=(_AUTO, *ENCODINGS)),
    Parameter("finding", "", "The column with the finding, else 'label' or the last one."),
    Parameter("patient", "", "The column with the patient, else 'patient_id'."),
)
#: Bytes at the start of a table that are read for a preview.
_PREVIEW_BYTES = 1 << 20

_LARGEST = float(np.finfo(np.float32).max)
_MISSING = frozenset(("", "nan"))
#: A last column of whole numbers is taken for findings up to this many different ones, or a fifth of
#: the rows.
_FINDINGS = 20
_FINDING_NAMES = ("label", "finding")
#: A table whose first rows, so many, cannot be used is not read to its end.
_GIVEN_UP = 10_000
#: Columns that a message names.
_LISTED = 20
#: Rows that are held at a time.
_BLOCK = 2000
#: Names that a first row with numbers in it has only as a header.
_KNOWN_NAMES = frozenset((*_FINDING_NAMES, "case_id", "patient_id"))
#: Cells, each with a line break behind it, that are all numbers: four times as fast as to convert them.
_PLAIN_NUMBERS = re.compile(r"(?:[+-]?[0-9]++(?:\.[0-9]*+)?+(?:[eE][+-]?[0-9]++)?+\n)*+")
_THOUSANDS = re.compile(r"[+-]?[1-9]\d{0,2}([.,]\d{3})+")


@dataclass(frozen=True)
class TableFormat:
    """How a table is written; ``None``: as it is recognised."""

    delimiter: str | None = None
    decimal: str | None = None
    header: bool | None = None
    encoding: str | None = None
    finding: str | None = None
    patient: str | None = None

    @staticmethod
    def of(settings: Mapping[str, Value]) -> TableFormat:
        """The format that values of :data:`PARAMETERS` describe."""
        chosen = {name: str(value) for name, value in settings.items() if value not in (_AUTO, "")}
        delimiter, header = chosen.get("delimiter"), chosen.get("header")
        return TableFormat(
            "\t" if delimiter == "tab" else delimiter,
            chosen.get("decimal"),
            None if header is None else header == "yes",
            chosen.get("encoding"),
            chosen.get("finding"),
            chosen.get("patient"),
        )


@dataclass
class TableRows:
    """Some rows that can be used, in file order; the fields are those of :class:`Table`."""

    X: npt.NDArray[np.float64]
    findings: list[str | None]
    case_ids: list[str]
    patient_ids: list[str | None] | None
    attributes: dict[str, list[str]]
    failed: list[FailedRow]


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


def read_table(where: Path | str | bytes, name: str = "", form: TableFormat | None = None) -> Table:
    """The table in a file, or in the bytes of one called ``name``.

    Raises:
        BadInput: missing, not UTF-8 CSV, written in a way that can be meant in two ways, no column of numbers, no
            finding, or no row that can be used.
    """
    if isinstance(where, bytes):
        return _whole_table(TableFile(io.BytesIO(where), name, form))
    name = name or str(where)
    with open_regular_file(Path(where), name) as file:
        return _whole_table(TableFile(file, name, form))


def _whole_table(file: TableFile) -> Table:
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
            table.patient_ids = [*(table.patient_ids or []), *rows.patient_ids]
        for column, cells in rows.attributes.items():
            table.attributes.setdefault(column, []).extend(cells)
    table.X = X[:start]
    return table


@dataclass
class _ColumnSurvey:
    """What a column holds: cells that are filled, numbers with a decimal point or without fraction, and numbers with a
    decimal comma; (line, cell) of the first of either kind, and whether all of a kind may be grouped thousands.
    ``points`` counts numbers with a point as long as these may be grouped thousands."""

    filled: int = 0
    numbers: int = 0
    commas: int = 0
    points: int = 0
    first_comma: tuple[int, str] | None = None
    first_point: tuple[int, str] | None = None
    commas_may_group: bool = True
    points_may_group: bool = True

    def add(self, cells: Sequence[str], lines: Sequence[int]) -> None:
        """Count ``cells``, which begin on ``lines``."""
        if self.points_may_group:
            self._add_points(cells, lines)
        text = "\n".join(cells)
        if _PLAIN_NUMBERS.fullmatch(text + "\n"):
            self.filled, self.numbers = self.filled + len(cells), self.numbers + len(cells)
            return
        if "_" not in text:
            try:
                values = np.array(list(map(float, cells)))
            except ValueError:
                pass
            else:
                n_filled = len(values) - int(np.isnan(values).sum())
                self.filled, self.numbers = self.filled + n_filled, self.numbers + n_filled
                return
        for cell in cells:
            if cell.lower() not in _MISSING:
                self.filled += 1
                self.numbers += _number(cell) is not None
        for line, cell in zip(lines, cells, strict=True):
            if "," in cell and _number(cell, ",") is not None:
                self.commas += 1
                self.first_comma = self.first_comma or (line, cell)
                self.commas_may_group = self.commas_may_group and bool(_THOUSANDS.fullmatch(cell))

    def _add_points(self, cells: Sequence[str], lines: Sequence[int]) -> None:
        for line, cell in zip(lines, cells, strict=True):
            if "." in cell and _number(cell) is not None:
                self.points += 1
                self.first_point = self.first_point or (line, cell)
                if not _THOUSANDS.fullmatch(cell):
                    self.points_may_group = False
                    return

    def is_numeric(self, decimal: str | None) -> bool:
        """Whether at least half of the cells are numbers with this decimal sign, or with either for ``None``."""
        numbers = self.numbers + (self.commas if decimal != "." else 0)
        return 2 * (self.filled - numbers) <= self.filled


class TableFile:
    """An open table: what its columns hold is found out at once, its rows are read when they are asked for.

    ``columns`` are the features; ``n_rows`` counts the rows as long as the header; ``left_out`` are columns that are
    not used, each with the reason.
    """

    def __init__(self, file: BinaryIO, name: str, form: TableFormat | None = None) -> None:
        """
        Raises:
            BadInput: as :func:`read_table`, but for a table without any row that can be used.
        """
        self.name, self._form = name, form or TableFormat()
        self._csv = CsvFile(file, name, self._form.delimiter, self._form.encoding)
        first = self._csv.first.cells
        if len(first) < 2:
            raise self._refusal_of_one_column()
        self._surveys = [_ColumnSurvey() for _ in first]
        self._last_cells: set[str] = set()
        self.n_rows, self._finding_recurs = 0, False
        self._survey()
        self._has_header = self._decide_header()
        if not self._has_header:
            self.n_rows += 1
            self._add_to_surveys([tuple(cell) for cell in zip(first, strict=True)], [self._csv.first.line])
        self.header = (
            checked_header(first, name) if self._has_header else [f"column{i + 1}" for i in range(len(first))]
        )
        for index, column in enumerate(self.header):
            if not column and self._surveys[index].filled:
                raise unnamed_column(index, name)
        self._decimal = self._decide_decimal()
        self._case_column = self._column("case_id")
        self._patient_column = self._chosen(self._form.patient, "patient")
        if self._patient_column is None:
            self._patient_column = self._column("patient_id")
        self._finding = self._find_finding_column()
        self.finding_column = self.header[self._finding]
        self._roles()

    def _survey(self) -> None:
        rows = (row for _, row in self._csv.rows())
        failed: FailedRow | None = None
        n_failed = 0
        while block := list(islice(rows, _BLOCK)):
            usable = []
            for row in block:
                if isinstance(row, FailedRow):
                    failed, n_failed = failed or row, n_failed + 1
                else:
                    usable.append(row)
            if usable:
                self.n_rows += len(usable)
                columns = list(zip(*(row.cells for row in usable), strict=True))
                self._add_to_surveys(columns, [row.line for row in usable])
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
        last = columns[self._last_named]
        self._finding_recurs = self._finding_recurs or self._csv.first.cells[self._last_named] in last
        self._last_cells.update(last)

    @property
    def _last_named(self) -> int:
        """The last column: with a header the last one that has a name and names no case or patient."""
        others = ("", "case_id", "patient_id")
        cells = self._csv.first.cells
        if self._form.header is False:
            return len(cells) - 1
        return next(i for i in reversed(range(len(cells))) if cells[i].casefold() not in others or i == 0)

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

    def _column(self, *names: str) -> int | None:
        return column_named(self.header, *names)

    def _chosen(self, name: str | None, setting: str) -> int | None:
        """The place of a column that a setting names.

        Raises:
            BadInput: there is none of this name.
        """
        place = None if name is None else column_named(self.header, name.casefold())
        if name is not None and place is None:
            raise BadInput(
                tr_lazy("'{name}' has no column '{column}'.", name=self.name, column=name),
                tr_lazy(
                    "Its columns: {columns}. Choose one of them with --set {setting}=.",
                    columns=", ".join(self.header[:_LISTED]),
                    setting=setting,
                ),
            )
        return place

    def _find_finding_column(self) -> int:
        named = self._chosen(self._form.finding, "finding")
        if named is None:
            named = self._column(*_FINDING_NAMES)
        if named is not None:
            return named
        candidates = [
            place
            for place, column in enumerate(self.header)
            if column and place not in (self._case_column, self._patient_column)
        ]
        last = candidates[-1] if candidates else None
        if last is not None and not self._is_measured(last):
            return last
        worded = [place for place in candidates[:-1] if not self._surveys[place].is_numeric(self._decimal)]
        raise BadInput(
            tr_lazy(
                "'{name}' has no finding: no column is named 'label', and the last column '{last}' "
                "contains measurements.",
                name=self.name,
                last=self.header[last],
            )
            if last is not None
            else tr_lazy(
                "'{name}' has no finding: it has no column named 'label' and no other column.",
                name=self.name,
            ),
            tr_lazy(
                "Rename the column '{worded}' to 'label', or move it to the end.",
                worded=self.header[worded[0]],
            )
            if worded
            else tr_lazy("Name the column with the finding 'label', or move it to the end."),
        )

    def _is_measured(self, last: int) -> bool:
        survey = self._surveys[last]
        numbers = {_number(cell, self._decimal) for cell in self._last_cells if cell.lower() not in _MISSING}
        if None in numbers or not survey.filled:
            return False
        values = [value for value in numbers if value is not None]
        return any(value % 1 for value in values) or len(values) > max(_FINDINGS, self.n_rows / 5)

    def _roles(self) -> None:
        """Which columns are features, attributes or left out.

        Raises:
            BadInput: no column of numbers, or no finding.
        """
        features, self._attributes = [], []
        self.left_out: list[tuple[str, str]] = []
        for place, (column, survey) in enumerate(zip(self.header, self._surveys, strict=True)):
            if not column or place in (self._case_column, self._patient_column, self._finding):
                continue
            if survey.filled == 0:
                self.left_out.append((column, tr_lazy("the column contains no value")))
            elif survey.is_numeric(self._decimal):
                features.append(place)
            else:
                self._attributes.append(place)
        self._features = features
        self.columns = tuple(self.header[place] for place in features)
        if not features:
            raise BadInput(
                tr_lazy(
                    "'{name}' has no column of numbers beside its finding '{finding_column}'.",
                    name=self.name,
                    finding_column=self.finding_column,
                ),
                "Features of a table are numbers. Text can only be a finding or an attribute.",
            )
        if not self._surveys[self._finding].filled:
            raise BadInput(
                tr_lazy(
                    "'{name}' has no finding: its column '{finding_column}' is empty.",
                    name=self.name,
                    finding_column=self.finding_column,
                ),
                "Fill in the finding of each row.",
            )

    @property
    def notes(self) -> list[str]:
        """What was recognised that a person would not expect."""
        if self._has_header:
            return []
        return [
            tr_lazy(
                "Read as a table without a header row: its columns are named {first} to {last}.",
                first=self.header[0],
                last=self.header[-1],
            )
        ]

    def uses(self) -> tuple[str, ...]:
        """What each column is used as; see :class:`TablePreview`."""
        found = dict.fromkeys(self._features, "number") | dict.fromkeys(self._attributes, "text")
        named = {self._finding: "finding", self._patient_column: "patient", self._case_column: "case"}
        return tuple((named | found).get(place, "") for place in range(len(self.header)))

    def first_rows(self, n_rows: int) -> tuple[tuple[str, ...], ...]:
        """The cells of the first rows that have as many as there are columns."""
        whole = (row.cells for _, row in self._csv.rows(header=self._has_header) if isinstance(row, CsvRow))
        return tuple(map(tuple, islice(whole, n_rows)))

    def rows(self) -> Iterator[TableRows]:
        """The rows that can be used, and those that cannot, some thousand at a time.

        Raises:
            BadInput: at the end, none can be used.
        """
        numbered, used_ids, failures = self._csv.rows(header=self._has_header), set[str](), FailedRows()
        n_usable = 0
        while block := list(islice(numbered, _BLOCK)):
            n_reported = len(failures.reported)
            rows = self._usable_rows(block, used_ids, failures)
            n_usable += len(rows.X)
            rows.failed = failures.reported[n_reported:]
            yield rows
        if not n_usable:
            raise BadInput(
                tr_lazy(
                    "No row of '{name}' can be used; line {line}: {reason}.",
                    name=self.name,
                    line=failures.reported[0].line,
                    reason=failures.reported[0].reason,
                ),
                LEAVE_EMPTY,
            )
        if more := failures.not_reported():
            yield replace(self._usable_rows([], used_ids, failures), failed=[more])

    def _usable_rows(
        self, block: Sequence[tuple[int, CsvRow | FailedRow]], used_ids: set[str], failures: FailedRows
    ) -> TableRows:
        whole: list[tuple[int, CsvRow]] = []
        bad: list[FailedRow] = []
        for number, row in block:
            if isinstance(row, FailedRow):
                bad.append(row)
            else:
                whole.append((number, row))
        reasons: dict[int, str] = {}
        values = []
        columns = list(zip(*(row.cells for _, row in whole), strict=True)) or [()] * len(self.header)
        for place in self._features:
            cells = columns[place]
            numbers, rows = _numbers(cells, self._decimal)
            values.append(numbers)
            for index in rows:
                reasons.setdefault(index, _bad_number(cells[index], self.header[place], self._decimal))
        case_ids = []
        for index, (number, row) in enumerate(whole):
            case_id = f"row{number}"
            if self._case_column is not None:
                case_id = row.cells[self._case_column] or case_id
                if case_id in used_ids:
                    reason = tr_lazy("the case_id '{case_id}' occurs a second time", case_id=case_id)
                    reasons.setdefault(index, reason)
                used_ids.add(case_id)
            case_ids.append(case_id)
        bad += [FailedRow(whole[index][1].line, reason) for index, reason in reasons.items()]
        for failed in sorted(bad, key=lambda failed: failed.line):
            failures.add(failed)
        usable = [index for index in range(len(whole)) if index not in reasons]

        def kept(place: int) -> list[str]:
            cells = columns[place]
            return list(cells) if len(usable) == len(cells) else [cells[index] for index in usable]

        patient = self._patient_column
        return TableRows(
            np.stack(values, axis=1)[usable],
            [cell or None for cell in kept(self._finding)],
            [case_ids[index] for index in usable],
            None if patient is None else [cell or None for cell in kept(patient)],
            {self.header[place]: kept(place) for place in self._attributes},
            [],
        )


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
    data = file.read(_PREVIEW_BYTES)
    if len(data) == _PREVIEW_BYTES:
        data = whole_lines(data, form.encoding) or data
    sample = io.BytesIO(data)
    try:
        table = TableFile(sample, name, form)
    except BadInput as error:
        cells = CsvFile(sample, name, form.delimiter or DELIMITERS[0], form.encoding)
        rows = [row.cells for row in islice(cells.records(), n_rows) if isinstance(row, CsvRow)]
        return TablePreview(
            tuple(f"column{i + 1}" for i in range(max(map(len, rows)))),
            (),
            tuple(map(tuple, rows)),
            error.message,
        )
    return TablePreview(tuple(table.header), table.uses(), table.first_rows(n_rows))


def _bad_number(cell: str, column: str, decimal: str) -> str:
    value = _number(cell, decimal)
    shown = cell if len(cell) <= 40 else cell[:40] + "…"
    if value is None:
        return tr_lazy("'{shown}' in the column '{column}' is not a number", shown=shown, column=column)
    if math.isinf(value):
        return tr_lazy("'{shown}' in the column '{column}' is infinite", shown=shown, column=column)
    return tr_lazy("{shown} in the column '{column}' is too large", shown=shown, column=column)


def _numbers(cells: Sequence[str], decimal: str) -> tuple[npt.NDArray[np.float64], list[int]]:
    """Values, and the rows that hold no number that can be used."""
    try:
        values = np.fromiter(map(float, cells), np.float64, len(cells))
        parsed = "_" not in "".join(cells) and (decimal == "." or not any("." in cell for cell in cells))
    except ValueError:
        parsed = False
    if not parsed:
        read = [math.nan if cell.lower() in _MISSING else _number(cell, decimal) for cell in cells]
        values = np.array([math.inf if value is None else value for value in read])
    return values, np.flatnonzero(np.abs(values) > _LARGEST).tolist()


def _number(cell: str, decimal: str = ".") -> float | None:
    """The number written in ``cell``; Python would also read ``1_000``, which no table means."""
    if "_" in cell or (decimal == "," and "." in cell):
        return None
    try:
        return float(cell.replace(",", ".") if decimal == "," else cell)
    except ValueError:
        return None
