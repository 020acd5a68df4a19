"""CSV files of strangers: rows of text with the line each came from, damaged rows told one by one."""

from __future__ import annotations

import csv
import io
from collections.abc import Sequence
from dataclasses import dataclass, field

from semblance.core.errors import BadInput
from semblance.core.imaging.limits import MAX_TABLE_BYTES, size_text
from semblance.core.language import tr_lazy

SAVE_AS_CSV = tr_lazy("Save it as CSV in UTF-8 (comma separated, one header row).")

_LONGEST_CELL = 1 << 20
_UTF16 = (b"\xff\xfe", b"\xfe\xff")


@dataclass(frozen=True)
class FailedRow:
    """A row that cannot be used: the line of the file it starts on (the header is line 1) and why."""

    line: int
    reason: str


@dataclass
class CsvText:
    """``rows`` have as many cells as ``header`` has names; cells are stripped of blanks around them.

    ``lines[i]`` is the line ``rows[i]`` starts on, ``numbers[i]`` its number counted from 1 without the
    header, failed rows counted too, so that repairing one row never renumbers the others.
    """

    header: list[str]
    rows: list[list[str]] = field(default_factory=list)
    lines: list[int] = field(default_factory=list)
    numbers: list[int] = field(default_factory=list)
    failed: list[FailedRow] = field(default_factory=list)


def read_csv(data: bytes, name: str) -> CsvText:
    """Rows separated by commas, or by semicolons or tabs where the header holds no comma.

    Raises:
        BadInput: empty, not UTF-8 text, no header, or two columns of one name.
    """
    text = _text(data, name)
    first = next((line for line in io.StringIO(text) if line.strip()), "")
    separator = next((mark for mark in ",;\t" if mark in first), ",")
    csv.field_size_limit(_LONGEST_CELL)
    reader = csv.reader(io.StringIO(text, newline=""), delimiter=separator, strict=True)
    table: CsvText | None = None
    number = 0
    while True:
        start = reader.line_num + 1
        try:
            row = next(reader)
        except StopIteration:
            break
        except csv.Error as error:
            if table is None:
                raise BadInput(
                    tr_lazy(
                        "The header of '{name}' cannot be read: {error}.",
                        name=name,
                        error=_describe_error(error),
                    ),
                    SAVE_AS_CSV,
                ) from None
            number += 1
            table.failed.append(FailedRow(start, _unreadable_row(start, reader.line_num, error)))
            continue
        cells = [cell.strip() for cell in row]
        if not any(cells):
            continue
        if table is None:
            table = CsvText(_checked_header(cells, name))
            continue
        number += 1
        if len(cells) != len(table.header):
            names = len(table.header)
            table.failed.append(
                FailedRow(
                    start,
                    tr_lazy("{n} cells where the header names {names} columns", n=len(cells), names=names),
                )
            )
            continue
        table.rows.append(cells)
        table.lines.append(start)
        table.numbers.append(number)
    if table is None:
        raise BadInput(tr_lazy("'{name}' contains no row of text.", name=name), SAVE_AS_CSV)
    return _without_empty_columns(table, name)


def column_named(header: Sequence[str], *names: str) -> int | None:
    """Index of the first column called by one of ``names`` (earlier names win, case ignored)."""
    folded = [column.casefold() for column in header]
    return next((folded.index(name) for name in names if name in folded), None)


def _text(data: bytes, name: str) -> str:
    if len(data) > MAX_TABLE_BYTES:
        raise BadInput(
            tr_lazy(
                "The table '{name}' has {n}; the limit is {max_table_bytes}.",
                name=name,
                n=size_text(len(data)),
                max_table_bytes=size_text(MAX_TABLE_BYTES),
            ),
            "Leave out columns or divide it into several files.",
        )
    if not data.strip():
        raise BadInput(tr_lazy("'{name}' is empty.", name=name), "Copy it from its source again.")
    if data.startswith(_UTF16):
        raise BadInput(tr_lazy("'{name}' is written in UTF-16.", name=name), SAVE_AS_CSV)
    if b"\0" in data:
        raise BadInput(
            tr_lazy("'{name}' is not a text table: it contains binary data.", name=name), SAVE_AS_CSV
        )
    try:
        return data.decode("utf-8-sig")
    except UnicodeDecodeError as error:
        line = data.count(b"\n", 0, error.start) + 1
        raise BadInput(
            tr_lazy(
                "'{name}' is not written in UTF-8: line {line} contains other bytes.", name=name, line=line
            ),
            SAVE_AS_CSV,
        ) from None


def _checked_header(cells: list[str], name: str) -> list[str]:
    names: set[str] = set()
    for cell in cells:
        if cell and cell in names:
            raise BadInput(
                tr_lazy("'{name}' has two columns named '{cell}'.", name=name, cell=cell),
                "Rename or delete one of them.",
            )
        names.add(cell)
    return cells


def _without_empty_columns(table: CsvText, name: str) -> CsvText:
    """Leave out columns without a name that hold nothing (rows that all end in a comma).

    Raises:
        BadInput: a column without a name that holds something.
    """
    unnamed = [index for index, column in enumerate(table.header) if not column]
    for index in unnamed:
        if any(row[index] for row in table.rows):
            raise BadInput(
                tr_lazy("Column {index} of '{name}' has no name in the header.", index=index + 1, name=name),
                "Name it, or delete it if it only counts the rows.",
            )
    if unnamed:
        named = [index for index, column in enumerate(table.header) if column]
        table.header = [table.header[index] for index in named]
        table.rows = [[row[index] for index in named] for row in table.rows]
    return table


def _unreadable_row(start: int, end: int, error: csv.Error) -> str:
    if "unexpected end of data" in str(error):
        return tr_lazy(
            "a quotation mark is never closed, so lines {start} to {end} cannot be read",
            start=start,
            end=end,
        )
    return _describe_error(error)


def _describe_error(error: csv.Error) -> str:
    """The csv module's complaint in the user's words."""
    message = str(error)
    if "unexpected end of data" in message:
        return tr_lazy("a quotation mark is never closed")
    if "expected after" in message:
        return tr_lazy("text follows a closing quotation mark within a cell")
    if "field larger than" in message:
        return tr_lazy("a cell is longer than {longest_cell:,} characters", longest_cell=_LONGEST_CELL)
    return tr_lazy("it is not written as CSV")


def header_of(head: bytes) -> list[str]:
    """The column names in the first bytes of a file; empty where they are no text. Nothing is checked."""
    lines = head.decode("utf-8-sig", "ignore").splitlines()
    first = next((line for line in lines if line.strip()), "")
    if "\0" in first:
        return []
    separator = next((mark for mark in ",;\t" if mark in first), ",")
    return [cell.strip() for cell in next(csv.reader([first], delimiter=separator), [])]
