"""What dialogs share."""

from __future__ import annotations

import pytest
from PySide6.QtCore import QSize, Qt
from PySide6.QtWidgets import QApplication, QDialog, QLineEdit, QWidget

from semblance.app.shell.theme import set_theme
from semblance.app.widgets.dialog import Dialog, NameDialog, dialog_layout, form, resize_dialog, widen
from semblance.app.widgets.labels import WrappedLabel


@pytest.fixture
def large_text():
    application = QApplication.instance()
    set_theme(application, "dark", 2.0)
    yield
    set_theme(application, "dark")


def test_a_dialog_grows_with_the_text_up_to_the_screen(qtbot, large_text):
    window = QWidget()
    qtbot.addWidget(window)
    window.resize(1280, 900)
    dialog = QDialog(window)
    resize_dialog(dialog, 400, 300)
    assert dialog.size() == QSize(800, 600)
    resize_dialog(dialog, 900, 700)
    assert dialog.size() == QSize(1280, 900)
    resize_dialog(dialog, 400, 300)
    widen(dialog, 500)
    assert dialog.size() == QSize(1000, 600)
    widen(dialog, 300)
    assert dialog.size() == QSize(1000, 600)
    widen(dialog, 900)
    assert dialog.size() == QSize(1280, 600)


def test_a_dialog_grows_when_its_text_gets_longer(qtbot):
    dialog = Dialog()
    qtbot.addWidget(dialog)
    fields, text, line = form(), WrappedLabel("Short."), QLineEdit()
    fields.addRow("Line", line)
    fields.addRow("", text)
    dialog_layout(dialog).addLayout(fields)
    dialog.resize(300, 100)
    dialog.show()
    qtbot.waitExposed(dialog)
    height = line.height()
    text.setText("A long text that needs many more lines than the window has. " * 8)
    qtbot.waitUntil(lambda: text.height() >= text.heightForWidth(text.width()) and line.height() == height)
    assert dialog.height() > 100
    assert dialog.width() == 300


@pytest.mark.parametrize("names", [(), ("Masses", "Cysts")])
def test_a_name_is_asked_for_and_nothing_is_no_name(qtbot, names):
    dialog = NameDialog(None, "Add", "Name", "Add", names=names)
    qtbot.addWidget(dialog)
    dialog.show()
    assert dialog.field.text() == (names[0] if names else "")
    assert dialog.focusWidget() in (dialog.field, dialog.field.parentWidget())
    assert dialog.accept_button.isDefault()
    dialog.field.setText("  ")
    assert not dialog.accept_button.isEnabled()
    dialog.field.setText(" Cysts of the breast ")
    qtbot.keyClick(dialog.field, Qt.Key.Key_Return)
    assert dialog.result() == QDialog.DialogCode.Accepted
