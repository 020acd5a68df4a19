"""The table of what a file says."""

from __future__ import annotations

from pathlib import Path

import pytest
from PySide6.QtCore import Qt
from PySide6.QtGui import QGuiApplication
from PySide6.QtTest import QTest

from semblance.app.viewer.header_view import HeaderPanel
from semblance.core.errors import BadInput
from semblance.core.imaging.dicom.header_lines import HeaderLine
from semblance.core.imaging.image_address import ImageAddress
from semblance.core.searches.query import Query
from semblance.core.workflows.imaging import read_header
from semblance.core.workflows.imaging.read_header import HeaderTable
from tests.helpers.scored_snapshots import snapshot

LINES = [
    HeaderLine(0, "0008,0060", "Modality", "CS", "CT"),
    HeaderLine(0, "0010,0010", "Patient's Name", "PN", "Doe^Jane", identifying=True),
    HeaderLine(0, "0010,0030", "Patient's Birth Date", "DA", "", identifying=True),
    HeaderLine(0, "0040,A043", "Concept Name Code Sequence", "SQ", "1 item"),
    HeaderLine(1, "0008,0100", "Code Value", "SH", "<b>121320</b>"),
]
NAME, VALUE = 1, 3


@pytest.fixture
def dialog(qtbot, jobs, context, monkeypatch):
    monkeypatch.setattr(read_header, "read_header", lambda *_: HeaderTable("one.dcm", LINES, 7, dicom=True))
    dialog = HeaderPanel(context)
    qtbot.addWidget(dialog)
    dialog.show()
    dialog.read(None, ImageAddress(Path("one.dcm")), None)
    jobs.run_pending()
    return dialog


def cell(dialog, row, column, role=Qt.ItemDataRole.DisplayRole):
    return dialog.view.rows.data(dialog.view.rows.index(row, column), role)


def search(dialog, text):
    dialog.view.search.setText(text)
    dialog.view.search._pause.timeout.emit()


def test_every_entry_is_a_row_and_who_it_is_is_hidden(dialog):
    assert dialog.view.rows.rowCount() == 5
    assert "5 entries" in dialog.view.count_label.text()
    assert "7 more not listed" in dialog.view.count_label.text()
    assert cell(dialog, 0, VALUE) == "CT"
    assert cell(dialog, 1, VALUE) == "hidden"
    assert cell(dialog, 2, VALUE) == ""
    assert cell(dialog, 4, NAME).endswith("  Code Value")


def test_identifying_values_are_shown_on_request_and_hidden_in_the_next_file(dialog, jobs):
    dialog.view.show_identifying.click()
    assert cell(dialog, 1, VALUE) == "Doe^Jane"
    dialog.read(None, ImageAddress(Path("two.dcm")), None)
    jobs.run_pending()
    assert not dialog.view.show_identifying.isChecked()
    assert cell(dialog, 1, VALUE) == "hidden"


def test_searching_finds_tags_names_and_values_but_nothing_hidden(dialog):
    search(dialog, "00100010")
    assert [line.name for line in dialog.view.rows.found] == ["Patient's Name"]
    search(dialog, "patient BIRTH")
    assert [line.tag for line in dialog.view.rows.found] == ["0010,0030"]
    assert dialog.view.count_label.text().startswith("1 of 5 entries")
    search(dialog, "jane")
    assert dialog.view.rows.rowCount() == 0
    assert dialog.view.pages.currentWidget() is dialog.view.notice
    dialog.view.show_identifying.click()
    assert [line.name for line in dialog.view.rows.found] == ["Patient's Name"]
    assert dialog.view.pages.currentWidget() is dialog.view.table


def test_chosen_rows_are_copied_with_what_is_hidden_still_hidden(dialog):
    dialog.view.table.selectRow(1)
    QTest.keyClick(dialog.view.table, Qt.Key.Key_C, Qt.KeyboardModifier.ControlModifier)
    assert QGuiApplication.clipboard().text() == "0010,0010\tPatient's Name\tPN\thidden"
    dialog.view.table.clearSelection()
    dialog.view.copy_rows()
    text = QGuiApplication.clipboard().text()
    assert len(text.splitlines()) == 5
    assert "Jane" not in text


def test_values_are_never_taken_for_html(dialog):
    tip = cell(dialog, 4, VALUE, Qt.ItemDataRole.ToolTipRole)
    assert "&lt;b&gt;" in tip


def test_a_header_that_cannot_be_read_says_why(dialog, jobs, monkeypatch):
    def damaged(*_):
        raise BadInput("'x.dcm' is damaged.", "Copy it again.")

    monkeypatch.setattr(read_header, "read_header", damaged)
    dialog.read(None, ImageAddress(Path("x.dcm")), None)
    jobs.run_pending()
    assert dialog.view.pages.currentWidget() is dialog.view.notice
    assert "damaged" in dialog.view.notice._text.text()
    assert not dialog.view.copy_button.isEnabled()


def test_hiding_gives_the_reading_up_and_showing_reads_again(dialog, jobs):
    dialog.read(None, ImageAddress(Path("two.dcm")), None)
    dialog.hide()
    jobs.run_pending()
    assert dialog.view.rows.rowCount() == 0
    dialog.show()
    jobs.run_pending()
    assert dialog.view.rows.rowCount() == 5


def test_it_follows_the_case_with_its_search_text_until_it_is_hidden(dialog, jobs, context):
    context.state.set_library(snapshot())
    rows = [int(row) for row in context.state.columns.case_row[:3]]
    search(dialog, "modality")
    dialog.follow(rows[1])
    jobs.run_pending()
    assert dialog.view.search.text() == "modality"
    assert [line.name for line in dialog.view.rows.found] == ["Modality"]
    context.state.set_query(Query(case=context.state.columns.ids[0]))
    jobs.run_pending()
    assert dialog.view.rows.rowCount() == 1
    context.state.set_library(None)
    assert dialog.view.rows.rowCount() == 0


def test_other_files_have_no_tags_and_nothing_to_hide(dialog, jobs, monkeypatch):
    lines = [HeaderLine(0, "", "Format", "", "PNG")]
    monkeypatch.setattr(read_header, "read_header", lambda *_: HeaderTable("one.png", lines))
    dialog.read(None, ImageAddress(Path("one.png")), None)
    jobs.run_pending()
    assert not dialog.view.show_identifying.isVisible()
    assert dialog.view.table.isColumnHidden(0)
    assert cell(dialog, 0, VALUE) == "PNG"
