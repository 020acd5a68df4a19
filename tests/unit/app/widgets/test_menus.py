"""Menus that are open while what they belong to is disabled."""

from __future__ import annotations

from pathlib import Path

import pytest
from PySide6.QtCore import QPoint, Qt
from PySide6.QtWidgets import QApplication, QWidget

from semblance import app
from semblance.app.shell.case_menu import CaseMenu
from semblance.app.widgets.menus import Menu, attach_menu, case_menu, open_menu_of_focus
from tests.helpers.widgets import show_widget


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


@pytest.mark.qt_log_ignore("does not support grabbing the keyboard", extend=True)
def test_the_menu_of_a_case_opens_on_what_has_the_keyboard(qtbot):
    image = show_widget(qtbot, QWidget(), 100, 80)
    image.setFocusPolicy(Qt.FocusPolicy.StrongFocus)
    entries, at = CaseMenu(), []
    entries.fill = lambda menu, row, _header: menu.addAction(f"case {row}")
    attach_menu(image, lambda point: at.append(point) or case_menu(entries, image, 7))
    image.setFocus()
    qtbot.waitUntil(image.hasFocus)
    open_menu_of_focus()
    menu = QApplication.activePopupWidget()
    assert [action.text() for action in menu.actions()] == ["case 7"]
    assert at == [image.rect().center()]
    menu.close()
