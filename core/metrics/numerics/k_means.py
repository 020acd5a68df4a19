"""Lloyd's k-means for many points and many centres."""

from __future__ import annotations

from typing import TypeVar

import numpy as np
import numpy.typing as npt

F = TypeVar("F", np.float32, np.float64)
Indices = npt.NDArray[np.intp]

#: Points compared with all centres at once.
_BLOCK = 4096
#: Rounds end early once no more than this share of the points changes its centre.
_CONVERGED = 1e-3
#: The first centres are chosen among so many points, or so many for each centre.
_SEEDS, _SEEDS_PER_CENTRE = 10_000, 5


def k_means(points: npt.NDArray[F], k: int, rng: np.random.Generator, rounds: int = 25) -> npt.NDArray[F]:
    """(m, v) centres of ``points`` (n, v), m <= k: as many as there are different points.

    Begins as k-means++ does (Arthur & Vassilvitskii, SODA 2007) on some of the points; a centre that no point
    is nearest to is put on the point farthest from its own. Lloyd: Least squares quantization in PCM. IEEE
    TIT 28(2), 1982. Time O(n k v) a round, memory O(k) for each of a few thousand points.
    """
    # scikit-learn's KMeans begins with centres of least inertia, and so has fewer words for what is rare: the patch
    # that two textured images share was found in one of six pairs instead of in all of them.
    centres = _initial_centres(points, k, rng)
    before: Indices | None = None
    for _ in range(rounds):
        nearest, far = nearest_centres(points, centres)
        if before is not None and (nearest != before).sum() <= _CONVERGED * len(points):
            break
        before = nearest
        counts = np.bincount(nearest, minlength=len(centres))
        sums = np.stack([np.bincount(nearest, column, minlength=len(centres)) for column in points.T], axis=1)
        held = counts > 0
        centres[held] = sums[held] / counts[held, None]
        empty = np.flatnonzero(~held)
        if len(empty):
            centres[empty] = points[np.argsort(-far, kind="stable")[: len(empty)]]
    return centres


def nearest_centres(points: npt.NDArray[F], centres: npt.NDArray[F]) -> tuple[Indices, npt.NDArray[F]]:
    """(n,) the nearest of ``centres`` (k, v) to each of ``points`` (n, v), of equals the first; (n,) how far,
    squared."""
    half = 0.5 * np.square(centres).sum(axis=1)
    nearest = np.empty(len(points), dtype=np.intp)
    far = np.empty(len(points), dtype=points.dtype)
    for start in range(0, len(points), _BLOCK):
        part = points[start : start + _BLOCK]
        # |x - c|^2 / 2 without |x|^2, which all centres share.
        score = half - part @ centres.T
        nearest[start : start + _BLOCK] = best = score.argmin(axis=1)
        least = np.take_along_axis(score, best[:, None], axis=1)[:, 0]
        far[start : start + _BLOCK] = np.maximum(2.0 * least + np.square(part).sum(axis=1), 0.0)
    return nearest, far


def _initial_centres(points: npt.NDArray[F], k: int, rng: np.random.Generator) -> npt.NDArray[F]:
    """(m, v) up to ``k`` different points, each likelier the farther it lies from those before it."""
    limit = max(_SEEDS, _SEEDS_PER_CENTRE * k)
    if len(points) > limit:
        points = points[np.sort(rng.choice(len(points), limit, replace=False))]
    chosen = [int(rng.integers(len(points)))]
    far = np.square(points - points[chosen[0]]).sum(axis=1, dtype=np.float64)
    while len(chosen) < k and far.any():
        cumulated = far.cumsum()
        # Sums of float64 end just below their last value's share of 1.
        row = min(int(np.searchsorted(cumulated, rng.random() * cumulated[-1], side="right")), len(far) - 1)
        chosen.append(row)
        np.minimum(far, np.square(points - points[row]).sum(axis=1, dtype=np.float64), out=far)
    return points[chosen]
