"""The Ranking panel's strip, notice, other findings, options and folded cases."""

from __future__ import annotations

from dataclasses import replace

import pytest
from PySide6.QtCore import QPoint, Qt
from PySide6.QtWidgets import QLabel, QWidget

from semblance.app.search.similar.ranking_options import DIVERSE
from semblance.app.search.similar.ranking_panel import RankingPanel
from semblance.app.search.similar.summary_strip import THRESHOLD, PrevalenceDialog, edit_prevalences
from semblance.app.shell.theme import set_theme
from semblance.app.widgets.thumbnail_loader import ThumbnailLoader
from semblance.core.errors import BadArguments
from semblance.core.library.case_columns import case_columns
from semblance.core.searches.query import Query
from semblance.core.searches.similar_cases import RankedCase, Vote
from semblance.core.workflows.library.library_snapshot import read_snapshot
from semblance.core.workflows.searches import explain_distance, rank_cases
from semblance.core.workflows.searches.estimate import (
    FEWER,
    NOT_CALIBRATED,
    NOT_SCORED,
    OWN_PATIENT,
    REFINED,
    prevalences,
)
from semblance.core.workflows.searches.search_result import ENCODER, MatchCheck, SearchResult
from tests.helpers.ranked_searches import unrefined_search
from tests.helpers.scored_snapshots import metric, snapshot
from tests.helpers.tables import PLAIN, table_library
from tests.helpers.widgets import show_widget

LEFT = Qt.MouseButton.LeftButton
BOARD = snapshot(metric("good", 0.9))
QUERY = Query(case="c000")
VOTE = Vote(
    ("malignant",) * 7 + ("benign",) * 3,
    {"malignant": 7, "benign": 3},
    "malignant",
    0.71,
    (0.49, 0.87),
    "held-out patients",
    ("benign", "malignant"),
)


def case(number: int, rank: int | None = None, **more) -> RankedCase:
    rank = number if rank is None else rank
    finding = "malignant" if number % 2 else "benign"
    return RankedCase(rank, number, f"c{number:03d}", number / 10, finding, f"P{number:03d}", "", **more)


def ranking(vote=VOTE, **more) -> SearchResult:
    ranked = (
        case(1),
        case(2, near_duplicates=2, near_duplicate_rows=(40, 41), near_duplicate_distances=(0.2, 0.21)),
    )
    ranked += tuple(case(number) for number in range(3, 21))
    made = SearchResult(QUERY, "good", ranked, 99, 0, 2, vote.counts, False, None, {"search": 0.01}, vote)
    return replace(made, **more)


@pytest.fixture
def panel(qtbot, context):
    made = show_widget(qtbot, RankingPanel(context, ThumbnailLoader(lambda _rows, done: done([]))), 720, 620)
    context.state.set_library(BOARD)
    context.state.set_query(QUERY)
    return made


@pytest.fixture
def show(panel, context):
    def shown(result: SearchResult) -> RankingPanel:
        context.state.set_ranked_search(unrefined_search(result))
        return panel

    return shown


def texts(panel) -> str:
    return " | ".join(label.text() for label in panel.findChildren(QLabel) if label.isVisible())


def test_without_findings_there_are_no_counts(show, context):
    """A CD of CT: nothing is known of the cases but their images."""
    columns = case_columns(range(3), ["d/a", "d/b", "d/c"], [None] * 3, [None] * 3, [0] * 3)
    context.state.set_library(replace(BOARD, columns=columns, metrics=()))
    voters = (None, None)
    found = ranking(Vote(voters, {}, why_not=NOT_SCORED))
    nearest = tuple(replace(one, finding=None) for one in found.ranked[:2])
    panel = show(replace(found, ranked=nearest))
    said = texts(panel)
    assert "2 nearest. No case of the library has a finding." in said
    assert "not given" not in said
    assert "No estimate" not in said
    assert not panel.summary._chips.isVisible()
    model = panel.grid.model()
    assert [model.caption(model.index(place)) for place in range(2)] == ["b", "c"]


# The estimate


def test_estimate_is_between_its_findings_with_interval_and_badge(show):
    strip = show(ranking()).summary
    assert "<b>0.71</b>" in strip.estimate.text()
    assert "(0.49–0.87)" in strip.estimate.text()
    assert strip.scale.share == 0.71
    assert [pole[1] for pole in strip.scale.ends] == ["B", "M"]
    assert strip.badge.isVisible()
    assert strip.badge.kind == "held-out"
    assert "Not for decisions about a patient." in texts(strip)
    name = strip.scale.accessibleName()
    assert name == ("Estimate for malignant: 0.71, 95 % interval 0.49 to 0.87, tested on held-out patients")
    assert not strip.grab().isNull()


