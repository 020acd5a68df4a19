"""The file header of the current similar case, and the notes on it."""

from __future__ import annotations

import pytest
from PySide6.QtCore import Qt
from PySide6.QtWidgets import QPushButton

from semblance.app.screenshot import wait_until_idle
from semblance.app.search.case_panel import CaseNotes, KeptNote
from semblance.app.shell import search_operations
from semblance.core.library.open_library import open_library
from semblance.core.searches.query import Query
from semblance.core.workflows.imaging.case_annotations import read_note
from semblance.core.workflows.library.library_snapshot import read_snapshot
from tests.helpers.striped_library import striped_library
from tests.helpers.tables import table_library
from tests.helpers.windows import open_window, search_first_case, wait_for

pytestmark = pytest.mark.usefixtures("without_processes")


@pytest.fixture(scope="module")
def library(tmp_path_factory):
    return striped_library(tmp_path_factory.mktemp("case"))


def test_case_shows_the_header_of_the_current_case(library):
    with open_window(library, workspace="read") as window:
        window.parts.layout.show_side("case")
        panel = window.panels.side.case
        search_first_case(window)
        ranked = window.state.ranking.ranked
        assert panel.case == ranked[0]
        wait_until_idle(window)
        assert panel.header.rows.found
        before = panel.header._name.text()
        window.panels.ranking.grid.set_current(ranked[3].row)
        wait_until_idle(window)
        assert panel.case == ranked[3]
        assert panel.header._name.text() != before


def test_notes_belong_to_the_case_and_reach_the_report_and_compare(qtbot, library):
    with open_window(library, workspace="read") as window:
        search_first_case(window)
        state, ranked = window.state, window.state.ranking.ranked
        window.parts.layout.show_side("notes")
        panel = window.panels.side.notes
        qtbot.keyClicks(panel.notes, "same margin ")
        qtbot.keyClicks(panel.notes, "as the query")
        panel.in_report.click()
        assert state.note(ranked[0].case_id) == "same margin as the query"
        assert state.is_in_report(ranked[0].case_id)
        window.panels.ranking.grid.set_current(ranked[1].row)
        assert panel.notes.toPlainText() == ""
        assert not panel.in_report.isChecked()
        window.panels.ranking.grid.set_current(ranked[0].row)
        assert panel.notes.toPlainText() == "same margin as the query"
        assert panel.in_report.isChecked()
        window.parts.full.compare(ranked[0].row)
        wait_until_idle(window)
        assert window.panels.compare.notes.toPlainText() == "same margin as the query"
        state.set_note(ranked[0].case_id, "changed elsewhere")
        assert window.panels.compare.notes.toPlainText() == "changed elsewhere"
        # What is kept with the case is one note, whichever box kept it.
        compare = window.panels.compare
        for keeper, text in ((panel, "changed elsewhere"), (compare.kept_note, "by comparing")):
            state.set_note(ranked[0].case_id, text)
            (keeper.kept if keeper is panel else keeper).keep()
            wait_until_idle(window)
            kept = f"Kept with the case: {text}"
            assert compare.kept_note.text() == panel.kept.text() == kept
        with open_library(library) as opened:
            assert opened.notes.of_cases([ranked[0].case_id])[ranked[0].case_id].text == "by comparing"
        qtbot.keyClick(window.panels.compare, Qt.Key.Key_Escape)
        search_operations.submit_query(window.context, Query(case=state.columns.ids[4]))
        wait_for(
            window, lambda: state.ranking is not None and state.ranking.query.case == state.columns.ids[4]
        )
        assert panel.notes.toPlainText() == ""


def test_a_note_is_kept_although_another_case_is_shown_at_once(context, jobs, qtbot, tmp_path):
    context.state.set_library(read_snapshot(table_library(tmp_path / "table", n=6)))
    in_report = QPushButton()
    notes = CaseNotes(context.state, in_report)
    kept = KeptNote(context, notes, "case note")
    for widget in (in_report, notes, kept, kept.button):
        qtbot.addWidget(widget)
    kept.show_case("t/c1")
    notes.setPlainText("spiculated")
    kept.keep()
    kept.show_case("t/c2")
    jobs.run_pending()
    assert read_note(context.state.location, "t/c1").text == "spiculated"
