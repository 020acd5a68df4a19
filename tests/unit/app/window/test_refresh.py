"""Each panel refreshes once for one change of the state."""

from __future__ import annotations

import functools
from collections import Counter

import pytest

from semblance.app.evaluation.panel import EvaluationPanel
from semblance.app.library.panel import LibraryPanel
from semblance.app.metrics.train_panel import TrainPanel
from semblance.app.search.query.query_panel import QueryPanel
from semblance.app.search.similar.ranking_panel import RankingPanel
from semblance.app.widgets.cards.case_grid import CaseGrid
from semblance.app.window.status_line import StatusLine
from tests.helpers.windows import open_window, search_first_case

pytestmark = pytest.mark.usefixtures("without_processes")

REFRESHES = {
    RankingPanel: "_refresh",
    LibraryPanel: "_refresh_split",
    QueryPanel: "_refresh",
    TrainPanel: "_update_features",
    EvaluationPanel: "_refresh",
    StatusLine: "_renew",
}


def test_opening_a_library_refreshes_each_panel_once(library, monkeypatch):
    counts: Counter[str] = Counter()

    def count(owner: type, method: str) -> None:
        run = getattr(owner, method)

        # With its name: Qt ends connections to methods by their names.
        @functools.wraps(run)
        def counted(self, *args, **named):
            counts[owner.__name__] += 1
            return run(self, *args, **named)

        monkeypatch.setattr(owner, method, counted)

    for owner, method in REFRESHES.items():
        count(owner, method)
    count(CaseGrid, "set_model")
    with open_window(library) as window:
        search_first_case(window)
        # A panel behind another tab is made when it is first shown.
        window.parts.layout.show_side("train")
        counts.clear()
        window.state.set_library(window.state.library)
        assert {name: counts[name] for name in counts if name != "CaseGrid"} == {
            owner.__name__: 1 for owner in REFRESHES
        }
        # The grid of the library and that of the similar cases.
        assert counts["CaseGrid"] == 2
