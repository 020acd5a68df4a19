"""Rows whose features have unequal scales, and the distances that feedback starts from."""

from __future__ import annotations

import numpy as np

from semblance.core.metrics.distances import BitDistance, LinearDistance


def unequal_rows(seed: int = 0, n: int = 80, d: int = 4) -> np.ndarray:
    return np.random.default_rng(seed).normal(size=(n, d)) * np.array([1.0, 5.0, 0.2, 1.0])[:d] + 3.0


def base_distances() -> list[LinearDistance | BitDistance]:
    rng = np.random.default_rng(5)
    return [
        LinearDistance(4),
        LinearDistance(4, rng.normal(size=(1, 4))),
        BitDistance(rng.normal(size=(4, 12)), rng.normal(size=12), rng.random(12) + 0.1),
    ]
