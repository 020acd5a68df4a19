"""Calibration: the vote of the nearest cases as a probability, fitted and tested on held-out patients.

Every held-out case is a query, and its nearest cases of other patients vote. The votes and the true findings give
the probability, by Platt's curve or the isotonic one, whichever predicts patients better that it was not fitted
on. With two findings the probability is that of the last by name, with more that of the finding with most votes.
"""

from __future__ import annotations

import itertools
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Self

import numpy as np
import numpy.typing as npt

from semblance.core.errors import BadInput
from semblance.core.evaluation.calibrators import FITS, ISOTONIC, PLATT, Calibrator, log_odds
from semblance.core.evaluation.reliability import Bin, expected_calibration_error, perfect_error, reliability
from semblance.core.evaluation.splits import folds
from semblance.core.evaluation.vote_spread import VoteSpread

Vector = npt.NDArray[np.float64]
Rows = npt.NDArray[np.intp]

#: Fewer held-out cases are not enough for a calibration.
MIN_CASES = 20
#: Folds of the held-out patients for cross-fitting.
FOLDS = 10
#: With more cases the folds are drawn at random, without stratifying by outcome, which is a hundred times faster.
MANY_CASES = 500
#: Bootstrap draws of whole patients for the variance of the curve.
RESAMPLES = 200
#: Cases at the overall share that are added to the evidence on a query from elsewhere (Laplace).
PSEUDO_CASES = 2.0
#: Two-sided 95 % of the normal distribution.
_Z = 1.96


@dataclass(frozen=True, eq=False)
class NeighbourVotes:
    """The votes of the nearest cases of held-out cases, (q,) each.

    ``votes`` of ``voters`` are for ``finding`` (``None``: for the finding with most votes), and ``truth`` is whether
    the case has it. ``rows`` are ids of the cases, ``patients`` numbers, the same for all cases of a patient.
    """

    rows: npt.NDArray[np.int64]
    votes: npt.NDArray[np.int64]
    voters: npt.NDArray[np.int64]
    truth: npt.NDArray[np.bool_]
    patients: Rows | None
    finding: str | None
    measured_on: str


@dataclass(frozen=True)
class Estimate:
    """The probability of a finding, with its 95 % interval for this query."""

    finding: str
    probability: float
    interval: tuple[float, float]


