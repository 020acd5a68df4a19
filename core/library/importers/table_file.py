"""Tables of numbers: what their columns are used as, whatever file they are in.

Empty cells, ``nan``, ``NA``, ``?`` and the like are missing values. A column most of whose cells are words is no
feature but an attribute of the cases. A column that counts rows or is the finding in other words is no feature. In
a column of numbers, a word, an infinity or a number beyond single precision makes its *row* fail, with line and
reason. A column without any value is left out. A last column that is measured rather than named is not taken for
the finding: the file is refused with a hint, since a score against it would look right and mean nothing.

A table is read twice and some rows at a time, so that its size in memory does not depend on its length: first to find
out what each column holds, then for the values.
"""

from __future__ import annotations

import abc
import csv
import fnmatch
import math
import re
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field

import numpy as np
import numpy.typing as npt

from semblance.core.errors import BadInput
from semblance.core.language import join_texts, tr_lazy
from semblance.core.library.column_checks import (
    WholeNumbers,
    index_reason,
    is_finding_in_other_words,
    is_index_name,
    no_feature_notes,
    telling_columns,
    telling_notes,
)
from semblance.core.library.findings import finding_key
from semblance.core.library.importers.csv_text import (
    CASE_COLUMNS,
    DELIMITERS,
    PATIENT_COLUMNS,
    TABLE_FINDING_COLUMNS,
    Cells,
    CsvRowBlock,
    FailedRow,
    FailedRows,
    column_named,
    delimiter_name,
    unnamed_column,
)
from semblance.core.library.importers.importer import AUTO, COMMON_PARAMETERS, EXACT
from semblance.core.limits import MEMORY_VARIABLE, memory_limit
from semblance.core.normal_text import composed, is_missing, is_missing_finding, normal_text
from semblance.core.parameters import Parameter, Value

LEAVE_EMPTY = tr_lazy("Leave a cell empty where its value is missing.")

#: How a table is written, as settings of the command line.
PARAMETERS = (
    Parameter(
        "delimiter",
        AUTO,
        "What separates the cells of a table.",
        choices=(AUTO, *map(delimiter_name, DELIMITERS)),
    ),
    Parameter("decimal", AUTO, "The decimal sign of a table.", choices=(AUTO, ".", ",")),
    Parameter(
        "header", AUTO, "Whether the first row of a table names its columns.", choices=(AUTO, "yes", "no")
    ),
    Parameter("finding", "", "The column with the finding, else 'label' or the last one."),
    Parameter("patient", "", "The column with the patient, else 'patient_id', 'patient' or 'subject'."),
    Parameter("case", "", "The column with the id of the case, else 'case_id' or 'id'."),
    Parameter(
        "columns",
        "",
        "The columns of numbers to use, with commas between; * and ? stand for characters. Else all that measure "
        "something.",
    ),
    *COMMON_PARAMETERS,
)

_LARGEST = float(np.finfo(np.float32).max)
#: A last column of whole numbers is taken for findings up to this many different ones, or a fifth of
#: the rows.
_FINDINGS = 20
#: Columns that a message names.
_LISTED = 20
#: Rows, and cells, by which a column is compared with the findings.
_SAMPLED_ROWS, _FEWEST_SAMPLED, _SAMPLED_CELLS = 4000, 100, 1 << 21
#: So many different cells of a last column are compared. More are measured.
_MOST_DIFFERENT = 1_000_000
#: Memory that the id of a row takes, which must differ from all others.
_BYTES_OF_ID = 100
#: Cells, each with a line break behind it, that are all numbers: four times as fast as to convert them.
_PLAIN_NUMBERS = re.compile(r"(?:[+-]?[0-9]++(?:\.[0-9]*+)?+(?:[eE][+-]?[0-9]++)?+\n)*+")
#: Rows, and cells, that are given at once; the first time fewer, so that they can be shown soon.
_FIRST_ROWS, _MOST_ROWS, _MOST_CELLS = 250, 8000, 1 << 20
_THOUSANDS = re.compile(r"[+-]?[1-9]\d{0,2}([.,]\d{3})+")


