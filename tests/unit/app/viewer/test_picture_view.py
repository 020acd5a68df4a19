from __future__ import annotations

import numpy as np
import pytest
from PySide6.QtCore import QEvent, QPoint, QPointF, Qt
from PySide6.QtGui import QKeyEvent, QWheelEvent
from PySide6.QtTest import QTest
from PySide6.QtWidgets import QApplication

from app.viewer.picture_view import PictureView
from app.viewer.tools import RECTANGLE, SELECT
from app.viewer.window_level import window_text
from core.imaging.display import display_picture
from core.imaging.picture import Picture, Values
from core.imaging.region import Region

LEFT, MIDDLE = Qt.MouseButton.LeftButton, Qt.MouseButton.MiddleButton
SHIFT, CTRL = Qt.KeyboardModifier.ShiftModifier, Qt.KeyboardModifier.ControlModifier


def grey(width=256, height=256, dtype=np.uint8, most=255, spacing=None, seed=1):
    pixels = np.random.default_rng(seed).integers(0, most + 1, (height, width)).astype(dtype)
    return display_picture(Picture(pixels, float(most), "grey", spacing))


@pytest.fixture
def view(qtbot):
    widget = PictureView()
    qtbot.addWidget(widget)
    widget.resize(320, 330)
    widget.show()
    widget.show_picture(grey())
    return widget


def turn(view, at, notches):
    where = QPointF(at)
    event = QWheelEvent(
        where,
        QPointF(view.mapToGlobal(at)),
        QPoint(),
        QPoint(0, 120 * notches),
        Qt.MouseButton.NoButton,
        Qt.KeyboardModifier.NoModifier,
        Qt.ScrollPhase.NoScrollPhase,
        False,
    )
    QApplication.sendEvent(view, event)


def drag(view, begin, *ways, button=LEFT, modifiers=Qt.KeyboardModifier.NoModifier):
    QTest.mousePress(view, button, modifiers, begin)
    for way in ways:
        QTest.mouseMove(view, way)
    QTest.mouseRelease(view, button, modifiers, ways[-1])


def middle_grey(view):
    """The mean grey on the screen in the middle of the widget, words left out."""
    image = view.grab().toImage()
    return np.mean([image.pixelColor(x, y).value() for x in range(140, 180) for y in range(145, 185)])


# Zoom and pan


def test_it_opens_with_the_whole_picture(view):
    assert view.viewport.fitted
    assert view.zoom_text == "Zoom 125 %"
    assert view.picture_box().getRect() == (0, 5, 320, 320)


def test_the_wheel_zooms_to_the_mouse_and_a_double_click_fits(view):
    at = QPoint(100, 80)
    before = view.viewport.to_picture(100, 80)
    turn(view, at, 3)
    assert view.viewport.zoom == pytest.approx(1.25 * 1.25**3)
    assert view.viewport.to_widget(*before) == pytest.approx((100, 80), abs=1.01)
    turn(view, at, -1)
    assert view.viewport.zoom == pytest.approx(1.25 * 1.25**2)
    QTest.mouseDClick(view, LEFT, Qt.KeyboardModifier.NoModifier, at)
    assert view.viewport.fitted


@pytest.mark.parametrize(("button", "held"), [(MIDDLE, Qt.KeyboardModifier.NoModifier), (LEFT, SHIFT)])
def test_a_middle_drag_pans(view, button, held):
    turn(view, QPoint(160, 165), 4)
    before = view.viewport
    window = view.window_level
    drag(view, QPoint(160, 165), QPoint(150, 165), QPoint(130, 205), button=button, modifiers=held)
    assert view.viewport.left - before.left == pytest.approx(-30, abs=1)
    assert view.viewport.top - before.top == pytest.approx(40, abs=1)
    assert view.window_level == window


