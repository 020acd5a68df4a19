"""Scores of retrieval and votes: one number per query, to be averaged or resampled.

All but those of triplets are functions of :class:`semblance.core.evaluation.neighbours.Ranked` blocks, in which
the cases of one lesion count once.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from semblance.core.evaluation.neighbours import BLOCK, PairDistances, Ranked, ranked_blocks, tie_numbers
from semblance.core.tasks import SILENT, Reporter

Matrix = npt.NDArray[np.float64]
Rows = npt.NDArray[np.intp]

#: Expected votes that differ by less are equal up to rounding.
_EQUAL = 1e-9


@dataclass(frozen=True, eq=False)
class Votes:
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
class Triplets:
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
) -> Triplets:
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
    return Triplets(right, every)


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
    per_query: Matrix,
    findings: Rows,
    patients: Rows | None,
    lesions: Rows | None,
    reported_k: Sequence[int],
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
) -> Votes:
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
    return Votes(k, np.round(plain, 12), np.round(weighted, 12), correct)


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


def _answers(block: Ranked) -> Matrix:
    """(b, K) number of cases in the first 1, 2, ... K ranks."""
    return np.minimum(np.arange(1, block.share.shape[1] + 1), block.size[:, None]).astype(np.float64)
