"""What the nearest cases say together: counts and shares of their findings."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from semblance.core.errors import BadInput

Matrix = npt.NDArray[np.float64]


@dataclass(frozen=True)
class Vote:
    """``counts`` of the findings among the nearest, and ``probability`` of each; both most likely first.

    The probability is a share of votes, not calibrated on held-out patients. Both are empty where no
    neighbour has a finding.
    """

    counts: dict[str, int]
    probability: dict[str, float]

    @property
    def finding(self) -> str | None:
        """The most likely finding; of equally likely ones the first by name."""
        return next(iter(self.probability), None)


def vote_weights(distances: npt.ArrayLike) -> Matrix:
    """(..., k) squared distances -> (..., k) weights that sum to 1 along the last axis.

    exp(-d / d_k) with d_k the largest: bounded, so that one exact copy does not decide alone, and free of
    the scale of the metric. All equal where all distances are 0.
    """
    d = np.asarray(distances, dtype=np.float64)
    last = d.max(axis=-1, keepdims=True, initial=0.0)
    weights = np.exp(-d / np.where(last > 0, last, 1.0))
    total: Matrix = weights.sum(axis=-1, keepdims=True)
    return weights / np.where(total > 0, total, 1.0)


def vote(findings: Sequence[str | None], distances: npt.ArrayLike | None = None) -> Vote:
    """The vote of the nearest cases by their ``findings`` (k,); cases without one do not vote.

    With their squared ``distances`` (k,) nearer ones weigh more (see :func:`vote_weights`); without, all
    weigh alike.

    Raises:
        BadInput: findings and distances of different number.
    """
    known = [place for place, finding in enumerate(findings) if finding]
    if distances is None:
        weights = np.full(len(known), 1.0 / max(1, len(known)))
    else:
        d = np.asarray(distances, dtype=np.float64)
        if d.shape != (len(findings),):
            raise BadInput("The vote has another number of findings than of distances.")
        weights = vote_weights(d[known])
    counts: dict[str, int] = {}
    shares: dict[str, float] = {}
    for place, weight in zip(known, weights.tolist(), strict=True):
        finding = str(findings[place])
        counts[finding] = counts.get(finding, 0) + 1
        shares[finding] = shares.get(finding, 0.0) + weight
    order = sorted(shares, key=lambda finding: (-round(shares[finding], 12), finding))
    return Vote({name: counts[name] for name in order}, {name: shares[name] for name in order})