def test_keys_zoom_pan_and_fit(view):
    QTest.keyClick(view, Qt.Key.Key_Plus)
    QTest.keyClick(view, Qt.Key.Key_Plus)
    assert view.viewport.zoom == pytest.approx(1.25**3)
    left = view.viewport.left
    QTest.keyClick(view, Qt.Key.Key_Right)
    assert view.viewport.left == pytest.approx(left - 32, abs=1)
    QTest.keyClick(view, Qt.Key.Key_Minus)
    assert view.viewport.zoom == pytest.approx(1.25**2)
    QTest.keyClick(view, Qt.Key.Key_F)
    assert view.viewport.fitted


# Window and level


def test_a_left_drag_is_window_and_level(view, qtbot):
    told = []
    view.window_changed.connect(told.append)
    first = view.window_level
    drag(view, QPoint(100, 100), QPoint(120, 100), QPoint(140, 100))
    assert view.window_level.width > first.width
    assert view.window_level.level == pytest.approx(first.level)
    wide = view.window_level
    drag(view, QPoint(100, 100), QPoint(100, 80), QPoint(100, 60))
    assert view.window_level.level < wide.level
    assert told[-1] == view.window_level
    assert len(told) == 4


def test_dragging_up_brightens_the_screen(view):
    before = middle_grey(view)
    drag(view, QPoint(100, 200), QPoint(100, 100))
    assert middle_grey(view) > before + 10


def test_key_0_goes_back_to_the_first_greys(view):
    first = view.window_level
    drag(view, QPoint(100, 100), QPoint(150, 150))
    assert view.window_level != first
    QTest.keyClick(view, Qt.Key.Key_0)
    assert view.window_level == first


def test_key_i_inverts(view):
    before = middle_grey(view)
    QTest.keyClick(view, Qt.Key.Key_I)
    assert middle_grey(view) == pytest.approx(255 - before, abs=3)


def test_presets_are_for_hounsfield_units_only(view):
    first = view.window_level
    QTest.keyClick(view, Qt.Key.Key_7)
    assert view.window_level == first
    pixels = np.linspace(-1024, 3071, 128 * 128, dtype=np.float32).reshape(128, 128)
    view.show_picture(display_picture(Picture(pixels, 1.0, values=Values(unit="HU"))))
    QTest.keyClick(view, Qt.Key.Key_7)
    assert window_text(view.picture, view.window_level) == "W 1500  L -600"
    QTest.keyClick(view, Qt.Key.Key_6)
    assert window_text(view.picture, view.window_level) == "W 1800  L 400"


def test_colour_has_no_window(view):
    pixels = np.zeros((64, 64, 3), np.uint8)
    pixels[:, :, 1] = 200
    view.show_picture(display_picture(Picture(pixels, 255.0)))
    assert view.window_level is None
    drag(view, QPoint(100, 100), QPoint(150, 150))
    QTest.keyClick(view, Qt.Key.Key_0)
    assert view.window_level is None
    assert view.grab().toImage().pixelColor(160, 165).getRgb()[:3] == (0, 200, 0)


# Region by mouse


@pytest.mark.parametrize("notches", [0, 2, 5, -4])
def test_a_drawn_rectangle_is_in_picture_pixels(qtbot, notches):
    view = PictureView()
    qtbot.addWidget(view)
    view.resize(320, 330)
    view.show()
    view.show_picture(grey(1000, 800))
    view.set_tool(RECTANGLE)
    turn(view, QPoint(150, 160), notches)
    begin, end = QPoint(100, 120), QPoint(180, 170)
    with qtbot.waitSignal(view.region.changed) as told:
        drag(view, begin, QPoint(130, 140), end)
    x0, y0 = (round(value) for value in view.viewport.to_picture(100, 120))
    x1, y1 = (round(value) for value in view.viewport.to_picture(180, 170))
    assert told.args == [Region(x0, y0, x1 - x0, y1 - y0)]
    assert view.region.region == told.args[0]


def test_a_rectangle_is_told_once_when_the_button_comes_up(view):
    told = []
    view.region.changed.connect(told.append)
    view.set_tool(RECTANGLE)
    QTest.mousePress(view, LEFT, pos=QPoint(50, 60))
    for x in range(60, 200, 10):
        QTest.mouseMove(view, QPoint(x, x))
    assert told == []
    QTest.mouseRelease(view, LEFT, pos=QPoint(190, 190))
    assert len(told) == 1


