"""Reliability of probabilities: observed shares in ten bins, and the expected calibration error."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from semblance.core.evaluation.intervals import wilson

Vector = npt.NDArray[np.float64]
Truth = npt.NDArray[np.bool_]

BINS = 10
#: Number of simulations of a perfect forecaster.
DRAWS = 2000


@dataclass(frozen=True)
class Bin:
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


def reliability(probability: Vector, truth: Truth) -> tuple[Bin, ...]:
    """The bins that have a case, in order."""
    bins = bin_of(probability)
    out = []
    for number in np.unique(bins).tolist():
        in_bin = bins == number
        n, hits = int(in_bin.sum()), int(truth[in_bin].sum())
        mean = float(probability[in_bin].mean())
        low, high = wilson(hits / n, n)
        out.append(Bin(number / BINS, (number + 1) / BINS, n, mean, hits / n, (low, high)))
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
