"""The report dialog: what it leaves out, the name and folder of the file, and the preview of what is asked for."""

from __future__ import annotations

import io

import pytest
from PIL import Image
from PySide6.QtCore import Qt
from PySide6.QtWidgets import QLabel

from semblance.app.reports import report_dialog
from semblance.app.reports.report_dialog import (
    ASSESSED,
    DE_IDENTIFIED,
    FREE_TEXT,
    IDENTIFIED,
    TEXT_HIDDEN,
    TEXT_STAYS,
    ReportDialog,
    query_selections,
)
from semblance.app.shell.settings import REPORT_CLINIC, REPORT_LOGO, REPORT_PAGE, WRITE_FOLDER
from semblance.app.widgets import clean_pixels
from semblance.core.searches.query import Query
from semblance.core.workflows.reports.write_reports import ReportPreview
from tests.helpers.scored_snapshots import metric, snapshot


@pytest.fixture
def made(qtbot, context, tmp_path):
    """Makes a dialog that saves into ``tmp_path``."""
    context.settings.set_text(WRITE_FOLDER, str(tmp_path))

    def make(*cases: list[str]) -> ReportDialog:
        dialog = ReportDialog(context, query_selections("c000", *(cases or ([], []))))
        qtbot.addWidget(dialog)
        dialog.show()
        return dialog

    return make


@pytest.fixture
def dialog(made, monkeypatch, tmp_path):
    monkeypatch.setattr(report_dialog, "target_folder", lambda: str(tmp_path))
    return made(["c1", "c2"], ["c2"])


def choose(box, value):
    box.setCurrentIndex(box.findData(value))


def texts(dialog) -> str:
    return " | ".join(label.text() for label in dialog.findChildren(QLabel) if label.isVisible())


def test_the_dialog_describes_what_is_left_out(dialog):
    assert DE_IDENTIFIED in texts(dialog)
    dialog.identified.setChecked(True)
    assert IDENTIFIED in texts(dialog)
    assert DE_IDENTIFIED not in texts(dialog)
    assert FREE_TEXT not in texts(dialog)
    dialog.free_text.setChecked(True)
    assert FREE_TEXT in texts(dialog)


def test_text_in_images_is_blacked_out_if_that_is_chosen(made, context, monkeypatch):
    monkeypatch.setattr(clean_pixels, "is_text_detector_installed", lambda: True)
    for start in (False, True):
        context.settings.blacks_out_text = start
        dialog = made()
        assert dialog.clean_pixels.isChecked() == start
        assert (TEXT_STAYS in texts(dialog)) == (not start)
        dialog.clean_pixels.setChecked(True)
        assert TEXT_HIDDEN in texts(dialog)
        assert dialog.options().clean_pixels
    choose(dialog.format_box, "csv")
    assert not dialog.clean_pixels.isVisibleTo(dialog)
    assert not dialog.options().clean_pixels


def test_text_in_images_stays_only_by_choice_where_nothing_can_find_it(made, context, monkeypatch):
    monkeypatch.setattr(clean_pixels, "is_text_detector_installed", lambda: False)
    for asked in (False, True):
        context.settings.blacks_out_text = asked
        dialog = made()
        # Who asked for it in the settings gets an error instead of a report with text, or unticks it.
        assert (dialog.clean_pixels.isEnabled(), dialog.clean_pixels.isChecked()) == (asked, asked)
        assert "help page Installation" in dialog.clean_pixels.toolTip()


def test_enter_saves_under_a_free_name_that_names_nobody(dialog, tmp_path, qtbot):
    dialog.comment.setPlainText("  Seen.  ")
    proposed = dialog.name.text()
    assert proposed.startswith("report 2") and proposed.endswith(".pdf")
    assert "c000" not in proposed
    qtbot.keyClick(dialog, Qt.Key.Key_Return)
    assert dialog.result() == ReportDialog.DialogCode.Accepted
    request = dialog.request
    assert (request.target, request.cases, request.suffix) == (tmp_path / proposed, (), ".pdf")
    assert (request.options.comment, request.options.identified, request.options.free_text) == (
        "Seen.",
        False,
        False,
    )


