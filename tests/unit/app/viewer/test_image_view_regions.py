from __future__ import annotations

import pytest
from PySide6.QtCore import QEvent, QPoint, Qt
from PySide6.QtGui import QKeyEvent
from PySide6.QtTest import QTest
from PySide6.QtWidgets import QApplication

from semblance.app.viewer.image_view import ImageView
from semblance.app.viewer.tools import RECTANGLE, SELECT
from semblance.core.imaging.region import Region
from tests.helpers.image_views import CTRL, LEFT, SHIFT, drag, random_image, turn_wheel, widget_point
from tests.helpers.widgets import show_widget

# Region by mouse


@pytest.mark.parametrize("notches", [0, 2, 5, -4])
def test_a_drawn_rectangle_is_in_image_pixels(qtbot, notches):
    view = show_widget(qtbot, ImageView(), 320, 330)
    view.show_image(random_image(1000, 800))
    view.set_tool(RECTANGLE)
    turn_wheel(view, QPoint(150, 160), notches)
    begin, end = QPoint(100, 120), QPoint(180, 170)
    with qtbot.waitSignal(view.region.changed) as signal:
        drag(view, begin, QPoint(130, 140), end)
    x0, y0 = (round(value) for value in view.viewport.to_image(100, 120))
    x1, y1 = (round(value) for value in view.viewport.to_image(180, 170))
    assert signal.args == [Region(x0, y0, x1 - x0, y1 - y0)]
    assert view.region.region == signal.args[0]


def test_a_rectangle_is_emitted_once_on_release(view):
    signal = []
    view.region.changed.connect(signal.append)
    view.set_tool(RECTANGLE)
    QTest.mousePress(view, LEFT, pos=QPoint(50, 60))
    for x in range(60, 200, 10):
        QTest.mouseMove(view, QPoint(x, x))
    assert signal == []
    QTest.mouseRelease(view, LEFT, pos=QPoint(190, 190))
    assert len(signal) == 1


def test_drawn_backwards_and_beyond_the_image_it_is_clipped(view):
    view.set_tool(RECTANGLE)
    drag(view, QPoint(160, 165), QPoint(90, 90), QPoint(-50, -50))
    assert view.region.region == Region(0, 0, 128, 128)


def test_a_click_draws_nothing(view):
    view.set_tool(RECTANGLE)
    signal = []
    view.region.changed.connect(signal.append)
    QTest.mouseClick(view, LEFT, pos=QPoint(100, 100))
    drag(view, QPoint(100, 100), QPoint(101, 101))
    assert signal == []
    assert view.region.region is None


def test_dragging_inside_moves_it_and_keeps_its_size(view):
    view.set_tool(RECTANGLE)
    view.show_region(Region(40, 40, 80, 60))
    drag(view, widget_point(view, 80, 72), widget_point(view, 100, 80), widget_point(view, 120, 92))
    assert view.region.region == Region(80, 60, 80, 60)
    drag(view, widget_point(view, 120, 92), QPoint(2000, 2000))
    assert view.region.region == Region(176, 196, 80, 60)


@pytest.mark.parametrize(
    ("corner", "to", "expected"),
    [
        ((40, 40), (20, 30), Region(20, 30, 100, 70)),
        ((120, 100), (140, 120), Region(40, 40, 100, 80)),
        ((80, 40), (90, 20), Region(40, 20, 80, 80)),
        ((40, 70), (60, 200), Region(60, 40, 60, 60)),
        ((120, 70), (100, 10), Region(40, 40, 60, 60)),
        ((80, 100), (0, 140), Region(40, 40, 80, 100)),
        ((120, 100), (20, 20), Region(20, 20, 20, 20)),
    ],
)
@pytest.mark.parametrize("tool", [SELECT, RECTANGLE])
def test_every_handle_moves_its_edges(view, tool, corner, to, expected):
    view.set_tool(tool)
    view.show_region(Region(40, 40, 80, 60))
    drag(view, widget_point(view, *corner), widget_point(view, *to))
    assert view.region.region == expected


def test_inside_the_region_the_select_tool_still_windows(view):
    view.show_region(Region(40, 40, 80, 60))
    first = view.window_level
    drag(view, widget_point(view, 80, 70), widget_point(view, 100, 80))
    assert view.region.region == Region(40, 40, 80, 60)
    assert view.window_level != first


