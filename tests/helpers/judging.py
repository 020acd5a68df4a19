"""A small library to judge in, without any process."""

from __future__ import annotations

import shutil
from pathlib import Path

from semblance.app.shell import search_operations
from semblance.app.shell.context import Context
from semblance.core.searches.query import Query
from semblance.core.workflows.library.library_snapshot import read_snapshot
from semblance.core.workflows.metrics.train_request import TrainRequest
from tests.helpers.contexts import make_context
from tests.helpers.held_jobs import HeldJobs
from tests.helpers.tables import PLAIN, table_library


def library_to_judge(folder: Path, n: int = 60) -> Path:
    """Cases of a table with two metrics: "city", which clicks cannot refine, and "plain"."""
    return table_library(folder, n=n, metrics=(TrainRequest("l1", "city"), PLAIN))


def context_on(library: Path, copy: Path, jobs: HeldJobs) -> Context:
    """A window's parts on a copy of ``library``."""
    shutil.copytree(library, copy)
    context = make_context(jobs)
    context.state.set_library(read_snapshot(copy))
    return context


def ask_case(context: Context, jobs: HeldJobs, place: int = 0) -> None:
    """Ask with the case at ``place``, and wait for the ranking."""
    search_operations.submit_query(context, Query(case=context.state.columns.ids[place]))
    jobs.let_run()
