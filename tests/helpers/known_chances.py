"""Generated cases whose chance of the finding is known, to measure estimates against."""

from __future__ import annotations

from enum import Enum

import numpy as np
import numpy.typing as npt

from semblance.core.evaluation.calibration import Calibration, calibrate
from semblance.core.evaluation.neighbour_votes import neighbour_votes
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


def drawn(population: Population, n: int, rng: np.random.Generator) -> tuple[Matrix, Matrix]:
    """(n, d) cases and (n,) chances."""
    d, slope, shift, _ = population.value
    X = rng.normal(size=(n, d))
    return X, 1.0 / (1.0 + np.exp(-(shift + slope * X.sum(axis=1) / np.sqrt(d))))


def interval_coverage(population: Population, *, queries: int, seed: int) -> float:
    """How often the interval of a query holds its chance: a library, 30 % of it held out, new queries."""
    rng = np.random.default_rng(seed)
    n = population.value[3]
    X, chance = drawn(population, n, rng)
    named = np.where(rng.random(n) < chance, "sick", "healthy")
    index, nobody = Index(X), np.full(n, "", dtype=object)
    votes = neighbour_votes(
        index,
        X,
        None,
        findings=named.tolist(),
        patients=nobody,
        keys=np.arange(n),
        rows=np.arange(n),
        queries=np.arange(int(0.3 * n)),
        measured_on="held-out patients",
    )
    assert votes is not None
    made = calibrate(votes, ("healthy", "sick"))
    assert made is not None
    Q, known = drawn(population, queries, rng)
    inside = [
        _holds(made, named[rank(index, EmbeddedQuery(q), 10).rows], p) for q, p in zip(Q, known, strict=True)
    ]
    return float(np.mean(inside))


def _holds(made: Calibration, nearest: npt.NDArray[np.str_], chance: float) -> bool:
    names, counts = np.unique(nearest, return_counts=True)
    found = made.estimate(dict(zip(names.tolist(), counts.tolist(), strict=True)))
    assert found is not None
    low, high = found.interval
    return low <= (chance if found.finding == "sick" else 1.0 - chance) <= high
