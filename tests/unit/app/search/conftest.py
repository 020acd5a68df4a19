"""The panel of similar cases with a search whose cases can be judged."""

from __future__ import annotations

from pathlib import Path

import pytest

from semblance.app.search.similar.ranking_panel import RankingPanel
from semblance.app.shell.context import Context
from semblance.app.widgets.thumbnail_loader import ThumbnailLoader
from tests.helpers.judgement_library import context_for_copy, library_for_judgements, search_case
from tests.helpers.manual_jobs import ManualJobs
from tests.helpers.widgets import show_widget


@pytest.fixture(scope="session")
def library_to_judge(tmp_path_factory) -> Path:
    return library_for_judgements(tmp_path_factory.mktemp("can judge"))


@pytest.fixture
def judging_context(jobs: ManualJobs, library_to_judge: Path, tmp_path: Path) -> Context:
    return context_for_copy(library_to_judge, tmp_path / "lib.semblance", jobs)


@pytest.fixture
def ranking_panel(qtbot, judging_context: Context, jobs: ManualJobs) -> RankingPanel:
    """The first case as the query, with its ranking."""
    panel = show_widget(
        qtbot, RankingPanel(judging_context, ThumbnailLoader(lambda _rows, done: done([]))), 720, 480
    )
    search_case(judging_context, jobs)
    return panel
