"""A small library for judgements, and a context without processes."""

from __future__ import annotations

import shutil
from pathlib import Path

from semblance.app.shell import search_operations
from semblance.app.shell.context import Context
from semblance.core.searches.query import Query
from semblance.core.workflows.library.library_snapshot import read_snapshot
from semblance.core.workflows.metrics.train_request import TrainRequest
from tests.helpers.contexts import make_context
from tests.helpers.manual_jobs import ManualJobs
from tests.helpers.tables import PLAIN, table_library


def library_for_judgements(folder: Path, n: int = 60) -> Path:
    """Cases of a table with two metrics: "city", which clicks cannot refine, and "plain"."""
    return table_library(folder, n=n, metrics=(TrainRequest("l1", "city"), PLAIN))


def context_for_copy(library: Path, copy: Path, jobs: ManualJobs) -> Context:
    """A context with a copy of ``library`` open."""
    shutil.copytree(library, copy)
    context = make_context(jobs)
    context.state.set_library(read_snapshot(copy))
    return context


def search_case(context: Context, jobs: ManualJobs, index: int = 0) -> None:
    """Search with the case at ``index`` and run the job."""
    search_operations.submit_query(context, Query(case=context.state.columns.ids[index]))
    jobs.run_pending()
