from __future__ import annotations

from dataclasses import replace

import pytest
from PySide6.QtCore import Qt
from PySide6.QtWidgets import QLabel, QPushButton, QToolButton

from app.context import Context
from app.messages import Messages
from app.models.thumbnails import Thumbnails
from app.panels.ranking import RankingPanel
from app.settings import Settings
from app.state import State
from app.theme import set_theme
from core.errors import BadInput
from core.library.columns import case_columns
from core.workflows import searching
from core.workflows.searching import Query, RankedCase, SearchResult
from tests.helpers.held_jobs import HeldJobs
from tests.helpers.scored import metric, snapshot

LEFT = Qt.MouseButton.LeftButton
BOARD = snapshot(metric("good", 0.9))
ASKED = Query(case="c000")


def ranking(*, n=20, counts=None, **more) -> SearchResult:
    """Cases 1 to n at distances 0.1, 0.2 …"""
    ranked = tuple(
        RankedCase(i, i, f"c{i:03d}", i / 10, "malignant" if i % 2 else "benign", f"P{i:03d}", "", i % 3)
        for i in range(1, n + 1)
    )
    usual = {"same_patient": 0, "near_duplicates": 0, "no_good_match": False, "usual_distance": 2.0}
    counts = {"malignant": 5, "benign": 5} if counts is None else counts
    return SearchResult(
        ASKED, "good", ranked, 99, counts=counts, seconds={"ask": 0.0123}, **{**usual, **more}
    )


@pytest.fixture
def jobs(qapp):
    made = HeldJobs()
    yield made
    made.shutdown()
    made.deleteLater()


@pytest.fixture
def context(jobs):
    return Context(State(), jobs, Messages(), Settings())


@pytest.fixture
def open_panel(qtbot, context):
    def make():
        made = RankingPanel(context, Thumbnails(lambda _rows, done: done([])))
        qtbot.addWidget(made)
        made.resize(720, 480)
        made.show()
        return made

    return make


@pytest.fixture
def panel(open_panel):
    return open_panel()


@pytest.fixture
def ranked(panel, context):
    """The panel with a ranking of twenty cases."""
    context.state.set_library(BOARD)
    context.state.set_query(ASKED)
    context.state.set_ranking(ranking(same_patient=3, near_duplicates=2))
    return panel


@pytest.fixture
def searches(monkeypatch):
    """What was searched for, by (hide same patient, fold alike); each finds the same."""
    asked = []

    def search(_library, _metric, query, *, hide_same_patient, fold_duplicates, **_):
        asked.append((query, hide_same_patient, fold_duplicates))
        return ranking()

    monkeypatch.setattr(searching, "search", search)
    return asked


def texts(panel) -> str:
    return " | ".join(label.text() for label in panel.findChildren(QLabel) if label.isVisible())


def test_ranked_cases_are_cards_nearest_first(ranked):
    deck = ranked.grid.deck()
    assert [deck.words(place) for place in range(2)] == [
        "rank 1, c001, malignant, patient P001, distance 0.100",
        "rank 2, c002, benign, patient P002, distance 0.200",
    ]
    assert deck.alike.tolist()[:4] == [1, 2, 0, 1]
    assert ranked.grid.isVisible()
    assert deck.full == pytest.approx(2.5)
    assert ranked.told == "99 compared, 12 ms"
    assert not ranked.grab().isNull()


def test_the_strip_counts_the_nearest(ranked, context):
    assert "10 nearest: | 5 malignant, 5 benign" in texts(ranked)
    assert "Support, not a diagnosis" in texts(ranked)
    assert "no calibrated estimate" in texts(ranked)
    context.state.set_ranking(ranking(n=4, counts={"benign": 1}))
    assert "4 nearest: | 1 benign, 3 not given" in texts(ranked)
    context.state.set_ranking(ranking(counts={f"f{n}": 2 for n in range(5)}))
    assert "2 f0, 2 f1, 2 f2, 2 f3 and 1 more" in texts(ranked)


def test_a_ranking_without_cases(ranked, context):
    context.state.set_ranking(ranking(n=0, counts={}))
    assert "0 nearest:" in texts(ranked)
    assert len(ranked.grid.deck()) == 0


def test_findings_are_text_and_never_html(ranked, context):
    context.state.set_ranking(ranking(counts={"<b>odd</b>": 10}))
    label = next(label for label in ranked.findChildren(QLabel) if "odd" in label.text())
    assert label.textFormat() == Qt.TextFormat.PlainText


def test_no_good_match_is_said(ranked, context):
    assert "No good match" not in texts(ranked)
    context.state.set_ranking(ranking(no_good_match=True))
    assert "<b>No good match</b>: nearest is beyond the usual 2.000" in texts(ranked)


