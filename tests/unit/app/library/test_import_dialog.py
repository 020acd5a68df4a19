from __future__ import annotations

import re

import pytest
from PySide6.QtCore import Qt
from PySide6.QtWidgets import QCheckBox, QComboBox, QFileDialog, QLabel, QLineEdit, QPushButton

from semblance.app.library.import_dialog import ImportDialog, default_library
from semblance.core.library.importers.importer import Recognition

LEFT = Qt.MouseButton.LeftButton
KINDS = [
    ("folder", "Folder of images", Recognition(0.9, "40 images in 2 folders.")),
    ("table", "Table", Recognition(0.4, "labels.csv has 3 <b>columns</b>.")),
]


@pytest.fixture
def source(tmp_path):
    folder = tmp_path / "My images"
    folder.mkdir()
    return folder


@pytest.fixture
def open_dialog(qtbot, source):
    def make(library=None, source=source, kinds=KINDS):
        dialog = ImportDialog(source, kinds, library)
        qtbot.addWidget(dialog)
        dialog.show()
        return dialog

    return make


def folder_field(dialog) -> QLineEdit:
    return next(field for field in dialog.findChildren(QLineEdit) if field.accessibleName())


def button(dialog, text) -> QPushButton:
    return next(button for button in dialog.findChildren(QPushButton) if button.text() == text)


def texts(dialog) -> str:
    return " ".join(label.text() for label in dialog.findChildren(QLabel))


def test_kinds_are_offered_best_first_each_explained(qtbot, open_dialog):
    dialog = open_dialog()
    assert dialog.kind() == "folder"
    assert "40 images in 2 folders." in texts(dialog)
    qtbot.keyClick(dialog.findChild(QComboBox), Qt.Key.Key_Down)
    assert dialog.kind() == "table"
    assert "40 images" not in texts(dialog)
    explanation = next(label for label in dialog.findChildren(QLabel) if "columns" in label.text())
    assert explanation.textFormat() == Qt.TextFormat.PlainText


DICOM = [("dicom", "DICOM", Recognition(0.9, "40 DICOM files.")), KINDS[0]]


def test_patient_ids_are_stored_only_when_ticked(qtbot, open_dialog):
    dialog = open_dialog(kinds=DICOM)
    box = dialog.findChild(QCheckBox)
    assert not dialog.identified()
    assert "codes replace them" in texts(dialog)
    qtbot.keyClick(box, Qt.Key.Key_Space)
    assert dialog.identified()
    qtbot.keyClick(dialog.findChild(QComboBox), Qt.Key.Key_Down)
    assert dialog.kind() == "folder"
    assert not box.isVisible()
    assert not dialog.identified()


def test_a_library_of_dicom_files_is_not_named_after_its_folder(open_dialog, tmp_path):
    name = open_dialog(kinds=DICOM).library().name
    assert re.fullmatch(r"import \d{4}-\d\d-\d\d\.semblance", name)


def test_a_new_library_goes_beside_its_source(open_dialog, source, tmp_path):
    assert open_dialog().library() == tmp_path / "My images.semblance"


@pytest.mark.parametrize(
    ("typed", "expected"),
    [
        ("new", "new.semblance"),
        ("new.semblance", "new.semblance"),
        ("Dr. Smith", "Dr. Smith.semblance"),
        ("My images", "My images"),
    ],
)
def test_a_new_library_gets_the_suffix(qtbot, open_dialog, tmp_path, typed, expected):
    dialog = open_dialog()
    folder_field(dialog).clear()
    qtbot.keyClicks(folder_field(dialog), str(tmp_path / typed))
    assert dialog.library() == tmp_path / expected


def test_a_library_can_be_chosen(qtbot, open_dialog, tmp_path, monkeypatch):
    dialog = open_dialog()
    monkeypatch.setattr(QFileDialog, "getSaveFileName", lambda *_: (str(tmp_path / "chosen"), ""))
    qtbot.mouseClick(button(dialog, "Choose…"), LEFT)
    assert dialog.library() == tmp_path / "chosen.semblance"
    monkeypatch.setattr(QFileDialog, "getSaveFileName", lambda *_: ("", ""))
    qtbot.mouseClick(button(dialog, "Choose…"), LEFT)
    assert dialog.library() == tmp_path / "chosen.semblance"


def test_an_empty_folder_name_is_refused(qtbot, open_dialog):
    dialog = open_dialog()
    folder_field(dialog).clear()
    assert not dialog.add_button.isEnabled()
    qtbot.keyClicks(folder_field(dialog), " ")
    assert not dialog.add_button.isEnabled()
    qtbot.keyClicks(folder_field(dialog), "somewhere")
    assert dialog.add_button.isEnabled()


def test_images_are_added_to_the_open_library(open_dialog, tmp_path):
    library = tmp_path / "odd name"
    dialog = open_dialog(library)
    assert not folder_field(dialog).isEnabled()
    assert not button(dialog, "Choose…").isEnabled()
    assert dialog.library() == library


def test_enter_adds_and_escape_does_not(qtbot, open_dialog):
    for key, result in ((Qt.Key.Key_Return, 1), (Qt.Key.Key_Escape, 0)):
        dialog = open_dialog()
        qtbot.keyClick(dialog, key)
        assert dialog.result() == result
        assert not dialog.isVisible()


def test_an_existing_library_is_never_proposed(tmp_path):
    archive = tmp_path / "images.zip"
    archive.touch()
    assert default_library(archive) == tmp_path / "images.semblance"
    for name in ("images", "images 2"):
        (tmp_path / f"{name}.semblance").mkdir()
    assert default_library(archive) == tmp_path / "images 3.semblance"


def test_a_library_goes_to_the_home_folder_if_the_source_is_read_only(tmp_path, private_home, monkeypatch):
    monkeypatch.setattr("os.access", lambda *_: False)
    assert default_library(tmp_path / "disc") == private_home / "disc.semblance"


def test_html_in_names_is_shown_as_text(open_dialog, tmp_path):
    dialog = open_dialog(source=tmp_path / "<b>bold<b>.zip")
    title = next(label for label in dialog.findChildren(QLabel) if "bold" in label.text())
    assert title.textFormat() == Qt.TextFormat.PlainText
