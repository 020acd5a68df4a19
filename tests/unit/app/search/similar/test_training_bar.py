from __future__ import annotations

import pytest
from PySide6.QtCore import Qt

from semblance.app.search.similar.panel import RankingPanel
from semblance.app.search.similar.training_bar import TrainingBar
from semblance.app.widgets.thumbnail_loader import ThumbnailLoader
from semblance.core.library.library import Library
from semblance.core.workflows.metrics.train_request import TrainRequest
from tests.helpers.judgement_library import context_for_copy, search_case
from tests.helpers.tables import PLAIN, table_library
from tests.helpers.widgets import show_widget

LEFT = Qt.MouseButton.LeftButton


@pytest.fixture(scope="module")
def made(tmp_path_factory):
    return table_library(
        tmp_path_factory.mktemp("made"), n=120, metrics=(PLAIN, TrainRequest("lda", "trained"))
    )


@pytest.fixture
def context(jobs, made, tmp_path):
    context = context_for_copy(made, tmp_path / "lib.semblance", jobs)
    context.state.set_metric("trained")
    return context


@pytest.fixture
def panel(qtbot, context):
    return show_widget(qtbot, RankingPanel(context, ThumbnailLoader(lambda _rows, done: done([]))), 720, 480)


@pytest.fixture
def bar(panel) -> TrainingBar:
    return panel.findChild(TrainingBar)


@pytest.fixture
def trained(context) -> list[bool]:
    """Of each case whether the metric was trained on it."""
    with Library.open(context.state.path) as opened:
        training = set(opened.metric("trained").training.tolist())
    return [row in training for row in context.state.columns.case_row.tolist()]


def test_a_training_case_is_ranked_without_its_patient_on_request(qtbot, panel, bar, context, jobs, trained):
    search_case(context, jobs, trained.index(True))
    before = context.state.ranking
    assert bar.text == "Used for training: the order is partly remembered."
    assert "used for training" in panel._strip._note.text()
    qtbot.mouseClick(bar.change, LEFT)
    assert not bar.change.isEnabled()
    jobs.run_pending()
    assert context.state.ranking.without_patient
    assert context.state.ranking.vote.calibrated
    assert bar.text == "Ranked by trained, trained again without this patient"
    assert bar.change.text() == "Rank as trained"
    assert bar.change.isEnabled()
    assert not bar.grab().isNull()
    qtbot.mouseClick(bar.change, LEFT)
    jobs.run_pending()
    assert context.state.ranking.ranked == before.ranked
    assert bar.change.text() == "Rank without this patient"


def test_a_cancelled_training_leaves_the_ranking_as_it_is(qtbot, panel, bar, context, jobs, trained):
    search_case(context, jobs, trained.index(True))
    before = context.state.ranking
    qtbot.mouseClick(bar.change, LEFT)
    context.jobs.active[-1].cancel()
    jobs.run_pending()
    assert context.state.ranking is before
    assert bar.change.text() == "Rank without this patient"
    assert bar.change.isEnabled()


@pytest.mark.parametrize("change", ["query", "metric"])
def test_the_next_search_is_by_the_metric_itself(qtbot, panel, bar, context, jobs, trained, change):
    search_case(context, jobs, trained.index(True))
    qtbot.mouseClick(bar.change, LEFT)
    if change == "query":
        # Chosen while the metric is trained for the query before.
        search_case(context, jobs, trained.index(False))
    else:
        jobs.run_pending()
        context.state.set_metric("plain")
    assert not context.state.search.without_patient
    jobs.run_pending()
    if change == "query":
        assert bar.text == ""
        assert not context.state.ranking.without_patient
