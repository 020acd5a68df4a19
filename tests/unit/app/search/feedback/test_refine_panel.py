"""The Refine panel on a small table with real learning."""

from __future__ import annotations

from dataclasses import replace

import pytest
from PySide6.QtCore import QPoint, Qt
from PySide6.QtWidgets import QLabel, QPushButton, QScrollArea

from semblance.app.search.feedback import mark_cards as operations
from semblance.app.search.feedback.refine_panel import FEW, RefinePanel
from semblance.app.search.feedback.save_refined_metric import save_metric
from semblance.app.shell import search_operations
from semblance.app.shell.context import Context
from semblance.app.shell.settings import AUTHOR
from semblance.app.shell.theme import set_theme
from semblance.app.widgets.thumbnail_loader import ThumbnailLoader
from semblance.core.evaluation.evaluate_metric import HELD_OUT_CASES
from semblance.core.searches.feedback.judgements import comparison_judgement, likeness_judgement
from semblance.core.searches.query import Query
from semblance.core.workflows.searches.estimate import TRAINED
from semblance.core.workflows.searches.feedback import refine_metric
from tests.helpers.judgement_library import context_for_copy, library_for_judgements, search_case
from tests.helpers.widgets import show_widget

LEFT = Qt.MouseButton.LeftButton


@pytest.fixture(scope="module")
def made(tmp_path_factory):
    return library_for_judgements(tmp_path_factory.mktemp("refine"))


@pytest.fixture
def context(jobs, made, tmp_path) -> Context:
    return context_for_copy(made, tmp_path / "lib.semblance", jobs)


@pytest.fixture
def panel(qtbot, context, jobs):
    return show_widget(qtbot, RefinePanel(context, ThumbnailLoader(lambda _rows, done: done([]))), 312, 560)


@pytest.fixture
def ranked_panel(panel, context, jobs):
    """The panel with the first case as the query."""
    search_case(context, jobs)
    return panel


def texts(panel) -> str:
    return " ".join(
        widget.text()
        for kind in (QLabel, QPushButton)
        for widget in panel.findChildren(kind)
        if widget.isVisible()
    )


def wait_until_idle(panel, jobs) -> None:
    """Let everything arrive, the measuring that waits for a rest included."""
    jobs.run_pending()
    panel._refresh_timer.timeout.emit()
    panel.scores._measure_timer.timeout.emit()
    jobs.run_pending()


def judge(context, jobs, panel, *marks: tuple[int, bool]) -> list[int]:
    """(place in the library, alike) each in a click of its own; the ids."""
    ids = context.state.columns.ids
    for place, alike in marks:
        operations.save_judgements(context, [likeness_judgement(context.state.search, ids[place], alike)])
        jobs.run_pending()
    wait_until_idle(panel, jobs)
    return [entry.id for entry in context.state.ranked_search.entries]


def compare(context, jobs, panel, closer: int, farther: int) -> None:
    ids = context.state.columns.ids
    operations.save_judgements(
        context, [comparison_judgement(context.state.search, ids[closer], ids[farther])]
    )
    wait_until_idle(panel, jobs)


def in_force(context) -> list[int]:
    return [entry.id for entry in context.state.ranked_search.entries if entry.undone is None]


def test_without_a_query_instructions_are_shown(panel):
    assert "Search with a case" in texts(panel)
    assert not panel.list.isVisible()


def test_without_a_metric_training_is_suggested(panel, context, qtbot):
    context.state.set_library(replace(context.state.library, metrics=()))
    qtbot.waitUntil(lambda: "No metric yet" in texts(panel))
    with qtbot.waitSignal(panel.train_requested):
        next(b for b in panel.findChildren(QPushButton) if b.text() == "Train a metric").click()


def test_without_judgements_instructions_are_shown(ranked_panel, jobs):
    wait_until_idle(ranked_panel, jobs)
    assert "U, more like this" in texts(ranked_panel)
    assert not ranked_panel.scores.isVisible()
    assert not ranked_panel.save.isEnabled()


