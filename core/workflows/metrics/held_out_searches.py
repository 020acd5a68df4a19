"""Search the whole library with the cases that a metric never saw, as a person would."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

import numpy as np

from semblance.core.evaluation.data import EvaluationData
from semblance.core.evaluation.evaluate_metric import held_out_queries
from semblance.core.evaluation.findings_map import DROPPED
from semblance.core.evaluation.search_rankings import (
    Gallery,
    Matrix,
    Representatives,
    SearchRankings,
    search_rankings,
)
from semblance.core.evaluation.splits import Rows
from semblance.core.library.lesion_groups import cases_by_hand
from semblance.core.retrieval.near_duplicates import DuplicateFinder
from semblance.core.retrieval.neighbourhoods import Neighbourhoods
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
    """The first ``k`` ranks of searches in ``library`` with the cases that ``metric`` never saw, or a sample of them.

    They are ranked as :func:`semblance.core.workflows.searches.rank_cases.rank_cases` does: every case with the
    features may answer, but for those of the query's patient and lesion, and near-duplicates are grouped.

    Raises:
        BadInput: no case was held out.
        Cancelled: the reporter asked for it.
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
    gallery = Gallery.of(metric, data)
    rankings = search_rankings(
        gallery, queries, k, representatives=_representatives(library, everything, gallery), reporter=reporter
    )
    return HeldOutSearches(data, train, test, rankings)


def _representatives(
    library: Library, everything: EvaluationData, gallery: Gallery
) -> Representatives | None:
    """What groups near-duplicates in a search; ``None`` where no case has an image."""
    assert everything.case_rows is not None
    if not library.catalogue.shown_images():
        return None
    # The search groups by the findings as the library has them.
    finder = DuplicateFinder(
        library,
        everything.case_rows,
        [name or None for name in everything.y.tolist()],
        cases_by_hand(library.catalogue),
    )
    near = Neighbourhoods.sampled(gallery.index, gallery.query, gallery.patients, gallery.lesions)
    usual = near.usual_distance

    def representatives(rows: Rows, coordinates: Matrix) -> Rows:
        return np.array(finder.representatives(rows, coordinates, usual), dtype=np.int64)

    return representatives
