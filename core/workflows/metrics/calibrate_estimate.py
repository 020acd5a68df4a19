"""Calibrate the estimate of a metric on cases of patients it was not trained on."""

from __future__ import annotations

from typing import TYPE_CHECKING

from semblance.core.evaluation.calibration import Calibration, calibrate
from semblance.core.evaluation.search_rankings import VOTERS, SearchRankings, neighbour_votes
from semblance.core.tasks import SILENT, Reporter
from semblance.core.workflows.metrics.held_out_cases import HeldOutCases
from semblance.core.workflows.metrics.held_out_searches import held_out_searches

if TYPE_CHECKING:
    from semblance.core.library.library import Library
    from semblance.core.metrics.metric import Metric


def calibrate_estimate(
    library: Library,
    metric: Metric,
    held_out: HeldOutCases,
    *,
    measured_on: str,
    seed: int = 0,
    reporter: Reporter = SILENT,
) -> Calibration | None:
    """The calibration of the estimate of ``metric``, measured by searches with held-out cases.

    ``None`` if too few cases were held out.

    Raises:
        BadInput: no case was held out.
    """
    searches = held_out_searches(library, metric, held_out, VOTERS, seed=seed, reporter=reporter)
    return calibrate_rankings(searches.rankings, held_out, measured_on=measured_on, seed=seed)


def calibrate_rankings(
    rankings: SearchRankings, held_out: HeldOutCases, *, measured_on: str, seed: int = 0
) -> Calibration | None:
    """The calibration on existing ``rankings``; ``None`` if they are too few."""
    assert held_out.everything.case_rows is not None
    votes = neighbour_votes(rankings, held_out.everything.case_rows, measured_on)
    return None if votes is None else calibrate(votes, rankings.gallery.names, max_voters=VOTERS, seed=seed)