@dataclass(frozen=True)
class TableFormat:
    """How a table is written; ``None``: as it is recognised. ``exact``: its findings are different if they are written
    differently."""

    delimiter: str | None = None
    decimal: str | None = None
    header: bool | None = None
    encoding: str | None = None
    finding: str | None = None
    patient: str | None = None
    case: str | None = None
    columns: str | None = None
    exact: bool = False

    @staticmethod
    def of(settings: Mapping[str, Value]) -> TableFormat:
        """The format that values of :data:`PARAMETERS` describe."""
        chosen = {name: str(value) for name, value in settings.items() if value not in (AUTO, "")}
        delimiter, header = chosen.get("delimiter"), chosen.get("header")
        return TableFormat(
            "\t" if delimiter == "tab" else delimiter,
            chosen.get("decimal"),
            None if header is None else header == "yes",
            chosen.get("encoding"),
            chosen.get("finding"),
            chosen.get("patient"),
            chosen.get("case"),
            chosen.get("columns"),
            chosen.get("findings") == EXACT,
        )


@dataclass
class TableRows:
    """Some rows that can be used, in file order; the fields are those of :class:`Table`.

    ``parts`` of ``X`` are to be joined.
    """

    X: npt.NDArray[np.float64]
    findings: list[str | None]
    case_ids: list[str]
    patient_ids: list[str | None] | None
    attributes: dict[str, list[str]]
    failed: list[FailedRow]
    parts: list[npt.NDArray[np.float64]] = field(default_factory=list)

    def joined(self) -> TableRows:
        """The same with all values in ``X``."""
        self.X, self.parts = np.concatenate([self.X, *self.parts]), []
        return self


