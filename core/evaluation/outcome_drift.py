"""Compare estimates with later diagnoses: whether they stay calibrated over time.

The Brier score is the mean squared difference between estimate and outcome (G. W. Brier, Monthly Weather Review 78,
1950). Calibration drifts when the patients or the scanners change, while the order of cases may stay as good (Davis et
al., "Calibration drift in regression and machine learning models for acute kidney injury", JAMIA 24, 2017).
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from datetime import datetime
from typing import ClassVar

import numpy as np

from semblance.core.evaluation.calibration import expected_calibration_error, perfect_error
from semblance.core.evaluation.intervals import Interval, over_queries, wilson
from semblance.core.evaluation.significance import holm_adjusted
from semblance.core.evaluation.subgroups import difference_p
from semblance.core.json_document import JsonDocument

#: Fewer outcomes, in total or in a period, are only counted.
MIN_OUTCOMES = 20
MONTH, QUARTER, YEAR = "month", "quarter", "year"
PERIODS = (MONTH, QUARTER, YEAR)
#: Adjusted p values below it are beyond chance.
ALPHA = 0.05


@dataclass(frozen=True)
class Outcome:
    """An estimate given at ``time`` (ISO 8601), whether the finding was the later diagnosis, and the ``query``."""

    time: str
    probability: float
    had_finding: bool
    query: str


@dataclass(frozen=True)
class PeriodScore(JsonDocument):
    """The ``n`` outcomes of estimates of one period ("" of all).

    ``estimate``: the mean; ``observed``: the share that had the finding, with its 95 % interval; ``brier`` with its
    interval; ``error``: the calibration error, and ``perfect``, which a perfect forecaster does not exceed in 95 of
    100; ``p``: adjusted, of the difference of ``observed`` and ``estimate``. ``None``: too few outcomes.
    """

    JSON_STRICT: ClassVar[bool] = True

    period: str
    n: int
    estimate: float | None = None
    observed: float | None = None
    observed_interval: Interval | None = None
    brier: float | None = None
    brier_interval: Interval | None = None
    error: float | None = None
    perfect: float | None = None
    p: float | None = None

    @property
    def is_beyond_chance(self) -> bool:
        """Whether the estimates were too high or too low by more than chance."""
        return self.p is not None and self.p < ALPHA


def outcome_drift(
    outcomes: Sequence[Outcome], period: str = QUARTER, *, seed: int = 0
) -> tuple[PeriodScore, ...]:
    """The score of all outcomes, and where these are enough, of each ``period`` in order of time.

    Estimates of one query are drawn together where intervals are bootstrapped.
    """
    whole = _score("", outcomes, seed)
    if whole.brier is None:
        return (whole,)
    named: dict[str, list[Outcome]] = {}
    for one in sorted(outcomes, key=lambda outcome: outcome.time):
        named.setdefault(period_of(one.time, period), []).append(one)
    parts = [_score(name, members, seed) for name, members in named.items()]
    adjusted = iter(holm_adjusted([one.p for one in parts if one.p is not None]))
    return (whole, *(one if one.p is None else replace(one, p=next(adjusted)) for one in parts))


def period_of(time: str, period: str) -> str:
    """``2026-03``, ``2026 Q1`` or ``2026`` of a time in ISO 8601; "" of another text."""
    try:
        at = datetime.fromisoformat(time)
    except ValueError:
        return ""
    names = {MONTH: f"{at:%Y-%m}", QUARTER: f"{at:%Y} Q{(at.month + 2) // 3}", YEAR: f"{at:%Y}"}
    return names[period]


def _score(period: str, outcomes: Sequence[Outcome], seed: int) -> PeriodScore:
    n = len(outcomes)
    if n < MIN_OUTCOMES:
        return PeriodScore(period, n)
    p = np.array([one.probability for one in outcomes])
    truth = np.array([one.had_finding for one in outcomes], dtype=np.float64)
    units = np.unique([one.query for one in outcomes], return_inverse=True)[1].reshape(-1).astype(np.intp)
    brier, low, high = over_queries(((p - truth) ** 2)[:, np.newaxis], seed=seed, groups=units)
    return PeriodScore(
        period,
        n,
        float(p.mean()),
        float(truth.mean()),
        wilson(float(truth.mean()), n),
        float(brier[0]),
        (float(low[0]), float(high[0])),
        expected_calibration_error(p, truth),
        perfect_error(p, seed=seed),
        difference_p(p, truth, units),
    )
