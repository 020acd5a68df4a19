"""The usual distance of the cases of a library from their nearest under a metric, estimated from a sample."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt

from semblance.core.retrieval.candidate_index import CandidateIndex
from semblance.core.retrieval.index import Index
from semblance.core.retrieval.ranking import EmbeddedQuery, rank_many
from semblance.core.retrieval.scan_index import ScanIndex

#: Number of sampled cases; more in a small library, where it is cheap.
SAMPLE, SAMPLE_SMALL, SMALL = 300, 1000, 5000
#: Number of nearest cases stored for each, to be measured again when the metric is refined.
NEIGHBOURS = 10
#: With fewer cases the usual distance is unknown.
FEWEST = 20


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
        index: Index | ScanIndex | CandidateIndex,
        case_query: Callable[[int], EmbeddedQuery],
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

    def measured_anew(self, index: Index | ScanIndex, embedding: npt.NDArray[np.floating]) -> Neighbourhoods:
        """The same neighbours with their distances under another ``index`` of the same cases and its ``embedding``."""
        distances = [
            index.distances(embedding[place], nearest)
            for place, nearest in zip(self.places, self.nearest, strict=True)
        ]
        measured = np.array(distances, dtype=np.float64).reshape(self.distances.shape)
        measured[np.isinf(self.distances)] = np.inf
        return Neighbourhoods(self.places, self.nearest, measured)
