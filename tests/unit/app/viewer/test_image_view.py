from __future__ import annotations

import numpy as np
import pytest
from PySide6.QtCore import QEvent, QPoint, QPointF, Qt
from PySide6.QtGui import QMouseEvent
from PySide6.QtTest import QTest
from PySide6.QtWidgets import QApplication

from semblance.app.viewer.tools import RECTANGLE
from semblance.app.viewer.window_level import window_text
from semblance.core.imaging.display import display_image
from semblance.core.imaging.image import Image, ValueScale
from semblance.core.imaging.region import Region
from tests.helpers.image_views import CTRL, LEFT, MIDDLE, SHIFT, drag, random_image, turn_wheel, widget_point


def middle_grey(view):
    """The mean grey on the screen in the middle of the widget, words left out."""
    image = view.grab().toImage()
    return np.mean([image.pixelColor(x, y).value() for x in range(140, 180) for y in range(145, 185)])


# Zoom and pan


def test_it_opens_with_the_whole_image(view):
    assert view.viewport.fitted
    assert view.zoom_text == "Zoom 125 %"
    assert view.image_box().getRect() == (0, 5, 320, 320)


def test_the_wheel_zooms_to_the_mouse_and_a_double_click_fits(view):
    point = QPoint(100, 80)
    before = view.viewport.to_image(100, 80)
    turn_wheel(view, point, 3)
    assert view.viewport.zoom == pytest.approx(1.25 * 1.25**3)
    assert view.viewport.to_widget(*before) == pytest.approx((100, 80), abs=1.01)
    turn_wheel(view, point, -1)
    assert view.viewport.zoom == pytest.approx(1.25 * 1.25**2)
    QTest.mouseDClick(view, LEFT, Qt.KeyboardModifier.NoModifier, point)
    assert view.viewport.fitted


@pytest.mark.parametrize(("button", "held"), [(MIDDLE, Qt.KeyboardModifier.NoModifier), (LEFT, CTRL)])
def test_a_middle_drag_pans(view, button, held):
    turn_wheel(view, QPoint(160, 165), 4)
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
    emitted = []
    view.window_changed.connect(emitted.append)
    first = view.window_level
    drag(view, QPoint(100, 100), QPoint(120, 100), QPoint(140, 100))
    assert view.window_level.width > first.width
    assert view.window_level.level == pytest.approx(first.level)
    wide = view.window_level
    drag(view, QPoint(100, 100), QPoint(100, 80), QPoint(100, 60))
    assert view.window_level.level < wide.level
    assert emitted[-1] == view.window_level
    assert len(emitted) == 4


@pytest.mark.parametrize("pressed_with", [Qt.KeyboardModifier.NoModifier, SHIFT])
def test_shift_before_or_during_a_drag_makes_window_and_level_finer(view, pressed_with):
    first = view.window_level
    QTest.mousePress(view, LEFT, pressed_with, QPoint(100, 100))
    widened = []
    for end, held in ((140, Qt.KeyboardModifier.NoModifier), (180, SHIFT), (220, SHIFT)):
        at = QPointF(end, 100)
        QApplication.sendEvent(
            view, QMouseEvent(QEvent.Type.MouseMove, at, view.mapToGlobal(at), LEFT, LEFT, held)
        )
        widened.append(view.window_level.width - first.width)
    assert widened[1:] == pytest.approx([1.2 * widened[0], 1.4 * widened[0]])
    QTest.mouseRelease(view, LEFT, pos=QPoint(220, 100))


def test_dragging_up_brightens_the_screen(view):
    before = middle_grey(view)
    drag(view, QPoint(100, 200), QPoint(100, 100))
    assert middle_grey(view) > before + 10


def test_key_0_resets_window_level(view):
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
    view.show_image(display_image(Image(pixels, 1.0, values=ValueScale(unit="HU"))))
    QTest.keyClick(view, Qt.Key.Key_7)
    assert window_text(view.image, view.window_level) == "W 1500  L -600"
    QTest.keyClick(view, Qt.Key.Key_6)
    assert window_text(view.image, view.window_level) == "W 1800  L 400"


