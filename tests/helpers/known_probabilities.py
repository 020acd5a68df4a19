"""Generated cases with known probabilities of the finding, to check estimates."""

from __future__ import annotations

from enum import Enum

import numpy as np
import numpy.typing as npt

from semblance.core.evaluation.calibration import Calibration, calibrate
from semblance.core.evaluation.search_rankings import VOTERS, Gallery, neighbour_votes, search_rankings
from semblance.core.retrieval.index import Index
from semblance.core.retrieval.ranking import EmbeddedQuery, rank

Matrix = npt.NDArray[np.float64]


class Population(Enum):
    """(features, slope, shift, cases): the log-odds are slope times their mean direction, and the shift."""

    GENTLE = (2, 1.5, 0.0, 2400)
    UNEVEN = (2, 2.0, -1.0, 2400)
    STEEP = (3, 4.0, 0.0, 2400)
    SMALL = (2, 2.0, 0.5, 900)
    WIDE = (6, 3.0, 0.0, 2400)


def draw_cases(population: Population, n: int, rng: np.random.Generator) -> tuple[Matrix, Matrix]:
    """(n, d) cases and (n,) probabilities."""
    d, slope, shift, _ = population.value
    X = rng.normal(size=(n, d))
    return X, 1.0 / (1.0 + np.exp(-(shift + slope * X.sum(axis=1) / np.sqrt(d))))


def interval_coverage(population: Population, *, queries: int, seed: int) -> float:
    """How often the interval of a query contains its probability, for a library with 30 % held out."""
    rng = np.random.default_rng(seed)
    n = population.value[3]
    X, probability = draw_cases(population, n, rng)
    findings = np.where(rng.random(n) < probability, "sick", "healthy")
    names, codes = np.unique(findings, return_inverse=True)
    index = Index(X)
    gallery = Gallery(index, X, None, np.full(n, -1), np.arange(n), codes, tuple(names.tolist()))
    rankings = search_rankings(gallery, np.arange(int(0.3 * n)), VOTERS)
    votes = neighbour_votes(rankings, np.arange(n), "held-out patients")
    assert votes is not None
    calibration = calibrate(votes, ("healthy", "sick"))
    assert calibration is not None
    Q, probabilities = draw_cases(population, queries, rng)
    inside = [
        _interval_contains(calibration, findings[rank(index, EmbeddedQuery(q), 10).rows], p)
        for q, p in zip(Q, probabilities, strict=True)
    ]
    return float(np.mean(inside))


def _interval_contains(
    calibration: Calibration, nearest_findings: npt.NDArray[np.str_], probability: float
) -> bool:
    names, counts = np.unique(nearest_findings, return_counts=True)
    estimate = calibration.estimate(dict(zip(names.tolist(), counts.tolist(), strict=True)))
    assert estimate is not None
    low, high = estimate.interval
    return low <= (probability if estimate.finding == "sick" else 1.0 - probability) <= high
