"""The slider in the top bar, by mouse and by keyboard."""

from __future__ import annotations

import shutil
from pathlib import Path

import pytest
from PySide6.QtCore import QPoint, Qt
from PySide6.QtWidgets import QDialog

from semblance.app.metrics import slider_operations
from semblance.app.metrics.prepare_slider_dialog import PrepareSliderDialog
from semblance.app.metrics.slider_state import current, sliders, why_not
from semblance.app.shell import search_operations
from semblance.core.searches.query import Query
from semblance.core.workflows.metrics.slider import prepare_slider
from semblance.core.workflows.metrics.slider_steps import PLACES, step_name
from semblance.core.workflows.metrics.train_metric import train_metric
from semblance.core.workflows.metrics.train_request import TrainRequest
from tests.helpers.tables import table_library
from tests.helpers.windows import open_window, wait_for

LEFT = Qt.MouseButton.LeftButton
pytestmark = pytest.mark.usefixtures("without_processes")


@pytest.fixture(scope="module")
def prepared(tmp_path_factory) -> Path:
    library = table_library(tmp_path_factory.mktemp("slider"), n=60)
    prepare_slider(library, TrainRequest("", "between", settings={"rounds": 5}))
    train_metric(library, TrainRequest("euclidean", "plain"))
    return library


@pytest.fixture
def window(prepared, tmp_path):
    library = Path(shutil.copytree(prepared, tmp_path / "lib.semblance"))
    with open_window(library) as opened:
        search_operations.submit_query(opened.context, Query(case="t/c0"))
        wait_for(opened, lambda: opened.state.ranking is not None)
        yield opened


def ranked_by(window, place: int) -> bool:
    name = step_name("between", place)
    return window.state.metric.name == name and window.state.ranking.metric == name


def test_a_click_beside_the_handle_goes_to_the_nearest_step(qtbot, window):
    slider_operations.choose(window.context, "between")
    bar = window.top.likeness.bar
    wait_for(window, lambda: bar.isEnabled() and window.state.ranking is not None)
    for share, place in ((0.02, 0), (0.98, 100), (0.52, 50)):
        qtbot.mouseClick(bar, LEFT, pos=QPoint(round(share * bar.width()), bar.height() // 2))
        wait_for(window, lambda place=place: ranked_by(window, place))
        assert bar.value() == place


def test_it_says_why_it_cannot_be_moved(window):
    slider = window.top.likeness
    assert window.state.metric.name == "plain"
    assert not slider.bar.isEnabled()
    assert "Select the metric between" in slider.toolTip()
    assert slider.bar.accessibleDescription() == why_not(window.state)


def test_a_slider_is_one_metric_to_choose(window):
    picker = window.top._pickers[2]
    assert [action.text() for action in picker._choices()] == ["between", "plain"]
    next(action for action in picker._choices() if action.text() == "between").trigger()
    wait_for(window, lambda: ranked_by(window, 70))
    assert picker.accessibleName() == "Metric: between"
    assert window.top.likeness.bar.value() == 70
    assert "70 %   accuracy @10" in window.top.likeness.toolTip()
    assert "held-out patients" in window.top.likeness.toolTip()


def test_keys_lead_from_step_to_step(qtbot, window):
    slider_operations.choose(window.context, "between")
    wait_for(window, lambda: ranked_by(window, 70))
    bar = window.top.likeness.bar
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


def test_dragged_it_ranks_on_the_way_and_snaps_when_let_go(qtbot, window):
    slider_operations.choose(window.context, "between")
    wait_for(window, lambda: ranked_by(window, 70))
    bar = window.top.likeness.bar

    def at(value: float) -> QPoint:
        return QPoint(round(6 + (bar.width() - 12) * value / 100), bar.height() // 2)

    qtbot.mousePress(bar, LEFT, pos=at(70))
    qtbot.mouseMove(bar, at(45))
    wait_for(window, lambda: ranked_by(window, 50))
    qtbot.mouseMove(bar, at(22))
    wait_for(window, lambda: ranked_by(window, 30))
    assert bar.value() != 30
    qtbot.mouseRelease(bar, LEFT, pos=at(22))
    assert bar.value() == 30
    assert ranked_by(window, 30)


def test_a_step_that_is_gone_is_passed_over(window):
    slider_operations.choose(window.context, "between")
    wait_for(window, lambda: ranked_by(window, 70))
    found, step = current(window.state)
    assert [one.place for one in found.steps] == list(PLACES)
    assert step.place == 70


def test_the_steps_are_prepared_from_the_menu(window, monkeypatch):
    asked = []

    def answer(dialog: PrepareSliderDialog) -> int:
        asked.append(dialog.request())
        return QDialog.DialogCode.Accepted

    monkeypatch.setattr(PrepareSliderDialog, "exec", answer)
    monkeypatch.setattr(
        PrepareSliderDialog,
        "request",
        lambda dialog: TrainRequest("bdm_v", "second", settings={"rounds": 2}),
    )
    window.context.actions["prepare_slider"].trigger()
    wait_for(window, lambda: window.state.metric.name == "second 70 %")
    assert asked
    assert set(sliders(window.state)) == {"between", "second"}


def test_the_dialog_says_what_it_will_do(window):
    dialog = PrepareSliderDialog(window.state.library, "raw", window)
    assert dialog.request() == TrainRequest("bdm_v", "BDM+V slider", "raw")
    assert dialog.go.isEnabled()
    dialog._name.setText("between")
    assert "This replaces the slider" in dialog._problem.text()
    dialog._name.setText("  ")
    assert not dialog.go.isEnabled()
    dialog.deleteLater()


def test_train_offers_it(qtbot, window):
    window.parts.layout.show_side("train")
    assert window.panels.side.train.slider_button.isVisible()
    window.panels.side.train.set_learners(["euclidean"])
    assert not window.panels.side.train.slider_button.isVisible()
