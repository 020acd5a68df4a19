"""Ranks of learners over several tables: Friedman's test and Nemenyi's critical difference.

Demsar (2006), Statistical comparisons of classifiers over multiple data sets, JMLR 7, section 3.2; used by
passive_aggressive.txt, Tables 4 and 5.
"""

from __future__ import annotations

import itertools
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from semblance.core.evaluation.intervals import Matrix
from semblance.core.evaluation.result import EvaluationResult
from semblance.core.evaluation.significance import holm_adjusted
from semblance.core.json_document import JsonDocument

#: For scores with one of these words in their name smaller is better.
_SMALLER = ("error", "loss")

ALPHA = 0.05


@dataclass(frozen=True)
class FriedmanResult(JsonDocument):
    """Average rank (1 is best, ties share) of every learner over ``tables`` tables, in one score.

    ``statistic`` is chi-squared with (learners - 1) degrees, corrected for ties; ``p_value`` its upper tail.
    """

    score: str
    tables: int
    ranks: Mapping[str, float]
    statistic: float
    p_value: float


@dataclass(frozen=True)
class HolmPair(JsonDocument):
    """Learner ``a`` against ``b``: ``z`` of their ranks' difference (negative: ``a`` ranks better).

    ``p_value`` is two-sided; ``p_adjusted`` is Holm's over all pairs of learners in that score.
    """

    score: str
    a: str
    b: str
    z: float
    p_value: float
    p_adjusted: float


def friedman(score: str, values: Mapping[str, Sequence[float]]) -> FriedmanResult:
    """Friedman's test of ``values``: of each learner its score on every table, tables in one order.

    Raises:
        ValueError: fewer than two learners or tables, or lists of different lengths.
    """
    from scipy.special import chdtrc

    # Means that differ by rounding alone are equal.
    table = np.round(np.array(list(values.values()), dtype=np.float64).T, 12)
    if table.ndim != 2 or table.shape[0] < 2 or table.shape[1] < 2:
        raise ValueError("ranks need two learners and two tables")
    n, k = table.shape
    ranks = _ranks(table if smaller_is_better(score) else -table)
    average = ranks.mean(axis=0)
    # Between-learner over within-table variance of the ranks; equals the printed form, ties corrected.
    spread = float(np.square(ranks - (k + 1) / 2.0).sum())
    between = n * float(np.square(average - (k + 1) / 2.0).sum())
    statistic = n * (k - 1) * between / spread if spread > 0.0 else 0.0
    named = dict(zip(values, average.tolist(), strict=True))
    return FriedmanResult(score, n, named, statistic, float(chdtrc(k - 1, statistic)))


def holm(test: FriedmanResult) -> tuple[HolmPair, ...]:
    """Every two learners of ``test``, by increasing p value; p values adjusted after Holm (1979)."""
    from scipy.special import ndtr

    k = len(test.ranks)
    error = (k * (k + 1) / (6.0 * test.tables)) ** 0.5
    found = []
    for (a, rank_a), (b, rank_b) in itertools.combinations(test.ranks.items(), 2):
        z = (rank_a - rank_b) / error
        found.append((2.0 * float(ndtr(-abs(z))), a, b, z))
    found.sort(key=lambda pair: pair[0])
    adjusted = holm_adjusted([p for p, *_ in found])
    return tuple(
        HolmPair(test.score, a, b, z, p, p_adjusted)
        for (p, a, b, z), p_adjusted in zip(found, adjusted, strict=True)
    )


def friedman_over(results: Sequence[EvaluationResult], scores: Sequence[str]) -> tuple[FriedmanResult, ...]:
    """The test for each of ``scores``, by its mean, over all tables where every ranked learner has it.

    Only learners measured on every table are ranked. Scores with fewer than two learners or tables are left out.
    """
    tables = [
        {one.learner: {name: score.mean for name, score in one.scores.items()} for one in result.results}
        for result in results
    ]
    return friedman_of_means(tables, scores)


def friedman_of_means(
    tables: Sequence[Mapping[str, Mapping[str, float]]], scores: Sequence[str]
) -> tuple[FriedmanResult, ...]:
    """The same for means by learner and score, of each table."""
    names = [name for name in (tables[0] if tables else ()) if all(name in table for table in tables)]
    found = []
    for score in scores:
        rows = [
            [table[name][score] for name in names]
            for table in tables
            if all(score in table[name] for name in names)
        ]
        if len(names) >= 2 and len(rows) >= 2:
            columns = [[row[place] for row in rows] for place in range(len(names))]
            found.append(friedman(score, dict(zip(names, columns, strict=True))))
    return tuple(found)


def smaller_is_better(score: str) -> bool:
    """Whether ``score`` counts mistakes."""
    return any(word in score for word in _SMALLER)


def _ranks(table: Matrix) -> Matrix:
    """The ranks in each row from the smallest; equal values share the mean of theirs."""
    below = (table[:, None, :] < table[:, :, None]).sum(axis=2)
    equal = (table[:, None, :] == table[:, :, None]).sum(axis=2)
    shared: Matrix = below + (equal + 1) / 2.0
    return shared


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


def nemenyi_json(test: FriedmanResult, alpha: float = ALPHA) -> dict[str, Any]:
    """The ``critical_difference`` at ``alpha`` and the groups ``groups`` of a test's average ranks."""
    distance = critical_difference(len(test.ranks), test.tables, alpha)
    groups = [list(group) for group in indistinguishable_groups(test.ranks, distance)]
    return {"alpha": alpha, "critical_difference": distance, "alike": groups}
