from __future__ import annotations

import json
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
from PySide6.QtCore import Qt
from PySide6.QtWidgets import QCheckBox, QLabel, QMenu, QScrollArea, QToolButton

from semblance.app.library.panel import LISTED, LibraryPanel
from semblance.app.shell import search_operations
from semblance.app.shell.theme import set_theme
from semblance.app.widgets.thumbnail_loader import ThumbnailLoader
from semblance.core.imaging.region import Region
from semblance.core.library.case_columns import case_columns
from semblance.core.library.case_headers import DATE, GROUPS, READ, HeaderColumns, case_headers
from semblance.core.library.text_query import TextHit
from semblance.core.searches.query import Query
from semblance.core.workflows.library import find_cases
from tests.helpers.scored_snapshots import CASES, TRAINED, metric, snapshot

LEFT = Qt.MouseButton.LeftButton
LIBRARY = snapshot(metric("good", 0.9))
FINDINGS = ("benign", "malignant", "R&D <b>odd</b>")


@pytest.fixture
def open_panel(qtbot, context):
    def make():
        panel = LibraryPanel(context, ThumbnailLoader(lambda _rows, done: done([])))
        qtbot.addWidget(panel)
        # In the window they are in the header of the dock.
        panel.view.setParent(panel)
        panel.collapse_button.setParent(panel)
        panel.resize(260, 640)
        panel.show()
        return panel

    return make


@pytest.fixture
def panel(open_panel, context):
    panel = open_panel()
    context.state.set_library(LIBRARY)
    return panel


def box(panel, text) -> QCheckBox:
    """The present check box. Earlier ones may still wait for their deletion."""
    found = [box for box in panel.findChildren(QCheckBox) if box.text() == text]
    return next(box for filter_list in (panel._findings, panel._split) for box in found
                if box in filter_list._boxes.values())  # fmt: skip


def tick(qtbot, panel, text) -> None:
    check_box = box(panel, text)
    check_box.setFocus()
    qtbot.keyClick(check_box, Qt.Key.Key_Space)


def shown_cases(panel) -> list[str]:
    model = panel.grid.model()
    return [model.columns.ids[model.index(place)] for place in range(len(model))]


def shows(panel, text) -> bool:
    return text in [label.text() for label in panel.findChildren(QLabel)]


def test_all_cases_are_shown_and_counted(panel):
    assert len(shown_cases(panel)) == CASES
    assert shows(panel, "100 cases")
    assert box(panel, "benign").isChecked()
    assert shows(panel, "50")


def test_ticks_filter_by_finding(qtbot, panel):
    tick(qtbot, panel, "benign")
    assert shown_cases(panel) == [f"c{n:03d}" for n in range(1, CASES, 2)]
    assert shows(panel, "50 of 100 cases")
    tick(qtbot, panel, "malignant")
    assert shown_cases(panel) == []
    tick(qtbot, panel, "benign")
    tick(qtbot, panel, "malignant")
    assert len(shown_cases(panel)) == CASES


def test_ticks_filter_by_split(qtbot, panel):
    assert shows(panel, str(TRAINED))
    tick(qtbot, panel, "training")
    assert shown_cases(panel) == [f"c{n:03d}" for n in range(TRAINED, CASES)]
    tick(qtbot, panel, "held-out")
    assert shown_cases(panel) == []
    tick(qtbot, panel, "training")
    assert len(shown_cases(panel)) == TRAINED


def test_sealed_cases_are_a_part_of_the_split(qtbot, panel, context):
    sealed = tuple(range(TRAINED, TRAINED + 5))
    context.state.set_library(replace(LIBRARY, sealed=sealed))
    assert shows(panel, "5")
    assert shows(panel, str(CASES - TRAINED - 5))
    tick(qtbot, panel, "training")
    tick(qtbot, panel, "held-out")
    assert shown_cases(panel) == [f"c{n:03d}" for n in sealed]


def test_there_is_no_split_without_a_metric(panel, context):
    assert panel._split.isVisible()
    context.state.set_library(snapshot())
    assert not panel._split.isVisible()
    assert len(shown_cases(panel)) == CASES


def test_ticks_stay_when_cases_are_added_but_not_in_another_library(qtbot, panel, context):
    tick(qtbot, panel, "benign")
    context.state.renew_library(snapshot(metric("good", 0.9), cases=CASES + 2))
    assert not box(panel, "benign").isChecked()
    assert len(shown_cases(panel)) == CASES // 2 + 1
    # A new finding is shown, and the others stay as they were.
    context.state.renew_library(snapshot(findings=("benign", "malignant", "spiculated")))
    assert [box(panel, name).isChecked() for name in ("benign", "malignant", "spiculated")] == [
        False,
        True,
        True,
    ]
    context.state.set_library(snapshot(findings=("left", "right")))
    assert len(shown_cases(panel)) == CASES


