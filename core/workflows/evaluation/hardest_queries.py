"""The queries that a metric serves worst, among the cases it never saw."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

import numpy as np

from semblance.core.errors import BadInput
from semblance.core.evaluation.neighbours import distances_after_steps
from semblance.core.evaluation.scores import retrieval_accuracy
from semblance.core.evaluation.splits import patient_codes
from semblance.core.language import tr_lazy
from semblance.core.library.open_library import open_library
from semblance.core.tasks import SILENT, Reporter
from semblance.core.workflows.metrics.held_out_cases import held_out_cases
from semblance.core.workflows.metrics.stored_metric import stored_metric

#: Nearest cases examined, queries listed, and queries ranked at most.
K, MOST, MAX_QUERIES = 10, 20, 4000


@dataclass(frozen=True)
class HardestQueries:
    """Catalogue ``rows`` of the queries with the lowest retrieval accuracy @ ``k``, the worst first, with
    their ``accuracies``; ``n_queries`` of ``cases`` held-out cases were queries."""

    rows: tuple[int, ...]
    accuracies: tuple[float, ...]
    k: int
    n_queries: int
    cases: int


def hardest_queries(
    library: Path,
    metric: str,
    finding: str = "",
    *,
    most: int = MOST,
    seed: int = 0,
    reporter: Reporter = SILENT,
) -> HardestQueries:
    """At most ``most`` held-out cases, of ``finding`` if given, whose nearest held-out cases agree least.

    None of them has all of its nearest alike. Of more than :data:`ASKED` cases a seeded sample is asked.

    Raises:
        BadArguments: no such metric.
        BadInput: nothing was held out, or none of it has the finding.
    """
    with open_library(library) as opened:
        record = opened.metric(metric)
        held_out = held_out_cases(opened, record)
    loaded, unseen, data = stored_metric(record), held_out.test, held_out.cases
    if len(unseen) > MAX_QUERIES:
        unseen = np.sort(np.random.default_rng(seed).choice(unseen, MAX_QUERIES, replace=False))
    rows = loaded.transform(data.X[unseen])
    distances = distances_after_steps(loaded.distance, rows, rows, data.lesions_of(unseen))
    reporter.check_cancelled()
    findings = np.unique(data.y[unseen], return_inverse=True)[1]
    units = patient_codes(data.units, data.n_cases)
    own = None if units is None else units[unseen]
    accuracy = retrieval_accuracy(distances, findings, own, K, reporter)
    k = accuracy.shape[1]
    last = accuracy[:, -1] if k else np.full(len(unseen), np.nan)
    known = ~np.isnan(last)
    if finding:
        known &= data.y[unseen] == finding
    if not known.any():
        raise BadInput(
            tr_lazy("No held-out case of '{metric}' can be used as a query.", metric=metric),
            "Hold out some cases of every finding.",
        )
    wrong = np.flatnonzero(known & (last < 1.0))
    chosen = wrong[np.argsort(last[wrong], kind="stable")][:most]
    assert data.case_rows is not None
    return HardestQueries(
        tuple(data.case_rows[unseen[chosen]].tolist()),
        tuple(last[chosen].tolist()),
        k,
        int(known.sum()),
        len(held_out.test),
    )
