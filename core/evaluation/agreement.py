"""Agreement between people who put the same cases into classes, beyond chance, with intervals.

Cohen: A coefficient of agreement for nominal scales. Educational and Psychological Measurement 20 (1960) 37-46.
Fleiss: Measuring nominal scale agreement among many raters. Psychological Bulletin 76 (1971) 378-382.
Krippendorff: Content Analysis (2004), chapter 11: alpha for nominal data, which may have gaps.

Each coefficient is a function of sums over the cases, so that the jackknife, which leaves out the cases of one patient
after the other, needs only the sums of each patient.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt

from semblance.core.evaluation.intervals import t_quantile

Matrix = npt.NDArray[np.float64]
#: (r, n) class of each case by each person, :data:`NOT_RATED` where there is none.
Ratings = npt.NDArray[np.int64]
NOT_RATED = -1
#: (n,) the patient of each case, whose cases are left out together.
Units = npt.NDArray[Any]


@dataclass(frozen=True)
class AgreementCoefficient:
    """A coefficient: 1 is full agreement, 0 that of chance. ``interval``: 95 %; ``None`` with cases of one patient."""

    value: float
    interval: tuple[float, float] | None


def cohen_kappa(ratings: Ratings, units: Units) -> AgreementCoefficient:
    """Kappa of two people, from ``ratings`` (2, n) without gaps."""
    indicator = _indicator(ratings)
    agreed = (ratings[0] == ratings[1]).astype(np.float64)
    n_classes = indicator.shape[2]
    parts = np.column_stack([np.ones(len(agreed)), agreed, indicator[0], indicator[1]])

    def kappa(sums: Matrix) -> Matrix:
        n, observed = sums[..., 0], sums[..., 1]
        one, other = sums[..., 2 : 2 + n_classes], sums[..., 2 + n_classes :]
        return _beyond_chance(observed / n, (one * other).sum(axis=-1) / n**2)

    return _estimated(kappa, parts, units)


def fleiss_kappa(ratings: Ratings, units: Units) -> AgreementCoefficient:
    """Kappa of r people, from ``ratings`` (r, n) without gaps."""
    counts, r = _indicator(ratings).sum(axis=0), float(len(ratings))
    agreed = (np.square(counts).sum(axis=1) - r) / (r * (r - 1.0))
    parts = np.column_stack([np.ones(len(agreed)), agreed, counts])

    def kappa(sums: Matrix) -> Matrix:
        n = sums[..., 0]
        return _beyond_chance(sums[..., 1] / n, np.square(sums[..., 2:]).sum(axis=-1) / (n * r) ** 2)

    return _estimated(kappa, parts, units)


def krippendorff_alpha(ratings: Ratings, units: Units) -> AgreementCoefficient | None:
    """Alpha of any number of people, from ``ratings`` (r, n) with gaps.

    ``None`` where no case was rated twice.
    """
    counts = _indicator(ratings).sum(axis=0)
    rated = counts.sum(axis=1)
    twice = rated > 1
    if not twice.any():
        return None
    counts, rated = counts[twice], rated[twice]
    agreed = (counts * (counts - 1.0)).sum(axis=1) / (rated - 1.0)
    parts = np.column_stack([agreed, counts])

    def alpha(sums: Matrix) -> Matrix:
        of_class = sums[..., 1:]
        n = of_class.sum(axis=-1)
        chance = (np.square(of_class).sum(axis=-1) - n) / (n * (n - 1.0))
        return _beyond_chance(sums[..., 0] / n, chance)

    return _estimated(alpha, parts, units[twice])


def _indicator(ratings: Ratings) -> Matrix:
    """(r, n, c) 1 where a person put a case into a class."""
    out: Matrix = (ratings[:, :, None] == np.arange(ratings.max() + 1)).astype(np.float64)
    return out


def _beyond_chance(observed: Matrix, chance: Matrix) -> Matrix:
    """1 where all put all cases into one class, where chance agrees fully too."""
    certain = chance >= 1.0
    value: Matrix = np.where(certain, 1.0, (observed - chance) / np.where(certain, 1.0, 1.0 - chance))
    return value


def _estimated(coefficient: Callable[[Matrix], Matrix], parts: Matrix, units: Units) -> AgreementCoefficient:
    """``coefficient`` of the sums of ``parts`` (n, k), with its interval by the jackknife over ``units`` (n,)."""
    codes = np.unique(units, return_inverse=True)[1]
    of_unit = np.zeros((codes.max() + 1, parts.shape[1]))
    np.add.at(of_unit, codes, parts)
    total, n = of_unit.sum(axis=0), len(of_unit)
    value = float(coefficient(total))
    if n < 2:
        return AgreementCoefficient(value, None)
    left = coefficient(total - of_unit)
    half = t_quantile(0.975, n - 1) * float(np.sqrt((n - 1) / n * np.square(left - left.mean()).sum()))
    return AgreementCoefficient(value, (max(-1.0, value - half), min(1.0, value + half)))
