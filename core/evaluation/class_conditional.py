"""Class-conditional k-NN: the finding whose k nearest cases are nearest wins.

Im, Taylor: Learning a metric for class-conditional KNN, 2016. Two rules; both work with any metric. Findings
that tie but for rounding share the credit: equal rows of two findings are common in tables of few values.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from semblance.core.errors import BadInput
from semblance.core.evaluation.neighbours import TIE, PairDistances, ranked_blocks
from semblance.core.tasks import SILENT, Reporter

Matrix = npt.NDArray[np.float64]
Rows = npt.NDArray[np.intp]
Winners = npt.NDArray[np.bool_]

#: Relative variance of distances that are equal but for rounding.
_EQUAL = 1e-24
#: Log likelihoods that differ by this share are equal but for rounding.
_SAME_LIKELIHOOD = 1e-9


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
        present = np.isfinite(first)
        count = present.sum(axis=2)
        total = np.where(present, first, 0.0).sum(axis=2)
        return np.where(count > 0, total / np.maximum(count, 1), np.inf)

    def log_posterior(self, k: int) -> Matrix:
        """(q, c) Algorithm 2, up to a constant a query: -sum_j D_j^2 / (2 Var) + ln prior.

        D are the distances (not squared) to the first ``k`` of each finding, Var their variance over all
        findings together, of this query. A finding with fewer than k cases is weighted as if it had k
        with the same mean. If all distances are equal, the prior decides; minus infinity for no case.
        """
        first = self.distances[..., :k]
        present = np.isfinite(first)
        roots = np.sqrt(np.where(present, first, 0.0))
        count = present.sum(axis=(1, 2))
        mean = roots.sum(axis=(1, 2)) / count
        deviation = np.where(present, roots - mean[:, np.newaxis, np.newaxis], 0.0)
        variance = np.square(deviation).sum(axis=(1, 2)) / count
        variance[variance <= _EQUAL * mean * mean] = 0.0
        means = self.means(k)
        width = min(k, self.distances.shape[2])
        with np.errstate(divide="ignore", invalid="ignore"):
            penalty = width * means / (2.0 * variance[:, np.newaxis])
            score = np.log(self.prior) - np.where(variance[:, np.newaxis] > 0.0, penalty, 0.0)
        return np.where(np.isfinite(means), score, -np.inf)

    def nearest_in_mean(self, k: int) -> Winners:
        """(q, c) the finding that is nearest in mean (Eq. 14), or those that tie."""
        means = self.means(k)
        largest = np.where(np.isfinite(means), means, 0.0).max(axis=1, keepdims=True)
        winners: Winners = np.isfinite(means) & (means <= means.min(axis=1, keepdims=True) + TIE * largest)
        return winners

    def likeliest(self, k: int) -> Winners:
        """(q, c) the finding of the largest :meth:`log_posterior`, or those that tie."""
        score = self.log_posterior(k)
        best = score.max(axis=1, keepdims=True)
        with np.errstate(invalid="ignore"):
            is_best = score >= best - _SAME_LIKELIHOOD * np.maximum(1.0, np.abs(best))
        winners: Winners = np.isfinite(score) & is_best
        return winners


def finding_neighbours(
    distances: PairDistances,
    findings: Rows,
    n_findings: int,
    k: int,
    *,
    query_patients: Rows | None = None,
    gallery_patients: Rows | None = None,
    reporter: Reporter = SILENT,
) -> FindingNeighbours:
    """The ``k`` nearest cases of each finding, for every query. Findings are numbered below ``n_findings``.

    ``findings`` (n,) are the gallery's. Cases of the query's own patient are left out, as in
    :func:`semblance.core.evaluation.neighbours.ranked_blocks`.

    Raises:
        BadInput: no case at all.
    """
    if len(findings) == 0:
        raise BadInput("There are no cases to compare with.", "Add cases with findings.")
    out = np.full((distances.n_queries, n_findings, max(1, k)), np.inf)
    for finding in np.unique(findings).tolist():
        rows_of_finding = np.flatnonzero(findings == finding)
        one_finding = np.zeros(len(rows_of_finding), dtype=np.intp)
        for block in ranked_blocks(
            distances.among(rows_of_finding),
            one_finding,
            1,
            k,
            query_patients=query_patients,
            gallery_patients=None if gallery_patients is None else gallery_patients[rows_of_finding],
            reporter=reporter,
        ):
            out[block.queries, finding, : block.distance.shape[1]] = block.distance
    prior = np.bincount(findings, minlength=n_findings)[:n_findings] / len(findings)
    return FindingNeighbours(out, prior)


def wrong_shares(winners: Winners, truth: Rows) -> Matrix:
    """(q,) error of each query: 0 if only the finding ``truth`` (q,) wins, 1 if it does not win, a share if it ties."""
    share = winners[np.arange(len(truth)), truth] / np.maximum(winners.sum(axis=1), 1)
    wrong: Matrix = 1.0 - share
    return wrong
