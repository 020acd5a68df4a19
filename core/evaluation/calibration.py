"""From the findings of the nearest cases to a probability: its calibration, its interval and its reliability.

Every held-out case is a query, and its nearest cases of other patients vote. The votes and the true findings give
the probability, by Platt's curve or the isotonic one, whichever predicts patients better that it was not fitted
on. With two findings the probability is that of the last by name, with more that of the finding with most votes.
"""

from __future__ import annotations

import itertools
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Self

import numpy as np
import numpy.typing as npt

from semblance.core.errors import BadInput
from semblance.core.evaluation.intervals import wilson
from semblance.core.evaluation.splits import folds

Vector = npt.NDArray[np.float64]
Truth = npt.NDArray[np.bool_]

BINS = 10
#: Number of simulations of a perfect forecaster.
DRAWS = 2000

PLATT, ISOTONIC = "Platt", "isotonic"
#: The smallest probability; the largest is 1 minus this. No finding is certain.
_MIN_PROBABILITY = 1e-3

_ODDS = np.linspace(-7.0, 7.0, 141)
_GRID = 1.0 / (1.0 + np.exp(-_ODDS))
_EDGES = np.concatenate([[0.0], 1.0 / (1.0 + np.exp(-(_ODDS[1:] + _ODDS[:-1]) / 2.0)), [1.0]])
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


@dataclass(frozen=True)
class CalibrationBin:
    """Cases whose estimate lies in ``low`` to ``high``: their number, mean estimate, observed share with its
    95 % interval (Wilson 1927)."""

    low: float
    high: float
    n: int
    predicted: float
    observed: float
    interval: tuple[float, float]


def bin_of(probability: Vector) -> npt.NDArray[np.intp]:
    """(n,) number of the bin of each probability; 1 belongs to the last."""
    return np.minimum((np.asarray(probability) * BINS).astype(np.intp), BINS - 1)


def reliability(probability: Vector, truth: Truth) -> tuple[CalibrationBin, ...]:
    """The bins that have a case, in order."""
    bins = bin_of(probability)
    out = []
    for number in np.unique(bins).tolist():
        in_bin = bins == number
        n, hits = int(in_bin.sum()), int(truth[in_bin].sum())
        mean = float(probability[in_bin].mean())
        low, high = wilson(hits / n, n)
        out.append(CalibrationBin(number / BINS, (number + 1) / BINS, n, mean, hits / n, (low, high)))
    return tuple(out)


def expected_calibration_error(probability: Vector, truth: Truth | Vector) -> float:
    """Mean over cases of |observed share - mean estimate| of their bin; Naeini et al. (2015), ten bins.

    ``truth`` (n,) may be shares, where findings tie.
    """
    bins = bin_of(probability)
    gap = np.bincount(bins, truth.astype(np.float64) - probability, minlength=BINS)
    return float(np.abs(gap).sum() / len(probability))


def perfect_error(probability: Vector, *, seed: int = 0, share: float = 0.95) -> float:
    """The error that a perfect forecaster does not exceed with probability ``share``.

    It is simulated by drawing findings from the estimates :data:`DRAWS` times.
    """
    rng = np.random.default_rng(seed)
    bins, n = bin_of(probability), len(probability)
    sums = np.bincount(bins, probability, minlength=BINS)
    # The cases with equal estimates are one binomial draw.
    levels, counts = np.unique(np.round(probability, 6), return_counts=True)
    hits = rng.binomial(counts, levels, size=(DRAWS, len(levels))).astype(np.float64)
    totals = np.zeros((DRAWS, BINS))
    for number in range(BINS):
        totals[:, number] = hits[:, bin_of(levels) == number].sum(axis=1)
    return float(np.quantile(np.abs(totals - sums).sum(axis=1) / n, share))


