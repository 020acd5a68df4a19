"""CSV files of strangers, row by row: how they are written is recognised, damaged rows are reported one by one."""

from __future__ import annotations

import contextlib
import csv
import io
import re
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass, field
from itertools import chain, islice
from typing import TYPE_CHECKING, BinaryIO, Generic, NamedTuple, TypeVar

import numpy as np
import numpy.typing as npt

from semblance.core.csv_cells import original_text
from semblance.core.errors import BadInput
from semblance.core.language import tr_lazy
from semblance.core.library.column_checks import counts_rows
from semblance.core.library.importers.encodings import (
    SAVE_AS_CSV,
    decoded,
    decoded_start,
    encoding_of,
    option_hint,
)
from semblance.core.limits import MAX_TABLE_BYTES, MEMORY_VARIABLE, memory_limit
from semblance.core.normal_text import composed

if TYPE_CHECKING:
    from semblance.core.library.importers.source import Entry, Source

CASE_COLUMNS = ("case_id", "id")
PATIENT_COLUMNS = ("patient_id", "patient", "subject")
#: In a list of images. The other columns of a table may be measurements, so it has fewer.
FINDING_COLUMNS = ("label", "finding", "class", "diagnosis")
TABLE_FINDING_COLUMNS = FINDING_COLUMNS[:2]
IMAGE_COLUMNS = ("path", "file", "filename", "image", "picture")


#: What separates cells.
DELIMITERS = (",", ";", "\t")

LONGEST_CELL = 1 << 20
#: Characters of rows that are held at a time. The texts of many more do not fit the processor's cache, which takes
#: twice as long.
_CHARACTERS = 1 << 16
#: Characters that are not in cells as they are meant: blanks around them, and the apostrophe of :func:`safe_text`.
_CLEANED = "' \t\v\f\x1c\x1d\x1e\x1f"
_MAX_COLUMNS = 100_000
#: Damaged rows that are reported one by one. The others are counted.
_REPORTED_ROWS = 1000
#: Rows, and at most so many characters, that decide how a file is written.
_SAMPLED_ROWS, _SAMPLED_CHARACTERS = 200, 1 << 18
#: Two delimiters cannot be distinguished where their scores differ by less than the first of these, or where the better
#: one is below the second.
_CLEAR, _CERTAIN = 0.05, 0.9
#: Memory that one row of a list takes, with what is made of it.
_BYTES_OF_ROW = 1000
#: The line before the header in which Excel may state the delimiter.
_STATED_DELIMITER = re.compile(r"sep=([,;\t])\r?\n?")
_LONGEST_STATEMENT = 8
#: Bytes that hold a header.
_LONGEST_HEADER = 1 << 14
_NUMBER = re.compile(r"[+-]?(\d+([.,]\d*)?|[.,]\d+)([eE][+-]?\d+)?")


@dataclass(frozen=True)
class FailedRow:
    """A row that cannot be used: the line of the file it starts on (the header is line 1) and why."""

    line: int
    reason: str


class FailedRows:
    """Rows that cannot be used: the first ones are reported one by one, the others are counted."""

    def __init__(self) -> None:
        self.reported: list[FailedRow] = []
        self._n_others = self._last_line = 0

    def add(self, row: FailedRow) -> None:
        """Take in another row."""
        if len(self.reported) < _REPORTED_ROWS:
            self.reported.append(row)
        else:
            self._n_others, self._last_line = self._n_others + 1, row.line

    def not_reported(self) -> FailedRow | None:
        """The rows that are only counted, as one; ``None`` where there are none."""
        if not self._n_others:
            return None
        return FailedRow(
            self._last_line, tr_lazy("{n:,} more rows up to here cannot be used", n=self._n_others)
        )

    def all(self) -> list[FailedRow]:
        """What is to be reported."""
        more = self.not_reported()
        return self.reported if more is None else [*self.reported, more]


