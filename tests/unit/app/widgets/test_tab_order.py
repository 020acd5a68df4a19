from __future__ import annotations

import pytest
from PySide6.QtCore import Qt
from PySide6.QtWidgets import (
    QFormLayout,
    QHBoxLayout,
    QLabel,
    QLineEdit,
    QPushButton,
    QScrollArea,
    QVBoxLayout,
    QWidget,
)

from semblance.app.widgets.buttons import ViewSwitch
from semblance.app.widgets.dialog import Dialog
from semblance.app.widgets.tab_order import tab_stops


@pytest.fixture
def dialog(qtbot):
    """Made from the bottom right to the top left: a right and a left column over a row of buttons."""
    made = Dialog()
    qtbot.addWidget(made)
    column = QVBoxLayout(made)
    buttons, above = QHBoxLayout(), QHBoxLayout()
    for name in ("cancel", "go"):
        buttons.insertWidget(0, _named(QPushButton(name), name))
    right, left = QWidget(), QWidget()
    for side, names in ((right, ("c", "d")), (left, ("a", "b"))):
        form = QFormLayout(side)
        for name in reversed(names):
            form.insertRow(0, name, _named(QLineEdit(), name))
    above.addWidget(left)
    above.addWidget(right)
    column.addLayout(above)
    column.addLayout(buttons)
    made.resize(400, 200)
    made.show()
    qtbot.waitExposed(made)
    return made


def _named(widget, name):
    widget.setObjectName(name)
    return widget


def _walk(qtbot, dialog, key, times):
    gone = []
    for _ in range(times):
        qtbot.keyClick(dialog.focusWidget() or dialog, key)
        gone.append(dialog.focusWidget().objectName())
    return gone


def test_tab_reads_columns_then_the_buttons_and_begins_again(qtbot, dialog):
    dialog.findChild(QLineEdit, "a").setFocus()
    assert _walk(qtbot, dialog, Qt.Key.Key_Tab, 6) == ["b", "c", "d", "go", "cancel", "a"]
    assert _walk(qtbot, dialog, Qt.Key.Key_Backtab, 3) == ["cancel", "go", "d"]


def test_what_comes_later_is_read_where_it_stands(dialog):
    late = _named(QLineEdit(), "late")
    dialog.findChild(QLineEdit, "a").parentWidget().layout().insertRow(1, "late", late)
    late.show()
    dialog.layout().activate()
    assert [stop.objectName() for stop in tab_stops(dialog)][:3] == ["a", "late", "b"]


def test_what_is_hidden_disabled_or_led_by_another_is_passed(dialog):
    dialog.findChild(QLineEdit, "b").hide()
    dialog.findChild(QLineEdit, "c").setEnabled(False)
    dialog.findChild(QLineEdit, "d").setFocusProxy(dialog.findChild(QPushButton, "go"))
    assert [stop.objectName() for stop in tab_stops(dialog)] == ["a", "go", "cancel"]


def test_a_scroll_area_stops_tab_only_where_its_text_is_scrolled(qtbot):
    dialog = Dialog()
    qtbot.addWidget(dialog)
    column = QVBoxLayout(dialog)
    for name, inside in (
        ("fields", [QLineEdit() for _ in range(20)]),
        ("long text", [QLabel("line\n" * 80)]),
        ("short text", [QLabel("line")]),
    ):
        area, page = _named(QScrollArea(), name), QWidget()
        rows = QVBoxLayout(page)
        for widget in inside:
            rows.addWidget(widget)
        area.setWidget(page)
        column.addWidget(area)
    dialog.resize(400, 600)
    dialog.show()
    qtbot.waitExposed(dialog)
    areas = [stop.objectName() for stop in tab_stops(dialog) if isinstance(stop, QScrollArea)]
    assert areas == ["long text"]


def test_what_tab_leads_to_is_scrolled_into_sight(qtbot):
    dialog = Dialog()
    qtbot.addWidget(dialog)
    column = QVBoxLayout(dialog)
    area, page = QScrollArea(), QWidget()
    rows = QVBoxLayout(page)
    fields = [QLineEdit() for _ in range(30)]
    for field in fields:
        rows.addWidget(field)
    area.setWidget(page)
    column.addWidget(area)
    dialog.resize(300, 300)
    dialog.show()
    qtbot.waitExposed(dialog)
    fields[0].setFocus()
    qtbot.keyClick(fields[0], Qt.Key.Key_Backtab)
    assert dialog.focusWidget() is fields[-1]
    assert not fields[-1].visibleRegion().isEmpty()


def test_of_buttons_that_arrows_choose_from_tab_reaches_the_one_that_is_on(qtbot):
    dialog = Dialog()
    qtbot.addWidget(dialog)
    column = QVBoxLayout(dialog)
    switch = ViewSwitch()
    column.addWidget(switch)
    switch.set_value("list")
    dialog.show()
    qtbot.waitExposed(dialog)
    assert [stop.accessibleName() for stop in tab_stops(dialog)] == ["As a list"]


def test_a_dialog_begins_with_its_first_field(qtbot):
    dialog = Dialog()
    qtbot.addWidget(dialog)
    column = QVBoxLayout(dialog)
    area, page = QScrollArea(), QWidget()
    late, early = QLineEdit(), QLineEdit()
    rows = QVBoxLayout(page)
    rows.addWidget(late)
    rows.insertWidget(0, early)
    area.setWidget(page)
    column.addWidget(area)
    dialog.show()
    qtbot.waitExposed(dialog)
    assert dialog.focusWidget() is early


def test_focus_moves_to_the_neighbour_of_a_hidden_or_disabled_widget(qtbot, dialog):
    # A dialog that is shown gives the keyboard to its first field by itself.
    gone = dialog.findChild(QLineEdit, "d")
    gone.setFocus()
    gone.hide()
    assert dialog.focusWidget().objectName() == "c"
    dialog.findChild(QLineEdit, "c").setEnabled(False)
    assert dialog.focusWidget().objectName() == "go"
