"""In the whole window: cases are labelled, the scores are stale, the metric is trained again, and all is undone."""

from __future__ import annotations

from pathlib import Path

from PySide6.QtCore import Qt, QTimer
from PySide6.QtWidgets import QApplication
from pytestqt.qtbot import QtBot

from semblance.app.library.label_dialogs import SetLabelDialog
from semblance.app.metrics.train_ticked_learner import train_ticked_learner
from semblance.app.screenshot import wait_until_idle
from semblance.core.workflows.evaluation.scored_metrics import is_stale
from semblance.core.workflows.searches.open_metrics import close_loaded_metrics
from tests.helpers.striped_library import striped_library
from tests.helpers.tables import PLAIN
from tests.helpers.windows import open_window, search_first_case, wait_for

CTRL, SHIFT = Qt.KeyboardModifier.ControlModifier, Qt.KeyboardModifier.ShiftModifier
NEW = "odd"


def test_labels_by_keyboard_make_scores_stale_until_trained_again_or_undone(
    qtbot: QtBot, tmp_path: Path
) -> None:
    library = striped_library(tmp_path)
    close_loaded_metrics()
    with open_window(library) as window:
        state = window.state
        window.activateWindow()
        search_first_case(window)

        def stale() -> bool:
            assert state.metric is not None and state.library is not None
            return is_stale(state.metric, state.library)

        def findings() -> list[str | None]:
            return [state.columns.finding_name(index) for index in range(len(state.columns))]

        before = findings()
        assert not stale()
        grid = window.panels.library.grid
        grid.setFocus()
        qtbot.keyClick(grid, Qt.Key.Key_Home)
        qtbot.keyClick(grid, Qt.Key.Key_Down, SHIFT)
        rows = grid.selected()
        assert len(rows) == 2

        def answer() -> None:
            dialog = QApplication.activeModalWidget()
            assert isinstance(dialog, SetLabelDialog)
            dialog.field.clear()
            qtbot.keyClicks(dialog.field, NEW)
            dialog.accept_button.click()

        QTimer.singleShot(200, answer)
        window.context.actions["set_finding"].trigger()
        wait_for(window, lambda: findings() != before)
        changed = findings()
        assert changed.count(NEW) == 2
        assert stale()
        assert state.ranking is not None
        shown = {case.case_id: case.finding for case in state.ranking.ranked}
        labelled = {state.columns.ids[state.columns.index_of_row(row)] for row in rows}
        assert all(shown[case] == NEW for case in labelled & shown.keys())

        train_ticked_learner(window.context, PLAIN)
        wait_for(window, lambda: not stale())

        # The dialog was the active window.
        window.activateWindow()
        grid.setFocus()
        wait_until_idle(window)
        qtbot.keyClick(grid, Qt.Key.Key_Z, CTRL)
        wait_for(window, lambda: findings() == before)
        # The scores were measured with the labels that are gone now.
        assert stale()
        qtbot.keyClick(grid, Qt.Key.Key_Z, CTRL | SHIFT)
        wait_for(window, lambda: findings() == changed)
        assert not stale()
        wait_until_idle(window)