def test_ends_of_the_scale_do_not_swap(show):
    vote = replace(VOTE, finding="benign", counts={"benign": 7, "malignant": 3})
    scale = show(ranking(vote)).summary.scale
    assert [pole[1] for pole in scale.ends] == ["B", "M"]
    assert scale.share == pytest.approx(0.29)
    assert scale.interval == pytest.approx((0.13, 0.51))


def test_finding_named_by_a_number_is_separated_from_its_estimate(show, context):
    context.state.set_library(snapshot(metric("good", 0.9), findings=("1", "2")))
    context.state.set_query(QUERY)
    vote = replace(VOTE, finding="2", findings=("1", "2"), counts={"1": 3, "2": 7})
    assert "2:</span> <b>0.71</b>" in show(ranking(vote)).summary.estimate.text()


def test_of_several_findings_the_first_is_estimated(show, context):
    context.state.set_library(snapshot(metric("good", 0.9), findings=("a", "b", "c")))
    context.state.set_query(QUERY)
    vote = replace(VOTE, finding="b", findings=("a", "b", "c"))
    scale = show(ranking(vote)).summary.scale
    assert scale.ends[0] is None
    assert scale.ends[1][1] == "B"
    assert scale.share == 0.71


def test_badge_shows_what_the_metric_was_tested_on(show):
    vote = replace(VOTE, measured_on="held-out cases, unknown patients")
    assert show(ranking(vote)).summary.badge.kind == "unknown"


def test_label_is_shortened_before_the_counts(show):
    strip = show(ranking()).summary
    for width, head in ((900, "10 nearest:"), (545, "10:"), (600, "10 nearest:")):
        strip.resize(width, strip.height())
        strip.layout().activate()
        assert strip._count_label.text() == head
        assert strip._counts.shown_text() == "7 malignant, 3 benign"
    strip._counts.resize(90, 20)
    assert strip._counts.shown_text() == "7 M, 3 B", "the letters say it whole"
    assert "7 malignant, 3 benign" in strip._counts.toolTip()


def test_a_narrow_strip_shows_ten_findings_and_shortens_the_estimate_before_the_counts(show, context):
    strip = show(ranking(replace(VOTE, library_share=0.26))).summary
    shares = []
    for width in (900, 640, 470):
        strip.resize(width, strip.height())
        strip.layout().activate()
        assert strip._counts.shown_text() == "7 malignant, 3 benign"
        assert strip._chips.width() >= strip._chips.sizeHint().width()
        shares.append(strip._share.isVisible())
    assert shares == [False, True, True]
    assert strip.minimumSizeHint().width() < 470, "the panel can become narrower"


def test_reason_for_counts_only_uses_the_remaining_width(show, qtbot):
    strip = show(ranking(Vote(VOTE.voters, VOTE.counts, why_not=REFINED))).summary
    strip.setParent(None)
    qtbot.addWidget(strip)
    strip.show()
    for width, text in ((330, "No estimate: refined search"), (190, "refined search")):
        strip.resize(width, strip.height())
        strip.layout().activate()
        assert strip._note.shown_text() == text


def test_new_cases_make_the_estimate_stale(show, context):
    context.state.set_library(snapshot(metric("good", 0.9), cases=120))
    context.state.set_query(QUERY)
    assert show(ranking()).summary.badge.kind == "stale"


def test_number_of_cases_without_features_is_shown(show, context):
    context.state.set_library(snapshot(metric("good", 0.9), cases=120))
    context.state.set_query(QUERY)
    assert show(ranking()).status_text == "99 of 119"
    assert show(ranking(compared=119)).status_text == "119 cases"


@pytest.mark.parametrize(
    ("why", "words"),
    [
        (NOT_CALIBRATED, "No estimate: not calibrated"),
        (NOT_SCORED, "No estimate: not tested"),
        (REFINED, "No estimate: refined search"),
        (FEWER, "No estimate: without some features"),
        (OWN_PATIENT, "No estimate: own patient shown"),
    ],
)
def test_without_a_calibration_there_are_counts_only(show, why, words):
    vote = replace(VOTE, probability=None, interval=None, measured_on=None, why_not=why)
    strip = show(ranking(vote)).summary
    assert words in texts(strip)
    assert "7 malignant, 3 benign" in texts(strip)
    assert not strip.estimate.isVisible()
    assert not strip.badge.isVisible()