def test_drawn_backwards_and_beyond_the_picture_it_is_clipped(view):
    view.set_tool(RECTANGLE)
    drag(view, QPoint(160, 165), QPoint(90, 90), QPoint(-50, -50))
    assert view.region.region == Region(0, 0, 128, 128)


def test_a_click_draws_nothing(view):
    view.set_tool(RECTANGLE)
    told = []
    view.region.changed.connect(told.append)
    QTest.mouseClick(view, LEFT, pos=QPoint(100, 100))
    drag(view, QPoint(100, 100), QPoint(101, 101))
    assert told == []
    assert view.region.region is None


def at(view, x, y):
    left, top = view.viewport.to_widget(x, y)
    return QPoint(round(left), round(top))


def test_dragging_inside_moves_it_and_keeps_its_size(view):
    view.set_tool(RECTANGLE)
    view.show_region(Region(40, 40, 80, 60))
    drag(view, at(view, 80, 72), at(view, 100, 80), at(view, 120, 92))
    assert view.region.region == Region(80, 60, 80, 60)
    drag(view, at(view, 120, 92), QPoint(2000, 2000))
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
    drag(view, at(view, *corner), at(view, *to))
    assert view.region.region == expected


def test_inside_the_region_the_select_tool_still_windows(view):
    view.show_region(Region(40, 40, 80, 60))
    first = view.window_level
    drag(view, at(view, 80, 70), at(view, 100, 80))
    assert view.region.region == Region(40, 40, 80, 60)
    assert view.window_level != first


def test_its_border_moves_it_with_the_select_tool(view):
    view.show_region(Region(40, 40, 80, 60))
    drag(view, at(view, 60, 40), at(view, 70, 45))
    assert view.region.region == Region(50, 45, 80, 60)


def test_a_new_rectangle_replaces_the_old(view):
    view.set_tool(RECTANGLE)
    view.show_region(Region(10, 10, 40, 40))
    drag(view, at(view, 120, 120), at(view, 180, 200))
    assert view.region.region == Region(120, 120, 60, 80)


def test_a_picture_that_may_not_be_edited_keeps_its_region(view):
    view.set_tool(RECTANGLE)
    view.show_region(Region(10, 10, 40, 40))
    view.editable = False
    drag(view, at(view, 120, 120), at(view, 180, 200))
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
    with qtbot.waitSignal(view.region.changed) as told:
        QTest.keyClick(view, key, held or Qt.KeyboardModifier.NoModifier)
    assert told.args == [expected]


def test_a_held_arrow_is_told_once(view):
    told = []
    view.region.changed.connect(told.append)
    view.show_region(Region(40, 40, 80, 60))
    for _ in range(12):
        press = QKeyEvent(
            QEvent.Type.KeyPress, Qt.Key.Key_Right, Qt.KeyboardModifier.NoModifier, "", autorep=True
        )
        QApplication.sendEvent(view, press)
    assert told == []
    QTest.keyRelease(view, Qt.Key.Key_Right)
    assert told == [Region(52, 40, 80, 60)]


def test_the_region_never_leaves_the_picture(view):
    view.show_region(Region(0, 200, 256, 56))
    for key in (Qt.Key.Key_Left, Qt.Key.Key_Down):
        QTest.keyClick(view, key, SHIFT)
        QTest.keyClick(view, key, CTRL | SHIFT)
    assert view.region.region == Region(0, 200, 246, 56)
    for _ in range(30):
        QTest.keyClick(view, Qt.Key.Key_Left, CTRL | SHIFT)
    assert view.region.region == Region(0, 200, 1, 56)


