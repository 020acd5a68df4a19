"""Scores of held-out cases by subgroup (finding, sex, age, manufacturer, view), and gaps that chance does not explain.

A gap in the retrieval accuracy is tested by permuting which patients are in the subgroup among patients of one finding,
so that another mix of findings is no gap (P. Good, "Permutation Tests", 2000, chapter 4). A gap between estimates and
findings is tested by the sum of their differences, with patients as the independent units. All p values of a metric are
adjusted together after S. Holm, Scandinavian Journal of Statistics 6, 1979.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass, replace
from math import erfc
from typing import Any, ClassVar

import numpy as np
import numpy.typing as npt

from semblance.core.evaluation.intervals import Interval, over_queries
from semblance.core.evaluation.significance import holm_adjusted
from semblance.core.json_document import JsonDocument

Vector = npt.NDArray[np.float64]
Rows = npt.NDArray[np.intp]
Names = npt.NDArray[np.str_]

FINDING, AGE = "finding", "age"
#: Attributes of cases by which subgroups are made, if a library has them.
ATTRIBUTES = ("sex", AGE, "manufacturer", "view")
#: Fewer cases have no scores of their own, and further groups of an attribute are left out, the smallest first.
MIN_CASES, MAX_GROUPS = 10, 12
#: Years of an age band, and the age from which there is one band.
_BAND, _OLDEST = 20, 80
_DRAWS = 2000
#: Adjusted p values below it are beyond chance.
ALPHA = 0.05


@dataclass(frozen=True)
class SubgroupScore(JsonDocument):
    """The ``n`` held-out cases of one group: retrieval accuracy @10, and their estimates beside their findings.

    ``accuracy`` and its 95 % interval. ``estimate``: the mean probability; ``observed``: the share that had the
    finding, with its interval. ``None``: too few cases, or (by finding) of no meaning. ``accuracy_p`` and
    ``estimate_p``: adjusted p values of a gap to the other cases, and between estimate and finding.
    """

    JSON_STRICT: ClassVar[bool] = True

    attribute: str
    group: str
    n: int
    accuracy: float | None = None
    accuracy_interval: Interval | None = None
    estimate: float | None = None
    observed: float | None = None
    observed_interval: Interval | None = None
    accuracy_p: float | None = None
    estimate_p: float | None = None

    @property
    def is_beyond_chance(self) -> bool:
        """Whether a gap is larger than chance explains."""
        return any(p is not None and p < ALPHA for p in (self.accuracy_p, self.estimate_p))


@dataclass(frozen=True, eq=False)
class ScoredQueries:
    """Held-out cases (q,): ``accuracy`` @10, NaN where undefined; the ``estimate`` that was made without the case and
    whether it had that finding (``truth``), NaN without an estimate; ``finding``; ``units``, a number per patient."""

    accuracy: Vector
    estimate: Vector
    truth: Vector
    finding: Names
    units: Rows


def subgroup_scores(
    queries: ScoredQueries, attributes: Mapping[str, Names], *, seed: int = 0
) -> tuple[SubgroupScore, ...]:
    """The scores by finding and by each of ``attributes`` (q,), "" where unknown, that has two groups or more."""
    found: list[SubgroupScore] = []
    for attribute, values in {FINDING: queries.finding, **attributes}.items():
        names, counts = np.unique(values[values != ""], return_counts=True)
        largest = np.sort(names[np.argsort(-counts, kind="stable")][:MAX_GROUPS]).tolist()
        if len(largest) > 1:
            known = values != ""
            found += [_score(queries, attribute, name, values == name, known, seed) for name in largest]
    p = [value for one in found for value in (one.accuracy_p, one.estimate_p) if value is not None]
    adjusted = iter(holm_adjusted(p))
    return tuple(
        replace(
            one,
            accuracy_p=None if one.accuracy_p is None else next(adjusted),
            estimate_p=None if one.estimate_p is None else next(adjusted),
        )
        for one in found
    )


def stored_subgroups(scores: Mapping[str, Any] | None) -> tuple[SubgroupScore, ...]:
    """The subgroups in the stored ``scores`` of a metric; none where there are none that can be read."""
    try:
        return tuple(SubgroupScore.from_json(one) for one in (scores or {}).get("subgroups") or ())
    except (TypeError, ValueError):
        return ()


def age_bands(ages: Names) -> Names:
    """(n,) ``40–59`` of ``47``, ``47.5`` and DICOM's ``047Y``; "" of what is no age."""
    return np.array([_age_band(age) for age in ages.tolist()], dtype=np.str_)