def test_a_file_that_exists_is_replaced_only_when_it_is_saved_again(dialog, tmp_path):
    (tmp_path / "mine.json").touch()
    choose(dialog.format_box, "json")
    dialog.name.setText("mine")
    dialog.save()
    assert dialog.isVisible()
    assert "mine.json exists" in dialog.warning.text()
    dialog.save()
    assert dialog.request.target == tmp_path / "mine.json"


def test_several_reports_are_written_into_a_new_folder(dialog, tmp_path):
    dialog.query_box.setCurrentIndex(1)
    dialog.save()
    assert dialog.request.cases == ("c1", "c2")
    assert dialog.request.target.parent == tmp_path
    assert dialog.request.target.name.startswith("reports 2")


def test_the_letterhead_is_that_of_the_settings_and_a_missing_logo_is_reported(made, context, tmp_path):
    Image.new("RGB", (9, 9)).save(tmp_path / "logo.png")
    for key, text in (
        (REPORT_CLINIC, "Ward 7"),
        (REPORT_PAGE, "letter"),
        (REPORT_LOGO, str(tmp_path / "logo.png")),
    ):
        context.settings.set_text(key, text)
    options = made().options()
    assert (options.clinic, options.page, options.logo[:4]) == ("Ward 7", "letter", b"\x89PNG")
    context.settings.set_text(REPORT_LOGO, str(tmp_path / "gone.png"))
    dialog = made()
    assert "There is no logo" in texts(dialog)
    dialog.save()
    assert dialog.request is None


def test_formats_of_plug_ins_are_offered(made, monkeypatch):
    monkeypatch.setattr(report_dialog, "report_endings", lambda: (".pdf", ".odt"))
    dialog = made()
    choose(dialog.format_box, "odt")
    assert dialog.format_box.currentText() == "ODT, by a plug-in"
    assert dialog.target().suffix == ".odt"


def test_an_assessment_says_what_it_is_and_asks_for_the_estimate(dialog, context):
    context.settings.set_text("author", "anna")
    assert not dialog.estimate.isVisible()
    choose(dialog.format_box, "assessment")
    assert dialog.estimate.isVisible()
    assert ASSESSED in texts(dialog)
    choose(dialog.estimate, "rejected")
    # Of several queries nothing is said of an estimate.
    dialog.query_box.setCurrentIndex(1)
    assert not dialog.estimate.isVisible()
    dialog.query_box.setCurrentIndex(0)
    options = dialog.options()
    assert (options.dicom, options.estimate, options.reader) == ("assessment", "rejected", "anna")
    assert dialog.target().suffix == ".dcm"
    choose(dialog.format_box, "sr")
    assert dialog.options().estimate == ""


def test_the_preview_shows_the_newest_request_and_its_errors(made, context, monkeypatch):
    page = io.BytesIO()
    Image.new("RGB", (40, 60)).save(page, "PNG")
    asked = []

    def preview(_library, _search, suffix, options, _width, **_more):
        asked.append((suffix, options.comment))
        return ReportPreview((page.getvalue(),), 9) if suffix == ".pdf" else ReportPreview(text="a,b")

    monkeypatch.setattr(report_dialog, "preview_report", preview)
    context.state.set_library(snapshot(metric("plain", None)))
    context.state.set_metric("plain")
    context.state.set_query(Query(case=context.state.columns.ids[0]))
    dialog = made()
    for text in ("S", "Seen"):
        dialog.comment.setPlainText(text)
    dialog.preview._start()
    context.jobs.run_pending()
    assert asked[-1] == (".pdf", "Seen")
    assert len(dialog.preview.pages) == 1
    assert dialog.preview.status.text() == "The first 1 of 9 pages"
    choose(dialog.format_box, "csv")
    dialog.preview._start()
    context.jobs.run_pending()
    assert dialog.preview.text.toPlainText() == "a,b"
    assert dialog.preview.views.currentWidget() is dialog.preview.text
