"""How far from their nearest the cases of a library usually are, told from some of them."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np
import numpy.typing as npt

from semblance.core.retrieval.ranking import rank

if TYPE_CHECKING:
    from semblance.core.workflows.searches.loaded_metric import LoadedMetric

#: Cases whose nearest neighbour tells what distance is usual; more of a small library, where it is cheap.
SAMPLE, SAMPLE_SMALL, SMALL = 300, 1000, 5000
#: Of each, so many of the nearest are kept, to be measured anew when the metric is refined.
NEIGHBOURS = 10
#: Fewer cases than these do not tell what distance is usual.
FEWEST = 20


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
            query = loaded.case_query(place)
            found = rank(loaded.index, query, NEIGHBOURS, patients=loaded.patients, keys=loaded.keys)
            if len(found.rows):
                asked.append(place)
                nearest.append(np.resize(found.rows, NEIGHBOURS))
                distances.append(float(found.distances[0]))
        return cls(
            np.array(asked, dtype=np.int64),
            np.array(nearest, dtype=np.int64).reshape(-1, NEIGHBOURS),
            np.array(distances, dtype=np.float64),
        )

    @property
    def usual_distance(self) -> float | None:
        """The usual squared distance from a case to its nearest; ``None`` where too few tell."""
        return usual_nearest(self.distances)

    def measured_anew(self, loaded: LoadedMetric) -> Neighbourhoods:
        """The same neighbours as ``loaded`` compares them."""
        distances = [
            loaded.index.distances(loaded.embedding[place], nearest).min()
            for place, nearest in zip(self.places, self.nearest, strict=True)
        ]
        return Neighbourhoods(self.places, self.nearest, np.array(distances, dtype=np.float64))


def usual_nearest(distances: npt.NDArray[np.float64] | None) -> float | None:
    """The usual one of squared ``distances`` (s,) from some cases to their nearest; ``None`` for too few."""
    return None if distances is None or len(distances) < FEWEST else float(np.median(distances))


def far_quantile(distances: npt.NDArray[np.float64], unusual: float) -> float | None:
    """What the share ``unusual`` of ``distances`` lies beyond; ``None`` for none of them."""
    if unusual <= 0.0 or not len(distances):
        return None
    return float(np.quantile(distances, max(0.0, 1.0 - unusual)))
