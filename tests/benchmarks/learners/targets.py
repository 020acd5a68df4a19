"""Compares the stored results with the targets."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from typing import Any, NamedTuple

from tests.benchmarks.learners.references import ReferenceRange
from tests.benchmarks.learners.variants import LMNN, MEAN_TIMES_LMNN, NCA, TIMES_LMNN, TIMES_NCA, Variant

Speed = Mapping[str, Mapping[str, Any]]


def times_faster(speed: Speed, table: str, title: str, other: str) -> float | None:
    """How many times longer ``other`` takes to fit, or ``None`` if one was not measured on the table."""
    rows = speed[table]["rows"]
    seconds = [rows.get(name, {}).get("seconds") for name in (other, title)]
    if None in seconds or any("failed" in rows[name] for name in (other, title)):
        return None
    return float(seconds[0] / seconds[1])


def geometric_mean(ratios: Sequence[float | None]) -> float | None:
    """The geometric mean, or ``None`` if a ratio is missing."""
    known = [ratio for ratio in ratios if ratio is not None]
    if len(known) < len(ratios) or not known:
        return None
    return math.exp(sum(map(math.log, known)) / len(known))


def slow_against_lmnn(speed: Speed, variant: Variant) -> list[str]:
    """The tables on which a learner is not :data:`TIMES_LMNN` times as fast."""
    ratios = {table: times_faster(speed, table, variant.title, LMNN) for table in speed}
    return [table for table, ratio in ratios.items() if ratio is None or ratio < TIMES_LMNN]


def fast_on_average(speed: Speed, variant: Variant) -> bool:
    mean = geometric_mean([times_faster(speed, table, variant.title, LMNN) for table in speed])
    return mean is not None and mean >= MEAN_TIMES_LMNN


def slow_against_nca(speed: Speed, variant: Variant, tables: Sequence[str]) -> list[str]:
    ratios = {table: times_faster(speed, table, variant.title, NCA) for table in tables}
    return [table for table, ratio in ratios.items() if ratio is None or ratio < TIMES_NCA]


class Verdict(NamedTuple):
    """``shortfall``: by how much the weaker of two prototypes is missed, 0 where it is not; s.e. are ours."""

    text: str
    shortfall: float


def verdict(known_range: ReferenceRange, mean: float, error: float) -> Verdict:
    """Against two prototypes' values, one standard error allowed."""
    worse = 1.0 if known_range.lower_is_better else -1.0
    best, weakest = (
        (known_range.low, known_range.high)
        if known_range.lower_is_better
        else (known_range.high, known_range.low)
    )
    if worse * (mean - best) <= error:
        return Verdict("reached", 0.0)
    shortfall = worse * (mean - weakest)
    if shortfall <= error:
        return Verdict("within their range", 0.0)
    return Verdict(f"short by {100.0 * shortfall:.2g} ({shortfall / error:.1f} s.e.)", shortfall)