@dataclass(frozen=True)
class Calibration:
    """A calibrated vote, and its calibration error on patients it was not fitted on.

    ``table[n - 1][v]`` are probability, low and high if ``v`` of the ``n`` nearest vote for the finding.
    ``ece`` is the expected calibration error of cross-fitted probabilities, ``perfect`` its 95th percentile
    if every probability were true. ``cases``: (row id, cross-fitted probability, had the
    finding) of every held-out case.
    """

    method: str
    finding: str | None
    findings: tuple[str, ...]
    measured_on: str
    n_cases: int
    n_patients: int | None
    ece: float
    perfect: float
    bins: tuple[Bin, ...]
    table: tuple[tuple[tuple[float, float, float], ...], ...]
    cases: tuple[tuple[int, float, bool], ...]

    @property
    def is_poor(self) -> bool:
        """Whether the calibration error is larger than chance explains."""
        return self.ece > self.perfect

    def estimate(self, counts: Mapping[str, int], *, is_outside: bool = False) -> Estimate | None:
        """The estimate for the finding with most of the votes ``counts``; ``None`` if there is none.

        ``is_outside``: of a query whose patient and scanner the calibration did not see, or where it did not know the
        patients. Its estimate is less extreme, and its interval wider.
        """
        votes = {finding: n for finding, n in counts.items() if finding in self.findings and n > 0}
        voters = sum(votes.values())
        if not 1 <= voters <= len(self.table):
            return None
        if self.finding is None:
            top = max(votes, key=lambda finding: votes[finding])
            p, low, high = self._cell(voters, votes[top], is_outside=is_outside)
            return Estimate(top, p, (low, high))
        other = next(name for name in self.findings if name != self.finding)
        v = votes.get(self.finding, 0)
        p, low, high = self._cell(voters, v, is_outside=is_outside)
        if 2 * v > voters or (2 * v == voters and p >= 0.5):
            return Estimate(self.finding, p, (low, high))
        return Estimate(other, 1.0 - p, (1.0 - high, 1.0 - low))

    def _cell(self, voters: int, votes: int, *, is_outside: bool) -> tuple[float, float, float]:
        """Probability, low and high.

        The width of the interval says how many cases the evidence is worth, as that of a Beta distribution. For a query
        from elsewhere :data:`PSEUDO_CASES` at the overall share are added to them, and for the interval, which holds
        the one without them, all count half.
        """
        p, low, high = self.table[voters - 1][votes]
        if not is_outside or not self.cases or high <= low:
            return p, low, high
        from scipy.special import betaincinv

        share = sum(had_finding for _, _, had_finding in self.cases) / len(self.cases)
        cases = max(p * (1.0 - p) / ((high - low) / (2 * _Z)) ** 2 - 1.0, 1e-2)
        smoothed = (cases * p + PSEUDO_CASES * share) / (cases + PSEUDO_CASES)
        half = (cases + PSEUDO_CASES) / 2.0
        ends = [float(betaincinv(smoothed * half, (1.0 - smoothed) * half, end)) for end in (0.025, 0.975)]
        return smoothed, min(low, smoothed, ends[0]), max(high, smoothed, ends[1])

    def rows_of_bin(self, number: int) -> tuple[int, ...]:
        """Ids of the held-out cases of one of :attr:`bins`."""
        one = self.bins[number]
        last = one.high >= 1.0
        return tuple(row for row, p, _ in self.cases if one.low <= p and (p < one.high or last))

    def to_json(self) -> dict[str, Any]:
        """The calibration as it is stored with the scores of a metric; :meth:`from_json` reads it."""
        return {
            "method": self.method,
            "finding": self.finding,
            "findings": list(self.findings),
            "measured_on": self.measured_on,
            "n_cases": self.n_cases,
            "n_patients": self.n_patients,
            "ece": self.ece,
            "perfect": self.perfect,
            "bins": [
                [one.low, one.high, one.n, one.predicted, one.observed, *one.interval] for one in self.bins
            ],
            "table": [[list(cell) for cell in row] for row in self.table],
            "cases": [list(case) for case in self.cases],
        }

    @classmethod
    def from_json(cls, values: Mapping[str, Any]) -> Self:
        """The inverse of :meth:`to_json`.

        Raises:
            BadInput: values of another form.
        """
        try:
            calibration = cls(
                method=str(values["method"]),
                finding=None if values["finding"] is None else str(values["finding"]),
                findings=tuple(str(name) for name in values["findings"]),
                measured_on=str(values["measured_on"]),
                n_cases=int(values["n_cases"]),
                n_patients=None if values["n_patients"] is None else int(values["n_patients"]),
                ece=float(values["ece"]),
                perfect=float(values["perfect"]),
                bins=tuple(
                    Bin(float(a), float(b), int(n), float(p), float(o), (float(low), float(high)))
                    for a, b, n, p, o, low, high in values["bins"]
                ),
                table=tuple(
                    tuple((float(p), float(low), float(high)) for p, low, high in row)
                    for row in values["table"]
                ),
                cases=tuple(
                    (int(row), float(p), bool(had_finding)) for row, p, had_finding in values["cases"]
                ),
            )
            is_complete = all(len(row) == n + 2 for n, row in enumerate(calibration.table))
            if not is_complete or (calibration.finding is not None and len(calibration.findings) != 2):
                raise ValueError("a table of another form")
            return calibration
        except (KeyError, TypeError, ValueError, AttributeError) as problem:
            raise BadInput(
                "The stored calibration of the metric cannot be read.", "Score the metric again."
            ) from problem


def stored_calibration(scores: Mapping[str, Any] | None) -> Calibration | None:
    """The calibration in the stored ``scores`` of a metric; ``None`` if there is none that can be read."""
    stored = (scores or {}).get("calibration")
    if not stored:
        return None
    try:
        return Calibration.from_json(stored)
    except BadInput:
        return None