@dataclass(frozen=True, eq=False)
class Calibrator:
    """``kind`` and the function from log-odds of votes (n,) to probabilities (n,)."""

    kind: str
    _of: Callable[[Vector], Vector]

    def __call__(self, odds: Vector) -> Vector:
        """(n,) probabilities, 0.001 to 0.999, of the log-odds ``odds`` (n,)."""
        return np.clip(self._of(np.asarray(odds, dtype=np.float64)), _MIN_PROBABILITY, 1.0 - _MIN_PROBABILITY)


def log_odds(votes: npt.ArrayLike, voters: npt.ArrayLike) -> Vector:
    """log of (votes + 1/2) / (voters - votes + 1/2): finite for none and for all."""
    v, n = np.asarray(votes, dtype=np.float64), np.asarray(voters, dtype=np.float64)
    odds: Vector = np.log((v + 0.5) / (n - v + 0.5))
    return odds


def fit_platt(odds: Vector, positive: Vector, total: Vector) -> Calibrator:
    """Logistic regression on the log-odds, with the smoothed targets of Platt (1999), section 2.2.

    ``odds`` (n,); of ``total`` (n,) cases there ``positive`` (n,) have the finding. The slope is never
    negative, so that more votes for a finding never lower its probability.
    """
    plus, minus = float(positive.sum()), float((total - positive).sum())
    high, low = (plus + 1.0) / (plus + 2.0), 1.0 / (minus + 2.0)
    target = positive * high + (total - positive) * low
    slope, shift = 1.0, 0.0
    for _ in range(50):
        p = 1.0 / (1.0 + np.exp(-np.clip(shift + slope * odds, -35.0, 35.0)))
        # A weak prior at slope 1 and shift 0 prevents a step function for few cases.
        error = target - total * p
        gradient = np.array([error.sum() - 0.1 * shift, (error * odds).sum() - 0.5 * (slope - 1.0)])
        weight = total * p * (1.0 - p)
        across = (weight * odds).sum()
        hessian = np.array([[weight.sum() + 0.1, across], [across, (weight * odds**2).sum() + 0.5]])
        step = np.linalg.solve(hessian, gradient)
        step *= min(1.0, 2.0 / max(float(np.abs(step).max()), 1e-300))
        shift, slope = shift + float(step[0]), slope + float(step[1])
        if np.abs(step).max() < 1e-9:
            break
    if slope < 0.0:
        slope, shift = 0.0, float(np.log(target.sum() / max(float((total - target).sum()), 1e-9)))
    return Calibrator(PLATT, lambda x: 1.0 / (1.0 + np.exp(-np.clip(shift + slope * x, -35.0, 35.0))))


def fit_isotonic(odds: Vector, positive: Vector, total: Vector) -> Calibrator:
    """The monotone step function nearest to the shares observed, straight between the levels.

    By pooling adjacent violators; every level counts one more case at the overall share, so that a pool of
    a few cases never gives 0 or 1. Arguments as of :func:`fit_platt`.
    """
    levels, place = np.unique(odds, return_inverse=True)
    hits, cases = np.zeros(len(levels)), np.zeros(len(levels))
    np.add.at(hits, place, positive)
    np.add.at(cases, place, total)
    present = cases > 0
    levels, hits, cases = levels[present], hits[present], cases[present]
    overall_share = float(hits.sum() / max(float(cases.sum()), 1e-9))
    pools: list[list[float]] = []
    for one_hits, one_cases in zip((hits + overall_share).tolist(), (cases + 1.0).tolist(), strict=True):
        pools.append([one_hits, one_cases, 1.0])
        while len(pools) > 1 and pools[-2][0] * pools[-1][1] >= pools[-1][0] * pools[-2][1]:
            last = pools.pop()
            pools[-1] = [a + b for a, b in zip(pools[-1], last, strict=True)]
    heights = np.concatenate([np.full(int(count), h / c) for h, c, count in pools])
    return Calibrator(ISOTONIC, lambda x: np.interp(x, levels, heights))


