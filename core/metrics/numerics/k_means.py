"""Centres of many points by scikit-learn's k-means, and the nearest of them without scikit-learn."""

from __future__ import annotations

from typing import TypeVar

import numpy as np
import numpy.typing as npt

from semblance.core.threads import one_thread

F = TypeVar("F", np.float32, np.float64)
Indices = npt.NDArray[np.intp]

#: Points compared with all centres at once.
_BLOCK = 4096
#: The first centres are chosen among so many points, or so many for each centre: among all it takes half the time.
_SEEDS, _SEEDS_PER_CENTRE = 10_000, 5


def k_means(points: npt.NDArray[F], k: int, rng: np.random.Generator, rounds: int = 25) -> npt.NDArray[F]:
    """(m, v) centres of ``points`` (n, v), m <= k: as many as there are different points.

    Time O(n k v) a round. One thread, because more of them add up in an order that changes from run to run.
    """
    from sklearn.cluster import KMeans, kmeans_plusplus

    limit = max(_SEEDS, _SEEDS_PER_CENTRE * k)
    some = points if len(points) <= limit else points[np.sort(rng.choice(len(points), limit, replace=False))]
    seed = int(rng.integers(2**31))
    with one_thread():
        first = np.unique(kmeans_plusplus(some, min(k, len(some)), random_state=seed)[0], axis=0)
        found = KMeans(len(first), init=first, n_init=1, max_iter=rounds).fit(points)
    centres: npt.NDArray[F] = found.cluster_centers_
    return centres


def nearest_centres(points: npt.NDArray[F], centres: npt.NDArray[F]) -> Indices:
    """(n,) the nearest of ``centres`` (k, v) to each of ``points`` (n, v), of equals the first."""
    half = 0.5 * np.square(centres).sum(axis=1)
    nearest = np.empty(len(points), dtype=np.intp)
    for start in range(0, len(points), _BLOCK):
        # |x - c|^2 / 2 without |x|^2, which all centres share.
        score = half - points[start : start + _BLOCK] @ centres.T
        nearest[start : start + _BLOCK] = score.argmin(axis=1)
    return nearest