#: The cells of a column: as they are written, or as values.
Cells = Sequence[str] | npt.NDArray[np.float64]
C_co = TypeVar("C_co", bound=Cells, covariant=True)


@dataclass(frozen=True)
class CsvRowBlock(Generic[C_co]):
    """Some rows in file order: the ``columns`` of those that are whole, each as cells of text or as float64 values,
    with their ``numbers`` from 1 and the ``lines`` they are named by; rows that are ``failed``."""

    columns: Sequence[C_co]
    numbers: Sequence[int]
    lines: Sequence[int]
    failed: Sequence[FailedRow] = ()


class CsvRow(NamedTuple):
    """``cells`` are stripped of blanks around them, and of what :func:`safe_text` added; ``line`` is the line of the
    file that the row starts on."""

    line: int
    cells: list[str]


@dataclass
class CsvText:
    """``rows`` have as many cells as ``header`` has names; cells are stripped of blanks around them.

    ``lines[i]`` is the line ``rows[i]`` starts on, ``numbers[i]`` its number counted from 1 without the
    header, failed rows counted too, so that repairing one row never renumbers the others. ``note``: what a person
    should check, or "".
    """

    header: list[str]
    rows: list[list[str]] = field(default_factory=list)
    lines: list[int] = field(default_factory=list)
    numbers: list[int] = field(default_factory=list)
    failed: list[FailedRow] = field(default_factory=list)
    note: str = ""


