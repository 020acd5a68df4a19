"""A first day with the program: start, demo, ask, train in the background, compare, quit, come back."""

from __future__ import annotations

from pathlib import Path

import pytest
from PySide6.QtCore import Qt
from pytestqt.qtbot import QtBot

from semblance.app.screenshot import wait_until_idle
from semblance.app.shell.state import Change
from semblance.app.window.main_window import MainWindow
from semblance.core.workflows import demo
from semblance.core.workflows.demo import demo_query
from semblance.core.workflows.library.library_snapshot import MetricFacts
from tests.helpers.demo_library import copy_demo_library
from tests.helpers.windows import open_window, wait_for

PATIENCE_MS = 120_000


@pytest.fixture(scope="module")
def demo_library(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return copy_demo_library(tmp_path_factory, tmp_path_factory.mktemp("demo"))


def choose(window: MainWindow, case_id: str, qtbot: QtBot) -> None:
    """Find a case by typing and ask with it by keyboard."""
    window.activateWindow()
    window.context.actions["find_case"].trigger()
    window.panels.library.search.clear()
    qtbot.keyClicks(window.panels.library.search, Path(case_id).stem)
    qtbot.waitUntil(lambda: len(window.panels.library.grid.model()) == 1)
    qtbot.keyClick(window.panels.library.search, Qt.Key.Key_Down)
    qtbot.keyClick(window.panels.library.grid, Qt.Key.Key_Home)
    with qtbot.waitSignal(
        window.state.changed,
        timeout=PATIENCE_MS,
        check_params_cb=lambda change: bool(change & Change.RANKING),
    ):
        qtbot.keyClick(window.panels.library.grid, Qt.Key.Key_Return)
    wait_until_idle(window)


def accuracy(metric: MetricFacts) -> float:
    return 0.0 if metric.scores is None else float(metric.scores["retrieval_accuracy"]["mean"][9])


def test_first_start_offers_the_demo_and_opens_it(
    qtbot: QtBot, demo_library: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(demo, "usual_folder", lambda: demo_library)
    with open_window() as window:
        assert window.start_page.isVisible()
        assert not window.parts.layout.docks["library"].isVisible()
        button = window.start_page.demo_button
        qtbot.mouseClick(button, Qt.MouseButton.LeftButton)
        wait_for(window, lambda: window.state.library is not None)
        assert window.panels.ranking.isVisible()
        assert len(window.state.columns) == 532
        assert {"benign", "malignant"} < set(window.state.columns.findings)
        assert [message.topic for message in window.context.messages.history] in ([], ["tour"])


def test_train_compare_quit_and_start_again(qtbot: QtBot, demo_library: Path) -> None:
    query = demo_query(demo_library)
    with open_window(demo_library) as window:
        choose(window, query, qtbot)
        ranking = window.state.ranking
        assert ranking is not None
        assert window.state.query is not None
        assert window.state.query.case == query
        assert query not in [case.case_id for case in ranking.ranked]
        patients = {case.patient for case in ranking.ranked}
        assert window.state.columns.patient_name(window.state.columns.index_of_id(query)) not in patients
        assert ranking.ranked[0].finding == "malignant"

        before = len(window.state.library.metrics) if window.state.library else 0
        current = window.state.metric
        assert current is not None
        window.parts.layout.show_side("train")
        window.panels.side.train.set_learners(["bdm"])
        qtbot.mouseClick(window.panels.side.train.train_button, Qt.MouseButton.LeftButton)
        assert window.state.training is not None
        assert window.state.training.running
        # The window stays the user's: another question is answered while it trains.
        choose(window, ranking.ranked[1].case_id, qtbot)
        wait_for(window, lambda: not window.jobs.active)
        assert window.state.library is not None
        assert len(window.state.library.metrics) == before + 1
        trained = next(metric for metric in window.state.library.metrics if metric.learner == "bdm")
        # The better of both is used.
        assert window.state.metric is not None
        assert accuracy(window.state.metric) == max(accuracy(current), accuracy(trained))
        assert window.state.training.points
        objective = [point.objective for point in window.state.training.points]
        assert objective == sorted(objective, reverse=True)
        assert trained.scores is not None
        assert trained.scores["measured_on"] == "held-out patients"
        errors = [message for message in window.context.messages.history if message.level == "error"]
        assert errors == []
        left = (
            window.state.query,
            window.state.metric.name,
            [c.case_id for c in window.state.ranking.ranked[:20]],
        )
        window.parts.layout.docks["side"].toggleViewAction().trigger()
        wait_until_idle(window)

    with open_window() as window:
        wait_for(window, lambda: window.state.ranking is not None)
        assert window.state.location == demo_library
        assert window.state.query is not None
        assert window.state.metric is not None
        found = (
            window.state.query,
            window.state.metric.name,
            [c.case_id for c in window.state.ranking.ranked[:20]],
        )
        assert found == left
        assert not window.parts.layout.docks["side"].isVisible()
        assert window.parts.layout.docks["evaluation"].isVisible()
