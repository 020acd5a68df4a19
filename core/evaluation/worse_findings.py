"""What one metric retrieves worse than another by more than chance: the cases of a finding, or the ranking of all."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from math import erfc

import numpy as np
import numpy.typing as npt

from semblance.core.evaluation.significance import holm_adjusted
from semblance.core.language import as_lazy, isolated, tr_lazy

Matrix = npt.NDArray[np.float64]
Rows = npt.NDArray[np.intp]

ALPHA = 0.05
_DRAWS = 500
#: Queries of fewer patients do not say that a finding is found worse.
_FEWEST_UNITS = 5
#: Steps of the share of a finding among the nearest, in which an area under the ROC curve is counted, and the number
#: of the most frequent findings whose areas are.
_LEVELS, _MOST_AREAS = 20, 20


@dataclass(frozen=True, eq=False)
class FindingShares:
    """``shares`` (q, c) of each finding among the nearest cases of queries with ``findings`` (q,), NaN for a query
    without any. ``units`` (q,): equal numbers for queries of one patient. ``part`` (q,): equal numbers for queries that
    were ranked in one gallery, whose shares may be compared with each other."""

    shares: Matrix
    findings: Rows
    units: Rows
    part: Rows

    @property
    def accuracy(self) -> Matrix:
        """(q,) the retrieval accuracy of each query."""
        own: Matrix = self.shares[np.arange(len(self.findings)), self.findings]
        return own


def worse_findings(
    new: FindingShares, old: FindingShares, names: Sequence[str], *, title: str, seed: int = 0
) -> list[str]:
    """Sentences on what ``new`` finds worse than ``old`` of the same queries, beyond chance: the accuracy of findings
    (of ``names``), and the mean AUC over findings. ``title``: the name of the new metric.

    By a paired bootstrap of whole patients, one-sided, with Holm's correction over the findings. Where the AUC is
    better beyond chance, findings more frequent than the average may be found less often.
    """
    rng = np.random.default_rng(seed)
    _, unit = np.unique(old.units, return_inverse=True)
    unit = unit.reshape(-1)
    n = int(unit.max(initial=-1)) + 1
    times = rng.multinomial(n, np.full(n, 1.0 / n), size=_DRAWS).astype(np.float64)
    # The first draw is the sample itself.
    times = np.concatenate([np.ones((1, n)), times])
    tested: list[tuple[int, float, float, float]] = []
    for finding in range(len(names)):
        rows = (old.findings == finding) & ~np.isnan(old.accuracy) & ~np.isnan(new.accuracy)
        if len(np.unique(unit[rows])) < _FEWEST_UNITS:
            continue
        count = times @ np.bincount(unit[rows], minlength=n)
        before, after = (
            times
            @ np.bincount(unit[rows], one.accuracy[rows], minlength=n)
            / np.where(count > 0, count, np.nan)
            for one in (old, new)
        )
        tested.append((finding, _p(after - before), float(before[0]), float(after[0])))
    adjusted = holm_adjusted([p for _, p, _, _ in tested])
    counts = np.bincount(old.findings, minlength=len(names))
    frequent = np.argsort(-counts, kind="stable")[:_MOST_AREAS]
    area_before, area_after = (_mean_areas(one, unit, times, frequent) for one in (old, new))
    # A frequent finding is found often because it is frequent, and less often where the rare ones are told apart.
    excused = counts > len(old.findings) / len(names) if _p(area_before - area_after) < ALPHA else counts < 0
    found = [
        tr_lazy(
            "{learner} finds fewer cases of {finding} ({after:.2f} instead of {before:.2f}).",
            learner=as_lazy(title),
            finding=isolated(names[finding]),
            after=after,
            before=before,
        )
        for (finding, _, before, after), p in zip(tested, adjusted, strict=True)
        if p < ALPHA and not excused[finding]
    ]
    if _p(area_after - area_before) < ALPHA:
        found.append(
            tr_lazy(
                "{learner} separates the findings worse (AUC {after:.2f} instead of {before:.2f}).",
                learner=as_lazy(title),
                after=float(area_after[0]),
                before=float(area_before[0]),
            )
        )
    return found


def _p(differences: Matrix) -> float:
    """The one-sided p value of a difference below 0, from its standard error over the draws, of which the first is the
    sample itself."""
    drawn = differences[1:][~np.isnan(differences[1:])]
    if len(drawn) < 2 or not differences[0] < 0.0:
        return 1.0
    return float(erfc(-differences[0] / max(float(drawn.std()), 1e-12) / 2.0**0.5) / 2.0)


def _mean_areas(queries: FindingShares, unit: Rows, times: Matrix, chosen: Rows) -> Matrix:
    """(draws,) the mean over parts and findings of the area under the ROC curve of the share of each of the
    findings ``chosen``."""
    n = times.shape[1]
    total, used = np.zeros(len(times)), np.zeros(len(times))
    levels = np.nan_to_num(np.rint(queries.shares * _LEVELS)).astype(np.intp)
    for part in np.unique(queries.part):
        rows = np.flatnonzero((queries.part == part) & ~np.isnan(queries.shares).any(axis=1))
        for finding in chosen.tolist():
            positive = queries.findings[rows] == finding
            if positive.all() or not positive.any():
                continue
            with_finding, without = (
                times @ _table(unit[rows[one]], levels[rows[one], finding], n)
                for one in (positive, ~positive)
            )
            below = np.cumsum(without, axis=1) - without
            pairs = with_finding.sum(axis=1) * without.sum(axis=1)
            right = (with_finding * (below + 0.5 * without)).sum(axis=1)
            total += np.where(pairs > 0, right / np.maximum(pairs, 1.0), 0.0)
            used += pairs > 0
    return np.where(used > 0, total / np.maximum(used, 1.0), np.nan)


def _table(unit: Rows, level: Rows, n: int) -> Matrix:
    """(n, levels) numbers of cases."""
    counts: Matrix = np.bincount(unit * (_LEVELS + 1) + level, minlength=n * (_LEVELS + 1)).astype(np.float64)
    return counts.reshape(n, _LEVELS + 1)
