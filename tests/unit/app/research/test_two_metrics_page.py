from __future__ import annotations

from dataclasses import replace
from itertools import count
from unittest.mock import Mock

import numpy as np
import pytest
from PIL import Image
from PySide6.QtCore import QPoint, QPointF, Qt
from PySide6.QtGui import QMouseEvent
from PySide6.QtWidgets import QApplication

from semblance.app.research.two_metrics_page import ALL_QUERIES, REFINED, TwoMetricsPage
from semblance.app.widgets.cards import card_painter
from semblance.app.widgets.thumbnail_loader import ThumbnailLoader
from semblance.core.searches.query import Query
from semblance.core.workflows.imaging.card_images import CardImage
from semblance.core.workflows.library.library_snapshot import read_snapshot
from semblance.core.workflows.metrics.train_request import TrainRequest
from semblance.core.workflows.searches.rank_cases import nearest_cases, rank_cases
from tests.helpers.striped_library import striped_library
from tests.helpers.tables import PLAIN

LEFT, RIGHT = 0, 1


@pytest.fixture(scope="module")
def trained(tmp_path_factory):
    return striped_library(
        tmp_path_factory.mktemp("two metrics"),
        n=40,
        metrics=(PLAIN, TrainRequest("pca", "other", settings={"components": 2})),
    )


@pytest.fixture
def panel(qtbot, jobs, context, trained):
    context.state.set_library(read_snapshot(trained))
    context.state.set_query(Query(case=context.state.columns.ids[0]))
    panel = TwoMetricsPage(context, ThumbnailLoader(lambda _rows, done: done([])))
    qtbot.addWidget(panel)
    panel.state, panel.trained = context.state, trained
    panel.resize(1440, 860)
    panel.show()
    panel.set_metrics("plain", "other")
    jobs.run_pending()
    return panel


def _order(panel, metric):
    return [case.case_id for case in nearest_cases(panel.trained, metric, panel.state.query, k=100).ranked]


def _joined_cases(columns):
    """The cases at the left that have a line to the right."""
    return [
        case for case in columns.shown[LEFT] if columns.current_geometry.is_joined(case, columns._min_move)
    ]


def _ids(panel, side):
    return [case.case_id for case in panel.columns.shown[side]]


def _move_mouse(widget, point):
    position = QPointF(point)
    event = QMouseEvent(
        QMouseEvent.Type.MouseMove,
        position,
        QPointF(widget.mapToGlobal(point)),
        Qt.MouseButton.NoButton,
        Qt.MouseButton.NoButton,
        Qt.KeyboardModifier.NoModifier,
    )
    QApplication.sendEvent(widget, event)


def test_each_column_is_the_ranking_of_its_metric(panel):
    assert panel.metrics == ("plain", "other")
    assert _ids(panel, LEFT) == _order(panel, "plain")[:15]
    assert _ids(panel, RIGHT) == _order(panel, "other")[:15]
    left, right = _order(panel, "plain"), _order(panel, "other")
    for case in panel.columns.shown[RIGHT]:
        assert case.rise == left.index(case.case_id) - right.index(case.case_id)
    joined = set(left[:15]) & set(right[:15])
    assert {case.case_id for case in _joined_cases(panel.columns)} == joined


def test_only_large_moves_are_drawn(panel, qtbot):
    disagreements = _joined_cases(panel.columns)
    qtbot.keyClick(panel, Qt.Key.Key_3)
    assert panel.large_moves_only.isChecked()
    assert _joined_cases(panel.columns) == [case for case in disagreements if abs(case.rise) >= 3]
    assert len(_joined_cases(panel.columns)) < len(disagreements)


def test_the_facts_count_the_shown_cases(panel):
    texts = {case[0]: case[1:] for case in panel.facts.texts() if case[0]}
    own_finding = panel.state.columns.finding_name(0)
    counts = [
        str(sum(case.finding == own_finding for case in panel.columns.shown[side][:10]))
        for side in (LEFT, RIGHT)
    ]
    assert texts[f"10 nearest, {own_finding}"] == counts
    shared = len(set(_ids(panel, LEFT)) & set(_ids(panel, RIGHT)))
    assert texts["shared in first 15"] == [f"{shared} of 15"]
    assert "accuracy @10" in texts
    assert panel.facts.badge.isVisible()


