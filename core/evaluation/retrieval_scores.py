"""Retrieval scores of rankings: precision, recall, average precision, hits, discounted gain.

They are one number per query, leave-one-out inside one set. Ties count in expectation over their random order.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from semblance.core.evaluation.neighbours import PairDistances, Ranked, ranked_blocks
from semblance.core.evaluation.scores import Matrix, Rows, answering_cases
from semblance.core.tasks import SILENT, Reporter


@dataclass(frozen=True, eq=False)
class Retrieval:
    """(q, K) each at 1, 2, ... K: ``precision`` (relevant among the first k, over k), ``recall`` (over all R
    relevant), ``ndcg`` (their discounted gain over the ideal one), ``hit`` (whether any is relevant).

    ``average_precision`` (q,): at R, the mean over the first R ranks of precision where the rank is relevant
    (MAP@R, Musgrave, Belongie and Lim 2020, section 3.2). NaN for a query without any relevant case, whose
    precision is 0, or NaN if the gallery is empty.
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
    """Scores with every case of one set as query; the others are the gallery, without its own patient's cases.

    ``findings`` (n,): a case is relevant if it has the query's. ``patients`` (n,) if they are known.
    """
    units = np.arange(len(findings)) if patients is None else patients
    n_findings = int(findings.max(initial=0)) + 1
    relevant, _ = answering_cases(findings, units, distances.lesions)
    depth = min(distances.n_gallery, max(max_k, int(relevant.max(initial=1))))
    max_k = min(max_k, max(1, distances.n_gallery - 1))
    shape = distances.n_queries, max_k
    precision, recall, ndcg, hit = (np.full(shape, np.nan) for _ in range(4))
    average = np.full(distances.n_queries, np.nan)
    k = np.arange(1, max_k + 1)
    discount = 1.0 / np.log2(k + 1.0)
    for block in ranked_blocks(
        distances,
        findings,
        n_findings,
        depth,
        query_patients=units,
        gallery_patients=units,
        reporter=reporter,
    ):
        query_findings = findings[block.queries]
        share = np.take_along_axis(block.share, query_findings[:, None, None], axis=2)[..., 0]
        n_relevant = relevant[block.queries]
        has_relevant = n_relevant > 0
        total = np.maximum(n_relevant, 1)[:, None]
        rows, first = block.queries[has_relevant], share[has_relevant, :max_k]
        found = np.cumsum(first, axis=1)
        has_gallery = block.size > 0
        precision[block.queries[has_gallery]] = np.cumsum(share[has_gallery, :max_k], axis=1) / k
        recall[rows] = found / total[has_relevant]
        ideal = np.cumsum(discount * (k <= total[has_relevant]), axis=1)
        ndcg[rows] = np.cumsum(first * discount, axis=1) / ideal
        hit[rows] = _hits(block, share)[has_relevant, :max_k]
        average[rows] = _average_precision(block, share, total)[has_relevant]
    return Retrieval(precision, recall, ndcg, hit, average)


def _hits(block: Ranked, share: Matrix) -> Matrix:
    """(b, K) chance that the first 1, 2, ... K ranks hold a relevant case."""
    place = np.arange(share.shape[1]) - block.first
    misses = np.round(block.tied * (1.0 - share))
    # The chance that one more of the tied cases is not relevant, if none before was.
    none_relevant: Matrix = np.maximum(misses - place, 0.0) / np.maximum(block.tied - place, 1)
    return 1.0 - np.cumprod(none_relevant, axis=1, dtype=np.float64)


def _average_precision(block: Ranked, share: Matrix, total: Rows) -> Matrix:
    """(b,) expected mean over R = ``total`` (b, 1) ranks of the precision at those that are relevant."""
    ranks = np.arange(1, share.shape[1] + 1)
    before = np.concatenate([np.zeros((len(share), 1)), np.cumsum(share, axis=1)], axis=1)
    before = np.take_along_axis(before, block.first, axis=1)
    position_in_tie = np.arange(share.shape[1]) - block.first
    # Chance that another of the tied cases is relevant if this one is.
    another_relevant = np.maximum(np.round(block.tied * share) - 1.0, 0.0) / np.maximum(block.tied - 1, 1)
    gain = share * (1.0 + before + position_in_tie * another_relevant) / ranks
    mean: Matrix = (gain * (ranks <= total)).sum(axis=1) / total[:, 0]
    return mean
