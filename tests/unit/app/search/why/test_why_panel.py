"""Why a case is near: the parts add up to its card's distance, and can be left out by mouse and keys."""

from __future__ import annotations

import shutil

import pytest
from PySide6.QtCore import QCoreApplication, QPoint, Qt
from PySide6.QtWidgets import QCheckBox, QLabel

from semblance.app.search.why.why_images import IMAGES_CHANNEL
from semblance.app.search.why.why_panel import EXPLANATION_CHANNEL, MAX_ROWS, WhyPanel
from semblance.app.shell import search_operations
from semblance.app.widgets.cards.case_model import distance_text
from semblance.core.errors import BadInput
from semblance.core.searches.feedback.judgements import comparison_judgement
from semblance.core.searches.query import Query
from semblance.core.workflows.library.library_snapshot import read_snapshot
from semblance.core.workflows.metrics.train_request import TrainRequest
from semblance.core.workflows.searches import compare_cases
from semblance.core.workflows.searches import explain_distance as explain_distance_module
from semblance.core.workflows.searches.explain_distance import explain_distance
from semblance.core.workflows.searches.feedback import refine_metric
from semblance.core.workflows.searches.open_metrics import close_loaded_metrics
from tests.helpers.striped_library import striped_library
from tests.helpers.tables import PLAIN, table_library
from tests.helpers.widgets import finish_delayed_calls, show_widget

LEFT = Qt.MouseButton.LeftButton


@pytest.fixture(scope="module")
def made(tmp_path_factory):
    folder = tmp_path_factory.mktemp("why panel")
    table_library(
        folder / "table", n=60, metrics=(TrainRequest("bdm", "bits", settings={"rounds": 12}), PLAIN)
    )
    striped_library(
        folder,
        n=12,
        features="gabor",
        metrics=(TrainRequest("euclidean", "plain", steps="standardise,pca:5"),),
        name="images.semblance",
    )
    close_loaded_metrics()
    return folder


@pytest.fixture
def table(made, tmp_path):
    return shutil.copytree(made / "table", tmp_path / "table") / "lib.semblance"


@pytest.fixture
def panel(qtbot, context):
    return show_widget(qtbot, WhyPanel(context), 312, 760)


@pytest.fixture
def panel_with_query(panel, context, table):
    """The panel after a query in the table, by the plain metric."""
    context.state.set_library(read_snapshot(table))
    search_operations.submit_query(context, Query("t/c0"))
    context.jobs.run_pending()
    return panel


def names(panel) -> list[str]:
    return [line.name for line in panel.waterfall.contributions]


def box_of(panel, group) -> QCheckBox:
    return next(row.box for row in panel.waterfall.rows if row.name == group)


def test_panel_shows_the_next_step_without_a_ranking(panel, context, table):
    assert panel.is_empty
    context.state.set_library(read_snapshot(table))
    assert panel.is_empty
    search_operations.submit_query(context, Query("t/c0"))
    context.jobs.run_pending()
    assert not panel.is_empty
    context.state.set_library(None)
    assert panel.is_empty
    assert panel.shown is None


def test_the_reason_stays_until_a_quick_search_has_the_next_one(panel_with_query, context, qtbot):
    shown_pages = []
    panel_with_query._pages.currentChanged.connect(shown_pages.append)
    search_operations.submit_query(context, Query("t/c1"))
    assert panel_with_query.shown is None
    context.jobs.run_pending()
    assert panel_with_query.shown is not None
    assert not shown_pages
    search_operations.submit_query(context, Query("t/c2"))
    qtbot.waitUntil(lambda: panel_with_query.is_empty)


def test_explanation_of_a_closed_library_is_dropped(panel, context, table):
    context.state.set_library(read_snapshot(table))
    search_operations.submit_query(context, Query("t/c0"))
    context.jobs.pending.pop(0).run()
    QCoreApplication.processEvents()
    context.state.set_library(None)
    context.jobs.run_pending()
    assert panel.is_empty
    assert panel.shown is None


def test_late_images_and_errors_are_ignored(panel, context, table, monkeypatch):
    """Neither in the library that was opened meanwhile."""

    def fails(*_args, **_more):
        raise BadInput("Too late.")

    monkeypatch.setattr(explain_distance_module, "explain_distance", fails)
    monkeypatch.setattr(compare_cases, "compare_images", fails)
    context.state.set_library(read_snapshot(table))
    search_operations.submit_query(context, Query("t/c0"))
    context.jobs.pending.pop(0).run()
    QCoreApplication.processEvents()
    assert {EXPLANATION_CHANNEL, IMAGES_CHANNEL} <= context.jobs._latest.keys()
    context.state.set_library(read_snapshot(table))
    before = panel.empty.accessibleName()
    context.jobs.run_pending()
    assert panel.empty.accessibleName() == before
    assert panel.images.query.shown.problem == ""


