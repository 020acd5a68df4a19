from __future__ import annotations

import pytest
from PIL import Image
from PySide6.QtCore import QSettings, Qt
from PySide6.QtWidgets import QFileDialog, QLabel

from semblance.app.reports.report_dialog import DE_IDENTIFIED, FREE_TEXT, IDENTIFIED, ReportDialog, queries_of
from semblance.app.shell.settings import Settings


@pytest.fixture
def settings(tmp_path) -> Settings:
    return Settings(QSettings(str(tmp_path / "s.ini"), QSettings.Format.IniFormat))


@pytest.fixture
def dialog(qtbot, settings):
    made = ReportDialog(queries_of("c000", ["c1", "c2"], ["c2"]), settings)
    qtbot.addWidget(made)
    made.show()
    return made


@pytest.fixture
def chosen(monkeypatch, tmp_path):
    """What was asked for, by the filter; a file or a folder is chosen."""
    asked = []

    def file(*given):
        asked.append(given[-1])
        return str(tmp_path / "mine"), given[-1]

    def folder(*given):
        asked.append(given[-1])
        return str(tmp_path)

    monkeypatch.setattr(QFileDialog, "getSaveFileName", file)
    monkeypatch.setattr(QFileDialog, "getExistingDirectory", folder)
    return asked


def said(dialog) -> str:
    return " | ".join(label.text() for label in dialog.findChildren(QLabel) if label.isVisible())


def test_what_it_leaves_out_is_said_before_it_is_written(dialog):
    assert DE_IDENTIFIED in said(dialog)
    dialog._identified.setChecked(True)
    assert IDENTIFIED in said(dialog)
    assert DE_IDENTIFIED not in said(dialog)
    assert FREE_TEXT not in said(dialog)
    dialog._free_text.setChecked(True)
    assert FREE_TEXT in said(dialog)


def test_one_report_goes_into_a_file_with_its_ending(dialog, chosen, tmp_path, qtbot):
    dialog._form.setCurrentIndex(dialog._form.findData("json"))
    dialog._comment.setPlainText("  Seen.  ")
    dialog._clinic.setText("Ward 7")
    qtbot.mouseClick(dialog.write, Qt.MouseButton.LeftButton)
    assert dialog.result() == ReportDialog.DialogCode.Accepted
    assert dialog.target == tmp_path / "mine.json"
    assert dialog.cases() == ()
    assert (dialog.options.clinic, dialog.options.comment) == ("Ward 7", "Seen.")
    assert not dialog.options.identified
    assert not dialog.options.free_text


def test_many_go_into_a_folder(dialog, chosen, tmp_path, qtbot):
    dialog._of.setCurrentIndex(1)
    qtbot.keyClick(dialog, Qt.Key.Key_Return)
    assert chosen == ["Folder for the reports"]
    assert dialog.cases() == ("c1", "c2")
    assert dialog.target == tmp_path


def test_the_letterhead_is_remembered_and_the_choice_to_identify_is_not(
    dialog, chosen, settings, qtbot, tmp_path
):
    Image.new("RGB", (9, 9)).save(tmp_path / "logo.png")
    dialog._logo.setText(str(tmp_path / "logo.png"))
    dialog._clinic.setText("Ward 7")
    dialog._page.setCurrentText("letter")
    dialog._identified.setChecked(True)
    dialog._free_text.setChecked(True)
    dialog.write.click()
    assert dialog.options.free_text
    again = ReportDialog(queries_of("c000", [], []), settings)
    qtbot.addWidget(again)
    assert again._clinic.text() == "Ward 7"
    assert again._page.currentText() == "letter"
    assert not again._identified.isChecked()
    assert not again._free_text.isChecked()
    assert again._of.count() == 1


def test_a_logo_that_is_none_is_told_in_the_dialog(dialog, chosen, tmp_path):
    dialog._logo.setText(str(tmp_path / "gone.png"))
    dialog.write.click()
    assert "There is no logo" in said(dialog)
    assert dialog.isVisible()
    assert chosen == []


def test_pages_have_a_size_only_where_there_are_pages(dialog):
    assert dialog._page.isVisible()
    dialog._form.setCurrentIndex(dialog._form.findData("html"))
    assert not dialog._page.isVisible()