def test_its_border_moves_it_with_the_select_tool(view):
    view.show_region(Region(40, 40, 80, 60))
    drag(view, widget_point(view, 60, 40), widget_point(view, 70, 45))
    assert view.region.region == Region(50, 45, 80, 60)


def test_a_new_rectangle_replaces_the_old(view):
    view.set_tool(RECTANGLE)
    view.show_region(Region(10, 10, 40, 40))
    drag(view, widget_point(view, 120, 120), widget_point(view, 180, 200))
    assert view.region.region == Region(120, 120, 60, 80)


def test_an_image_that_may_not_be_edited_keeps_its_region(view):
    view.set_tool(RECTANGLE)
    view.show_region(Region(10, 10, 40, 40))
    view.editable = False
    drag(view, widget_point(view, 120, 120), widget_point(view, 180, 200))
    QTest.keyClick(view, Qt.Key.Key_Escape)
    QTest.keyClick(view, Qt.Key.Key_Right)
    assert view.region.region == Region(10, 10, 40, 40)


# Region by keyboard


@pytest.mark.parametrize(
    ("key", "held", "expected"),
    [
        (Qt.Key.Key_Left, None, Region(39, 40, 80, 60)),
        (Qt.Key.Key_Right, SHIFT, Region(50, 40, 80, 60)),
        (Qt.Key.Key_Up, SHIFT, Region(40, 30, 80, 60)),
        (Qt.Key.Key_Down, None, Region(40, 41, 80, 60)),
        (Qt.Key.Key_Right, CTRL, Region(40, 40, 81, 60)),
        (Qt.Key.Key_Left, CTRL | SHIFT, Region(40, 40, 70, 60)),
        (Qt.Key.Key_Up, CTRL, Region(40, 40, 80, 59)),
        (Qt.Key.Key_Down, CTRL | SHIFT, Region(40, 40, 80, 70)),
    ],
)
def test_arrows_move_and_resize(view, qtbot, key, held, expected):
    view.show_region(Region(40, 40, 80, 60))
    with qtbot.waitSignal(view.region.changed) as signal:
        QTest.keyClick(view, key, held or Qt.KeyboardModifier.NoModifier)
    assert signal.args == [expected]


def test_a_held_arrow_emits_one_change(view):
    signal = []
    view.region.changed.connect(signal.append)
    view.show_region(Region(40, 40, 80, 60))
    for _ in range(12):
        press = QKeyEvent(
            QEvent.Type.KeyPress, Qt.Key.Key_Right, Qt.KeyboardModifier.NoModifier, "", autorep=True
        )
        QApplication.sendEvent(view, press)
    assert signal == []
    QTest.keyRelease(view, Qt.Key.Key_Right)
    assert signal == [Region(52, 40, 80, 60)]


def test_the_region_never_leaves_the_image(view):
    view.show_region(Region(0, 200, 256, 56))
    for key in (Qt.Key.Key_Left, Qt.Key.Key_Down):
        QTest.keyClick(view, key, SHIFT)
        QTest.keyClick(view, key, CTRL | SHIFT)
    assert view.region.region == Region(0, 200, 246, 56)
    for _ in range(30):
        QTest.keyClick(view, Qt.Key.Key_Left, CTRL | SHIFT)
    assert view.region.region == Region(0, 200, 1, 56)


def test_enter_draws_the_first_rectangle_and_escape_removes_it(view):
    signal = []
    view.region.changed.connect(signal.append)
    QTest.keyClick(view, Qt.Key.Key_Return)
    assert signal == []
    QTest.keyClick(view, Qt.Key.Key_R)
    QTest.keyClick(view, Qt.Key.Key_Return)
    QTest.keyClick(view, Qt.Key.Key_Escape)
    QTest.keyClick(view, Qt.Key.Key_Escape)
    assert signal == [Region(64, 64, 128, 128), None]


def test_escape_during_a_drag_gives_the_old_region_back(view):
    signal = []
    view.region.changed.connect(signal.append)
    view.set_tool(RECTANGLE)
    view.show_region(Region(10, 10, 40, 40))
    QTest.mousePress(view, LEFT, pos=QPoint(200, 200))
    QTest.mouseMove(view, QPoint(260, 260))
    assert view.region.region != Region(10, 10, 40, 40)
    QTest.keyClick(view, Qt.Key.Key_Escape)
    QTest.mouseRelease(view, LEFT, pos=QPoint(260, 260))
    assert view.region.region == Region(10, 10, 40, 40)
    assert signal == []


