"""Class-conditional k-NN: the finding whose own nearest cases are nearest decides, not the nearest of all.

Im, Taylor: Learning a metric for class-conditional KNN, 2016. Two rules; both work with any metric.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from core.errors import BadInput

Matrix = npt.NDArray[np.float64]
Rows = npt.NDArray[np.intp]

#: Relative variance of distances that are equal but for rounding.
_EQUAL = 1e-24


@dataclass(frozen=True, eq=False)
class FindingNeighbours:
    """``distances`` (q, c, k): squared, to the k nearest cases of each of c findings, ascending.

    Infinite where a finding has fewer cases. ``prior`` (c,) is the share of each finding among all cases.
    """

    distances: Matrix
    prior: Matrix

    def means(self, k: int) -> Matrix:
        """(q, c) mean squared distance to the first ``k`` (all there are, where fewer); infinite for none."""
        first = self.distances[..., :k]
        there = np.isfinite(first)
        count = there.sum(axis=2)
        total = np.where(there, first, 0.0).sum(axis=2)
        return np.where(count > 0, total / np.maximum(count, 1), np.inf)

    def log_posterior(self, k: int) -> Matrix:
        """(q, c) Algorithm 2, up to a constant a query: -sum_j D_j^2 / (2 Var) + ln prior.

        D are the distances (not squared) to the first ``k`` of each finding, Var their variance over all
        findings together, of this query. A finding with fewer than k cases counts as if those there are
        stood for the rest. Where all distances are equal the prior decides; minus infinity for no case.
        """
        first = self.distances[..., :k]
        there = np.isfinite(first)
        roots = np.sqrt(np.where(there, first, 0.0))
        count = there.sum(axis=(1, 2))
        mean = roots.sum(axis=(1, 2)) / count
        apart = np.where(there, roots - mean[:, np.newaxis, np.newaxis], 0.0)
        variance = np.square(apart).sum(axis=(1, 2)) / count
        variance[variance <= _EQUAL * mean * mean] = 0.0
        means = self.means(k)
        width = min(k, self.distances.shape[2])
        with np.errstate(divide="ignore", invalid="ignore"):
            penalty = width * means / (2.0 * variance[:, np.newaxis])
            score = np.log(self.prior) - np.where(variance[:, np.newaxis] > 0.0, penalty, 0.0)
        return np.where(np.isfinite(means), score, -np.inf)


def finding_neighbours(distances: Matrix, findings: Rows, n_findings: int, k: int) -> FindingNeighbours:
    """From squared ``distances`` (q, n) to n cases with ``findings`` (n,) numbered below ``n_findings``.

    Raises:
        BadInput: no case at all.
    """
    if len(findings) == 0:
        raise BadInput("There are no cases to compare with.", "Add cases with findings.")
    out = np.full((len(distances), n_findings, max(1, k)), np.inf)
    for finding in range(n_findings):
        own = distances[:, findings == finding]
        kept = min(k, own.shape[1])
        if kept and kept < own.shape[1]:
            own = np.partition(own, kept - 1, axis=1)[:, :kept]
        if kept:
            out[:, finding, :kept] = np.sort(own, axis=1)
    prior = np.bincount(findings, minlength=n_findings)[:n_findings] / len(findings)
    return FindingNeighbours(out, prior)