class CsvFile:
    """An open CSV file that is read row by row, as often as needed; the file stays the caller's.

    ``delimiter`` separates its cells, ``first`` is its first row that is not blank: usually the header.
    """

    def __init__(
        self,
        file: BinaryIO,
        name: str,
        delimiter: str | None = None,
        encoding: str | None = None,
        *,
        max_bytes: int = MAX_TABLE_BYTES,
    ) -> None:
        """``encoding``: one of :data:`.encodings.ENCODINGS`, else as it is recognised. ``max_bytes``: those of the
        largest file.

        Raises:
            BadInput: too large, empty, not text in this encoding, a first row that cannot be read, or no ``delimiter``
                is given and none can be recognised.
        """
        self._file, self.name = file, name
        self._encoding, self.note = encoding_of(file, name, encoding, max_bytes)
        csv.field_size_limit(LONGEST_CELL)
        stated = _STATED_DELIMITER.fullmatch(self._text().readline(_LONGEST_STATEMENT))
        self._begins_with_delimiter = stated is not None
        self.delimiter = delimiter or (
            stated.group(1) if stated is not None else recognised_delimiter(self._sample(), name)
        )
        lines, rows, unreadable = next((part for part in self._parts() if part[1]), ((), [], {}))
        if not rows:
            raise BadInput(tr_lazy("'{name}' contains no row of text.", name=name), SAVE_AS_CSV)
        if lines[0] in unreadable:
            raise BadInput(
                tr_lazy(
                    "The header of '{name}' cannot be read: {error}.", name=name, error=unreadable[lines[0]]
                ),
                SAVE_AS_CSV,
            )
        check_number_of_columns(len(rows[0]), name)
        self.first = CsvRow(lines[0], rows[0])

    def blocks(self, *, header: bool = True) -> Iterator[CsvRowBlock[tuple[str, ...]]]:
        """The rows, some at a time; those of another length than the first failed. ``header``: without the first."""
        width, reasons, number = len(self.first.cells), dict[int, str](), 1 - int(header)
        for lines, rows, unreadable in self._parts():
            numbers = range(number, number + len(rows))
            number += len(rows)
            if header and rows:
                header, numbers, lines, rows = False, numbers[1:], lines[1:], rows[1:]
            if set(map(len, rows)) == {width}:
                yield CsvRowBlock(list(zip(*rows, strict=True)), numbers, lines)
                continue
            failed = []
            for line, row in zip(lines, rows, strict=True):
                if (n := len(row)) != width and n not in reasons:
                    # Millions of rows may be damaged in one way.
                    reasons[n] = tr_lazy("{n} cells where the header names {names} columns", n=n, names=width)
                if n != width:
                    failed.append(FailedRow(line, reasons[n] if row else unreadable[line]))
            whole = [place for place, row in enumerate(rows) if len(row) == width]
            columns = list(zip(*(rows[place] for place in whole), strict=True)) or [()] * width
            yield CsvRowBlock(
                columns, [numbers[place] for place in whole], [lines[place] for place in whole], failed
            )

    def first_rows(self, n: int) -> tuple[tuple[str, ...], ...]:
        """The cells of the first ``n`` rows, of whatever length, without those that are not written as CSV."""
        rows = islice((row for _, some, _ in self._parts() for row in some), n)
        return tuple(tuple(row) for row in rows if row)

    def _parts(self) -> Iterator[tuple[Sequence[int], list[list[str]], dict[int, str]]]:
        """The lines on which rows begin that are not blank, the first row included; their cells, none where the row is
        not written as CSV; and why not, by line."""
        text, line = self._text(), 1 + int(self._begins_with_delimiter)
        starts: Sequence[int]
        if self._begins_with_delimiter:
            text.readline()
        while some := text.readlines(_CHARACTERS):
            rows = self._rows_of_lines(some)
            if rows is None:
                starts, rows, unreadable, n_lines = self._rows_one_by_one(chain(some, text), line, len(some))
                yield starts, rows, unreadable
            else:
                n_lines = len(some)
                starts = range(line, line + n_lines)
                if not all(map(any, rows)):
                    starts = [start for start, row in zip(starts, rows, strict=True) if any(row)]
                    rows = [row for row in rows if any(row)]
                yield starts, rows, {}
            line += n_lines

    def _rows_of_lines(self, lines: list[str]) -> list[list[str]] | None:
        """The cells of each of ``lines``; ``None`` where a row is longer than its line, or not written as CSV."""
        joined = "".join(lines)
        if not joined.isascii():
            lines = [composed(line) for line in lines]
        try:
            rows = list(csv.reader(lines, delimiter=self.delimiter, strict=True))
        except csv.Error:
            return None
        if len(rows) != len(lines):
            return None
        if not joined.isascii() or any(mark in joined for mark in _CLEANED if mark != self.delimiter):
            return [_clean(row) for row in rows]
        return rows

    def _rows_one_by_one(
        self, lines: Iterable[str], first: int, n_lines: int
    ) -> tuple[list[int], list[list[str]], dict[int, str], int]:
        """What :meth:`_parts` gives, of at least ``n_lines`` lines from the line ``first`` on, and their number."""
        reader = csv.reader(map(composed, lines), delimiter=self.delimiter, strict=True)
        starts, rows, unreadable = list[int](), list[list[str]](), dict[int, str]()
        while reader.line_num < n_lines:
            start = first + reader.line_num
            try:
                row = _clean(next(reader))
            except StopIteration:
                break
            except csv.Error as error:
                row = []
                unreadable[start] = _unreadable_row(start, first + reader.line_num - 1, error)
            if any(row) or start in unreadable:
                starts.append(start)
                rows.append(row)
        return starts, rows, unreadable, reader.line_num

    def _sample(self) -> str:
        return self._text().read(_SAMPLED_CHARACTERS)

    def _text(self) -> io.TextIOWrapper:
        """The text from its start. The wrapper must not close the file with itself."""
        self._file.seek(0)
        return _Text(self._file, encoding=self._encoding, newline="")


class _Text(io.TextIOWrapper):
    """Text of a file that it leaves open."""

    def close(self) -> None:
        if not self.closed:
            self.detach()


