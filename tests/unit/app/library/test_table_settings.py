"""A table that was misread is read in another way, and its first rows show it before it is imported."""

from __future__ import annotations

import pytest
from PySide6.QtWidgets import QComboBox, QLabel, QPushButton, QTableWidget

from semblance.app.library.import_dialog import ImportDialog
from semblance.core.errors import SemblanceError
from semblance.core.library.importers.importer import Recognition
from semblance.core.workflows.library.preview_table import preview_of_list, preview_of_table

KINDS = [("table", "Table", Recognition(0.9, "1 table.")), ("folder", "Folder", Recognition(0.1, "x"))]


@pytest.fixture
def dialog(qtbot, tmp_path):
    file = tmp_path / "two ways.csv"
    file.write_text("who;size;label\nP1;1,234;x\nP2;950;y\n")

    def preview(kind, settings, view):
        try:
            read = preview_of_table if kind == "table" else preview_of_list
            view.show_preview(read(file, settings))
        except SemblanceError as error:
            view.show_error(error)

    made = ImportDialog(file, KINDS, None, preview=preview)
    qtbot.addWidget(made)
    made.show()
    return made


def box(dialog, name) -> QComboBox:
    return next(one for one in dialog.table.findChildren(QComboBox) if one.accessibleName() == name)


def choose(dialog, name, text):
    box(dialog, name).setCurrentIndex(box(dialog, name).findText(text))


def headers(dialog):
    table = dialog.table.findChild(QTableWidget)
    return [table.horizontalHeaderItem(place).text() for place in range(table.columnCount())]


def test_a_table_that_can_be_read_in_two_ways_is_settled_in_the_dialog(dialog):
    assert not dialog.add_button.isEnabled()
    assert "may have a decimal sign" in " ".join(label.text() for label in dialog.findChildren(QLabel))
    choose(dialog, "Decimal sign", "comma")
    assert dialog.add_button.isEnabled()
    assert headers(dialog) == ["who\nattribute", "size\nfeature", "label\nfinding"]
    assert box(dialog, "Finding").currentText() == "automatic: label"
    assert box(dialog, "Patients").currentText() == "automatic"
    choose(dialog, "Patients", "who")
    assert headers(dialog)[0] == "who\npatient"
    assert dialog.settings() == ("decimal=,", "patient=who")
    choose(dialog, "Separator", "comma")
    assert not dialog.add_button.isEnabled()


def test_other_kinds_have_no_settings(dialog):
    choose(dialog, "Separator", "comma")
    next(one for one in dialog.findChildren(QComboBox) if one.findText("Folder") >= 0).setCurrentIndex(1)
    assert dialog.settings() == ()
    assert not dialog.table.isVisible()
    assert dialog.findChild(QPushButton) is not None
    assert dialog.add_button.isEnabled()


@pytest.fixture
def list_dialog(qtbot, tmp_path):
    folder = tmp_path / "chest"
    folder.mkdir()
    (folder / "1.png").write_bytes(b"\x89PNG\r\n\x1a\n")
    (folder / "Data_Entry_2017.csv").write_text(
        "Image Index,Finding Labels,Patient ID,Patient Age,Other\n1.png,Mass|Nodule,7,58,x\n"
    )

    def preview(kind, settings, view):
        assert kind == "folder"
        view.show_preview(preview_of_list(folder, settings))

    made = ImportDialog(folder, KINDS[::-1], None, preview=preview)
    qtbot.addWidget(made)
    made.show()
    return made


def test_a_list_of_images_says_what_its_columns_are_taken_as_and_by_which_rule(list_dialog):
    assert list_dialog.list.isVisibleTo(list_dialog)
    assert "Data_Entry_2017.csv (ChestX-ray14)" in " ".join(
        label.text() for label in list_dialog.findChildren(QLabel)
    )
    table = list_dialog.list.findChild(QTableWidget)
    assert [table.horizontalHeaderItem(place).text() for place in range(table.columnCount())] == [
        "Image Index\nimage",
        "Finding Labels\nfinding",
        "Patient ID\npatient",
        "Patient Age\nattribute",
        "Other\nattribute",
    ]
    boxes = {one.accessibleName(): one for one in list_dialog.list.findChildren(QComboBox)}
    assert boxes["Finding"].currentText() == "automatic: Finding Labels"
    assert list_dialog.settings() == ()
    boxes["Several findings"].setCurrentIndex(boxes["Several findings"].findText("all together"))
    boxes["Finding"].setCurrentIndex(boxes["Finding"].findText("Other"))
    assert list_dialog.settings() == ("several=combination", "finding=Other")
    assert table.horizontalHeaderItem(4).text() == "Other\nfinding"


def test_a_folder_without_a_list_shows_no_fields(list_dialog, tmp_path):
    list_dialog.list.show_preview(preview_of_list(tmp_path / "chest" / "1.png"))
    assert not list_dialog.list.isVisibleTo(list_dialog)
