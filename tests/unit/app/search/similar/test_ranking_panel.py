from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest
from PIL import Image
from PySide6.QtCore import Qt
from PySide6.QtWidgets import QLabel, QPushButton, QToolButton

from semblance.app.search.similar.ranking_panel import RankingPanel
from semblance.app.shell import search_operations
from semblance.app.shell.state import TrainingRun
from semblance.app.shell.theme import set_theme
from semblance.app.widgets.cards.card_layout import LARGE_CARDS, SMALL_CARDS, card_feedback_buttons
from semblance.app.widgets.cards.card_view import NONE
from semblance.app.widgets.thumbnail_loader import ThumbnailLoader
from semblance.core.errors import BadInput
from semblance.core.evaluation.evaluate_metric import HELD_OUT_PATIENTS
from semblance.core.library.case_columns import ImageAvailability, case_columns
from semblance.core.library.text_query import TextHit
from semblance.core.searches.feedback.judgements import Judgement, JudgementKind, QueryMarks
from semblance.core.searches.feedback.ledger import LedgerEntry
from semblance.core.searches.query import Query
from semblance.core.searches.search import Search
from semblance.core.searches.similar_cases import RankedCase, Vote
from semblance.core.workflows.imaging.card_images import WindowLevel
from semblance.core.workflows.library.import_source import import_source
from semblance.core.workflows.library.library_snapshot import read_snapshot
from semblance.core.workflows.searches import rank_cases
from semblance.core.workflows.searches.estimate import TRAINED
from semblance.core.workflows.searches.search_result import SearchResult, TextOrder
from tests.helpers.ranked_searches import unrefined_search
from tests.helpers.scored_snapshots import metric, snapshot
from tests.helpers.widgets import show_widget

LEFT = Qt.MouseButton.LeftButton
BOARD = snapshot(metric("good", 0.9))
QUERY = Query(case="c000")


def ranking(*, n=20, counts=None, **more) -> SearchResult:
    """Cases 1 to n at distances 0.1, 0.2 …"""
    ranked = tuple(
        RankedCase(i, i, f"c{i:03d}", i / 10, "malignant" if i % 2 else "benign", f"P{i:03d}", "", i % 3)
        for i in range(1, n + 1)
    )
    usual = {"same_patient": 0, "near_duplicates": 0, "no_close_match": False}
    counts = {"malignant": 5, "benign": 5} if counts is None else counts
    return SearchResult(
        QUERY, "good", ranked, 99, counts=counts, seconds={"ask": 0.0123}, **{**usual, **more}
    )


@pytest.fixture
def open_panel(qtbot, context):
    def make():
        return show_widget(
            qtbot, RankingPanel(context, ThumbnailLoader(lambda _rows, done: done([]))), 720, 480
        )

    return make


@pytest.fixture
def panel(open_panel):
    return open_panel()


@pytest.fixture
def ranked(panel, context):
    """The panel with a ranking of twenty cases."""
    context.state.set_library(BOARD)
    context.state.set_query(QUERY)
    context.state.set_ranked_search(unrefined_search(ranking(same_patient=3, near_duplicates=2)))
    return panel


@pytest.fixture
def searches(monkeypatch):
    """What was searched for, by (hide same patient, fold alike); each finds the same."""
    searched = []

    def ask(_library, search, **_):
        searched.append((search.query, search.hide_same_patient, search.group_duplicates))
        return unrefined_search(ranking())

    monkeypatch.setattr(rank_cases, "rank_cases", ask)
    return searched


def texts(panel) -> str:
    return " | ".join(label.text() for label in panel.findChildren(QLabel) if label.isVisible())


def test_ranked_cases_are_cards_nearest_first(ranked):
    model = ranked.grid.model()
    assert [model.describe(place) for place in range(2)] == [
        "rank 1, c001, malignant, patient P001, distance 0.100, +1 same lesion",
        "rank 2, c002, benign, patient P002, distance 0.200, +2 same lesion",
    ]
    assert model.near_duplicates.tolist()[:4] == [1, 2, 0, 1]
    assert ranked.grid.isVisible()
    assert model.full_distance == pytest.approx(2.5)
    assert ranked.status_text == "99 cases"
    assert not ranked.grab().isNull()


def test_sealed_cases_are_counted_beside_the_title(ranked, context):
    result = replace(ranking(), compared=90, sealed=9)
    context.state.set_ranked_search(unrefined_search(result))
    assert ranked.status_text == "90, 9 sealed"


