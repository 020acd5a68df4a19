"""The slider in the top bar, by mouse and by keyboard."""

from __future__ import annotations

import shutil
from pathlib import Path

import pytest
from PySide6.QtCore import QPoint, Qt
from PySide6.QtWidgets import QDialog

from semblance.app.metrics import emphasis_slider
from semblance.app.metrics.emphasis_slider import PrepareSliderDialog, sliders, unavailable_reason
from semblance.app.shell import search_operations
from semblance.core.searches.query import Query
from semblance.core.workflows.metrics.slider import prepare_slider
from semblance.core.workflows.metrics.slider_steps import step_name
from semblance.core.workflows.metrics.train_metric import train_metric
from semblance.core.workflows.metrics.train_request import TrainRequest
from tests.helpers.tables import table_library
from tests.helpers.windows import open_window, wait_for

LEFT = Qt.MouseButton.LeftButton
pytestmark = pytest.mark.usefixtures("without_processes")


@pytest.fixture(scope="module")
def prepared_library(tmp_path_factory) -> Path:
    library = table_library(tmp_path_factory.mktemp("slider"), n=60)
    prepare_slider(library, TrainRequest("", "between", settings={"rounds": 5}))
    train_metric(library, TrainRequest("euclidean", "plain"))
    return library


@pytest.fixture
def window(prepared_library, tmp_path):
    library = Path(shutil.copytree(prepared_library, tmp_path / "lib.semblance"))
    with open_window(library) as main_window:
        search_operations.submit_query(main_window.context, Query(case="t/c0"))
        wait_for(main_window, lambda: main_window.state.ranking is not None)
        yield main_window


def ranked_by(window, place: int) -> bool:
    name = step_name("between", place)
    return window.state.metric.name == name and window.state.ranking.metric == name


def test_a_click_beside_the_handle_moves_to_the_nearest_step(qtbot, window):
    emphasis_slider.select_metric(window.context, "between")
    bar = window.top.emphasis_slider.bar
    wait_for(window, lambda: bar.isEnabled() and window.state.ranking is not None)
    for share, place in ((0.02, 0), (0.98, 100), (0.52, 50)):
        qtbot.mouseClick(bar, LEFT, pos=QPoint(round(share * bar.width()), bar.height() // 2))
        wait_for(window, lambda place=place: ranked_by(window, place))
        assert bar.value() == place


def test_the_tool_tip_says_why_it_is_disabled(window):
    slider = window.top.emphasis_slider
    assert window.state.metric.name == "plain"
    assert not slider.bar.isEnabled()
    assert "Select the metric between" in slider.toolTip()
    assert slider.bar.accessibleDescription() == unavailable_reason(window.state)


def test_the_metric_menu_lists_a_slider_once(window):
    choice = window.top.metric_choice
    assert [action.text() for action in choice._options()] == ["between", "plain"]
    next(action for action in choice._options() if action.text() == "between").trigger()
    wait_for(window, lambda: ranked_by(window, 70))
    assert choice.accessibleName() == "Metric: between"
    assert window.top.emphasis_slider.bar.value() == 70
    assert "70 %   accuracy @10" in window.top.emphasis_slider.toolTip()
    assert "held-out patients" in window.top.emphasis_slider.toolTip()


def test_keys_move_from_step_to_step(qtbot, window):
    emphasis_slider.select_metric(window.context, "between")
    wait_for(window, lambda: ranked_by(window, 70))
    bar = window.top.emphasis_slider.bar
    for key, place in (
        (Qt.Key.Key_Left, 50),
        (Qt.Key.Key_Left, 30),
        (Qt.Key.Key_Right, 50),
        (Qt.Key.Key_Home, 0),
        (Qt.Key.Key_Left, 0),
        (Qt.Key.Key_End, 100),
    ):
        qtbot.keyClick(bar, key)
        wait_for(window, lambda place=place: ranked_by(window, place))
        assert bar.value() == place


def test_dragging_ranks_and_releasing_snaps_to_a_step(qtbot, window):
    emphasis_slider.select_metric(window.context, "between")
    wait_for(window, lambda: ranked_by(window, 70))
    bar = window.top.emphasis_slider.bar

    def position(value: float) -> QPoint:
        return QPoint(round(6 + (bar.width() - 12) * value / 100), bar.height() // 2)

    qtbot.mousePress(bar, LEFT, pos=position(70))
    qtbot.mouseMove(bar, position(45))
    wait_for(window, lambda: ranked_by(window, 50))
    qtbot.mouseMove(bar, position(22))
    wait_for(window, lambda: ranked_by(window, 30))
    assert bar.value() != 30
    qtbot.mouseRelease(bar, LEFT, pos=position(22))
    assert bar.value() == 30
    assert ranked_by(window, 30)


def test_the_steps_are_prepared_from_the_menu(window, monkeypatch):
    requests = []

    def answer(dialog: PrepareSliderDialog) -> int:
        requests.append(dialog.request())
        return QDialog.DialogCode.Accepted

    monkeypatch.setattr(PrepareSliderDialog, "exec", answer)
    monkeypatch.setattr(
        PrepareSliderDialog,
        "request",
        lambda dialog: TrainRequest("bdm_v", "second", settings={"rounds": 2}),
    )
    window.context.actions["prepare_slider"].trigger()
    wait_for(window, lambda: window.state.metric.name == "second 70 %")
    assert requests
    assert set(sliders(window.state)) == {"between", "second"}


def test_the_dialog_reports_a_replaced_slider_and_a_missing_name(window):
    dialog = PrepareSliderDialog(window.state.library, "raw", window)
    assert dialog.request() == TrainRequest("bdm_v", "BDM+V slider", "raw")
    assert dialog.prepare_button.isEnabled()
    dialog.name_field.setText("between")
    assert "This replaces the slider" in dialog.problem.text()
    dialog.name_field.setText("  ")
    assert not dialog.prepare_button.isEnabled()
    dialog.deleteLater()


def test_the_train_panel_offers_the_slider(qtbot, window):
    window.parts.layout.show_side("train")
    assert window.panels.side.train.slider_button.isVisible()
    window.panels.side.train.set_learners(["euclidean"])
    assert not window.panels.side.train.slider_button.isVisible()
