"""The main flows by keys alone: every key goes to whatever has the keyboard, as a person's does."""

from __future__ import annotations

from pathlib import Path

import pytest
from PySide6.QtCore import Qt
from PySide6.QtGui import QAccessible
from PySide6.QtWidgets import QApplication, QWidget
from pytestqt.qtbot import QtBot

from semblance.app.screenshot import wait_until_idle
from semblance.app.window.main_window import MainWindow
from semblance.app.window.workspaces import WORKSPACES
from semblance.core.workflows.features.extract_features import extract_features
from semblance.core.workflows.library.import_source import import_source
from semblance.core.workflows.metrics.train_metric import train_metric
from semblance.core.workflows.metrics.train_request import TrainRequest
from tests.helpers.images import striped_folder
from tests.helpers.windows import open_window, wait_for

CTRL = Qt.KeyboardModifier.ControlModifier
ALT, SHIFT = Qt.KeyboardModifier.AltModifier, Qt.KeyboardModifier.ShiftModifier
#: More stops than any way through the window has.
_ENOUGH = 120


@pytest.fixture(scope="module")
def library(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("keys")
    made = folder / "Striped.semblance"
    import_source(striped_folder(folder / "images", n=24), made)
    extract_features(made, "colour_edge_texture")
    train_metric(made, TrainRequest("euclidean", "plain"))
    return made


class Keyboard:
    """Presses keys where the keyboard is."""

    def __init__(self, window: MainWindow, qtbot: QtBot) -> None:
        self.window, self._qtbot = window, qtbot
        window.activateWindow()
        qtbot.waitUntil(window.isActiveWindow)

    @property
    def at(self) -> QWidget:
        found = QApplication.focusWidget()
        assert found is not None, "nothing has the keyboard"
        assert found.isVisible()
        return found

    def press(self, *keys: Qt.Key, held: Qt.KeyboardModifier = Qt.KeyboardModifier.NoModifier) -> None:
        for key in keys:
            self._qtbot.keyClick(self.at, key, held)
        wait_until_idle(self.window)

    def write(self, text: str) -> None:
        self._qtbot.keyClicks(self.at, text)

    def tab_to(self, name: str) -> None:
        """Tab until something called ``name`` has the keyboard."""
        for _ in range(_ENOUGH):
            if self.at.accessibleName() == name or getattr(self.at, "text", str)() == name:
                return
            self._qtbot.keyClick(self.at, Qt.Key.Key_Tab)
        raise AssertionError(f"Tab does not lead to {name!r}")

    def ask(self, case_id: str) -> None:
        window = self.window
        self.press(Qt.Key.Key_F, held=CTRL)
        self.write(case_id)
        self.press(Qt.Key.Key_Return)
        assert self.at is window.panels.library.grid
        self.press(Qt.Key.Key_Return)
        wait_for(window, lambda: window.state.ranking is not None and window.panels.query.shows_query)


def test_ask_judge_undo_draw_and_compare_without_a_mouse(qtbot: QtBot, library: Path) -> None:
    with open_window(library) as window:
        keys, state = Keyboard(window, qtbot), window.state
        case = state.columns.ids[5]
        keys.ask(case)
        assert state.query is not None
        assert state.query.case == case

        keys.press(Qt.Key.Key_3, held=ALT)
        first = state.ranking
        keys.press(Qt.Key.Key_U)
        wait_for(window, lambda: state.judgement_count == 1)
        keys.press(Qt.Key.Key_Down)
        keys.press(Qt.Key.Key_Right, held=SHIFT)
        keys.press(Qt.Key.Key_D)
        wait_for(window, lambda: state.judgement_count == 3)
        keys.press(Qt.Key.Key_Home, Qt.Key.Key_T, Qt.Key.Key_End, Qt.Key.Key_T)
        wait_for(window, lambda: state.judgement_count == 4)
        assert state.ranking is not first

        # The oldest of the ledger is taken back first, and put in force again.
        keys.press(Qt.Key.Key_J, held=CTRL)
        keys.press(Qt.Key.Key_End)
        keys.press(Qt.Key.Key_Delete)
        wait_for(window, lambda: state.judgement_count == 3)
        keys.press(Qt.Key.Key_Delete)
        wait_for(window, lambda: state.judgement_count == 4)
        keys.press(Qt.Key.Key_Z, held=CTRL)
        wait_for(window, lambda: state.judgement_count < 4)

        keys.press(Qt.Key.Key_2, held=ALT)
        keys.press(Qt.Key.Key_Plus, Qt.Key.Key_R, Qt.Key.Key_Return)
        wait_for(window, lambda: state.query is not None and state.query.region is not None)
        drawn = state.query.region
        keys.press(Qt.Key.Key_Right, held=SHIFT)
        wait_for(window, lambda: state.query is not None and state.query.region != drawn)
        keys.press(Qt.Key.Key_Escape)
        wait_for(window, lambda: state.query is not None and state.query.region is None)

        keys.press(Qt.Key.Key_3, held=ALT)
        keys.press(Qt.Key.Key_Return)
        wait_for(window, lambda: window.parts.full.comparing)
        assert keys.at is not window.panels.ranking.grid
        keys.press(Qt.Key.Key_Escape)
        assert not window.parts.full.comparing
        assert keys.at is window.panels.ranking.grid


def test_a_group_is_unticked_in_why_without_a_mouse(qtbot: QtBot, library: Path) -> None:
    with open_window(library) as window:
        keys, state = Keyboard(window, qtbot), window.state
        keys.ask(window.state.columns.ids[5])
        keys.press(Qt.Key.Key_3, held=ALT)
        keys.press(Qt.Key.Key_Y, held=CTRL)
        wait_for(window, lambda: bool(window.panels.side.why.waterfall.rows))
        keys.press(Qt.Key.Key_4, held=ALT)
        keys.tab_to(window.panels.side.why.waterfall.rows[0].box.accessibleName())
        before = state.ranking
        box = keys.at
        keys.press(Qt.Key.Key_Space)
        wait_for(window, lambda: state.ranking is not before)
        assert keys.at is box
        assert state.search is not None
        assert len(state.search.without) == 1


@pytest.mark.parametrize("workspace", list(WORKSPACES))
def test_tab_goes_once_round_the_window_and_back(qtbot: QtBot, library: Path, workspace: str) -> None:
    with open_window(library, workspace=workspace) as window:
        keys = Keyboard(window, qtbot)
        keys.ask(window.state.columns.ids[5])
        gone = [keys.at]
        for _ in range(_ENOUGH):
            qtbot.keyClick(keys.at, Qt.Key.Key_Tab)
            if keys.at is gone[0]:
                break
            assert keys.at not in gone, "Tab is caught"
            gone.append(keys.at)
        assert keys.at is gone[0]
        panels = [
            window.top,
            window.panels.library,
            window.panels.query,
            window.panels.ranking,
            window.panels.side,
            *([window.panels.evaluation] if "evaluation" in WORKSPACES[workspace].docks else []),
        ]
        assert all(any(panel.isAncestorOf(one) for one in gone) for panel in panels)
        qtbot.keyClick(keys.at, Qt.Key.Key_Backtab)
        assert keys.at is gone[-1]
        assert [one for one in gone if not spoken(one)] == []


def spoken(widget: QWidget) -> str:
    """What a screen reader calls it."""
    accessible = QAccessible.queryAccessibleInterface(widget)
    assert accessible is not None
    return accessible.text(QAccessible.Text.Name)
