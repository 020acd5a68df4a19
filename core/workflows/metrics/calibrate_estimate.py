"""Calibrate the estimate of a metric on cases of patients it was not trained on."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from semblance.core.evaluation.calibration import Calibration, calibrate
from semblance.core.evaluation.findings_map import DROPPED
from semblance.core.evaluation.neighbour_votes import VOTERS, neighbour_votes
from semblance.core.retrieval.scan_index import index_for
from semblance.core.tasks import SILENT, Reporter
from semblance.core.workflows.metrics.held_out_cases import HeldOutCases
from semblance.core.workflows.metrics.leakage import IdentityIndex

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
    """The calibration of the estimate of ``metric``, measured on the cases of patients it was not trained on.

    All cases answer, as in a search. ``None`` where too few cases were held out.

    Raises:
        Cancelled: the reporter asked for it.
    """
    everything = held_out.everything
    assert everything.case_rows is not None
    renamed = held_out.findings_map or {}
    findings = [renamed.get(name, name) for name in everything.y.tolist()]
    named = [name if name and name != DROPPED else None for name in findings]
    n = everything.n_cases
    identities = IdentityIndex(library)
    unseen = np.isin(everything.case_rows, identities.unseen(held_out.training, held_out.trained_elsewhere))
    keys = np.arange(n) if everything.lesions is None else everything.lesions
    coordinates, ties = metric.coordinates(everything.X), metric.tie_break(everything.X)
    patients = everything.groups if everything.groups is not None else np.full(n, "")
    votes = neighbour_votes(
        index_for(metric.distance, coordinates, ties),
        coordinates,
        ties,
        findings=named,
        patients=patients.astype(object),
        keys=keys,
        rows=everything.case_rows,
        queries=np.flatnonzero(unseen),
        measured_on=measured_on,
        seed=seed,
        reporter=reporter,
    )
    if votes is None:
        return None
    return calibrate(votes, sorted({name for name in named if name}), max_voters=VOTERS, seed=seed)
