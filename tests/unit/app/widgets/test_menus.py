"""Menus that are open while what they belong to is disabled."""

from __future__ import annotations

from pathlib import Path

import pytest
from PySide6.QtCore import QPoint
from PySide6.QtWidgets import QApplication, QWidget

from semblance import app
from semblance.app.widgets.menus import Menu


@pytest.mark.qt_log_ignore("does not support grabbing the keyboard", extend=True)
def test_a_menu_closes_when_its_parent_is_disabled(qtbot):
    parent = QWidget()
    qtbot.addWidget(parent)
    parent.show()
    menu = Menu(parent)
    menu.addAction("one")
    menu.popup(QPoint(5, 5))
    assert QApplication.activePopupWidget() is menu
    parent.setEnabled(False)
    assert QApplication.activePopupWidget() is None
    parent.setEnabled(True)
    menu.popup(QPoint(5, 5))
    assert QApplication.activePopupWidget() is menu
    menu.close()


def test_no_menu_of_the_program_is_another():
    places = Path(app.__file__).parent.rglob("*.py")
    assert [place for place in places if "QMenu(" in place.read_text(encoding="utf-8")] == []