def test_enter_draws_the_first_rectangle_and_escape_removes_it(view):
    told = []
    view.region.changed.connect(told.append)
    QTest.keyClick(view, Qt.Key.Key_Return)
    assert told == []
    QTest.keyClick(view, Qt.Key.Key_R)
    QTest.keyClick(view, Qt.Key.Key_Return)
    QTest.keyClick(view, Qt.Key.Key_Escape)
    QTest.keyClick(view, Qt.Key.Key_Escape)
    assert told == [Region(64, 64, 128, 128), None]


def test_escape_during_a_drag_gives_the_old_region_back(view):
    told = []
    view.region.changed.connect(told.append)
    view.set_tool(RECTANGLE)
    view.show_region(Region(10, 10, 40, 40))
    QTest.mousePress(view, LEFT, pos=QPoint(200, 200))
    QTest.mouseMove(view, QPoint(260, 260))
    assert view.region.region != Region(10, 10, 40, 40)
    QTest.keyClick(view, Qt.Key.Key_Escape)
    QTest.mouseRelease(view, LEFT, pos=QPoint(260, 260))
    assert view.region.region == Region(10, 10, 40, 40)
    assert told == []


def test_undo_goes_back_step_by_step(view):
    view.set_tool(RECTANGLE)
    drag(view, at(view, 20, 20), at(view, 60, 60))
    QTest.keyClick(view, Qt.Key.Key_Right)
    QTest.keyClick(view, Qt.Key.Key_Escape)
    seen = []
    view.region.changed.connect(seen.append)
    for _ in range(5):
        QTest.keyClick(view, Qt.Key.Key_Z, CTRL)
    assert seen == [Region(21, 20, 40, 40), Region(20, 20, 40, 40), None]
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


# What is drawn


def test_the_region_is_drawn_with_its_handles(view):
    view.show_words(False)
    view.show_region(Region(64, 64, 128, 128))
    image = view.grab().toImage()
    corner = at(view, 64, 64)
    assert image.pixelColor(corner).name() == "#ffffff"
    side = at(view, 96, 64)
    assert image.pixelColor(side).name() == "#b9b3ff"


def test_a_region_set_aside_has_no_handles(view):
    view.show_words(False)
    view.show_region(Region(64, 64, 128, 128), in_use=False)
    assert view.grab().toImage().pixelColor(at(view, 64, 64) + QPoint(-2, -2)).name() != "#ffffff"


def test_words_can_be_hidden(view):
    with_words = view.grab().toImage()
    view.show_words(False)
    assert view.grab().toImage() != with_words


def test_sizes_are_told_in_millimetres_where_spacing_is_known(view):
    assert view.size_text == ""
    view.show_picture(grey(spacing=(0.1, 0.2)))
    assert view.size_text == "51.2 × 25.6 mm"
    view.show_region(Region(0, 0, 123, 172))
    assert view.size_text == "24.6 × 17.2 mm"
    view.grab()


def test_pixels_that_are_not_square_are_drawn_in_their_shape(view):
    view.show_picture(grey(100, 100, spacing=(0.2, 0.1)))
    box = view.picture_box()
    assert box.height() == pytest.approx(2 * box.width(), abs=1)


@pytest.mark.parametrize("size", [(1, 1), (1, 900), (900, 1), (3, 2)])
def test_odd_shapes_are_drawn_and_zoomed(view, size):
    view.show_picture(grey(*size))
    view.grab()
    for notches in (3, 20, -40):
        turn(view, QPoint(160, 165), notches)
        view.grab()


@pytest.mark.parametrize("dtype", [np.uint8, np.uint16, np.float32])
def test_every_kind_of_grey_is_shown(view, dtype):
    most = {np.uint8: 255, np.uint16: 4095, np.float32: 1}[dtype]
    ramp = np.linspace(0, most, 256).astype(dtype)
    pixels = np.repeat(ramp[None, :], 256, axis=0)
    view.show_picture(display_picture(Picture(pixels, float(most))))
    view.show_words(False)
    image = view.grab().toImage()
    shown = [image.pixelColor(x, 165).value() for x in range(2, 318)]
    assert (np.diff(shown) >= 0).all()
    assert shown[0] <= 3
    assert shown[-1] >= 252


