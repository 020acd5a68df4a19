"""The vote of the nearest cases as a probability, fitted and measured on held-out patients.

Every held-out case asks as a query would, and its nearest vote, never its own patient. What its vote was and
whether it had the finding gives the probability: by Platt's curve or the isotonic one, whichever predicts
patients better that it was not fitted on. Of two findings the probability is that of one (the last by name;
the other's is the rest); of more it is that of whichever finding has most votes.
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

#: Fewer held-out cases than these say nothing that would deserve the name of a calibration.
LEAST = 20
#: Parts of the held-out patients: each is predicted by what the others taught.
FOLDS = 10
#: From more cases on parts need not be balanced by outcome: chance does it, in a hundredth of the time.
MANY = 500
#: Draws of whole patients that tell how well the curve itself is known.
RESAMPLES = 200


@dataclass(frozen=True, eq=False)
class NeighbourVotes:
    """What the nearest of held-out cases voted, (q,) each.

    ``votes`` of ``voters`` were for ``finding`` (``None``: for the finding with most votes), and ``truth``
    says whether the case has it. ``rows`` are the cases' ids, ``patients`` numbers that whole patients share.
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
    """The probability of a finding, with the 95 % interval of what it may be for this very query."""

    finding: str
    probability: float
    interval: tuple[float, float]