def test_the_strip_follows_theme_and_text_size(show, qapp):
    strip = show(ranking()).summary
    before = strip.height()
    set_theme(qapp, "light", 1.5)
    assert strip.height() > before
    set_theme(qapp, "dark", 1.0)
    assert strip.height() == before


def test_an_estimate_for_another_prevalence_says_so(show):
    strip = show(ranking()).summary
    assert not strip.remark.isVisible()
    show(ranking(replace(VOTE, prevalence=(0.1, 0.62))))
    assert strip.remark.text == "for a prevalence of 10 % instead of the library's 62 %"
    show(ranking(replace(VOTE, prevalence=(0.1, 0.62)), no_close_match=True))
    assert "prevalence" not in strip.remark.text


# No close match, and warnings


def test_no_close_match_is_said_in_place_of_the_estimate(show, qtbot, monkeypatch):
    panel = show(ranking(no_close_match=True, match=MatchCheck(ENCODER, 0.9, 0.5)))
    monkeypatch.setattr(panel.options, "show_menu", lambda: None)
    strip = panel.summary
    assert strip.remark.text.startswith("No close match in this library. The 5 nearest cases are farther")
    assert "than for 99 % of cases like those of this library" in strip.remark.accessibleDescription()
    assert not any(number in strip.remark.accessibleDescription() for number in ("0.9", "0.5"))
    assert not strip.estimate.isVisible()
    with qtbot.waitSignal(strip.act_requested) as asked:
        strip.act.clicked.emit()
    assert asked.args == [THRESHOLD]
    assert not show(ranking()).summary.remark.isVisible()
    assert not strip.act.isVisible()


def test_contradicting_findings_are_no_missing_match(show):
    strip = show(
        ranking(counts={"malignant": 5, "benign": 4, "normal": 1}, match=MatchCheck(ENCODER, 0.4, 0.5))
    ).summary
    assert strip.remark.text.startswith("Unclear: the findings of the similar cases contradict each other. ")
    assert strip.remark.accessibleDescription().endswith("5 malignant, 4 benign, 1 normal.")
    assert strip.estimate.isVisible()
    assert not strip.act.isVisible()


def test_warnings_of_the_query_are_shown(show):
    strip = show(ranking(warnings=("Draw the region to compare.",))).summary
    assert strip.remark.text == "Check the query. Draw the region to compare."
    assert not strip.act.isVisible()


def test_match_threshold_is_set_in_the_menu_and_ranked_again(panel, context, monkeypatch, jobs):
    searched = []

    def ask(_library, search, **_):
        searched.append((search.no_match_rate, search.diverse))
        return unrefined_search(ranking())

    monkeypatch.setattr(rank_cases, "rank_cases", ask)
    menu = panel.options.menu()
    words = [action.text() for action in menu.actions() if action.isCheckable()]
    assert words[:3] == ["Show diverse results", "Never show", "As for 0.5 % of the library's cases"]
    assert [action.text() for action in menu.actions() if action.isChecked()] == [
        "As for 1 % of the library's cases"
    ]
    next(
        action for action in menu.actions() if "5 %" in action.text() and "0.5" not in action.text()
    ).trigger()
    panel.options.diverse.setChecked(True)
    assert context.state.no_match_rate == 0.05
    assert context.state.diverse == DIVERSE
    jobs.run_pending()
    assert searched[-1] == (0.05, DIVERSE)
    context.state.change_search(diverse=0.0)
    assert not panel.options.diverse.isChecked()
    menu.deleteLater()


# The other finding


def test_cases_with_a_different_diagnosis_show_their_difference(show, monkeypatch, jobs, qtbot):
    monkeypatch.setattr(
        explain_distance,
        "most_different_groups",
        lambda _library, _search, cases: ["Outline", "AUC x", ""][: len(cases)],
    )
    panel = show(ranking())
    others = panel.others
    assert [(one.title, one.value) for one in others.strip.cases] == [("Nearest benign:", "rank 2")]
    # The ranking is painted before they are looked for, and images are loaded too.
    qtbot.waitUntil(lambda: jobs.run_pending() or "differs" in others.strip.cases[0].note)
    assert others.strip.cases[0].note == "differs in outline"
    assert "differs in outline" in others.strip.cases[0].text
    assert "distance" not in others.strip.cases[0].text
    height = others.height()
    panel = show(ranking(counts={}))
    assert (others.strip.cases, others.isVisible(), others.height()) == ((), True, height)


