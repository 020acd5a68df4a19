"""Shortcut probes: how well a metric retrieves attributes that should not matter, and how these relate to the
findings.

A metric takes a shortcut if it finds images of the same scanner or size instead of the same disease (Geirhos et al.,
"Shortcut learning in deep neural networks", Nature Machine Intelligence 2, 2020). The share of the 10 nearest with the
query's value is compared with permutations of the values among patients (P. Good, "Permutation Tests", 2000), among all
of them and among those of one finding. The p values of a metric are adjusted together after Holm.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import Any, ClassVar

import numpy as np
import numpy.typing as npt

from semblance.core.evaluation.intervals import Interval
from semblance.core.evaluation.significance import holm_adjusted
from semblance.core.json_document import JsonDocument

Vector = npt.NDArray[np.float64]
Rows = npt.NDArray[np.intp]
Table = npt.NDArray[np.intp]

#: Nearest cases of each query that are compared.
K = 10
#: Fewer queries with a known value are only counted.
MIN_CASES = 20
#: Adjusted p values below it are beyond chance.
ALPHA = 0.05
#: Numbers are compared in this many groups of equal size.
_NUMBER_GROUPS = 5
_DRAWS = 500


@dataclass(frozen=True, eq=False)
class ProbedSearches:
    """Searches with the rows ``queries`` (q,) of a gallery of n cases and the ranked rows ``nearest`` (q, k), -1
    beyond the end. ``findings`` (n,): numbers, -1 for none; ``units`` (n,): equal for one patient or lesion."""

    queries: Rows
    nearest: Table
    findings: Rows
    units: Rows


@dataclass(frozen=True)
class ShortcutProbe(JsonDocument):
    """How well a metric retrieves the value of ``attribute``; ``n`` queries and ``groups`` different values.

    ``same``: share of the 10 nearest with the query's value; ``chance`` and ``chance_interval`` (95 %): the same for
    values permuted among patients; ``by_finding`` and ``by_finding_interval``: permuted among patients of one finding;
    ``p`` and ``by_finding_p``: adjusted, one-sided. ``finding_accuracy``: share of the cases of the query's value that
    have its finding, which is what a metric of this value alone would retrieve; ``finding_chance``: of all cases.
    ``None``: too few cases.
    """

    JSON_STRICT: ClassVar[bool] = True

    attribute: str
    n: int
    groups: int
    same: float | None = None
    chance: float | None = None
    chance_interval: Interval | None = None
    p: float | None = None
    by_finding: float | None = None
    by_finding_interval: Interval | None = None
    by_finding_p: float | None = None
    finding_accuracy: float | None = None
    finding_chance: float | None = None

    @property
    def is_beyond_chance(self) -> bool:
        """Whether the metric retrieves the value more often than chance explains."""
        return self.p is not None and self.p < ALPHA

    @property
    def is_beyond_findings(self) -> bool:
        """Whether it does so more often than its link with the findings explains."""
        return self.by_finding_p is not None and self.by_finding_p < ALPHA


def stored_probes(scores: Mapping[str, Any] | None) -> tuple[ShortcutProbe, ...]:
    """The probes in the stored ``scores`` of a metric; none where there are none that can be read."""
    try:
        return tuple(ShortcutProbe.from_json(one) for one in (scores or {}).get("shortcuts") or ())
    except (TypeError, ValueError):
        return ()


def number_groups(values: Vector) -> npt.NDArray[np.str_]:
    """(n,) five groups of about equal size of numbers (n,), equal numbers together; "" for NaN."""
    from scipy.stats import rankdata

    known = ~np.isnan(values)
    out = np.full(len(values), "", dtype="<U4")
    if known.any():
        place = (rankdata(values[known]) - 0.5) / known.sum()
        out[known] = (1 + np.floor(_NUMBER_GROUPS * place)).astype(np.intp).astype(np.str_)
    return out


def probe_shortcuts(
    searches: ProbedSearches, attributes: Mapping[str, npt.NDArray[np.str_]], *, seed: int = 0
) -> tuple[ShortcutProbe, ...]:
    """A probe of each of ``attributes`` (n,), "" where unknown, that has two values or more."""
    found = []
    for attribute, values in attributes.items():
        names, codes = np.unique(values, return_inverse=True)
        codes = codes.reshape(-1)
        groups = len(names)
        if "" in names.tolist():
            # It sorts first.
            codes, groups = codes - 1, groups - 1
        if groups > 1:
            found.append(_probe(attribute, groups, searches, codes, seed))
    p = [value for one in found for value in (one.p, one.by_finding_p) if value is not None]
    adjusted = iter(holm_adjusted(p))
    return tuple(
        one if one.p is None else replace(one, p=next(adjusted), by_finding_p=next(adjusted)) for one in found
    )


def _probe(attribute: str, groups: int, searches: ProbedSearches, codes: Rows, seed: int) -> ShortcutProbe:
    used = searches.queries[codes[searches.queries] >= 0]
    nearest = searches.nearest[codes[searches.queries] >= 0, :K]
    probe = ShortcutProbe(attribute, len(used), groups)
    if len(used) < MIN_CASES:
        return probe
    answered = (nearest >= 0) & (codes[nearest] >= 0)
    counts = answered.sum(axis=1)
    usable = counts > 0
    if not usable.any():
        return probe
    used, nearest, answered, counts = used[usable], nearest[usable], answered[usable], counts[usable]

    def same(values: Rows) -> float:
        equal = (values[nearest] == values[used][:, np.newaxis]) & answered
        return float((equal.sum(axis=1) / counts).mean())

    exchange = _Exchange(codes, searches)
    rng = np.random.default_rng(seed)
    chance = np.array([same(exchange.permuted(rng, within_finding=False)) for _ in range(_DRAWS)])
    by_finding = np.array([same(exchange.permuted(rng, within_finding=True)) for _ in range(_DRAWS)])
    observed = same(codes)
    accuracy, finding_chance = _finding_by_value(searches, codes, used)
    return replace(
        probe,
        same=observed,
        chance=float(chance.mean()),
        chance_interval=_interval(chance),
        p=_p(observed, chance),
        by_finding=float(by_finding.mean()),
        by_finding_interval=_interval(by_finding),
        by_finding_p=_p(observed, by_finding),
        finding_accuracy=accuracy,
        finding_chance=finding_chance,
    )


class _Exchange:
    """Permutes values (n,), -1 where unknown: of whole patients, or of cases where it differs within patients."""

    def __init__(self, codes: Rows, searches: ProbedSearches) -> None:
        self._known = np.flatnonzero(codes >= 0)
        values, units = codes[self._known], searches.units[self._known]
        _, first, unit = np.unique(units, return_index=True, return_inverse=True)
        unit = unit.reshape(-1)
        if (values != values[first][unit]).any():
            first = unit = np.arange(len(values))
        self._codes, self._unit, self._values = codes, unit, values[first]
        findings = searches.findings[self._known]
        # A patient with several findings is exchanged with those of the same ones.
        sets: dict[int, set[int]] = {}
        for number, finding in zip(unit.tolist(), findings.tolist(), strict=True):
            sets.setdefault(number, set()).add(finding)
        keys: dict[tuple[int, ...], int] = {}
        strata = [keys.setdefault(tuple(sorted(sets[n])), len(keys)) for n in range(len(first))]
        self._order = np.argsort(strata, kind="stable")
        self._ends = np.cumsum(np.bincount(strata))[:-1]

    def permuted(self, rng: np.random.Generator, *, within_finding: bool) -> Rows:
        drawn = np.empty_like(self._values)
        if within_finding:
            parts = np.split(self._order, self._ends)
            drawn[self._order] = np.concatenate([rng.permutation(self._values[part]) for part in parts])
        else:
            drawn = rng.permutation(self._values)
        out = self._codes.copy()
        out[self._known] = drawn[self._unit]
        return out


def _finding_by_value(
    searches: ProbedSearches, codes: Rows, queries: Rows
) -> tuple[float | None, float | None]:
    """The mean share of the query's finding among cases of other patients with its value, and among all of them."""
    has = np.flatnonzero((searches.findings >= 0) & (codes >= 0))
    findings = searches.findings[has]
    n = int(searches.findings.max(initial=0)) + 1

    def shares(values: Rows) -> Vector:
        """Shares among the cases with the value of each query, without those of its own patient."""
        whole = np.zeros((int(values.max()) + 1, n))
        np.add.at(whole, (values[has], findings), 1)
        pairs = np.stack([searches.units, values])
        _, pair = np.unique(pairs, axis=1, return_inverse=True)
        pair = pair.reshape(-1)
        own = np.zeros((int(pair.max()) + 1, n))
        np.add.at(own, (pair[has], findings), 1)
        others = whole[values[queries]] - own[pair[queries]]
        given = others.sum(axis=1)
        of_finding = others[np.arange(len(queries)), searches.findings[queries]]
        return np.where(given > 0, of_finding / np.maximum(given, 1), np.nan)

    by_value, by_chance = shares(np.maximum(codes, 0)), shares(np.zeros_like(codes))
    both = ~np.isnan(by_value) & ~np.isnan(by_chance)
    if not both.any():
        return None, None
    return float(by_value[both].mean()), float(by_chance[both].mean())


def _interval(drawn: Vector) -> Interval:
    low, high = np.percentile(drawn, [2.5, 97.5]).tolist()
    return low, high


def _p(observed: float, drawn: Vector) -> float:
    return float((1 + (drawn >= observed - 1e-12).sum()) / (1 + len(drawn)))
