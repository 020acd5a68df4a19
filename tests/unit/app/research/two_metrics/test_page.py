from __future__ import annotations

import time
from dataclasses import replace

import numpy as np
import pytest
from PIL import Image
from PySide6.QtCore import QPoint, QPointF, Qt
from PySide6.QtGui import QMouseEvent
from PySide6.QtWidgets import QApplication

from semblance.app.research.two_metrics.page import ALL, REFINED, TwoMetricsPage
from semblance.app.research.two_metrics.rank_columns_painter import RankColumnsPainter
from semblance.app.widgets.cards.card_painter import SCALE_BUDGET_S
from semblance.app.widgets.thumbnail_loader import ThumbnailLoader
from semblance.core.searches.query import Query
from semblance.core.workflows.imaging.card_images import CardImage
from semblance.core.workflows.library.library_snapshot import read_snapshot
from semblance.core.workflows.metrics.train_request import TrainRequest
from semblance.core.workflows.searches.rank_cases import nearest_cases, rank_cases
from tests.helpers.striped import striped_library
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
    jobs.let_run()
    return panel


def _order(panel, metric):
    return [line.case_id for line in nearest_cases(panel.trained, metric, panel.state.query, k=100).ranked]


def _ids(panel, side):
    return [line.case_id for line in panel.columns._shown[side]]


