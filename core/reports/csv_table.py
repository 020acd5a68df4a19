"""Cells of CSV files, safe to open in a spreadsheet."""

from __future__ import annotations

import csv
import io
import math
from collections.abc import Iterable, Sequence

import numpy as np

#: A spreadsheet reads text that begins with one of these as a formula.
_FORMULA = ("=", "+", "-", "@", "\t", "\n", "＝", "＋", "－", "＠")


def safe_text(text: str) -> str:
    """``text`` with an apostrophe before it where a spreadsheet would run it as a formula."""
    text = text.replace("\r\n", "\n").replace("\r", "\n")
    return f"'{text}" if text.lstrip(" ").startswith(_FORMULA) else text


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
    text = io.StringIO(newline="")
    table = csv.writer(text, lineterminator="\n")
    table.writerow([cell(name) for name in header])
    table.writerows([cell(value) for value in row] for row in rows)
    return text.getvalue()
