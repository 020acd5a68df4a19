"""A narrow row of tools moves its last tools into a menu."""

from __future__ import annotations

import pytest
from PySide6.QtWidgets import QWidget

from semblance.app.viewer import tools
from semblance.app.viewer.tool_row import MIN_TOOLS, ToolRow


@pytest.fixture
def row(qtbot):
    window = QWidget()
    qtbot.addWidget(window)
    window.resize(800, 60)
    row = ToolRow(window)
    row.resize(row.sizeHint())
    window.show()
    yield row


def shown(row) -> list[str]:
    return [name for name, button in row.tools.items() if button.isVisible()]


def test_with_enough_width_every_tool_has_its_button(row):
    assert shown(row) == [tool.name for tool in tools.ALL]
    assert not row.more.isVisible()
    assert row.sizeHint().width() <= row.layout().sizeHint().width()


def test_without_enough_width_the_last_tools_are_in_a_menu(row):
    emitted = []
    row.tool_requested.connect(emitted.append)
    row.resize(row.minimumSizeHint())
    assert shown(row) == [tool.name for tool in tools.ALL][:MIN_TOOLS]
    assert row.auto.geometry().right() < row.width()
    assert row.more.isVisible()
    menu = row.make_menu()
    assert len(menu.actions()) == len(tools.ALL) - MIN_TOOLS
    menu.actions()[-1].trigger()
    assert emitted == [tools.ALL[-1].name]


def test_the_tool_in_use_keeps_its_button(row):
    row.resize(row.minimumSizeHint())
    row.show_tool(tools.ALL[-1].name)
    assert tools.ALL[-1].name in shown(row)
    assert len(shown(row)) == MIN_TOOLS


def test_signs_give_way_before_the_word_at_the_end_is_cut(row, qapp):
    for width in range(row.minimumSizeHint().width(), row.sizeHint().width() + 40, 3):
        row.resize(width, row.height())
        qapp.processEvents()
        assert row.auto.width() == row.auto.sizeHint().width(), width
        assert row.auto.geometry().right() < width