def test_what_is_hidden_is_counted(ranked, context):
    assert ranked.same_patient.text() == "same patient hidden (3)"
    assert ranked.alike.text() == "alike folded (2)"
    context.state.set_ranking(None)
    assert ranked.same_patient.text() == "same patient hidden"


@pytest.mark.parametrize(
    ("library", "title", "button"),
    [
        (None, "No cases yet", ""),
        (replace(BOARD, columns=case_columns([], [], [], [], [])), "No cases yet", ""),
        (replace(BOARD, feature_sets=(), metrics=()), "No features yet", "Extract features…"),
        (replace(BOARD, metrics=()), "No metric yet", "Train a metric"),
        (BOARD, "Ask with a case", ""),
        (snapshot(writable=False), "No metric to ask with", ""),
        (replace(snapshot(writable=False), feature_sets=()), "No metric to ask with", ""),
        (snapshot(metric("good", 0.9), writable=False), "Ask with a case", ""),
    ],
)
def test_without_a_ranking_it_says_what_is_next(qtbot, panel, context, library, title, button):
    context.state.set_library(library)
    assert title in texts(panel)
    assert not panel.grid.isVisible()
    buttons = [b.text() for b in panel.findChildren(QPushButton) if b.isVisible()]
    assert buttons == ([button] if button else [])


@pytest.mark.parametrize("what", ["extract", "train"])
def test_its_button_leads_there(qtbot, panel, context, what):
    sets = () if what == "extract" else BOARD.feature_sets
    context.state.set_library(replace(BOARD, feature_sets=sets, metrics=()))
    button = next(b for b in panel.findChildren(QPushButton) if b.isVisible())
    with qtbot.waitSignal(getattr(panel, f"{what}_wanted")):
        qtbot.mouseClick(button, LEFT)


def test_the_switches_rank_anew(qtbot, ranked, context, jobs, searches):
    qtbot.keyClick(ranked.same_patient, Qt.Key.Key_Space)
    qtbot.keyClick(ranked.alike, Qt.Key.Key_Space)
    jobs.let_run()
    assert searches[-1] == (ASKED, False, False)
    assert not context.state.hide_same_patient
    before = len(searches)
    context.state.set_option(hide_same_patient=True)
    assert ranked.same_patient.isChecked()
    jobs.let_run()
    assert len(searches) == before


def test_asking_goes_on_from_a_ranked_case(qtbot, ranked, context, jobs, searches):
    qtbot.keyClick(ranked.grid, Qt.Key.Key_Home)
    assert ranked.current_case() == "c001"
    ranked.ask_current()
    jobs.let_run()
    assert context.state.query == Query(case="c001")
    assert [query.case for query, *_ in searches] == ["c001"]


def test_enter_and_double_click_compare_with_the_query(qtbot, ranked, context, jobs, searches):
    wanted = []
    ranked.compare_wanted.connect(wanted.append)
    qtbot.keyClick(ranked.grid, Qt.Key.Key_Home)
    qtbot.keyClick(ranked.grid, Qt.Key.Key_Return)
    qtbot.mouseDClick(ranked.grid.viewport(), LEFT, pos=ranked.grid.card_rect(1).center())
    assert wanted == [1, 2]
    assert context.state.query == ASKED
    assert searches == []


def test_a_search_that_fails_leaves_no_ranking_of_another_query(ranked, context, jobs, monkeypatch):
    def fail(*_given, **_more):
        raise BadInput("It has no features.", "Extract them.")

    monkeypatch.setattr(searching, "search", fail)
    ranked.grid.setFocus()
    ranked.grid.set_current(1)
    ranked.ask_current()
    jobs.let_run()
    assert context.state.ranking is None
    assert "Ask with a case" in texts(ranked)
    assert [message.what for message in context.messages.history] == ["It has no features."]


def test_cases_that_are_gone_are_left_out(ranked, context):
    context.state.renew_library(snapshot(metric("good", 0.9), cases=6))
    assert len(ranked.grid.deck()) == 5


def test_a_new_ranking_begins_at_the_top(ranked, context):
    context.state.set_ranking(ranking(n=90))
    ranked.grab()
    bar = ranked.grid.verticalScrollBar()
    bar.setValue(bar.maximum())
    assert bar.value() > 0
    context.state.set_ranking(ranking(n=80))
    assert bar.value() == 0


def test_list_or_cards_is_remembered(qtbot, panel, open_panel, context):
    assert panel.view.value() == "grid"
    button = next(b for b in panel.view.findChildren(QToolButton) if b.toolTip() == "As a list")
    qtbot.mouseClick(button, LEFT)
    assert open_panel().view.value() == "list"


def test_the_strip_follows_the_text_size(qapp, ranked):
    before = ranked._strip.height()
    set_theme(qapp, "light", 1.5)
    ranked.grab()
    assert ranked._strip.height() == round(1.5 * before)