def test_first_case_is_explained_with_the_distance_of_its_card(panel_with_query, context):
    first = context.state.ranking.ranked[0]
    assert panel_with_query.shown.case == first.case_id
    assert panel_with_query.waterfall.total.amount_text == distance_text(first.distance)
    assert sum(line.amount for line in panel_with_query.waterfall.contributions) == pytest.approx(
        first.distance, rel=1e-9
    )
    assert sorted(names(panel_with_query)) == [f"f{n}" for n in range(5)]
    amounts = [line.amount for line in panel_with_query.waterfall.contributions]
    assert amounts == sorted(amounts, reverse=True)
    assert panel_with_query.sentence.text() == panel_with_query.shown.sentence
    assert "Rank 1" in panel_with_query.images._title.text()


def test_features_are_preloaded_after_a_delay(panel_with_query, context, qtbot):
    def waits() -> bool:
        return search_operations.PRELOAD in context.jobs._latest

    qtbot.waitUntil(waits)
    # The explanation goes first; this is read once that is shown.
    panel_with_query.follow(context.state.ranking.ranked[1].row)
    assert not waits()
    context.jobs.run_pending()
    qtbot.waitUntil(waits)
    search_operations.rank(context)
    assert not waits()
    panel_with_query.hide()
    context.jobs.run_pending()
    finish_delayed_calls(qtbot, panel_with_query)
    assert not waits()


def test_explanation_follows_the_current_case(panel_with_query, context):
    third = context.state.ranking.ranked[2]
    panel_with_query.follow(third.row)
    context.jobs.run_pending()
    assert panel_with_query.shown.case == third.case_id
    assert panel_with_query.waterfall.total.amount_text == distance_text(third.distance)
    panel_with_query.follow(-1)
    context.jobs.run_pending()
    assert panel_with_query.shown.case == context.state.ranking.ranked[0].case_id


def test_clearing_a_box_ranks_without_the_group_and_reset_restores_it(panel_with_query, context, qtbot):
    before, order = context.state.ranking, names(panel_with_query)
    qtbot.mouseClick(box_of(panel_with_query, "f3"), LEFT)
    context.jobs.run_pending()
    assert context.state.search.without == ("f3",)
    assert context.state.ranking.ranked != before.ranked
    assert names(panel_with_query) == order, "a second click at the same place takes the first back"
    assert not box_of(panel_with_query, "f3").isChecked()
    assert panel_with_query.waterfall.rows[order.index("f3")].amount_text == "left out"
    explained = explain_distance(context.state.location, context.state.search, panel_with_query.shown.case)
    assert panel_with_query.waterfall.total.amount_text == distance_text(explained.distance)
    assert panel_with_query.header.isVisible()
    panel_with_query.header.action_requested.emit()
    context.jobs.run_pending()
    assert context.state.search.without == ()
    assert context.state.ranking.ranked == before.ranked
    assert all(row.box.isChecked() for row in panel_with_query.waterfall.rows)


