from __future__ import annotations

import pytest
from PySide6.QtCore import Qt
from PySide6.QtWidgets import QCheckBox, QComboBox, QFileDialog, QLabel, QLineEdit, QPushButton

from semblance.app.library.import_dialog import ImportDialog, default_library
from semblance.core.library.importers.importer import Recognition

LEFT = Qt.MouseButton.LeftButton
FOUND = [
    ("folder", "Folder of images", Recognition(0.9, "40 images in 2 folders.")),
    ("table", "Table", Recognition(0.4, "labels.csv has 3 <b>columns</b>.")),
]


@pytest.fixture
def source(tmp_path):
    made = tmp_path / "My images"
    made.mkdir()
    return made


@pytest.fixture
def open_dialog(qtbot, source):
    def make(library=None, source=source, found=FOUND):
        dialog = ImportDialog(source, found, library)
        qtbot.addWidget(dialog)
        dialog.show()
        return dialog

    return make


def place(dialog) -> QLineEdit:
    return next(field for field in dialog.findChildren(QLineEdit) if field.accessibleName())


def button(dialog, text) -> QPushButton:
    return next(button for button in dialog.findChildren(QPushButton) if button.text() == text)


def said(dialog) -> str:
    return " ".join(label.text() for label in dialog.findChildren(QLabel))


def test_kinds_are_offered_best_first_each_explained(qtbot, open_dialog):
    dialog = open_dialog()
    assert dialog.kind() == "folder"
    assert "40 images in 2 folders." in said(dialog)
    qtbot.keyClick(dialog.findChild(QComboBox), Qt.Key.Key_Down)
    assert dialog.kind() == "table"
    assert "40 images" not in said(dialog)
    told = next(label for label in dialog.findChildren(QLabel) if "columns" in label.text())
    assert told.textFormat() == Qt.TextFormat.PlainText


DICOM = [("dicom", "DICOM", Recognition(0.9, "40 DICOM files.")), FOUND[0]]


def test_ids_of_patients_are_kept_only_when_ticked(qtbot, open_dialog):
    dialog = open_dialog(found=DICOM)
    box = dialog.findChild(QCheckBox)
    assert not dialog.identified()
    assert "codes replace them" in said(dialog)
    qtbot.keyClick(box, Qt.Key.Key_Space)
    assert dialog.identified()
    qtbot.keyClick(dialog.findChild(QComboBox), Qt.Key.Key_Down)
    assert dialog.kind() == "folder"
    assert not box.isVisible()
    assert not dialog.identified()


def test_a_library_of_dicom_files_is_not_called_after_its_folder(open_dialog, tmp_path):
    assert open_dialog(found=DICOM).library() == tmp_path / "library.semblance"


def test_a_new_library_goes_beside_its_source(open_dialog, source, tmp_path):
    assert open_dialog().library() == tmp_path / "My images.semblance"


@pytest.mark.parametrize(
    ("typed", "becomes"),
    [
        ("new", "new.semblance"),
        ("new.semblance", "new.semblance"),
        ("Dr. Smith", "Dr. Smith.semblance"),
        ("My images", "My images"),
    ],
)
def test_a_typed_library_gets_its_ending_where_it_is_new(qtbot, open_dialog, tmp_path, typed, becomes):
    dialog = open_dialog()
    place(dialog).clear()
    qtbot.keyClicks(place(dialog), str(tmp_path / typed))
    assert dialog.library() == tmp_path / becomes


def test_a_library_can_be_chosen(qtbot, open_dialog, tmp_path, monkeypatch):
    dialog = open_dialog()
    monkeypatch.setattr(QFileDialog, "getSaveFileName", lambda *_: (str(tmp_path / "chosen"), ""))
    qtbot.mouseClick(button(dialog, "Choose…"), LEFT)
    assert dialog.library() == tmp_path / "chosen.semblance"
    monkeypatch.setattr(QFileDialog, "getSaveFileName", lambda *_: ("", ""))
    qtbot.mouseClick(button(dialog, "Choose…"), LEFT)
    assert dialog.library() == tmp_path / "chosen.semblance"


def test_nowhere_is_no_place_for_a_library(qtbot, open_dialog):
    dialog = open_dialog()
    place(dialog).clear()
    assert not dialog.add.isEnabled()
    qtbot.keyClicks(place(dialog), " ")
    assert not dialog.add.isEnabled()
    qtbot.keyClicks(place(dialog), "somewhere")
    assert dialog.add.isEnabled()


def test_more_images_go_into_the_library_that_is_open(open_dialog, tmp_path):
    library = tmp_path / "odd name"
    dialog = open_dialog(library)
    assert not place(dialog).isEnabled()
    assert not button(dialog, "Choose…").isEnabled()
    assert dialog.library() == library


def test_enter_adds_and_escape_does_not(qtbot, open_dialog):
    for key, result in ((Qt.Key.Key_Return, 1), (Qt.Key.Key_Escape, 0)):
        dialog = open_dialog()
        qtbot.keyClick(dialog, key)
        assert dialog.result() == result
        assert not dialog.isVisible()


def test_a_library_that_is_there_is_never_proposed(tmp_path):
    archive = tmp_path / "images.zip"
    archive.touch()
    assert default_library(archive) == tmp_path / "images.semblance"
    for name in ("images", "images 2"):
        (tmp_path / f"{name}.semblance").mkdir()
    assert default_library(archive) == tmp_path / "images 3.semblance"


def test_where_one_may_not_write_the_home_takes_the_library(tmp_path, private_home, monkeypatch):
    monkeypatch.setattr("os.access", lambda *_: False)
    assert default_library(tmp_path / "disc") == private_home / "disc.semblance"


def test_hostile_names_are_shown_as_they_are(open_dialog, tmp_path):
    dialog = open_dialog(source=tmp_path / "<b>bold<b>.zip")
    title = next(label for label in dialog.findChildren(QLabel) if "bold" in label.text())
    assert title.textFormat() == Qt.TextFormat.PlainText