@dataclass
class Table:
    """Rows that can be used, in file order.

    ``X``: (n, d) float64, NaN where missing; ``columns``: d names. ``findings``: n names, ``None`` where
    the cell is empty. ``case_ids``: n, unique, from the column of :data:`CASE_COLUMNS` or "row1", "row2", ... as the
    rows lie in the file. ``patient_ids``: n names (``None`` where empty), or ``None`` without the column.
    ``attributes``: columns of words, n cells each. ``failed``: rows left out; ``left_out``: columns left
    out, each with the reason. ``notes``: what was recognised that a person would not expect.
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
    notes: list[str] = field(default_factory=list)


@dataclass
class ColumnSurvey:
    """What a column holds: cells that are filled, numbers with a decimal point or without fraction, and numbers with a
    decimal comma; (line, cell) of the first of either kind, and whether all of a kind may be grouped thousands.

    ``points`` counts numbers with a point as long as these may be grouped thousands. ``marks``: what stands for missing
    values in it, and how often. ``are_plain``: all cells are numbers as most programs write them. ``whole``: whether
    its numbers are whole and differ.
    """

    filled: int = 0
    numbers: int = 0
    commas: int = 0
    points: int = 0
    first_comma: tuple[int, str] | None = None
    first_point: tuple[int, str] | None = None
    commas_may_group: bool = True
    points_may_group: bool = True
    marks: dict[str, int] = field(default_factory=dict)
    are_plain: bool = True
    whole: WholeNumbers = field(default_factory=WholeNumbers)

    def add(self, cells: Sequence[str], lines: Sequence[int]) -> None:
        """Count ``cells``, which begin on ``lines``."""
        text = "\n".join(cells)
        if self.points_may_group and "." in text:
            self._add_points(cells, lines)
        if self.whole.are_whole:
            self._add_whole(cells)
        if _PLAIN_NUMBERS.fullmatch(text + "\n"):
            self.filled, self.numbers = self.filled + len(cells), self.numbers + len(cells)
            return
        self.are_plain = False
        for cell, n in Counter(cells).items():
            if not is_missing(cell):
                self.filled += n
                self.numbers += n * (number_in(cell) is not None)
            elif cell:
                self.marks[cell] = self.marks.get(cell, 0) + n
        if "," in text:
            for line, cell in zip(lines, cells, strict=True):
                if "," in cell and number_in(cell, ",") is not None:
                    self.commas += 1
                    self.first_comma = self.first_comma or (line, cell)
                    self.commas_may_group = self.commas_may_group and bool(_THOUSANDS.fullmatch(cell))

    def _add_whole(self, cells: Sequence[str]) -> None:
        try:
            values = np.array([float(cell) for cell in cells])
        except ValueError:
            decimals = (",", ".") if any("," in cell for cell in cells) else (".",)
            filled = [cell for cell in cells if not is_missing(cell)]
            read = next(
                (found for sign in decimals if None not in (found := [number_in(c, sign) for c in filled])),
                None,
            )
            values = np.array([math.inf] if read is None else read, dtype=np.float64)
        self.whole.add(values)

    def _add_points(self, cells: Sequence[str], lines: Sequence[int]) -> None:
        for line, cell in zip(lines, cells, strict=True):
            if "." in cell and number_in(cell) is not None:
                self.points += 1
                self.first_point = self.first_point or (line, cell)
                if not _THOUSANDS.fullmatch(cell):
                    self.points_may_group = False
                    return

    def is_numeric(self, decimal: str | None) -> bool:
        """Whether at least half of the cells are numbers with this decimal sign, or with either for ``None``."""
        numbers = self.numbers + (self.commas if decimal != "." else 0)
        return 2 * (self.filled - numbers) <= self.filled


class RowSample:
    """Some rows that lie evenly in a table, whose length is not known before."""

    def __init__(self, n_columns: int) -> None:
        self._most = min(_SAMPLED_ROWS, max(_FEWEST_SAMPLED, _SAMPLED_CELLS // max(1, n_columns)))
        self._seen, self._step = 0, 1
        self.columns: list[list[str | float]] = [[] for _ in range(n_columns)]

    def add(self, columns: Sequence[Cells]) -> None:
        """Take in the ``columns`` of more rows, "" in place of cells that cannot be used."""
        n = len(columns[0])
        places = range(-self._seen % self._step, n, self._step)
        self._seen += n
        for kept, cells in zip(self.columns, columns, strict=True):
            kept += [cells[place] for place in places]
        while len(self.columns[0]) > self._most:
            self._step *= 2
            for kept in self.columns:
                del kept[1::2]


class TableFile(abc.ABC):
    """An open table: what its columns hold is found out at once, its rows are read when they are asked for.

    ``columns`` are the features; ``n_rows`` counts the rows as long as the header; ``left_out`` are columns that are
    not used, each with the reason.
    """

    name: str
    header: list[str]
    n_rows: int
    _form: TableFormat
    _surveys: list[ColumnSurvey]
    #: Different cells of the last column.
    _last_cells: set[str]
    _decimal: str = "."
    _sample: RowSample
    #: Columns that the file itself names as its index.
    _index_columns: frozenset[str] = frozenset()

    def _choose_columns(self) -> None:
        """Decide what each column is used as.

        Raises:
            BadInput: no column of numbers, no finding, or a column that a setting names is not there.
        """
        chosen = self._chosen(self._form.case, "case")
        named = self._column(CASE_COLUMNS[0]) if chosen is None else chosen
        self._case_column = self._column(*CASE_COLUMNS) if named is None else named
        # A column "id" that nobody chose may also be of patients.
        self._ids_may_recur = named is None
        self._patient_column = self._chosen(self._form.patient, "patient")
        if self._patient_column is None:
            self._patient_column = self._column(*PATIENT_COLUMNS)
        self._finding = self._find_finding_column()
        self.finding_column = self.header[self._finding]
        self._roles()

    def _check_unnamed(self) -> None:
        """
        Raises:
            BadInput: a column without a name holds something else than numbers that count the rows.
        """
        for place, column in enumerate(self.header):
            survey = self._surveys[place]
            if not column and survey.filled:
                if not (survey.whole.rows == survey.filled and survey.whole.are_consecutive):
                    raise unnamed_column(place, self.name)
                # As pandas calls it; it is left out by this name.
                self.header[place] = f"Unnamed: {place}"

    @abc.abstractmethod
    def _blocks(self) -> Iterator[CsvRowBlock[Cells]]:
        """All rows, some thousand at a time; only columns of features may be values."""

    @abc.abstractmethod
    def first_rows(self, n_rows: int) -> tuple[tuple[str, ...], ...]:
        """The cells of the first rows that have as many as there are columns."""

    @property
    def notes(self) -> list[str]:
        """What was recognised that a person would not expect."""
        found = no_feature_notes(self.name, self._no_features)
        marks: dict[str, int] = {}
        for place in self._features:
            for mark, n in self._surveys[place].marks.items():
                marks[mark] = marks.get(mark, 0) + n
        if marks:
            found.append(
                tr_lazy(
                    "'{name}': read as missing values: {marks}.",
                    name=self.name,
                    marks=", ".join(f"'{mark}' ({n})" for mark, n in list(marks.items())[:_LISTED]),
                )
            )
        return found

    def telling_notes(self) -> list[str]:
        """A sentence about columns that alone tell the finding; none without one."""
        X = np.array([self._sampled_numbers(place) for place in self._features]).T
        findings = ["" if is_missing_finding(one) else one for one in self._sampled_findings()]
        return telling_notes(self.columns, telling_columns(X, findings), self.name)

    def _sampled_numbers(self, place: int) -> npt.NDArray[np.float64]:
        cells = self._sample.columns[place]
        numbers = [
            one if isinstance(one, float) else math.nan if is_missing(one) else number_in(one, self._decimal)
            for one in cells
        ]
        return np.array([math.nan if one is None or math.isinf(one) else one for one in numbers])

    def _sampled_findings(self) -> list[str]:
        return [normal_text(str(one)) for one in self._sample.columns[self._finding]]

    def describe(self, failed: FailedRow) -> str:
        """Which row cannot be used, and why."""
        return tr_lazy("Line {line}: {reason}.", line=failed.line, reason=failed.reason)

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
            named = self._column(*TABLE_FINDING_COLUMNS)
        if named is not None:
            return named
        candidates = [
            place
            for place, column in enumerate(self.header)
            if column
            and place not in (self._case_column, self._patient_column)
            and not self._is_index(column)
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
                "'{name}' has no finding: it has no column named 'label' and no other column.", name=self.name
            ),
            tr_lazy(
                "Rename the column '{worded}' to 'label', or move it to the end.",
                worded=self.header[worded[0]],
            )
            if worded
            else tr_lazy("Name the column with the finding 'label', or move it to the end."),
        )

    def _is_index(self, column: str) -> bool:
        return column in self._index_columns or is_index_name(column)

    def _add_last_cells(self, cells: Iterable[str]) -> None:
        if len(self._last_cells) < _MOST_DIFFERENT:
            self._last_cells.update(cells)

    def _too_many_ids(self, most: int) -> BadInput:
        return BadInput(
            tr_lazy("'{name}' has more than {n:,} rows with a case_id, the limit.", name=self.name, n=most),
            tr_lazy(
                "Divide it into several files, or allow more memory with the environment variable {variable}.",
                variable=MEMORY_VARIABLE,
            ),
        )

    def _is_measured(self, last: int) -> bool:
        survey = self._surveys[last]
        numbers = {number_in(cell, self._decimal) for cell in self._last_cells if not is_missing(cell)}
        if None in numbers or not survey.filled:
            return False
        values = [value for value in numbers if value is not None]
        if len(self._last_cells) >= _MOST_DIFFERENT:
            return True
        return any(value % 1 for value in values) or len(values) > max(_FINDINGS, self.n_rows / 5)

    def _roles(self) -> None:
        """Which columns are features, attributes or left out.

        Raises:
            BadInput: no column of numbers, or no finding.
        """
        features, self._attributes = [], []
        self.left_out: list[tuple[str, str]] = []
        self._no_features: list[tuple[str, str]] = []
        other_words: list[int] = []
        for place, (column, survey) in enumerate(zip(self.header, self._surveys, strict=True)):
            if not column or place in (self._case_column, self._patient_column, self._finding):
                continue
            if survey.filled == 0:
                self.left_out.append((column, tr_lazy("the column contains no value")))
            elif not survey.is_numeric(self._decimal):
                self._attributes.append(place)
            elif reason := self._index_reason(place):
                self._no_features.append((column, reason))
            elif self._is_finding_in_other_words(place):
                other_words.append(place)
            else:
                features.append(place)
        if features:
            reason = tr_lazy("it is the finding in other words")
            self._no_features += [(self.header[place], reason) for place in other_words]
        else:
            # A table of nothing else has them as its measurements; they are named as columns that tell the finding.
            features = other_words
        if self._form.columns is not None:
            features = self._chosen_features(features)
        self.left_out += self._no_features
        self._features = features
        self.columns = tuple(self.header[place] for place in features)
        if not features:
            raise BadInput(
                tr_lazy(
                    "'{name}' has no column of numbers beside its finding '{finding_column}' and columns that are no "
                    "features: {columns}.",
                    name=self.name,
                    finding_column=self.finding_column,
                    columns=join_texts(
                        [
                            tr_lazy("'{column}' ({reason})", column=column, reason=reason)
                            for column, reason in self._no_features[:_LISTED]
                        ]
                    ),
                )
                if self._no_features
                else tr_lazy(
                    "'{name}' has no column of numbers beside its finding '{finding_column}'.",
                    name=self.name,
                    finding_column=self.finding_column,
                ),
                tr_lazy("Add columns of measurements, or choose the columns to use with --set columns=.")
                if self._no_features
                else "Features of a table are numbers. Text can only be a finding or an attribute.",
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

    def _index_reason(self, place: int) -> str:
        """Why a column of numbers counts or identifies rows, or ""; one that was chosen as a feature never does."""
        if self._form.columns is not None:
            return ""
        column = self.header[place]
        numbers = self._sampled_numbers(place).tolist()
        return index_reason(
            column, self._surveys[place].whole, numbers, is_named=column in self._index_columns
        )

    def _is_finding_in_other_words(self, place: int) -> bool:
        """Whether a column of numbers that was not chosen as a feature has one number for each finding."""
        numbers = self._sampled_numbers(place)
        if self._form.columns is not None or len(np.unique(numbers)) > _FINDINGS + 1:
            return False
        findings = ["" if is_missing_finding(one) else finding_key(one) for one in self._sampled_findings()]
        return is_finding_in_other_words(numbers.tolist(), findings)

    def _chosen_features(self, numeric: Sequence[int]) -> list[int]:
        """The columns of the setting ``columns``; the other columns of numbers are left out.

        Raises:
            BadInput: a name that no column of numbers has.
        """
        chosen: set[int] = set()
        for name in next(csv.reader([self._form.columns or ""])):
            pattern = composed(name.strip())
            equal = [place for place in numeric if self.header[place] == pattern]
            pattern = pattern.replace("[", "[[]")
            found = equal or [place for place in numeric if fnmatch.fnmatchcase(self.header[place], pattern)]
            if not found:
                raise BadInput(
                    tr_lazy(
                        "'{name}' has no column of numbers '{column}'.", name=self.name, column=name.strip()
                    ),
                    tr_lazy(
                        "Its columns of numbers: {columns}.",
                        columns=", ".join(self.header[place] for place in numeric[:_LISTED]),
                    ),
                )
            chosen.update(found)
        self.left_out += [
            (self.header[place], tr_lazy("it was not chosen")) for place in numeric if place not in chosen
        ]
        return [place for place in numeric if place in chosen]

    def uses(self) -> tuple[str, ...]:
        """What each column is used as; see :class:`.table.TablePreview`."""
        found = dict.fromkeys(self._features, "number") | dict.fromkeys(self._attributes, "text")
        named = {self._finding: "finding", self._patient_column: "patient", self._case_column: "case"}
        return tuple((named | found).get(place, "") for place in range(len(self.header)))

    def rows(self) -> Iterator[TableRows]:
        """The rows that can be used, and those that cannot, some thousand at a time.

        Raises:
            BadInput: at the end, none can be used.
        """
        used_ids, failures = set[str](), FailedRows()
        n_usable, most = 0, max(1, _MOST_CELLS // len(self.header))
        wanted, found = min(_FIRST_ROWS, most), self._no_rows()
        for block in self._blocks():
            self._add_usable_rows(block, used_ids, failures, found)
            if len(found.case_ids) + len(found.failed) >= wanted:
                n_usable += len(found.case_ids)
                yield found.joined()
                wanted, found = min(2 * wanted, _MOST_ROWS, most), self._no_rows()
        n_usable += len(found.case_ids)
        if not n_usable:
            raise BadInput(
                tr_lazy(
                    "No row of '{name}' can be used. {first}",
                    name=self.name,
                    first=self.describe(failures.reported[0]),
                ),
                LEAVE_EMPTY,
            )
        if more := failures.not_reported():
            found.failed.append(more)
        yield found.joined()

    def _no_rows(self) -> TableRows:
        patients: list[str | None] | None = None if self._patient_column is None else []
        attributes = {self.header[place]: list[str]() for place in self._attributes}
        return TableRows(np.empty((0, len(self._features))), [], [], patients, attributes, [])

    def _add_usable_rows(
        self, block: CsvRowBlock[Cells], used_ids: set[str], failures: FailedRows, found: TableRows
    ) -> None:
        """Add those of ``block`` to ``found``, and what cannot be used to ``failures`` too."""
        columns, n = block.columns, len(block.numbers)
        values = np.empty((len(self._features), n))
        for row, place in enumerate(self._features):
            is_plain = self._surveys[place].are_plain and self._decimal == "."
            values[row] = _numbers(columns[place], self._decimal, is_plain=is_plain)
        bad: dict[int, str] = {}
        if len(columns) and (refused := np.abs(values) > _LARGEST).any():
            for row, index in np.argwhere(refused).tolist():
                place = self._features[row]
                cell = str(columns[place][index])
                bad.setdefault(index, _bad_number(cell, self.header[place], self._decimal))
        case_ids = self._case_ids(block, used_ids, bad)
        n_reported = len(failures.reported)
        failed = [*block.failed, *(FailedRow(block.lines[index], reason) for index, reason in bad.items())]
        for one in sorted(failed, key=lambda one: one.line):
            failures.add(one)
        found.failed += failures.reported[n_reported:]
        usable = range(n) if not bad else [index for index in range(n) if index not in bad]

        def kept(place: int) -> Sequence[str]:
            cells = columns[place]
            assert not isinstance(cells, np.ndarray)
            return [cells[index] for index in usable] if bad else cells

        found.parts.append(values[:, usable].T if bad else values.T)
        found.findings += [cell or None for cell in kept(self._finding)]
        found.case_ids += [case_ids[index] for index in usable] if bad else case_ids
        if found.patient_ids is not None:
            assert self._patient_column is not None
            found.patient_ids += [None if is_missing(cell) else cell for cell in kept(self._patient_column)]
        for place in self._attributes:
            found.attributes[self.header[place]] += kept(place)

    def _case_ids(self, block: CsvRowBlock[Cells], used_ids: set[str], bad: dict[int, str]) -> list[str]:
        """The id of each row; rows whose id another has are noted in ``bad``.

        Raises:
            BadInput: more rows have an id than the memory holds.
        """
        if self._case_column is None:
            return [f"row{number}" for number in block.numbers]
        case_ids, most_ids = [], memory_limit() // _BYTES_OF_ID
        for index, (number, cell) in enumerate(
            zip(block.numbers, block.columns[self._case_column], strict=True)
        ):
            case_id = f"row{number}" if is_missing(str(cell)) else str(cell)
            if case_id in used_ids and self._ids_may_recur:
                case_id = f"{case_id} row{number}"
            elif case_id in used_ids:
                reason = tr_lazy("the case_id '{case_id}' occurs a second time", case_id=case_id)
                bad.setdefault(index, reason)
            used_ids.add(case_id)
            if len(used_ids) > most_ids:
                raise self._too_many_ids(most_ids)
            case_ids.append(case_id)
        return case_ids


def _bad_number(cell: str, column: str, decimal: str) -> str:
    value = number_in(cell, decimal)
    shown = cell if len(cell) <= 40 else cell[:40] + "…"
    if value is None:
        return tr_lazy("'{shown}' in the column '{column}' is not a number", shown=shown, column=column)
    if math.isinf(value):
        return tr_lazy("'{shown}' in the column '{column}' is infinite", shown=shown, column=column)
    return tr_lazy("{shown} in the column '{column}' is too large", shown=shown, column=column)


def _numbers(cells: Cells, decimal: str, *, is_plain: bool) -> npt.NDArray[np.float64]:
    """(n,) values, infinite where a cell is no number. ``is_plain``: they all are, with a decimal point."""
    if isinstance(cells, np.ndarray):
        return cells
    try:
        values = np.fromiter(map(float, cells), np.float64, len(cells))
    except ValueError:
        pass
    else:
        if is_plain or (
            "_" not in "".join(cells) and (decimal == "." or not any("." in cell for cell in cells))
        ):
            return values
    read = [math.nan if is_missing(cell) else number_in(cell, decimal) for cell in cells]
    return np.array([math.inf if value is None else value for value in read])


def number_in(cell: str, decimal: str = ".") -> float | None:
    """The number written in ``cell``; Python would also read ``1_000``, which no table means."""
    if "_" in cell or (decimal == "," and "." in cell):
        return None
    try:
        return float(cell.replace(",", ".") if decimal == "," else cell)
    except ValueError:
        return None
