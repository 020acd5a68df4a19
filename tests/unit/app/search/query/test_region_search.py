from __future__ import annotations

from dataclasses import replace

import pytest
from PySide6.QtCore import QPoint, Qt
from PySide6.QtGui import QGuiApplication
from PySide6.QtTest import QTest
from PySide6.QtWidgets import QApplication

from semblance.app.shell import search_operations
from semblance.app.viewer.tools import RECTANGLE, SELECT
from semblance.core.imaging.region import Region
from semblance.core.searches.query import Query
from semblance.core.workflows.imaging.view_images import view_file
from tests.helpers.query_panel import LEFT, PART, case_of, draw, image_file, shows_image


def press(panel, key):
    """Press one side of "Search with"."""
    control = panel.search_with
    x = control.width() // 4 if key == "region" else 3 * control.width() // 4
    QTest.mouseClick(control, LEFT, pos=QPoint(x, control.height() // 2))


# Region


def test_drawn_region_is_searched_with(asked, context):
    draw(asked, PART)
    assert context.state.query.region == PART
    assert asked.current_region() == PART
    assert asked.search_with.value() == "region"
    assert asked.facts.text("Region") == "rectangle, 24 × 16 px"


def test_drawing_does_not_load_the_image_again(asked, jobs):
    view = asked.view
    view.zoom_by(2)
    shown, viewport = view.image, view.viewport
    draw(asked, PART)
    assert jobs.held == []
    assert (view.image, view.viewport) == (shown, viewport)


def test_region_of_the_case_is_used_for_the_search(asked, context):
    viewed = replace(view_file(context.state.query.image), region=PART)
    asked._show_image(viewed)
    assert not asked.search_with.isEnabled()
    assert asked.search_with.value() == "region"
    assert asked.facts.text("Region") == "the case’s own, 24 × 16 px"


def test_whole_image_disables_and_enables_the_region(asked, context):
    assert not asked.search_with.isEnabled()
    draw(asked, PART)
    press(asked, "whole")
    assert context.state.query.region is None
    assert asked.view.region.region == PART
    assert asked.facts.text("Region").endswith("not used")
    press(asked, "region")
    assert context.state.query.region == PART
    assert asked.facts.text("Region") == "rectangle, 24 × 16 px"


def test_moving_a_region_that_was_set_aside_asks_with_it(asked, context):
    draw(asked, PART)
    asked.search_whole_image()
    QTest.keyClick(asked.view, Qt.Key.Key_Right)
    assert context.state.query.region == Region(9, 12, 24, 16)
    assert asked.search_with.value() == "region"


def test_escape_removes_the_region_and_undo_restores_it(asked, context):
    draw(asked, PART)
    QTest.keyClick(asked.view, Qt.Key.Key_Escape)
    assert context.state.query.region is None
    assert asked.facts.text("Region") == "none"
    assert not asked.search_with.isEnabled()
    QTest.mouseClick(asked.tools.undo, LEFT)
    assert context.state.query.region == PART
    assert asked.view.region.region == PART


def test_region_of_the_query_is_drawn(panel, context, jobs, tmp_path):
    search_operations.submit_query(context, Query(image=image_file(tmp_path), region=PART))
    jobs.run_pending()
    assert panel.view.region.region == PART
    assert panel.search_with.value() == "region"


def test_region_of_another_image_is_not_drawn(panel, context, jobs, tmp_path):
    search_operations.submit_query(context, Query(image=image_file(tmp_path), region=Region(900, 900, 5, 5)))
    jobs.run_pending()
    assert panel.view.region.region is None
    assert shows_image(panel)


# Tools, keys, menu


def test_tools_and_keys_agree(asked):
    QTest.mouseClick(asked.tools.tools[RECTANGLE], LEFT)
    assert asked.view.tool == RECTANGLE
    QTest.keyClick(asked.view, Qt.Key.Key_V)
    assert asked.tools.tools[SELECT].isChecked()
    asked.set_tool(RECTANGLE)
    assert asked.tools.tools[RECTANGLE].isChecked()


def test_the_histogram_and_the_image_share_one_window(asked):
    QTest.keyClick(asked.histogram, Qt.Key.Key_Right)
    assert asked.view.window_level == asked.histogram._window
    QTest.mousePress(asked.view, LEFT, pos=QPoint(100, 100))
    QTest.mouseMove(asked.view, QPoint(140, 120))
    QTest.mouseRelease(asked.view, LEFT, pos=QPoint(140, 120))
    assert asked.view.window_level == asked.histogram._window
    first = asked.view.image.auto
    QTest.mouseClick(asked.tools.auto, LEFT)
    assert (asked.view.window_level.low, asked.view.window_level.high) == first


def entries(menu):
    return {action.text().split("\t")[0]: action for action in menu.actions() if action.text()}


def test_menu_entries(asked, qtbot):
    draw(asked, PART)
    menu = asked.make_menu()
    actions = entries(menu)
    actions["Invert"].trigger()
    assert asked.view.inverted
    actions["Show overlay text"].trigger()
    assert not asked.view.is_overlay_text_shown
    actions["Copy file name"].trigger()
    assert QGuiApplication.clipboard().text() == "outside.png"
    actions["Remove region"].trigger()
    assert asked.view.region.region is None
    actions["Undo region"].trigger()
    assert asked.view.region.region == PART
    with qtbot.waitSignal(asked.help_requested):
        actions["Help for this panel"].trigger()
    menu.deleteLater()


# A pop-up takes the keyboard, which there is none of offscreen.
@pytest.mark.qt_log_ignore("does not support grabbing the keyboard", extend=True)
def test_context_menu_deletes_itself(panel, context, jobs, library, qtbot):
    name = case_of(library, "p000.png")
    search_operations.submit_query(context, Query(case=name))
    jobs.run_pending()
    panel.view.customContextMenuRequested.emit(QPoint(20, 20))
    menu = QApplication.activePopupWidget()
    assert not entries(menu)["Remove region"].isEnabled()
    entries(menu)["Copy case ID"].trigger()
    assert QGuiApplication.clipboard().text() == name
    QTest.keyClick(menu, Qt.Key.Key_Escape)
    qtbot.waitUntil(lambda: QApplication.activePopupWidget() is None)


def test_everything_can_be_reached_by_keyboard_and_has_a_name(asked):
    draw(asked, PART)
    wanted = {
        asked.more,
        *asked.tools.tools.values(),
        asked.tools.undo,
        asked.tools.auto,
        asked.view,
        asked.histogram,
        asked.search_with,
    }
    reached, widget = set(), asked.more
    for _ in range(60):
        reached.add(widget)
        widget = widget.nextInFocusChain()
    for control in wanted:
        assert control in reached
        assert control.focusPolicy() & Qt.FocusPolicy.TabFocus
        assert control.isEnabled()
        assert control.accessibleName(), control


def test_low_panel_hides_the_facts(asked):
    asked.resize(336, 360)
    assert not asked.facts.isVisible()
    assert asked.view.height() >= 96
    asked.resize(336, 640)
    assert asked.facts.isVisible()