def _age_band(age: str) -> str:
    found = re.fullmatch(r"0*(\d{1,3})(?:\.\d+)?\s*(Y|M|W|D)?", age.strip().upper())
    if found is None:
        return ""
    years = int(found[1]) if found[2] in (None, "Y") else 0
    first = min(years // _BAND * _BAND, _OLDEST)
    return f"{first}+" if first == _OLDEST else f"{first}–{first + _BAND - 1}"


def _score(
    queries: ScoredQueries, attribute: str, name: str, member: npt.NDArray[np.bool_], known: Any, seed: int
) -> SubgroupScore:
    n = int(member.sum())
    score = SubgroupScore(attribute, name, n)
    if n < MIN_CASES:
        return score
    mean, ends = _mean(queries.accuracy[member], queries.units[member], seed)
    used = known & ~np.isnan(queries.accuracy)
    strata = np.zeros(len(member), dtype=np.intp)
    if attribute != FINDING:
        strata = np.unique(queries.finding, return_inverse=True)[1].reshape(-1)
    p = _permutation_p(
        queries.accuracy[used], member[used], queries.units[used], strata[used], np.random.default_rng(seed)
    )
    score = replace(score, accuracy=mean, accuracy_interval=ends, accuracy_p=p)
    estimated = member & ~np.isnan(queries.estimate)
    if attribute == FINDING or estimated.sum() < MIN_CASES:
        return score
    estimate, truth = queries.estimate[estimated], queries.truth[estimated]
    observed, observed_ends = _mean(truth, queries.units[estimated], seed)
    return replace(
        score,
        estimate=float(estimate.mean()),
        observed=observed,
        observed_interval=observed_ends,
        estimate_p=difference_p(estimate, truth, queries.units[estimated]),
    )


def _mean(values: Vector, units: Rows, seed: int) -> tuple[float | None, Interval | None]:
    mean, low, high = (float(one[0]) for one in over_queries(values[:, np.newaxis], seed=seed, groups=units))
    return (None, None) if np.isnan(mean) else (mean, (low, high))


def _permutation_p(
    values: Vector, member: npt.NDArray[np.bool_], units: Rows, strata: Rows, rng: np.random.Generator
) -> float | None:
    """The p value of the difference of means of members and others; ``None`` where all are one or the other."""
    _, first, unit = np.unique(units, return_index=True, return_inverse=True)
    unit = unit.reshape(-1)
    if (member != member[first][unit]).any():
        # It differs within patients, as a view does: then cases are exchanged.
        first = unit = np.arange(len(values))
    total, count = np.bincount(unit, values), np.bincount(unit).astype(np.float64)
    inside, stratum = member[first], strata[first]
    if inside.all() or not inside.any():
        return None
    drawn = np.empty((_DRAWS + 1, len(first)))
    drawn[0] = inside
    for number in np.unique(stratum):
        own = np.flatnonzero(stratum == number)
        drawn[1:, own] = rng.permuted(np.broadcast_to(inside[own], (_DRAWS, len(own))), axis=1)
    in_count, out_count = drawn @ count, (1.0 - drawn) @ count
    gaps = drawn @ total / in_count - (1.0 - drawn) @ total / out_count
    away = np.abs(gaps - gaps[1:].mean())
    return float((1 + (away[1:] >= away[0] - 1e-12).sum()) / (1 + _DRAWS))


def difference_p(estimate: Vector, truth: Vector, units: Rows) -> float:
    """The two-sided p value of the sum of ``truth`` less ``estimate``, which is 0 on average if estimates are true."""
    residuals = np.bincount(np.unique(units, return_inverse=True)[1].reshape(-1), truth - estimate)
    variance = max(float((residuals**2).sum()), float((estimate * (1.0 - estimate)).sum()), 1e-12)
    return float(erfc(abs(float(residuals.sum())) / (2.0 * variance) ** 0.5))