def test_nothing_to_show_is_a_dark_well(view):
    view.show_picture(None)
    assert view.picture is None
    assert view.grab().toImage().pixelColor(160, 165).name() == "#141415"
    drag(view, QPoint(10, 10), QPoint(50, 50))
    turn(view, QPoint(10, 10), 2)
    for key in (Qt.Key.Key_0, Qt.Key.Key_F, Qt.Key.Key_Escape, Qt.Key.Key_Return, Qt.Key.Key_Right):
        QTest.keyClick(view, key)


def test_another_picture_starts_afresh(view):
    view.set_tool(RECTANGLE)
    drag(view, at(view, 20, 20), at(view, 60, 60))
    turn(view, QPoint(100, 100), 3)
    QTest.keyClick(view, Qt.Key.Key_I)
    view.show_picture(grey(seed=9), Region(1, 2, 30, 40))
    assert view.viewport.fitted
    assert view.region.region == Region(1, 2, 30, 40)
    assert not view.region.can_undo
    assert not view.inverted
    assert view.tool == RECTANGLE


def test_an_unknown_tool_is_refused(view):
    with pytest.raises(ValueError, match="magic"):
        view.set_tool("magic")


# Drawing by keys alone


def test_enter_draws_in_the_middle_of_what_is_seen(view):
    view.set_tool(RECTANGLE)
    for _ in range(4):
        QTest.keyClick(view, Qt.Key.Key_Plus)
    QTest.keyClick(view, Qt.Key.Key_Right, SHIFT)
    left, top, right, bottom = view.viewport.seen()
    assert right - left < view.viewport.width
    QTest.keyClick(view, Qt.Key.Key_Return)
    region = view.region.region
    assert region.width == pytest.approx((right - left) / 2, abs=1)
    assert region.x + region.width / 2 == pytest.approx((left + right) / 2, abs=1)
    assert region.y + region.height / 2 == pytest.approx((top + bottom) / 2, abs=1)


@pytest.mark.parametrize("key", [Qt.Key.Key_Return, Qt.Key.Key_Space])
def test_a_mass_is_outlined_where_the_keyboard_points(view, key):
    wanted = []
    view.segment_wanted.connect(lambda x, y: wanted.append((x, y)))
    QTest.keyClick(view, Qt.Key.Key_S)
    assert view.pointer.aim.at is not None
    QTest.keyClick(view, Qt.Key.Key_Right, SHIFT)
    QTest.keyClick(view, Qt.Key.Key_Up)
    where = view.pointer.aim.at
    QTest.keyClick(view, key)
    x, y = view.viewport.to_picture(where.x(), where.y())
    assert wanted == [(int(x), int(y))]
    assert (where.x(), where.y()) == (view.width() / 2 + 40, view.height() / 2 - 4)


def test_corners_are_set_by_the_space_bar_and_enter_closes_them(view):
    told = []
    view.region.changed.connect(told.append)
    QTest.keyClick(view, Qt.Key.Key_P)
    for key in (Qt.Key.Key_Right, Qt.Key.Key_Down, Qt.Key.Key_Left):
        QTest.keyClick(view, Qt.Key.Key_Space)
        QTest.keyClick(view, key, SHIFT)
    assert told == []
    QTest.keyClick(view, Qt.Key.Key_Return)
    (region,) = told
    assert region.outline is not None
    side = round(40 / view.viewport.zoom)
    assert (region.width, region.height) == (side, side)


def test_the_mouse_takes_the_lead_again_and_another_tool_aims_no_more(view):
    QTest.keyClick(view, Qt.Key.Key_S)
    QTest.mouseClick(view, LEFT, pos=QPoint(10, 10))
    assert view.pointer.aim.at is None
    QTest.keyClick(view, Qt.Key.Key_P)
    assert view.pointer.aim.at is not None
    QTest.keyClick(view, Qt.Key.Key_R)
    assert view.pointer.aim.at is None


def test_the_letters_of_the_tools_belong_to_the_picture(view):
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
