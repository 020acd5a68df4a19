"""The held-out queries with the lowest retrieval accuracy under a metric."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from semblance.core.errors import BadInput
from semblance.core.language import tr_lazy
from semblance.core.library.location import LibraryLocation
from semblance.core.library.open_library import open_library
from semblance.core.tasks import SILENT, Reporter
from semblance.core.workflows.metrics.held_out_cases import held_out_cases
from semblance.core.workflows.metrics.score_metric import held_out_searches
from semblance.core.workflows.metrics.stored_metric import stored_metric

#: Nearest cases examined, and queries listed.
K, MOST = 10, 20


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
    library: LibraryLocation,
    metric: str,
    finding: str = "",
    *,
    most: int = MOST,
    seed: int = 0,
    reporter: Reporter = SILENT,
) -> HardestQueries:
    """At most ``most`` held-out cases, of ``finding`` if given, whose nearest cases agree least in a search.

    Queries whose nearest cases all have their finding are left out. If many cases are held out, the queries are a
    seeded sample.

    Raises:
        BadArguments: no such metric.
        BadInput: nothing was held out, or none of it has the finding.
    """
    with open_library(library) as opened:
        record = opened.metric(metric)
        searches = held_out_searches(
            opened, stored_metric(record), held_out_cases(opened, record), K, seed=seed, reporter=reporter
        )
    data, rankings = searches.data, searches.rankings
    unseen, accuracy = rankings.queries, rankings.retrieval_accuracy
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
        len(searches.test),
    )