def test_the_strip_counts_the_nearest(ranked, context):
    assert "10 nearest: | 5 malignant, 5 benign" in texts(ranked)
    assert "Not for decisions about a patient." in texts(ranked)
    assert "no calibrated estimate" in texts(ranked)
    context.state.set_ranked_search(unrefined_search(ranking(n=4, counts={"benign": 1})))
    assert "4 nearest: | 1 benign, 3 not given" in texts(ranked)
    context.state.set_ranked_search(unrefined_search(ranking(counts={f"f{n}": 2 for n in range(5)})))
    assert "2 f0, 2 f1, 2 f2, 2 f3 and 1 more" in texts(ranked)


def test_long_names_of_findings_do_not_widen_the_panel(ranked, context):
    before = ranked.header.minimumSizeHint().width()
    context.state.set_ranked_search(
        unrefined_search(ranking(counts={f"invasive carcinoma of no special type {n}": 2 for n in range(5)}))
    )
    assert ranked.header.minimumSizeHint().width() == before


def test_a_ranking_without_cases(ranked, context):
    context.state.set_ranked_search(unrefined_search(ranking(n=0, counts={})))
    assert "0 nearest:" in texts(ranked)
    assert len(ranked.grid.model()) == 0


def test_findings_are_text_and_never_html(ranked, context):
    context.state.set_ranked_search(unrefined_search(ranking(counts={"<b>odd</b>": 10})))
    label = next(label for label in ranked.findChildren(QLabel) if "odd" in label.text())
    assert label.textFormat() == Qt.TextFormat.PlainText


def test_no_close_match_is_shown(ranked, context):
    assert "No close match in this library" not in texts(ranked)
    context.state.set_ranked_search(unrefined_search(ranking(no_close_match=True)))
    ranked.resize(540, 700)
    assert "No close match in this library" in texts(ranked)


def test_hidden_cases_are_counted(ranked, context):
    assert ranked.same_patient.text() == "Hide same patient (3)"
    assert ranked.near_duplicates.text() == "Group the same lesion and copies (2)"
    context.state.set_ranked_search(None)
    assert ranked.same_patient.text() == "Hide same patient"


@pytest.mark.parametrize(
    ("library", "title", "button"),
    [
        (None, "No cases yet", ""),
        (replace(BOARD, columns=case_columns([], [], [], [], [])), "No cases yet", ""),
        (replace(BOARD, feature_sets=(), metrics=()), "No features yet", "Prepare for searching"),
        (replace(BOARD, metrics=()), "No metric yet", "Prepare for searching"),
        (BOARD, "Search with a case", ""),
        (snapshot(writable=False), "No metric to search with", ""),
        (replace(snapshot(writable=False), feature_sets=()), "No metric to search with", ""),
        (snapshot(metric("good", 0.9), writable=False), "Search with a case", ""),
    ],
)
def test_without_a_ranking_the_next_step_is_shown(qtbot, panel, context, library, title, button):
    context.state.set_library(library)
    assert title in texts(panel)
    assert not panel.grid.isVisible()
    buttons = [b.text() for b in panel.findChildren(QPushButton) if b.isVisible()]
    assert buttons == ([button] if button else [])


def test_running_work_is_not_offered_again(panel, context):
    context.state.set_library(replace(BOARD, feature_sets=(), metrics=()))
    context.state.set_extracting("Gabor texture")
    assert f"Gabor texture of {len(BOARD.columns)} cases" in texts(panel)
    assert not [b for b in panel.findChildren(QPushButton) if b.isVisible()]
    context.state.set_extracting("")
    assert "No features yet" in texts(panel)
    context.state.set_library(replace(BOARD, metrics=()))
    context.state.set_training(TrainingRun("mine", "bdm", 10))
    assert "Training mine" in texts(panel)
    context.state.set_training(TrainingRun("mine", "bdm", 10, running=False))
    assert "No metric yet" in texts(panel)


@pytest.mark.parametrize("sets", [(), BOARD.feature_sets])
def test_button_requests_the_next_step(qtbot, panel, context, sets):
    context.state.set_library(replace(BOARD, feature_sets=sets, metrics=()))
    button = next(b for b in panel.findChildren(QPushButton) if b.isVisible())
    with qtbot.waitSignal(panel.prepare_requested):
        qtbot.mouseClick(button, LEFT)


