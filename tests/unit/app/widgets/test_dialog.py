"""What dialogs share."""

from __future__ import annotations

import pytest
from PySide6.QtCore import QSize
from PySide6.QtWidgets import QApplication, QDialog, QWidget

from semblance.app.shell.theme import set_theme
from semblance.app.widgets.dialog import resize_dialog, widen


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
