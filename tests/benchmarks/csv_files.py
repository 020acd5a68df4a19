"""Tables of benchmarks as CSV files beside the help page that shows them."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path

from semblance.core.csv_cells import csv_line

#: Column titles and rows.
Table = tuple[Sequence[str], Sequence[Sequence[str]]]
#: Read by the page resources/help/benchmarks.md.
FOLDER = Path(__file__).resolve().parents[2] / "resources" / "help" / "benchmarks"


def write_tables(folder: Path, tables: Mapping[str, Table]) -> None:
    """Write ``NAME.csv`` for each table, whole or not at all."""
    folder.mkdir(parents=True, exist_ok=True)
    for name, (head, rows) in tables.items():
        temporary = folder / f"{name}.csv.new"
        temporary.write_text(
            "".join(f"{csv_line(row)}\n" for row in (head, *rows)), encoding="utf-8", newline=""
        )
        temporary.replace(folder / f"{name}.csv")