@dataclass(frozen=True)
class Calibration:
    """A calibrated vote and how well it keeps its word on patients it was not fitted on.

    ``table[n - 1][v]`` are probability, low and high where ``v`` of ``n`` nearest vote for the finding.
    ``ece`` is the expected calibration error of cross-fitted probabilities, ``perfect`` its 95th percentile
    were every one of them true. ``cases``: (row id, cross-fitted probability, had the
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
        """Whether the estimates err by more than chance allows."""
        return self.ece > self.perfect

    def estimate(self, counts: Mapping[str, int]) -> Estimate | None:
        """Of the finding that has most of the votes ``counts``; ``None`` where none can be given."""
        votes = {finding: n for finding, n in counts.items() if finding in self.findings and n > 0}
        voters = sum(votes.values())
        if not 1 <= voters <= len(self.table):
            return None
        if self.finding is None:
            top = max(votes, key=lambda finding: votes[finding])
            p, low, high = self.table[voters - 1][votes[top]]
            return Estimate(top, p, (low, high))
        other = next(name for name in self.findings if name != self.finding)
        v = votes.get(self.finding, 0)
        p, low, high = self.table[voters - 1][v]
        if 2 * v > voters or (2 * v == voters and p >= 0.5):
            return Estimate(self.finding, p, (low, high))
        return Estimate(other, 1.0 - p, (1.0 - high, 1.0 - low))

    def rows_of_bin(self, number: int) -> tuple[int, ...]:
        """Ids of the held-out cases of one of :attr:`bins`."""
        one = self.bins[number]
        last = one.high >= 1.0
        return tuple(row for row, p, _ in self.cases if one.low <= p and (p < one.high or last))

    def to_json(self) -> dict[str, Any]:
        """As stored beside the scores of a metric; :meth:`from_json` reads it."""
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
            made = cls(
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
                cases=tuple((int(row), float(p), bool(had)) for row, p, had in values["cases"]),
            )
            whole = all(len(row) == n + 2 for n, row in enumerate(made.table))
            if not whole or (made.finding is not None and len(made.findings) != 2):
                raise ValueError("a table of another form")
            return made
        except (KeyError, TypeError, ValueError, AttributeError) as problem:
            raise BadInput(
                "The stored calibration of the metric cannot be read.", "Score the metric again."
            ) from problem


def stored_calibration(scores: Mapping[str, Any] | None) -> Calibration | None:
    """That among the kept ``scores`` of a metric; ``None`` where there is none that can be read."""
    kept = (scores or {}).get("calibration")
    if not kept:
        return None
    try:
        return Calibration.from_json(kept)
    except BadInput:
        return None


def calibrate(
    held_out: NeighbourVotes, findings: Sequence[str], *, most_voters: int = 10, seed: int = 0
) -> Calibration | None:
    """The calibration that ``held_out`` votes allow; ``None`` for too few cases, or all of one outcome.

    ``findings`` are those voted on. Everything random is seeded by ``seed``.
    """
    there = held_out.voters > 0
    truth, patients = held_out.truth[there], held_out.patients
    units = None if patients is None else np.unique(patients[there], return_inverse=True)[1]
    n = len(truth)
    if n < LEAST or (units is not None and int(units.max(initial=-1)) < 1):
        return None
    if held_out.finding is not None and (truth.all() or not truth.any()):
        return None
    table = _Levels(held_out.votes[there], held_out.voters[there], truth, units)
    crossed = np.empty(n)
    for inside, outside in table.parts(seed):
        part = table.of(inside)
        crossed[outside] = part.fit(part.best(seed))(part.odds[part.level[outside]])
    # Kept and binned in the same digits, or a case might be told under another bin than it was counted in.
    crossed = np.round(crossed, 4)
    kind = table.best(seed)
    return Calibration(
        method=kind,
        finding=held_out.finding,
        findings=tuple(findings),
        measured_on=held_out.measured_on,
        n_cases=n,
        n_patients=None if units is None else int(units.max()) + 1,
        ece=expected_calibration_error(crossed, truth),
        perfect=perfect_error(crossed, seed=seed),
        bins=reliability(crossed, truth),
        table=_table(table, kind, most_voters, seed),
        cases=tuple(
            zip(held_out.rows[there].tolist(), crossed.tolist(), truth.tolist(), strict=True),
        ),
    )


class _Levels:
    """Held-out cases gathered by (votes, voters): all that a fit of theirs can tell apart."""

    def __init__(
        self, votes: npt.NDArray[np.int64], voters: npt.NDArray[np.int64], truth: Any, units: Rows | None
    ) -> None:
        levels, self.level = np.unique(np.stack([votes, voters], axis=1), axis=0, return_inverse=True)
        self.level = self.level.reshape(-1)
        self.votes, self.voters = levels[:, 0].astype(np.float64), levels[:, 1].astype(np.float64)
        self.odds = log_odds(self.votes, self.voters)
        self.truth, self.units = truth, units
        self.chosen = np.arange(len(truth))
        self._count()

    def _count(self) -> None:
        inside, m = self.level[self.chosen], len(self.odds)
        self.total = np.bincount(inside, minlength=m).astype(np.float64)
        self.positive: Vector = np.bincount(inside, self.truth[self.chosen], minlength=m).astype(np.float64)

    def of(self, rows: Rows) -> _Levels:
        """The same levels, counted over some ``rows`` only."""
        part = object.__new__(_Levels)
        part.__dict__.update(self.__dict__)
        part.chosen = rows
        part._count()
        return part

    def parts(self, seed: int) -> list[tuple[Rows, Rows]]:
        """(rows to fit on, rows to predict), whole patients on one side; all of :attr:`chosen` once."""
        here = self.chosen
        if len(here) > MANY:
            return _dealt(here, here if self.units is None else self.units[here], seed)
        names = None if self.units is None else [str(unit) for unit in self.units[here].tolist()]
        most = len(here) if names is None else len(set(names))
        outcome = ["yes" if had else "no" for had in self.truth[here].tolist()]
        split = folds(outcome, names, seed, min(FOLDS, most))
        return [(here[one.train], here[one.test]) for one in split]

    def fit(self, kind: str) -> Calibrator:
        return FITS[kind](self.odds, self.positive, self.total)

    def best(self, seed: int) -> str:
        """The kind of curve with the least log loss on patients it was not fitted on.

        Platt's, which is smooth, unless the isotonic one is better by more than a standard error of the
        difference over the parts.
        """
        units = len(self.chosen) if self.units is None else len(np.unique(self.units[self.chosen]))
        if units < 2:
            return PLATT
        gains = []
        for inside, outside in self.parts(seed):
            part, asked = self.of(inside), self.of(outside)
            platt, isotonic = (_loss(part.fit(kind)(self.odds), asked) for kind in (PLATT, ISOTONIC))
            gains.append(platt - isotonic)
        return ISOTONIC if np.mean(gains) > np.std(gains) / len(gains) ** 0.5 else PLATT


def _dealt(rows: Rows, units: Rows, seed: int) -> list[tuple[Rows, Rows]]:
    """``rows`` in :data:`FOLDS` parts of about equally many units, drawn without regard to outcomes."""
    names, unit = np.unique(units, return_inverse=True)
    part = (np.random.default_rng(seed).permutation(len(names)) % FOLDS)[unit]
    return [(rows[part != k], rows[part == k]) for k in range(min(FOLDS, len(names)))]


def _loss(p: Vector, asked: _Levels) -> float:
    return -float(asked.positive @ np.log(p) + (asked.total - asked.positive) @ np.log(1.0 - p))


def _table(
    levels: _Levels, kind: str, most: int, seed: int
) -> tuple[tuple[tuple[float, float, float], ...], ...]:
    """Probability with interval for every number of votes of every number of voters.

    The interval is that of a Beta distribution about the probability; its variance is that of one query
    given its votes (:class:`VoteSpread`) and that of the curve over draws of whole patients.
    """
    from scipy.special import betaincinv

    voters = np.repeat(np.arange(1, most + 1), np.arange(2, most + 2)).astype(np.float64)
    votes = np.concatenate([np.arange(n + 1) for n in range(1, most + 1)]).astype(np.float64)
    odds = log_odds(votes, voters)
    p = levels.fit(kind)(odds)
    spread = VoteSpread(levels.votes, levels.voters, levels.positive, levels.total)
    variance = p * (1.0 - p) / (spread.effective(votes, voters) + 1.0) + _curve_variance(
        levels, kind, odds, seed
    )
    cases = np.maximum(p * (1.0 - p) / variance - 1.0, 1e-2)
    low, high = (betaincinv(p * cases, (1.0 - p) * cases, end) for end in (0.025, 0.975))
    # A very skew distribution may have its mean outside its middle 95 %.
    low, high = np.minimum(low, p), np.maximum(high, p)
    cells = [(round(a, 6), round(b, 6), round(c, 6)) for a, b, c in np.stack([p, low, high], axis=1).tolist()]
    starts = np.cumsum([0, *range(2, most + 2)]).tolist()
    return tuple(tuple(cells[a:b]) for a, b in itertools.pairwise(starts))


def _curve_variance(levels: _Levels, kind: str, odds: Vector, seed: int) -> Vector:
    rng = np.random.default_rng(seed)
    unit = np.arange(len(levels.truth)) if levels.units is None else levels.units
    n_units, m = int(unit.max()) + 1, len(levels.odds)
    seen = []
    for _ in range(RESAMPLES):
        times = np.bincount(rng.integers(0, n_units, n_units), minlength=n_units)[unit].astype(np.float64)
        total = np.bincount(levels.level, times, minlength=m).astype(np.float64)
        positive = np.bincount(levels.level, times * levels.truth, minlength=m).astype(np.float64)
        seen.append(FITS[kind](levels.odds, positive, total)(odds))
    variance: Vector = np.var(seen, axis=0)
    return variance