def test_undo_goes_back_step_by_step(view):
    view.set_tool(RECTANGLE)
    drag(view, widget_point(view, 20, 20), widget_point(view, 60, 60))
    QTest.keyClick(view, Qt.Key.Key_Right)
    QTest.keyClick(view, Qt.Key.Key_Escape)
    emitted = []
    view.region.changed.connect(emitted.append)
    for _ in range(5):
        QTest.keyClick(view, Qt.Key.Key_Z, CTRL)
    assert emitted == [Region(21, 20, 40, 40), Region(20, 20, 40, 40), None]
    assert not view.region.can_undo


def test_the_region_takes_its_keys_before_the_windows_shortcuts(view):
    def taken(key, held):
        event = QKeyEvent(QEvent.Type.ShortcutOverride, key, held)
        event.setAccepted(False)
        QApplication.sendEvent(view, event)
        return event.isAccepted()

    assert not taken(Qt.Key.Key_Down, CTRL)
    view.show_region(Region(40, 40, 80, 60))
    assert taken(Qt.Key.Key_Down, CTRL)
    assert not taken(Qt.Key.Key_K, CTRL)


# Drawing by keys alone


def test_enter_draws_in_the_middle_of_the_visible_part(view):
    view.set_tool(RECTANGLE)
    for _ in range(4):
        QTest.keyClick(view, Qt.Key.Key_Plus)
    QTest.keyClick(view, Qt.Key.Key_Right, SHIFT)
    left, top, right, bottom = view.viewport.visible_area()
    assert right - left < view.viewport.width
    QTest.keyClick(view, Qt.Key.Key_Return)
    region = view.region.region
    assert region.width == pytest.approx((right - left) / 2, abs=1)
    assert region.x + region.width / 2 == pytest.approx((left + right) / 2, abs=1)
    assert region.y + region.height / 2 == pytest.approx((top + bottom) / 2, abs=1)


@pytest.mark.parametrize("key", [Qt.Key.Key_Return, Qt.Key.Key_Space])
def test_a_mass_is_outlined_where_the_keyboard_points(view, key):
    emitted = []
    view.segment_requested.connect(lambda x, y: emitted.append((x, y)))
    QTest.keyClick(view, Qt.Key.Key_S)
    assert view.pointer.keyboard_pointer.at is not None
    QTest.keyClick(view, Qt.Key.Key_Right, SHIFT)
    QTest.keyClick(view, Qt.Key.Key_Up)
    where = view.pointer.keyboard_pointer.at
    QTest.keyClick(view, key)
    x, y = view.viewport.to_image(where.x(), where.y())
    assert emitted == [(int(x), int(y))]
    assert (where.x(), where.y()) == (view.width() / 2 + 40, view.height() / 2 - 4)


def test_corners_are_set_by_the_space_bar_and_enter_closes_them(view):
    signal = []
    view.region.changed.connect(signal.append)
    QTest.keyClick(view, Qt.Key.Key_P)
    for key in (Qt.Key.Key_Right, Qt.Key.Key_Down, Qt.Key.Key_Left):
        QTest.keyClick(view, Qt.Key.Key_Space)
        QTest.keyClick(view, key, SHIFT)
    assert signal == []
    QTest.keyClick(view, Qt.Key.Key_Return)
    (region,) = signal
    assert region.outline is not None
    side = round(40 / view.viewport.zoom)
    assert (region.width, region.height) == (side, side)


def test_the_mouse_ends_the_keyboard_pointer(view):
    QTest.keyClick(view, Qt.Key.Key_S)
    QTest.mouseClick(view, LEFT, pos=QPoint(10, 10))
    assert view.pointer.keyboard_pointer.at is None
    QTest.keyClick(view, Qt.Key.Key_P)
    assert view.pointer.keyboard_pointer.at is not None
    QTest.keyClick(view, Qt.Key.Key_R)
    assert view.pointer.keyboard_pointer.at is None


def test_the_letters_of_the_tools_belong_to_the_image(view):
    def taken(key, text):
        event = QKeyEvent(QEvent.Type.ShortcutOverride, key, Qt.KeyboardModifier.NoModifier, text)
        event.setAccepted(False)
        QApplication.sendEvent(view, event)
        return event.isAccepted()

    assert taken(Qt.Key.Key_E, "e")
    assert not taken(Qt.Key.Key_Y, "y")
    view.editable = False
    assert not taken(Qt.Key.Key_E, "e")
    assert taken(Qt.Key.Key_V, "v")
