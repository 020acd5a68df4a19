"""Search the whole library with held-out cases, as a user would."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

import numpy as np

from semblance.core.evaluation.data import DROPPED, EvaluationData
from semblance.core.evaluation.evaluate_metric import held_out_queries
from semblance.core.evaluation.search_rankings import (
    Gallery,
    SearchRankings,
    search_rankings,
)
from semblance.core.evaluation.splits import Rows
from semblance.core.tasks import SILENT, Reporter
from semblance.core.workflows.metrics.held_out_cases import HeldOutCases
from semblance.core.workflows.metrics.leakage import IdentityIndex

if TYPE_CHECKING:
    from semblance.core.library.library import Library
    from semblance.core.metrics.metric import Metric


@dataclass(frozen=True, eq=False)
class HeldOutSearches:
    """``rankings`` of searches with some of the rows ``test`` of ``data``, all cases of the library with their
    findings as in training; the metric was fitted on the rows ``train``."""

    data: EvaluationData
    train: Rows
    test: Rows
    rankings: SearchRankings


def held_out_searches(
    library: Library,
    metric: Metric,
    held_out: HeldOutCases,
    k: int,
    *,
    seed: int = 0,
    reporter: Reporter = SILENT,
) -> HeldOutSearches:
    """The first ``k`` ranks of searches in ``library`` with the held-out cases of ``metric``, or a sample of them.

    They are ranked as :func:`semblance.core.workflows.searches.rank_cases.rank_cases` does: every case with the
    features may be ranked except those of the query's patient and lesion, and each lesion is shown once.

    Raises:
        BadInput: no case was held out.
    """
    everything = held_out.everything
    assert everything.case_rows is not None
    renamed = held_out.findings_map or {}
    findings = [renamed.get(name, name) for name in everything.y.tolist()]
    data = replace(everything, y=np.array([name if name != DROPPED else "" for name in findings]))
    unseen = IdentityIndex(library).unseen(held_out.training, held_out.trained_elsewhere)
    train = np.flatnonzero(np.isin(everything.case_rows, held_out.training))
    test = np.flatnonzero(np.isin(everything.case_rows, unseen) & (data.y != ""))
    queries = held_out_queries(data, train, test, seed)
    rankings = search_rankings(Gallery.of(metric, data), queries, k, reporter=reporter)
    return HeldOutSearches(data, train, test, rankings)
