"""The distance of a query from its nearest cases, and the limit beyond which it has no close match.

The limit is conformal: it is calibrated on cases used as queries, each without its own patient. R. Laxhammar and G.
Falkman, "Conformal prediction for distribution-independent anomaly detection in streaming vessel data", StreamKDD
2010, section 3, with the mean instead of the sum of the distances to the nearest.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt

from semblance.core.retrieval.candidate_index import CandidateIndex
from semblance.core.retrieval.index import DistanceIndex, Index, Matrix, Position, Rows
from semblance.core.retrieval.ranking import EmbeddedQuery, rank_many

#: Number of nearest cases that are averaged.
NEAREST = 5
#: If there are too few distances for a rate, the tail is fitted to this share of them, the largest.
_TAIL = 0.2
#: Cases compared with all others at once.
_BLOCK = 100

#: Number of sampled cases; more in a small library, where it is cheap.
SAMPLE, SAMPLE_SMALL, SMALL = 300, 1000, 5000
#: Number of nearest cases stored for each, to be measured again when the metric is refined.
NEIGHBOURS = 10
#: With fewer cases the usual distance is unknown.
FEWEST = 20


def mean_of_nearest(squared: Matrix) -> Matrix:
    """(r,) the mean distance of the 5 nearest, of squared distances (r, c) in any order.

    Infinite ones do not count; with fewer than 5 it is the mean of those, and infinite for none.
    """
    width = min(NEAREST, squared.shape[1])
    nearest = np.partition(squared, width - 1, axis=1)[:, :width] if width else squared
    known = np.isfinite(nearest)
    number = known.sum(axis=1)
    total = np.sqrt(np.where(known, nearest, 0.0)).sum(axis=1)
    return np.where(number > 0, total / np.maximum(number, 1), np.inf)


def conformal_limit(distances: Matrix, rate: float) -> float:
    """The distance that a new case exceeds with a probability of at most ``rate``.

    ``distances`` (s,), at least one, are those of cases like it. It is the ceil((s + 1)(1 - rate))-th smallest.
    With fewer than 1 / rate - 1 cases there is none. Then the m largest are taken to exceed the one before them by
    exponential amounts (J. Pickands, "Statistical inference using extreme order statistics", Annals of Statistics
    1975, shape 0). With their sum S, a new one does so by more than t with the probability
    (m + 1) / (s + 1) (1 + t / S)^-m.
    """
    ordered = np.sort(distances)
    place = int(np.ceil((len(ordered) + 1) * (1.0 - rate) - 1e-9))
    if place <= len(ordered):
        return float(ordered[place - 1])
    m = min(len(ordered) - 1, int(np.ceil(_TAIL * len(ordered))))
    if m < 1:
        return float(ordered[-1])
    start = float(ordered[-m - 1])
    beyond = float((ordered[-m:] - start).sum())
    ratio = (m + 1) / (len(ordered) + 1) / rate
    return start + beyond * (float(ratio ** (1 / m)) - 1.0)


def leave_one_out_distances(
    rows: npt.NDArray[np.float32], places: Rows, patients: Rows, keys: Rows
) -> Matrix:
    """(s,) the mean distance of each of the ``places`` (s,) to its 5 nearest of another patient and key.

    ``rows`` (n, d) have length 1. ``patients`` and ``keys`` (n,) are numbers; a negative one is that of no other
    case. Infinite if no other case is left.
    """
    found = []
    for start in range(0, len(places), _BLOCK):
        block = places[start : start + _BLOCK]
        squared = np.maximum(2.0 - 2.0 * (rows[block] @ rows.T), 0.0).astype(np.float64)
        for numbers in (patients, keys):
            own = numbers[block][:, np.newaxis]
            squared[(own == numbers) & (own >= 0)] = np.inf
        squared[np.arange(len(block)), block] = np.inf
        found.append(mean_of_nearest(squared))
    return np.concatenate(found) if found else np.empty(0)


@dataclass(frozen=True, eq=False)
class Neighbourhoods:
    """Sampled cases, ``places`` (s,), with their nearest (s, c) and the squared ``distances`` (s, c) of these,
    infinite if a case has fewer."""

    places: npt.NDArray[np.int64]
    nearest: npt.NDArray[np.int64]
    distances: npt.NDArray[np.float64]

    @classmethod
    def sampled(
        cls,
        index: Index | DistanceIndex | CandidateIndex,
        case_query: Callable[[Position], EmbeddedQuery],
        patients: npt.NDArray[Any],
        keys: npt.NDArray[np.int64],
    ) -> Neighbourhoods:
        """The nearest, of another patient and content, of cases drawn at random.

        ``case_query`` gives the case at a position as a query; ``patients`` and ``keys`` as
        :func:`semblance.core.retrieval.ranking.rank` takes them.
        """
        n = len(index)
        rng = np.random.default_rng(0)
        sample = np.sort(rng.choice(n, min(SAMPLE_SMALL if n <= SMALL else SAMPLE, n), replace=False))
        places, nearest, distances = [], [], []
        queries = (case_query(place) for place in sample.tolist())
        ranked = rank_many(index, queries, NEIGHBOURS, patients=patients, keys=keys)
        for place, found in zip(sample.tolist(), ranked, strict=True):
            if len(found.rows):
                places.append(place)
                nearest.append(np.resize(found.rows, NEIGHBOURS))
                beyond = np.full(NEIGHBOURS - len(found.rows), np.inf)
                distances.append(np.concatenate([found.distances, beyond]))
        return cls(
            np.array(places, dtype=np.int64),
            np.array(nearest, dtype=np.int64).reshape(-1, NEIGHBOURS),
            np.array(distances, dtype=np.float64).reshape(-1, NEIGHBOURS),
        )

    def measured_anew(
        self, index: Index | DistanceIndex, embedding: npt.NDArray[np.floating]
    ) -> Neighbourhoods:
        """The same neighbours with their distances under another ``index`` of the same cases and its ``embedding``."""
        distances = [
            index.distances(embedding[place], nearest)
            for place, nearest in zip(self.places, self.nearest, strict=True)
        ]
        measured = np.array(distances, dtype=np.float64).reshape(self.distances.shape)
        measured[np.isinf(self.distances)] = np.inf
        return Neighbourhoods(self.places, self.nearest, measured)