@pytest.mark.qt_log_ignore("does not support", extend=True)
def test_the_menu_of_a_finding_shows_its_cases_only_or_all(qtbot, panel):
    for name, shown in (("malignant", CASES // 2), ("benign", CASES // 2), ("All", CASES)):
        check_box = box(panel, "benign" if name == "All" else name)
        check_box.customContextMenuRequested.emit(check_box.rect().center())
        menu = next(menu for menu in panel.findChildren(QMenu) if menu.isVisible())
        next(one for one in menu.actions() if one.text() in (name, f"Only {name}")).trigger()
        menu.close()
        assert len(shown_cases(panel)) == shown


def test_no_filter_is_kept_for_another_library(qtbot, panel, context):
    context.state.set_library(LIBRARY)
    qtbot.keyClicks(panel.search, "no such case")
    qtbot.mouseClick(box(panel, "malignant"), LEFT)
    assert len(panel.grid.model()) == 0
    context.state.set_library(replace(LIBRARY, location=Path("other.semblance")))
    assert panel.search.text() == ""
    assert len(panel.grid.model()) == len(LIBRARY.columns)


def test_text_filters_with_the_ticks(qtbot, panel):
    panel.focus_filter()
    qtbot.keyClicks(panel.search, "c00")
    qtbot.waitUntil(lambda: len(shown_cases(panel)) == 10)
    tick(qtbot, panel, "malignant")
    assert shown_cases(panel) == ["c000", "c002", "c004", "c006", "c008"]


def test_a_filtered_case_is_searched_with_by_keyboard(qtbot, panel, context):
    panel.activateWindow()
    panel.focus_filter()
    qtbot.keyClicks(panel.search, "c042")
    qtbot.waitUntil(lambda: shown_cases(panel) == ["c042"])
    qtbot.keyClick(panel.search, Qt.Key.Key_Down)
    assert panel.grid.hasFocus()
    qtbot.keyClick(panel.grid, Qt.Key.Key_Home)
    qtbot.keyClick(panel.grid, Qt.Key.Key_Return)
    assert context.state.query == Query(case="c042")


def test_enter_without_a_current_case_does_not_search(qtbot, panel, context):
    qtbot.keyClick(panel.grid, Qt.Key.Key_Return)
    panel.search_current()
    assert context.state.query is None


def test_the_current_case_follows_the_query(panel, context):
    context.state.set_query(Query(case="c077"))
    assert panel.current_case() == "c077"
    assert panel.grid.current_place() in panel.grid.visible_places()
    context.state.set_query(Query(case="no such case"))
    assert panel.current_case() == "c077"


def test_a_query_that_was_filtered_out_is_current_again_when_shown(qtbot, panel, context):
    context.state.set_query(Query(case="c001"))
    tick(qtbot, panel, "malignant")
    assert panel.current_case() is None
    tick(qtbot, panel, "malignant")
    assert panel.current_case() == "c001"


def test_stepping_stays_inside_the_filtered_cases(qtbot, panel, context):
    tick(qtbot, panel, "benign")
    for by, case in ((1, "c001"), (1, "c003"), (-1, "c001"), (-1, "c001"), (999, "c099")):
        panel.step(by)
        assert context.state.query == Query(case=case)
        panel._search_timer.stop()
    tick(qtbot, panel, "malignant")
    panel.step(1)
    assert context.state.query == Query(case="c099")


def test_while_a_key_is_held_only_the_first_and_the_last_case_are_searched_with(
    qtbot, panel, context, monkeypatch
):
    searched = []
    monkeypatch.setattr(search_operations, "submit_case", lambda _context, row: searched.append(row))
    rows = [panel.grid.model().case_row(place) for place in range(6)]
    panel.grid.set_current(rows[0])
    for _ in range(5):
        qtbot.keyClick(panel.grid, Qt.Key.Key_Down)
    assert searched == [rows[1]]
    panel._search_timer.timeout.emit()
    assert searched == [rows[1], rows[5]] and panel.grid.current() == rows[5]


def test_a_click_searches_ctrl_and_shift_only_select(qtbot, panel, context):
    row = [panel.grid.model().case_row(place) for place in range(4)]
    ids = context.state.columns.ids
    click(qtbot, panel, 1)
    assert context.state.query == Query(case=ids[1])
    for place, held in ((2, Qt.KeyboardModifier.ControlModifier), (3, Qt.KeyboardModifier.ShiftModifier)):
        click(qtbot, panel, place, held)
        assert len(panel.grid.selected()) == 2 and context.state.query == Query(case=ids[1])
    # A second click on the query keeps its region, and so does a double click.
    region = Region(2, 2, 8, 8)
    click(qtbot, panel, 1)
    context.state.set_region(region)
    click(qtbot, panel, 1)
    panel.grid.activated.emit(row[1])
    assert context.state.query == Query(case=ids[1], region=region)
    # The right button selects for the menu.
    qtbot.mouseClick(panel.grid.viewport(), Qt.MouseButton.RightButton, pos=panel.grid.card_rect(2).center())
    assert context.state.query == Query(case=ids[1], region=region)


def click(qtbot, panel, place, held=Qt.KeyboardModifier.NoModifier) -> None:
    qtbot.mouseClick(panel.grid.viewport(), LEFT, held, panel.grid.card_rect(place).center())


def test_grid_or_list_is_remembered(qtbot, open_panel, context):
    panel = open_panel()
    assert panel.view.value() == "list"
    button = next(b for b in panel.view.findChildren(QToolButton) if b.toolTip() == "As cards")
    qtbot.mouseClick(button, LEFT)
    assert open_panel().view.value() == "grid"
    context.settings.set_text("library_view", "nonsense")
    assert open_panel().view.value() == "list"


def test_many_findings_scroll(qtbot, panel, context):
    area = panel._findings.findChild(QScrollArea)
    assert area.verticalScrollBar().maximum() == 0
    context.state.set_library(snapshot(findings=[f"finding {n}" for n in range(12)], cases=120))
    area = panel._findings.findChild(QScrollArea)
    qtbot.waitUntil(lambda: area.verticalScrollBar().maximum() > 0)
    last = box(panel, "finding 11")
    area.ensureWidgetVisible(last)
    assert area.viewport().rect().contains(last.mapTo(area.viewport(), last.rect().center()))
    assert len(panel._findings._boxes) == 12 > LISTED


def test_larger_text_makes_the_list_of_findings_higher(qapp, panel):
    area = panel._findings.findChild(QScrollArea)
    before = area.height()
    set_theme(qapp, "light", 1.5)
    assert area.height() > before
    assert len(shown_cases(panel)) == CASES


def test_html_in_findings_is_shown_as_text(panel, context):
    context.state.set_library(snapshot(findings=FINDINGS))
    odd = box(panel, "R&&D <b>odd</b>")
    assert "<b>" not in odd.toolTip()


def test_cases_without_a_finding_can_be_ticked_too(qtbot, panel, context):
    findings = [None if n % 4 == 0 else "benign" for n in range(20)]
    names = [f"c{n:03d}" for n in range(20)]
    columns = case_columns(range(20), names, findings, [None] * 20, [0] * 20)
    context.state.set_library(replace(snapshot(), columns=columns))
    tick(qtbot, panel, "benign")
    assert shown_cases(panel) == names[::4]


def test_without_cases_or_library_the_panel_is_empty(panel, context):
    empty = case_columns([], [], [], [], [])
    context.state.set_library(replace(LIBRARY, columns=empty))
    assert shows(panel, "0 cases")
    context.state.set_library(None)
    assert shows(panel, "0 cases")
    assert not panel._findings.isVisible()
    assert np.array_equal(panel.grid.model().order, [])


def test_another_library_has_no_current_case(panel, context):
    panel.grid.set_current(int(context.state.columns.case_row[5]))
    context.state.set_library(LIBRARY)
    assert panel.grid.current() == int(context.state.columns.case_row[5]), "the same library: it stays"
    context.state.set_library(replace(LIBRARY, location=LIBRARY.location.with_name("other.semblance")))
    assert panel.current_case() is None


def test_cases_selected_on_a_plot_clear_the_text_filter(qtbot, panel, context):
    qtbot.keyClicks(panel.search, "no such case")
    qtbot.waitUntil(lambda: shown_cases(panel) == [])
    rows = context.state.columns.case_row[:2]
    context.state.set_selected_rows(rows)
    assert len(shown_cases(panel)) == 2
    assert panel.search.text() == ""


def test_a_shorter_list_starts_at_the_top(panel, context):
    panel.resize(220, 260)
    panel.show()
    bar = panel.grid.verticalScrollBar()
    bar.setValue(bar.maximum())
    assert bar.value() > 0
    context.state.set_selected_rows(context.state.columns.case_row[1:])
    assert bar.value() == 0


@pytest.mark.parametrize("key", [Qt.Key.Key_Return, Qt.Key.Key_Down, Qt.Key.Key_Escape])
def test_leaving_the_filter_selects_its_first_case(qtbot, panel, key):
    panel.show()
    panel.activateWindow()
    if key != Qt.Key.Key_Escape:
        qtbot.keyClicks(panel.search, panel.grid.model().columns.ids[2][:6])
    panel.focus_filter()
    qtbot.keyClick(panel.search, key)
    assert panel.grid.hasFocus()
    assert panel.grid.current_place() == 0


def test_cases_are_shown_by_patient_and_one_of_them_is_searched_with(qtbot, panel, context):
    qtbot.mouseClick(panel.view.findChildren(QToolButton)[2], LEFT)
    assert panel.patients.isVisible()
    assert not panel.grid.isVisible()
    panel.focus_cases()
    panel.patients.set_current(int(LIBRARY.columns.case_row[7]))
    qtbot.keyClick(panel.patients, Qt.Key.Key_Return)
    assert context.state.query == Query(case=LIBRARY.columns.ids[7])
    assert panel.current_case() == LIBRARY.columns.ids[7]
    tick(qtbot, panel, "benign")
    assert len(shown_cases(panel)) == CASES // 2
    assert shown_cases(panel) == [LIBRARY.columns.ids[i] for i in LIBRARY.tree.order if i % 2]


def test_the_filter_adds_what_the_headers_say(qtbot, panel, context, monkeypatch):
    rows = LIBRARY.columns.case_row[[3, 5]]
    searched = []

    def header_rows(_path, searched_words, *, reporter=None):
        searched.append(searched_words)
        return {word: rows if word == "spiculated" else rows[:0] for word in searched_words}

    monkeypatch.setattr("semblance.core.workflows.library.find_cases.header_rows", header_rows)
    panel.search.setText("spiculated")
    qtbot.waitUntil(lambda: shown_cases(panel) == [])
    context.jobs.run_pending()
    assert shown_cases(panel) == ["c003", "c005"]
    panel.search.setText("spiculated c003")
    qtbot.waitUntil(lambda: shown_cases(panel) == ["c003"])
    context.jobs.run_pending()
    assert searched == [["spiculated"], ["c003"]]


def test_cases_say_where_the_words_of_the_filter_are(qtbot, panel, context, monkeypatch):
    read = []

    def text_hits(_path, rows, text, *, reporter=None):
        read.append(rows)
        return {rows[0]: TextHit("notes", "a mass with spiculated margins", 12, 22)}

    rows = LIBRARY.columns.case_row[[3, 5]]
    monkeypatch.setattr(find_cases, "header_rows", lambda _path, of, reporter=None: dict.fromkeys(of, rows))
    monkeypatch.setattr(find_cases, "text_hits", text_hits)
    panel.search.setText("spiculated")
    qtbot.waitUntil(lambda: shown_cases(panel) == [])
    context.jobs.run_pending()
    context.jobs.run_pending()
    model = panel.grid.model()
    assert model.row_lines(0)[1] == "…spiculated margins"
    assert "Notes: a mass with spiculated margins" in model.describe(0)
    assert model.row_lines(1)[1] == ""
    panel.grid.set_current(model.case_row(1))
    panel.grid.set_current(model.case_row(0))
    assert panel.hit.text() == "Notes: a mass with spiculated margins"
    assert len(read) == 1, "what was read is kept"
    panel.search.clear()
    qtbot.waitUntil(lambda: len(shown_cases(panel)) == CASES)
    assert panel.hit.isHidden() and not panel.grid.model().hits


def test_studies_are_shown_by_patient_until_a_view_is_chosen(qtbot, panel, context):
    """A CD opens as its patients, studies and series; other libraries as a list."""
    assert panel.view.value() == "list"
    header = {"modality": "CT", "study": "1", "series": "a", "series_description": "2.0 lung"}
    said = HeaderColumns(
        np.array([0]),
        [40],
        [json.dumps([header.get(name) for name in READ])],
        {name: [header.get(name)] for name in (*GROUPS, DATE)},
    )
    headers = case_headers(said, np.arange(1))
    columns = case_columns(range(1), ["cd/1"], [None], ["P1"], [0], headers=headers)
    context.state.set_library(replace(snapshot(), location=Path("cd.semblance"), columns=columns))
    assert panel.view.value() == "patients"
    assert not panel._findings.isVisible(), "there is nothing to choose between"
    context.state.set_library(LIBRARY)
    assert panel.view.value() == "list"
    panel.view.changed.emit("grid")
    context.state.set_library(replace(snapshot(), location=Path("cd.semblance"), columns=columns))
    assert panel.view.value() == "grid"


def test_patients_of_another_library_are_collapsed_and_those_of_a_closed_one_are_not_kept(panel, context):
    panel.view.changed.emit("patients")
    panel.patients._set_expanded(0, expanded=True)
    assert panel.patients._expanded.any()
    context.state.set_library(replace(LIBRARY, location=Path("/other.semblance")))
    assert len(panel.patients._nodes)
    assert not panel.patients._expanded.any()
    panel.view.changed.emit("list")
    context.state.set_library(None)
    assert panel.patients._tree is None
