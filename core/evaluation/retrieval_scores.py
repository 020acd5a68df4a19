"""What a searcher meets going down a ranking: precision, recall, average precision, hits, gain.

One number per query, leave-one-out inside one set; ties count in expectation over their random order.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from semblance.core.evaluation.neighbours import PairDistances, Ranked, ranked_blocks
from semblance.core.evaluation.scores import Matrix, Rows
from semblance.core.tasks import SILENT, Reporter


@dataclass(frozen=True, eq=False)
class Retrieval:
    """(q, K) each at 1, 2, ... K: ``precision`` (relevant among the first k, over k), ``recall`` (over all R
    relevant), ``ndcg`` (their discounted gain over the best there is), ``hit`` (whether any is relevant).

    ``average_precision`` (q,): at R, the mean over the first R ranks of precision where the rank is relevant
    (MAP@R, Musgrave, Belongie and Lim 2020, section 3.2). NaN for a query without any relevant case, whose
    precision is 0; also that is NaN where nobody can answer.
    """

    precision: Matrix
    recall: Matrix
    ndcg: Matrix
    hit: Matrix
    average_precision: Matrix


def retrieval_scores(
    distances: PairDistances,
    findings: Rows,
    patients: Rows | None = None,
    max_k: int = 50,
    reporter: Reporter = SILENT,
) -> Retrieval:
    """Every case of one set asks all others, except, where ``patients`` (n,) are known, its own patient's.

    ``findings`` (n,): a case is relevant if it has the query's.
    """
    own = np.arange(len(findings)) if patients is None else patients
    n_findings = int(findings.max(initial=0)) + 1
    relevant = _relevant(findings, own)
    depth = min(distances.n_gallery, max(max_k, int(relevant.max(initial=1))))
    max_k = min(max_k, max(1, distances.n_gallery - 1))
    shape = distances.n_queries, max_k
    precision, recall, ndcg, hit = (np.full(shape, np.nan) for _ in range(4))
    average = np.full(distances.n_queries, np.nan)
    k = np.arange(1, max_k + 1)
    discount = 1.0 / np.log2(k + 1.0)
    for block in ranked_blocks(
        distances, findings, n_findings, depth, query_patients=own, gallery_patients=own, reporter=reporter
    ):
        asked = findings[block.queries]
        share = np.take_along_axis(block.share, asked[:, None, None], axis=2)[..., 0]
        there = relevant[block.queries]
        some = there > 0
        total = np.maximum(there, 1)[:, None]
        rows, first = block.queries[some], share[some, :max_k]
        found = np.cumsum(first, axis=1)
        answers = block.size > 0
        precision[block.queries[answers]] = np.cumsum(share[answers, :max_k], axis=1) / k
        recall[rows] = found / total[some]
        ideal = np.cumsum(discount * (k <= total[some]), axis=1)
        ndcg[rows] = np.cumsum(first * discount, axis=1) / ideal
        hit[rows] = _hits(block, share)[some, :max_k]
        average[rows] = _average_precision(block, share, total)[some]
    return Retrieval(precision, recall, ndcg, hit, average)


def _relevant(findings: Rows, own: Rows) -> Rows:
    """(n,) cases of the same finding and another patient."""
    counts = np.bincount(findings)
    _, pair, same = np.unique(np.stack([findings, own]), axis=1, return_inverse=True, return_counts=True)
    out: Rows = counts[findings] - same[pair.ravel()]
    return out


def _hits(block: Ranked, share: Matrix) -> Matrix:
    """(b, K) chance that the first 1, 2, ... K ranks hold a relevant case."""
    place = np.arange(share.shape[1]) - block.first
    misses = np.round(block.tied * (1.0 - share))
    # One more of the tied cases without a relevant one among those drawn before.
    none: Matrix = np.maximum(misses - place, 0.0) / np.maximum(block.tied - place, 1)
    return 1.0 - np.cumprod(none, axis=1, dtype=np.float64)


def _average_precision(block: Ranked, share: Matrix, total: Rows) -> Matrix:
    """(b,) expected mean over R = ``total`` (b, 1) ranks of the precision at those that are relevant."""
    ranks = np.arange(1, share.shape[1] + 1)
    before = np.concatenate([np.zeros((len(share), 1)), np.cumsum(share, axis=1)], axis=1)
    before = np.take_along_axis(before, block.first, axis=1)
    inside = np.arange(share.shape[1]) - block.first
    # Chance that another of the tied cases is relevant where this one is.
    another = np.maximum(np.round(block.tied * share) - 1.0, 0.0) / np.maximum(block.tied - 1, 1)
    gain = share * (1.0 + before + inside * another) / ranks
    mean: Matrix = (gain * (ranks <= total)).sum(axis=1) / total[:, 0]
    return mean
