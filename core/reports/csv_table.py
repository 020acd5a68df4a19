"""Cells of CSV files, safe to open in a spreadsheet."""

from __future__ import annotations

import math
from collections.abc import Iterable, Sequence

import numpy as np

from semblance.core.csv_cells import csv_line, safe_text


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