def test_switches_rank_again(qtbot, ranked, context, jobs, searches):
    qtbot.keyClick(ranked.same_patient, Qt.Key.Key_Space)
    qtbot.keyClick(ranked.near_duplicates, Qt.Key.Key_Space)
    jobs.run_pending()
    assert searches[-1] == (QUERY, False, False)
    assert not context.state.hide_same_patient
    before = len(searches)
    context.state.change_search(hide_same_patient=True)
    assert ranked.same_patient.isChecked()
    jobs.run_pending()
    assert len(searches) == before


def test_search_current_searches_with_the_ranked_case(qtbot, ranked, context, jobs, searches):
    qtbot.keyClick(ranked.grid, Qt.Key.Key_Home)
    assert ranked.current_case() == "c001"
    ranked.search_current()
    jobs.run_pending()
    assert context.state.query == Query(case="c001")
    assert [query.case for query, *_ in searches] == ["c001"]


def test_another_query_begins_without_a_current_case(ranked, context):
    """Why tells of the nearest case then, not of one that was near another query."""
    ranked.grid.set_current(2)
    context.state.set_ranked_search(unrefined_search(ranking()))
    assert ranked.grid.current() == 2
    other = replace(ranking(), query=Query(case="c004"))
    context.state.set_query(other.query)
    context.state.set_ranked_search(unrefined_search(other))
    assert ranked.grid.current() == NONE


def test_enter_and_double_click_compare_with_the_query(qtbot, ranked, context, jobs, searches):
    emitted = []
    ranked.compare_requested.connect(emitted.append)
    qtbot.keyClick(ranked.grid, Qt.Key.Key_Home)
    qtbot.keyClick(ranked.grid, Qt.Key.Key_Return)
    qtbot.mouseDClick(ranked.grid.viewport(), LEFT, pos=ranked.grid.card_rect(1).center())
    assert emitted == [1, 2]
    assert context.state.query == QUERY
    assert searches == []


def test_failed_search_clears_the_ranking_and_its_message_closes_with_the_next(
    ranked, context, jobs, monkeypatch
):
    def fail(*_given, **_more):
        raise BadInput("It has no features.", "Extract them.")

    monkeypatch.setattr(rank_cases, "rank_cases", fail)
    ranked.grid.setFocus()
    ranked.grid.set_current(1)
    ranked.search_current()
    jobs.run_pending()
    assert context.state.ranking is None
    assert "No results" in texts(ranked)
    assert [message.what for message in context.messages.history] == ["It has no features."]
    closed: list[str] = []
    context.messages.outdated.connect(closed.append)
    monkeypatch.setattr(rank_cases, "rank_cases", lambda *_, **__: unrefined_search(ranking()))
    search_operations.rank(context)
    jobs.run_pending()
    assert context.state.ranking is not None
    assert context.messages.history[0].topic in closed


def test_first_search_shows_that_it_runs(ranked, context, jobs, searches):
    context.state.set_ranked_search(None)
    context.state.set_query(Query(case="c3"))
    assert "Searching" in texts(ranked)
    context.state.set_ranked_search(None)
    assert "Searching" not in texts(ranked), "it failed"
    search_operations.rank(context)
    assert "Searching" in texts(ranked), "searched again"
    jobs.run_pending()
    context.state.restore_search(Search("good", Query(case="c4")))
    assert len(ranked.grid.model()), "a quick search does not flash"
    ranked._hold_timer.timeout.emit()
    assert "Searching" in texts(ranked), "a saved search is repeated"
    assert not len(ranked.grid.model())


def test_deleted_cases_are_not_shown(ranked, context):
    context.state.renew_library(snapshot(metric("good", 0.9), cases=6))
    assert len(ranked.grid.model()) == 5


def test_new_ranking_scrolls_to_the_top(ranked, context):
    context.state.set_ranked_search(unrefined_search(ranking(n=90)))
    ranked.grab()
    bar = ranked.grid.verticalScrollBar()
    bar.setValue(bar.maximum())
    assert bar.value() > 0
    context.state.set_ranked_search(unrefined_search(ranking(n=80)))
    assert bar.value() > 0, "the same query in another order stays where it was looked at"
    context.state.set_ranked_search(unrefined_search(replace(ranking(n=80), query=Query(case="c050"))))
    assert bar.value() == 0