def test_colour_has_no_window(view):
    pixels = np.zeros((64, 64, 3), np.uint8)
    pixels[:, :, 1] = 200
    view.show_image(display_image(Image(pixels, 255.0)))
    assert view.window_level is None
    drag(view, QPoint(100, 100), QPoint(150, 150))
    QTest.keyClick(view, Qt.Key.Key_0)
    assert view.window_level is None
    assert view.grab().toImage().pixelColor(160, 165).getRgb()[:3] == (0, 200, 0)


# What is drawn


def test_the_region_is_drawn_with_its_handles(view):
    view.set_overlay_text_shown(False)
    view.show_region(Region(64, 64, 128, 128))
    image = view.grab().toImage()
    corner = widget_point(view, 64, 64)
    assert image.pixelColor(corner).name() == "#ffffff"
    side = widget_point(view, 96, 64)
    assert image.pixelColor(side).name() == "#b9b3ff"


def test_a_region_set_aside_has_no_handles(view):
    view.set_overlay_text_shown(False)
    view.show_region(Region(64, 64, 128, 128), in_use=False)
    assert view.grab().toImage().pixelColor(widget_point(view, 64, 64) + QPoint(-2, -2)).name() != "#ffffff"


def test_words_can_be_hidden(view):
    with_words = view.grab().toImage()
    view.set_overlay_text_shown(False)
    assert view.grab().toImage() != with_words


def test_sizes_are_in_millimetres_where_spacing_is_known(view):
    assert view.size_text == ""
    view.show_image(random_image(spacing=(0.1, 0.2)))
    assert view.size_text == "51.2 × 25.6 mm"
    view.show_region(Region(0, 0, 123, 172))
    assert view.size_text == "24.6 × 17.2 mm"
    view.grab()


def test_pixels_that_are_not_square_are_drawn_in_their_shape(view):
    view.show_image(random_image(100, 100, spacing=(0.2, 0.1)))
    box = view.image_box()
    assert box.height() == pytest.approx(2 * box.width(), abs=1)


@pytest.mark.parametrize("size", [(1, 1), (1, 900), (900, 1), (3, 2)])
def test_odd_shapes_are_drawn_and_zoomed(view, size):
    view.show_image(random_image(*size))
    view.grab()
    for notches in (3, 20, -40):
        turn_wheel(view, QPoint(160, 165), notches)
        view.grab()


@pytest.mark.parametrize("dtype", [np.uint8, np.uint16, np.float32])
def test_every_kind_of_grey_is_shown(view, dtype):
    most = {np.uint8: 255, np.uint16: 4095, np.float32: 1}[dtype]
    ramp = np.linspace(0, most, 256).astype(dtype)
    pixels = np.repeat(ramp[None, :], 256, axis=0)
    view.show_image(display_image(Image(pixels, float(most))))
    view.set_overlay_text_shown(False)
    image = view.grab().toImage()
    shown = [image.pixelColor(x, 165).value() for x in range(2, 318)]
    assert (np.diff(shown) >= 0).all()
    assert shown[0] <= 3
    assert shown[-1] >= 252


def test_empty_image_view_is_dark(view):
    view.show_image(None)
    assert view.image is None
    assert view.grab().toImage().pixelColor(160, 165).name() == "#141415"
    drag(view, QPoint(10, 10), QPoint(50, 50))
    turn_wheel(view, QPoint(10, 10), 2)
    for key in (Qt.Key.Key_0, Qt.Key.Key_F, Qt.Key.Key_Escape, Qt.Key.Key_Return, Qt.Key.Key_Right):
        QTest.keyClick(view, key)


def test_another_image_resets_the_view(view):
    view.set_tool(RECTANGLE)
    drag(view, widget_point(view, 20, 20), widget_point(view, 60, 60))
    turn_wheel(view, QPoint(100, 100), 3)
    QTest.keyClick(view, Qt.Key.Key_I)
    view.show_image(random_image(seed=9), Region(1, 2, 30, 40))
    assert view.viewport.fitted
    assert view.region.region == Region(1, 2, 30, 40)
    assert not view.region.can_undo
    assert not view.inverted
    assert view.tool == RECTANGLE


def test_an_unknown_tool_is_refused(view):
    with pytest.raises(ValueError, match="magic"):
        view.set_tool("magic")