def test_click_on_the_name_toggles_the_box(panel_with_query, context, qtbot):
    row = next(row for row in panel_with_query.waterfall.rows if row.name == "f2")
    qtbot.mouseClick(row, LEFT, pos=QPoint(60, row.height() // 2))
    context.jobs.run_pending()
    assert context.state.search.without == ("f2",)
    row = next(row for row in panel_with_query.waterfall.rows if row.name == "f2")
    qtbot.mouseClick(row, LEFT, pos=QPoint(60, row.height() // 2))
    context.jobs.run_pending()
    assert context.state.search.without == ()


def test_arrow_keys_focus_boxes_and_space_toggles(panel_with_query, context, qtbot):
    boxes = [row.box for row in panel_with_query.waterfall.rows]
    panel_with_query.activateWindow()
    boxes[0].setFocus()
    qtbot.waitUntil(boxes[0].hasFocus)
    qtbot.keyClick(boxes[0], Qt.Key.Key_Up)
    assert boxes[0].hasFocus()
    qtbot.keyClick(boxes[0], Qt.Key.Key_Down)
    assert boxes[1].hasFocus()
    group = panel_with_query.waterfall.contributions[1].key
    qtbot.keyClick(boxes[1], Qt.Key.Key_Space)
    context.jobs.run_pending()
    assert context.state.search.without == (group,)


def test_last_group_cannot_be_excluded(panel_with_query, context, qtbot):
    for group in ("f0", "f1", "f2", "f3"):
        qtbot.mouseClick(box_of(panel_with_query, group), LEFT)
        context.jobs.run_pending()
    assert len(context.state.search.without) == 4
    last = box_of(panel_with_query, "f4")
    assert not last.isEnabled()
    qtbot.mouseClick(last, LEFT)
    assert len(context.state.search.without) == 4


def test_both_breakdowns_have_the_same_total(panel_with_query, context, qtbot):
    context.state.set_metric("bits")
    search_operations.rank(context)
    context.jobs.run_pending()
    # Bits of the nearest case are all equal: there is nothing to break down.
    assert panel_with_query.kind.isHidden()
    panel_with_query.follow(context.state.ranking.ranked[-1].row)
    context.jobs.run_pending()
    total = panel_with_query.waterfall.total.amount_text
    panel_with_query.kind.setFocus()
    qtbot.keyClick(panel_with_query.kind, Qt.Key.Key_Right)
    assert panel_with_query.waterfall.total.amount_text == total
    assert panel_with_query.shown.kind == "Bits"
    assert len(panel_with_query.waterfall.contributions) <= MAX_ROWS
    assert all(not line.key for line in panel_with_query.waterfall.contributions)
    shown = context.state.ranking.ranked[-1].distance
    assert sum(line.amount for line in panel_with_query.waterfall.contributions) == pytest.approx(
        shown, rel=1e-9, abs=1e-12
    )


def test_judgements_are_part_of_the_explained_distance(panel_with_query, context, table):
    search = context.state.search
    refine_metric.add_judgements(
        table, search, [comparison_judgement(search, f"t/c{n}", f"t/c{n + 1}") for n in range(10, 30, 2)]
    )
    search_operations.rank(context)
    context.jobs.run_pending()
    first = context.state.ranking.ranked[0]
    assert panel_with_query.shown.case == first.case_id
    assert panel_with_query.waterfall.total.amount_text == distance_text(first.distance)


def test_hidden_panel_explains_only_when_shown(panel, context, table):
    panel.hide()
    context.state.set_library(read_snapshot(table))
    search_operations.submit_query(context, Query("t/c0"))
    context.jobs.run_pending()
    assert panel.shown is None
    panel.show()
    context.jobs.run_pending()
    assert panel.shown is not None


def test_failed_explanation_shows_the_error(panel_with_query, context, monkeypatch):
    def fails(*_args, **_more):
        raise BadInput("The image is gone.", "Put it back.")

    monkeypatch.setattr(explain_distance_module, "explain_distance", fails)
    panel_with_query.follow(context.state.ranking.ranked[4].row)
    context.jobs.run_pending()
    assert panel_with_query.is_empty
    assert panel_with_query.shown is None
    assert "The image is gone. Put it back." in [
        label.text() for label in panel_with_query.empty.findChildren(QLabel)
    ]


def test_the_details_of_a_failed_comparison_of_images_can_be_copied(panel_with_query, context, monkeypatch):
    button = panel_with_query.images.copy_details
    assert button.isHidden()

    def fails(*_args, **_more):
        raise BadInput("The image is gone.", "Put it back.")

    with monkeypatch.context() as failing:
        failing.setattr(compare_cases, "compare_images", fails)
        panel_with_query.follow(context.state.ranking.ranked[4].row)
        context.jobs.run_pending()
    assert panel_with_query.images.query.shown.problem == "The image is gone."
    assert button.isVisible()
    panel_with_query.follow(context.state.ranking.ranked[3].row)
    context.jobs.run_pending()
    assert button.isHidden()


def test_gabor_features_draw_rings_on_both_images(panel, context, made):
    context.state.set_library(read_snapshot(made / "images.semblance"))
    search_operations.submit_query(context, Query(context.state.columns.ids[0]))
    context.jobs.run_pending()
    query, case = panel.images.query.shown, panel.images.case.shown
    assert query.pixels is not None
    assert case.pixels is not None
    assert query.rings == case.rings
    assert panel.images.note.text()
    assert panel.images.marks.isVisible() == bool(query.rings)


def test_agreeing_regions_stay_hidden(panel, context, made, qtbot):
    context.state.set_library(read_snapshot(made / "images.semblance"))
    search_operations.submit_query(context, Query(context.state.columns.ids[0]))
    context.jobs.run_pending()
    for case in context.state.ranking.ranked:
        if not panel.images.query.shown.rings:
            panel.follow(case.row)
            context.jobs.run_pending()
    assert panel.images.query.shown.rings
    assert panel.images.query.shows_marks
    qtbot.mouseClick(panel.images.marks, LEFT)
    assert not panel.images.query.shows_marks
    assert not panel.images.case.shows_marks
    again = WhyPanel(context)
    qtbot.addWidget(again)
    assert not again.images.query.shows_marks


def test_rows_of_a_table_have_no_images(panel_with_query):
    for image in (panel_with_query.images.query, panel_with_query.images.case):
        assert image.shown.pixels is None
        assert image.isHidden()


def test_metric_card_and_badge(panel_with_query, context):
    assert panel_with_query.card.facts.text("Learner").startswith("Euclidean")
    assert panel_with_query.card.facts.text("Trained on").startswith("42 cases")
    assert "(" in panel_with_query.card.facts.text("Accuracy @10")
    assert panel_with_query.card.badge.isVisible()
    assert panel_with_query.card.badge.kind == "held-out"