def _move(widget, point):
    at = QPointF(point)
    event = QMouseEvent(
        QMouseEvent.Type.MouseMove,
        at,
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
    for line in panel.columns._shown[RIGHT]:
        assert line.rise == left.index(line.case_id) - right.index(line.case_id)
    joined = set(left[:15]) & set(right[:15])
    assert {line.case_id for line in panel.columns.drawn} == joined


def test_only_far_moves_leaves_the_others_out(panel, qtbot):
    every = panel.columns.drawn
    qtbot.keyClick(panel, Qt.Key.Key_3)
    assert panel.far_only.isChecked()
    assert panel.columns.drawn == [line for line in every if abs(line.rise) >= 3]
    assert len(panel.columns.drawn) < len(every)


def test_the_facts_count_what_the_columns_show(panel):
    texts = {line[0]: line[1:] for line in panel.facts.texts() if line[0]}
    own = panel.state.columns.finding_name(0)
    counts = [
        str(sum(line.finding == own for line in panel.columns._shown[side][:10])) for side in (LEFT, RIGHT)
    ]
    assert texts[f"10 nearest, {own}"] == counts
    shared = len(set(_ids(panel, LEFT)) & set(_ids(panel, RIGHT)))
    assert texts["shared in first 15"] == [f"{shared} of 15"]
    assert "accuracy @10" in texts
    assert panel.facts.badge.isVisible()


def test_up_down_tab_and_enter_go_through_both_columns(panel, qtbot):
    columns = panel.columns
    columns.setFocus()
    assert columns.current() == columns._shown[LEFT][0].row
    qtbot.keyClick(columns, Qt.Key.Key_Down)
    qtbot.keyClick(columns, Qt.Key.Key_Down)
    assert (columns.current(), columns.current_side()) == (columns._shown[LEFT][2].row, LEFT)
    joined = columns.drawn[0]
    columns.set_current(joined.row, LEFT)
    qtbot.keyClick(columns, Qt.Key.Key_Tab)
    assert (columns.current(), columns.current_side()) == (joined.row, RIGHT)
    qtbot.keyClick(columns, Qt.Key.Key_End)
    assert columns.current() == columns._shown[RIGHT][14].row
    qtbot.keyClick(columns, Qt.Key.Key_Home)
    with qtbot.waitSignal(panel.compare_requested) as told:
        qtbot.keyClick(columns, Qt.Key.Key_Return)
    assert told.args == [columns._shown[RIGHT][0].row]
    with qtbot.waitSignal(panel.closed):
        qtbot.keyClick(columns, Qt.Key.Key_Escape)


def test_the_mouse_takes_hold_of_a_row_and_of_a_line(panel, qtbot):
    columns = panel.columns
    geometry = columns.geometry_now
    _move(columns.viewport(), geometry.line(RIGHT, 4).center())
    assert columns.hovered() == columns._shown[RIGHT][4].row
    line = columns.drawn[0]
    begin, end = geometry.ends(line.rank - 1, line.other - 1)
    middle = QPoint(round((begin.x() + end.x()) / 2), round((begin.y() + end.y()) / 2))
    _move(columns.viewport(), middle)
    assert columns.hovered() in {one.row for one in columns.drawn}
    _move(columns.viewport(), QPoint(round((begin.x() + end.x()) / 2), columns.viewport().height() - 1))
    qtbot.mouseClick(columns.viewport(), Qt.MouseButton.LeftButton, pos=geometry.line(LEFT, 3).center())
    assert columns.current() == columns._shown[LEFT][3].row
    assert columns._shown[LEFT][3].case_id in columns.accessibleDescription()
    with qtbot.waitSignal(panel.compare_requested):
        qtbot.mouseDClick(columns.viewport(), Qt.MouseButton.LeftButton, pos=geometry.line(LEFT, 3).center())


def test_fifty_ranks_scroll(panel):
    panel.ranks.set_value("50")
    panel._set_depth()
    assert _ids(panel, LEFT) == _order(panel, "plain")
    bar = panel.columns.verticalScrollBar()
    assert bar.maximum() > 0
    panel.columns.set_current(panel.columns._shown[LEFT][-1].row)
    assert bar.value() > 0


def test_another_query_is_followed(panel, jobs):
    panel.state.set_query(Query(case=panel.state.columns.ids[7]))
    jobs.let_run()
    assert _ids(panel, LEFT) == _order(panel, "plain")[:15]
    assert panel.image.image is not None


def test_a_hidden_page_asks_only_once_it_is_seen(panel, jobs):
    panel.hide()
    panel.state.set_query(Query(case=panel.state.columns.ids[7]))
    assert jobs.held == []
    panel.show()
    jobs.let_run()
    assert _ids(panel, LEFT) == _order(panel, "plain")[:15]


def test_every_query_is_a_table_whose_lines_open_here(panel, jobs, qtbot):
    panel.which.setFocus()
    qtbot.keyClick(panel.which, Qt.Key.Key_Right)
    jobs.let_run()
    model = panel.every.model
    assert model.rowCount() == 40
    assert "All 40 cases used as queries" in panel.every.told
    assert [int(model.texts(place)[1]) for place in range(40)] == sorted(
        int(model.texts(place)[1]) for place in range(40)
    )
    wanted = model.line(2)
    panel.every.table.selectRow(2)
    qtbot.keyClick(panel.every.table, Qt.Key.Key_Return)
    jobs.let_run()
    assert panel.which.value() == "one"
    assert panel.state.query.case == wanted.case_id
    assert _ids(panel, LEFT) == _order(panel, "plain")[:15]


def test_the_table_can_be_cancelled_and_asked_again(panel, jobs, qtbot):
    qtbot.keyClick(panel.which, Qt.Key.Key_Right)
    panel.every._empty._button.click()
    assert panel.every._empty._title.text() == "Cancelled"
    panel.every._empty._button.click()
    jobs.let_run()
    assert panel.every.model.rowCount() == 40


def test_what_refined_the_search_is_a_metric_to_compare(panel, jobs):
    names = panel.heads.names()
    assert REFINED not in names
    from semblance.core.searches.judgement import Judgement, Kind
    from semblance.core.workflows.searches.open_metrics import open_metric

    state = panel.state
    ledger = open_metric(panel.trained, state.search.metric).ledger(state.ledger)
    ranked = _order(panel, state.search.metric)
    ledger.add(
        [
            Judgement(Kind.ALIKE, state.query.case, ranked[-1]),
            Judgement(Kind.NOT_ALIKE, state.query.case, ranked[0]),
        ]
    )
    state.set_ranked_search(rank_cases(panel.trained, state.search, k=39))
    jobs.let_run()
    panel.set_metrics(state.search.metric, REFINED)
    jobs.let_run()
    assert _ids(panel, RIGHT) == [line.case_id for line in state.ranking.ranked[:15]]
    assert _ids(panel, LEFT) == ranked[:15]
    panel.which.set_value(ALL)
    panel._renew()
    jobs.let_run()
    assert panel.every.model.rowCount() == 40
    assert "same finding, This search, refined" in [
        panel.every.model.headerData(column, Qt.Orientation.Horizontal, Qt.ItemDataRole.DisplayRole)
        for column in range(panel.every.model.columnCount())
    ]
    state.set_ranked_search(replace(state.ranked_search, entries=()))
    state.change_search(like=(Query(case=ranked[3]),))
    jobs.let_run()
    panel._renew()
    assert "There is nothing to show for other queries" in panel.every._empty.accessibleName()


def test_a_query_from_outside_is_compared(panel, jobs, tmp_path):
    path = tmp_path / "mine.png"
    Image.fromarray(np.random.default_rng(0).integers(0, 255, (64, 64), dtype=np.uint8)).save(path)
    panel.state.set_query(Query(image=path))
    jobs.let_run()
    assert len(_ids(panel, LEFT)) == 15


def test_one_metric_alone_says_what_is_missing(panel, jobs, trained):
    snapshot = panel.state.library
    panel.state.renew_library(replace(snapshot, metrics=snapshot.metrics[:1]))
    jobs.let_run()
    assert panel._pages.currentWidget() is panel._empty
    assert "Train another" in panel._empty._text.text()


def test_an_estimate_of_one_of_two_findings_is_told_of_the_one_that_is_counted(panel):
    from semblance.app.research.two_metrics.facts import _estimate
    from semblance.core.workflows.searches.estimate import Vote

    columns = panel.state.columns
    vote = Vote(finding="a", probability=0.75, interval=(0.5, 0.875), findings=("a", "b"))
    assert _estimate(vote, "a", columns) == ("0.75", "0.50–0.88")
    assert _estimate(vote, "b", columns) == ("0.25", "0.12–0.50")
    three = Vote(finding="a", probability=0.75, interval=(0.5, 0.875), findings=("a", "b", "c"))
    assert _estimate(three, "b", columns) == ("a 0.75", "0.50–0.88")
    assert _estimate(Vote(), "a", columns) is None


def test_it_is_said_which_metric_knows_the_query_and_which_estimate_is_poor(panel):
    found = panel._compared
    assert panel.facts.trained.isVisible() == any(vote.trained for vote in found.votes)
    left, right = found.votes
    words = "calibrated poorly: error 0.20, 0.18 by chance"
    votes = (replace(left, trained=False), replace(right, trained=True, caution=words, measured=60))
    panel._answered(replace(found, votes=votes))
    assert panel.facts.trained.isVisible()
    assert "other" in panel.facts.trained.toolTip()
    assert "plain" not in panel.facts.trained.toolTip()
    assert ["query", "not in training data", "in training data"] in panel.facts.texts()
    assert not panel.facts.cautions[0].isVisible()
    assert panel.facts.cautions[1].text == f"other: {words}"
    panel._answered(replace(found, votes=(replace(left, trained=False), replace(right, trained=False))))
    assert not panel.facts.trained.isVisible()
    assert not panel.facts.cautions[1].isVisible()


def test_all_images_come_however_long_a_frame_takes(panel, qtbot, monkeypatch):
    columns, lines = panel.columns, RankColumnsPainter.lines

    def slowly(painter, *what):
        time.sleep(2 * SCALE_BUDGET_S)
        lines(painter, *what)

    def answer(rows, done):
        done([CardImage(row, np.full((160, 160), 90, dtype=np.uint8)) for row in rows])

    monkeypatch.setattr(RankColumnsPainter, "lines", slowly)
    columns._images.clear()
    columns.set_source(ThumbnailLoader(answer, columns))
    columns.viewport().update()
    seen = [
        line.row
        for shown in columns._shown
        for place, line in enumerate(shown)
        if columns.geometry_now.seen(place)
    ]
    assert len(seen) > 20
    qtbot.waitUntil(lambda: all(columns._images.get(row) is not None for row in seen))
    qtbot.waitUntil(lambda: not columns._images.late)


def test_images_of_cases_that_went_are_not_waited_for(panel, qtbot):
    panel.columns._images.late.add(-7)
    panel.columns.viewport().repaint()
    assert not panel.columns._images.late
    assert not panel.columns._again.isActive()