def test_other_diagnoses_are_reached_by_mouse_and_keys(show, context, qtbot):
    panel = show(ranking())
    strip, opened = panel.others.strip, []
    panel.compare_requested.connect(opened.append)
    qtbot.mouseClick(strip, LEFT, pos=strip.cell_rect(0).center())
    assert panel.grid.current() == 2
    strip.setFocus()
    qtbot.keyClick(strip, Qt.Key.Key_Right)
    assert strip.current() == panel.grid.current() == 2
    qtbot.keyClick(strip, Qt.Key.Key_Return)
    qtbot.mouseDClick(strip, LEFT, pos=strip.cell_rect(0).center())
    assert opened == [2, 2]
    assert strip.accessibleDescription().startswith("Nearest benign: rank 2, c002")


def test_low_panel_shows_other_diagnoses_in_one_line(show):
    panel = show(ranking(others=(case(2), case(4))))
    tall = panel.others.height()
    panel.resize(720, 420)
    panel.layout().activate()
    assert panel.others.sizeHint().height() < tall


# Near-duplicates


def test_near_duplicates_are_expanded_and_collapsed(show, qtbot):
    panel = show(ranking())
    assert len(panel.grid.model()) == 20
    card = panel.grid.card_rect(1)
    square_end = QPoint(card.right() - 8, card.y() + 4 + panel.grid._layout.image_side - 6)
    qtbot.mouseClick(panel.grid.viewport(), LEFT, pos=square_end)
    model = panel.grid.model()
    assert [model.case_row(place) for place in range(5)] == [1, 2, 40, 41, 3]
    assert [model.rank(place) for place in range(5)] == [1, 2, 2, 2, 3]
    assert model.distances[3] == 0.21
    panel.grid.set_current(41)
    panel.toggle_near_duplicates()
    assert [panel.grid.model().case_row(place) for place in range(3)] == [1, 2, 3]
    panel.toggle_near_duplicates(3)
    assert len(panel.grid.model()) == 20


def test_poorly_calibrated_estimate_shows_a_caution_and_moves_nothing(show):
    strip = show(ranking()).summary
    before = strip.height()
    words = "calibrated poorly: error 0.20, 0.18 by chance"
    show(ranking(replace(VOTE, caution=words, measured=60)))
    assert strip.remark.text == words
    assert "60 held-out cases" in strip.remark.accessibleDescription()
    assert strip.height() == before


IN_LIBRARY = [("benign", 0.38), ("malignant", 0.62)]


@pytest.fixture
def make(qtbot):
    def made(shares):
        dialog = PrevalenceDialog(IN_LIBRARY, shares)
        qtbot.addWidget(dialog)
        return dialog

    return made


def test_fields_are_percentages_and_empty_ones_are_the_librarys(make):
    dialog = make({"malignant": 0.1})
    assert dialog.fields["malignant"].text() == "10"
    assert (dialog.fields["benign"].text(), dialog.fields["benign"].placeholderText()) == ("", "38")
    assert dialog.shares() == {"malignant": 0.1}
    dialog.fields["malignant"].set_value(None)
    assert dialog.shares() == {}


@pytest.mark.parametrize("text", ["0", "100", "many"])
def test_an_impossible_share_cannot_be_set(make, qtbot, text):
    dialog = make({})
    qtbot.keyClicks(dialog.fields["malignant"], text)
    assert not dialog.accept_button.isEnabled()
    with pytest.raises(BadArguments):
        dialog.shares()


def test_findings_without_a_field_keep_their_share(make):
    assert make({"normal": 0.5, "benign": 0.2}).shares() == {"normal": 0.5, "benign": 0.2}


def test_what_is_set_is_recorded_in_the_library(qtbot, context, jobs, monkeypatch, tmp_path):
    library = table_library(tmp_path, metrics=(PLAIN,))
    context.state.set_library(read_snapshot(library))
    parent = QWidget()
    qtbot.addWidget(parent)

    def enter(dialog):
        dialog.fields["kind 1"].set_value(10)
        return PrevalenceDialog.DialogCode.Accepted

    monkeypatch.setattr(PrevalenceDialog, "exec", enter)
    edit_prevalences(context, parent)
    jobs.run_pending()
    assert prevalences(library) == {"kind 1": 0.1}