FITS: dict[str, Callable[[Vector, Vector, Vector], Calibrator]] = {PLATT: fit_platt, ISOTONIC: fit_isotonic}


class VoteSpread:
    """The uncertainty of the probability of one query given its votes, which are few draws.

    The neighbours of a query vote with a chance pi of their own, Beta(a, b) over queries; v of n votes are
    binomial, and the query's probability is g(pi), logistic in the log-odds of pi. All four numbers are fitted to
    votes and findings of held-out queries together (an empirical Bayes model, as in Robbins 1956, with errors in
    the votes). The spread of g(pi) given v of n is then that of a Beta distribution of so many *effective* cases.

    ``effective_cases(votes, voters)``: the information about one query as a number of cases.
    """

    def __init__(self, votes: Vector, voters: Vector, positive: Vector, total: Vector) -> None:
        """``votes`` of ``voters`` (n,) and the held-out cases with them: ``positive`` of ``total`` (n,)."""
        from scipy.optimize import minimize

        odds = _binomial(votes, voters)
        share = (float((votes * total).sum()) + 1.0) / (float((voters * total).sum()) + 2.0)
        start = np.array([np.log(share / (1.0 - share)), 0.7, 0.0, 0.0])

        def loss(parameters: Vector) -> float:
            g = _link(parameters)
            with_finding = (odds * (_prior(parameters) * g)).sum(axis=1)
            without = (odds * (_prior(parameters) * (1.0 - g))).sum(axis=1)
            fit = positive @ np.log(with_finding + 1e-300) + (total - positive) @ np.log(without + 1e-300)
            # Weak priors, because a few dozen cases do not determine the four numbers.
            prior_penalty = (
                ((parameters[1] - 1.0) / 1.5) ** 2 + parameters[2] ** 2 + (parameters[3] / 0.5) ** 2
            )
            return float(0.5 * prior_penalty - fit)

        found = minimize(loss, start, method="L-BFGS-B", bounds=[(-6, 6), (-3, 6), (-4, 4), (-2, 2)])
        self._parameters: Vector = np.asarray(found.x, dtype=np.float64)

    def effective_cases(self, votes: Vector, voters: Vector) -> Vector:
        """(n,) effective cases: mean (1 - mean) / variance - 1 of the probability given these votes."""
        weights = _binomial(votes, voters) * _prior(self._parameters)
        weights /= weights.sum(axis=1, keepdims=True)
        g = _link(self._parameters)
        mean = weights @ g
        variance = np.maximum(weights @ g**2 - mean**2, 1e-12)
        cases: Vector = np.maximum(mean * (1.0 - mean) / variance - 1.0, 1e-2)
        return cases


def _binomial(votes: Vector, voters: Vector) -> Vector:
    """(n, grid) likelihood of the votes, the largest of each row 1."""
    v, other_votes = votes[:, None], (voters - votes)[:, None]
    logs = v * np.log(_GRID) + other_votes * np.log1p(-_GRID)
    out: Vector = np.exp(logs - logs.max(axis=1, keepdims=True))
    return out


def _prior(parameters: Vector) -> Vector:
    from scipy.special import betainc

    mean, size = 1.0 / (1.0 + np.exp(-parameters[0])), float(np.exp(parameters[1]))
    share: Vector = np.maximum(np.diff(betainc(mean * size, (1.0 - mean) * size, _EDGES)), 1e-300)
    return share


def _link(parameters: Vector) -> Vector:
    g: Vector = 1.0 / (1.0 + np.exp(-np.clip(parameters[2] + np.exp(parameters[3]) * _ODDS, -35.0, 35.0)))
    return g


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
    bins: tuple[CalibrationBin, ...]
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
                    CalibrationBin(float(a), float(b), int(n), float(p), float(o), (float(low), float(high)))
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
        cases=tuple(zip(held_out.rows[voted].tolist(), cross_fitted.tolist(), truth.tolist(), strict=True)),
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
