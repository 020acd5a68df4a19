from __future__ import annotations

import pytest
from PIL import Image
from PySide6.QtCore import QSettings, Qt
from PySide6.QtWidgets import QFileDialog, QLabel

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
from semblance.app.shell.settings import Settings


@pytest.fixture
def settings(tmp_path) -> Settings:
    return Settings(QSettings(str(tmp_path / "s.ini"), QSettings.Format.IniFormat))


@pytest.fixture
def dialog(qtbot, settings):
    dialog = ReportDialog(query_selections("c000", ["c1", "c2"], ["c2"]), settings)
    qtbot.addWidget(dialog)
    dialog.show()
    return dialog


@pytest.fixture
def chosen_titles(monkeypatch, tmp_path):
    """The title of each file dialog. The dialogs return a file or a folder."""
    titles = []

    def file(_parent, title, *args):
        titles.append(title)
        return str(tmp_path / "mine"), args[-1]

    def folder(_parent, title, _begin):
        titles.append(title)
        return str(tmp_path)

    monkeypatch.setattr(QFileDialog, "getSaveFileName", file)
    monkeypatch.setattr(QFileDialog, "getExistingDirectory", folder)
    return titles


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


def test_text_in_images_is_blacked_out_if_that_is_chosen(qtbot, settings, chosen_titles, monkeypatch):
    monkeypatch.setattr(report_dialog, "is_text_detector_installed", lambda: True)
    for start in (False, True):
        settings.blacks_out_text = start
        dialog = ReportDialog(query_selections("c000", [], []), settings)
        qtbot.addWidget(dialog)
        dialog.show()
        assert dialog.clean_pixels.isChecked() == start
        assert (TEXT_STAYS in texts(dialog)) == (not start)
        dialog.clean_pixels.setChecked(True)
        assert TEXT_HIDDEN in texts(dialog)
        qtbot.mouseClick(dialog.create_button, Qt.MouseButton.LeftButton)
        assert dialog.options.clean_pixels
    dialog = ReportDialog(query_selections("c000", [], []), settings)
    qtbot.addWidget(dialog)
    dialog.format_box.setCurrentIndex(dialog.format_box.findData("csv"))
    assert not dialog.clean_pixels.isVisibleTo(dialog)
    qtbot.mouseClick(dialog.create_button, Qt.MouseButton.LeftButton)
    assert not dialog.options.clean_pixels


def test_text_in_images_stays_only_by_choice_where_nothing_can_find_it(qtbot, settings, monkeypatch):
    monkeypatch.setattr(report_dialog, "is_text_detector_installed", lambda: False)
    for asked in (False, True):
        settings.blacks_out_text = asked
        dialog = ReportDialog(query_selections("c000", [], []), settings)
        qtbot.addWidget(dialog)
        # Who asked for it in the settings gets an error instead of a report with text, or unticks it.
        assert (dialog.clean_pixels.isEnabled(), dialog.clean_pixels.isChecked()) == (asked, asked)
        assert "semblance-retrieval[ocr]" in dialog.clean_pixels.toolTip()


def test_one_report_gets_the_suffix_of_its_format(dialog, chosen_titles, tmp_path, qtbot):
    dialog.format_box.setCurrentIndex(dialog.format_box.findData("json"))
    dialog.comment.setPlainText("  Seen.  ")
    dialog.clinic.setText("Ward 7")
    qtbot.mouseClick(dialog.create_button, Qt.MouseButton.LeftButton)
    assert dialog.result() == ReportDialog.DialogCode.Accepted
    assert dialog.target == tmp_path / "mine.json"
    assert dialog.cases() == ()
    assert (dialog.options.clinic, dialog.options.comment) == ("Ward 7", "Seen.")
    assert not dialog.options.identified
    assert not dialog.options.free_text


def test_several_reports_are_written_into_a_folder(dialog, chosen_titles, tmp_path, qtbot):
    dialog.query_box.setCurrentIndex(1)
    qtbot.keyClick(dialog, Qt.Key.Key_Return)
    assert chosen_titles == ["Folder for the reports"]
    assert dialog.cases() == ("c1", "c2")
    assert dialog.target == tmp_path


def test_the_letterhead_is_stored_but_not_the_privacy_options(
    dialog, chosen_titles, settings, qtbot, tmp_path
):
    Image.new("RGB", (9, 9)).save(tmp_path / "logo.png")
    dialog.logo.setText(str(tmp_path / "logo.png"))
    dialog.clinic.setText("Ward 7")
    dialog.page.setCurrentText("letter")
    dialog.identified.setChecked(True)
    dialog.free_text.setChecked(True)
    dialog.create_button.click()
    assert dialog.options.free_text
    second = ReportDialog(query_selections("c000", [], []), settings)
    qtbot.addWidget(second)
    assert second.clinic.text() == "Ward 7"
    assert second.page.currentText() == "letter"
    assert not second.identified.isChecked()
    assert not second.free_text.isChecked()
    assert second.query_box.count() == 1


def test_a_missing_logo_is_reported(dialog, chosen_titles, tmp_path):
    dialog.logo.setText(str(tmp_path / "gone.png"))
    dialog.create_button.click()
    assert "There is no logo" in texts(dialog)
    assert dialog.isVisible()
    assert chosen_titles == []


def test_the_page_size_is_hidden_without_pages(dialog):
    assert dialog.page.isVisible()
    dialog.format_box.setCurrentIndex(dialog.format_box.findData("html"))
    assert not dialog.page.isVisible()


def test_an_assessment_says_what_it_is_and_asks_for_the_estimate(dialog, settings, qtbot, chosen_titles):
    settings.set_text("author", "anna")
    assert not dialog.estimate.isVisible()
    dialog.format_box.setCurrentIndex(dialog.format_box.findData("assessment"))
    assert dialog.estimate.isVisible()
    assert ASSESSED in texts(dialog)
    dialog.estimate.setCurrentIndex(dialog.estimate.findData("rejected"))
    # Of several queries nothing is said of an estimate.
    dialog.query_box.setCurrentIndex(1)
    assert not dialog.estimate.isVisible()
    dialog.query_box.setCurrentIndex(0)
    qtbot.mouseClick(dialog.create_button, Qt.MouseButton.LeftButton)
    assert (dialog.options.dicom, dialog.options.estimate, dialog.options.reader) == (
        "assessment",
        "rejected",
        "anna",
    )
    assert dialog.target.suffix == ".dcm"


def test_of_another_format_nothing_is_said_of_the_estimate(dialog, qtbot, chosen_titles):
    dialog.format_box.setCurrentIndex(dialog.format_box.findData("assessment"))
    dialog.estimate.setCurrentIndex(dialog.estimate.findData("accepted"))
    dialog.format_box.setCurrentIndex(dialog.format_box.findData("sr"))
    qtbot.mouseClick(dialog.create_button, Qt.MouseButton.LeftButton)
    assert dialog.options.estimate == ""