def test_the_keyboard_moves_through_both_columns(panel, qtbot):
    columns = panel.columns
    columns.setFocus()
    assert columns.current() == columns.shown[LEFT][0].row
    qtbot.keyClick(columns, Qt.Key.Key_Down)
    qtbot.keyClick(columns, Qt.Key.Key_Down)
    assert (columns.current(), columns._side) == (columns.shown[LEFT][2].row, LEFT)
    joined = _joined_cases(columns)[0]
    columns.set_current(joined.row, LEFT)
    qtbot.keyClick(columns, Qt.Key.Key_Tab)
    assert (columns.current(), columns._side) == (joined.row, RIGHT)
    qtbot.keyClick(columns, Qt.Key.Key_End)
    assert columns.current() == columns.shown[RIGHT][14].row
    qtbot.keyClick(columns, Qt.Key.Key_Home)
    with qtbot.waitSignal(panel.compare_requested) as note:
        qtbot.keyClick(columns, Qt.Key.Key_Return)
    assert note.args == [columns.shown[RIGHT][0].row]
    with qtbot.waitSignal(panel.closed):
        qtbot.keyClick(columns, Qt.Key.Key_Escape)


def test_the_mouse_hits_rows_and_lines(panel, qtbot):
    columns = panel.columns
    geometry = columns.current_geometry
    _move_mouse(columns.viewport(), geometry.row_rect(RIGHT, 4).center())
    assert columns.hovered() == columns.shown[RIGHT][4].row
    case = _joined_cases(columns)[0]
    start, end = geometry.end_points(case.rank - 1, case.other - 1)
    middle = QPoint(round((start.x() + end.x()) / 2), round((start.y() + end.y()) / 2))
    _move_mouse(columns.viewport(), middle)
    assert columns.hovered() in {one.row for one in _joined_cases(columns)}
    _move_mouse(columns.viewport(), QPoint(round((start.x() + end.x()) / 2), columns.viewport().height() - 1))
    qtbot.mouseClick(columns.viewport(), Qt.MouseButton.LeftButton, pos=geometry.row_rect(LEFT, 3).center())
    assert columns.current() == columns.shown[LEFT][3].row
    assert columns.shown[LEFT][3].case_id in columns.accessibleDescription()
    with qtbot.waitSignal(panel.compare_requested):
        qtbot.mouseDClick(
            columns.viewport(), Qt.MouseButton.LeftButton, pos=geometry.row_rect(LEFT, 3).center()
        )


def test_fifty_ranks_scroll(panel):
    panel.ranks.set_value("50")
    panel._set_depth()
    assert _ids(panel, LEFT) == _order(panel, "plain")
    bar = panel.columns.verticalScrollBar()
    assert bar.maximum() > 0
    panel.columns.set_current(panel.columns.shown[LEFT][-1].row)
    assert bar.value() > 0


def test_another_query_updates_the_rankings(panel, jobs):
    panel.state.set_query(Query(case=panel.state.columns.ids[7]))
    jobs.run_pending()
    assert _ids(panel, LEFT) == _order(panel, "plain")[:15]
    assert panel.image.image is not None


def test_a_hidden_page_is_updated_when_shown(panel, jobs):
    panel.hide()
    panel.state.set_query(Query(case=panel.state.columns.ids[7]))
    assert jobs.pending == []
    panel.show()
    jobs.run_pending()
    assert _ids(panel, LEFT) == _order(panel, "plain")[:15]


def test_the_table_of_all_queries_opens_a_query(panel, jobs, qtbot):
    panel.scope.setFocus()
    qtbot.keyClick(panel.scope, Qt.Key.Key_Right)
    jobs.run_pending()
    model = panel.disagreements.model
    assert model.rowCount() == 40
    assert "All 40 cases used as queries" in panel.disagreements.note
    assert [int(model.row_texts(index)[1]) for index in range(40)] == sorted(
        int(model.row_texts(index)[1]) for index in range(40)
    )
    disagreement = model.disagreement(2)
    panel.disagreements.table.selectRow(2)
    qtbot.keyClick(panel.disagreements.table, Qt.Key.Key_Return)
    jobs.run_pending()
    assert panel.scope.value() == "one"
    assert panel.state.query.case == disagreement.case_id
    assert _ids(panel, LEFT) == _order(panel, "plain")[:15]


def test_the_table_can_be_cancelled_and_recomputed(panel, jobs, qtbot):
    qtbot.keyClick(panel.scope, Qt.Key.Key_Right)
    panel.disagreements.empty._button.click()
    assert panel.disagreements.empty._title.text() == "Cancelled"
    panel.disagreements.empty._button.click()
    jobs.run_pending()
    assert panel.disagreements.model.rowCount() == 40


