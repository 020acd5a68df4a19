"""Calibrators from a share of votes to a probability: Platt's curve and the isotonic one, both monotone."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

Vector = npt.NDArray[np.float64]

PLATT, ISOTONIC = "Platt", "isotonic"
#: The smallest probability; the largest is 1 minus this. No finding is certain.
_MIN_PROBABILITY = 1e-3


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