def read_csv(data: bytes, name: str, encoding: str | None = None) -> CsvText:
    """The rows of a list that belongs to images, such as ``labels.csv``, separated by what fits best.

    ``encoding`` as for :class:`CsvFile`.

    Raises:
        BadInput: empty, not UTF-8 text, no header, two columns of one name, or too many rows.
    """
    opened = CsvFile(io.BytesIO(data), name, encoding=encoding)
    table, most = CsvText(checked_header(opened.first.cells, name)), memory_limit() // _BYTES_OF_ROW
    table.note = opened.note
    failed = FailedRows()
    for block in opened.blocks():
        for row in block.failed:
            failed.add(row)
        if len(block.numbers) and block.numbers[-1] > most:
            raise BadInput(
                tr_lazy("'{name}' has more than {n:,} rows, the limit of such a list.", name=name, n=most),
                tr_lazy(
                    "Divide it into several files, or allow more memory with the environment variable {variable}.",
                    variable=MEMORY_VARIABLE,
                ),
            )
        table.rows += map(list, zip(*block.columns, strict=True))
        table.lines += block.lines
        table.numbers += block.numbers
    table.failed = failed.all()
    return _without_empty_columns(table, name)


def read_text(source: Source, path: str) -> str:
    """The text of a list in ``source`` that is no CSV, as :func:`read_list` reads it.

    Raises:
        BadInput: empty, or no text.
    """
    text, note = decoded(source.read(path), source.label(path), source.encoding)
    if note:
        source.notes.append(note)
    return text


def read_list(source: Source, path: str) -> CsvText:
    """The rows of a list in ``source``, in the encoding that was chosen for it or is recognised. What a person should
    check goes to the notes of the source.

    Raises:
        BadInput: as :func:`read_csv`.
    """
    text = read_csv(source.read(path), source.label(path), source.encoding)
    if text.note:
        source.notes.append(text.note)
    return text


def recognised_delimiter(sample: str, name: str) -> str:
    """What separates the cells of ``sample``, the start of a file: the one of :data:`DELIMITERS` by which the rows
    are equally long, and their cells numbers or texts without another delimiter.

    Raises:
        BadInput: two of them fit as well.
    """
    scores = sorted(((_score(sample, mark), mark) for mark in DELIMITERS), reverse=True)
    (best, found), (second, other) = scores[:2]
    if second > 0 and (best - second < _CLEAR or best < _CERTAIN):
        raise BadInput(
            tr_lazy(
                "The cells of '{name}' may be separated by '{found}' or by '{other}'. Its first line is {line}.",
                name=name,
                found=delimiter_name(found),
                other=delimiter_name(other),
                line=shown_line(sample),
            ),
            option_hint("delimiter", delimiter_name(found)),
        )
    return found if best > 0 else ","


def delimiter_name(delimiter: str) -> str:
    """A delimiter as it is written after ``--set delimiter=``."""
    return "tab" if delimiter == "\t" else delimiter


def shown_line(text: str) -> str:
    """The first line that is not blank, shortened, in quotation marks."""
    line = next((line for line in text.splitlines() if line.strip()), "")
    return repr(line if len(line) <= 80 else line[:80] + "…")


def is_number(cell: str) -> bool:
    """Whether a cell is a number with a decimal point or a decimal comma."""
    return _NUMBER.fullmatch(cell) is not None


def _score(sample: str, mark: str) -> float:
    """0..1: how well ``mark`` separates the cells; 0 where the first row has one cell."""
    lines = io.StringIO(sample, newline="")
    rows: list[list[str]] = []
    with contextlib.suppress(csv.Error):
        read = islice(csv.reader(lines, delimiter=mark), _SAMPLED_ROWS)
        rows.extend(row for row in read if any(cell.strip() for cell in row))
    if len(rows) > 2 and len(sample) >= _SAMPLED_CHARACTERS:
        # The last row may be cut.
        rows.pop()
    if not rows or len(rows[0]) < 2:
        return 0.0
    even = sum(len(row) == len(rows[0]) for row in rows) / len(rows)
    others = [other for other in DELIMITERS if other != mark]
    cells = [cell.strip() for row in rows for cell in row]
    clean = sum(is_number(cell) or not any(other in cell for other in others) for cell in cells)
    return even * clean / len(cells)


