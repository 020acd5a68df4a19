from __future__ import annotations

import numpy as np
import pytest
from PySide6.QtCore import QPoint, Qt
from PySide6.QtTest import QTest

from semblance.app.viewer.histogram import INSET, HistogramStrip, bar_heights
from semblance.app.viewer.window_level import Window, auto_window
from semblance.core.imaging.display import display_image
from semblance.core.imaging.image import Image

LEFT = Qt.MouseButton.LeftButton


@pytest.fixture
def image():
    ramp = np.arange(256, dtype=np.uint8).reshape(16, 16)
    return display_image(Image(ramp, 255.0))


@pytest.fixture
def strip(qtbot, image):
    widget = HistogramStrip()
    qtbot.addWidget(widget)
    widget.resize(256 + 2 * INSET, 36)
    widget.show()
    widget.show_image(image)
    widget.show_window(Window(40, 200))
    return widget


@pytest.fixture
def changed_windows(strip):
    windows = []
    strip.window_changed.connect(windows.append)
    return windows


def drag(strip, begin, end):
    QTest.mousePress(strip, LEFT, pos=QPoint(INSET + begin, 18))
    QTest.mouseMove(strip, QPoint(INSET + (begin + end) // 2, 18))
    QTest.mouseMove(strip, QPoint(INSET + end, 18))
    QTest.mouseRelease(strip, LEFT, pos=QPoint(INSET + end, 18))


def test_each_end_moves_by_its_handle(strip, changed_windows):
    drag(strip, 40, 60)
    assert changed_windows[-1] == Window(60, 200)
    drag(strip, 200, 170)
    assert changed_windows[-1] == Window(60, 170)


def test_between_the_ends_both_move(strip, changed_windows):
    drag(strip, 120, 130)
    assert changed_windows[-1] == Window(50, 210)


def test_the_ends_never_cross(strip, changed_windows):
    drag(strip, 40, 250)
    assert changed_windows[-1] == Window(199, 200)
    drag(strip, 200, 0)
    assert changed_windows[-1].width == pytest.approx(1)


def test_the_ends_stay_within_the_image(strip, changed_windows):
    drag(strip, 40, -100)
    assert changed_windows[-1].low == 0
    drag(strip, 200, 900)
    assert changed_windows[-1].high == 256


def test_a_double_click_resets_window_level(strip, qtbot):
    with qtbot.waitSignal(strip.auto_requested):
        QTest.mouseDClick(strip, LEFT, pos=QPoint(100, 18))


def test_it_is_reached_and_moved_by_keyboard(strip, changed_windows, qtbot):
    assert strip.focusPolicy() & Qt.FocusPolicy.TabFocus
    QTest.keyClick(strip, Qt.Key.Key_Right)
    assert changed_windows[-1].level > 120
    assert changed_windows[-1].width == pytest.approx(160)
    QTest.keyClick(strip, Qt.Key.Key_Down, Qt.KeyboardModifier.ShiftModifier)
    assert changed_windows[-1].width < 160
    with qtbot.waitSignal(strip.auto_requested):
        QTest.keyClick(strip, Qt.Key.Key_0)


def test_its_numbers_are_in_the_accessible_name(strip):
    assert strip.accessibleName() == "Window and level, W 160  L 120"


def test_a_shown_window_level_is_not_emitted_back(strip, changed_windows):
    strip.show_window(Window(1, 2))
    assert changed_windows == []


def test_without_an_image_nothing_can_be_dragged(strip, changed_windows):
    strip.show_image(None)
    strip.show_window(None)
    drag(strip, 40, 60)
    QTest.keyClick(strip, Qt.Key.Key_Right)
    strip.grab()
    assert changed_windows == []


def test_bars_inside_the_window_are_lighter(strip, image):
    strip.show_window(Window(128, 200))
    grabbed = strip.grab().toImage()
    outside, inside = grabbed.pixelColor(INSET + 21, 28), grabbed.pixelColor(INSET + 165, 28)
    assert inside.value() > outside.value() > 0x15


def test_the_first_window_is_where_the_handles_stand(strip, image):
    window = auto_window(image)
    strip.show_window(window)
    assert strip.position_of(window.low) == pytest.approx(INSET + window.low)


def test_bar_heights():
    assert bar_heights(np.zeros(0, np.int64)).size == 0
    assert bar_heights(np.zeros(64, np.int64)).max() == 0
    assert bar_heights(np.array([1_000_000, 0, 0])).tolist() == [1, 0, 0]
    background_first = bar_heights(np.array([1_000_000, 100, 100, 25]))
    assert background_first.tolist() == [1, 1, 1, 0.5]
