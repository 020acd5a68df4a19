"""Cells of tables that a spreadsheet may open: text that it would run as a formula is kept from it."""

from __future__ import annotations

import csv
import io
import math
import re
from collections.abc import Iterable, Sequence

import numpy as np

#: What a formula begins with, in all widths that compatibility makes one (NFKC).
_SIGN = re.compile("[=+@\\-\uff1d\ufe66\u207c\u208c\uff0b\ufe62\u207a\u208a\ufb29\uff0d\ufe63\uff20\ufe6b]")
_BREAKS = "\t\n\r\v\f\x1c\x1d\x1e\x85\u2028\u2029"
#: What begins a cell: separators of any country and program, and line breaks, because a spreadsheet that splits by
#: another separator than the writer does not take quotation marks within a cell for such.
_SEPARATOR = re.compile(f"[,;|\u060c\u061b\uff0c\uff1b{_BREAKS}]")
#: What a spreadsheet may drop before a formula. An apostrophe that stands there already is counted, so that the text
#: can be told again from what is written.
_DROPPED = re.compile(r"[\s\"'\x00-\x1f\x7f-\xa0\xad\u200b-\u200f\u2028-\u202f\u2060\ufeff]")
_NUMBER = re.compile(r"[+-]?(\d+(\.\d*)?|\.\d+)([eE][+-]?\d+)?", re.ASCII)


def safe_text(text: str) -> str:
    """``text`` with an apostrophe wherever a cell begins in it that a spreadsheet would run as a formula, whatever it
    takes for a separator; a number stays one."""
    text = text.replace("\r\n", "\n").replace("\r", "\n")
    if _NUMBER.fullmatch(text):
        return text
    places = _cells_of_formulas(text)
    return "'".join(text[start:end] for start, end in zip([0, *places], [*places, len(text)], strict=True))


def original_text(cell: str) -> str:
    """The text of which :func:`safe_text` made ``cell``."""
    if "'" not in cell:
        return cell
    added = {place for place in _cells_of_formulas(cell) if cell[place] == "'"}
    return "".join(character for place, character in enumerate(cell) if place not in added)


def csv_line(cells: Iterable[str], delimiter: str = ",") -> str:
    """A line of ``cells``, each made by :func:`safe_text`, without a line break at its end."""
    line = io.StringIO(newline="")
    csv.writer(line, delimiter=delimiter, lineterminator="\n").writerow(cells)
    return line.getvalue().removesuffix("\n")


def csv_lines(rows: Iterable[Sequence[str]]) -> str:
    """Lines of cells that :func:`safe_text` made, each with a line feed; quicker than one by one."""
    text = io.StringIO(newline="")
    csv.writer(text, lineterminator="\n").writerows(rows)
    return text.getvalue()


def _cells_of_formulas(text: str) -> list[int]:
    """Where cells begin that hold a formula after what is dropped."""
    places, after_sign = [], 0
    for sign in _SIGN.finditer(text):
        begin = sign.start()
        while begin > after_sign and _DROPPED.fullmatch(text[begin - 1]):
            begin -= 1
        if begin == 0 or (begin > 0 and _SEPARATOR.match(text, begin - 1)):
            places.append(begin)
        places += [one.end() for one in _SEPARATOR.finditer(text, begin, sign.start())]
        after_sign = sign.end()
    return places


def cell(value: object) -> str:
    """Numbers in full precision, NaN and ``None`` empty, text made safe."""
    if value is None:
        return ""
    if isinstance(value, (bool, np.bool_)):
        return "yes" if value else "no"
    if isinstance(value, (int, np.integer)):
        return str(int(value))
    if isinstance(value, (float, np.floating)):
        number = float(value)
        return repr(number) if math.isfinite(number) else "" if math.isnan(number) else str(number)
    return safe_text(str(value))


def csv_text(header: Sequence[str], rows: Iterable[Sequence[object]]) -> str:
    """CSV with one header row and lines ending in a line feed."""
    return "".join(f"{csv_line(map(cell, row))}\n" for row in (header, *rows))
