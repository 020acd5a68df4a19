"""What single queries found: for each number of nearest cases the hits, the nearest cases and the votes.

Scores are means of these, so that they can be computed again from a file of them.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

import numpy as np
import numpy.typing as npt

from semblance.core.evaluation.data import EvaluationData
from semblance.core.evaluation.neighbours import PairDistances, metric_distances, ranked_blocks
from semblance.core.evaluation.scores import answering_cases
from semblance.core.evaluation.splits import HoldOut, patient_codes
from semblance.core.tasks import SILENT, Reporter

if TYPE_CHECKING:
    from semblance.core.metrics.metric import Metric

Matrix = npt.NDArray[np.float64]
Rows = npt.NDArray[np.intp]

#: Which cases are ranked for the hits.
TESTED, TRAINING, ALL = "tested", "training", "all"
#: Votes that differ by less are equal up to rounding.
_EQUAL = 1e-9


@dataclass(frozen=True, eq=False)
class QueryRecords:
    """Queries ``rows`` (q,) of the data, at each of ``k`` (K,) nearest cases.

    ``searched``: the cases that are ranked, :data:`TESTED` (leave-one-out inside the tested part), :data:`TRAINING` or
    :data:`ALL`.
    ``hits`` (q, K): how many of the first k have the query's finding, expected over the order of cases
    that are equally near. ``answers`` (q, K): k, or the number of cases that can be ranked where that is smaller.
    ``nearest`` (q, largest k): rows of the data, cases equally near in the order of the data, -1 beyond the last.
    ``votes`` (q, K, c): share of each finding among the k nearest training cases, and ``estimate`` (q, K): the number
    of that with the largest share, of equal ones that whose first case is nearer, -1 for none; ``None`` where the
    protocol takes no votes. ``unit`` (q,): equal for queries that are drawn together for an interval. ``columns``:
    further values by name, (q,) or (q, K). ``chosen``: numbers that were chosen on the training part.
    """

    searched: str
    rows: Rows
    k: tuple[int, ...]
    hits: Matrix
    answers: Rows
    nearest: Rows
    unit: Rows
    votes: Matrix | None = None
    estimate: Rows | None = None
    columns: Mapping[str, npt.NDArray[np.float64]] = field(default_factory=dict)
    chosen: Mapping[str, float] = field(default_factory=dict)


@dataclass(frozen=True, eq=False)
class RankedQueries:
    """Fields as of :class:`QueryRecords`; ``nearest`` are places in the gallery."""

    k: tuple[int, ...]
    hits: Matrix
    answers: Rows
    nearest: Rows
    votes: Matrix
    estimate: Rows


def ranked_queries(
    distances: PairDistances,
    gallery_findings: Rows,
    query_findings: Rows,
    n_findings: int,
    ks: Sequence[int],
    *,
    query_patients: Rows | None = None,
    gallery_patients: Rows | None = None,
    reporter: Reporter = SILENT,
) -> RankedQueries:
    """The hits, nearest cases and votes of all queries at each of ``ks`` that the gallery has, a block at a time.

    The arguments are as of :func:`semblance.core.evaluation.neighbours.ranked_blocks`.
    """
    k = tuple(one for one in ks if one <= distances.n_gallery) or (distances.n_gallery,)
    at = np.array(k) - 1
    shape = distances.n_queries, len(k)
    hits, answers = np.zeros(shape), np.zeros(shape, dtype=np.intp)
    nearest = np.full((distances.n_queries, k[-1]), -1, dtype=np.intp)
    votes, estimate = np.zeros((*shape, n_findings)), np.full(shape, -1, dtype=np.intp)
    for block in ranked_blocks(
        distances,
        gallery_findings,
        n_findings,
        k[-1],
        query_patients=query_patients,
        gallery_patients=gallery_patients,
        reporter=reporter,
        names_cases=True,
    ):
        q = block.queries
        assert block.cases is not None
        nearest[q] = block.cases
        counts = np.cumsum(block.share, axis=1)[:, at]
        finding = query_findings[q]
        known = finding < n_findings
        column = np.where(known, finding, 0)[:, None, None]
        hits[q] = np.where(known[:, None], np.take_along_axis(counts, column, axis=2)[..., 0], 0.0)
        answers[q] = np.minimum(at + 1, block.size[:, None])
        shares = np.round(counts / np.maximum(answers[q], 1)[..., None], 12)
        votes[q] = shares
        # The first rank at which a finding may stand.
        first = np.where(block.share.max(axis=1) > 0, (block.share > 0).argmax(axis=1), k[-1])[:, None, :]
        most = shares >= shares.max(axis=2, keepdims=True) - _EQUAL
        best = np.where(most, first, k[-1] + 1).argmin(axis=2)
        estimate[q] = np.where(shares.max(axis=2) > 0, best, -1)
    return RankedQueries(k, hits, answers, nearest, votes, estimate)


def query_records(
    metric: Metric,
    data: EvaluationData,
    split: HoldOut,
    ks: Sequence[int],
    *,
    inside: bool,
    queries: Rows | None = None,
    columns: Mapping[str, Matrix] | None = None,
    chosen: Mapping[str, float] | None = None,
    reporter: Reporter = SILENT,
) -> QueryRecords:
    """What the tested cases of ``split``, or the rows ``queries``, find with a fitted ``metric`` at each of ``ks``.

    ``inside``: hits and nearest cases are of the tested part, leave-one-out and without cases of the query's patient;
    else of the training part, as the votes always are. ``columns`` (q,), or (q, K) by k = 1, 2, ... K, of which those
    at ``ks`` are kept.
    """
    names, findings = np.unique(data.y, return_inverse=True)
    units = patient_codes(data.units, data.n_cases)
    units = np.arange(data.n_cases) if units is None else units
    rows = split.test if queries is None else queries
    X = data.X[rows]
    training = ranked_queries(
        metric_distances(metric, X, data.X[split.train], data.lesions_of(split.train)),
        findings[split.train],
        findings[rows],
        len(names),
        ks,
        reporter=reporter,
    )
    ranked, gallery = training, split.train
    kept = dict(columns or {})
    if inside:
        lesions = data.lesions_of(rows)
        ranked, gallery = (
            ranked_queries(
                metric_distances(metric, X, X, lesions),
                findings[rows],
                findings[rows],
                len(names),
                ks,
                query_patients=units[rows],
                gallery_patients=units[rows],
                reporter=reporter,
            ),
            rows,
        )
        relevant, every = answering_cases(findings[rows], units[rows], lesions)
        kept["chance"] = np.where(every > 0, relevant / np.maximum(every, 1), np.nan)
        kept["relevant"] = relevant.astype(np.float64)
    # A training part may be smaller than the tested one, or the other way round.
    k = min(ranked.k, training.k, key=len)
    n = len(k)
    return QueryRecords(
        TESTED if inside else TRAINING,
        rows,
        k,
        ranked.hits[:, :n],
        ranked.answers[:, :n],
        np.where(ranked.nearest >= 0, gallery[ranked.nearest], -1)[:, : k[-1]],
        units[rows],
        training.votes[:, :n],
        training.estimate[:, :n],
        {name: values if values.ndim == 1 else _at(values, k) for name, values in kept.items()},
        chosen or {},
    )


def _at(values: Matrix, k: Sequence[int]) -> Matrix:
    """(q, K) the columns at ``k`` of ``values`` (q, most) at 1, 2, ... most; NaN beyond."""
    out = np.full((len(values), len(k)), np.nan)
    there = [place for place, one in enumerate(k) if one <= values.shape[1]]
    out[:, there] = values[:, [k[place] - 1 for place in there]]
    return out
