"""Parts of all benchmarks: skipping without real data, and the table."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import Any

from tests.helpers import data as real_data


class SkippedBenchmark(Exception):
    """The benchmark cannot run here. The text says why."""


def require_data(data: Path | None) -> Path:
    """Return ``data``, or skip the benchmark without it."""
    if data is None:
        raise SkippedBenchmark(real_data.REASON)
    return data


@dataclass(frozen=True)
class Row:
    """One measurement."""

    benchmark: str
    what: str
    value: float
    unit: str
    target: float | None = None
    reached: bool | None = None


def row(
    what: str,
    value: float,
    unit: str = "",
    target: float | None = None,
    reached: bool | None = None,
    *,
    most: float | None = None,
    least: float | None = None,
) -> dict[str, Any]:
    """What a benchmark returns for one measurement: the fields of :class:`Row` without its name.

    A target is best given as the ``most`` or the ``least`` that the value should be.
    """
    if most is not None:
        target, reached = most, bool(value <= most)
    elif least is not None:
        target, reached = least, bool(value >= least)
    return {"what": what, "value": value, "unit": unit, "target": target, "reached": reached}


def number(value: float) -> str:
    """Three significant digits at least, thousands grouped, no exponent."""
    size = abs(value)
    digits = 0 if size >= 100 or value == int(value) else 1 if size >= 10 else 2 if size >= 1 else 3
    return f"{value:,.{digits}f}"


def table(rows: list[Row]) -> str:
    """The rows in aligned columns, numbers to the right; the ratio is value to target."""
    head = ("benchmark", "what", "value", "target", "unit", "ratio", "")
    cells = [head]
    for one in rows:
        target = "" if one.target is None else number(one.target)
        ratio = f"{one.value / one.target:.2f}" if one.target else ""
        verdict = {True: "reached", False: "NOT reached", None: ""}[one.reached]
        cells.append((one.benchmark, one.what, number(one.value), target, one.unit, ratio, verdict))
    widths = [max(len(line[column]) for line in cells) for column in range(len(head))]
    numeric = {2, 3, 5}
    lines = [
        "  ".join(
            text.rjust(width) if column in numeric else text.ljust(width)
            for column, (text, width) in enumerate(zip(line, widths, strict=True))
        ).rstrip()
        for line in cells
    ]
    lines.insert(1, "-" * max(map(len, lines)))
    return "\n".join(lines)