def calibrate(
    held_out: NeighbourVotes, findings: Sequence[str], *, max_voters: int = 10, seed: int = 0
) -> Calibration | None:
    """Calibrate the ``held_out`` votes; ``None`` for too few cases, or if all have the same outcome.

    ``findings`` are the findings of the voters. ``seed`` seeds all random numbers.
    """
    voted = held_out.voters > 0
    truth, patients = held_out.truth[voted], held_out.patients
    units = None if patients is None else np.unique(patients[voted], return_inverse=True)[1]
    n = len(truth)
    if n < MIN_CASES or (units is not None and int(units.max(initial=-1)) < 1):
        return None
    if held_out.finding is not None and (truth.all() or not truth.any()):
        return None
    table = _VoteLevels(held_out.votes[voted], held_out.voters[voted], truth, units)
    cross_fitted = np.empty(n)
    for fit_rows, predict_rows in table.fold_rows(seed):
        fitted = table.subset(fit_rows)
        cross_fitted[predict_rows] = fitted.fit(fitted.best(seed))(fitted.odds[fitted.level[predict_rows]])
    # Stored and binned with the same digits, so that a case is listed in the bin it was counted in.
    cross_fitted = np.round(cross_fitted, 4)
    method = table.best(seed)
    return Calibration(
        method=method,
        finding=held_out.finding,
        findings=tuple(findings),
        measured_on=held_out.measured_on,
        n_cases=n,
        n_patients=None if units is None else int(units.max()) + 1,
        ece=expected_calibration_error(cross_fitted, truth),
        perfect=perfect_error(cross_fitted, seed=seed),
        bins=reliability(cross_fitted, truth),
        table=_table(table, method, max_voters, seed),
        cases=tuple(
            zip(held_out.rows[voted].tolist(), cross_fitted.tolist(), truth.tolist(), strict=True),
        ),
    )


class _VoteLevels:
    """Held-out cases grouped by (votes, voters), which is all that a fit depends on."""

    def __init__(
        self, votes: npt.NDArray[np.int64], voters: npt.NDArray[np.int64], truth: Any, units: Rows | None
    ) -> None:
        levels, self.level = np.unique(np.stack([votes, voters], axis=1), axis=0, return_inverse=True)
        self.level = self.level.reshape(-1)
        self.votes, self.voters = levels[:, 0].astype(np.float64), levels[:, 1].astype(np.float64)
        self.odds = log_odds(self.votes, self.voters)
        self.truth, self.units = truth, units
        self.rows_in_use = np.arange(len(truth))
        self._count()

    def _count(self) -> None:
        fit_rows, m = self.level[self.rows_in_use], len(self.odds)
        self.total = np.bincount(fit_rows, minlength=m).astype(np.float64)
        self.positive: Vector = np.bincount(fit_rows, self.truth[self.rows_in_use], minlength=m).astype(
            np.float64
        )

    def subset(self, rows: Rows) -> _VoteLevels:
        """The same levels, counted over ``rows`` only."""
        fitted = object.__new__(_VoteLevels)
        fitted.__dict__.update(self.__dict__)
        fitted.rows_in_use = rows
        fitted._count()
        return fitted

    def fold_rows(self, seed: int) -> list[tuple[Rows, Rows]]:
        """(rows to fit on, rows to predict) of each fold, with whole patients on one side."""
        rows = self.rows_in_use
        if len(rows) > MANY_CASES:
            return _random_folds(rows, rows if self.units is None else self.units[rows], seed)
        names = None if self.units is None else [str(unit) for unit in self.units[rows].tolist()]
        maximum = len(rows) if names is None else len(set(names))
        outcome = ["yes" if had_finding else "no" for had_finding in self.truth[rows].tolist()]
        split = folds(outcome, names, seed, min(FOLDS, maximum))
        return [(rows[one.train], rows[one.test]) for one in split]

    def fit(self, method: str) -> Calibrator:
        return FITS[method](self.odds, self.positive, self.total)

    def best(self, seed: int) -> str:
        """The method with the smallest log loss on patients it was not fitted on.

        It is Platt's, which is smooth, unless the isotonic one is better by more than a standard error of the
        difference over the folds.
        """
        units = len(self.rows_in_use) if self.units is None else len(np.unique(self.units[self.rows_in_use]))
        if units < 2:
            return PLATT
        gains = []
        for fit_rows, predict_rows in self.fold_rows(seed):
            fitted, test_levels = self.subset(fit_rows), self.subset(predict_rows)
            platt, isotonic = (
                _loss(fitted.fit(method)(self.odds), test_levels) for method in (PLATT, ISOTONIC)
            )
            gains.append(platt - isotonic)
        return ISOTONIC if np.mean(gains) > np.std(gains) / len(gains) ** 0.5 else PLATT


