"""Scores of retrieval and votes: one number per query, to be averaged or resampled.

All but those of triplets are functions of :class:`semblance.core.evaluation.neighbours.NearestRanks` blocks, in which
the cases of one lesion count once.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from semblance.core.errors import BadInput
from semblance.core.evaluation.neighbours import (
    BLOCK,
    TIE,
    NearestRanks,
    PairDistances,
    ranked_blocks,
    tie_numbers,
)
from semblance.core.tasks import SILENT, Reporter

Matrix = npt.NDArray[np.float64]
Rows = npt.NDArray[np.intp]

#: Expected votes that differ by less are equal up to rounding.
_EQUAL = 1e-9
Winners = npt.NDArray[np.bool_]

#: Relative variance of distances that are equal but for rounding.
_EQUAL_VARIANCE = 1e-24
#: Log likelihoods that differ by this share are equal but for rounding.
_SAME_LIKELIHOOD = 1e-9


@dataclass(frozen=True, eq=False)
class NearestVotes:
    """The votes of the training cases nearest to each query.

    ``plain`` (q, c): share of the ``k`` nearest with each finding; ``weighted`` (q, c): the same with
    more weight for nearer cases; ``correct`` (q, K): credit 0..1 of the plain vote of the 1, 2, ... K
    nearest (findings with equally many votes share the credit).
    """

    k: int
    plain: Matrix
    weighted: Matrix
    correct: Matrix


@dataclass(frozen=True, eq=False)
class TripletCounts:
    """For every anchor (q,) the number of triplets in the ``right`` order, and of ``all`` triplets."""

    right: Matrix
    all: Matrix

    @property
    def share(self) -> float:
        """The share in the right order of all triplets; NaN if there are none."""
        total = float(self.all.sum())
        return float(self.right.sum()) / total if total else float("nan")


def triplet_accuracy(
    distances: PairDistances, findings: Rows, patients: Rows | None = None, reporter: Reporter = SILENT
) -> TripletCounts:
    """Count the triplets (i, j, k), j of i's finding and k of another, with d(i, j) < d(i, k).

    ``distances`` are those inside one set with ``findings`` (n,). A tie counts as an error
    (metricboost.txt Eq. 1) and is not broken; distances that are equal up to rounding tie. Neither j nor k is i
    or, where ``patients`` (n,) are known, of i's patient. Exact, in O(n^2 (d + log n)).
    """
    units = np.arange(len(findings)) if patients is None else patients
    n = distances.n_gallery
    right, every = np.zeros(distances.n_queries), np.zeros(distances.n_queries)
    step = max(1, BLOCK // max(1, n * distances.width))
    for start in range(0, distances.n_queries, step):
        reporter.check_cancelled()
        queries = np.arange(start, min(start + step, distances.n_queries))
        values, error = distances.rough(queries)
        if error > 0.0:
            values = distances.exact(queries, np.broadcast_to(np.arange(n), values.shape))
        answers = units[queries][:, None] != units
        values = np.where(answers, values, np.inf)
        order = np.argsort(values, axis=1, kind="stable")
        answers = np.take_along_axis(answers, order, axis=1)
        same = answers & (findings[order] == findings[queries][:, None])
        other = answers & ~same
        tie = tie_numbers(np.take_along_axis(values, order, axis=1))
        # The last position of the cases that tie with a case; the following ones are strictly farther.
        ends = np.concatenate([np.diff(tie, axis=1) > 0, np.ones((len(tie), 1), dtype=np.bool_)], axis=1)
        places = np.where(ends, np.arange(n), n)
        last = np.minimum.accumulate(places[:, ::-1], axis=1)[:, ::-1]
        others = other.sum(axis=1)
        farther = others[:, None] - np.take_along_axis(np.cumsum(other, axis=1), last, axis=1)
        right[queries] = np.where(same, farther, 0).sum(axis=1)
        every[queries] = same.sum(axis=1) * others
    return TripletCounts(right, every)


def retrieval_accuracy(
    distances: PairDistances,
    findings: Rows,
    patients: Rows | None = None,
    max_k: int = 50,
    reporter: Reporter = SILENT,
    *,
    queries: Rows | None = None,
) -> Matrix:
    """(q, K): share of the first 1, 2, ... K = ``max_k`` cases that have the query's finding.

    Leave-one-out inside one set with ``findings`` (n,) (bdm.txt Eq. 20): every case is a query, all others are the
    gallery, except, if ``patients`` (n,) are known, those of its own patient. If the gallery has fewer than k cases,
    the share is of those; NaN for an empty gallery. ``queries`` (q,): which cases of the set are the queries of
    ``distances``, if not all.
    """
    units = np.arange(len(findings)) if patients is None else patients
    queries = np.arange(len(findings)) if queries is None else queries
    n_findings = int(findings.max(initial=0)) + 1
    out = np.full((distances.n_queries, min(max_k, distances.n_gallery)), np.nan)
    for block in ranked_blocks(
        distances,
        findings,
        n_findings,
        max_k,
        query_patients=units[queries],
        gallery_patients=units,
        reporter=reporter,
    ):
        of_query = findings[queries[block.queries]]
        matching = np.take_along_axis(block.share, of_query[:, None, None], axis=2)[..., 0]
        answers = _answers(block)
        with np.errstate(invalid="ignore"):
            out[block.queries] = np.cumsum(matching, axis=1) / np.where(answers > 0, answers, np.nan)
    return out[:, : max(1, distances.n_gallery - 1)]


def shares_of_nearest(
    distances: PairDistances, findings: Rows, n_findings: int, units: Rows, k: int
) -> Matrix:
    """(n, c) the expected share of each of the ``n_findings`` among the first ``k`` cases, leave-one-out inside one set
    as in :func:`retrieval_accuracy`; NaN for an empty gallery."""
    out = np.full((distances.n_queries, n_findings), np.nan)
    for block in ranked_blocks(
        distances, findings, n_findings, k, query_patients=units, gallery_patients=units
    ):
        answers = _answers(block)[:, -1:]
        with np.errstate(invalid="ignore"):
            out[block.queries] = block.share.sum(axis=1) / np.where(answers > 0, answers, np.nan)
    return out


def answering_cases(findings: Rows, units: Rows, lesions: Rows | None = None) -> tuple[Rows, Rows]:
    """(n,) lesions of other units that a search with each case inside one set ranks: those with its finding, and all.

    ``units`` (n,) are patients; ``lesions`` ``None``: a case each. A lesion counts once for each finding of its cases.
    """
    numbers = np.arange(len(findings)) if lesions is None else lesions
    first = np.unique(np.stack([findings, numbers]), axis=1, return_index=True)[1]
    _, unit = np.unique(units, return_inverse=True)
    _, pair = np.unique(np.stack([findings, units]), axis=1, return_inverse=True)
    unit, pair = unit.reshape(-1), pair.reshape(-1)
    with_finding = np.bincount(findings[first])[findings] - np.bincount(pair[first], minlength=1)[pair]
    every = len(first) - np.bincount(unit[first])[unit]
    return with_finding, every


def accuracy_scores(
    per_query: Matrix, findings: Rows, patients: Rows | None, lesions: Rows | None, reported_k: Sequence[int]
) -> dict[str, float]:
    """The means of retrieval accuracy ``per_query`` (q, K) inside one set, at each k of ``reported_k`` that there is.

    ``retrieval_accuracy@K`` over queries, ``macro_retrieval_accuracy@K`` over findings, ``worst_finding@K``: that of
    the finding with the lowest; ``chance@K`` and ``macro_chance@K``: what a random order is expected to have, the mean
    of the share of the query's finding among the cases it can find. Of n cases that are all patients of their own it is
    sum n_c (n_c - 1) / (n (n - 1)), over findings the mean of (n_c - 1) / (n - 1).
    """
    units = np.arange(len(findings)) if patients is None else patients
    with_finding, every = answering_cases(findings, units, lesions)
    random = np.where(every > 0, with_finding / np.maximum(every, 1), np.nan)[:, np.newaxis]
    by_finding = np.stack([mean_over_queries(per_query[findings == one]) for one in np.unique(findings)])
    chance, macro_chance = (
        float(mean_over_queries(random)[0]),
        float(mean_over_findings(random, findings)[0]),
    )
    found: dict[str, float] = {}
    for k in (k for k in reported_k if k <= per_query.shape[1]):
        column = by_finding[:, k - 1]
        found |= {
            f"retrieval_accuracy@{k}": float(mean_over_queries(per_query[:, k - 1 : k])[0]),
            f"chance@{k}": chance,
            f"macro_retrieval_accuracy@{k}": float(mean_over_queries(column[:, np.newaxis])[0]),
            f"macro_chance@{k}": macro_chance,
            f"worst_finding@{k}": float(np.nanmin(column)) if not np.isnan(column).all() else float("nan"),
        }
    return found


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


def votes(
    distances: PairDistances,
    gallery_findings: Rows,
    query_findings: Rows,
    n_findings: int,
    *,
    k: int = 10,
    max_k: int = 50,
    query_patients: Rows | None = None,
    gallery_patients: Rows | None = None,
    reporter: Reporter = SILENT,
) -> NearestVotes:
    """k-NN vote of the gallery for every query (bdm.txt 4.2), and its correctness for 1..``max_k`` nearest.

    A query whose finding the gallery lacks (its number is then ``n_findings`` or more) is never right, nor is
    one with an empty gallery. Cases of the query's own patient do not vote.
    """
    max_k = min(max(k, max_k), distances.n_gallery)
    k = min(k, max_k)
    plain = np.zeros((distances.n_queries, n_findings))
    weighted, correct = np.zeros_like(plain), np.zeros((distances.n_queries, max_k))
    for block in ranked_blocks(
        distances,
        gallery_findings,
        n_findings,
        max_k,
        query_patients=query_patients,
        gallery_patients=gallery_patients,
        reporter=reporter,
    ):
        counts = np.cumsum(block.share, axis=1)
        answers = np.maximum(_answers(block), 1.0)
        plain[block.queries] = counts[:, k - 1] / answers[:, k - 1, None]
        weights = vote_weights(block.distance[:, :k])
        weighted[block.queries] = np.einsum("qk,qkc->qc", weights, block.share[:, :k])
        winners = counts >= counts.max(axis=2, keepdims=True) - _EQUAL
        finding = query_findings[block.queries]
        known = finding < n_findings
        column = np.where(known, finding, 0)[:, None, None]
        right = np.take_along_axis(winners, column, axis=2)[..., 0] & known[:, None]
        right &= counts.max(axis=2) > 0.0
        correct[block.queries] = right / winners.sum(axis=2)
    return NearestVotes(k, np.round(plain, 12), np.round(weighted, 12), correct)


def ndcg(
    distances: PairDistances,
    gallery_findings: Rows,
    query_findings: Rows,
    n_findings: int,
    *,
    max_k: int = 50,
    reporter: Reporter = SILENT,
) -> Matrix:
    """(q, K) normalised discounted cumulative gain @ 1..K = ``max_k``, a case of the query's finding gains 1.

    DCG = sum over ranks i of gain / log2(i + 1), over that of the ideal order (ccml.txt V-D). NaN for
    a query whose finding the gallery lacks. Tied cases gain in expectation over their order.
    """
    max_k = min(max_k, distances.n_gallery)
    discount = 1.0 / np.log2(np.arange(2, max_k + 2))
    relevant = np.append(np.bincount(gallery_findings, minlength=n_findings), 0)
    out = np.full((distances.n_queries, max_k), np.nan)
    for block in ranked_blocks(distances, gallery_findings, n_findings, max_k, reporter=reporter):
        finding = np.minimum(query_findings[block.queries], n_findings)
        column = np.minimum(finding, n_findings - 1)[:, None, None]
        gain = np.take_along_axis(block.share, column, axis=2)[..., 0]
        ideal = np.arange(1, max_k + 1) <= relevant[finding][:, None]
        with np.errstate(invalid="ignore"):
            values = np.cumsum(gain * discount, axis=1) / np.cumsum(ideal * discount, axis=1)
        out[block.queries] = np.where(relevant[finding][:, None] > 0, values, np.nan)
    return out


def mean_over_queries(per_query: Matrix) -> Matrix:
    """(K,) mean of (q, K) over the queries that have a value; NaN where none has."""
    has = ~np.isnan(per_query)
    count = has.sum(axis=0)
    total: Matrix = np.where(has, per_query, 0.0).sum(axis=0)
    return np.where(count > 0, total / np.maximum(count, 1), np.nan)


def mean_over_findings(per_query: Matrix, findings: Rows) -> Matrix:
    """(K,) the mean over findings of the mean over their queries: the balanced form of a score."""
    means = [mean_over_queries(per_query[findings == finding]) for finding in np.unique(findings)]
    return mean_over_queries(np.stack(means))


def _answers(block: NearestRanks) -> Matrix:
    """(b, K) number of cases in the first 1, 2, ... K ranks."""
    return np.minimum(np.arange(1, block.share.shape[1] + 1), block.size[:, None]).astype(np.float64)


@dataclass(frozen=True, eq=False)
class RetrievalScores:
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
) -> RetrievalScores:
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
    return RetrievalScores(precision, recall, ndcg, hit, average)


def _hits(block: NearestRanks, share: Matrix) -> Matrix:
    """(b, K) chance that the first 1, 2, ... K ranks hold a relevant case."""
    place = np.arange(share.shape[1]) - block.first
    misses = np.round(block.tied * (1.0 - share))
    # The chance that one more of the tied cases is not relevant, if none before was.
    none_relevant: Matrix = np.maximum(misses - place, 0.0) / np.maximum(block.tied - place, 1)
    return 1.0 - np.cumprod(none_relevant, axis=1, dtype=np.float64)


def _average_precision(block: NearestRanks, share: Matrix, total: Rows) -> Matrix:
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
        variance[variance <= _EQUAL_VARIANCE * mean * mean] = 0.0
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
