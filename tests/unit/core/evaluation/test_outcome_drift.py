from __future__ import annotations

import numpy as np
import pytest

from semblance.core.evaluation.outcome_drift import MIN_OUTCOMES, Outcome, outcome_drift, period_of


def outcomes(rng, n, month, *, too_high=0.0) -> list[Outcome]:
    """``n`` estimates of one month that are true, or too high."""
    chance = rng.uniform(0.1, 0.8, n)
    had = rng.random(n) < chance
    return [
        Outcome(
            f"2026-{month:02d}-{1 + k % 28:02d}T10:00:00+00:00", float(p + too_high), bool(h), f"{month}/{k}"
        )
        for k, (p, h) in enumerate(zip(chance, had, strict=True))
    ]


def test_a_period_whose_estimates_became_too_high_is_marked():
    rng = np.random.default_rng(0)
    later = outcomes(rng, 150, 5, too_high=0.19)
    whole, first, second = outcome_drift([*later, *outcomes(rng, 150, 2)])
    assert (whole.period, first.period, second.period) == ("", "2026 Q1", "2026 Q2")
    assert (whole.n, first.n, second.n) == (300, 150, 150)
    assert not first.is_beyond_chance
    assert second.is_beyond_chance
    assert second.estimate > second.observed_interval[1]
    assert second.error > second.perfect
    p = np.array([one.probability for one in later])
    had = np.array([one.had_finding for one in later])
    assert second.brier == pytest.approx(((p - had) ** 2).mean())
    assert second.brier_interval[0] < second.brier < second.brier_interval[1]


@pytest.mark.slow
def test_about_one_in_twenty_true_forecasters_is_marked():
    rng = np.random.default_rng(1)
    marked = sum(
        any(
            one.is_beyond_chance for one in outcome_drift(outcomes(rng, 60, 2) + outcomes(rng, 60, 5), seed=k)
        )
        for k in range(60)
    )
    assert marked <= 10


def test_nothing_is_claimed_of_few_outcomes():
    rng = np.random.default_rng(2)
    (few,) = outcome_drift(outcomes(rng, MIN_OUTCOMES - 1, 2))
    assert (few.n, few.brier, few.p) == (MIN_OUTCOMES - 1, None, None)
    whole, first, second = outcome_drift(outcomes(rng, MIN_OUTCOMES, 2) + outcomes(rng, 3, 5))
    assert whole.brier is not None
    assert first.brier is not None
    assert (second.n, second.brier) == (3, None)
    assert outcome_drift([])[0].n == 0


def test_estimates_of_one_query_are_one_draw():
    rng = np.random.default_rng(3)
    once = outcomes(rng, 40, 2)
    apart = outcome_drift(once * 5)[0]
    widths = apart.brier_interval[1] - apart.brier_interval[0]
    alone = outcome_drift(once)[0]
    assert widths == pytest.approx(alone.brier_interval[1] - alone.brier_interval[0], rel=0.2)


@pytest.mark.parametrize(("period", "name"), [("month", "2026-11"), ("quarter", "2026 Q4"), ("year", "2026")])
def test_periods(period, name):
    assert period_of("2026-11-23T22:00:00+00:00", period) == name
    assert period_of("yesterday", period) == ""