def column_named(header: Sequence[str], *names: str) -> int | None:
    """Index of the first column called by one of ``names`` (earlier names win, case ignored)."""
    folded = [column.casefold() for column in header]
    return next((folded.index(name) for name in names if name in folded), None)


def check_number_of_columns(n: int, name: str) -> None:
    """
    Raises:
        BadInput: a table has too many columns.
    """
    if n > _MAX_COLUMNS:
        raise BadInput(
            tr_lazy(
                "'{name}' has {n:,} columns; the limit is {max_columns:,}.",
                name=name,
                n=n,
                max_columns=_MAX_COLUMNS,
            ),
            "Leave out columns or divide it into several files.",
        )


def checked_header(cells: list[str], name: str) -> list[str]:
    """
    Raises:
        BadInput: two columns of one name.
    """
    names: set[str] = set()
    for cell in cells:
        if cell and cell in names:
            raise BadInput(
                tr_lazy("'{name}' has two columns named '{cell}'.", name=name, cell=cell),
                "Rename or delete one of them.",
            )
        names.add(cell)
    return cells


def unnamed_column(index: int, name: str) -> BadInput:
    """The error about a column that holds something and has no name."""
    return BadInput(
        tr_lazy("Column {index} of '{name}' has no name in the header.", index=index + 1, name=name),
        "Name it, or delete it if it only counts the rows.",
    )


def header_of(head: bytes) -> list[str]:
    """The column names in the first bytes of a file; empty where they are no text. Nothing is checked."""
    lines = decoded_start(head).splitlines()
    first = next((line for line in lines if line.strip()), "")
    if "\0" in first:
        return []
    mark = max(DELIMITERS, key=first.count)
    return [original_text(cell).strip() for cell in next(csv.reader([first], delimiter=mark), [])]


def header_start(source: Source, path: str) -> list[str]:
    """The column names of an entry that is named like a CSV; empty where it cannot be read."""
    if not source.label(path).lower().endswith((".csv", ".tsv")):
        return []
    try:
        with source.stream(path) as file:
            return header_of(file.read(_LONGEST_HEADER))
    except BadInput:
        return []


def is_table_with(source: Source, entry: Entry, accepts: Callable[[list[str]], bool]) -> bool:
    """Whether an entry is a CSV with a header that ``accepts``."""
    return accepts(header_start(source, entry.path))


def _without_empty_columns(table: CsvText, name: str) -> CsvText:
    """Leave out columns without a name that hold nothing (rows that all end in a comma) or count the rows (pandas).

    Raises:
        BadInput: a column without a name that holds something else.
    """
    unnamed = [index for index, column in enumerate(table.header) if not column]
    for index in unnamed:
        cells = [row[index] for row in table.rows]
        if any(cells) and not counts_rows(cells):
            raise unnamed_column(index, name)
    if unnamed:
        named = [index for index, column in enumerate(table.header) if column]
        table.header = [table.header[index] for index in named]
        table.rows = [[row[index] for index in named] for row in table.rows]
    return table


def _clean(row: list[str]) -> list[str]:
    return [original_text(cell).strip() for cell in row]


def _unreadable_row(start: int, end: int, error: csv.Error) -> str:
    """The csv module's complaint in the user's words."""
    message = str(error)
    if "unexpected end of data" in message:
        if end > start:
            return tr_lazy(
                "a quotation mark is never closed, so lines {start} to {end} cannot be read",
                start=start,
                end=end,
            )
        return tr_lazy("a quotation mark is never closed")
    if "expected after" in message:
        return tr_lazy("text follows a closing quotation mark within a cell")
    if "field larger than" in message:
        return tr_lazy("a cell is longer than {longest_cell:,} characters", longest_cell=LONGEST_CELL)
    return tr_lazy("it is not written as CSV")