def test_panel_lists_judgements_and_their_effect(ranked_panel, context, jobs):
    judge(context, jobs, ranked_panel, (4, True), (5, False))
    compare(context, jobs, ranked_panel, 8, 2)
    assert [row.sentence for row in ranked_panel.rows.rows] == [
        "c8 is closer to the query than c2",
        "c5 is not like the query",
        "c4 is like the query",
    ]
    assert "3 in the ledger" in texts(ranked_panel)
    moved = sum(map(bool, context.state.ranked_search.shifts[:20]))
    assert f"{moved} of the first 20" in texts(ranked_panel)
    assert ranked_panel.save.isEnabled()
    assert not ranked_panel.redo.isEnabled()
    assert not ranked_panel.list.viewport().grab().isNull()


def test_low_window_shows_four_judgements_and_scrolls_to_the_rest(ranked_panel, context, jobs):
    below = QLabel("another section")
    ranked_panel.add_section(below)
    judge(context, jobs, ranked_panel, *((place, True) for place in range(4, 10)))
    ranked_panel.resize(296, 300)
    wait_until_idle(ranked_panel, jobs)
    row = ranked_panel.list.visualRect(ranked_panel.rows.index(0)).height()
    assert ranked_panel.list.viewport().height() >= 4 * row
    assert below.visibleRegion().isEmpty()
    area = ranked_panel.findChild(QScrollArea)
    area.ensureWidgetVisible(below)
    assert not below.visibleRegion().isEmpty()
    assert not ranked_panel.save.visibleRegion().isEmpty(), "saving stays in sight"


def test_arrow_undoes_and_redo_redoes(qtbot, ranked_panel, context, jobs):
    first, second, third = judge(context, jobs, ranked_panel, (4, True), (5, False), (6, False))
    # Out of order: the middle one.
    qtbot.mouseClick(ranked_panel.list.viewport(), LEFT, pos=ranked_panel.list.arrow_rect(1).center())
    wait_until_idle(ranked_panel, jobs)
    assert in_force(context) == [first, third]
    assert ranked_panel.rows.rows[1].undone
    assert ranked_panel.redo.isEnabled()
    qtbot.mouseClick(ranked_panel.list.viewport(), LEFT, pos=ranked_panel.list.arrow_rect(1).center())
    wait_until_idle(ranked_panel, jobs)
    assert in_force(context) == [first, second, third]


@pytest.mark.parametrize("key", [Qt.Key.Key_Delete, Qt.Key.Key_Return])
def test_several_judgements_are_undone_by_keyboard(qtbot, ranked_panel, context, jobs, key):
    first, _second, _third = judge(context, jobs, ranked_panel, (4, True), (5, False), (6, False))
    ranked_panel.list.setFocus()
    qtbot.keyClick(ranked_panel.list, Qt.Key.Key_Down)
    qtbot.keyClick(ranked_panel.list, Qt.Key.Key_Home)
    qtbot.keyClick(ranked_panel.list, Qt.Key.Key_Down, Qt.KeyboardModifier.ShiftModifier)
    qtbot.keyClick(ranked_panel.list, key)
    wait_until_idle(ranked_panel, jobs)
    assert in_force(context) == [first]
    qtbot.keyClick(ranked_panel.list, key)
    wait_until_idle(ranked_panel, jobs)
    assert len(in_force(context)) == 3


def test_the_buttons_below(qtbot, ranked_panel, context, jobs):
    first, second = judge(context, jobs, ranked_panel, (4, True), (5, False))
    for button, left in (
        (ranked_panel.undo, [first]),
        (ranked_panel.redo, [first, second]),
        (ranked_panel.reset, []),
    ):
        qtbot.mouseClick(button, LEFT)
        wait_until_idle(ranked_panel, jobs)
        assert in_force(context) == left
    assert not ranked_panel.scores.isVisible()
    assert not ranked_panel.undo.isEnabled()
    assert len(ranked_panel.rows.rows) == 2


def test_contradiction_shows_both_judgements(qtbot, ranked_panel, context, jobs):
    compare(context, jobs, ranked_panel, 4, 5)
    judge(context, jobs, ranked_panel, (9, True))
    compare(context, jobs, ranked_panel, 5, 4)
    assert "1 contradiction. Click" in ranked_panel.detail.text()
    newest, other, oldest = ranked_panel.rows.rows
    assert newest.against
    assert oldest.against
    assert not other.against
    at = ranked_panel.list.visualRect(ranked_panel.rows.index(0)).topLeft() + QPoint(60, 10)
    qtbot.mouseClick(ranked_panel.list.viewport(), LEFT, pos=at)
    assert newest.sentence in ranked_panel.detail.text()
    assert oldest.sentence in ranked_panel.detail.text()
    assert "the same pair was marked both ways" in ranked_panel.detail.text()
    assert ranked_panel.list.contradicting == {oldest.id}
    assert oldest.sentence in ranked_panel.list.tip(newest)
    operations.undo(context, [oldest.id])
    wait_until_idle(ranked_panel, jobs)
    assert not ranked_panel.detail.isVisible()
    assert ranked_panel.list.contradicting == frozenset()


