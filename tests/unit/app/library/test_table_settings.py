"""A table that was misread is read in another way, and its first rows show it before it is imported."""

from __future__ import annotations

import pytest
from PySide6.QtWidgets import QComboBox, QLabel, QPushButton, QTableWidget

from semblance.app.library.import_dialog import ImportDialog
from semblance.core.errors import SemblanceError
from semblance.core.library.importers.importer import Recognition
from semblance.core.workflows.library.preview_table import preview_of_table

KINDS = [("table", "Table", Recognition(0.9, "1 table.")), ("folder", "Folder", Recognition(0.1, "x"))]


@pytest.fixture
def dialog(qtbot, tmp_path):
    file = tmp_path / "two ways.csv"
    file.write_text("who;size;label\nP1;1,234;x\nP2;950;y\n")

    def preview(settings, view):
        try:
            view.show_preview(preview_of_table(file, settings))
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