def test_list_or_cards_is_remembered(qtbot, panel, open_panel, context):
    assert panel.view.value() == "grid"
    button = next(b for b in panel.view.findChildren(QToolButton) if b.toolTip() == "As a list")
    qtbot.mouseClick(button, LEFT)
    assert open_panel().view.value() == "list"


def test_rows_of_a_table_are_a_list_and_images_are_again_what_was_chosen(panel, context):
    state = np.full(len(BOARD.columns), ImageAvailability.NO_IMAGE, dtype=np.uint8)
    context.state.set_library(replace(BOARD, columns=replace(BOARD.columns, state=state)))
    assert (panel.view.value(), panel.view.isEnabled()) == ("list", False)
    context.state.set_library(BOARD)
    assert (panel.view.value(), panel.view.isEnabled()) == ("grid", True)


def test_the_strip_follows_the_text_size(qapp, ranked):
    before = ranked.summary.height()
    set_theme(qapp, "light", 1.5)
    ranked.grab()
    assert ranked.summary.height() == round(1.5 * before)


@pytest.mark.parametrize(
    ("size", "scale", "style"),
    [((790, 830), 1.0, LARGE_CARDS), ((560, 540), 1.0, SMALL_CARDS), ((860, 800), 1.5, LARGE_CARDS)],
)
def test_nothing_moves_but_the_order(qapp, ranked, context, size, scale, style):
    """Whatever a search, a mark or a library changes: header, strip, line, cards and other findings stay in place."""
    state, grid = context.state, ranked.grid
    set_theme(qapp, "dark", scale)
    grid.set_style(style)
    ranked.resize(*size)

    def geometry():
        ranked.layout().activate()
        layout = grid._layout
        parts = (ranked.header, ranked.summary, ranked.order, grid, ranked.others, ranked._second_line)
        cards = [layout.card(place) for place in range(4)]
        buttons = [card_feedback_buttons(card, layout) for card in cards]
        return [part.geometry() for part in parts], cards, buttons, layout.image_side

    def show(**changes):
        entries = changes.pop("entries", ())
        state.set_ranked_search(replace(unrefined_search(ranking(**changes)), entries=entries))

    def mark(kind):
        return (LedgerEntry(1, Judgement(kind, "c000", "c002")),)

    voted = Vote(("malignant",) * 9, {"malignant": 9}, "malignant", 0.9, (0.7, 1.0), HELD_OUT_PATIENTS)
    voted = replace(voted, findings=("benign", "malignant"), library_share=0.4)
    acts = {
        "a mark": lambda: show(entries=mark(JudgementKind.ALIKE), marks=QueryMarks(("c002",), ())),
        "undo": show,
        "a comparison": lambda: grid.comparison.begin(3),
        "an estimate": lambda: show(vote=voted),
        "a caution": lambda: show(vote=replace(voted, caution="calibrated poorly", prevalence=(0.1, 0.6))),
        "a query that was trained on": lambda: show(vote=Vote(trained=True, why_not=TRAINED)),
        "without its patient": lambda: show(without_patient=True),
        "no close match": lambda: show(no_close_match=True),
        "unclear": lambda: show(counts={"malignant": 4, "benign": 3, "normal": 3}),
        "a warning": lambda: show(warnings=("Draw the region.",)),
        "one finding": lambda: show(counts={}),
        "a growing ranking": lambda: show(n=4),
        "more hidden cases": lambda: show(same_patient=1234, near_duplicates=999),
    }
    show()
    before = geometry()
    for name, act in (*acts.items(), *reversed(acts.items())):
        act()
        assert geometry() == before, name
        grid.comparison.cancel()