def test_patient_in_training_and_query_is_flagged(ranked_panel, context, jobs):
    # c1 is of the query's own patient; c4 and c5 are one patient.
    judge(context, jobs, ranked_panel, (1, False), (4, True), (5, False))
    reasons = {one.reason for row in ranked_panel.rows.rows for one in row.against}
    assert {str(reason) for reason in reasons} == {
        "a case of the query's own patient was marked as less like the query",
        "two cases of one patient were marked differently",
    }


def test_influence_is_hidden_after_the_next_judgement(qtbot, ranked_panel, context, jobs):
    ids = judge(context, jobs, ranked_panel, (4, True), (5, False))
    ranked_panel.header.action_requested.emit()
    jobs.run_pending()
    assert set(ranked_panel.rows.influences) == set(ids)
    assert "Hide influence" in texts(ranked_panel)
    # The row is wide enough for the short form and the arrow at any width of the panel.
    assert set(ranked_panel.rows.short_influences) == set(ids)
    judge(context, jobs, ranked_panel, (6, False))
    assert ranked_panel.rows.influences == {}
    ranked_panel.toggle_influence()
    jobs.run_pending()
    ranked_panel.toggle_influence()
    assert ranked_panel.rows.influences == {}


def test_score_shows_what_it_was_tested_on(ranked_panel, context, jobs):
    judge(context, jobs, ranked_panel, (4, True), (5, False))
    score = refine_metric.held_out_score(context.state.location, context.state.search)
    assert ranked_panel.scores.accuracy.text().startswith(f"{score.accuracy:.2f} (")
    assert f"{score.before:.2f} without marks" in ranked_panel.scores.note.text()
    assert f"{score.cases} cases" in ranked_panel.scores.note.text()
    assert ranked_panel.scores.badge.kind == "held-out"
    assert "2 marks rarely change this score" in ranked_panel.scores.note.text()
    judge(context, jobs, ranked_panel, *[(place, place // 2 % 2 == 0) for place in range(10, 12 + FEW)])
    assert "rarely change" not in ranked_panel.scores.note.text()


def test_a_long_badge_goes_below_the_score_and_the_interval_stays(ranked_panel, context, jobs, monkeypatch):
    score = refine_metric.HeldOutScore(0.52, (0.48, 0.57), 0.50, 40, HELD_OUT_CASES)
    monkeypatch.setattr(operations, "fetch_score", lambda _context, show: show(score))
    ranked_panel.resize(296, 560)
    judge(context, jobs, ranked_panel, (4, True), (5, False))
    assert ranked_panel.scores.badge.kind == "unknown"
    assert ranked_panel.scores.minimumSizeHint().width() <= 296
    assert ranked_panel.scores.accuracy.text() == "0.52 (0.48–0.57)"
    ranked_panel.scores.layout().activate()
    assert ranked_panel.scores.badge.y() > ranked_panel.scores.accuracy.geometry().bottom()
    ranked_panel.resize(420, 560)
    ranked_panel.scores.layout().activate()
    assert ranked_panel.scores.badge.geometry().right() < ranked_panel.scores.accuracy.x()


def test_score_without_held_out_cases(ranked_panel, context, jobs):
    ids = context.state.columns.ids
    made = [likeness_judgement(context.state.search, case, True) for case in ids[2:]]
    operations.save_judgements(context, made)
    wait_until_idle(ranked_panel, jobs)
    assert ranked_panel.scores.accuracy.text() == "not measured"
    assert "Every case was marked" in ranked_panel.scores.note.text()
    assert not ranked_panel.scores.badge.isVisible()


def test_strength_changes_the_ranking(ranked_panel, context, jobs):
    judge(context, jobs, ranked_panel, (40, True), (2, False), (6, False))
    full = context.state.ranked_search.result
    ranked_panel.scores.strength.setValue(0)
    jobs.run_pending()
    assert context.state.search.strength == 0.0
    assert context.state.ranked_search.result.ranked != full.ranked
    ranked_panel.scores.strength.setValue(100)
    jobs.run_pending()
    assert [case.row for case in context.state.ranked_search.result.ranked] == [
        case.row for case in full.ranked
    ]


def test_restored_strength_is_shown_and_ranked_once(ranked_panel, context, jobs):
    context.state.change_search(strength=0.4)
    assert ranked_panel.scores.strength.value() == 40
    assert jobs.pending == []


def test_late_refusal_of_another_metric_or_library_is_ignored(ranked_panel, context, jobs):
    context.state.set_metric("city")
    operations.check_metric(context)
    context.state.set_metric("plain")
    jobs.run_pending()
    assert context.state.refusal is None
    context.state.set_metric("city")
    operations.check_metric(context)
    context.state.set_library(
        replace(context.state.library, location=context.state.location.with_name("other"))
    )
    context.state.set_metric("city")
    jobs.run_pending()
    assert context.state.refusal is None


def test_judgements_stay_listed_for_a_metric_without_refinement(ranked_panel, context, jobs):
    judge(context, jobs, ranked_panel, (4, True))
    context.state.set_metric("city")
    search_operations.rank(context)
    operations.check_metric(context)
    wait_until_idle(ranked_panel, jobs)
    assert "Marks order the similar cases, but they cannot refine this metric." in texts(ranked_panel)
    assert len(ranked_panel.rows.rows) == 1
    assert not ranked_panel.save.isEnabled()
    assert not ranked_panel.scores.isVisible()


def test_refined_metric_is_saved_scored_and_selected(ranked_panel, context, jobs):
    judge(context, jobs, ranked_panel, (4, True), (6, False))
    old = context.state.search
    save_metric(context, "better", "Ann")
    jobs.run_pending()
    state = context.state
    assert state.metric.name == "better"
    assert state.metric.scores["auc"] is not None
    assert state.metric.card["authors"] == ["Ann"]
    assert context.settings.text(AUTHOR) == "Ann"
    # What was judged is part of the metric now: it is not followed twice.
    assert state.search.ledger != old.ledger
    assert state.ranked_search.entries == ()
    assert state.ranked_search.result.metric == "better"
    # It learnt from judgements of this very query.
    assert state.ranked_search.result.vote.why_not == TRAINED
    assert [message.level for message in context.messages.history] == ["info"]
    wait_until_idle(ranked_panel, jobs)
    assert len(ranked_panel.rows.rows) == 0


def test_an_empty_author_is_stored_as_none(ranked_panel, context, jobs):
    judge(context, jobs, ranked_panel, (4, True))
    save_metric(context, "better", "")
    jobs.run_pending()
    assert context.state.metric.card["authors"] == []


def test_other_queries_are_named(ranked_panel, context, jobs):
    judge(context, jobs, ranked_panel, (4, True))
    search_operations.submit_query(context, Query(case=context.state.columns.ids[9]))
    wait_until_idle(ranked_panel, jobs)
    assert ranked_panel.rows.rows[0].sentence == "c4 is like c0"


def test_hidden_panel_is_not_refreshed(ranked_panel, context, jobs):
    ranked_panel.hide()
    judge(context, jobs, ranked_panel, (4, True))
    ranked_panel._refresh_timer.stop()
    assert ranked_panel.scores.accuracy.text() == ""
    ranked_panel.show()
    assert len(ranked_panel.rows.rows) == 1


def test_closing_the_library_clears_the_session(ranked_panel, context, jobs):
    judge(context, jobs, ranked_panel, (4, True))
    context.state.set_library(None)
    wait_until_idle(ranked_panel, jobs)
    assert len(ranked_panel.rows.rows) == 0
    assert "Search with a case" in texts(ranked_panel)


@pytest.mark.parametrize(("theme", "scale"), [("light", 1.0), ("dark", 2.0)])
def test_curve_is_drawn_in_every_size(qapp, ranked_panel, context, jobs, theme, scale):
    judge(context, jobs, ranked_panel, (4, True), (5, False))
    compare(context, jobs, ranked_panel, 8, 2)
    compare(context, jobs, ranked_panel, 2, 8)
    operations.undo(context, [context.state.ranked_search.entries[0].id])
    wait_until_idle(ranked_panel, jobs)
    set_theme(qapp, theme, scale)
    assert not ranked_panel.grab().isNull()
