"""Evaluate the current metric again, and find its hardest queries."""

from __future__ import annotations

from collections.abc import Mapping
from functools import partial
from typing import Any

import numpy as np

from semblance.app.shell import library_operations, search_operations
from semblance.app.shell.context import Context
from semblance.app.shell.edit_operations import EDIT_TOPIC
from semblance.app.shell.jobs import Job, WorkerPool
from semblance.core.language import tr, tr_n
from semblance.core.workflows.evaluation import hardest_queries
from semblance.core.workflows.evaluation.hardest_queries import HardestQueries
from semblance.core.workflows.metrics import score_metric


def show_hardest_queries(context: Context, finding: str = "") -> Job | None:
    """Show the held-out queries with the lowest accuracy in the Library, of ``finding`` if given."""
    state = context.state
    if state.location is None or state.metric is None:
        return None
    path, metric = state.location, state.metric.name
    job = context.jobs.run(
        tr("Finding the hardest queries of {name}", name=metric),
        hardest_queries.hardest_queries,
        path,
        metric,
        finding,
        pool=WorkerPool.DRAW,
        channel="hardest",
    )

    def show(result: HardestQueries) -> None:
        if not result.rows:
            context.messages.info(tr("All held-out queries have only their own finding among the nearest."))
            return
        state.set_selected_rows(np.array(sorted(result.rows), dtype=np.int64))
        context.messages.info(
            tr(
                "Library shows the {n} hardest of {n_queries:,} held-out queries: accuracy @{k} from "
                "{low:.2f} to {high:.2f}.",
                n=len(result.rows),
                n_queries=result.n_queries,
                k=result.k,
                low=result.accuracies[0],
                high=result.accuracies[-1],
            )
        )

    return context.follow(job, show, library=path)


def evaluate_again(context: Context) -> Job | None:
    """Evaluate the current metric again on its held-out cases."""
    state = context.state
    if state.location is None or state.metric is None:
        return None
    path, name = state.location, state.metric.name
    job = context.jobs.run(
        tr("Scoring {name}", name=name), score_metric.score_metric, path, name, channel="score"
    )
    rank_again = partial(search_operations.rank_after_scoring, context, name)

    def show(scores: Mapping[str, Any]) -> None:
        n = int(scores["n_test"])
        # What the last edit made out of date is no longer so.
        context.messages.info(
            tr_n(
                "{name} was evaluated again on {n} held-out case.",
                "{name} was evaluated again on {n} held-out cases.",
                n,
                name=name,
            ),
            topic=EDIT_TOPIC,
        )
        library_operations.renew(context, rank_again)

    return context.follow(job, show, library=path)
