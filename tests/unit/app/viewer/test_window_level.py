from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest

from semblance.app.viewer.window_level import (
    PRESETS,
    Window,
    auto_window,
    dragged,
    preset_window,
    same_values,
    window_on_values,
    window_text,
)
from semblance.core.imaging.display import display_image
from semblance.core.imaging.image import Curve, Image, ValueScale, ValueWindow


@pytest.fixture
def grey():
    return display_image(Image(np.arange(256, dtype=np.uint8).reshape(16, 16), 255.0))


@pytest.fixture
def scan():
    """Hounsfield units as 16-bit numbers with 1024 added."""
    pixels = np.linspace(-1024, 3071, 64 * 64, dtype=np.float32).reshape(64, 64)
    return display_image(Image(pixels, 1.0, values=ValueScale(unit="HU")))


def test_a_table_is_black_then_a_line_then_white():
    table = Window(50, 150).table(256)
    assert table[:51].tolist() == [0] * 51
    assert table[150:].tolist() == [255] * 106
    assert table[100] == 128
    assert (np.diff(table.astype(int)) >= 0).all()


def test_inverted_is_the_negative():
    window = Window(50, 150)
    assert (window.table(256, inverted=True) == 255 - window.table(256)).all()


def test_the_narrowest_window_is_a_step():
    assert set(Window.around(100.0, 0.0).table(256).tolist()) <= {0, 128, 255}


def test_dragging_right_widens_and_up_brightens(grey):
    window = auto_window(grey)
    wider = dragged(window, grey, 40, 0)
    assert wider.width > window.width
    assert wider.level == pytest.approx(window.level)
    brighter = dragged(window, grey, 0, -40)
    assert brighter.level < window.level
    assert brighter.table(256)[100] > window.table(256)[100]


def test_a_pixel_of_a_drag_is_a_500th_of_the_window_and_a_narrow_one_can_be_left(scan):
    span = scan.high - scan.low
    wide = Window.around(scan.low + span / 2, span / 2)
    assert dragged(wide, scan, 0, 10).level - wide.level == pytest.approx(wide.width / 50)
    narrow = Window.around(wide.level, span / 1000)
    assert dragged(narrow, scan, 500, 0).width > 40 * narrow.width


def test_no_drag_leaves_a_window_without_width(grey):
    assert dragged(auto_window(grey), grey, -10_000, 10_000).width == 1


def test_presets_are_in_the_scans_own_units(scan):
    for preset in PRESETS:
        window = preset_window(scan, preset)
        assert window_text(scan, window) == f"W {preset.width:.0f}  L {preset.level:.0f}"


def test_texts_of_whole_and_of_small_numbers(grey):
    assert window_text(grey, Window(5, 203)) == "W 198  L 104"
    fractions = display_image(Image(np.linspace(0, 1, 64, dtype=np.float32).reshape(8, 8), 1.0))
    assert window_text(fractions, Window(0, 65535)) == "W 1.000  L 0.500"


@pytest.fixture
def curved():
    """An image whose file shows it through a table that bends and falls at its end."""
    levels = np.array([0, 0.1, 0.9, 0.4], np.float32).tobytes()
    values = ValueScale(2.0, -10.0, windows=(ValueWindow(-10.0, -4.0, "bent", Curve(levels)),))
    return display_image(Image(np.arange(6, dtype=np.int16).reshape(2, 3), 1.0, values=values))


def test_a_curve_of_the_file_is_shown_as_the_curve_it_is(curved):
    window = auto_window(curved)
    shown = window.table(65536)[curved.levels[0]].tolist()
    # Values from -10 on in steps of 2 lie at the entries 0, 1, 2 and 3 of the table; more have the last.
    assert shown == [[0, 26, 230], [102, 102, 102]]
    assert window_text(curved, window) == "VOI LUT"
    assert (
        window_text(curved, replace(window_on_values(curved, -10, -6), curve=Curve()))
        == "SIGMOID  W 4.000  L -8.000"
    )
    assert window.table(65536, inverted=True)[curved.levels[0]].tolist() == [[255, 229, 25], [153, 153, 153]]


def test_a_drag_leaves_the_curve_and_the_same_values_bring_it_back(curved):
    window = auto_window(curved)
    assert dragged(window, curved, 20, 0).curve is None
    assert window_on_values(curved, -10, -4) == window
    assert window_on_values(curved, -10, -3).curve is None
    assert same_values(window, curved, curved).curve is window.curve
