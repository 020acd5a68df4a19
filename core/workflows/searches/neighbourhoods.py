"""How far from their nearest the cases of a library usually are, told from some of them."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np
import numpy.typing as npt

from semblance.core.retrieval.ranking import Query, rank

if TYPE_CHECKING:
    from semblance.core.workflows.searches.loaded_metric import LoadedMetric

#: Cases whose nearest neighbour tells what distance is usual; more of a small library, where it is cheap.
SAMPLE, SAMPLE_SMALL, SMALL = 300, 1000, 5000
#: Of each, so many of the nearest are kept, to be measured anew when the metric is refined.
NEIGHBOURS = 10


@dataclass(frozen=True, eq=False)
class Neighbourhoods:
    """Some cases, ``places`` (s,), with their nearest (s, c) and the squared distance of the first (s,)."""

    places: npt.NDArray[np.int64]
    nearest: npt.NDArray[np.int64]
    distances: npt.NDArray[np.float64]

    @classmethod
    def sampled(cls, loaded: LoadedMetric) -> Neighbourhoods:
        """The nearest, of another patient and content, of cases drawn at random."""
        most = SAMPLE_SMALL if len(loaded.rows) <= SMALL else SAMPLE
        rng = np.random.default_rng(0)
        sample = np.sort(rng.choice(len(loaded.rows), min(most, len(loaded.rows)), replace=False))
        asked, nearest, distances = [], [], []
        for place in sample.tolist():
            tie = None if loaded.ties is None else loaded.ties[place]
            one = Query(loaded.embedding[place], tie, place, loaded.patients[place], int(loaded.keys[place]))
            found = rank(loaded.index, one, NEIGHBOURS, patients=loaded.patients, keys=loaded.keys)
            if len(found.rows):
                asked.append(place)
                nearest.append(np.resize(found.rows, NEIGHBOURS))
                distances.append(float(found.distances[0]))
        return cls(
            np.array(asked, dtype=np.int64),
            np.array(nearest, dtype=np.int64).reshape(-1, NEIGHBOURS),
            np.array(distances, dtype=np.float64),
        )

    def measured_anew(self, loaded: LoadedMetric) -> Neighbourhoods:
        """The same neighbours as ``loaded`` compares them."""
        distances = [
            loaded.index.distances(loaded.embedding[place], nearest).min()
            for place, nearest in zip(self.places, self.nearest, strict=True)
        ]
        return Neighbourhoods(self.places, self.nearest, np.array(distances, dtype=np.float64))


def far_quantile(distances: npt.NDArray[np.float64], unusual: float) -> float | None:
    """What the share ``unusual`` of ``distances`` lies beyond; ``None`` for none of them."""
    if unusual <= 0.0 or not len(distances):
        return None
    return float(np.quantile(distances, max(0.0, 1.0 - unusual)))
