"""Which targets are reached, from the results as they are kept."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from typing import Any, NamedTuple

from tests.benchmarks.learners.contenders import LMNN, MEAN_TIMES_LMNN, NCA, TIMES_LMNN, TIMES_NCA, Contender
from tests.benchmarks.learners.references import Known

Speed = Mapping[str, Mapping[str, Any]]


def times_faster(speed: Speed, table: str, title: str, than: str) -> float | None:
    """How many times longer ``than`` takes to fit; ``None`` where either was not measured there."""
    rows = speed[table]["rows"]
    seconds = [rows.get(name, {}).get("seconds") for name in (than, title)]
    if None in seconds or any("failed" in rows[name] for name in (than, title)):
        return None
    return float(seconds[0] / seconds[1])


def geometric_mean(ratios: Sequence[float | None]) -> float | None:
    """``None`` unless every one is known."""
    known = [ratio for ratio in ratios if ratio is not None]
    if len(known) < len(ratios) or not known:
        return None
    return math.exp(sum(map(math.log, known)) / len(known))


def slow_against_lmnn(speed: Speed, contender: Contender) -> list[str]:
    """The tables on which a learner is not :data:`TIMES_LMNN` times as fast."""
    ratios = {table: times_faster(speed, table, contender.title, LMNN) for table in speed}
    return [table for table, ratio in ratios.items() if ratio is None or ratio < TIMES_LMNN]


def fast_on_average(speed: Speed, contender: Contender) -> bool:
    mean = geometric_mean([times_faster(speed, table, contender.title, LMNN) for table in speed])
    return mean is not None and mean >= MEAN_TIMES_LMNN


def slow_against_nca(speed: Speed, contender: Contender, tables: Sequence[str]) -> list[str]:
    ratios = {table: times_faster(speed, table, contender.title, NCA) for table in tables}
    return [table for table, ratio in ratios.items() if ratio is None or ratio < TIMES_NCA]


class Verdict(NamedTuple):
    """``short``: by how much the weaker of two prototypes is missed, 0 where it is not; s.e. are ours."""

    text: str
    short: float


def verdict(known: Known, mean: float, error: float) -> Verdict:
    """Against two prototypes' values, one standard error allowed."""
    worse = 1.0 if known.less_is_better else -1.0
    best, weakest = (known.low, known.high) if known.less_is_better else (known.high, known.low)
    if worse * (mean - best) <= error:
        return Verdict("reached", 0.0)
    short = worse * (mean - weakest)
    if short <= error:
        return Verdict("within their range", 0.0)
    return Verdict(f"short by {100.0 * short:.2g} ({short / error:.1f} s.e.)", short)