def test_the_refined_search_can_be_compared(panel, jobs):
    names = panel.headers.names()
    assert REFINED not in names
    from semblance.core.searches.feedback.judgements import Judgement, JudgementKind
    from semblance.core.workflows.searches.open_metrics import open_metric

    state = panel.state
    ledger = open_metric(panel.trained, state.search.metric).ledger(state.ledger)
    ranked = _order(panel, state.search.metric)
    ledger.add(
        [
            Judgement(JudgementKind.ALIKE, state.query.case, ranked[-1]),
            Judgement(JudgementKind.NOT_ALIKE, state.query.case, ranked[0]),
        ]
    )
    state.set_ranked_search(rank_cases(panel.trained, state.search, k=39))
    jobs.run_pending()
    panel.set_metrics(state.search.metric, REFINED)
    jobs.run_pending()
    assert _ids(panel, RIGHT) == [case.case_id for case in state.ranking.ranked[:15]]
    assert _ids(panel, LEFT) == ranked[:15]
    panel.scope.set_value(ALL_QUERIES)
    panel._refresh()
    jobs.run_pending()
    assert panel.disagreements.model.rowCount() == 40
    assert "same finding, This search, refined" in [
        panel.disagreements.model.headerData(column, Qt.Orientation.Horizontal, Qt.ItemDataRole.DisplayRole)
        for column in range(panel.disagreements.model.columnCount())
    ]
    state.set_ranked_search(replace(state.ranked_search, entries=()))
    state.change_search(concepts=(("round", 0.5),))
    jobs.run_pending()
    panel._refresh()
    assert "There is nothing to show for other queries" in panel.disagreements.empty.accessibleName()


def test_a_query_from_outside_is_compared(panel, jobs, tmp_path):
    path = tmp_path / "mine.png"
    Image.fromarray(np.random.default_rng(0).integers(0, 255, (64, 64), dtype=np.uint8)).save(path)
    panel.state.set_query(Query(image=path))
    jobs.run_pending()
    assert len(_ids(panel, LEFT)) == 15


def test_with_one_metric_a_message_is_shown(panel, jobs, trained):
    snapshot = panel.state.library
    panel.state.renew_library(replace(snapshot, metrics=snapshot.metrics[:1]))
    jobs.run_pending()
    assert panel.pages.currentWidget() is panel.empty
    assert "Train another" in panel.empty._text.text()


def test_the_estimate_is_that_of_the_counted_finding(panel):
    from semblance.app.research.two_metrics_facts import _estimate
    from semblance.core.searches.similar_cases import Vote

    columns = panel.state.columns
    vote = Vote(finding="a", probability=0.75, interval=(0.5, 0.875), findings=("a", "b"))
    assert _estimate(vote, "a", columns) == ("0.75", "0.50–0.88")
    assert _estimate(vote, "b", columns) == ("0.25", "0.12–0.50")
    three = Vote(finding="a", probability=0.75, interval=(0.5, 0.875), findings=("a", "b", "c"))
    assert _estimate(three, "b", columns) == ("a 0.75", "0.50–0.88")
    assert _estimate(Vote(), "a", columns) is None


def test_training_data_and_poor_calibration_are_shown(panel):
    comparison = panel._comparison
    assert panel.facts.trained.isVisible() == any(vote.trained for vote in comparison.votes)
    left, right = comparison.votes
    words = "calibrated poorly: error 0.20, 0.18 by chance"
    votes = (replace(left, trained=False), replace(right, trained=True, caution=words, measured=60))
    panel._show_comparison(replace(comparison, votes=votes))
    assert panel.facts.trained.isVisible()
    assert "other" in panel.facts.trained.toolTip()
    assert "plain" not in panel.facts.trained.toolTip()
    assert ["finding of the query", "not used for training", "used for training"] in panel.facts.texts()
    assert not panel.facts.cautions[0].isVisible()
    assert panel.facts.cautions[1].text == f"other: {words}"
    panel._show_comparison(
        replace(comparison, votes=(replace(left, trained=False), replace(right, trained=False)))
    )
    assert not panel.facts.trained.isVisible()
    assert not panel.facts.cautions[1].isVisible()


def test_all_images_are_loaded_when_scaling_is_slow(panel, qtbot, monkeypatch):
    columns = panel.columns
    # Each image takes more than the time of a frame.
    clock = Mock(thread_time=Mock(side_effect=count(0, 2 * card_painter.SCALE_BUDGET_S)))

    def answer(rows, done):
        done([CardImage(row, np.full((160, 160), 90, dtype=np.uint8)) for row in rows])

    monkeypatch.setattr(card_painter, "time", clock)
    columns._images.clear()
    columns.set_source(ThumbnailLoader(answer, columns))
    columns.viewport().update()
    is_visible = [
        case.row
        for cases in columns.shown
        for index, case in enumerate(cases)
        if columns.current_geometry.is_visible(index)
    ]
    assert len(is_visible) > 20
    qtbot.waitUntil(lambda: all(columns._images.get(row) is not None for row in is_visible))
    qtbot.waitUntil(lambda: not columns._images.late)