class TestWindowLevelOfTheQuery:
    @pytest.fixture
    def images(self, tmp_path, context, jobs):
        """A library of three ramps, one of 16 bits and one in colour."""
        folder = tmp_path / "ramps"
        folder.mkdir()
        ramp = np.tile(np.arange(200, dtype=np.uint8), (100, 1))
        Image.fromarray(ramp).save(folder / "a.png")
        Image.fromarray(ramp.astype(np.uint16) * 100).save(folder / "b.png")
        Image.fromarray(np.dstack([ramp, ramp[:, ::-1], ramp])).save(folder / "c.png")
        library = tmp_path / "Ramps.semblance"
        import_source(folder, library)
        context.state.set_library(read_snapshot(library))
        yield context.state.columns

    def test_thumbnails_use_the_window_level_of_the_query(self, open_panel, context, jobs, images, qtbot):
        panel = open_panel()
        usual = panel.grid._source
        context.state.set_window_level(WindowLevel(100.0, 100.5))
        qtbot.mouseClick(panel.window_level, LEFT)
        made = panel.grid._source
        assert made is not usual
        rows = [int(row) for row in images.case_row]
        for row in rows:
            made.get(row)
        made._send_timer.timeout.emit()
        jobs.run_pending()
        a, b, c = (made.get(row) for row in rows)
        # In the 8-bit ramp everything up to 100 is black and the rest white.
        assert [a.pixelColor(x, 80).red() for x in (140, 180)] == [0, 255]
        # 16 bits without a unit mean something else, and colour has no window and level: both as always.
        assert 0 < b.pixelColor(160, 80).red() < 255
        assert c.pixelColor(160, 80).red() != c.pixelColor(20, 80).red()
        qtbot.mouseClick(panel.window_level, LEFT)
        assert panel.grid._source is usual

    def test_window_level_is_applied_after_a_delay(self, open_panel, context, jobs, images, qtbot):
        panel = open_panel()
        context.state.set_window_level(WindowLevel(0.0, 255.0))
        qtbot.mouseClick(panel.window_level, LEFT)
        made = panel.grid._source
        row = int(images.case_row[0])
        for low, high, negative, expected in ((0, 100, False, 255), (0, 100, True, 0), (150, 199, False, 0)):
            context.state.set_window_level(WindowLevel(low, high, negative=negative))
            assert panel._thumbnails._delay.isActive()
            panel._thumbnails._delay.timeout.emit()
            made.get(row)
            made._send_timer.timeout.emit()
            jobs.run_pending()
            assert made.get(row).pixelColor(180, 80).red() == expected

    def test_without_a_window_level_thumbnails_are_unchanged(self, open_panel, context, jobs, images, qtbot):
        panel = open_panel()
        usual = panel.grid._source
        qtbot.mouseClick(panel.window_level, LEFT)
        assert panel.grid._source is usual
        context.state.set_window_level(WindowLevel(0.0, 9.0))
        panel._thumbnails._delay.timeout.emit()
        assert panel.grid._source is not usual
        context.state.set_window_level(None)
        panel._thumbnails._delay.timeout.emit()
        assert panel.grid._source is usual


def test_counts_in_the_header_do_not_widen_the_panel(ranked, context, qtbot):
    with_counts = ranked.header.minimumSizeHint().width()
    context.state.set_ranked_search(unrefined_search(ranking(same_patient=0, near_duplicates=0)))
    assert ranked.same_patient.text() == "Hide same patient"
    assert ranked.header.minimumSizeHint().width() == with_counts
    context.state.set_ranked_search(unrefined_search(ranking(same_patient=3)))
    box = ranked.same_patient
    qtbot.waitUntil(lambda: box.text() == "Hide same patient (3)")
    box.resize(box.minimumSizeHint())
    assert box.text() == "Hide same patient"
    assert box.accessibleName() == "Hide same patient (3)"


@pytest.mark.parametrize(("width", "in_header"), [(900, True), (540, False)])
def test_switches_are_visible_in_any_width(ranked, width, in_header):
    ranked.resize(width, 480)
    ranked.layout().activate()
    for box in (ranked.same_patient, ranked.near_duplicates):
        assert box.isVisible()
        assert box.width() >= box.minimumSizeHint().width()
        assert ranked.header.isAncestorOf(box) == in_header


def test_a_switch_without_space_for_its_text_has_a_shorter_one(ranked):
    box = ranked.same_patient
    box.resize(box.minimumSizeHint().width() - 8, box.height())
    assert box.text() == "Hide patient"
    assert box.accessibleName().startswith("Hide same patient")


def test_cards_say_where_the_words_are_that_order_them(panel, context):
    context.state.set_library(BOARD)
    context.state.set_query(QUERY)
    hits = {2: TextHit("notes", "a mass with spiculated margins", 12, 22)}
    found = replace(ranking(), text=TextOrder("spiculated", 1, 60, hits))
    context.state.set_ranked_search(unrefined_search(found))
    model = panel.grid.model()
    place = model.position_of(2)
    assert model.notes[place][0] == "…spiculated margins"
    assert "a mass with spiculated margins" in model.describe(place)
    assert model.notes[model.position_of(3)] == ("", "")
