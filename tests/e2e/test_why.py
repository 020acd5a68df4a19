"""In the whole window: Why follows the card that is current, and unticking a group ranks again."""

from __future__ import annotations

from pathlib import Path

from PySide6.QtCore import Qt
from pytestqt.qtbot import QtBot

from semblance.app.screenshot import wait_until_idle
from semblance.app.shell import search_operations
from semblance.app.widgets.cards.case_model import distance_text
from semblance.core.searches.query import Query
from semblance.core.workflows.features.extract_features import extract_features
from semblance.core.workflows.library.import_source import import_source
from semblance.core.workflows.metrics.train_metric import train_metric
from semblance.core.workflows.metrics.train_request import TrainRequest
from semblance.core.workflows.searches.open_metrics import close_loaded_metrics
from tests.helpers.images import striped_folder
from tests.helpers.windows import open_window


def test_why_follows_the_ranking_and_ranks_without_what_is_unticked(qtbot: QtBot, tmp_path: Path) -> None:
    library = tmp_path / "lib.semblance"
    import_source(striped_folder(tmp_path / "images", n=24), library)
    extract_features(library, "gabor")
    train_metric(library, TrainRequest("bdm", "bits", settings={"rounds": 12}))
    close_loaded_metrics()
    with open_window(library) as window:
        search_operations.submit_query(window.context, Query(window.state.columns.ids[0]))
        wait_until_idle(window)
        window.activateWindow()
        window.context.actions["why"].trigger()
        wait_until_idle(window)
        why, grid = window.panels.side.why, window.panels.ranking.grid
        ranking = window.state.ranking
        assert why.isVisible()
        assert ranking is not None
        assert why.waterfall.total.amount_text == distance_text(ranking.ranked[0].distance)

        grid.setFocus()
        qtbot.keyClick(grid, Qt.Key.Key_Home)
        qtbot.keyClick(grid, Qt.Key.Key_Right)
        wait_until_idle(window)
        assert why.shown is not None
        assert why.shown.case == ranking.ranked[1].case_id
        assert why.waterfall.total.amount_text == distance_text(ranking.ranked[1].distance)

        group = why.waterfall.contributions[0].key
        qtbot.mouseClick(why.waterfall.rows[0].box, Qt.MouseButton.LeftButton)
        wait_until_idle(window)
        assert window.state.search is not None
        assert window.state.search.without == (group,)
        assert window.state.ranking is not None
        shown = next(case for case in window.state.ranking.ranked if case.case_id == why.shown.case)
        assert why.waterfall.total.amount_text == distance_text(shown.distance)
        why.header.action_requested.emit()
        wait_until_idle(window)
        assert window.state.ranking.ranked == ranking.ranked
        assert window.context.messages.history == []
