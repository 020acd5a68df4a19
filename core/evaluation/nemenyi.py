"""Nemenyi's test: the critical difference of average ranks, and the learners that do not differ.

Demsar (2006), Statistical comparisons of classifiers over multiple data sets, JMLR 7, sections 3.2.2, 3.2.4.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from semblance.core.evaluation.friedman import Friedman

ALPHA = 0.05


def critical_difference(learners: int, tables: int, alpha: float = ALPHA) -> float:
    """q sqrt(k (k + 1) / (6 N)) for k ``learners`` on N ``tables``: two average ranks so far apart differ.

    q is the studentized range's quantile for infinite degrees of freedom over sqrt(2) (Demsar's Table 5a).

    Raises:
        ValueError: fewer than two learners or no table.
    """
    from scipy.stats import studentized_range

    if learners < 2 or tables < 1:
        raise ValueError("ranks need two learners and a table")
    q = float(studentized_range.ppf(1.0 - alpha, learners, float("inf"))) / 2.0**0.5
    return float(q * (learners * (learners + 1) / (6.0 * tables)) ** 0.5)


def indistinguishable_groups(ranks: Mapping[str, float], distance: float) -> tuple[tuple[str, ...], ...]:
    """Largest runs of at least two learners, best first, whose ranks lie within ``distance``."""
    ordered = sorted(ranks, key=lambda name: ranks[name])
    found: list[tuple[str, ...]] = []
    end = 0
    for start, name in enumerate(ordered):
        last = max(place for place, other in enumerate(ordered) if ranks[other] - ranks[name] < distance)
        if last > start and last > end:
            found.append(tuple(ordered[start : last + 1]))
            end = last
    return tuple(found)


def nemenyi_json(test: Friedman, alpha: float = ALPHA) -> dict[str, Any]:
    """The ``critical_difference`` at ``alpha`` and the groups ``groups`` of a test's average ranks."""
    distance = critical_difference(len(test.ranks), test.tables, alpha)
    groups = [list(group) for group in indistinguishable_groups(test.ranks, distance)]
    return {"alpha": alpha, "critical_difference": distance, "alike": groups}