def _random_folds(rows: Rows, units: Rows, seed: int) -> list[tuple[Rows, Rows]]:
    """``rows`` in :data:`FOLDS` folds of about equally many units, drawn without regard to outcomes."""
    names, unit = np.unique(units, return_inverse=True)
    fold_of = (np.random.default_rng(seed).permutation(len(names)) % FOLDS)[unit]
    return [(rows[fold_of != k], rows[fold_of == k]) for k in range(min(FOLDS, len(names)))]


def _loss(p: Vector, test_levels: _VoteLevels) -> float:
    return -float(
        test_levels.positive @ np.log(p) + (test_levels.total - test_levels.positive) @ np.log(1.0 - p)
    )


def _table(
    levels: _VoteLevels, method: str, maximum: int, seed: int
) -> tuple[tuple[tuple[float, float, float], ...], ...]:
    """Probability with interval for every number of votes and voters.

    The interval is that of a Beta distribution with this mean. Its variance is the sum of that of one query
    given its votes (:class:`VoteSpread`) and that of the curve over bootstrap draws of patients.
    """
    from scipy.special import betaincinv

    voters = np.repeat(np.arange(1, maximum + 1), np.arange(2, maximum + 2)).astype(np.float64)
    votes = np.concatenate([np.arange(n + 1) for n in range(1, maximum + 1)]).astype(np.float64)
    odds = log_odds(votes, voters)
    p = levels.fit(method)(odds)
    spread = VoteSpread(levels.votes, levels.voters, levels.positive, levels.total)
    variance = p * (1.0 - p) / (spread.effective_cases(votes, voters) + 1.0) + _curve_variance(
        levels, method, odds, seed
    )
    cases = np.maximum(p * (1.0 - p) / variance - 1.0, 1e-2)
    low, high = (betaincinv(p * cases, (1.0 - p) * cases, end) for end in (0.025, 0.975))
    # The mean of a very skew distribution may be outside the interval.
    low, high = np.minimum(low, p), np.maximum(high, p)
    cells = [(round(a, 6), round(b, 6), round(c, 6)) for a, b, c in np.stack([p, low, high], axis=1).tolist()]
    starts = np.cumsum([0, *range(2, maximum + 2)]).tolist()
    return tuple(tuple(cells[a:b]) for a, b in itertools.pairwise(starts))


def _curve_variance(levels: _VoteLevels, method: str, odds: Vector, seed: int) -> Vector:
    rng = np.random.default_rng(seed)
    unit = np.arange(len(levels.truth)) if levels.units is None else levels.units
    n_units, m = int(unit.max()) + 1, len(levels.odds)
    estimates = []
    for _ in range(RESAMPLES):
        draw_counts = np.bincount(rng.integers(0, n_units, n_units), minlength=n_units)[unit].astype(
            np.float64
        )
        total = np.bincount(levels.level, draw_counts, minlength=m).astype(np.float64)
        positive = np.bincount(levels.level, draw_counts * levels.truth, minlength=m).astype(np.float64)
        estimates.append(FITS[method](levels.odds, positive, total)(odds))
    variance: Vector = np.var(estimates, axis=0)
    return variance
