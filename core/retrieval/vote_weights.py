"""The weights of the nearest cases in the distance-weighted vote on a finding."""

from __future__ import annotations

import numpy as np
import numpy.typing as npt

Matrix = npt.NDArray[np.float64]


def vote_weights(distances: npt.ArrayLike) -> Matrix:
    """(..., k) squared distances -> (..., k) weights that sum to 1 along the last axis.

    exp(-d / d_k) with d_k the largest: bounded, so that one exact copy does not decide alone, and independent of the
    scale of the metric. All equal if all distances are 0. Infinite distances, beyond a short gallery, have weight 0.
    """
    d = np.asarray(distances, dtype=np.float64)
    is_there = np.isfinite(d)
    d = np.where(is_there, d, 0.0)
    last = d.max(axis=-1, keepdims=True, initial=0.0)
    weights = np.where(is_there, np.exp(-d / np.where(last > 0, last, 1.0)), 0.0)
    total: Matrix = weights.sum(axis=-1, keepdims=True)
    return weights / np.where(total > 0, total, 1.0)
